//! The rules of `OpenAI` Responses, a row for each.

use serde_json::{Value, json};

use super::client::{Client, check_rows, smallest, with};
use crate::model_server::issued::sign;
use crate::{Api, ModelServer, Reply, Script};

const API: Api = Api::OpenAiResponses;

type Row = (&'static str, Value, &'static [&'static str]);

fn input(items: Value) -> Value {
    with(API, &json!({ "input": items }))
}

fn user() -> Value {
    json!({ "role": "user", "content": "hi" })
}

fn call(id: &str) -> Value {
    json!({ "type": "function_call", "call_id": id, "name": "t", "arguments": "{}" })
}

fn output(id: &str) -> Value {
    json!({ "type": "function_call_output", "call_id": id, "output": "ok" })
}

fn tools() -> Value {
    json!([{ "type": "function", "name": "t", "parameters": { "type": "object" } }])
}

#[test]
fn fields_and_tools() {
    let tool = |tool: Value| with(API, &json!({ "tools": [tool] }));
    let choice = |choice: Value| with(API, &json!({ "tools": tools(), "tool_choice": choice }));
    let rows: [Row; 24] = [
        ("smallest", smallest(API), &[]),
        ("text", with(API, &json!({ "input": "hi" })), &[]),
        ("model", with(API, &json!({ "model": "" })), &["Missing required parameter: 'model'."]),
        ("input", with(API, &json!({ "input": null })), &["Missing required parameter: 'input'."]),
        ("no items", input(json!([])), &["Invalid 'input': empty array."]),
        ("unknown key", with(API, &json!({ "messages": [] })), &["Unknown parameter: 'messages'."]),
        ("few tokens", with(API, &json!({ "max_output_tokens": 15 })), &["Expected a value >= 16"]),
        ("previous", with(API, &json!({ "previous_response_id": "resp_1" })), &["'resp_1' not found"]),
        ("include", with(API, &json!({ "include": ["reasoning"] })), &["'include' does not know it"]),
        (
            "effort",
            with(API, &json!({ "reasoning": { "effort": "max" } })),
            &["'reasoning.effort' must be one of"],
        ),
        (
            "summary",
            with(API, &json!({ "reasoning": { "summary": "x" } })),
            &["'reasoning.summary' must be one of"],
        ),
        ("reasoning key", with(API, &json!({ "reasoning": { "budget": 1 } })), &["'reasoning.budget'"]),
        (
            "stream options",
            with(API, &json!({ "stream": false, "stream_options": {} })),
            &["'stream_options' parameter is only allowed when 'stream' is enabled"],
        ),
        ("tools", with(API, &json!({ "tools": tools(), "tool_choice": "required" })), &[]),
        (
            "nested tool",
            tool(json!({ "type": "function", "function": { "name": "t" } })),
            &["Missing required parameter: 'tools[0].name'.", "Unknown parameter: 'tools[0].function'."],
        ),
        ("tool type", tool(json!({ "type": "web" })), &["'tools[0].type' must be one of"]),
        ("name", tool(json!({ "type": "function", "name": "a.b" })), &["Invalid 'tools[0].name'"]),
        (
            "schema",
            tool(json!({ "type": "function", "name": "t", "parameters": {} })),
            &["Invalid schema for function"],
        ),
        ("same name", with(API, &json!({ "tools": [tools()[0], tools()[0]] })), &["'t' is not unique"]),
        ("tools is an object", with(API, &json!({ "tools": {} })), &["Invalid type for 'tools'"]),
        ("known function", choice(json!({ "type": "function", "name": "t" })), &[]),
        (
            "unknown function",
            choice(json!({ "type": "function", "name": "u" })),
            &["Tool choice 'u' not found"],
        ),
        ("other choice", choice(json!("any")), &["Invalid value: 'any'"]),
        (
            "required of nothing",
            with(API, &json!({ "tool_choice": "required" })),
            &["must be specified with 'tools'"],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn items() {
    let message = |role: &str, kind: &str| {
        input(json!([{ "type": "message", "role": role, "content": [{ "type": kind, "text": "a" }] }]))
    };
    let called = |call: Value| input(json!([user(), call, output("a")]));
    let rows: [Row; 22] = [
        ("input text", message("developer", "input_text"), &[]),
        ("output text", message("assistant", "output_text"), &[]),
        ("input text by assistant", message("assistant", "input_text"), &["Invalid value: 'input_text'."]),
        ("output text by user", message("user", "output_text"), &["Invalid value: 'output_text'."]),
        ("role", message("tool", "input_text"), &["'input[0].role' is not supported"]),
        (
            "no content",
            input(json!([{ "role": "user" }])),
            &["Missing required parameter: 'input[0].content'."],
        ),
        ("item type", input(json!([{ "type": "tool_result" }])), &["'input[0].type' is not supported"]),
        ("item key", input(json!([{ "role": "user", "content": "a", "name": "b" }])), &["'input[0].name'"]),
        ("item id", input(json!([{ "role": "user", "content": "a", "id": "x" }])), &["begins with 'msg'"]),
        ("answered", input(json!([user(), call("a"), call("b"), output("b"), output("a"), user()])), &[]),
        ("not answered", input(json!([user(), call("a")])), &["No tool output found for function call a."]),
        (
            "answered before",
            input(json!([user(), output("a"), call("a")])),
            &["No tool call found for function call output with call_id a.", "No tool output found for"],
        ),
        (
            "nothing to answer",
            input(json!([user(), output("a")])),
            &["No tool call found for function call output"],
        ),
        (
            "answered twice",
            input(json!([call("a"), output("a"), output("a")])),
            &["Duplicate function call output"],
        ),
        (
            "same id",
            input(json!([call("a"), call("a"), output("a")])),
            &["Duplicate function call with call_id a."],
        ),
        (
            "arguments",
            called(json!({ "type": "function_call", "call_id": "a", "name": "t", "arguments": {} })),
            &["Invalid 'input[1].arguments'"],
        ),
        (
            "call name",
            called(json!({ "type": "function_call", "call_id": "a", "name": "", "arguments": "{}" })),
            &["Invalid 'input[1].name'"],
        ),
        (
            "no call id",
            input(json!([{ "type": "function_call", "name": "t", "arguments": "{}" }])),
            &["Missing required parameter: 'input[0].call_id'.", "No tool output found"],
        ),
        (
            "output is an object",
            input(json!([call("a"), { "type": "function_call_output", "call_id": "a", "output": {} }])),
            &["Invalid type for 'input[1].output'"],
        ),
        (
            "output has parts",
            input(json!([call("a"), { "type": "function_call_output", "call_id": "a",
                "output": [{ "type": "input_text", "text": "a" }] }])),
            &[],
        ),
        (
            "output without id",
            input(json!([{ "type": "function_call_output", "output": "a" }])),
            &["Missing required parameter: 'input[0].call_id'.", "No tool call found"],
        ),
        (
            "call item id",
            called(
                json!({ "type": "function_call", "id": "call_a", "call_id": "a", "name": "t", "arguments": "{}" }),
            ),
            &["Expected an ID that begins with 'fc'"],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn reasoning_comes_back_as_it_was() {
    let thought = |id: &str, content: &str| json!({ "type": "reasoning", "id": id, "summary": [], "encrypted_content": content });
    let ok = thought("rs_1t0k_fc", &sign("rs_1t0k_fc"));
    let spoken = thought("rs_1t0k_msg", &sign("rs_1t0k_msg"));
    let mut bare = ok.clone();
    bare.as_object_mut().expect("an item is an object").remove("encrypted_content");
    let mut no_summary = ok.clone();
    no_summary.as_object_mut().expect("an item is an object").remove("summary");
    let after = |thought: Value| json!([user(), thought, call("call_1t0k_0"), output("call_1t0k_0")]);
    let not_stored = |items: Value, include: Value| {
        with(API, &json!({ "input": items, "store": false, "include": include }))
    };
    let encrypted = json!(["reasoning.encrypted_content"]);
    let mut named = call("call_1t0k_0");
    named["id"] = json!("fc_1t0k_0");
    let said = |id: &str| json!({ "type": "message", "role": "assistant", "id": id, "content": "a" });
    let padded = json!([user(), ok, { "role": "assistant", "content": "" }, named, output("call_1t0k_0")]);
    let turned = json!([user(), spoken, named, output("call_1t0k_0"), said("msg_1t0k")]);
    let rows: [Row; 16] = [
        ("message between", input(padded), &["without its required following item"]),
        (
            "call before message",
            input(turned),
            &[
                "without its required following item",
                "'msg_1t0k' of type 'message' was provided without its required",
            ],
        ),
        (
            "left out before a message",
            input(json!([user(), said("msg_1t0k"), user()])),
            &["'msg_1t0k' of type 'message' was provided without its required 'reasoning' item"],
        ),
        ("as issued", not_stored(after(ok.clone()), encrypted.clone()), &[]),
        ("stored", input(after(bare.clone())), &[]),
        ("before its message", input(json!([user(), spoken, said("msg_1t0k"), user()])), &[]),
        ("not included", not_stored(after(ok.clone()), json!([])), &["'include' must have"]),
        (
            "not encrypted",
            not_stored(after(bare), encrypted),
            &["Items are not persisted when `store` is set to false."],
        ),
        (
            "changed",
            input(after(thought("rs_1t0k_fc", "x"))),
            &["The encrypted content for item rs_1t0k_fc could not be"],
        ),
        ("id", input(after(thought("rs_x", "x"))), &["'rs_x' is not the id of a reasoning item"]),
        ("no summary", input(after(no_summary)), &["Missing required parameter: 'input[1].summary'."]),
        (
            "last",
            input(json!([user(), ok])),
            &["'rs_1t0k_fc' of type 'reasoning' was provided without its required"],
        ),
        ("before a user", input(json!([ok, user()])), &["without its required following item"]),
        (
            "before another call",
            input(json!([user(), ok, call("call_2t0_0"), output("call_2t0_0")])),
            &["without its required following item"],
        ),
        (
            "before another message",
            input(json!([user(), spoken, said("msg_2t0")])),
            &["required following item"],
        ),
        (
            "left out",
            input(json!([user(), named, output("call_1t0k_0")])),
            &[
                "'fc_1t0k_0' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1t0k'",
            ],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn what_was_streamed_can_be_sent_back_as_it_is() {
    let replies = vec![
        Reply::calls(&[("t", json!({ "a": 1 })), ("t", json!({}))]).and_thinking("hm").and_text("I look."),
        Reply::text("done").and_thinking("so"),
        Reply::text("bye"),
    ];
    let server = ModelServer::start(Script::by_turn(replies));
    let mut client = Client::new(&server);
    let include = ["reasoning.encrypted_content"];
    let mut items = vec![user()];
    for _ in 0..3 {
        let body = json!({ "input": items, "store": false, "include": include, "tools": tools() });
        let events = client.ask(API, &with(API, &body)).events();
        let done = events.iter().filter(|event| event["type"] == "response.output_item.done");
        let done: Vec<Value> = done.map(|event| event["item"].clone()).collect();
        items.extend(done.clone());
        let calls = done.iter().filter(|item| item["type"] == "function_call");
        let before = items.len();
        items.extend(calls.map(|call| output(call["call_id"].as_str().expect("a call has an id"))));
        if items.len() == before {
            items.push(user());
        }
    }
    assert_eq!(items.last(), Some(&user()));
    assert_eq!(server.requests().len(), 3);
}
