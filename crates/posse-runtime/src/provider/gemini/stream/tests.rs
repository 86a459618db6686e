//! What streams of Gemini turn into, and that an answer goes back as it came.

use expect_test::{Expect, expect};
use posse_core::message::{Answer, Message};
use serde_json::json;

use super::super::Gemini;
use crate::provider::{Delta, Protocol, ProviderError};

fn check_sent_back(message: &Message, expected: &Expect) {
    let mut out = Vec::new();
    Gemini.message(message, false, &mut out);
    expected.assert_eq(&String::from_utf8(out).unwrap());
}

/// Reads a recorded stream, a chunk a line.
fn decode(stream: &str) -> (Vec<Delta>, Result<Answer, ProviderError>) {
    let mut decoder = Gemini.decoder();
    let mut deltas = Vec::new();
    for data in stream.lines().filter(|line| !line.is_empty()) {
        if let Err(error) = decoder.event("", data, &mut |delta| deltas.push(delta)) {
            return (deltas, Err(error));
        }
        assert!(!decoder.is_complete(), "only the end of the stream is the end");
    }
    (deltas, decoder.finish())
}

fn show(answer: &Result<Answer, ProviderError>) -> String {
    match answer {
        Err(error) => format!("{:?} {:?}: {}", error.fault, error.status, error.message),
        Ok(Answer { message, finish, usage }) => {
            let parts = message.parts.iter().map(|part| serde_json::to_string(part).unwrap() + "\n");
            let sent =
                format!("{}+{}r+{}w", usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens);
            format!("{}{finish:?} {sent} -> {}", parts.collect::<String>(), usage.output_tokens)
        }
    }
}

fn check_decode(stream: &str, expected: &Expect) {
    expected.assert_eq(&show(&decode(stream).1));
}

fn check_stop(reason: &str, expected: &Expect) {
    let content = json!({"parts": [{"text": "Hi"}]});
    let chunk = json!({"candidates": [{"content": content, "finishReason": reason}]});
    check_decode(&chunk.to_string(), expected);
}

