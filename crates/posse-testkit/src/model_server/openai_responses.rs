//! `OpenAI` Responses: a reply as `POST /v1/responses` streams it and as one object.

use serde_json::{Map, Value, json};

use super::issued::{Tag, sign};
use super::openai_chat::{CREATED, error_names};
use super::render::Asked;
use super::reply::{Content, Failure, Stop, Usage};
use super::stream::{Event, Stream, pieces, quoted};

/// The codes with which a response can fail; any other error is an event of its own.
const FAILURE_CODES: [&str; 5] =
    ["server_error", "rate_limit_exceeded", "invalid_prompt", "vector_store_timeout", "invalid_image"];

/// How the id of a reasoning item ends that comes before a message.
pub(super) const BEFORE_MESSAGE: &str = "msg";
/// How the id of a reasoning item ends that comes before a call.
pub(super) const BEFORE_CALL: &str = "fc";

/// A stream whose events are numbered.
struct Numbered {
    stream: Stream,
    next: usize,
}

pub(super) fn stream(content: &Content, asked: &Asked) -> Stream {
    let mut out = Numbered { stream: Stream::default(), next: 0 };
    let begun = response(asked, "in_progress", &[]);
    out.push("response.created", json!({ "response": begun }));
    out.push("response.in_progress", json!({ "response": begun }));
    let items = items(content, asked);
    for (index, item) in items.iter().enumerate() {
        match item["type"].as_str() {
            Some("reasoning") => push_reasoning(&mut out, index, item),
            Some("message") => push_message(&mut out, index, item),
            _ => push_call(&mut out, index, item),
        }
    }
    let (name, response) = ended(content, asked, &items);
    out.push(name, json!({ "response": response }));
    out.stream
}

pub(super) fn whole(content: &Content, asked: &Asked) -> Value {
    ended(content, asked, &items(content, asked)).1
}

/// How an answer that has begun fails.
pub(super) fn error_events(failure: &Failure, asked: &Asked) -> Vec<Event> {
    let mut out = Numbered { stream: Stream::default(), next: 5 };
    let Failure { kind, message, .. } = failure;
    if FAILURE_CODES.contains(&&kind[..]) {
        let mut response = response(asked, "failed", &[]);
        response["error"] = json!({ "code": kind, "message": message });
        return vec![out.event("response.failed", json!({ "response": response }))];
    }
    let (kind, code) = error_names(kind);
    vec![out.event("error", json!({ "code": code.unwrap_or(kind), "message": message, "param": null }))]
}

/// What a reasoning item with this id is sent with to be understood when it comes back.
pub(super) fn encrypted(id: &str) -> String {
    sign(id)
}

fn response(asked: &Asked, status: &str, output: &[Value]) -> Value {
    let body = asked.body();
    let or = |name: &str, otherwise: Value| body.get(name).cloned().unwrap_or(otherwise);
    json!({
        "id": asked.tag(false).id("resp"),
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": null,
        "incomplete_details": null,
        "instructions": or("instructions", Value::Null),
        "max_output_tokens": or("max_output_tokens", Value::Null),
        "model": asked.model(),
        "output": output,
        "parallel_tool_calls": or("parallel_tool_calls", json!(true)),
        "previous_response_id": null,
        "reasoning": or("reasoning", json!({ "effort": null, "summary": null })),
        "store": or("store", json!(true)),
        "tool_choice": or("tool_choice", json!("auto")),
        "truncation": "disabled",
        "usage": null,
        "metadata": or("metadata", json!({})),
    })
}

/// The name of the last event and the response in it.
fn ended(content: &Content, asked: &Asked, items: &[Value]) -> (&'static str, Value) {
    let (name, status, reason) = match content.stop() {
        Stop::End | Stop::ToolUse | Stop::Refusal | Stop::StopSequence | Stop::PauseTurn => {
            ("response.completed", "completed", None)
        }
        Stop::MaxTokens | Stop::ContextWindow => {
            ("response.incomplete", "incomplete", Some("max_output_tokens"))
        }
        Stop::ContentFilter => ("response.incomplete", "incomplete", Some("content_filter")),
    };
    let mut response = response(asked, status, items);
    if let Some(reason) = reason {
        response["incomplete_details"] = json!({ "reason": reason });
    }
    response["usage"] = usage(content.usage, content.thinking.is_some());
    (name, response)
}

fn usage(usage: Usage, thought: bool) -> Value {
    let reasoning = if thought { usage.output / 2 } else { 0 };
    json!({
        "input_tokens": usage.prompt(),
        "input_tokens_details": { "cached_tokens": usage.cache_read },
        "output_tokens": usage.output,
        "output_tokens_details": { "reasoning_tokens": reasoning },
        "total_tokens": usage.prompt() + usage.output,
    })
}

/// The finished output items of the answer.
fn items(content: &Content, asked: &Asked) -> Vec<Value> {
    let tag = asked.tag(content.thinking.is_some());
    let status = if content.stop() == Stop::MaxTokens { "incomplete" } else { "completed" };
    let mut items: Vec<Value> =
        content.thinking.iter().map(|_| reasoning_item(&tag, content, asked)).collect();
    if !content.text.is_empty() {
        let part = match content.stop() {
            Stop::Refusal => json!({ "type": "refusal", "refusal": content.text }),
            _ => json!({ "type": "output_text", "annotations": [], "logprobs": [], "text": content.text }),
        };
        items.push(json!({
            "id": tag.id("msg"), "type": "message", "status": status, "content": [part], "role": "assistant",
        }));
    }
    for (index, (name, input)) in content.calls.iter().enumerate() {
        items.push(json!({
            "id": tag.item_id("fc", index),
            "type": "function_call",
            "status": status,
            "arguments": input.to_string(),
            "call_id": tag.item_id("call", index),
            "name": name,
        }));
    }
    items
}

