//! What servers send that speak the API loosely.

use expect_test::{Expect, expect};

use super::{decode, show};

/// Checks a stream of these chunks, which ends as politely as the server does.
fn check(chunks: &[&str], expected: &Expect) {
    let stream: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    expected.assert_eq(&show(&decode(&stream).0.unwrap()));
}

#[test]
fn a_whole_call_in_one_chunk_with_the_wrong_finish_reason() {
    check(
        &[
            r#"{"id":"chatcmpl-871","object":"chat.completion.chunk","created":1,"system_fingerprint":"fp_ollama","choices":[{"index":0,"delta":{"role":"assistant","content":"","tool_calls":[{"id":"call_x","index":0,"type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}]},"finish_reason":null}]}"#,
            r#"{"id":"chatcmpl-871","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}"#,
            "[DONE]",
        ],
        &expect![[r#"
            {"type":"tool_call","id":"call_x","name":"Read","input":{"path":"a"}}
            Calls, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn two_calls_of_one_index_are_told_apart_by_id() {
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_a","function":{"name":"Read","arguments":"{\"path\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_b","function":{"name":"Read","arguments":"{\"path\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_b","function":{"arguments":"\"b\"}"}}]},"finish_reason":"tool_calls"}]}"#,
        ],
        &expect![[r#"
            {"type":"tool_call","id":"call_a","name":"Read","input":{"path":"a"}}
            {"type":"tool_call","id":"call_b","name":"Read","input":{"path":"b"}}
            Calls, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn calls_without_index_and_id_get_names_of_their_own() {
    let chunks = [
        r#"{"id":"chatcmpl-1","choices":[{"delta":{"tool_calls":[{"function":{"name":"Read","arguments":"{\"path\":"}}]}}]}"#,
        r#"{"id":"chatcmpl-1","choices":[{"delta":{"tool_calls":[{"function":{"arguments":"\"a\"}"}}]}}]}"#,
        r#"{"id":"chatcmpl-1","choices":[{"delta":{"tool_calls":[{"id":"","function":{"name":"Read","arguments":"{\"path\":\"b\"}"}}]},"finish_reason":"tool_calls"}]}"#,
    ];
    check(
        &chunks,
        &expect![[r#"
        {"type":"tool_call","id":"call_2b3bfa74a046f8ac_1","name":"Read","input":{"path":"a"}}
        {"type":"tool_call","id":"call_d9e90f2c8088be74_2","name":"Read","input":{"path":"b"}}
        Calls, input 0 output 0 read 0 written 0
    "#]],
    );
    let ids = |stream: &[&str]| {
        let stream: String = stream.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        let message = decode(&stream).0.unwrap().message;
        message.calls().map(|call| call.id.clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&chunks), ids(&chunks), "the same answer has the same ids");
    let next = chunks.map(|chunk| chunk.replace("chatcmpl-1", "chatcmpl-2"));
    assert_ne!(ids(&chunks), ids(&next.each_ref().map(String::as_str)), "another answer has others");
}

#[test]
fn calls_without_index_are_told_apart_by_id() {
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"Read","arguments":"{\"path\":"}},{"id":"b","function":{"name":"Read","arguments":"{\"path\":"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"arguments":"\"a\"}"}},{"id":"b","function":{"arguments":"\"b\"}"}}]},"finish_reason":"stop"}]}"#,
        ],
        &expect![[r#"
            {"type":"tool_call","id":"a","name":"Read","input":{"path":"a"}}
            {"type":"tool_call","id":"b","name":"Read","input":{"path":"b"}}
            Calls, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn arguments_may_be_an_object_null_missing_or_nonsense() {
    check(
        &[
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"Read","arguments":{"path":"a"}}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"b","function":{"name":"List","arguments":null}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"List"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"d","function":{"name":"Read","arguments":"{path: a}"}}]}}]}"#,
            r#"{"choices":[{"delta":{"tool_calls":[{"id":"e","function":{"name":"Read","arguments":"[1]"}}]},"finish_reason":"function_call"}]}"#,
        ],
        &expect![[r#"
            {"type":"tool_call","id":"a","name":"Read","input":{"path":"a"}}
            {"type":"tool_call","id":"b","name":"List","input":{}}
            {"type":"tool_call","id":"c","name":"List","input":{}}
            {"type":"tool_call","id":"d","name":"Read","input":{},"malformed":"{path: a}"}
            {"type":"tool_call","id":"e","name":"Read","input":{},"malformed":"[1]"}
            Calls, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn one_id_for_two_calls_is_not_kept() {
    let (answer, _) = decode(
        r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call","function":{"name":"A"}},{"index":1,"id":"call","function":{"name":"B"}}]},"finish_reason":"tool_calls"}]}"#,
    );
    let message = answer.unwrap().message;
    let ids: Vec<_> = message.calls().map(|call| call.id.as_str()).collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn the_old_single_function_call() {
    check(
        &[
            r#"{"choices":[{"delta":{"role":"assistant","content":null,"function_call":{"name":"Read","arguments":""}}}]}"#,
            r#"{"choices":[{"delta":{"function_call":{"arguments":"{\"path\":\"a\"}"}},"finish_reason":"function_call"}],"usage":null}"#,
        ],
        &expect![[r#"
            {"type":"tool_call","id":"call_3594bdebcca5a1c8_1","name":"Read","input":{"path":"a"}}
            Calls, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn thoughts_under_either_name_are_taken_once() {
    check(
        &[
            r#"{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":"Hm"}}]}"#,
            r#"{"choices":[{"delta":{"reasoning_content":"m.","reasoning":"m."}}]}"#,
            r#"{"choices":[{"delta":{"reasoning":" So."}}]}"#,
            r#"{"choices":[{"delta":{"content":"Yes.","reasoning_content":null},"finish_reason":"stop"}]}"#,
        ],
        &expect![[r#"
            {"type":"thinking","text":"Hmm. So.","seal":{"api":"openai-chat","value":{"reasoning_content":true}}}
            {"type":"text","text":"Yes."}
            Complete, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn a_message_in_place_of_a_delta_and_a_list_in_place_of_a_string() {
    check(
        &[
            r#"{"choices":[{"message":{"role":"assistant","content":[{"type":"text","text":"On"},{"type":"text","text":"e."}]},"finish_reason":"stop"}],"error":null}"#,
        ],
        &expect![[r#"
            {"type":"text","text":"One."}
            Complete, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn nulls_and_unknown_fields_everywhere() {
    check(
        &[
            r#"{"id":null,"object":null,"created":null,"choices":null,"usage":null,"error":null,"x_extra":{"a":[1]}}"#,
            r#"{"choices":[{"index":null,"delta":null,"finish_reason":null,"logprobs":{}}]}"#,
            r#"{"choices":[{"delta":{"content":null,"refusal":null,"tool_calls":null,"function_call":null,"audio":1}}]}"#,
            r#"{"choices":[{"delta":{"content":"x","tool_calls":[]},"finish_reason":"stop"}],"error":""}"#,
            r#"{"choices":[],"usage":{"prompt_tokens":-1,"completion_tokens":null,"prompt_tokens_details":null}}"#,
            r"[]",
        ],
        &expect![[r#"
            {"type":"text","text":"x"}
            Complete, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn more_cached_than_sent_is_no_underflow() {
    check(
        &[
            r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":9}}}"#,
        ],
        &expect![[r#"
            Complete, input 0 output 1 read 9 written 0
        "#]],
    );
}
