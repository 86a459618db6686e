//! Frames and descriptors over a local socket, blocking: a length of four bytes, then JSON. Descriptors travel with the
//! first byte. What the frames mean is not decided here.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::child::platform;

/// The longest frame: a command with its variables, with room to spare.
pub const FRAME_BYTES_MAX: usize = 16 << 20;
/// The most descriptors of one frame: stdin, stdout and stderr.
pub const DESCRIPTORS_MAX: usize = 3;
/// How many bytes say how long a frame is.
pub const HEAD_BYTES: usize = 4;

/// A message as bytes.
pub fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= FRAME_BYTES_MAX);
    let length = length.ok_or_else(|| io::Error::other("a command with its variables is too long"))?;
    Ok([&length.to_be_bytes(), body.as_slice()].concat())
}

/// How long the frame is that begins with these bytes.
pub fn body_bytes(head: [u8; HEAD_BYTES]) -> io::Result<usize> {
    let length = usize::try_from(u32::from_be_bytes(head)).ok().filter(|length| *length <= FRAME_BYTES_MAX);
    length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"))
}

/// Sends what there is room for, at least one byte, and all descriptors with it.
pub fn send_some(socket: impl AsFd, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<usize> {
    assert!(descriptors.len() <= DESCRIPTORS_MAX, "the buffer has room for them");
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other("no room for descriptors"));
    }
    Ok(rustix::net::sendmsg(socket, &[IoSlice::new(bytes)], &mut control, SendFlags::empty())?)
}

/// Receives up to as many bytes as there is room for, and the descriptors that come with them.
pub fn receive_some(socket: impl AsFd, bytes: &mut [u8]) -> io::Result<(usize, Vec<OwnedFd>)> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received =
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, platform::RECEIVE_FLAGS)?;
    let descriptors = control.drain().filter_map(|message| match message {
        RecvAncillaryMessage::ScmRights(rights) => Some(rights),
        _ => None,
    });
    Ok((received.bytes, descriptors.flatten().collect()))
}

/// Sends a whole frame.
pub fn send(socket: &UnixStream, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let bytes = frame(message)?;
    let sent = send_some(socket, &bytes, descriptors)?;
    let mut writer = socket;
    writer.write_all(&bytes[sent..])
}

/// Receives a whole frame; `None` when the other side is gone.
pub fn receive<T: DeserializeOwned>(socket: &UnixStream) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut head = [0; HEAD_BYTES];
    let (received, descriptors) = receive_some(socket, &mut head)?;
    if received == 0 {
        return Ok(None);
    }
    let mut reader = socket;
    reader.read_exact(&mut head[received..])?;
    let mut body = vec![0; body_bytes(head)?];
    reader.read_exact(&mut body)?;
    Ok(Some((serde_json::from_slice(&body)?, descriptors)))
}
