//! What can go wrong on the way: pieces, cuts, resets, stalls, errors, and answers that are none.

use std::io::ErrorKind;

use serde_json::{Value, json};

use super::client::{ALL, Client, answer, headers, path, smallest, with};
use crate::{Api, ModelServer, Reply, Script};

#[test]
fn pieces_of_one_byte_make_the_same_stream() {
    for api in ALL {
        let text = "Größe: 12 €, 日本";
        let whole = answer(Reply::text(text), api, &smallest(api));
        let pieces = answer(Reply::text(text).chunk_bytes(1), api, &smallest(api));
        assert_eq!(pieces.body, whole.body);
        assert_eq!((whole.chunks, pieces.chunks), (1, pieces.body.len()));
    }
}

#[test]
fn a_cut_ends_the_connection_in_good_order_inside_the_body() {
    for api in ALL {
        let response = answer(Reply::text("hello").cut_at(30), api, &smallest(api));
        assert_eq!((response.body.len(), response.broken), (30, Some(ErrorKind::UnexpectedEof)));
    }
}

#[test]
fn a_cut_at_nothing_leaves_a_head_without_a_body() {
    let response = answer(Reply::text("hello").cut_at(0), Api::Anthropic, &smallest(Api::Anthropic));
    assert_eq!((response.status, response.body.len()), (200, 0));
    assert_eq!(response.broken, Some(ErrorKind::UnexpectedEof));
}

#[test]
fn a_cut_after_the_end_leaves_out_only_the_final_chunk() {
    let whole = answer(Reply::text("hello"), Api::Anthropic, &smallest(Api::Anthropic));
    let cut = answer(Reply::text("hello").cut_at(1_000_000), Api::Anthropic, &smallest(Api::Anthropic));
    assert_eq!((cut.body, cut.broken), (whole.body, Some(ErrorKind::UnexpectedEof)));
}

#[test]
fn a_reset_is_seen_as_one() {
    let response = answer(Reply::text("hello").reset_at(30), Api::OpenAiChat, &smallest(Api::OpenAiChat));
    assert_eq!((response.body.len(), response.broken), (30, Some(ErrorKind::ConnectionReset)));
}

#[test]
fn a_stall_keeps_the_connection_open_and_silent() {
    let server = ModelServer::start(Script::in_order(vec![Reply::text("hello").stall_at(30)]));
    let mut client = Client::new(&server);
    let length = smallest(Api::Gemini).to_string().len();
    let (path, headers) = (path(Api::Gemini), headers(Api::Gemini));
    client.write(format!("POST {path} HTTP/1.1\r\n{headers}content-length: {length}\r\n\r\n").as_bytes());
    client.write(smallest(Api::Gemini).to_string().as_bytes());
    assert!(client.read_head().starts_with("HTTP/1.1 200 OK"));
    assert_eq!(client.read_bytes("1e\r\n".len() + 30 + "\r\n".len())[..4], *b"1e\r\n");
    assert!(client.is_silent());
}

#[test]
fn an_error_has_the_shape_of_its_api() {
    let expected = [
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" },
            "request_id": "req_scripted" }),
        json!({ "error": { "message": "busy", "type": "overloaded_error", "param": null, "code": null } }),
        json!({ "error": { "message": "busy", "type": "overloaded_error", "param": null, "code": null } }),
        json!({ "error": { "code": 529, "message": "busy", "status": "overloaded_error" } }),
    ];
    for (api, expected) in ALL.into_iter().zip(expected) {
        let reply = Reply::error(529, "overloaded_error", "busy").header("retry-after", "7");
        let response = answer(reply, api, &smallest(api));
        assert_eq!((response.status, response.json()), (529, expected));
        assert!(response.head.contains("\r\nretry-after: 7\r\n"), "{}", response.head);
    }
}

#[test]
fn an_openai_error_has_its_name_where_the_service_puts_it() {
    for (kind, expected) in [
        ("rate_limit_exceeded", json!(["requests", "rate_limit_exceeded"])),
        ("insufficient_quota", json!(["insufficient_quota", "insufficient_quota"])),
        ("context_length_exceeded", json!(["invalid_request_error", "context_length_exceeded"])),
        ("server_error", json!(["server_error", null])),
    ] {
        let response =
            answer(Reply::error(400, kind, "m"), Api::OpenAiChat, &smallest(Api::OpenAiChat)).json();
        assert_eq!(json!([response["error"]["type"], response["error"]["code"]]), expected);
    }
}

#[test]
fn an_error_in_the_stream_comes_last_and_after_some_text() {
    for (api, kind, last) in [
        (Api::Anthropic, "overloaded_error", "/error/type"),
        (Api::OpenAiChat, "server_error", "/error/type"),
        (Api::OpenAiResponses, "server_error", "/response/error/code"),
        (Api::OpenAiResponses, "other_code", "/code"),
        (Api::Gemini, "UNAVAILABLE", "/error/status"),
    ] {
        let response = answer(Reply::in_stream_error(kind, "busy"), api, &smallest(api));
        assert_eq!((response.status, response.broken), (200, None));
        assert_eq!(response.events().last().expect("there are events").pointer(last), Some(&json!(kind)));
        assert!(response.text().contains("This answer"), "{}", response.text());
        assert!(!response.text().contains("[DONE]"));
    }
}

#[test]
fn malformed_json_is_one_data_line_of_a_stream_that_goes_on() {
    for api in ALL {
        let text = answer(Reply::malformed_json(), api, &smallest(api)).text();
        let data =
            text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
        let valid: Vec<bool> = data.map(|data| serde_json::from_str::<Value>(data).is_ok()).collect();
        assert_eq!(valid.iter().filter(|valid| !**valid).count(), 1, "{text}");
        assert_eq!(valid.last(), Some(&true));
    }
}

#[test]
fn bytes_that_are_no_answer_travel_as_they_are() {
    let garbage = answer(Reply::malformed_sse(), Api::Anthropic, &smallest(Api::Anthropic));
    assert!(garbage.head.contains("content-type: text/event-stream"));
    assert!(String::from_utf8(garbage.body).is_err());
    let page = answer(Reply::wrong_content_type(), Api::Anthropic, &smallest(Api::Anthropic));
    assert!(page.head.contains("content-type: text/html"));
    let raw = answer(Reply::raw(418, "x/y", b"\xff\x00"), Api::Gemini, &smallest(Api::Gemini));
    assert_eq!((raw.status, &raw.body[..]), (418, &b"\xff\x00"[..]));
}

#[test]
fn a_huge_stream_is_as_long_as_it_says_and_ends_well() {
    for api in ALL {
        let response = answer(Reply::huge(1_000_000), api, &smallest(api));
        assert!((1_000_000..1_020_000).contains(&response.body.len()), "{}", response.body.len());
        assert_eq!(response.broken, None);
        assert!(response.events().len() > 200);
    }
}

#[test]
fn a_huge_answer_can_be_one_object() {
    let body = with(Api::OpenAiChat, &json!({ "stream": false }));
    let response = answer(Reply::huge(100_000), Api::OpenAiChat, &body).json();
    assert_eq!(response["choices"][0]["message"]["content"].as_str().map(str::len), Some(100_000));
}
