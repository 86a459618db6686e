//! The server itself: connections, scripts, lists of models, and what it remembers.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use serde_json::{Value, json};

use super::client::{ALL, Client, headers, path, smallest, with};
use crate::{Api, ModelServer, Reply, Script};

fn said(client: &mut Client, body: &Value) -> String {
    let response = client.ask(Api::OpenAiChat, body);
    let events = response.events();
    let pieces = events.iter().filter_map(|event| event["choices"][0]["delta"]["content"].as_str());
    pieces.collect()
}

#[test]
fn replies_come_in_order_over_one_connection() {
    let server = ModelServer::start(Script::in_order(vec![Reply::text("one"), Reply::text("two")]));
    let mut client = Client::new(&server);
    let body = smallest(Api::OpenAiChat);
    assert_eq!((said(&mut client, &body), said(&mut client, &body)), ("one".into(), "two".into()));
    let response = client.ask(Api::OpenAiChat, &body);
    assert_eq!((response.status, &response.json()["error"]["type"]), (500, &json!("server_error")));
    assert_eq!(
        server.take_problems(),
        ["request 3 (POST /v1/chat/completions): the script has no reply left"]
    );
}

#[test]
fn a_turn_is_counted_in_the_request_alone() {
    let server = ModelServer::start(Script::by_turn(vec![Reply::text("first"), Reply::text("second")]));
    let said = json!([{ "role": "user", "content": "a" }, { "role": "assistant", "content": "b" },
        { "role": "user", "content": "c" }]);
    let parts = json!([{ "role": "user", "parts": [{ "text": "a" }] },
        { "role": "model", "parts": [{ "text": "b" }] }, { "role": "user", "parts": [{ "text": "c" }] }]);
    let mut client = Client::new(&server);
    for (api, field, conversation) in [
        (Api::Anthropic, "messages", &said),
        (Api::OpenAiChat, "messages", &said),
        (Api::OpenAiResponses, "input", &said),
        (Api::Gemini, "contents", &parts),
    ] {
        assert!(client.ask(api, &smallest(api)).text().contains("first"));
        assert!(client.ask(api, &with(api, &json!({ field: conversation }))).text().contains("second"));
    }
}

#[test]
fn a_route_sees_the_request() {
    let server = ModelServer::start(Script::route(|request| Reply::text(&format!("{:?}", request.api))));
    let mut client = Client::new(&server);
    for api in ALL {
        assert!(client.ask(api, &smallest(api)).text().contains(&format!("{api:?}")));
    }
}

#[test]
fn requests_are_kept_as_they_came() {
    let server = ModelServer::start(Script::in_order(vec![Reply::text("one")]));
    let body = smallest(Api::Gemini);
    Client::new(&server).ask(Api::Gemini, &body);
    server.wait_for_requests(1);
    let request = server.requests().remove(0);
    assert_eq!((request.api, &request.path[..]), (Api::Gemini, path(Api::Gemini)));
    assert_eq!((request.raw.clone(), request.body.clone()), (body.to_string().into_bytes(), body));
    assert_eq!(request.header("x-goog-api-key"), Some("k"));
}

#[test]
fn a_body_may_come_in_chunks_and_in_parts_of_them() {
    let server = ModelServer::start(Script::in_order(vec![Reply::text("one"), Reply::text("two")]));
    let mut client = Client::new(&server);
    let body = smallest(Api::Anthropic).to_string();
    let (a, b) = body.split_at(20);
    let chunks = format!("{:x};x=y\r\n{a}\r\n{:X}\r\n{b}\r\n0\r\ntrailer: 1\r\n\r\n", a.len(), b.len());
    let (path, headers) = (path(Api::Anthropic), headers(Api::Anthropic));
    let request = format!("POST {path} HTTP/1.1\r\n{headers}transfer-encoding: chunked\r\n\r\n{chunks}");
    for byte in request.as_bytes() {
        client.write(&[*byte]);
    }
    assert!(client.read().text().contains("one"));
    assert!(client.ask(Api::Anthropic, &smallest(Api::Anthropic)).text().contains("two"));
    assert_eq!(server.requests()[0].raw, body.as_bytes());
}

#[test]
fn a_client_may_ask_whether_to_go_on_and_may_end_the_connection() {
    let server = ModelServer::start(Script::in_order(vec![Reply::text("one")]));
    let mut client = Client::new(&server);
    let body = smallest(Api::Anthropic).to_string();
    let (path, headers, length) = (path(Api::Anthropic), headers(Api::Anthropic), body.len());
    let wishes = "expect: 100-continue\r\nconnection: close\r\n";
    let head = format!("POST {path} HTTP/1.1\r\n{headers}{wishes}content-length: {length}\r\n\r\n");
    client.write(head.as_bytes());
    let interim = client.read_head();
    assert!(interim.starts_with("HTTP/1.1 100 Continue"), "{interim}");
    client.write(body.as_bytes());
    let response = client.read();
    assert!(response.text().contains("one") && response.head.contains("connection: close\r\n"));
    assert!(client.is_closed());
}

