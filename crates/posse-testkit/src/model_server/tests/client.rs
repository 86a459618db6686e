//! A client of a few lines, and the smallest valid request of each API.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::{Api, ModelServer, Reply, Script};

pub(super) const ALL: [Api; 4] = [Api::Anthropic, Api::OpenAiChat, Api::OpenAiResponses, Api::Gemini];

/// A connection that stays open from request to request.
pub(super) struct Client {
    socket: TcpStream,
    buffer: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
    /// How many chunks the body came in.
    pub chunks: usize,
    /// What kept the body from being whole.
    pub broken: Option<io::ErrorKind>,
}

impl Response {
    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("the body is UTF-8")
    }

    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    /// The data of the events, without the closing `[DONE]`.
    pub(super) fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data =
            text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        data.map(|data| serde_json::from_str(data).expect("the data is JSON")).collect()
    }
}

impl Client {
    pub(super) fn new(server: &ModelServer) -> Client {
        let address = server.url().strip_prefix("http://").expect("the scheme is http").to_owned();
        let socket = TcpStream::connect(address).expect("the server listens");
        socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a limit can be set");
        Client { socket, buffer: Vec::new() }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).expect("the server reads");
    }

    pub(super) fn ask(&mut self, api: Api, body: &Value) -> Response {
        self.send("POST", path(api), headers(api), body.to_string().as_bytes())
    }

    pub(super) fn send(&mut self, method: &str, path: &str, headers: &str, body: &[u8]) -> Response {
        let length = body.len();
        let head =
            format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n");
        self.write(&[head.as_bytes(), body].concat());
        self.read()
    }

    /// Reads one response, or as much of it as comes.
    pub(super) fn read(&mut self) -> Response {
        let head = self.read_head();
        let status = head[9..12].parse().expect("the status is a number");
        let mut response = Response { status, head, body: Vec::new(), chunks: 0, broken: None };
        let length = response.head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let read = match length.map(|length| length.parse().expect("the length is a number")) {
            Some(length) => self.read_length(length, &mut response),
            None => self.read_chunks(&mut response),
        };
        response.broken = read.err().map(|cause| cause.kind());
        response
    }

    pub(super) fn read_head(&mut self) -> String {
        let end = loop {
            if let Some(at) = find(&self.buffer, b"\r\n\r\n") {
                break at + 4;
            }
            self.fill().expect("the head of the response comes whole");
        };
        String::from_utf8(self.buffer.drain(..end).collect()).expect("the head is text")
    }

    pub(super) fn read_bytes(&mut self, count: usize) -> Vec<u8> {
        while self.buffer.len() < count {
            self.fill().expect("so many bytes come");
        }
        self.buffer.drain(..count).collect()
    }

    /// Whether nothing more comes for a moment, with the connection open.
    pub(super) fn is_silent(&mut self) -> bool {
        self.socket.set_read_timeout(Some(Duration::from_millis(50))).expect("a limit can be set");
        self.buffer.is_empty() && self.fill().is_err_and(|cause| cause.kind() == io::ErrorKind::WouldBlock)
    }

    /// Whether nothing more comes and the server has closed in good order.
    pub(super) fn is_closed(&mut self) -> bool {
        self.fill().is_err_and(|cause| cause.kind() == io::ErrorKind::UnexpectedEof)
    }

    fn read_length(&mut self, length: usize, response: &mut Response) -> io::Result<()> {
        while response.body.len() < length {
            if self.buffer.is_empty() {
                self.fill()?;
            }
            let take = self.buffer.len().min(length - response.body.len());
            response.body.extend(self.buffer.drain(..take));
        }
        Ok(())
    }

    fn read_chunks(&mut self, response: &mut Response) -> io::Result<()> {
        loop {
            let end = loop {
                match find(&self.buffer, b"\r\n") {
                    Some(at) => break at,
                    None => self.fill()?,
                }
            };
            let line = String::from_utf8(self.buffer.drain(..end + 2).collect()).expect("a size is text");
            let size = usize::from_str_radix(line.trim(), 16).expect("a size is a number");
            while self.buffer.len() < size + 2 {
                self.fill()?;
            }
            response.body.extend_from_slice(&self.buffer[..size]);
            self.buffer.drain(..size + 2);
            if size == 0 {
                return Ok(());
            }
            response.chunks += 1;
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let mut bytes = [0; 64 * 1024];
        match self.socket.read(&mut bytes)? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                self.buffer.extend_from_slice(&bytes[..count]);
                Ok(())
            }
        }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}

pub(super) fn path(api: Api) -> &'static str {
    match api {
        Api::Anthropic => "/v1/messages",
        Api::OpenAiChat => "/v1/chat/completions",
        Api::OpenAiResponses => "/v1/responses",
        Api::Gemini => "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse",
        Api::Other => "/",
    }
}

pub(super) fn headers(api: Api) -> &'static str {
    match api {
        Api::Anthropic => {
            "content-type: application/json\r\nx-api-key: k\r\nanthropic-version: 2023-06-01\r\n"
        }
        Api::OpenAiChat | Api::OpenAiResponses => {
            "content-type: application/json\r\nauthorization: Bearer k\r\n"
        }
        Api::Gemini => "content-type: application/json\r\nx-goog-api-key: k\r\n",
        Api::Other => "",
    }
}

/// The smallest request that asks for a stream.
pub(super) fn smallest(api: Api) -> Value {
    let question = json!([{ "role": "user", "content": "hi" }]);
    match api {
        Api::Anthropic => json!({ "model": "m", "max_tokens": 4096, "stream": true, "messages": question }),
        Api::OpenAiChat => json!({ "model": "m", "stream": true, "messages": question }),
        Api::OpenAiResponses => json!({ "model": "m", "stream": true, "input": question }),
        Api::Gemini => json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] }),
        Api::Other => json!({}),
    }
}

/// Merges fields into the smallest request.
pub(super) fn with(api: Api, fields: &Value) -> Value {
    let mut body = smallest(api);
    for (key, value) in fields.as_object().expect("fields are an object") {
        body[key] = value.clone();
    }
    body
}

/// The one answer of a reply to a request.
pub(super) fn answer(reply: Reply, api: Api, body: &Value) -> Response {
    let server = ModelServer::start(Script::in_order(vec![reply]));
    Client::new(&server).ask(api, body)
}

/// Sends each body and compares the problems that the server has with it; none means it is answered.
pub(super) fn check_rows(api: Api, rows: &[(&str, Value, &[&str])]) {
    let server = ModelServer::start(Script::route(|_| Reply::text("fine")));
    let mut client = Client::new(&server);
    let mut wrong = Vec::new();
    for (name, body, expected) in rows {
        let response = client.ask(api, body);
        let problems = server.take_problems();
        let told = |(problem, part): (&String, &&str)| problem.contains(*part);
        let same = problems.len() == expected.len() && problems.iter().zip(*expected).all(told);
        let status = if expected.is_empty() { 200 } else { 400 };
        if !same || response.status != status {
            wrong.push(format!("{name}: status {}, {problems:#?}, expected {expected:#?}", response.status));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
