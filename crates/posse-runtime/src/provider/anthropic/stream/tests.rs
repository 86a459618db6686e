//! What streams of Anthropic Messages turn into, and that an answer goes back as it came.

use expect_test::{Expect, expect};
use posse_core::message::{Answer, Message};

use super::super::Anthropic;
use crate::provider::{Delta, Protocol, ProviderError};

fn check_sent_back(message: &Message, expected: &Expect) {
    let mut out = Vec::new();
    Anthropic.message(message, false, &mut out);
    expected.assert_eq(&String::from_utf8(out).unwrap());
}

/// Reads a recorded stream; events are separated by blank lines.
fn decode(stream: &str) -> (Vec<Delta>, Result<Answer, ProviderError>) {
    let mut decoder = Anthropic.decoder();
    let mut deltas = Vec::new();
    for event in stream.split("\n\n").filter(|event| !event.trim().is_empty()) {
        let field = |name| event.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default();
        let (name, data) = (field("event: "), field("data: "));
        if let Err(error) = decoder.event(name, data, &mut |delta| deltas.push(delta)) {
            return (deltas, Err(error));
        }
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
    let stream = format!(
        "data: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"Hi\"}}}}\n\n\
         data: {{\"type\":\"message_delta\",\"delta\":{{\"stop_reason\":\"{reason}\"}}}}\n\n\
         data: {{\"type\":\"message_stop\"}}\n\n"
    );
    check_decode(&stream, expected);
}

fn check_error(error: &str, expected: &Expect) {
    check_decode(&format!("event: error\ndata: {{\"type\":\"error\",\"error\":{error}}}\n\n"), expected);
}

const SPOKEN: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_014p7gG3wDgGV9EUtLvnow3U","type":"message","role":"assistant","model":"claude-test","stop_sequence":null,"usage":{"input_tokens":472,"cache_creation_input_tokens":20,"cache_read_input_tokens":300,"output_tokens":2},"content":[],"stop_reason":null}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Two files, "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"so two calls."}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I read \"both\"."}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_01A","name":"read","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":".rs\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_01B","name":"list","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":89}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_whole_answer_is_read_in_the_order_of_its_blocks() {
    check_decode(
        SPOKEN,
        &expect![[r#"
        {"type":"thinking","text":"Two files, so two calls.","seal":{"api":"anthropic","value":{"signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk="}}}
        {"type":"thinking","text":"","seal":{"api":"anthropic","value":{"redacted":"EmwKAhgBEgy3va3pzix/LafPsn4a"}}}
        {"type":"text","text":"I read \"both\"."}
        {"type":"tool_call","id":"toolu_01A","name":"read","input":{"path":"a.rs"}}
        {"type":"tool_call","id":"toolu_01B","name":"list","input":{}}
        Calls 472+300r+20w -> 89"#]],
    );
}

#[test]
fn what_streams_is_told_as_it_comes() {
    expect![[r#"[Thinking("Two files, "), Thinking("so two calls."), Text("I read \"both\"."), Call("read"), Call("list")]"#]].assert_eq(&format!("{:?}", decode(SPOKEN).0));
}

#[test]
fn the_answer_is_complete_at_its_end_mark() {
    let mut decoder = Anthropic.decoder();
    decoder.event("", r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#, &mut |_| ()).unwrap();
    assert!(!decoder.is_complete());
    decoder.event("", r#"{"type":"message_stop"}"#, &mut |_| ()).unwrap();
    assert!(decoder.is_complete());
}

#[test]
fn an_answer_goes_back_as_it_came() {
    check_sent_back(
        &decode(SPOKEN).1.unwrap().message,
        &expect![[
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Two files, so two calls.","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pk="},{"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4a"},{"type":"text","text":"I read \"both\"."},{"type":"tool_use","id":"toolu_01A","name":"read","input":{"path":"a.rs"}},{"type":"tool_use","id":"toolu_01B","name":"list","input":{}}]}"#
        ]],
    );
}

#[test]
fn events_are_read_without_their_names_and_without_their_types() {
    let nameless: String =
        SPOKEN.lines().filter(|line| !line.starts_with("event")).map(|line| format!("{line}\n")).collect();
    assert_eq!(decode(&nameless), decode(SPOKEN));
    let typeless = "event: content_block_delta\ndata: {\"delta\":{\"text\":\"Hi\"}}\n\nevent: message_stop\ndata: {}\n\n";
    check_decode(
        typeless,
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
}

#[test]
fn every_stop_reason_has_its_meaning() {
    check_stop(
        "end_turn",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
    check_stop(
        "stop_sequence",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
    check_stop(
        "pause_turn",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
    check_stop(
        "max_tokens",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        MaxTokens 0+0r+0w -> 0"#]],
    );
    check_stop(
        "model_context_window_exceeded",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        MaxTokens 0+0r+0w -> 0"#]],
    );
    check_stop(
        "refusal",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Refusal 0+0r+0w -> 0"#]],
    );
    check_stop(
        "something_new",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
    // No call came, so there is nothing to wait for.
    check_stop(
        "tool_use",
        &expect![[r#"
        {"type":"text","text":"Hi"}
        Complete 0+0r+0w -> 0"#]],
    );
}

#[test]
fn a_call_is_waited_for_whatever_the_stop_reason_says() {
    check_decode(
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t1","name":"read","input":{"path":"a"}}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":7,"output_tokens":3,"cache_read_input_tokens":5}}

"#,
        &expect![[r#"
            {"type":"tool_call","id":"t1","name":"read","input":{"path":"a"}}
            Calls 7+5r+0w -> 3"#]],
    );
}

#[test]
fn a_zero_in_later_usage_loses_no_count() {
    check_decode(
        r#"data: {"type":"message_start","message":{"usage":{"input_tokens":40,"output_tokens":1}}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":0,"output_tokens":9,"cache_read_input_tokens":null}}

data: {"type":"message_stop"}

"#,
        &expect!["Complete 40+0r+0w -> 9"],
    );
}

#[test]
fn unknown_events_blocks_and_deltas_are_passed_over() {
    check_decode(
        r#"data: {"type":"weather","message":"sunny","delta":7}

data: {"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hidden"}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"type":"page"}}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Sunny."}}

data: {"type":"message_stop"}

data: [DONE]

"#,
        &expect![[r#"
            {"type":"text","text":"Sunny."}
            Complete 0+0r+0w -> 0"#]],
    );
}

#[test]
fn empty_text_is_dropped_and_blocks_without_a_start_are_read() {
    check_decode(
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"thinking_delta","thinking":"Hm."}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Yes."}}

data: {"type":"message_stop"}

"#,
        &expect![[r#"
            {"type":"thinking","text":"Hm."}
            {"type":"text","text":"Yes."}
            Complete 0+0r+0w -> 0"#]],
    );
}

#[test]
fn arguments_that_are_no_object_are_kept_as_they_came() {
    check_decode(
        r#"data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"read","input":{}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"path\": "}}

data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"list"}}

data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"[1]"}}

data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"}}

"#,
        &expect![[r#"
            {"type":"tool_call","id":"call_304dda28d9725216_1","name":"read","input":{},"malformed":"{\"path\": "}
            {"type":"tool_call","id":"call_24700d0beaae9fa4_2","name":"list","input":{},"malformed":"[1]"}
            MaxTokens 0+0r+0w -> 0"#]],
    );
}

#[test]
fn a_stream_cut_before_its_end_is_worth_asking_again() {
    check_decode(
        SPOKEN.split("event: message_delta").next().unwrap(),
        &expect!["Passing None: the stream ended before the answer did"],
    );
    check_decode("", &expect!["Passing None: the stream ended before the answer did"]);
}

#[test]
fn an_event_that_is_not_json_is_worth_asking_again() {
    check_decode(
        "data: {\"type\":\"content_block\n\n",
        &expect![[r#"Passing None: Anthropic sent an event that is not valid JSON: {"type":"content_block"#]],
    );
    check_decode(
        "data: {\"type\":\"content_block_delta\",\"delta\":7}\n\n",
        &expect![[
            r#"Passing None: Anthropic sent an event that does not have the expected shape: {"type":"content_block_delta","delta":7}"#
        ]],
    );
    let long = decode(&format!("data: {}\n\n", "<html>".repeat(1000))).1.unwrap_err();
    assert!(long.message.chars().count() < 400, "{}", long.message);
}

#[test]
fn an_error_inside_the_stream_is_judged_by_its_type() {
    check_error(
        r#"{"type":"overloaded_error","message":"Overloaded"}"#,
        &expect!["Passing None: Overloaded"],
    );
    check_error(
        r#"{"type":"api_error","message":"Internal server error"}"#,
        &expect!["Passing None: Internal server error"],
    );
    check_error(r#"{"type":"rate_limit_error","message":"Slow down"}"#, &expect!["Passing None: Slow down"]);
    check_error(
        r#"{"type":"invalid_request_error","message":"bad tool"}"#,
        &expect!["Lasting None: bad tool"],
    );
    check_error(
        r#"{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}"#,
        &expect!["ContextTooLong None: prompt is too long: 9 > 8"],
    );
    check_error(r#""no upstream""#, &expect!["Passing None: no upstream"]);
    check_error("{}", &expect!["Passing None: {}"]);
}
