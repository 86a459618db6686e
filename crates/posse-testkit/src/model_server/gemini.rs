//! Gemini: a reply as `:streamGenerateContent` streams it and as `:generateContent` gives it at once.

use serde_json::{Value, json};

use super::issued::{sign, sign_call};
use super::render::Asked;
use super::reply::{Content, Stop};
use super::stream::{Event, Stream, Writing, pieces};

const STREAM_METHOD: &str = ":streamGenerateContent";

pub(super) fn stream(content: &Content, asked: &Asked) -> Stream {
    let mut stream = Stream::default();
    for piece in pieces(thinking(content, asked)) {
        stream.push(chunk(content, asked, &[json!({ "text": piece, "thought": true })], Last::No));
    }
    for piece in pieces(&content.text) {
        stream.push_delta(chunk(content, asked, &[json!({ "text": piece })], Last::No));
    }
    let calls = call_parts(content, asked);
    let last_call = calls.len();
    for (index, part) in calls.into_iter().enumerate() {
        let last = if index + 1 == last_call { Last::Yes } else { Last::No };
        stream.push(chunk(content, asked, &[part], last));
    }
    if content.calls.is_empty() {
        stream.push(chunk(content, asked, last_text_part(content, asked).as_slice(), Last::Yes));
    }
    stream
}

pub(super) fn whole(content: &Content, asked: &Asked) -> Value {
    let mut parts = Vec::new();
    if !thinking(content, asked).is_empty() {
        parts.push(json!({ "text": thinking(content, asked), "thought": true }));
    }
    if !content.text.is_empty() {
        let mut part = json!({ "text": content.text });
        if content.calls.is_empty() && signs_always(asked.model()) {
            part["thoughtSignature"] = json!(sign(&content.text));
        }
        parts.push(part);
    }
    parts.extend(call_parts(content, asked));
    let candidate = candidate(&parts, Some(finish_reason(content.stop())));
    response(content, asked, &candidate, Last::Yes)
}

/// The model that a path names.
pub(super) fn model(path: &str) -> &str {
    let after = path.split_once("/models/").map_or("", |(_, after)| after);
    after.split([':', '?']).next().unwrap_or_default()
}

/// Whether a path asks for a stream.
pub(super) fn streams(path: &str) -> bool {
    path.contains(STREAM_METHOD)
}

/// How a path wants the stream to be written.
pub(super) fn writing(path: &str) -> Writing {
    match query(path, "alt") {
        Some("sse") => Writing::SseCrlf,
        Some(_) | None => Writing::Array,
    }
}

/// The value of a query parameter.
pub(super) fn query<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let (_, query) = path.split_once('?')?;
    query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name).map(|pair| pair.1)
}

/// A field under either of the two names that the service takes for it.
pub(super) fn field<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a Value {
    value.get(camel).unwrap_or(&value[snake])
}

/// Whether this model signs every first call, demands the signature back, and names its calls by id.
pub(super) fn signs_always(model: &str) -> bool {
    model.starts_with("gemini-3")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    No,
    Yes,
}

fn thinking<'a>(content: &'a Content, asked: &Asked) -> &'a str {
    let generation = field(asked.body(), "generationConfig", "generation_config");
    let config = field(generation, "thinkingConfig", "thinking_config");
    match &content.thinking {
        Some(text) if *field(config, "includeThoughts", "include_thoughts") == Value::Bool(true) => text,
        Some(_) | None => "",
    }
}

/// A call comes whole in one part. The signature is on the first one alone, the ids on all or none.
fn call_parts(content: &Content, asked: &Asked) -> Vec<Value> {
    let signs = signs_always(asked.model());
    let part = |(index, (name, arguments)): (usize, &(String, Value))| {
        let mut call = json!({ "name": name, "args": arguments });
        if signs {
            call["id"] = json!(asked.tag(false).item_id("fc", index));
        }
        let mut part = json!({ "functionCall": call });
        if index == 0 && (signs || content.thinking.is_some()) {
            part["thoughtSignature"] = json!(sign_call(name, arguments));
        }
        part
    };
    content.calls.iter().enumerate().map(part).collect()
}

/// The part of the last chunk: empty, and where the model signs, with the signature of the text.
fn last_text_part(content: &Content, asked: &Asked) -> Option<Value> {
    if content.text.is_empty() {
        return None;
    }
    let mut part = json!({ "text": "" });
    if signs_always(asked.model()) {
        part["thoughtSignature"] = json!(sign(&content.text));
    }
    Some(part)
}

fn chunk(content: &Content, asked: &Asked, parts: &[Value], last: Last) -> Event {
    let finish = (last == Last::Yes).then(|| finish_reason(content.stop()));
    let candidate = candidate(parts, finish);
    Event::plain(response(content, asked, &candidate, last).to_string())
}

fn candidate(parts: &[Value], finish: Option<&str>) -> Value {
    let mut candidate = json!({});
    if !parts.is_empty() {
        candidate["content"] = json!({ "parts": parts, "role": "model" });
    }
    if let Some(finish) = finish {
        candidate["finishReason"] = json!(finish);
    }
    candidate["index"] = json!(0);
    candidate
}

fn response(content: &Content, asked: &Asked, candidate: &Value, last: Last) -> Value {
    json!({
        "candidates": [candidate],
        "usageMetadata": usage(content, last),
        "modelVersion": asked.model(),
        "responseId": asked.tag(false).id("response"),
    })
}

/// Every chunk counts the prompt; only the last one counts the whole output. Zeros are left out.
fn usage(content: &Content, last: Last) -> Value {
    let usage = content.usage;
    let output = if last == Last::Yes { usage.output } else { 1.min(usage.output) };
    let thoughts = if content.thinking.is_some() { output / 2 } else { 0 };
    let mut counts = json!({
        "promptTokenCount": usage.prompt(),
        "candidatesTokenCount": output - thoughts,
        "totalTokenCount": usage.prompt() + output,
    });
    if usage.cache_read > 0 {
        counts["cachedContentTokenCount"] = json!(usage.cache_read);
    }
    if thoughts > 0 {
        counts["thoughtsTokenCount"] = json!(thoughts);
    }
    counts
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::ToolUse | Stop::StopSequence | Stop::PauseTurn => "STOP",
        Stop::MaxTokens | Stop::ContextWindow => "MAX_TOKENS",
        Stop::Refusal | Stop::ContentFilter => "SAFETY",
    }
}