#[test]
fn lists_of_models_have_the_form_of_their_service() {
    let server = ModelServer::start(Script::in_order(vec![]).models(vec!["a", "b"]));
    let mut client = Client::new(&server);
    for (path, headers, pointer, first) in [
        ("/v1/models", "authorization: Bearer k\r\n", "/data/0/id", "a"),
        ("/v1/models", "anthropic-version: 2023-06-01\r\n", "/data/0/display_name", "a"),
        ("/v1beta/models?key=k", "", "/models/0/name", "models/a"),
        ("/api/tags", "", "/models/0/model", "a"),
    ] {
        let list = client.send("GET", path, headers, b"").json();
        assert_eq!(list.pointer(pointer), Some(&json!(first)));
    }
    assert!(server.requests().iter().all(|request| request.api == Api::Other));
}

#[test]
fn a_path_that_no_service_has_is_a_problem() {
    let server = ModelServer::start(Script::in_order(vec![]));
    let response = Client::new(&server).send("POST", "/v1/mesages?x", "", b"{}");
    assert_eq!(response.status, 404);
    assert_eq!(server.take_problems(), ["request 1 (POST /v1/mesages): there is no POST /v1/mesages"]);
}

#[test]
fn what_is_not_http_is_refused_and_told() {
    let server = ModelServer::start(Script::in_order(vec![]));
    let mut client = Client::new(&server);
    client.write(b"\x16\x03\x01 hello\r\n\r\n");
    assert_eq!(client.read().status, 400);
    assert_eq!(server.take_problems().len(), 1);
}

#[test]
fn problems_that_nobody_took_fail_the_test() {
    let server = ModelServer::start(Script::in_order(vec![]));
    Client::new(&server).ask(Api::Anthropic, &json!({}));
    assert!(!server.problems().is_empty());
    let panic = catch_unwind(AssertUnwindSafe(|| drop(server))).expect_err("dropping it panics");
    let message = panic.downcast_ref::<String>().expect("the panic has a message");
    assert!(message.contains("request 1 (POST /v1/messages): model: Field required"), "{message}");
}

#[test]
fn statistics_are_not_requests() {
    let server = ModelServer::start(Script::by_turn(vec![Reply::text("one")]).keep_requests(1));
    let mut client = Client::new(&server);
    for _ in 0..3 {
        client.ask(Api::OpenAiChat, &smallest(Api::OpenAiChat));
    }
    let stats = client.send("GET", "/__stats", "", b"").json();
    assert_eq!(stats, json!({ "requests": 3, "problems": [], "connections": 1 }));
    assert_eq!(server.requests().len(), 1);
    client.send("POST", "/__quit", "", b"");
    server.wait_for_quit();
}

#[test]
fn many_connections_are_served_at_once() {
    let replies = vec![Reply::text("one").latency_ms(20)];
    let server = ModelServer::start(Script::by_turn(replies));
    thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| said(&mut Client::new(&server), &smallest(Api::OpenAiChat)));
        }
    });
    server.wait_for_requests(32);
}

#[test]
fn a_script_can_be_json() {
    let script = json!({
        "by_turn": [
            { "thinking": "hm", "text": "hello", "calls": [["read", { "path": "a" }]], "latency_ms": 1,
              "usage": { "input": 1, "output": 2, "cache_read": 3 }, "stop": "max_tokens", "chunk_bytes": 7 },
        ],
        "models": ["a"],
    });
    let server = ModelServer::start(Script::from_json(&script).expect("the script is valid"));
    let body = with(Api::OpenAiChat, &json!({ "stream_options": { "include_usage": true } }));
    let text = Client::new(&server).ask(Api::OpenAiChat, &body).text();
    for part in [
        r#""reasoning_content":"hm""#,
        r#""name":"read""#,
        r#""finish_reason":"length""#,
        r#""cached_tokens":3"#,
    ] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn a_mistake_in_a_script_is_named() {
    for (script, expected) in [
        (json!({ "by_turn": [], "in_order": [] }), "a script has either `in_order` or `by_turn`"),
        (json!({ "by_turn": [{ "txt": "a" }] }), "`txt` is not a key of a reply"),
        (json!({ "by_turn": [{ "stop": "x" }] }), "`x` is not a way to stop"),
        (json!({ "by_turn": [{ "calls": ["read"] }] }), "a call is a list of a name and its input"),
        (json!({ "by_turn": [{ "error": { "status": 1 } }] }), "`error.kind` is not a text"),
        (json!({ "by_tern": [] }), "`by_tern` is not a key of a script"),
    ] {
        assert_eq!(Script::from_json(&script).err().as_deref(), Some(expected));
    }
}
