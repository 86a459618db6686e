//! From a reply to an answer: which API renders it, streamed or whole, and where a fault goes.

use serde_json::{Value, json};

use super::deliver::{Answer, Framing};
use super::issued::Tag;
use super::reply::{Content, Failure, Kind, Reply};
use super::stream::{Event, SHORT_TEXT, Stream, Writing};
use super::{Api, Received, anthropic, gemini, openai_chat, openai_responses};

/// The request that is answered, with what names the answer.
pub(super) struct Asked<'a> {
    pub request: &'a Received,
    pub number: u64,
    pub turns: usize,
}

const EVENT_STREAM: &str = "text/event-stream; charset=utf-8";
const JSON: &str = "application/json";
const NOT_SSE: &[u8] =
    b"\x00\xff\xfedata {\"type\":\n\ndata\n:\n\nevent\xc3(: message\r\r\n<<<<>>>>\n\n\n\"}]}";
/// Text of one delta of a huge reply.
const HUGE_DELTA_BYTES: usize = 4096;

impl Asked<'_> {
    pub(super) fn body(&self) -> &Value {
        &self.request.body
    }

    /// The tag of this answer's ids.
    pub(super) fn tag(&self, thought: bool) -> Tag {
        Tag::new(self.number, self.turns, thought)
    }

    /// The model as the response names it.
    pub(super) fn model(&self) -> &str {
        match self.request.api {
            Api::Gemini => gemini::model(&self.request.path),
            Api::Anthropic | Api::OpenAiChat | Api::OpenAiResponses | Api::Other => {
                self.body()["model"].as_str().unwrap_or_default()
            }
        }
    }

    fn streams(&self) -> bool {
        match self.request.api {
            Api::Gemini => gemini::streams(&self.request.path),
            Api::Anthropic | Api::OpenAiChat | Api::OpenAiResponses | Api::Other => {
                self.body()["stream"] == Value::Bool(true)
            }
        }
    }

    fn writing(&self) -> Writing {
        match self.request.api {
            Api::Gemini => gemini::writing(&self.request.path),
            Api::Anthropic | Api::OpenAiChat | Api::OpenAiResponses | Api::Other => Writing::Sse,
        }
    }

    fn stream(&self, content: &Content) -> Stream {
        match self.request.api {
            Api::Anthropic => anthropic::stream(content, self),
            Api::OpenAiChat | Api::Other => openai_chat::stream(content, self),
            Api::OpenAiResponses => openai_responses::stream(content, self),
            Api::Gemini => gemini::stream(content, self),
        }
    }

    fn whole(&self, content: &Content) -> Value {
        match self.request.api {
            Api::Anthropic => anthropic::whole(content, self),
            Api::OpenAiChat | Api::Other => openai_chat::whole(content, self),
            Api::OpenAiResponses => openai_responses::whole(content, self),
            Api::Gemini => gemini::whole(content, self),
        }
    }

    fn error_events(&self, failure: &Failure) -> Vec<Event> {
        match self.request.api {
            Api::Anthropic => vec![Event::named("error", error_body(Api::Anthropic, failure).to_string())],
            Api::OpenAiResponses => openai_responses::error_events(failure, self),
            api @ (Api::OpenAiChat | Api::Gemini | Api::Other) => {
                vec![Event::plain(error_body(api, failure).to_string())]
            }
        }
    }
}

/// An error object as the API shapes it.
pub(super) fn error_body(api: Api, failure: &Failure) -> Value {
    let Failure { status, kind, message } = failure;
    match api {
        Api::Anthropic => json!({
            "type": "error",
            "error": { "type": kind, "message": message },
            "request_id": "req_scripted",
        }),
        Api::OpenAiChat | Api::OpenAiResponses | Api::Other => {
            let (kind, code) = openai_chat::error_names(kind);
            json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
        }
        Api::Gemini => json!({ "error": { "code": status, "message": message, "status": kind } }),
    }
}

/// An answer with a JSON body.
pub(super) fn json_answer(status: u16, body: &Value) -> Answer {
    whole_answer(status, JSON, body.to_string().into_bytes())
}

/// Renders a reply for the API of the request.
pub(super) fn answer(reply: Reply, asked: &Asked) -> Answer {
    let rendered = match reply.kind {
        Kind::Content(content) if asked.streams() => {
            let stream = asked.stream(&content);
            streamed(asked, vec![(stream.written(asked.writing()), 1)])
        }
        Kind::Content(content) => json_answer(200, &asked.whole(&content)),
        Kind::Error(failure) => json_answer(failure.status, &error_body(asked.request.api, &failure)),
        Kind::Raw { status, content_type, body } => whole_answer(status, &content_type, body),
        Kind::MalformedSse => whole_answer(200, EVENT_STREAM, NOT_SSE.to_vec()),
        Kind::MalformedJson => malformed_json(asked),
        Kind::Huge { bytes } => huge(bytes, asked),
        Kind::InStreamError(failure) => in_stream_error(&failure, asked),
    };
    let mut delivery = reply.delivery;
    let (name, id) = request_id(asked);
    delivery.headers.push((name.into(), id));
    Answer { delivery, ..rendered }
}

fn request_id(asked: &Asked) -> (&'static str, String) {
    let id = format!("req_{:04x}", asked.number);
    match asked.request.api {
        Api::Anthropic => ("request-id", id),
        Api::OpenAiChat | Api::OpenAiResponses | Api::Gemini | Api::Other => ("x-request-id", id),
    }
}

fn malformed_json(asked: &Asked) -> Answer {
    let content = Content::of_text("This answer breaks off inside of its JSON.".into());
    if !asked.streams() {
        let mut body = asked.whole(&content).to_string().into_bytes();
        body.truncate(body.len() * 2 / 3);
        return whole_answer(200, JSON, body);
    }
    let mut stream = asked.stream(&content);
    stream.break_json();
    streamed(asked, vec![(stream.written(asked.writing()), 1)])
}

fn huge(bytes: usize, asked: &Asked) -> Answer {
    if !asked.streams() {
        return json_answer(200, &asked.whole(&Content::of_text("x".repeat(bytes))));
    }
    let stream = asked.stream(&Content::of_text(SHORT_TEXT.into()));
    streamed(asked, stream.lengthened(asked.writing(), &"x".repeat(HUGE_DELTA_BYTES), bytes))
}

fn in_stream_error(failure: &Failure, asked: &Asked) -> Answer {
    if !asked.streams() {
        return json_answer(failure.status, &error_body(asked.request.api, failure));
    }
    let mut stream = asked.stream(&Content::of_text("This answer ends in an error.".into()));
    stream.broken_off(asked.error_events(failure));
    streamed(asked, vec![(stream.written(asked.writing()), 1)])
}

fn streamed(asked: &Asked, body: Vec<(Vec<u8>, usize)>) -> Answer {
    let content_type = match asked.writing() {
        Writing::Sse => EVENT_STREAM,
        Writing::SseCrlf => "text/event-stream",
        Writing::Array => "application/json; charset=UTF-8",
    };
    Answer { body, framing: Framing::Chunked, ..whole_answer(200, content_type, Vec::new()) }
}

fn whole_answer(status: u16, content_type: &str, body: Vec<u8>) -> Answer {
    // Bytes that claim to be a stream travel as one: their end is the end of the connection's chunks.
    let framing =
        if content_type.starts_with("text/event-stream") { Framing::Chunked } else { Framing::Length };
    let delivery = Reply::text("").delivery;
    Answer { status, content_type: content_type.into(), framing, body: vec![(body, 1)], delivery }
}
