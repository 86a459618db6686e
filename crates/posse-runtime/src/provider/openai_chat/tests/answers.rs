//! Streams as the API documents them, and streams that fail.

use expect_test::{Expect, expect};
use posse_core::message::Finish;

use super::{decode, show};
use crate::provider::Delta;

fn check(stream: &str, expected: &Expect) {
    let (answer, _) = decode(stream);
    expected.assert_eq(&show(&answer.unwrap()));
}

fn check_error(stream: &str, expected: &Expect) {
    let (answer, _) = decode(stream);
    let error = answer.unwrap_err();
    assert_eq!((error.status, error.retry_after), (None, None));
    expected.assert_eq(&format!("{:?}: {}", error.fault, error.message));
}

const PLAIN: &str = r#"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1694268190,"model":"gpt","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hel\u006co"},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":", \"you\"."},"finish_reason":null}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}

data: {"id":"chatcmpl-1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":64,"audio_tokens":0},"completion_tokens_details":{"reasoning_tokens":0}}}

data: [DONE]

"#;

const INTERLEAVED: &str = r#"data: {"id":"chatcmpl-2","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"Read","arguments":""}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-2","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"Grep","arguments":""}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"pa"}},{"index":1,"function":{"arguments":"{\"x\""}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-2","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":":1}"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-2","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"th\":\"a\"}"}}]},"finish_reason":null}]}

