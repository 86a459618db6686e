//! What a scripted model answers, in no API's words: content, usage, how it stops, and how the bytes travel.
//!
//! Nothing here knows a wire format; the API files render a [`Reply`].

use serde_json::Value;

/// One scripted answer: what it says and how its bytes reach the client.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) delivery: Delivery,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Content(Content),
    Error(Failure),
    Raw { status: u16, content_type: String, body: Vec<u8> },
    MalformedJson,
    MalformedSse,
    Huge { bytes: usize },
    InStreamError(Failure),
}

/// An error in no API's shape; `status` is what an API without a name for it would give.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub status: u16,
    pub kind: String,
    pub message: String,
}

/// What the model says: thinking, then text, then calls.
#[derive(Clone, Debug)]
pub(super) struct Content {
    pub thinking: Option<String>,
    pub text: String,
    pub calls: Vec<(String, Value)>,
    pub usage: Usage,
    pub stop: Option<Stop>,
}

/// How the bytes of a reply travel.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub latency_ms: u64,
    pub chunk_bytes: Option<usize>,
    pub ending: Ending,
    pub headers: Vec<(String, String)>,
}

/// How the body of a reply ends; the number is how many of its bytes are sent first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Whole,
    Cut(usize),
    Reset(usize),
    Stall(usize),
}

/// Tokens of one reply. `input` is what was neither read from nor written to a cache; the APIs that
/// count cached tokens as part of the prompt are given the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Input tokens outside any cache.
    pub input: u64,
    /// Output tokens, thinking included.
    pub output: u64,
    /// Input tokens read from a cache.
    pub cache_read: u64,
    /// Input tokens written to a cache.
    pub cache_write: u64,
}

/// Why the model stopped; each API has its own word, and the nearest one where it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The answer is complete.
    End,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The output limit of the request was reached.
    MaxTokens,
    /// The model would not answer; the text is its refusal.
    Refusal,
    /// A filter of the service ended the answer.
    ContentFilter,
    /// One of the request's stop sequences was produced.
    StopSequence,
    /// A long turn was paused and is to be continued by sending it back.
    PauseTurn,
    /// The context window is full.
    ContextWindow,
}

/// What a reply costs unless the script says otherwise.
const USAGE: Usage = Usage { input: 20, output: 10, cache_read: 0, cache_write: 0 };

const HTML: &[u8] = b"<!doctype html><html><body><h1>Welcome to the network</h1></body></html>\n";

impl Reply {
    /// A final answer.
    pub fn text(text: &str) -> Reply {
        Reply::content(Some(text), &[])
    }

    /// Calls of tools, in parallel when there are several; their ids are unique.
    pub fn calls(calls: &[(&str, Value)]) -> Reply {
        Reply::content(None, calls)
    }

    /// The API's own error object under an HTTP status.
    pub fn error(status: u16, kind: &str, message: &str) -> Reply {
        Reply::of(Kind::Error(Failure { status, kind: kind.into(), message: message.into() }))
    }

    /// Exactly these bytes as the body.
    pub fn raw(status: u16, content_type: &str, body: &[u8]) -> Reply {
        Reply::of(Kind::Raw { status, content_type: content_type.into(), body: body.into() })
    }

    /// A well-framed stream with broken JSON in the middle of it.
    pub fn malformed_json() -> Reply {
        Reply::of(Kind::MalformedJson)
    }

    /// Bytes that say they are an event stream and are not.
    pub fn malformed_sse() -> Reply {
        Reply::of(Kind::MalformedSse)
    }

    /// Status 200 and a web page, as a captive portal answers.
    pub fn wrong_content_type() -> Reply {
        Reply::raw(200, "text/html; charset=utf-8", HTML)
    }

    /// A stream with at least that many bytes of text deltas; only the deltas are long, any later
    /// repetition of the whole text is not.
    pub fn huge(bytes: usize) -> Reply {
        Reply::of(Kind::Huge { bytes })
    }

