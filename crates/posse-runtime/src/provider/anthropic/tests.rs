//! What is sent to Anthropic Messages byte by byte, and what its streams turn into.

use std::time::Duration;

use expect_test::{Expect, expect};
use posse_core::message::{Api, Message, Part, Role, Seal, ToolCall, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::{Anthropic, plain};
use crate::provider::{Ask, Protocol, ProviderError, Thinking};

fn tools() -> [ToolSpec; 2] {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    [
        ToolSpec { name: "read", description: "Reads a file.", schema: schema.clone().into() },
        ToolSpec { name: "list", description: "Lists a directory.", schema: schema.into() },
    ]
}

fn ask<'a>(system: &'a [String], tools: &'a [ToolSpec]) -> Ask<'a> {
    Ask {
        model: "claude-test",
        system,
        tools,
        tools_allowed: true,
        edition: 0,
        messages: &[],
        output_tokens_max: Some(8192),
        thinking: Thinking::Unset,
        thinks: true,
        stall: Duration::from_secs(60),
    }
}

fn written(message: &Message, cached: bool) -> String {
    let mut out = Vec::new();
    Anthropic.message(message, cached, &mut out);
    String::from_utf8(out).unwrap()
}

fn check_message(message: &Message, expected: &Expect) {
    expected.assert_eq(&written(message, false));
}

fn check_cached(message: &Message, expected: &Expect) {
    expected.assert_eq(&written(message, true));
}

fn check_body(ask: &Ask<'_>, messages: &str, expected: &Expect) {
    let mut out = Vec::new();
    Anthropic.head(ask, &mut out);
    out.extend_from_slice(messages.as_bytes());
    out.extend_from_slice(b"]}");
    serde_json::from_slice::<Value>(&out).unwrap();
    expected.assert_eq(&String::from_utf8(out).unwrap());
}

fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned() }
}

fn thinking(text: &str, api: Api, value: Value) -> Part {
    Part::Thinking { text: text.to_owned(), seal: Some(Seal { api, value }) }
}

fn call(id: &str, path: &str) -> Part {
    let (id, name) = (id.to_owned(), "read".to_owned());
    Part::ToolCall(ToolCall { id, name, input: json!({"path": path}), malformed: None, seal: None })
}

fn result(id: &str, text: &str, is_error: bool) -> Part {
    let (call_id, name) = (id.to_owned(), "read".to_owned());
    Part::ToolResult(ToolResult { call_id, name, text: text.to_owned(), is_error, media: Vec::new() })
}

fn assistant(parts: Vec<Part>) -> Message {
    Message { role: Role::Assistant, parts }
}

fn user(parts: Vec<Part>) -> Message {
    Message { role: Role::User, parts }
}

fn check_refusal(status: u16, body: &str, expected: &Expect) {
    let ProviderError { fault, status, message, retry_after: _ } = Anthropic.refusal(status, body);
    expected.assert_eq(&format!("{fault:?} {status:?}: {message}"));
}

#[test]
fn the_first_turn_has_system_tools_and_task() {
    let (system, tools) = (["You read.".to_owned(), "Be brief.".to_owned()], tools());
    let messages = written(&Message::user("Read \"a.rs\"."), true);
    check_body(
        &ask(&system, &tools),
        &messages,
        &expect![[
            r#"{"model":"claude-test","max_tokens":8192,"stream":true,"system":[{"type":"text","text":"You read."},{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],"tools":[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},{"name":"list","description":"Lists a directory.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"Read \"a.rs\".","cache_control":{"type":"ephemeral"}}]}]}"#
        ]],
    );
}

