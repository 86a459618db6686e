//! The rules of Gemini, a row for each.

use serde_json::{Value, json};

use super::client::{Client, check_rows, headers, smallest, with};
use crate::model_server::issued::{sign, sign_call};
use crate::{Api, ModelServer, Reply, Script};

const API: Api = Api::Gemini;
const GEMINI_3: &str = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";

type Row = (&'static str, Value, &'static [&'static str]);

fn contents(contents: Value) -> Value {
    with(API, &json!({ "contents": contents }))
}

fn user(parts: Value) -> Value {
    json!({ "role": "user", "parts": parts })
}

fn model(parts: Value) -> Value {
    json!({ "role": "model", "parts": parts })
}

fn text() -> Value {
    json!({ "text": "hi" })
}

fn call(name: &str) -> Value {
    json!({ "functionCall": { "name": name, "args": {} } })
}

fn response(name: &str) -> Value {
    json!({ "functionResponse": { "name": name, "response": { "result": "ok" } } })
}

/// A question, a model's content and what answers it.
fn exchange(parts: Value, answer: Value) -> Value {
    contents(json!([user(json!([text()])), model(parts), user(answer)]))
}

fn declared(name: &str, schema: Value) -> Value {
    with(API, &json!({ "tools": [{ "functionDeclarations": [{ "name": name, "parameters": schema }] }] }))
}

#[test]
fn fields_and_tools() {
    let property = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    let ok = || property(json!({ "type": "STRING", "enum": ["x"], "nullable": true }));
    let bad = |schema: Value| declared("t", property(schema));
    let full = json!({ "type": "object", "$schema": "x", "additionalProperties": false });
    let json_schema = |schema: Value| {
        with(
            API,
            &json!({ "tools": [{ "functionDeclarations": [{ "name": "t", "parametersJsonSchema": schema }] }] }),
        )
    };
    let long = "x".repeat(65);
    let rows: [Row; 24] = [
        ("smallest", smallest(API), &[]),
        (
            "unknown key",
            with(API, &json!({ "messages": [] })),
            &["Unknown name \"messages\": Cannot find field."],
        ),
        ("snake case", with(API, &json!({ "system_instruction": { "parts": [text()] } })), &[]),
        (
            "no parts",
            with(API, &json!({ "systemInstruction": {} })),
            &["system_instruction.parts: must not be empty"],
        ),
        (
            "instruction without text",
            with(API, &json!({ "systemInstruction": { "parts": [{}] } })),
            &["system_instruction.parts[0]: must be a part with text"],
        ),
        ("tool", declared("a.b:c-d_1", ok()), &[]),
        ("digit first", declared("1a", ok()), &["Invalid function name. Must start with a letter"]),
        ("space in name", declared("a b", ok()), &["Invalid function name"]),
        ("long name", declared(&long, ok()), &["Invalid function name"]),
        ("full schema", json_schema(full.clone()), &[]),
        (
            "broken full schema",
            json_schema(json!({ "type": "string" })),
            &["parameters_json_schema: schema must be"],
        ),
        (
            "both schemas",
            with(
                API,
                &json!({ "tools": [{ "functionDeclarations": [
                    { "name": "t", "parameters": ok(), "parametersJsonSchema": full }] }] }),
            ),
            &["are mutually exclusive"],
        ),
        ("not an object", declared("t", json!({ "type": "string" })), &["schema should be of type OBJECT"]),
        (
            "no properties",
            declared("t", json!({ "type": "object" })),
            &["should be non-empty for OBJECT type"],
        ),
        (
            "additionalProperties",
            bad(json!({ "type": "string", "additionalProperties": false })),
            &[
                "Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters.properties.a'",
            ],
        ),
        ("$schema", bad(json!({ "type": "string", "$schema": "x" })), &["Unknown name \"$schema\""]),
        ("$ref", bad(json!({ "$ref": "x" })), &["Unknown name \"$ref\"", "a.type', null"]),
        ("type list", bad(json!({ "type": ["string", "null"] })), &["Invalid value at"]),
        ("array", bad(json!({ "type": "array" })), &["properties.a.items: missing field."]),
        (
            "number enum",
            bad(json!({ "type": "integer", "enum": [1] })),
            &["enum: only allowed for STRING type"],
        ),
        (
            "required",
            declared(
                "t",
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["b"] }),
            ),
            &["required: property \"b\" is not defined"],
        ),
        (
            "same name",
            with(API, &json!({ "tools": [{ "functionDeclarations": [{ "name": "t" }, { "name": "t" }] }] })),
            &["Duplicate function declaration found: t"],
        ),
        (
            "declaration key",
            with(
                API,
                &json!({ "tools": [{ "functionDeclarations": [{ "name": "t", "input_schema": {} }] }] }),
            ),
            &["Unknown name \"input_schema\""],
        ),
        ("empty tool", with(API, &json!({ "tools": [{}] })), &["tools[0]: is empty"]),
    ];
    check_rows(API, &rows);
}