/// Its id says what follows it, because it may only come back before that.
fn reasoning_item(tag: &Tag, content: &Content, asked: &Asked) -> Value {
    let before = if content.text.is_empty() { BEFORE_CALL } else { BEFORE_MESSAGE };
    let id = tag.item_id("rs", before);
    let summary = match asked.body()["reasoning"]["summary"].as_str() {
        Some(_) => json!([{ "type": "summary_text", "text": content.thinking }]),
        None => json!([]),
    };
    let mut item = json!({ "id": id, "type": "reasoning", "summary": summary });
    if includes_encrypted(asked.body()) {
        item["encrypted_content"] = json!(encrypted(&id));
    }
    item
}

/// Whether the request asks for reasoning in a form that can be sent back.
pub(super) fn includes_encrypted(body: &Value) -> bool {
    body["include"].as_array().is_some_and(|include| include.contains(&json!("reasoning.encrypted_content")))
}

impl Numbered {
    fn event(&mut self, name: &'static str, fields: Value) -> Event {
        let mut event = Map::new();
        event.insert("type".into(), name.into());
        event.insert("sequence_number".into(), self.number().into());
        if let Value::Object(fields) = fields {
            event.extend(fields);
        }
        Event::named(name, Value::Object(event).to_string())
    }

    fn push(&mut self, name: &'static str, fields: Value) {
        let event = self.event(name, fields);
        self.stream.push(event);
    }

    /// A piece of something; `place` says of what.
    fn delta(&mut self, name: &'static str, place: &str, piece: &str) -> Event {
        let (number, piece) = (self.number(), quoted(piece));
        Event::named(
            name,
            format!(r#"{{"type":"{name}","sequence_number":{number},{place},"delta":{piece}}}"#),
        )
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

fn push_added(out: &mut Numbered, index: usize, item: &Value) {
    out.push("response.output_item.added", json!({ "output_index": index, "item": item }));
}

fn push_done(out: &mut Numbered, index: usize, item: &Value) {
    out.push("response.output_item.done", json!({ "output_index": index, "item": item }));
}

fn push_reasoning(out: &mut Numbered, index: usize, item: &Value) {
    let mut begun = item.clone();
    begun["summary"] = json!([]);
    if item.get("encrypted_content").is_some() {
        // What the item begins with is not what it ends with; only the latter may be sent back.
        begun["encrypted_content"] = json!(sign("begun"));
    }
    push_added(out, index, &begun);
    if let Some(text) = item["summary"][0]["text"].as_str() {
        let id = &item["id"];
        let place = json!({ "item_id": id, "output_index": index, "summary_index": 0 });
        let with = |field: &str, value: Value| {
            let mut fields = place.clone();
            fields[field] = value;
            fields
        };
        let part = |text: &str| json!({ "type": "summary_text", "text": text });
        out.push("response.reasoning_summary_part.added", with("part", part("")));
        let at = format!(r#""item_id":{id},"output_index":{index},"summary_index":0"#);
        for piece in pieces(text) {
            let event = out.delta("response.reasoning_summary_text.delta", &at, piece);
            out.stream.push(event);
        }
        out.push("response.reasoning_summary_text.done", with("text", json!(text)));
        out.push("response.reasoning_summary_part.done", with("part", part(text)));
    }
    push_done(out, index, item);
}

fn push_message(out: &mut Numbered, index: usize, item: &Value) {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    begun["content"] = json!([]);
    push_added(out, index, &begun);
    let part = &item["content"][0];
    let (field, delta, done) = match part["type"].as_str() {
        Some("refusal") => ("refusal", "response.refusal.delta", "response.refusal.done"),
        _ => ("text", "response.output_text.delta", "response.output_text.done"),
    };
    let mut empty = part.clone();
    empty[field] = json!("");
    let id = &item["id"];
    let place = json!({ "item_id": id, "output_index": index, "content_index": 0 });
    let with = |field: &str, value: Value| {
        let mut fields = place.clone();
        fields[field] = value;
        fields
    };
    out.push("response.content_part.added", with("part", empty));
    let at = format!(r#""item_id":{id},"output_index":{index},"content_index":0"#);
    for piece in pieces(part[field].as_str().unwrap_or_default()) {
        let event = out.delta(delta, &at, piece);
        out.stream.push_delta(event);
    }
    out.push(done, with(field, part[field].clone()));
    out.push("response.content_part.done", with("part", part.clone()));
    push_done(out, index, item);
}

fn push_call(out: &mut Numbered, index: usize, item: &Value) {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    begun["arguments"] = json!("");
    push_added(out, index, &begun);
    let id = &item["id"];
    let at = format!(r#""item_id":{id},"output_index":{index}"#);
    for piece in pieces(item["arguments"].as_str().unwrap_or_default()) {
        let event = out.delta("response.function_call_arguments.delta", &at, piece);
        out.stream.push(event);
    }
    let arguments = &item["arguments"];
    out.push(
        "response.function_call_arguments.done",
        json!({ "item_id": id, "output_index": index, "arguments": arguments }),
    );
    push_done(out, index, item);
}
