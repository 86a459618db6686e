//! Requests byte for byte, and answers that are sent back. Reading answers is `answers`.

mod answers;

use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use posse_core::message::{Answer, Api, Message, Part, Role, Seal, ToolCall, ToolResult, ToolSpec};
use serde_json::json;

use super::OpenaiResponses;
use crate::provider::sse::Sse;
use crate::provider::{Ask, Delta, Protocol, ProviderError, Thinking};

/// The answer that a whole stream holds, and what was told while it streamed.
pub(super) fn decode(stream: &str) -> (Result<Answer, ProviderError>, Vec<Delta>) {
    let mut sse = Sse::default();
    let mut decoder = OpenaiResponses.decoder();
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
fn encode(message: &Message) -> String {
    let mut out = Vec::new();
    OpenaiResponses.message(message, true, &mut out);
    String::from_utf8(out).unwrap()
}

fn tools() -> Vec<ToolSpec> {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    vec![ToolSpec { name: "Read", description: "Reads a file.", schema: schema.into() }]
}

fn ask<'a>(tools: &'a [ToolSpec], messages: &'a [Arc<Message>], system: &'a [String]) -> Ask<'a> {
    Ask {
        model: "gpt-5",
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
        OpenaiResponses.message(message, false, &mut messages);
    }
    let mut out = Vec::new();
    OpenaiResponses.head(ask, &mut out);
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
    let summary = json!([{"type": "summary_text", "text": "hm"}]);
    let value = json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAA"});
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
            r#"{"model":"gpt-5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":4096,"instructions":"You read.\n\nBe \"brief\".","tools":[{"type":"function","name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"strict":false}],"parallel_tool_calls":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"What is in a.txt?"}]}]}"#
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
            thinking(Api::OpenaiResponses),
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
            r#"{"model":"gpt-5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":4096,"reasoning":{"effort":"high","summary":"auto"},"tools":[{"type":"function","name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"strict":false}],"parallel_tool_calls":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Read both."}]},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Reading."}]},{"type":"function_call","call_id":"call_1","name":"Read","arguments":"{\"path\":\"a\"}"},{"type":"function_call","call_id":"call_2","name":"Read","arguments":"{\"path\":\"b\\\\\\\"ü\"}"},{"type":"function_call_output","call_id":"call_1","output":"A\n"},{"type":"function_call_output","call_id":"call_2","output":"(no output)"},{"type":"message","role":"user","content":[{"type":"input_text","text":"And go on."}]}]}"#
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
            r#"{"model":"gpt-5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":4096,"tools":[{"type":"function","name":"Read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},"strict":false}],"tool_choice":"none","parallel_tool_calls":true,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Sum up."}]}]}"#
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
            r#"{"model":"gpt-5","stream":true,"store":false,"include":["reasoning.encrypted_content"],"max_output_tokens":4096,"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"Sum up."}]}]}"#
        ]],
    );
}

#[test]
fn thoughts_without_what_seals_them_stay_here() {
    let unsealed = Part::Thinking { text: "hm".to_owned(), seal: None };
    let value = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let seal = Some(Seal { api: Api::OpenaiResponses, value });
    let without_content = Part::Thinking { text: String::new(), seal };
    let message = assistant(vec![unsealed, thinking(Api::OpenaiChat), without_content, text("Yes.")]);
    expect![[r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}"#]]
        .assert_eq(&encode(&message));
}

#[test]
fn a_thought_that_nothing_follows_stays_here() {
    let message = assistant(vec![text("Yes."), thinking(Api::OpenaiResponses), text("")]);
    expect![[r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]}"#]]
        .assert_eq(&encode(&message));
}

#[test]
fn items_keep_their_order() {
    let sealed = || thinking(Api::OpenaiResponses);
    let message = assistant(vec![sealed(), call("call_1", "a"), sealed(), text("Yes."), call("call_2", "b")]);
    expect![[r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"},{"type":"function_call","call_id":"call_1","name":"Read","arguments":"{\"path\":\"a\"}"},{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Yes."}]},{"type":"function_call","call_id":"call_2","name":"Read","arguments":"{\"path\":\"b\"}"}"#]].assert_eq(&encode(&message));
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
    expect![[r#"{"type":"function_call","call_id":"call_1","name":"Read","arguments":"{}"}"#]]
        .assert_eq(&encode(&assistant(vec![Part::ToolCall(call)])));
}

#[test]
fn a_message_of_nothing_is_still_one_element() {
    expect![[r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"(empty)"}]}"#]]
        .assert_eq(&encode(&assistant(vec![text("")])));
    expect![[r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"(empty)"}]}"#]]
        .assert_eq(&encode(&Message::user("")));
}

#[test]
fn the_key_is_a_bearer_token() {
    let headers = OpenaiResponses.headers(Some("sk-1"));
    assert_eq!(headers[0], ("authorization", "Bearer sk-1".to_owned()));
    assert_eq!(OpenaiResponses.headers(None), [("content-type", "application/json".to_owned())]);
    assert_eq!(OpenaiResponses.path("any"), "/responses");
}

#[test]
fn an_answer_goes_back_with_its_seal_intact() {
    let (answer, _) = decode(answers::REASONING_AND_CALLS);
    let message = answer.unwrap().message;
    expect![[r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Reading**"},{"type":"summary_text","text":"Both at once."}],"encrypted_content":"gAAAwhole"},{"type":"function_call","call_id":"call_1","name":"Read","arguments":"{\"path\":\"a\"}"},{"type":"function_call","call_id":"call_2","name":"Grep","arguments":"{\"x\":1}"}"#]].assert_eq(&encode(&message));
    let stored: Message = serde_json::from_str(&serde_json::to_string(&message).unwrap()).unwrap();
    assert_eq!(encode(&stored), encode(&message));
}