    /// An error that comes after the stream has begun under status 200.
    pub fn in_stream_error(kind: &str, message: &str) -> Reply {
        Reply::of(Kind::InStreamError(Failure { status: 503, kind: kind.into(), message: message.into() }))
    }

    /// Adds text to the answer; text always comes before calls.
    pub fn and_text(mut self, text: &str) -> Reply {
        self.said().text.push_str(text);
        self
    }

    /// Adds thinking. It comes first, signed as the API signs it, and only where the request asked for
    /// it if the API has a way to ask (Anthropic `thinking`, Responses `reasoning.summary`, Gemini
    /// `includeThoughts`).
    pub fn and_thinking(mut self, thinking: &str) -> Reply {
        self.said().thinking.get_or_insert_default().push_str(thinking);
        self
    }

    /// Adds a call of a tool.
    pub fn and_call(mut self, name: &str, input: Value) -> Reply {
        self.said().calls.push((name.into(), input));
        self
    }

    /// Sets the tokens that the reply reports.
    pub fn usage(mut self, usage: Usage) -> Reply {
        self.said().usage = usage;
        self
    }

    /// Sets why the model stopped; otherwise it follows from the content.
    pub fn stop(mut self, stop: Stop) -> Reply {
        self.said().stop = Some(stop);
        self
    }

    /// Waits before the first byte of the answer.
    pub fn latency_ms(mut self, latency_ms: u64) -> Reply {
        self.delivery.latency_ms = latency_ms;
        self
    }

    /// Sends the body in pieces of that many bytes, each written on its own, wherever that falls.
    pub fn chunk_bytes(mut self, bytes: usize) -> Reply {
        assert!(bytes > 0, "a piece has at least one byte");
        self.delivery.chunk_bytes = Some(bytes);
        self
    }

    /// Closes the connection in good order after that many bytes of the body, which is left unfinished.
    pub fn cut_at(mut self, bytes: usize) -> Reply {
        self.delivery.ending = Ending::Cut(bytes);
        self
    }

    /// Resets the connection after that many bytes of the body.
    pub fn reset_at(mut self, bytes: usize) -> Reply {
        self.delivery.ending = Ending::Reset(bytes);
        self
    }

    /// Sends that many bytes of the body, then nothing, with the connection open.
    pub fn stall_at(mut self, bytes: usize) -> Reply {
        self.delivery.ending = Ending::Stall(bytes);
        self
    }

    /// Adds a header to the HTTP response.
    pub fn header(mut self, name: &str, value: &str) -> Reply {
        self.delivery.headers.push((name.into(), value.into()));
        self
    }

    fn content(text: Option<&str>, calls: &[(&str, Value)]) -> Reply {
        Reply::of(Kind::Content(Content {
            thinking: None,
            text: text.unwrap_or_default().into(),
            calls: calls.iter().map(|(name, input)| ((*name).into(), input.clone())).collect(),
            usage: USAGE,
            stop: None,
        }))
    }

    pub(super) fn of(kind: Kind) -> Reply {
        let ending = Ending::Whole;
        Reply { kind, delivery: Delivery { latency_ms: 0, chunk_bytes: None, ending, headers: Vec::new() } }
    }

    fn said(&mut self) -> &mut Content {
        match &mut self.kind {
            Kind::Content(content) => content,
            other => panic!("{other:?} has no content to add to: begin with Reply::text or Reply::calls"),
        }
    }
}

impl Content {
    /// The content that faults are put into the middle of.
    pub(super) fn of_text(text: String) -> Content {
        Content { thinking: None, text, calls: Vec::new(), usage: USAGE, stop: None }
    }

    pub(super) fn stop(&self) -> Stop {
        match self.stop {
            Some(stop) => stop,
            None if self.calls.is_empty() => Stop::End,
            None => Stop::ToolUse,
        }
    }
}

impl Usage {
    /// Every input token, cached or not.
    pub(super) fn prompt(self) -> u64 {
        self.input + self.cache_read + self.cache_write
    }
}
