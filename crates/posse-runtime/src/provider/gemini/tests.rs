//! What is sent to Gemini byte by byte, and what its streams turn into.

use std::time::Duration;

use expect_test::{Expect, expect};
use posse_core::message::{Api, Message, Part, Role, Seal, ToolCall, ToolResult, ToolSpec};
use serde_json::{Value, json};

use super::Gemini;
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
        model: "gemini-test",
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
    Gemini.message(message, cached, &mut out);
    String::from_utf8(out).unwrap()
}

fn check_message(message: &Message, expected: &Expect) {
    expected.assert_eq(&written(message, false));
}

fn check_body(ask: &Ask<'_>, messages: &str, expected: &Expect) {
    let mut out = Vec::new();
    Gemini.head(ask, &mut out);
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

fn call(id: &str, path: &str, seal: Option<Value>) -> Part {
    let (id, name) = (id.to_owned(), "read".to_owned());
    let seal = seal.map(|value| Seal { api: Api::Gemini, value });
    Part::ToolCall(ToolCall { id, name, input: json!({"path": path}), malformed: None, seal })
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
    let ProviderError { fault, status, message, retry_after } = Gemini.refusal(status, body);
    let wait = retry_after.map_or(String::new(), |wait| format!(" after {wait:?}"));
    expected.assert_eq(&format!("{fault:?} {status:?}: {message}{wait}"));
}

#[test]
fn the_first_turn_has_system_tools_and_task() {
    let (system, tools) = (["You read.".to_owned(), "Be brief.".to_owned()], tools());
    let messages = written(&Message::user("Read \"a.rs\"."), true);
    check_body(
        &ask(&system, &tools),
        &messages,
        &expect![[
            r#"{"systemInstruction":{"parts":[{"text":"You read."},{"text":"Be brief."}]},"tools":[{"functionDeclarations":[{"name":"read","description":"Reads a file.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}},{"name":"list","description":"Lists a directory.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}],"generationConfig":{"maxOutputTokens":8192},"contents":[{"role":"user","parts":[{"text":"Read \"a.rs\"."}]}]}"#
        ]],
    );
}

#[test]
fn a_request_without_system_and_tools_has_neither() {
    check_body(
        &ask(&[" ".to_owned()], &[]),
        r#"{"role":"user"}"#,
        &expect![[r#"{"generationConfig":{"maxOutputTokens":8192},"contents":[{"role":"user"}]}"#]],
    );
}

#[test]
fn tools_that_may_not_be_called_are_still_sent() {
    let tools = tools();
    check_body(
        &Ask { tools_allowed: false, ..ask(&[], &tools) },
        "",
        &expect![[
            r#"{"tools":[{"functionDeclarations":[{"name":"read","description":"Reads a file.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}},{"name":"list","description":"Lists a directory.","parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}}}}]}],"toolConfig":{"functionCallingConfig":{"mode":"NONE"}},"generationConfig":{"maxOutputTokens":8192},"contents":[]}"#
        ]],
    );
}

#[test]
fn no_tool_configuration_is_sent_where_there_are_no_tools() {
    check_body(
        &Ask { tools_allowed: false, ..ask(&[], &[]) },
        "",
        &expect![[r#"{"generationConfig":{"maxOutputTokens":8192},"contents":[]}"#]],
    );
}

#[test]
fn thinking_is_asked_for_by_budget_or_by_level() {
    check_body(
        &Ask { thinking: Thinking::Budget(2048), ..ask(&[], &[]) },
        "",
        &expect![[
            r#"{"generationConfig":{"maxOutputTokens":8192,"thinkingConfig":{"thinkingBudget":2048,"includeThoughts":true}},"contents":[]}"#
        ]],
    );
    check_body(
        &Ask { thinking: Thinking::Effort("low"), ..ask(&[], &[]) },
        "",
        &expect![[
            r#"{"generationConfig":{"maxOutputTokens":8192,"thinkingConfig":{"thinkingLevel":"low","includeThoughts":true}},"contents":[]}"#
        ]],
    );
}

#[test]
fn an_unknown_output_limit_is_left_out() {
    check_body(
        &Ask { output_tokens_max: None, ..ask(&[], &[]) },
        "",
        &expect![[r#"{"generationConfig":{},"contents":[]}"#]],
    );
}

#[test]
fn thinking_and_parallel_calls_go_back_in_order() {
    let parts = vec![
        Part::Thinking { text: "Two files.".to_owned(), seal: None },
        text("Reading."),
        call("gemini-call-1", "a", Some(json!({"thoughtSignature": "c2ln"}))),
        call("gemini-call-2", "b", None),
    ];
    check_message(
        &assistant(parts),
        &expect![[
            r#"{"role":"model","parts":[{"text":"Reading."},{"functionCall":{"name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"},{"functionCall":{"name":"read","args":{"path":"b"}}}]}"#
        ]],
    );
}

#[test]
fn results_come_before_words_and_made_up_ids_are_not_sent() {
    let results = [result("gemini-call-1", "fn main", false), result("gemini-call-2", "no such file", true)];
    let parts = [text("Go on.")].into_iter().chain(results).collect();
    check_message(
        &user(parts),
        &expect![[
            r#"{"role":"user","parts":[{"functionResponse":{"name":"read","response":{"output":"fn main"}}},{"functionResponse":{"name":"read","response":{"error":"no such file"}}},{"text":"Go on."}]}"#
        ]],
    );
}

#[test]
fn ids_of_the_api_are_sent_with_call_and_result() {
    let seal = json!({"thoughtSignature": "c2ln", "id": "fc-7"});
    check_message(
        &assistant(vec![call("fc-7", "a", Some(seal))]),
        &expect![[
            r#"{"role":"model","parts":[{"functionCall":{"id":"fc-7","name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"}]}"#
        ]],
    );
    check_message(
        &user(vec![result("fc-7", "", false)]),
        &expect![[
            r#"{"role":"user","parts":[{"functionResponse":{"id":"fc-7","name":"read","response":{"output":"(no output)"}}}]}"#
        ]],
    );
}

#[test]
fn the_first_call_of_another_model_is_marked_as_foreign() {
    let parts = vec![text("Reading."), call("toolu_1", "a", None), call("toolu_2", "b", None)];
    check_message(
        &assistant(parts),
        &expect![[
            r#"{"role":"model","parts":[{"text":"Reading."},{"functionCall":{"id":"toolu_1","name":"read","args":{"path":"a"}},"thoughtSignature":"skip_thought_signature_validator"},{"functionCall":{"id":"toolu_2","name":"read","args":{"path":"b"}}}]}"#
        ]],
    );
}

#[test]
fn a_cached_message_is_sent_like_any_other() {
    let message = user(vec![text("Go on."), result("fc-7", "ok", false)]);
    assert_eq!(written(&message, true), written(&message, false));
}

#[test]
fn a_message_without_words_is_not_sent_empty() {
    check_message(&user(vec![text(" \n")]), &expect![[r#"{"role":"user","parts":[{"text":"(empty)"}]}"#]]);
    check_message(&assistant(vec![]), &expect![[r#"{"role":"model","parts":[{"text":"(empty)"}]}"#]]);
    check_message(
        &assistant(vec![text(""), call("gemini-call-1", "a", None)]),
        &expect![[r#"{"role":"model","parts":[{"functionCall":{"name":"read","args":{"path":"a"}}}]}"#]],
    );
}

#[test]
fn seals_of_another_api_are_left_out() {
    let foreign = thinking("Hm.", Api::Anthropic, json!({"thoughtSignature": "c2ln", "signed": "thought"}));
    check_message(
        &assistant(vec![foreign, text("Yes.")]),
        &expect![[r#"{"role":"model","parts":[{"text":"Yes."}]}"#]],
    );
}

#[test]
fn a_signature_whose_text_is_gone_stays_where_it_was() {
    let sign = || thinking("", Api::Gemini, json!({"thoughtSignature": "c2ln", "signed": "next_text"}));
    let parts = vec![sign(), call("gemini-call-1", "a", None), sign()];
    check_message(
        &assistant(parts),
        &expect![[
            r#"{"role":"model","parts":[{"text":"","thoughtSignature":"c2ln"},{"functionCall":{"name":"read","args":{"path":"a"}}},{"text":"","thoughtSignature":"c2ln"}]}"#
        ]],
    );
}

#[test]
fn the_model_is_in_the_path_and_cannot_leave_it() {
    let paths =
        ["gemini-3-pro-preview", "models/gemini-2.5-flash", "../x?y#z"].map(|model| Gemini.path(model));
    expect![[r#"
        /v1beta/models/gemini-3-pro-preview:streamGenerateContent?alt=sse
        /v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse
        /v1beta/models/..%2Fx%3Fy%23z:streamGenerateContent?alt=sse"#]]
    .assert_eq(&paths.join("\n"));
}

#[test]
fn the_key_is_sent_only_where_there_is_one() {
    expect![[r#"
        [("x-goog-api-key", "key"), ("content-type", "application/json")]
        [("content-type", "application/json")]"#]]
    .assert_eq(&format!("{:?}\n{:?}", Gemini.headers(Some("key")), Gemini.headers(None)));
}

#[test]
fn refusals_are_judged_by_status_and_words() {
    let said = |code: u16, words: &str| json!({"error": {"code": code, "message": words}}).to_string();
    let too_long = "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).";
    check_refusal(
        400,
        &said(400, too_long),
        &expect![
            "ContextTooLong Some(400): The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."
        ],
    );
    check_refusal(
        400,
        &format!("[{}]", said(400, "API key not valid.")),
        &expect!["Lasting Some(400): API key not valid."],
    );
    check_refusal(
        404,
        &said(404, "models/gemini-nope is not found"),
        &expect!["Lasting Some(404): models/gemini-nope is not found"],
    );
    check_refusal(
        503,
        &said(503, "The model is overloaded."),
        &expect!["Passing Some(503): The model is overloaded."],
    );
    check_refusal(
        500,
        "<html>\n  <h1>Bad day</h1>\n</html>",
        &expect!["Passing Some(500): <html> <h1>Bad day</h1> </html>"],
    );
    check_refusal(502, "", &expect!["Passing Some(502): status 502 without a body"]);
}

#[test]
fn the_wait_that_the_body_asks_for_is_kept() {
    let body = json!({"error": {"code": 429, "message": "Quota exceeded.", "details": [
        {"@type": "type.googleapis.com/google.rpc.Help", "links": []},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"},
    ]}});
    check_refusal(429, &body.to_string(), &expect!["Passing Some(429): Quota exceeded. after 34.5s"]);
    check_refusal(
        429,
        r#"{"error":{"message":"No.","details":[{"retryDelay":"-1s"}]}}"#,
        &expect!["Passing Some(429): No."],
    );
}