data: {"id":"chatcmpl-2","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#;

pub(super) const OPENROUTER_STREAM: &str = r#": OPENROUTER PROCESSING

data: {"id":"gen-1","choices":[{"delta":{"role":"assistant","content":"","reasoning":"Let me","reasoning_details":[{"type":"reasoning.text","text":"Let me","format":"anthropic-claude-v1","index":0}]},"finish_reason":null}]}

: OPENROUTER PROCESSING

data: {"id":"gen-1","choices":[{"delta":{"content":"","reasoning":" read.","reasoning_details":[{"type":"reasoning.text","text":" read.","format":"anthropic-claude-v1","index":0}]},"finish_reason":null}]}

data: {"id":"gen-1","choices":[{"delta":{"content":"","reasoning":null,"reasoning_details":[{"type":"reasoning.text","signature":"Et8BCm==","format":"anthropic-claude-v1","index":0}]},"finish_reason":null}]}

data: {"id":"gen-1","choices":[{"delta":{"content":"Reading.","reasoning":null,"reasoning_details":[]},"finish_reason":null}]}

data: {"id":"gen-1","choices":[{"delta":{"content":null,"tool_calls":[{"index":0,"id":"toolu_1","type":"function","function":{"name":"Read","arguments":"{\"path\": \"a\"}"}}]},"finish_reason":null}]}

data: {"id":"gen-1","choices":[{"delta":{"content":""},"finish_reason":"tool_calls","native_finish_reason":"tool_use"}]}

data: {"id":"gen-1","choices":[{"delta":{"content":""},"finish_reason":null}],"usage":{"prompt_tokens":50,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":10,"cache_write_tokens":30},"cost":0.01}}

data: [DONE]

"#;

#[test]
fn words_finish_and_usage() {
    check(
        PLAIN,
        &expect![[r#"
        {"type":"text","text":"Hello, \"you\"."}
        Complete, input 36 output 7 read 64 written 0
    "#]],
    );
}

#[test]
fn deltas_are_told_as_they_come() {
    let (_, deltas) = decode(PLAIN);
    assert_eq!(deltas, [Delta::Text("Hello".into()), Delta::Text(", \"you\".".into())]);
    let (_, deltas) = decode(OPENROUTER_STREAM);
    let expected = [
        Delta::Thinking("Let me".into()),
        Delta::Thinking(" read.".into()),
        Delta::Text("Reading.".into()),
        Delta::Call("Read".into()),
    ];
    assert_eq!(deltas, expected);
}

#[test]
fn parallel_calls_may_be_interleaved() {
    check(
        INTERLEAVED,
        &expect![[r#"
        {"type":"tool_call","id":"call_a","name":"Read","input":{"path":"a"}}
        {"type":"tool_call","id":"call_b","name":"Grep","input":{"x":1}}
        Calls, input 0 output 0 read 0 written 0
    "#]],
    );
}

#[test]
fn reasoning_details_are_put_together_into_a_seal() {
    check(
        OPENROUTER_STREAM,
        &expect![[r#"
        {"type":"thinking","text":"Let me read.","seal":{"api":"openai-chat","value":{"reasoning_details":[{"type":"reasoning.text","text":"Let me read.","format":"anthropic-claude-v1","index":0,"signature":"Et8BCm=="}]}}}
        {"type":"text","text":"Reading."}
        {"type":"tool_call","id":"toolu_1","name":"Read","input":{"path":"a"}}
        Calls, input 10 output 9 read 10 written 30
    "#]],
    );
}

#[test]
fn blocks_of_one_index_are_told_apart() {
    let details = [
        r#"{"type":"reasoning.summary","summary":"One","id":"rs_1","index":0}"#,
        r#"{"type":"reasoning.summary","summary":" two","id":"rs_1","index":0}"#,
        r#"{"type":"reasoning.encrypted","data":"AAA","id":"rs_1","index":0}"#,
        r#"{"type":"reasoning.encrypted","data":"BBB","id":"rs_2","index":0}"#,
        r#"{"type":"reasoning.encrypted","data":"CCC","id":null,"index":0}"#,
        r#"{"type":"reasoning.text","text":"first","signature":"s1","index":0}"#,
        r#"{"type":"reasoning.text","text":"other","index":1}"#,
        r#"{"type":"reasoning.text","text":"second","index":0}"#,
    ];
    let chunk =
        |detail| format!("data: {{\"choices\":[{{\"delta\":{{\"reasoning_details\":[{detail}]}}}}]}}\n\n");
    let stream = details.map(chunk).concat() + "data: [DONE]\n\n";
    check(
        &stream,
        &expect![[r#"
        {"type":"thinking","text":"One twofirstothersecond","seal":{"api":"openai-chat","value":{"reasoning_details":[{"type":"reasoning.summary","summary":"One two","id":"rs_1","index":0},{"type":"reasoning.encrypted","data":"AAA","id":"rs_1","index":0},{"type":"reasoning.encrypted","data":"BBB","id":"rs_2","index":0},{"type":"reasoning.encrypted","data":"CCC","id":null,"index":0},{"type":"reasoning.text","text":"first","signature":"s1","index":0},{"type":"reasoning.text","text":"other","index":1},{"type":"reasoning.text","text":"second","index":0}]}}}
        Complete, input 0 output 0 read 0 written 0
    "#]],
    );
}

#[test]
fn every_finish_reason() {
    let finish = |reason: &str| {
        let chunk = format!(r#"{{"choices":[{{"delta":{{"content":"x"}},"finish_reason":"{reason}"}}]}}"#);
        decode(&format!("data: {chunk}\n\ndata: [DONE]\n\n")).0.unwrap().finish
    };
    assert_eq!(finish("stop"), Finish::Complete);
    assert_eq!(finish("length"), Finish::MaxTokens);
    assert_eq!(finish("content_filter"), Finish::Refusal);
    assert_eq!(finish("eos"), Finish::Complete);
    // A reason for calls without any call is no reason to wait for tools.
    assert_eq!(finish("tool_calls"), Finish::Complete);
}

#[test]
fn a_refusal_is_a_text_and_a_finish() {
    check(
        r#"data: {"choices":[{"delta":{"role":"assistant","refusal":"I can't "}}]}

data: {"choices":[{"delta":{"refusal":"do that."}}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

data: [DONE]

"#,
        &expect![[r#"
            {"type":"text","text":"I can't do that."}
            Refusal, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn a_call_that_the_limit_cut_is_kept_as_it_came() {
    check(
        r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"Write","arguments":"{\"path\":\"a\",\"te"}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"length"}]}

"#,
        &expect![[r#"
            {"type":"tool_call","id":"call_a","name":"Write","input":{},"malformed":"{\"path\":\"a\",\"te"}
            MaxTokens, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn a_stream_cut_anywhere_before_its_end_is_a_passing_fault() {
    for stream in [PLAIN, INTERLEAVED] {
        let events: Vec<_> = stream.split_inclusive("\n\n").collect();
        let finish = events.iter().position(|event| event.contains("\"finish_reason\":\"")).unwrap();
        for end in 0..=finish {
            let cut = events[..end].concat();
            check_error(&cut, &expect!["Passing: the stream ended before the answer did"]);
        }
    }
}

#[test]
fn either_end_is_enough() {
    let without_done = PLAIN.replace("data: [DONE]\n\n", "");
    assert_eq!(decode(&without_done).0, decode(PLAIN).0);
    check(
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: [DONE]\n\n",
        &expect![[r#"
        {"type":"text","text":"x"}
        Complete, input 0 output 0 read 0 written 0
    "#]],
    );
}

#[test]
fn the_answer_is_complete_with_done_and_nothing_after_it_counts() {
    let mut decoder = crate::provider::Protocol::decoder(&super::OpenaiChat);
    let mut ignore = |_| {};
    decoder
        .event("", r#"{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}"#, &mut ignore)
        .unwrap();
    assert!(!decoder.is_complete());
    decoder.event("", " [DONE] ", &mut ignore).unwrap();
    assert!(decoder.is_complete());
    decoder.event("", "not JSON", &mut ignore).unwrap();
    assert_eq!(decoder.finish().unwrap().message.text(), "x");
}

#[test]
fn an_error_in_the_stream_is_a_fault_by_its_code() {
    check_error(
        r#"data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}"#,
        &expect!["Passing: The server had an error"],
    );
    check_error(
        r#"data: {"error":{"message":"Slow down","type":"requests","code":"rate_limit_exceeded"}}"#,
        &expect!["Passing: Slow down"],
    );
    check_error(
        r#"data: {"error":{"message":"Too long","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
        &expect!["ContextTooLong: Too long"],
    );
    check_error(
        r#"data: {"error":{"message":"Bad tool","type":"invalid_request_error","code":null}}"#,
        &expect!["Lasting: Bad tool"],
    );
    check_error(
        r#"data: {"id":"gen-1","error":{"code":502,"message":"Provider disconnected"},"choices":[{"delta":{"content":""},"finish_reason":"error"}]}"#,
        &expect!["Passing: Provider disconnected"],
    );
    check_error(
        r#"data: {"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":403,"message":"Flagged"}}]}"#,
        &expect!["Lasting: Flagged"],
    );
    check_error(
        r#"data: {"choices":[{"delta":{},"finish_reason":"error"}]}"#,
        &expect!["Passing: the server broke the answer off: error"],
    );
    check_error(
        r#"data: {"error":"model runner has stopped"}"#,
        &expect!["Passing: model runner has stopped"],
    );
    check_error(
        r#"data: {"object":"error","message":"This model's maximum context length is 4096 tokens","type":"BadRequestError","code":400}"#,
        &expect!["ContextTooLong: This model's maximum context length is 4096 tokens"],
    );
    check_error("event: error\ndata: {\"message\":\"oops\"}", &expect!["Passing: oops"]);
}

#[test]
fn broken_json_is_a_passing_fault_with_an_excerpt() {
    check_error(
        "data: {\"choices\":[{\"delta\":{\"content\":\"x\n\n",
        &expect![[
            r#"Passing: the server sent an event that is not valid JSON: {"choices":[{"delta":{"content":"x"#
        ]],
    );
    check_error(
        &format!("data: <html>{}", "x".repeat(1000)),
        &expect![
            "Passing: the server sent an event that is not valid JSON: <html>xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…"
        ],
    );
    check_error(
        "data: {\"choices\":7}",
        &expect![[
            r#"Passing: the server sent an event that does not have the expected shape: {"choices":7}"#
        ]],
    );
}
