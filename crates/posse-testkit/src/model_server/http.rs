//! HTTP/1.1 requests as they come over one connection, byte for byte. No answers here, no APIs.

use std::io;
use std::mem;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const HEAD_BYTES_MAX: usize = 64 * 1024;
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;
const HEADERS_MAX: usize = 100;
/// A connection at rest keeps no more buffer than this: there may be ten thousand of them.
const IDLE_BUFFER_BYTES: usize = 16 * 1024;

/// One request, whole.
#[derive(Debug)]
pub(super) struct Request {
    pub method: String,
    /// The request target with its query.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    pub keep_alive: bool,
}

/// A client's connection and what it has sent that is not yet part of a request.
pub(super) struct Connection {
    pub socket: TcpStream,
    buffer: Vec<u8>,
}

enum Framing {
    Length(usize),
    Chunked,
}

struct Head {
    request: Request,
    framing: Framing,
    bytes: usize,
    expects_continue: bool,
}

impl Connection {
    pub(super) fn new(socket: TcpStream) -> Connection {
        Connection { socket, buffer: Vec::new() }
    }

    /// The next request, or nothing when the client has closed; `InvalidData` is not HTTP.
    pub(super) async fn next(&mut self) -> io::Result<Option<Request>> {
        let head = loop {
            if let Some(head) = parse_head(&self.buffer)? {
                break head;
            }
            if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(invalid("the head of the request is too long"));
            }
            if self.fill().await? == 0 {
                return Ok(None);
            }
        };
        self.buffer.drain(..head.bytes);
        if head.expects_continue {
            self.socket.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
        }
        let mut request = head.request;
        request.body = match head.framing {
            Framing::Length(bytes) => self.take(bytes).await?,
            Framing::Chunked => self.take_chunks().await?,
        };
        if self.buffer.is_empty() && self.buffer.capacity() > IDLE_BUFFER_BYTES {
            self.buffer = Vec::new();
        }
        Ok(Some(request))
    }

    /// Waits until the client has closed or broken the connection.
    pub(super) async fn closed(&mut self) {
        let mut ignored = [0; 1024];
        while matches!(self.socket.read(&mut ignored).await, Ok(1..)) {}
    }

    async fn fill(&mut self) -> io::Result<usize> {
        self.buffer.reserve(4096);
        self.socket.read_buf(&mut self.buffer).await
    }

    async fn fill_more(&mut self) -> io::Result<()> {
        match self.fill().await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn take(&mut self, bytes: usize) -> io::Result<Vec<u8>> {
        if bytes > BODY_BYTES_MAX {
            return Err(invalid("the body of the request is too long"));
        }
        self.buffer.reserve(bytes.saturating_sub(self.buffer.len()));
        while self.buffer.len() < bytes {
            self.fill_more().await?;
        }
        let rest = self.buffer.split_off(bytes);
        Ok(mem::replace(&mut self.buffer, rest))
    }

    async fn take_chunks(&mut self) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let bytes = self.chunk_head().await?;
            if bytes == 0 {
                self.trailers().await?;
                return Ok(body);
            }
            if body.len() + bytes > BODY_BYTES_MAX {
                return Err(invalid("the body of the request is too long"));
            }
            let chunk = self.take(bytes + 2).await?;
            if !chunk.ends_with(b"\r\n") {
                return Err(invalid("a chunk does not end where it says"));
            }
            body.extend_from_slice(&chunk[..bytes]);
        }
    }

    async fn chunk_head(&mut self) -> io::Result<usize> {
        loop {
            match httparse::parse_chunk_size(&self.buffer) {
                Ok(httparse::Status::Complete((head, bytes))) => {
                    self.buffer.drain(..head);
                    return usize::try_from(bytes).map_err(|_| invalid("a chunk is too long"));
                }
                Ok(httparse::Status::Partial) => self.fill_more().await?,
                Err(_) => return Err(invalid("a chunk has no valid size")),
            }
        }
    }

    async fn trailers(&mut self) -> io::Result<()> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|pair| pair == b"\r\n") {
                self.buffer.drain(..end + 2);
                if end == 0 {
                    return Ok(());
                }
            } else if self.buffer.len() > HEAD_BYTES_MAX {
                return Err(invalid("the trailers of the request are too long"));
            } else {
                self.fill_more().await?;
            }
        }
    }
}

fn parse_head(buffer: &[u8]) -> io::Result<Option<Head>> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    let bytes = match parsed.parse(buffer) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(cause) => return Err(invalid(&format!("not HTTP: {cause}"))),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers: Vec<(String, String)> =
        parsed.headers.iter().map(|header| (header.name.to_ascii_lowercase(), text(header.value))).collect();
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        target: parsed.path.unwrap_or_default().to_owned(),
        keep_alive: parsed.version == Some(1) && !has(&headers, "connection", "close"),
        headers,
        body: Vec::new(),
    };
    let framing = framing(&request.headers)?;
    let expects_continue = has(&request.headers, "expect", "100-continue");
    Ok(Some(Head { request, framing, bytes, expects_continue }))
}

fn framing(headers: &[(String, String)]) -> io::Result<Framing> {
    let length = headers.iter().find(|(name, _)| name == "content-length");
    match (has(headers, "transfer-encoding", "chunked"), length) {
        (true, Some(_)) => Err(invalid("both content-length and transfer-encoding")),
        (true, None) => Ok(Framing::Chunked),
        (false, None) => Ok(Framing::Length(0)),
        (false, Some((_, value))) => {
            value.parse().map(Framing::Length).map_err(|_| invalid("content-length is not a number"))
        }
    }
}

fn has(headers: &[(String, String)], name: &str, value: &str) -> bool {
    headers.iter().any(|(have, text)| have == name && text.eq_ignore_ascii_case(value))
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
