//! Anthropic Messages: a reply as `POST /v1/messages` streams it and as one object.

use serde_json::{Map, Value, json};

use super::issued::sign;
use super::render::Asked;
use super::reply::{Content, Stop, Usage};
use super::stream::{Event, Stream, pieces, quoted};

/// The thinking that a request lets the client see.
enum Thinking<'a> {
    None,
    /// The block is sent with its signature and without its text.
    Omitted(&'a str),
    Shown(&'a str),
}

pub(super) fn stream(content: &Content, asked: &Asked) -> Stream {
    let mut stream = Stream::default();
    let message = message(asked, &[], None, &usage(content.usage, 1));
    push(&mut stream, "message_start", json!({ "message": message }));
    push(&mut stream, "ping", json!({}));
    let mut index = 0;
    let thinking = thinking(content, asked);
    if let Some(block) = thinking_block(&thinking) {
        push_thinking(&mut stream, index, &thinking, &block["signature"]);
        index += 1;
    }
    if !content.text.is_empty() {
        push_text(&mut stream, index, &content.text);
        index += 1;
    }
    for (call, (name, input)) in content.calls.iter().enumerate() {
        push_call(&mut stream, index + call, &call_id(content, asked, call), (name, input));
    }
    let delta =
        json!({ "stop_reason": stop_reason(content.stop()), "stop_sequence": stop_sequence(content, asked) });
    let mut closing = json!({ "delta": delta });
    closing["usage"] = usage(content.usage, content.usage.output);
    push(&mut stream, "message_delta", closing);
    push(&mut stream, "message_stop", json!({}));
    stream
}

pub(super) fn whole(content: &Content, asked: &Asked) -> Value {
    let mut blocks: Vec<Value> = thinking_block(&thinking(content, asked)).into_iter().collect();
    if !content.text.is_empty() {
        blocks.push(json!({ "type": "text", "text": content.text }));
    }
    for (index, (name, input)) in content.calls.iter().enumerate() {
        let id = call_id(content, asked, index);
        blocks.push(json!({ "type": "tool_use", "id": id, "name": name, "input": input }));
    }
    let stop = Some(stop_reason(content.stop()));
    let mut message = message(asked, &blocks, stop, &usage(content.usage, content.usage.output));
    message["stop_sequence"] = stop_sequence(content, asked);
    message
}

/// Whether the request turned thinking on, in either of the two ways.
pub(super) fn thinking_is_on(body: &Value) -> bool {
    matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"))
}

fn message(asked: &Asked, content: &[Value], stop_reason: Option<&str>, usage: &Value) -> Value {
    json!({
        "id": asked.tag(false).id("msg"),
        "type": "message",
        "role": "assistant",
        "model": asked.model(),
        "content": content,
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": usage,
    })
}

fn usage(usage: Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read,
        "output_tokens": output,
    })
}

fn call_id(content: &Content, asked: &Asked, index: usize) -> String {
    let thought = !matches!(thinking(content, asked), Thinking::None);
    asked.tag(thought).item_id("toolu", index)
}

fn thinking<'a>(content: &'a Content, asked: &Asked) -> Thinking<'a> {
    match &content.thinking {
        Some(text) if thinking_is_on(asked.body()) => match asked.body()["thinking"]["display"].as_str() {
            Some("omitted") => Thinking::Omitted(text),
            Some(_) | None => Thinking::Shown(text),
        },
        Some(_) | None => Thinking::None,
    }
}

fn thinking_block(thinking: &Thinking) -> Option<Value> {
    let (shown, signed) = match thinking {
        Thinking::None => return None,
        Thinking::Omitted(text) => ("", text),
        Thinking::Shown(text) => (*text, text),
    };
    Some(json!({ "type": "thinking", "thinking": shown, "signature": sign(signed) }))
}

fn push(stream: &mut Stream, name: &'static str, fields: Value) {
    let mut event = Map::new();
    event.insert("type".into(), name.into());
    if let Value::Object(fields) = fields {
        event.extend(fields);
    }
    stream.push(Event::named(name, Value::Object(event).to_string()));
}

fn push_start(stream: &mut Stream, index: usize, block: &Value) {
    push(stream, "content_block_start", json!({ "index": index, "content_block": block }));
}

fn push_stop(stream: &mut Stream, index: usize) {
    push(stream, "content_block_stop", json!({ "index": index }));
}

fn delta(index: usize, kind: &str, field: &str, value: &str) -> Event {
    let value = quoted(value);
    let name = "content_block_delta";
    let delta = format_args!(r#"{{"type":"{kind}","{field}":{value}}}"#);
    Event::named(name, format!(r#"{{"type":"{name}","index":{index},"delta":{delta}}}"#))
}

fn push_thinking(stream: &mut Stream, index: usize, thinking: &Thinking, signature: &Value) {
    push_start(stream, index, &json!({ "type": "thinking", "thinking": "", "signature": "" }));
    match thinking {
        Thinking::None | Thinking::Omitted(_) => {}
        Thinking::Shown(text) => {
            for piece in pieces(text) {
                stream.push(delta(index, "thinking_delta", "thinking", piece));
            }
        }
    }
    stream.push(delta(index, "signature_delta", "signature", signature.as_str().unwrap_or_default()));
    push_stop(stream, index);
}

fn push_text(stream: &mut Stream, index: usize, text: &str) {
    push_start(stream, index, &json!({ "type": "text", "text": "" }));
    for piece in pieces(text) {
        stream.push_delta(delta(index, "text_delta", "text", piece));
    }
    push_stop(stream, index);
}

fn push_call(stream: &mut Stream, index: usize, id: &str, (name, input): (&str, &Value)) {
    push_start(stream, index, &json!({ "type": "tool_use", "id": id, "name": name, "input": {} }));
    // The service always begins with an empty piece.
    stream.push(delta(index, "input_json_delta", "partial_json", ""));
    // A call without arguments has no further piece, not even `{}`.
    if input.as_object().is_none_or(|fields| !fields.is_empty()) {
        for piece in pieces(&input.to_string()) {
            stream.push(delta(index, "input_json_delta", "partial_json", piece));
        }
    }
    push_stop(stream, index);
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::MaxTokens => "max_tokens",
        Stop::Refusal | Stop::ContentFilter => "refusal",
        Stop::StopSequence => "stop_sequence",
        Stop::PauseTurn => "pause_turn",
        Stop::ContextWindow => "model_context_window_exceeded",
    }
}

fn stop_sequence(content: &Content, asked: &Asked) -> Value {
    match content.stop() {
        Stop::StopSequence => asked.body()["stop_sequences"][0].clone(),
        Stop::End
        | Stop::ToolUse
        | Stop::MaxTokens
        | Stop::Refusal
        | Stop::ContentFilter
        | Stop::PauseTurn
        | Stop::ContextWindow => Value::Null,
    }
}
