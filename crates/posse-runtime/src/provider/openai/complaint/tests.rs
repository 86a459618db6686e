//! What a caller is told for what servers say.

use expect_test::{Expect, expect};
use serde_json::json;

use super::{complaint_in_stream, refusal};
use crate::provider::Fault;

fn check(status: u16, body: &str, expected: &Expect) {
    let error = refusal(status, body);
    assert_eq!((error.status, error.retry_after), (Some(status), None));
    expected.assert_eq(&format!("{:?}: {}", error.fault, error.message));
}

#[test]
fn the_words_are_the_servers_own_in_every_form() {
    check(
        401,
        r#"{"error":{"message":"Incorrect API key provided","type":"invalid_request_error","code":"invalid_api_key"}}"#,
        &expect!["Lasting: Incorrect API key provided"],
    );
    check(404, r#"{"error":"model 'x' not found"}"#, &expect!["Lasting: model 'x' not found"]);
    check(
        422,
        r#"{"detail":[{"loc":["body","tools"],"msg":"Field required","type":"missing"}]}"#,
        &expect!["Lasting: Field required"],
    );
    check(404, r#"{"detail":"Not Found"}"#, &expect!["Lasting: Not Found"]);
    check(
        400,
        r#"{"object":"error","message":"tool choice requires a parser","type":"BadRequestError","code":400}"#,
        &expect!["Lasting: tool choice requires a parser"],
    );
    check(
        400,
        r#"[{"error":{"code":400,"message":"Invalid value","status":"INVALID_ARGUMENT"}}]"#,
        &expect!["Lasting: Invalid value"],
    );
    check(
        400,
        r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"message\":\"prompt is too long: 9 > 8\"}","provider_name":"X"}}}"#,
        &expect![[r#"ContextTooLong: Provider returned error: {"message":"prompt is too long: 9 > 8"}"#]],
    );
}

#[test]
fn a_body_without_words_is_shown_in_part() {
    check(502, "<html>\n<h1>Bad gateway</h1>", &expect!["Passing: <html> <h1>Bad gateway</h1>"]);
    check(503, "", &expect!["Passing: the server answered with status 503 and no words"]);
    check(400, r#"{"error":{"code":7}}"#, &expect![[r#"Lasting: {"error":{"code":7}}"#]]);
    assert_eq!(refusal(500, &"é".repeat(5000)).message.chars().count(), 300);
}

#[test]
fn a_conversation_that_is_too_long_is_told_by_code_or_by_words() {
    let fault = |status, body: &str| refusal(status, body).fault;
    for words in [
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        "Your input exceeds the context window of this model.",
        "the request exceeds the available context size. try increasing the context size",
        "Too many tokens in prompt",
    ] {
        let body = json!({"error": {"message": words, "type": "invalid_request_error"}}).to_string();
        assert_eq!(fault(400, &body), Fault::ContextTooLong, "{words}");
        assert_eq!(fault(413, &body), Fault::ContextTooLong, "{words}");
        assert_eq!(fault(429, &body), Fault::Passing, "{words}");
    }
    assert_eq!(fault(400, r#"{"error":{"code":"context_length_exceeded"}}"#), Fault::ContextTooLong);
    assert_eq!(fault(500, r#"{"error":{"type":"exceed_context_size_error"}}"#), Fault::ContextTooLong);
    assert_eq!(fault(400, "maximum context length"), Fault::ContextTooLong);
}

#[test]
fn what_else_a_status_stands_for() {
    let fault = |status, body: &str| refusal(status, body).fault;
    assert_eq!(
        fault(429, r#"{"error":{"code":"rate_limit_exceeded","message":"Slow down"}}"#),
        Fault::Passing
    );
    assert_eq!(
        fault(429, r#"{"error":{"code":"insufficient_quota","type":"insufficient_quota"}}"#),
        Fault::Lasting
    );
    assert_eq!(fault(500, "{}"), Fault::Passing);
    assert_eq!(fault(400, "{}"), Fault::Lasting);
    assert_eq!(fault(403, "{}"), Fault::Lasting);
}

#[test]
fn a_complaint_in_a_stream_passes_unless_it_says_otherwise() {
    let fault = |complaint| complaint_in_stream(&complaint).fault;
    assert_eq!(fault(json!({"code": "server_error", "message": "x"})), Fault::Passing);
    assert_eq!(fault(json!({"code": "rate_limit_exceeded", "message": "too many tokens"})), Fault::Passing);
    assert_eq!(fault(json!({"type": "overloaded_error"})), Fault::Passing);
    assert_eq!(fault(json!({"code": "invalid_prompt"})), Fault::Lasting);
    assert_eq!(fault(json!({"code": "insufficient_quota"})), Fault::Lasting);
    assert_eq!(fault(json!({"error": {"code": "context_length_exceeded"}})), Fault::ContextTooLong);
    assert_eq!(fault(json!({"message": "exceeds the context window"})), Fault::ContextTooLong);
    assert_eq!(fault(json!({"code": 400})), Fault::Lasting);
    assert_eq!(fault(json!({"code": 503})), Fault::Passing);
    assert_eq!(fault(json!(null)), Fault::Passing);
    assert_eq!(complaint_in_stream(&json!(null)).message, "the server broke off with an error: null");
}