fn check_error(error: &str, expected: &Expect) {
    check_decode(&format!(r#"{{"error":{error}}}"#), expected);
}

/// A thought, words and two calls, of which the first is signed.
const CALLING: &str = r#"{"candidates":[{"content":{"parts":[{"text":"**Planning**\n\nTwo ","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":120,"totalTokenCount":150,"promptTokensDetails":[{"modality":"TEXT","tokenCount":120}],"thoughtsTokenCount":30},"modelVersion":"gemini-test","responseId":"Il0taoSYJ5Cez7IP"}
{"candidates":[{"content":{"parts":[{"text":"files.","thought":true}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":120,"totalTokenCount":160,"thoughtsTokenCount":40},"modelVersion":"gemini-test","responseId":"Il0taoSYJ5Cez7IP"}
{"candidates":[{"content":{"parts":[{"text":"I read "}],"role":"model"},"index":0}],"responseId":"Il0taoSYJ5Cez7IP"}
{"candidates":[{"content":{"parts":[{"text":"both."}],"role":"model"},"index":0}],"responseId":"Il0taoSYJ5Cez7IP"}
{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":{"path":"a.rs"}},"thoughtSignature":"EjQKMgEMOdbHO0Gd"},{"functionCall":{"name":"list","args":{}}}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":120,"cachedContentTokenCount":100,"candidatesTokenCount":25,"totalTokenCount":185,"thoughtsTokenCount":40},"modelVersion":"gemini-test","responseId":"Il0taoSYJ5Cez7IP"}
"#;

/// Signatures everywhere else: on a thought, on words, and on nothing at the end.
const SIGNED: &str = r#"{"candidates":[{"content":{"parts":[{"text":"Hm.","thought":true},{"text":"","thought":true,"thoughtSignature":"c2ln1"}]}}]}
{"candidates":[{"content":{"parts":[{"text":"One. "},{"text":"Two. ","thoughtSignature":"c2ln2"},{"text":"Three."}]}}]}
{"candidates":[{"content":{"parts":[{"text":"","thoughtSignature":"c2ln3"}]},"finishReason":"STOP"}]}
"#;

#[test]
fn a_whole_answer_is_read_in_the_order_of_its_parts() {
    check_decode(
        CALLING,
        &expect![[r#"
        {"type":"thinking","text":"**Planning**\n\nTwo files."}
        {"type":"text","text":"I read both."}
        {"type":"tool_call","id":"gemini-call-6325cdc9a573548b_1","name":"read","input":{"path":"a.rs"},"seal":{"api":"gemini","value":{"thoughtSignature":"EjQKMgEMOdbHO0Gd"}}}
        {"type":"tool_call","id":"gemini-call-fdf21166b352e0e6_2","name":"list","input":{}}
        Calls 20+100r+0w -> 65"#]],
    );
}

#[test]
fn what_streams_is_told_as_it_comes() {
    expect![[r#"[Thinking("**Planning**\n\nTwo "), Thinking("files."), Text("I read "), Text("both."), Call("read"), Call("list")]"#]].assert_eq(&format!("{:?}", decode(CALLING).0));
}

#[test]
fn signatures_outside_calls_are_kept() {
    check_decode(
        SIGNED,
        &expect![[r#"
        {"type":"thinking","text":"Hm.","seal":{"api":"gemini","value":{"thoughtSignature":"c2ln1","signed":"thought"}}}
        {"type":"text","text":"One. "}
        {"type":"thinking","text":"","seal":{"api":"gemini","value":{"thoughtSignature":"c2ln2","signed":"next_text"}}}
        {"type":"text","text":"Two. "}
        {"type":"text","text":"Three."}
        {"type":"thinking","text":"","seal":{"api":"gemini","value":{"thoughtSignature":"c2ln3","signed":"empty_text"}}}
        Complete 0+0r+0w -> 0"#]],
    );
}

#[test]
fn an_answer_goes_back_as_it_came() {
    check_sent_back(
        &decode(CALLING).1.unwrap().message,
        &expect![[
            r#"{"role":"model","parts":[{"text":"I read both."},{"functionCall":{"name":"read","args":{"path":"a.rs"}},"thoughtSignature":"EjQKMgEMOdbHO0Gd"},{"functionCall":{"name":"list","args":{}}}]}"#
        ]],
    );
    check_sent_back(
        &decode(SIGNED).1.unwrap().message,
        &expect![[
            r#"{"role":"model","parts":[{"text":"Hm.","thought":true,"thoughtSignature":"c2ln1"},{"text":"One. "},{"text":"Two. ","thoughtSignature":"c2ln2"},{"text":"Three."},{"text":"","thoughtSignature":"c2ln3"}]}"#
        ]],
    );
}

#[test]
fn an_id_of_the_api_is_the_id_of_the_call_and_goes_back() {
    let chunk = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"id":"fc-7","name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"}]},"finishReason":"STOP"}]}"#;
    check_decode(
        chunk,
        &expect![[r#"
        {"type":"tool_call","id":"fc-7","name":"read","input":{"path":"a"},"seal":{"api":"gemini","value":{"thoughtSignature":"c2ln","id":"fc-7"}}}
        Calls 0+0r+0w -> 0"#]],
    );
    check_sent_back(
        &decode(chunk).1.unwrap().message,
        &expect![[
            r#"{"role":"model","parts":[{"functionCall":{"id":"fc-7","name":"read","args":{"path":"a"}},"thoughtSignature":"c2ln"}]}"#
        ]],
    );
}

#[test]
fn every_finish_reason_has_its_meaning() {
    check_stop(
        "STOP",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
    check_stop(
        "MAX_TOKENS",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        MaxTokens 0+0r+0w -> 0"#]],
    );
    for declined in ["SAFETY", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST", "SPII", "LANGUAGE"] {
        check_stop(
            declined,
            &expect![[r#"
            {"type":"text","text":"Hi"}
            Refusal 0+0r+0w -> 0"#]],
        );
    }
    check_stop(
        "OTHER",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
    check_stop(
        "SOMETHING_NEW",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
    check_stop(
        "MALFORMED_FUNCTION_CALL",
        &expect!["Passing None: Gemini ended the answer with MALFORMED_FUNCTION_CALL"],
    );
    check_stop(
        "UNEXPECTED_TOOL_CALL",
        &expect!["Passing None: Gemini ended the answer with UNEXPECTED_TOOL_CALL"],
    );
    check_stop(
        "MISSING_THOUGHT_SIGNATURE",
        &expect!["Lasting None: Gemini ended the answer with MISSING_THOUGHT_SIGNATURE"],
    );
    check_stop("FINISH_REASON_UNSPECIFIED", &expect!["Passing None: the stream ended before the answer did"]);
    check_stop("", &expect!["Passing None: the stream ended before the answer did"]);
}

#[test]
fn a_malformed_call_is_worth_asking_again_in_the_words_of_the_api() {
    let chunk = r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: read(path="}]}"#;
    check_decode(chunk, &expect!["Passing None: Malformed function call: read(path="]);
}

#[test]
fn an_end_without_a_reason_and_without_words_is_worth_asking_again() {
    check_decode(
        r#"{"candidates":[{"finishReason":"OTHER"}]}"#,
        &expect!["Passing None: Gemini ended the answer before it began: OTHER"],
    );
}

#[test]
fn a_blocked_prompt_is_a_refusal() {
    let chunk = r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9}}"#;
    check_decode(chunk, &expect!["Refusal 9+0r+0w -> 0"]);
    check_decode(
        r#"{"promptFeedback":{"safetyRatings":[]}}"#,
        &expect!["Passing None: the stream ended before the answer did"],
    );
}

#[test]
fn a_finish_reason_in_every_chunk_ends_nothing_early() {
    let stream = r#"{"candidates":[{"content":{"parts":[{"text":"One, "}]},"finishReason":"STOP"}]}
{"candidates":[{"content":{"parts":[{"text":"two."}]},"finishReason":"STOP"}]}
{"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":4}}
{"usageMetadata":{"totalTokenCount":13}}
[DONE]
"#;
    check_decode(
        stream,
        &expect![[r#"
        {"type":"text","text":"One, two."}
        Complete 9+0r+0w -> 4"#]],
    );
}

#[test]
fn unknown_fields_and_parts_are_passed_over() {
    let stream = r#"{"weather":"sunny"}
{"candidates":[]}
{"candidates":[{"content":{"role":"model","parts":[{"executableCode":{"code":"1"}},{"text":""}]},"groundingMetadata":{}}]}
{"candidates":[{"content":{"parts":[{"text":"Sunny."}]},"finishReason":"STOP"},{"content":{"parts":[{"text":"Rain."}]}}]}
"#;
    check_decode(
        stream,
        &expect![[r#"
        {"type":"text","text":"Sunny."}
        Complete 0+0r+0w -> 0"#]],
    );
}

#[test]
fn arguments_that_are_no_object_are_kept_as_they_came() {
    let stream = r#"{"candidates":[{"content":{"parts":[{"functionCall":{"name":"read","args":"{\"path\":\"a\"}"}},{"functionCall":{"name":"read","args":[1]}},{"functionCall":{"name":"read","args":null}}]},"finishReason":"STOP"}]}"#;
    check_decode(
        stream,
        &expect![[r#"
        {"type":"tool_call","id":"gemini-call-955d1720af9bf768_1","name":"read","input":{"path":"a"}}
        {"type":"tool_call","id":"gemini-call-2b199f3db73c17da_2","name":"read","input":{},"malformed":"[1]"}
        {"type":"tool_call","id":"gemini-call-3d0c769672f22499_3","name":"read","input":{}}
        Calls 0+0r+0w -> 0"#]],
    );
}

#[test]
fn a_stream_cut_before_its_end_is_worth_asking_again() {
    check_decode(
        CALLING.split_at(CALLING.rfind("{\"candidates\"").unwrap()).0,
        &expect!["Passing None: the stream ended before the answer did"],
    );
    check_decode("", &expect!["Passing None: the stream ended before the answer did"]);
}

#[test]
fn an_event_that_is_not_json_is_worth_asking_again() {
    check_decode(
        r#"{"candidates":[{"#,
        &expect![[r#"Passing None: Gemini sent an event that is not valid JSON: {"candidates":[{"#]],
    );
    check_decode(
        r#"{"candidates":7}"#,
        &expect![[
            r#"Passing None: Gemini sent an event that does not have the expected shape: {"candidates":7}"#
        ]],
    );
}

#[test]
fn an_error_inside_the_stream_is_judged_by_its_code() {
    check_error(
        r#"{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}"#,
        &expect!["Passing None: The model is overloaded."],
    );
    check_error(
        r#"{"code":429,"message":"Quota exceeded: input token count","status":"RESOURCE_EXHAUSTED"}"#,
        &expect!["Passing None: Quota exceeded: input token count"],
    );
    check_error(
        r#"{"message":"An internal error has occurred.","status":"INTERNAL"}"#,
        &expect!["Passing None: An internal error has occurred."],
    );
    check_error(
        r#"{"code":400,"message":"Bad part","status":"INVALID_ARGUMENT"}"#,
        &expect!["Lasting None: Bad part"],
    );
    check_error(r#"{"message":"Bad key","status":"PERMISSION_DENIED"}"#, &expect!["Lasting None: Bad key"]);
    check_error(
        r#"{"code":400,"message":"The input token count exceeds the maximum"}"#,
        &expect!["ContextTooLong None: The input token count exceeds the maximum"],
    );
}