#[test]
fn calling_config() {
    let config = |config: Value| {
        let tools = json!([{ "functionDeclarations": [{ "name": "t" }] }]);
        with(API, &json!({ "tools": tools, "toolConfig": { "functionCallingConfig": config } }))
    };
    let rows: [Row; 4] = [
        ("any", config(json!({ "mode": "ANY", "allowedFunctionNames": ["t"] })), &[]),
        (
            "other mode",
            config(json!({ "mode": "required" })),
            &["function_calling_config.mode', \"required\""],
        ),
        (
            "names with auto",
            config(json!({ "mode": "AUTO", "allowedFunctionNames": ["t"] })),
            &["must be set only when"],
        ),
        (
            "unknown name",
            config(json!({ "mode": "ANY", "allowedFunctionNames": ["u"] })),
            &["\"u\" is not a declared"],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn contents_and_calls() {
    let with_id = |mut part: Value, key: &str, id: &str| {
        part[key]["id"] = json!(id);
        part
    };
    let named = |id: &str| with_id(call("a"), "functionCall", id);
    let answering = |id: &str| with_id(response("a"), "functionResponse", id);
    let rows: [Row; 26] = [
        (
            "conversation",
            contents(json!([user(json!([text()])), model(json!([text()])), user(json!([text()]))])),
            &[],
        ),
        ("no contents", contents(json!([])), &["contents is not specified"]),
        (
            "first",
            contents(json!([model(json!([text()]))])),
            &["the first content is one with the role: user"],
        ),
        (
            "role",
            contents(json!([user(json!([text()])), { "role": "assistant", "parts": [text()] }])),
            &["Please use a valid role: user, model."],
        ),
        ("no parts", contents(json!([user(json!([]))])), &["contents[0].parts: must not be empty"]),
        (
            "empty part",
            contents(json!([user(json!([{}]))])),
            &["contents[0].parts[0].data: required oneof field"],
        ),
        (
            "two in a part",
            contents(json!([user(json!([{ "text": "a", "inlineData": {} }]))])),
            &["required oneof field"],
        ),
        (
            "part key",
            contents(json!([user(json!([{ "text": "a", "type": "text" }]))])),
            &["Unknown name \"type\""],
        ),
        (
            "content key",
            contents(json!([{ "role": "user", "parts": [text()], "id": 1 }])),
            &["Unknown name \"id\""],
        ),
        (
            "answered",
            exchange(json!([text(), call("a"), call("b")]), json!([response("a"), response("b")])),
            &[],
        ),
        ("answered by id", exchange(json!([named("x")]), json!([answering("x")])), &[]),
        ("other id", exchange(json!([named("x")]), json!([answering("y")])), &["is for another call"]),
        ("no id", exchange(json!([named("x")]), json!([response("a")])), &["is for another call"]),
        ("id of its own", exchange(json!([call("a")]), json!([answering("y")])), &["is for another call"]),
        (
            "too few",
            exchange(json!([call("a"), call("b")]), json!([response("a")])),
            &["has 2 calls and 1 responses"],
        ),
        (
            "too many",
            exchange(json!([call("a")]), json!([response("a"), response("a")])),
            &["1 calls and 2 responses"],
        ),
        (
            "other order",
            exchange(json!([call("a"), call("b")]), json!([response("b"), response("a")])),
            &["the response to \"a\" is for another call, \"b\"", "the response to \"b\""],
        ),
        ("not answered", exchange(json!([call("a")]), json!([text()])), &["1 calls and 0 responses"]),
        (
            "at the end",
            contents(json!([user(json!([text()])), model(json!([call("a")]))])),
            &["1 calls and 0 responses"],
        ),
        (
            "response by model",
            contents(json!([
                user(json!([text()])),
                model(json!([call("a")])),
                model(json!([response("a")]))
            ])),
            &["function responses of contents[2] have the role: user"],
        ),
        (
            "call by user",
            contents(json!([user(json!([text()])), user(json!([call("a")])), user(json!([response("a")]))])),
            &["function calls of contents[1] have the role: model"],
        ),
        (
            "nothing to answer",
            contents(json!([user(json!([response("a")]))])),
            &["function response turn comes immediately after a function call turn"],
        ),
        (
            "call after model",
            contents(json!([
                user(json!([text()])),
                model(json!([text()])),
                model(json!([call("a")])),
                user(json!([response("a")]))
            ])),
            &["function call turn comes immediately after a user turn"],
        ),
        (
            "arguments are text",
            exchange(json!([{ "functionCall": { "name": "a", "args": "{}" } }]), json!([response("a")])),
            &["function_call.args': Proto field is not a struct"],
        ),
        (
            "response is text",
            exchange(json!([call("a")]), json!([{ "functionResponse": { "name": "a", "response": "ok" } }])),
            &["function_response.response': Proto field is not a struct"],
        ),
        (
            "no name",
            exchange(
                json!([{ "functionCall": { "args": {} } }]),
                json!([{ "functionResponse": { "response": {} } }]),
            ),
            &["function_call.name: Name cannot be empty.", "function_response.name: Name cannot be empty."],
        ),
    ];
    check_rows(API, &rows);
}

fn signed(name: &str, signature: &str) -> Value {
    let mut part = call(name);
    part["thoughtSignature"] = json!(signature);
    part
}

#[test]
fn signatures_stay_where_they_were() {
    let ok = sign_call("a", &json!({}));
    let rows: [Row; 6] = [
        ("on its call", exchange(json!([signed("a", &ok)]), json!([response("a")])), &[]),
        ("on text", exchange(json!([{ "text": "", "thoughtSignature": sign("x") }]), json!([text()])), &[]),
        (
            "made up on text",
            exchange(json!([{ "text": "", "thoughtSignature": "x" }]), json!([text()])),
            &["not valid"],
        ),
        (
            "made up",
            exchange(json!([signed("a", "x")]), json!([response("a")])),
            &["Thought signature is not valid."],
        ),
        (
            "on another call",
            exchange(json!([signed("b", &ok)]), json!([response("b")])),
            &["signature is not valid."],
        ),
        (
            "on the second call",
            exchange(json!([call("b"), signed("a", &ok)]), json!([response("b"), response("a")])),
            &["contents[1].parts[1]: Thought signature is not valid."],
        ),
    ];
    check_rows(API, &rows);
}

#[test]
fn gemini_3_wants_the_signatures_of_the_current_turn() {
    let server = ModelServer::start(Script::route(|_| Reply::text("fine")));
    let mut client = Client::new(&server);
    let missing = exchange(json!([call("a")]), json!([response("a")]));
    let mut earlier = missing.clone();
    let later = earlier["contents"].as_array_mut().expect("contents are a list");
    later.extend([model(json!([text()])), user(json!([text()]))]);
    let skipped = exchange(json!([signed("a", "skip_thought_signature_validator")]), json!([response("a")]));
    for (body, status) in [(missing, 400), (earlier, 200), (skipped, 200)] {
        let response = client.send("POST", GEMINI_3, headers(API), body.to_string().as_bytes());
        assert_eq!(response.status, status);
    }
    let problems = server.take_problems();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("missing a thought_signature in functionCall parts: contents[1], `a`"));
}

#[test]
fn the_key_is_in_a_header_or_the_query() {
    let server = ModelServer::start(Script::route(|_| Reply::text("fine")));
    let body = smallest(API).to_string();
    for (query, status) in [("", 403), ("?key=k", 200)] {
        let path = format!("/v1beta/models/m:generateContent{query}");
        let headers = "content-type: application/json\r\n";
        let response = Client::new(&server).send("POST", &path, headers, body.as_bytes());
        assert_eq!(response.status, status);
    }
    assert_eq!(server.take_problems().len(), 1);
}

#[test]
fn what_was_streamed_can_be_sent_back_as_it_is() {
    let replies = vec![
        Reply::calls(&[("a", json!({ "x": 1, "b": 2 })), ("b", json!({}))]).and_text("I look."),
        Reply::text("done"),
    ];
    let server = ModelServer::start(Script::by_turn(replies));
    let mut client = Client::new(&server);
    let mut conversation = vec![user(json!([text()]))];
    for _ in 0..2 {
        let body = contents(json!(conversation)).to_string();
        let events = client.send("POST", GEMINI_3, headers(API), body.as_bytes()).events();
        let parts: Vec<Value> =
            events.iter().map(|event| event["candidates"][0]["content"]["parts"][0].clone()).collect();
        let calls = parts.iter().filter_map(|part| part.get("functionCall"));
        let mut answers: Vec<Value> = calls
            .map(|call| json!({ "functionResponse": { "name": call["name"], "id": call["id"], "response": {} } }))
            .collect();
        if answers.is_empty() {
            answers.push(text());
        }
        conversation.extend([model(json!(parts)), user(json!(answers))]);
    }
    assert_eq!(server.requests().len(), 2);
}
