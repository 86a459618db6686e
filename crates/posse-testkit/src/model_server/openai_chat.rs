//! `OpenAI` Chat Completions: a reply as `POST /v1/chat/completions` streams it and as one object.

use serde_json::{Value, json};

use super::render::Asked;
use super::reply::{Content, Stop, Usage};
use super::stream::{Event, Stream, pieces, quoted};

/// Every answer is made at this second: nothing may depend on it.
pub(super) const CREATED: u64 = 1_760_000_000;

/// What every chunk of one answer begins and ends with.
struct Chunks {
    begin: String,
    end: &'static str,
}

pub(super) fn stream(content: &Content, asked: &Asked) -> Stream {
    let mut stream = Stream::default();
    let counts = asked.body()["stream_options"]["include_usage"] == Value::Bool(true);
    let chunks = Chunks::new(asked, counts);
    stream.push(chunks.delta(r#"{"role":"assistant","content":"","refusal":null}"#));
    for piece in pieces(content.thinking.as_deref().unwrap_or_default()) {
        stream.push(chunks.delta(&format!(r#"{{"reasoning_content":{}}}"#, quoted(piece))));
    }
    let field = text_field(content.stop());
    for piece in pieces(&content.text) {
        stream.push_delta(chunks.delta(&format!(r#"{{"{field}":{}}}"#, quoted(piece))));
    }
    push_calls(&mut stream, &chunks, content, asked);
    stream.push(chunks.choice("{}", &quoted(finish_reason(content.stop()))));
    if counts {
        let usage = usage(content.usage, content.thinking.is_some());
        stream.push(Event::plain(format!(r#"{}[],"usage":{usage}}}"#, chunks.begin)));
    }
    stream.push(Event::plain("[DONE]".into()));
    stream
}

pub(super) fn whole(content: &Content, asked: &Asked) -> Value {
    let refused = text_field(content.stop()) == "refusal";
    let text = if content.text.is_empty() { Value::Null } else { json!(content.text) };
    let (said, refusal) = if refused { (Value::Null, text) } else { (text, Value::Null) };
    let mut message = json!({ "role": "assistant", "content": said, "refusal": refusal });
    if let Some(thinking) = &content.thinking {
        message["reasoning_content"] = json!(thinking);
    }
    if !content.calls.is_empty() {
        let calls = content.calls.iter().enumerate().map(|(index, (name, input))| {
            let function = json!({ "name": name, "arguments": input.to_string() });
            json!({ "id": call_id(asked, index), "type": "function", "function": function })
        });
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": asked.tag(false).id("chatcmpl"),
        "object": "chat.completion",
        "created": CREATED,
        "model": asked.model(),
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": finish_reason(content.stop()),
        }],
        "usage": usage(content.usage, content.thinking.is_some()),
        "system_fingerprint": "fp_scripted",
    })
}

/// The type and the code of an error: some names are one, some the other, one is both.
pub(super) fn error_names(kind: &str) -> (&str, Option<&str>) {
    match kind {
        "insufficient_quota" => (kind, Some(kind)),
        "rate_limit_exceeded" => ("requests", Some(kind)),
        _ if kind.ends_with("_error") => (kind, None),
        _ => ("invalid_request_error", Some(kind)),
    }
}

impl Chunks {
    fn new(asked: &Asked, counts: bool) -> Chunks {
        let id = asked.tag(false).id("chatcmpl");
        let model = quoted(asked.model());
        let head = format!(r#""id":"{id}","object":"chat.completion.chunk","created":{CREATED}"#);
        let begin = format!(r#"{{{head},"model":{model},"system_fingerprint":"fp_scripted","choices":"#);
        // A stream that counts says so in every chunk before the one that has the numbers.
        Chunks { begin, end: if counts { r#","usage":null}"# } else { "}" } }
    }

    fn delta(&self, delta: &str) -> Event {
        self.choice(delta, "null")
    }

    fn choice(&self, delta: &str, finish_reason: &str) -> Event {
        let choice =
            format!(r#"{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish_reason}}}"#);
        Event::plain(format!("{}[{choice}]{}", self.begin, self.end))
    }
}

/// Each call begins with its id and name; then the arguments of all calls come piece by piece in turn.
fn push_calls(stream: &mut Stream, chunks: &Chunks, content: &Content, asked: &Asked) {
    for (index, (name, _)) in content.calls.iter().enumerate() {
        let (id, name) = (call_id(asked, index), quoted(name));
        let function = format!(r#"{{"name":{name},"arguments":""}}"#);
        stream.push(chunks.delta(&format!(
            r#"{{"tool_calls":[{{"index":{index},"id":"{id}","type":"function","function":{function}}}]}}"#
        )));
    }
    let arguments: Vec<String> = content.calls.iter().map(|(_, input)| input.to_string()).collect();
    let arguments: Vec<Vec<&str>> = arguments.iter().map(|text| pieces(text)).collect();
    for round in 0..arguments.iter().map(Vec::len).max().unwrap_or(0) {
        for (index, piece) in arguments.iter().enumerate().filter_map(|(at, of)| Some((at, of.get(round)?))) {
            let function = format!(r#"{{"arguments":{}}}"#, quoted(piece));
            stream.push(
                chunks.delta(&format!(r#"{{"tool_calls":[{{"index":{index},"function":{function}}}]}}"#)),
            );
        }
    }
}

fn call_id(asked: &Asked, index: usize) -> String {
    asked.tag(false).item_id("call", index)
}

fn usage(usage: Usage, thought: bool) -> Value {
    let reasoning = if thought { usage.output / 2 } else { 0 };
    json!({
        "prompt_tokens": usage.prompt(),
        "completion_tokens": usage.output,
        "total_tokens": usage.prompt() + usage.output,
        "prompt_tokens_details": { "cached_tokens": usage.cache_read, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": reasoning, "audio_tokens": 0 },
    })
}

fn text_field(stop: Stop) -> &'static str {
    if stop == Stop::Refusal { "refusal" } else { "content" }
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Refusal | Stop::StopSequence | Stop::PauseTurn => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::MaxTokens | Stop::ContextWindow => "length",
        Stop::ContentFilter => "content_filter",
    }
}
