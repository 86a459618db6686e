//! An answer on its way to the client: whole, in pieces, cut off, reset or stalled. No content here.

use std::io;

use tokio::io::AsyncWriteExt;
use tokio::time::{Duration, sleep};

use super::http::Connection;
use super::reply::{Delivery, Ending};

/// One HTTP response, ready to be written.
#[derive(Debug)]
pub(super) struct Answer {
    pub status: u16,
    pub content_type: String,
    pub framing: Framing,
    /// The body: each piece is sent that many times over.
    pub body: Vec<(Vec<u8>, usize)>,
    pub delivery: Delivery,
}

/// How the client learns where the body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    Chunked,
    Length,
}

/// Whether the connection can carry another request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum After {
    Open,
    Closed,
}

impl Answer {
    fn body_bytes(&self) -> usize {
        self.body.iter().map(|(piece, times)| piece.len() * times).sum()
    }

    fn head(&self, keep_alive: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let headers = &self.delivery.headers;
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            head += &format!("content-type: {}\r\n", self.content_type);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        if !keep_alive {
            head += "connection: close\r\n";
        }
        match self.framing {
            Framing::Chunked => head += "cache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n",
            Framing::Length => head += &format!("content-length: {}\r\n\r\n", self.body_bytes()),
        }
        head.into_bytes()
    }

    /// Writes the answer and ends the connection if the script or the client says so.
    pub(super) async fn deliver(self, to: &mut Connection, keep_alive: bool) -> io::Result<After> {
        if self.delivery.latency_ms > 0 {
            sleep(Duration::from_millis(self.delivery.latency_ms)).await;
        }
        let head = self.head(keep_alive);
        match self.delivery.ending {
            Ending::Whole => {
                self.write_whole(to, head).await?;
                if keep_alive {
                    return Ok(After::Open);
                }
                to.socket.shutdown().await?;
            }
            Ending::Cut(bytes) => {
                self.write_up_to(to, head, bytes).await?;
                to.socket.shutdown().await?;
                // Closing with unread bytes would reset instead.
                to.closed().await;
            }
            Ending::Reset(bytes) => {
                self.write_up_to(to, head, bytes).await?;
                to.socket.set_zero_linger()?;
            }
            Ending::Stall(bytes) => {
                self.write_up_to(to, head, bytes).await?;
                to.closed().await;
            }
        }
        Ok(After::Closed)
    }

    async fn write_whole(&self, to: &mut Connection, mut head: Vec<u8>) -> io::Result<()> {
        let end: &[u8] = match self.framing {
            Framing::Chunked => b"0\r\n\r\n",
            Framing::Length => b"",
        };
        match (&self.body[..], self.delivery.chunk_bytes) {
            // The usual answer leaves in one write.
            ([(body, 1)], None) => {
                self.frame(body, &mut head);
                head.extend_from_slice(end);
                to.socket.write_all(&head).await
            }
            (_, _) => {
                self.write_up_to(to, head, usize::MAX).await?;
                to.socket.write_all(end).await
            }
        }
    }

    async fn write_up_to(&self, to: &mut Connection, head: Vec<u8>, bytes: usize) -> io::Result<()> {
        to.socket.write_all(&head).await?;
        let mut left = bytes;
        let mut framed = Vec::new();
        for (piece, times) in &self.body {
            for slice in std::iter::repeat_n(piece, *times).flat_map(|piece| self.slices(piece)) {
                let slice = &slice[..slice.len().min(left)];
                if slice.is_empty() {
                    return Ok(());
                }
                left -= slice.len();
                framed.clear();
                self.frame(slice, &mut framed);
                to.socket.write_all(&framed).await?;
                // Lets the client read this piece before the next one is there.
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    fn slices<'a>(&self, piece: &'a [u8]) -> std::slice::Chunks<'a, u8> {
        piece.chunks(self.delivery.chunk_bytes.unwrap_or(piece.len()).max(1))
    }

    fn frame(&self, bytes: &[u8], into: &mut Vec<u8>) {
        match self.framing {
            // A chunk of no bytes would end the body.
            Framing::Chunked if bytes.is_empty() => {}
            Framing::Chunked => {
                into.extend_from_slice(format!("{:x}\r\n", bytes.len()).as_bytes());
                into.extend_from_slice(bytes);
                into.extend_from_slice(b"\r\n");
            }
            Framing::Length => into.extend_from_slice(bytes),
        }
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        402 => "Payment Required",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "Status",
    }
}
