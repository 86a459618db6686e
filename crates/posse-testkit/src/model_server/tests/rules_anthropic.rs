//! The rules of Anthropic Messages, a row for each.

use serde_json::{Value, json};

use super::client::{Client, check_rows, smallest, with};
use crate::model_server::issued::sign;
use crate::{Api, ModelServer, Reply, Script};

const API: Api = Api::Anthropic;

type Row = (&'static str, Value, &'static [&'static str]);

fn tools() -> Value {
    json!([{ "name": "t", "input_schema": { "type": "object" } }])
}

fn messages(messages: Value) -> Value {
    with(API, &json!({ "tools": tools(), "messages": messages }))
}

fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

fn assistant(content: Value) -> Value {
    json!({ "role": "assistant", "content": content })
}

fn call(id: &str) -> Value {
    json!({ "type": "tool_use", "id": id, "name": "t", "input": {} })
}

fn result(id: &str) -> Value {
    json!({ "type": "tool_result", "tool_use_id": id, "content": "ok" })
}

fn said(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// A question, an assistant's message and the answer to it.
fn exchange(blocks: Value, answer: Value) -> Value {
    messages(json!([user(json!("hi")), assistant(blocks), user(answer)]))
}

#[test]
fn fields() {
    let without = |key: &str| {
        let mut body = smallest(API);
        body.as_object_mut().expect("a body is an object").remove(key);
        body
    };
    let marks = |count: usize| {
        let block = json!({ "type": "text", "text": "a", "cache_control": { "type": "ephemeral" } });
        json!({ "system": vec![block; count] })
    };
    let mark = |mark: Value| {
        with(API, &json!({ "system": [{ "type": "text", "text": "a", "cache_control": mark }] }))
    };
    let mut order = tools();
    order[0]["cache_control"] = json!({ "type": "ephemeral" });
    let long =
        json!([{ "type": "text", "text": "a", "cache_control": { "type": "ephemeral", "ttl": "1h" } }]);
    let rows: [Row; 18] = [
        ("smallest", smallest(API), &[]),
        ("model", without("model"), &["model: Field required"]),
        ("max_tokens", without("max_tokens"), &["max_tokens: Field required"]),
        ("no tokens", with(API, &json!({ "max_tokens": 0 })), &["max_tokens: must be greater"]),
        ("messages", without("messages"), &["messages: Field required"]),
        ("no messages", with(API, &json!({ "messages": [] })), &["at least one message"]),
        ("unknown key", with(API, &json!({ "seed": 1 })), &["seed: Extra inputs are not permitted"]),
        (
            "empty system",
            with(API, &json!({ "system": "" })),
            &["system: text content blocks must be non-empty"],
        ),
        (
            "empty system block",
            with(API, &json!({ "system": [said("")] })),
            &["system.0: text content blocks must be non-empty"],
        ),
        (
            "system image",
            with(API, &json!({ "system": [{ "type": "image", "text": "a" }] })),
            &["system.0: Input"],
        ),
        (
            "system number",
            with(API, &json!({ "system": 1 })),
            &["system: Input should be a valid string or list"],
        ),
        ("four marks", with(API, &marks(4)), &[]),
        (
            "five marks",
            with(API, &marks(5)),
            &["A maximum of 4 blocks with cache_control may be provided. Found 5."],
        ),
        ("one hour", mark(json!({ "type": "ephemeral", "ttl": "1h" })), &[]),
        (
            "other ttl",
            mark(json!({ "type": "ephemeral", "ttl": "2h" })),
            &["cache_control.ttl: Input should be"],
        ),
        ("other type", mark(json!({ "type": "persistent" })), &["is not an ephemeral one"]),
        ("other field", mark(json!({ "type": "ephemeral", "scope": "x" })), &["is not an ephemeral one"]),
        ("longer after shorter", with(API, &json!({ "tools": order, "system": long })), &["ttl='1h'"]),
    ];
    check_rows(API, &rows);
}

#[test]
fn thinking_and_tools() {
    let thinking = |mut fields: Value| {
        fields["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 });
        with(API, &fields)
    };
    let budget =
        |tokens: Value| with(API, &json!({ "thinking": { "type": "enabled", "budget_tokens": tokens } }));
    let tool = |tool: Value| with(API, &json!({ "tools": [tool] }));
    let choice = |choice: Value| with(API, &json!({ "tools": tools(), "tool_choice": choice }));
    let schema = json!({ "type": "object" });
    let long = "x".repeat(129);
    let rows: [Row; 23] = [
        ("thinking", thinking(json!({})), &[]),
        ("adaptive", with(API, &json!({ "thinking": { "type": "adaptive" } })), &[]),
        ("small budget", budget(json!(1023)), &["greater than or equal to 1024"]),
        ("no budget", budget(json!(null)), &["budget_tokens: Field required"]),
        (
            "large budget",
            budget(json!(4096)),
            &["`max_tokens` must be greater than `thinking.budget_tokens`"],
        ),
        ("other thinking", with(API, &json!({ "thinking": { "type": "on" } })), &["thinking: Input tag"]),
        ("temperature", thinking(json!({ "temperature": 0.5 })), &["`temperature` may only be set to 1"]),
        ("top_k", thinking(json!({ "top_k": 5 })), &["`top_k` must be unset"]),
        ("top_p", thinking(json!({ "top_p": 0.5 })), &["`top_p` must be"]),
        (
            "forced",
            thinking(json!({ "tools": tools(), "tool_choice": { "type": "any" } })),
            &["Thinking may not be enabled when tool_choice forces tool use."],
        ),
        ("tool", tool(json!({ "name": "a-B_9", "description": "d", "input_schema": schema })), &[]),
        (
            "dot in name",
            tool(json!({ "name": "a.b", "input_schema": schema })),
            &["tools.0.name: String should match"],
        ),
        (
            "long name",
            tool(json!({ "name": long, "input_schema": schema })),
            &["tools.0.name: String should match"],
        ),
        ("no name", tool(json!({ "input_schema": schema })), &["tools.0.name: String should match"]),
        ("no schema", tool(json!({ "name": "a" })), &["the schema is not an object", "not a schema"]),
        (
            "tool key",
            tool(json!({ "name": "a", "input_schema": schema, "x": 1 })),
            &["tools.0.custom.x: Extra"],
        ),
        (
            "same name",
            with(API, &json!({ "tools": [tools()[0], tools()[0]] })),
            &["tools: Tool names must be unique."],
        ),
        ("tools is an object", with(API, &json!({ "tools": {} })), &["tools: Input should be a valid list"]),
        ("auto", choice(json!({ "type": "auto", "disable_parallel_tool_use": true })), &[]),
        ("other choice", choice(json!({ "type": "required" })), &["tool_choice: Input tag"]),
        ("known tool", choice(json!({ "type": "tool", "name": "t" })), &[]),
        (
            "unknown tool",
            choice(json!({ "type": "tool", "name": "u" })),
            &["Tool 'u' not found in provided tools"],
        ),
        (
            "choice of nothing",
            with(API, &json!({ "tool_choice": { "type": "auto" } })),
            &["tool_choice: may only be specified while providing `tools`"],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn messages_and_blocks() {
    let one = |content: Value| messages(json!([user(content)]));
    let rows: [Row; 20] = [
        ("blocks", one(json!([said("a"), said("b")])), &[]),
        ("prefill", messages(json!([user(json!("a")), assistant(json!("b"))])), &[]),
        ("empty prefill", messages(json!([user(json!("a")), assistant(json!([]))])), &[]),
        (
            "first role",
            messages(json!([assistant(json!("a"))])),
            &["first message must use the \"user\" role"],
        ),
        (
            "same role",
            messages(json!([user(json!("a")), user(json!("b"))])),
            &["messages.1: roles must alternate"],
        ),
        (
            "system role",
            messages(json!([user(json!("a")), { "role": "system", "content": "b" }])),
            &["Unexpected role \"system\""],
        ),
        (
            "no role",
            messages(json!([user(json!("a")), { "content": "b" }])),
            &["messages.1.role: Field required"],
        ),
        (
            "message key",
            messages(json!([{ "role": "user", "content": "a", "id": 1 }])),
            &["messages.0.id: Extra"],
        ),
        ("empty text", one(json!("")), &["all messages must have non-empty content"]),
        ("no blocks", one(json!([])), &["all messages must have non-empty content"]),
        ("null", one(json!(null)), &["messages.0.content: Input should be a valid string or list"]),
        ("whitespace", one(json!(" \n")), &["text content blocks must contain non-whitespace text"]),
        (
            "empty block",
            one(json!([said("")])),
            &["messages.0.content.0: text content blocks must be non-empty"],
        ),
        ("blank block", one(json!([said(" ")])), &["text content blocks must contain non-whitespace text"]),
        ("no text", one(json!([{ "type": "text" }])), &["messages.0.content.0.text: Field required"]),
        ("unknown block", one(json!([{ "type": "input_text", "text": "a" }])), &["Input tag 'input_text'"]),
        (
            "block key",
            one(json!([{ "type": "text", "text": "a", "x": 1 }])),
            &["content.0.text.x: Extra inputs"],
        ),
        (
            "call by user",
            one(json!([result("a")])),
            &["unexpected `tool_use_id` found in `tool_result` blocks: a"],
        ),
        (
            "trailing space",
            messages(json!([user(json!("a")), assistant(json!("b "))])),
            &["final assistant content cannot end with trailing whitespace"],
        ),
        (
            "trailing space in a block",
            messages(json!([user(json!("a")), assistant(json!([said("b\n")]))])),
            &["final assistant content cannot end with trailing whitespace"],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn calls_and_results() {
    let mut no_tools = exchange(json!([call("a")]), json!([result("a")]));
    no_tools.as_object_mut().expect("a body is an object").remove("tools");
    let again = messages(json!([
        user(json!("hi")),
        assistant(json!([call("a")])),
        user(json!([result("a")])),
        assistant(json!([call("a")])),
        user(json!([result("a")]))
    ]));
    let failed = json!([{ "type": "tool_result", "tool_use_id": "a", "is_error": true }]);
    let inner = |block: Value| json!([{ "type": "tool_result", "tool_use_id": "a", "content": [block] }]);
    let rows: [Row; 17] = [
        ("answered", exchange(json!([said("b"), call("a")]), json!([result("a"), said("c")])), &[]),
        ("parallel", exchange(json!([call("a"), call("b")]), json!([result("b"), result("a")])), &[]),
        (
            "not answered",
            exchange(json!([call("a")]), json!("c")),
            &["messages.1: `tool_use` ids were found without"],
        ),
        (
            "half answered",
            exchange(json!([call("a"), call("b")]), json!([result("a")])),
            &["`tool_result` blocks immediately after: b."],
        ),
        (
            "at the end",
            messages(json!([user(json!("hi")), assistant(json!([call("a")]))])),
            &["immediately after: a."],
        ),
        (
            "other id",
            exchange(json!([call("a")]), json!([result("b")])),
            &["immediately after: a.", "unexpected `tool_use_id` found in `tool_result` blocks: b"],
        ),
        (
            "twice",
            exchange(json!([call("a")]), json!([result("a"), result("a")])),
            &["must have a single result"],
        ),
        (
            "text first",
            exchange(json!([call("a")]), json!([said("c"), result("a")])),
            &["messages.2: `tool_result` blocks must come first"],
        ),
        ("same id", again, &["messages.3: `tool_use` ids must be unique, `a` is not"]),
        (
            "bad id",
            exchange(json!([call("a.b")]), json!([result("a.b")])),
            &["tool_use.id: String should match"],
        ),
        (
            "input is text",
            exchange(
                json!([{ "type": "tool_use", "id": "a", "name": "t", "input": "{}" }]),
                json!([result("a")]),
            ),
            &["tool_use.input: Input should be a valid dictionary"],
        ),
        (
            "bad name",
            exchange(
                json!([{ "type": "tool_use", "id": "a", "name": "a b", "input": {} }]),
                json!([result("a")]),
            ),
            &["tool_use.name: String should match"],
        ),
        ("no tools", no_tools, &["must define tools"]),
        (
            "empty error",
            exchange(json!([call("a")]), failed),
            &["content cannot be empty if `is_error` is true"],
        ),
        (
            "empty in result",
            exchange(json!([call("a")]), inner(said(""))),
            &["content.0: text content blocks must be"],
        ),
        (
            "call in result",
            exchange(json!([call("a")]), inner(call("b"))),
            &["Input tag 'tool_use' does not match"],
        ),
        (
            "result by assistant",
            exchange(json!([said("a"), { "type": "image", "source": {} }]), json!("c")),
            &["`image` blocks are not permitted in this role"],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn thinking_comes_back_as_it_was() {
    let thought =
        |text: &str, signature: &str| json!({ "type": "thinking", "thinking": text, "signature": signature });
    let ok = thought("hm", &sign("hm"));
    let mut marked = ok.clone();
    marked["cache_control"] = json!({ "type": "ephemeral" });
    let with_thinking = |mut body: Value| {
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 });
        body
    };
    let left_out = || exchange(json!([call("toolu_1t0k_0")]), json!([result("toolu_1t0k_0")]));
    let mut later = left_out();
    let messages = later["messages"].as_array_mut().expect("messages are a list");
    messages.extend([assistant(json!("done")), user(json!("next"))]);
    let rows: [Row; 9] = [
        ("signed", exchange(json!([ok, call("a")]), json!([result("a")])), &[]),
        ("text left out", exchange(json!([thought("", &sign("hm")), said("a")]), json!("b")), &[]),
        (
            "changed",
            exchange(json!([thought("hmm", &sign("hm")), said("a")]), json!("b")),
            &["Invalid `signature` in `thinking` block"],
        ),
        ("not signed", exchange(json!([thought("", ""), said("a")]), json!("b")), &["Invalid `signature`"]),
        ("not first", exchange(json!([said("a"), ok]), json!("b")), &["`thinking` blocks must come first"]),
        (
            "marked",
            exchange(json!([marked, said("a")]), json!("b")),
            &["thinking.cache_control: Extra inputs"],
        ),
        (
            "left out",
            with_thinking(left_out()),
            &["Expected `thinking` or `redacted_thinking`, but found `tool_use`"],
        ),
        ("left out, thinking off", left_out(), &[]),
        ("left out of an earlier turn", with_thinking(later), &[]),
    ];
    check_rows(API, &rows);
}

#[test]
fn headers() {
    let server = ModelServer::start(Script::route(|_| Reply::text("fine")));
    let body = smallest(API).to_string();
    for (headers, status, kind, problem) in [
        (
            "content-type: application/json\r\nx-api-key: k\r\n",
            400,
            "invalid_request_error",
            "anthropic-version",
        ),
        (
            "content-type: application/json\r\nanthropic-version: 1\r\n",
            401,
            "authentication_error",
            "x-api-key",
        ),
        ("authorization: Bearer k\r\nanthropic-version: 1\r\n", 400, "invalid_request_error", "content-type"),
    ] {
        let response = Client::new(&server).send("POST", "/v1/messages", headers, body.as_bytes());
        assert_eq!((response.status, &response.json()["error"]["type"]), (status, &json!(kind)));
        let problems = server.take_problems();
        assert!(problems.len() == 1 && problems[0].contains(problem), "{problems:?}");
    }
}

#[test]
fn what_was_answered_can_be_sent_back_as_it_is() {
    let replies = vec![
        Reply::calls(&[("t", json!({ "a": 1 })), ("t", json!({}))]).and_thinking("hm").and_text("I look."),
        Reply::calls(&[("t", json!({}))]).and_thinking("so"),
        Reply::text("done"),
    ];
    let server = ModelServer::start(Script::by_turn(replies));
    let mut client = Client::new(&server);
    let mut conversation = vec![user(json!("hi"))];
    for _ in 0..3 {
        let mut body = messages(json!(conversation));
        body["thinking"] = json!({ "type": "enabled", "budget_tokens": 1024 });
        body["stream"] = json!(false);
        let answer = client.ask(API, &body).json();
        let blocks = answer["content"].as_array().expect("content is a list");
        let calls = blocks.iter().filter_map(|block| block["id"].as_str());
        let results: Vec<Value> = calls.map(result).collect();
        conversation.extend([assistant(json!(blocks)), user(json!(results))]);
    }
    assert_eq!(server.requests().len(), 3);
}