#[test]
fn a_request_without_system_and_tools_has_neither() {
    check_body(
        &ask(&[" ".to_owned()], &[]),
        r#"{"role":"user"}"#,
        &expect![[r#"{"model":"claude-test","max_tokens":8192,"stream":true,"messages":[{"role":"user"}]}"#]],
    );
}

#[test]
fn tools_that_may_not_be_called_are_still_sent() {
    let tools = tools();
    check_body(
        &Ask { tools_allowed: false, ..ask(&[], &tools) },
        "",
        &expect![[
            r#"{"model":"claude-test","max_tokens":8192,"stream":true,"tools":[{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}},{"name":"list","description":"Lists a directory.","input_schema":{"type":"object","properties":{"path":{"type":"string"}}},"cache_control":{"type":"ephemeral"}}],"tool_choice":{"type":"none"},"messages":[]}"#
        ]],
    );
}

#[test]
fn no_choice_is_sent_where_there_are_no_tools() {
    check_body(
        &Ask { tools_allowed: false, ..ask(&[], &[]) },
        "",
        &expect![[r#"{"model":"claude-test","max_tokens":8192,"stream":true,"messages":[]}"#]],
    );
}

#[test]
fn a_budget_for_thinking_is_sent() {
    check_body(
        &Ask { thinking: Thinking::Budget(2048), ..ask(&[], &[]) },
        "",
        &expect![[
            r#"{"model":"claude-test","max_tokens":8192,"stream":true,"thinking":{"type":"enabled","budget_tokens":2048},"messages":[]}"#
        ]],
    );
}

#[test]
fn a_budget_is_kept_within_what_the_api_takes() {
    check_body(
        &Ask { thinking: Thinking::Budget(1), ..ask(&[], &[]) },
        "",
        &expect![[
            r#"{"model":"claude-test","max_tokens":8192,"stream":true,"thinking":{"type":"enabled","budget_tokens":1024},"messages":[]}"#
        ]],
    );
    check_body(
        &Ask { thinking: Thinking::Budget(9000), ..ask(&[], &[]) },
        "",
        &expect![[
            r#"{"model":"claude-test","max_tokens":8192,"stream":true,"thinking":{"type":"enabled","budget_tokens":8191},"messages":[]}"#
        ]],
    );
}

#[test]
fn a_budget_that_cannot_fit_is_left_out() {
    let ask = Ask { thinking: Thinking::Budget(1024), output_tokens_max: Some(1024), ..ask(&[], &[]) };
    check_body(
        &ask,
        "",
        &expect![[r#"{"model":"claude-test","max_tokens":1024,"stream":true,"messages":[]}"#]],
    );
}

#[test]
fn effort_is_sent_with_adaptive_thinking() {
    check_body(
        &Ask { thinking: Thinking::Effort("high"), ..ask(&[], &[]) },
        "",
        &expect![[
            r#"{"model":"claude-test","max_tokens":8192,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"messages":[]}"#
        ]],
    );
}

#[test]
fn an_unknown_output_limit_is_a_safe_one_with_room_for_thinking() {
    check_body(
        &Ask { output_tokens_max: None, ..ask(&[], &[]) },
        "",
        &expect![[r#"{"model":"claude-test","max_tokens":8192,"stream":true,"messages":[]}"#]],
    );
    let ask = Ask { output_tokens_max: None, thinking: Thinking::Budget(9000), ..ask(&[], &[]) };
    check_body(
        &ask,
        "",
        &expect![[
            r#"{"model":"claude-test","max_tokens":17192,"stream":true,"thinking":{"type":"enabled","budget_tokens":9000},"messages":[]}"#
        ]],
    );
}

#[test]
fn thinking_and_parallel_calls_go_back_in_order() {
    let parts = vec![
        thinking("Two files.", Api::Anthropic, json!({"signature": "c2ln"})),
        thinking("", Api::Anthropic, json!({"redacted": "ZGF0YQ=="})),
        text("Reading."),
        call("toolu_1", "a"),
        call("toolu_2", "b"),
    ];
    check_message(
        &assistant(parts),
        &expect![[
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Two files.","signature":"c2ln"},{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"Reading."},{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}},{"type":"tool_use","id":"toolu_2","name":"read","input":{"path":"b"}}]}"#
        ]],
    );
}

#[test]
fn results_come_before_words() {
    let parts =
        vec![text("Go on."), result("toolu_1", "fn main", false), result("toolu_2", "no such file", true)];
    check_message(
        &user(parts),
        &expect![[
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"fn main"},{"type":"tool_result","tool_use_id":"toolu_2","content":"no such file","is_error":true},{"type":"text","text":"Go on."}]}"#
        ]],
    );
}

#[test]
fn a_result_without_output_says_so() {
    check_message(
        &user(vec![result("toolu_1", "\n", false)]),
        &expect![[
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"(no output)"}]}"#
        ]],
    );
}

#[test]
fn a_message_without_words_is_not_sent_empty() {
    check_message(
        &user(vec![text(" \n")]),
        &expect![[r#"{"role":"user","content":[{"type":"text","text":"(empty)"}]}"#]],
    );
    check_message(
        &assistant(vec![]),
        &expect![[r#"{"role":"assistant","content":[{"type":"text","text":"(empty)"}]}"#]],
    );
    check_message(
        &assistant(vec![text(""), call("toolu_1", "a")]),
        &expect![[
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"}}]}"#
        ]],
    );
}

#[test]
fn thinking_that_anthropic_did_not_seal_is_left_out() {
    let unsealed = Part::Thinking { text: "Hm.".to_owned(), seal: None };
    let foreign = thinking("Hm.", Api::Gemini, json!({"signature": "c2ln"}));
    check_message(
        &assistant(vec![unsealed, foreign, text("Yes.")]),
        &expect![[r#"{"role":"assistant","content":[{"type":"text","text":"Yes."}]}"#]],
    );
}

#[test]
fn the_mark_is_on_the_last_block_that_is_sent() {
    check_cached(
        &user(vec![text("Go on."), result("toolu_1", "fn main", false)]),
        &expect![[
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"fn main"},{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}"#
        ]],
    );
    check_cached(
        &user(vec![result("toolu_1", "a", false), result("toolu_2", "b", false)]),
        &expect![[
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a"},{"type":"tool_result","tool_use_id":"toolu_2","content":"b","cache_control":{"type":"ephemeral"}}]}"#
        ]],
    );
    check_cached(
        &assistant(vec![text("Reading."), call("toolu_1", "a")]),
        &expect![[
            r#"{"role":"assistant","content":[{"type":"text","text":"Reading."},{"type":"tool_use","id":"toolu_1","name":"read","input":{"path":"a"},"cache_control":{"type":"ephemeral"}}]}"#
        ]],
    );
}

#[test]
fn a_message_that_ends_in_thinking_is_closed_and_thinking_is_never_marked() {
    let thought = || thinking("Hm.", Api::Anthropic, json!({"signature": "c2ln"}));
    check_cached(
        &assistant(vec![text("Yes."), thought()]),
        &expect![[
            r#"{"role":"assistant","content":[{"type":"text","text":"Yes."},{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"(empty)","cache_control":{"type":"ephemeral"}}]}"#
        ]],
    );
    check_cached(
        &assistant(vec![thought()]),
        &expect![[
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},{"type":"text","text":"(empty)","cache_control":{"type":"ephemeral"}}]}"#
        ]],
    );
}

#[test]
fn ids_from_elsewhere_are_spelled_alike_in_call_and_result() {
    check_message(
        &assistant(vec![call("call.1|fc:2", "a")]),
        &expect![[
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"call_2e1_7cfc_3a2","name":"read","input":{"path":"a"}}]}"#
        ]],
    );
    check_message(
        &user(vec![result("call.1|fc:2", "ok", false)]),
        &expect![[
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_2e1_7cfc_3a2","content":"ok"}]}"#
        ]],
    );
    assert_eq!(
        [plain("a.b"), plain("a_b"), plain("a-b"), plain(""), plain("é")],
        ["a_2eb", "a_b", "a-b", "_", "_c3_a9"]
    );
}

#[test]
fn the_key_is_sent_only_where_there_is_one() {
    expect![[r#"
        [("x-api-key", "sk-1"), ("anthropic-version", "2023-06-01"), ("content-type", "application/json")]
        [("anthropic-version", "2023-06-01"), ("content-type", "application/json")]"#]]
    .assert_eq(&format!("{:?}\n{:?}", Anthropic.headers(Some("sk-1")), Anthropic.headers(None)));
    assert_eq!(Anthropic.path("claude-test"), "/v1/messages");
}

#[test]
fn refusals_are_judged_by_status_and_words() {
    let said = |kind: &str, words: &str| {
        json!({"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_1"}).to_string()
    };
    let too_long = "prompt is too long: 208310 tokens > 200000 maximum";
    check_refusal(
        400,
        &said("invalid_request_error", too_long),
        &expect!["ContextTooLong Some(400): prompt is too long: 208310 tokens > 200000 maximum"],
    );
    let over_limit = "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000";
    check_refusal(
        400,
        &said("invalid_request_error", over_limit),
        &expect![
            "ContextTooLong Some(400): input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000"
        ],
    );
    check_refusal(
        413,
        &said("request_too_large", "Request exceeds the maximum size"),
        &expect!["ContextTooLong Some(413): Request exceeds the maximum size"],
    );
    check_refusal(
        400,
        &said("invalid_request_error", "max_tokens: 9 > 8"),
        &expect!["Lasting Some(400): max_tokens: 9 > 8"],
    );
    check_refusal(
        401,
        &said("authentication_error", "invalid x-api-key"),
        &expect!["Lasting Some(401): invalid x-api-key"],
    );
    check_refusal(
        404,
        &said("not_found_error", "model: claude-nope"),
        &expect!["Lasting Some(404): model: claude-nope"],
    );
    check_refusal(
        429,
        &said("rate_limit_error", "This request would exceed your context length"),
        &expect!["Passing Some(429): This request would exceed your context length"],
    );
    check_refusal(529, &said("overloaded_error", "Overloaded"), &expect!["Passing Some(529): Overloaded"]);
    check_refusal(
        500,
        "<html>\n  <h1>Bad day</h1>\n</html>",
        &expect!["Passing Some(500): <html> <h1>Bad day</h1> </html>"],
    );
    check_refusal(403, r#"{"detail":"not for you"}"#, &expect!["Lasting Some(403): not for you"]);
    check_refusal(502, "", &expect!["Passing Some(502): status 502 without a body"]);
}
