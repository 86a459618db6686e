//! Requests byte for byte, and answers that are sent back. Reading answers is `answers`, loose servers `dialects`.

mod answers;
mod dialects;

use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use posse_core::message::{Answer, Api, Message, Part, Role, Seal, ToolCall, ToolResult, ToolSpec};
use serde_json::json;

use super::OpenaiChat;
use crate::provider::sse::Sse;
use crate::provider::{Ask, Delta, Protocol, ProviderError, Thinking};

/// The answer that a whole stream holds, and what was told while it streamed.
pub(super) fn decode(stream: &str) -> (Result<Answer, ProviderError>, Vec<Delta>) {
    let mut sse = Sse::default();
    let mut decoder = OpenaiChat.decoder();
    let mut deltas = Vec::new();
    sse.feed(stream.as_bytes());
    while let Some((name, data)) = sse.next().unwrap() {
        if let Err(error) = decoder.event(name, data, &mut |delta| deltas.push(delta)) {
            return (Err(error), deltas);
        }
    }
    if let Some((name, data)) = sse.finish().unwrap()
        && let Err(error) = decoder.event(name, data, &mut |delta| deltas.push(delta))
    {
        return (Err(error), deltas);
    }
    (decoder.finish(), deltas)
}

/// An answer as text: its parts, then why it ended and what it used.
pub(super) fn show(answer: &Answer) -> String {
    let parts = answer.message.parts.iter().map(|part| format!("{}\n", serde_json::to_string(part).unwrap()));
    let usage = answer.usage;
    let used = format!(
        "input {} output {} read {} written {}",
        usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens
    );
    format!("{}{:?}, {used}\n", parts.collect::<String>(), answer.finish)
}

/// A message on the wire.
pub(super) fn encode(message: &Message) -> String {
    let mut out = Vec::new();
    OpenaiChat.message(message, true, &mut out);
    String::from_utf8(out).unwrap()
}

fn tools() -> Vec<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    vec![ToolSpec { name: "Read", description: "Reads a file.", schema: schema.into() }]
}

fn ask<'a>(tools: &'a [ToolSpec], messages: &'a [Arc<Message>], system: &'a [String]) -> Ask<'a> {
    Ask {
        model: "qwen3",
        system,
        tools,
        tools_allowed: true,
        edition: 0,
        messages,
        output_tokens_max: Some(4096),
        thinking: Thinking::Unset,
        thinks: true,
        stall: Duration::from_secs(60),
    }
}

fn check_request(ask: &Ask<'_>, expected: &Expect) {
    let mut messages = Vec::new();
    for message in ask.messages {
        if !messages.is_empty() {
            messages.push(b',');
        }
        OpenaiChat.message(message, false, &mut messages);
    }
    let mut out = Vec::new();
    OpenaiChat.head(ask, &mut out);
    out.extend_from_slice(&messages);
    out.extend_from_slice(b"]}");
    serde_json::from_slice::<serde_json::Value>(&out).expect("a request is JSON");
    expected.assert_eq(&String::from_utf8(out).unwrap());
}

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned() }
}

fn call(id: &str, path: &str) -> Part {
    Part::ToolCall(ToolCall {
        id: id.to_owned(),
        name: "Read".to_owned(),
        input: json!({"path": path}),
        malformed: None,
        seal: None,
    })
}

fn result(call_id: &str, text: &str) -> Part {
    let (call_id, text) = (call_id.to_owned(), text.to_owned());
    Part::ToolResult(ToolResult {
        call_id,
        name: "Read".to_owned(),
        text,
        is_error: false,
        media: Vec::new(),
    })
}

