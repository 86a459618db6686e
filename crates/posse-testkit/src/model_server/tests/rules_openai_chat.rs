//! The rules of `OpenAI` Chat Completions, a row for each.

use serde_json::{Value, json};

use super::client::{Client, check_rows, smallest, with};
use crate::{Api, ModelServer, Reply, Script};

const API: Api = Api::OpenAiChat;

type Row = (&'static str, Value, &'static [&'static str]);

fn tools() -> Value {
    json!([{ "type": "function", "function": { "name": "t", "parameters": { "type": "object" } } }])
}

fn messages(messages: Value) -> Value {
    with(API, &json!({ "messages": messages }))
}

fn calls(ids: &[&str]) -> Value {
    let call =
        |id: &&str| json!({ "id": id, "type": "function", "function": { "name": "t", "arguments": "{}" } });
    let calls: Vec<Value> = ids.iter().map(call).collect();
    json!({ "role": "assistant", "content": null, "tool_calls": calls })
}

fn result(id: &str) -> Value {
    json!({ "role": "tool", "tool_call_id": id, "content": "ok" })
}

#[test]
fn fields_and_tools() {
    let function =
        |function: Value| with(API, &json!({ "tools": [{ "type": "function", "function": function }] }));
    let choice = |choice: Value| with(API, &json!({ "tools": tools(), "tool_choice": choice }));
    let long = "x".repeat(65);
    let rows: [Row; 21] = [
        ("smallest", smallest(API), &[]),
        ("model", with(API, &json!({ "model": null })), &["you must provide a model parameter"]),
        ("messages", with(API, &json!({ "messages": null })), &["Missing required parameter: 'messages'."]),
        ("no messages", messages(json!([])), &["Invalid 'messages': empty array"]),
        (
            "stream options",
            with(API, &json!({ "stream": false, "stream_options": { "include_usage": true } })),
            &["'stream_options' parameter is only allowed when 'stream' is enabled"],
        ),
        (
            "both limits",
            with(API, &json!({ "max_tokens": 1, "max_completion_tokens": 1 })),
            &["at the same time"],
        ),
        (
            "tools",
            with(API, &json!({ "tools": tools(), "tool_choice": "auto", "parallel_tool_calls": false })),
            &[],
        ),
        ("no parameters", function(json!({ "name": "t" })), &[]),
        ("no tools", with(API, &json!({ "tools": [] })), &["Invalid 'tools': empty array"]),
        (
            "flat tool",
            with(API, &json!({ "tools": [{ "type": "function", "name": "t" }] })),
            &["'tools[0].function'"],
        ),
        (
            "tool type",
            with(API, &json!({ "tools": [{ "type": "web" }] })),
            &["'tools[0].type' must be 'function'"],
        ),
        ("no name", function(json!({})), &["Missing required parameter: 'tools[0].function.name'."]),
        ("dot in name", function(json!({ "name": "a.b" })), &["Invalid 'tools[0].function.name'"]),
        ("long name", function(json!({ "name": long })), &["Invalid 'tools[0].function.name'"]),
        (
            "schema",
            function(json!({ "name": "t", "parameters": { "type": "array" } })),
            &["Invalid schema for function 't': schema must be a JSON Schema of 'type: \"object\"'"],
        ),
        ("same name", with(API, &json!({ "tools": [tools()[0], tools()[0]] })), &["'t' is not unique"]),
        (
            "choice without tools",
            with(API, &json!({ "tool_choice": "auto" })),
            &["'tool_choice' is only allowed when"],
        ),
        (
            "parallel without tools",
            with(API, &json!({ "parallel_tool_calls": true })),
            &["'parallel_tool_calls' is only"],
        ),
        ("known function", choice(json!({ "type": "function", "function": { "name": "t" } })), &[]),
        (
            "unknown function",
            choice(json!({ "type": "function", "function": { "name": "u" } })),
            &["function 'u' is"],
        ),
        ("other choice", choice(json!("any")), &["Invalid value: 'any'"]),
    ];
    check_rows(API, &rows);
}

#[test]
fn messages_and_results() {
    let user = json!({ "role": "user", "content": "hi" });
    let said = json!({ "role": "assistant", "content": "a" });
    let with_call = |call: Value| json!([user, { "role": "assistant", "content": null, "tool_calls": [call] }, result("a")]);
    let function =
        |function: Value| with_call(json!({ "id": "a", "type": "function", "function": function }));
    let rows: [Row; 23] = [
        ("every role", messages(json!([{ "role": "system", "content": "s" }, user, said])), &[]),
        (
            "parts",
            messages(json!([{ "role": "developer", "content": [{ "type": "text", "text": "a" }] }])),
            &[],
        ),
        ("unknown role", messages(json!([{ "role": "model", "content": "a" }])), &["Invalid value: 'model'"]),
        (
            "null content",
            messages(json!([{ "role": "user", "content": null }])),
            &["expected a string, got null"],
        ),
        (
            "empty assistant",
            messages(json!([user, { "role": "assistant" }])),
            &["expected a string, got null"],
        ),
        ("refusal", messages(json!([user, { "role": "assistant", "refusal": "no" }])), &[]),
        (
            "empty parts",
            messages(json!([{ "role": "user", "content": [] }])),
            &["'messages[0].content': empty array"],
        ),
        (
            "part type",
            messages(json!([{ "role": "user", "content": [{ "type": "input_text", "text": "a" }] }])),
            &["'messages[0].content[0].type' is not supported"],
        ),
        (
            "part without text",
            messages(json!([{ "role": "user", "content": [{ "type": "text" }] }])),
            &["Missing required parameter: 'messages[0].content[0].text'."],
        ),
        ("answered", messages(json!([user, calls(&["a", "b"]), result("b"), result("a"), user])), &[]),
        ("not answered", messages(json!([user, calls(&["a"])])), &["did not have response messages: a"]),
        (
            "half answered",
            messages(json!([user, calls(&["a", "b"]), result("a"), user])),
            &["did not have response messages: b"],
        ),
        (
            "answered late",
            messages(json!([user, calls(&["a"]), user, result("a")])),
            &["did not have response messages: a", "must be a response to a preceeding message"],
        ),
        ("nothing to answer", messages(json!([user, result("a")])), &["messages[1] answers 'a'"]),
        (
            "answered twice",
            messages(json!([user, calls(&["a"]), result("a"), result("a")])),
            &["messages[3] answers"],
        ),
        (
            "result without id",
            messages(json!([user, calls(&["a"]), { "role": "tool", "content": "x" }, result("a")])),
            &["Missing required parameter: 'messages[2].tool_call_id'.", "messages[2] answers ''"],
        ),
        (
            "result without content",
            messages(json!([user, calls(&["a"]), { "role": "tool", "tool_call_id": "a" }])),
            &["expected a string, got null"],
        ),
        ("no calls", messages(json!([user, calls(&[])])), &["'messages[1].tool_calls': empty array"]),
        (
            "same id",
            messages(json!([user, calls(&["a", "a"]), result("a"), result("a")])),
            &["Duplicate value"],
        ),
        (
            "arguments are an object",
            messages(function(json!({ "name": "t", "arguments": {} }))),
            &["Invalid 'messages[1].tool_calls[0].function.arguments'"],
        ),
        (
            "arguments are broken",
            messages(function(json!({ "name": "t", "arguments": "{" }))),
            &["Invalid 'messages[1].tool_calls[0].function.arguments'"],
        ),
        ("call name", messages(function(json!({ "name": "a b", "arguments": "{}" }))), &["function.name'"]),
        (
            "call type",
            messages(with_call(json!({ "id": "a", "function": { "name": "t", "arguments": "{}" } }))),
            &["Missing required parameter: 'messages[1].tool_calls[0].type'."],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn the_key_is_a_bearer_token() {
    let server = ModelServer::start(Script::route(|_| Reply::text("fine")));
    for (api, path) in [(API, "/v1/chat/completions"), (Api::OpenAiResponses, "/v1/responses")] {
        let body = smallest(api).to_string();
        for headers in ["", "authorization: k\r\n", "authorization: Bearer \r\n"] {
            let headers = format!("content-type: application/json\r\n{headers}");
            let response = Client::new(&server).send("POST", path, &headers, body.as_bytes());
            assert_eq!((response.status, server.take_problems().len()), (401, 1));
        }
    }
}

#[test]
fn what_is_not_json_is_refused() {
    let server = ModelServer::start(Script::route(|_| Reply::text("fine")));
    for body in ["", "{", "[]"] {
        let headers = super::client::headers(API);
        let response = Client::new(&server).send("POST", "/v1/chat/completions", headers, body.as_bytes());
        assert_eq!(response.status, 400);
        assert!(server.take_problems()[0].ends_with(": the body is not a JSON object"));
    }
}
