//! The async end of a line to a guard or a keeper. Receiving may be given up at any await without losing bytes.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::UnixStream;

use crate::guard::line::{HEAD_BYTES, body_bytes, frame, receive_some, send_some};

/// How much is read at once.
const READ_BYTES: usize = 4 << 10;

/// One end of a line.
#[derive(Debug)]
pub(super) struct Line {
    socket: UnixStream,
    received: Vec<u8>,
    descriptors: Vec<OwnedFd>,
}

impl Line {
    /// A new line, and its other end for the process it leads to.
    pub fn pair() -> io::Result<(Line, OwnedFd)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let line =
            Line { socket: UnixStream::from_std(ours)?, received: Vec::new(), descriptors: Vec::new() };
        Ok((line, theirs.into()))
    }

    /// Sends a message with its descriptors.
    pub async fn send(&mut self, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let bytes = frame(message)?;
        let sent = send_when_ready(&self.socket, &bytes, descriptors).await?;
        self.socket.write_all(&bytes[sent..]).await
    }

    /// Sends one byte with a descriptor: whole or not at all, so that several may do so at once.
    pub async fn hand_over(&self, descriptor: BorrowedFd<'_>) -> io::Result<()> {
        send_when_ready(&self.socket, &[0], &[descriptor]).await.map(|_| ())
    }

    /// The next message; `None` when the other side is gone.
    pub async fn receive<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        loop {
            if let Some(message) = self.take()? {
                return Ok(Some(message));
            }
            let mut bytes = [0; READ_BYTES];
            let received =
                self.socket.async_io(Interest::READABLE, || receive_some(&self.socket, &mut bytes)).await;
            let (count, descriptors) = match received {
                Ok(received) => received,
                // It went without reading all it was told.
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            };
            if count == 0 {
                return Ok(None);
            }
            self.received.extend_from_slice(&bytes[..count]);
            self.descriptors.extend(descriptors);
        }
    }

    /// What came along with the messages so far.
    pub fn take_descriptors(&mut self) -> Vec<OwnedFd> {
        std::mem::take(&mut self.descriptors)
    }

    /// Tells the other side that nothing more comes, and waits until it is gone.
    pub async fn end(&self) -> io::Result<()> {
        rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Write)?;
        let mut bytes = [0; READ_BYTES];
        loop {
            match self.socket.async_io(Interest::READABLE, || receive_some(&self.socket, &mut bytes)).await {
                Ok((0, _)) | Err(_) => return Ok(()),
                Ok(_) => {}
            }
        }
    }

    fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let Some((head, rest)) = self.received.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let Some(body) = rest.get(..body_bytes(*head)?) else { return Ok(None) };
        let message = serde_json::from_slice(body)?;
        self.received.drain(..HEAD_BYTES + body.len());
        Ok(Some(message))
    }
}

async fn send_when_ready(
    socket: &UnixStream,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    socket.async_io(Interest::WRITABLE, || send_some(socket, bytes, descriptors)).await
}