fn thinking(api: Api) -> Part {
    let value = json!({"reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "c2ln"}]});
    Part::Thinking { text: "hm".to_owned(), seal: Some(Seal { api, value }) }
}

fn assistant(parts: Vec<Part>) -> Message {
    Message { role: Role::Assistant, parts }
}

#[test]
fn the_first_turn() {
    let system = ["You read.".to_owned(), String::new(), "Be \"brief\".".to_owned()];
    let messages = [Arc::new(Message::user("What is in a.txt?"))];
    check_request(
        &ask(&tools(), &messages, &system),
        &expect![[
            r#"{"model":"qwen3","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"tools":[{"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}],"messages":[{"role":"system","content":"You read.\n\nBe \"brief\"."},{"role":"user","content":"What is in a.txt?"}]}"#
        ]],
    );
}

#[test]
fn a_turn_with_thinking_two_calls_and_their_results() {
    let user = Message {
        role: Role::User,
        parts: vec![text("And go on."), result("call_1", "A\n"), result("call_2", "")],
    };
    let messages = [
        Arc::new(Message::user("Read both.")),
        Arc::new(assistant(vec![
            thinking(Api::OpenaiChat),
            text("Reading."),
            call("call_1", "a"),
            call("call_2", "b\\\"ü"),
        ])),
        Arc::new(user),
    ];
    let tools = tools();
    let ask = Ask { thinking: Thinking::Effort("high"), ..ask(&tools, &messages, &[]) };
    check_request(
        &ask,
        &expect![[
            r#"{"model":"qwen3","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"reasoning_effort":"high","tools":[{"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}],"messages":[{"role":"user","content":"Read both."},{"role":"assistant","content":"Reading.","reasoning_details":[{"type":"reasoning.text","text":"hm","signature":"c2ln"}],"tool_calls":[{"id":"call_1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}},{"id":"call_2","type":"function","function":{"name":"Read","arguments":"{\"path\":\"b\\\\\\\"ü\"}"}}]},{"role":"tool","tool_call_id":"call_1","content":"A\n"},{"role":"tool","tool_call_id":"call_2","content":"(no output)"},{"role":"user","content":"And go on."}]}"#
        ]],
    );
}

#[test]
fn tools_that_are_not_allowed_are_sent_and_forbidden() {
    let (tools, messages) = (tools(), [Arc::new(Message::user("Sum up."))]);
    let ask = Ask { tools_allowed: false, thinking: Thinking::Budget(1000), ..ask(&tools, &messages, &[]) };
    check_request(
        &ask,
        &expect![[
            r#"{"model":"qwen3","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"tools":[{"type":"function","function":{"name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}],"tool_choice":"none","messages":[{"role":"user","content":"Sum up."}]}"#
        ]],
    );
}

#[test]
fn nothing_is_forbidden_where_there_are_no_tools() {
    let messages = [Arc::new(Message::user("Sum up."))];
    let ask = Ask { tools_allowed: false, ..ask(&[], &messages, &[]) };
    check_request(
        &ask,
        &expect![[
            r#"{"model":"qwen3","stream":true,"stream_options":{"include_usage":true},"max_tokens":4096,"messages":[{"role":"user","content":"Sum up."}]}"#
        ]],
    );
}

#[test]
fn thoughts_go_back_under_their_name_while_tools_are_called() {
    let seal = Some(Seal { api: Api::OpenaiChat, value: json!({"reasoning_content": true}) });
    let thought = Part::Thinking { text: "I should look.".to_owned(), seal };
    let calling = Message { role: Role::Assistant, parts: vec![thought.clone(), call("call_1", "a")] };
    assert!(encode(&calling).contains(r#""reasoning_content":"I should look.""#));
    let speaking = Message { role: Role::Assistant, parts: vec![thought, text("Done.")] };
    assert!(!encode(&speaking).contains("reasoning_content"));
}

#[test]
fn calls_alone_have_no_content() {
    expect![[r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}]}"#]].assert_eq(&encode(&assistant(vec![call("call_1", "a")])));
}

#[test]
fn thoughts_without_a_seal_or_with_a_foreign_one_stay_here() {
    let unsealed = Part::Thinking { text: "hm".to_owned(), seal: None };
    let message = assistant(vec![unsealed, thinking(Api::OpenaiResponses), text("Yes.")]);
    expect![[r#"{"role":"assistant","content":"Yes."}"#]].assert_eq(&encode(&message));
}

#[test]
fn malformed_arguments_go_back_as_an_empty_object() {
    let call = ToolCall {
        id: "call_1".to_owned(),
        name: "Read".to_owned(),
        input: json!({}),
        malformed: Some("{\"path\":".to_owned()),
        seal: None,
    };
    expect![[r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"Read","arguments":"{}"}}]}"#]].assert_eq(&encode(&assistant(vec![Part::ToolCall(call)])));
}

#[test]
fn a_message_of_nothing_is_still_one_element() {
    expect![[r#"{"role":"assistant","content":"(empty)"}"#]].assert_eq(&encode(&assistant(vec![text("")])));
    expect![[r#"{"role":"user","content":"(empty)"}"#]].assert_eq(&encode(&Message::user("")));
}

#[test]
fn several_texts_are_one_string() {
    let message = Message { role: Role::User, parts: vec![text("One."), text(""), text("Two.")] };
    expect![[r#"{"role":"user","content":"One.\n\nTwo."}"#]].assert_eq(&encode(&message));
}

#[test]
fn the_key_is_a_bearer_token() {
    let headers = OpenaiChat.headers(Some("sk-1"));
    assert_eq!(headers[0], ("authorization", "Bearer sk-1".to_owned()));
    assert_eq!(OpenaiChat.headers(None), [("content-type", "application/json".to_owned())]);
    assert_eq!(OpenaiChat.path("any"), "/chat/completions");
}

#[test]
fn an_answer_goes_back_with_its_seal_intact() {
    let (answer, _) = decode(answers::OPENROUTER_STREAM);
    let message = answer.unwrap().message;
    expect![[r#"{"role":"assistant","content":"Reading.","reasoning_details":[{"type":"reasoning.text","text":"Let me read.","format":"anthropic-claude-v1","index":0,"signature":"Et8BCm=="}],"tool_calls":[{"id":"toolu_1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}]}"#]].assert_eq(&encode(&message));
    let stored: Message = serde_json::from_str(&serde_json::to_string(&message).unwrap()).unwrap();
    assert_eq!(encode(&stored), encode(&message));
}
