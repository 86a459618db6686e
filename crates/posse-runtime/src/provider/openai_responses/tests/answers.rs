//! Streams as the API documents them, streams of servers that speak it loosely, and streams that fail.

use expect_test::{Expect, expect};

use super::{decode, show};
use crate::provider::Delta;

fn check(stream: &str, expected: &Expect) {
    let (answer, _) = decode(stream);
    expected.assert_eq(&show(&answer.unwrap()));
}

/// Checks a stream of these events, which are told apart by their type alone.
fn check_events(events: &[&str], expected: &Expect) {
    let stream: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    check(&stream, expected);
}

fn check_error(stream: &str, expected: &Expect) {
    let (answer, _) = decode(stream);
    let error = answer.unwrap_err();
    assert_eq!((error.status, error.retry_after), (None, None));
    expected.assert_eq(&format!("{:?}: {}", error.fault, error.message));
}

const PLAIN: &str = r#"event: response.created
data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","error":null,"incomplete_details":null,"instructions":"Be brief.","output":[],"tools":[],"usage":null}}

event: response.in_progress
data: {"type":"response.in_progress","sequence_number":1,"response":{"id":"resp_1","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","sequence_number":2,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}}

event: response.content_part.added
data: {"type":"response.content_part.added","item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"Hel"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":0,"content_index":0,"delta":"lo."}

event: response.output_text.done
data: {"type":"response.output_text.done","item_id":"msg_1","output_index":0,"content_index":0,"text":"Hello."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"Hello."}],"role":"assistant"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","error":null,"incomplete_details":null,"output":[{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"text":"Hello."}],"role":"assistant"}],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":64},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":107}}}

"#;

pub(super) const REASONING_AND_CALLS: &str = r#"event: response.created
data: {"type":"response.created","response":{"id":"resp_2","status":"in_progress"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","encrypted_content":"gAAAbegin","summary":[]}}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":0,"delta":"**Reading**"}

event: response.reasoning_summary_part.added
data: {"type":"response.reasoning_summary_part.added","item_id":"rs_1","output_index":0,"summary_index":1,"part":{"type":"summary_text","text":""}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","output_index":0,"summary_index":1,"delta":"Both at once."}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","status":null,"encrypted_content":"gAAAwhole","summary":[{"type":"summary_text","text":"**Reading**"},{"type":"summary_text","text":"Both at once."}]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":1,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"Read"}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":2,"item":{"id":"fc_2","type":"function_call","status":"in_progress","arguments":"","call_id":"call_2","name":"Grep"}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"{\"path\":"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_2","output_index":2,"delta":"{\"x\":1"}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":1,"delta":"\"a\"}"}

event: response.function_call_arguments.done
data: {"type":"response.function_call_arguments.done","item_id":"fc_2","output_index":2,"arguments":"{\"x\":1}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_2","type":"function_call","status":"completed","arguments":"{\"x\":1}","call_id":"call_2","name":"Grep"}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"id":"fc_1","type":"function_call","status":"completed","arguments":"{\"path\":\"a\"}","call_id":"call_1","name":"Read"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_2","status":"completed","output":[],"usage":{"input_tokens":20,"output_tokens":30}}}

"#;

#[test]
fn words_finish_and_usage() {
    check(
        PLAIN,
        &expect![[r#"
        {"type":"text","text":"Hello."}
        Complete, input 36 output 7 read 64 written 0
    "#]],
    );
}

#[test]
fn thoughts_are_sealed_and_calls_may_be_interleaved() {
    check(
        REASONING_AND_CALLS,
        &expect![[r#"
        {"type":"thinking","text":"**Reading**\n\nBoth at once.","seal":{"api":"openai-responses","value":{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**Reading**"},{"type":"summary_text","text":"Both at once."}],"encrypted_content":"gAAAwhole"}}}
        {"type":"tool_call","id":"call_1","name":"Read","input":{"path":"a"}}
        {"type":"tool_call","id":"call_2","name":"Grep","input":{"x":1}}
        Calls, input 20 output 30 read 0 written 0
    "#]],
    );
}

#[test]
fn deltas_are_told_as_they_come() {
    let (_, deltas) = decode(PLAIN);
    assert_eq!(deltas, [Delta::Text("Hel".into()), Delta::Text("lo.".into())]);
    let (_, deltas) = decode(REASONING_AND_CALLS);
    let expected = [
        Delta::Thinking("**Reading**".into()),
        Delta::Thinking("\n\n".into()),
        Delta::Thinking("Both at once.".into()),
        Delta::Call("Read".into()),
        Delta::Call("Grep".into()),
    ];
    assert_eq!(deltas, expected);
}

/// The events of a stream but those of these types.
fn without(stream: &str, types: &[&str]) -> String {
    let is_kept = |event: &&str| types.iter().all(|name| !event.contains(&format!("\"type\":\"{name}\"")));
    stream.split("\n\n").filter(is_kept).map(|event| format!("{event}\n\n")).collect()
}

#[test]
fn the_end_has_the_items_where_they_did_not_come_alone() {
    let stream = without(PLAIN, &["response.output_item.done", "response.output_text.delta"]);
    assert_eq!(decode(&stream).0, decode(PLAIN).0);
}

#[test]
fn deltas_have_the_items_where_nothing_else_has() {
    let stream = without(REASONING_AND_CALLS, &["response.output_item.done"]);
    check(
        &stream,
        &expect![[r#"
        {"type":"thinking","text":"**Reading**\n\nBoth at once."}
        {"type":"tool_call","id":"call_1","name":"Read","input":{"path":"a"}}
        {"type":"tool_call","id":"call_2","name":"Grep","input":{"x":1}}
        Calls, input 20 output 30 read 0 written 0
    "#]],
    );
    let stream = without(&stream, &["response.output_item.added", "response.created"]);
    check(
        &stream,
        &expect![[r#"
        {"type":"thinking","text":"**Reading**\n\nBoth at once."}
        {"type":"tool_call","id":"call_0626ab6e4367c84e_1","name":"","input":{"path":"a"}}
        {"type":"tool_call","id":"call_19024b144df465b6_2","name":"","input":{"x":1}}
        Calls, input 20 output 30 read 0 written 0
    "#]],
    );
}

#[test]
fn deltas_without_any_name_go_to_the_last_item() {
    check_events(
        &[
            r#"{"type":"response.output_item.added","item":{"type":"message"}}"#,
            r#"{"type":"response.output_text.delta","delta":"Hel"}"#,
            r#"{"type":"response.output_text.delta","delta":"lo."}"#,
            r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"Read"}}"#,
            r#"{"type":"response.function_call_arguments.delta","delta":"{}"}"#,
            r#"{"type":"response.output_item.done","item":{"type":"function_call","name":"Read","arguments":{"path":"a"}}}"#,
            r#"{"type":"response.completed"}"#,
        ],
        &expect![[r#"
            {"type":"text","text":"Hello."}
            {"type":"tool_call","id":"call_3594bdebcca5a1c8_1","name":"Read","input":{"path":"a"}}
            Calls, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn the_event_field_tells_the_type_where_the_data_does_not() {
    check(
        "event: response.output_text.delta\ndata: {\"delta\":\"x\"}\n\nevent: response.completed\ndata: {}\n\n",
        &expect![[r#"
            {"type":"text","text":"x"}
            Complete, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn unknown_items_events_and_fields_are_passed_over() {
    check_events(
        &[
            r#"{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}"#,
            r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"web_search_call","id":"ws_1","action":{}}}"#,
            r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"reasoning","id":"rs_1","summary":null,"content":null}}"#,
            r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm."}]}}"#,
            r#"{"type":"response.output_item.done","output_index":3,"item":{"type":"message","content":"Plain."}}"#,
            r#"{"type":"response.output_item.done","output_index":4,"item":{"type":"message","content":[]}}"#,
            r#"{"type":"keepalive"}"#,
            r#"{"type":"response.completed","response":{"status":"completed","usage":null,"output":null,"extra":1}}"#,
            "[DONE]",
        ],
        &expect![[r#"
            {"type":"thinking","text":"Hm."}
            {"type":"text","text":"Plain."}
            Complete, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn arguments_that_are_no_object_are_malformed() {
    check_events(
        &[
            r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"a","name":"Read","arguments":"{pa"}}"#,
            r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"b","name":"Read","arguments":""}}"#,
            r#"{"type":"response.output_item.done","item":{"type":"function_call","id":"fc_3","name":"Read","arguments":"7"}}"#,
            r#"{"type":"response.completed","response":{}}"#,
        ],
        &expect![[r#"
            {"type":"tool_call","id":"a","name":"Read","input":{},"malformed":"{pa"}
            {"type":"tool_call","id":"b","name":"Read","input":{}}
            {"type":"tool_call","id":"fc_3","name":"Read","input":{},"malformed":"7"}
            Calls, input 0 output 0 read 0 written 0
        "#]],
    );
}

#[test]
fn an_incomplete_response_says_why() {
    let item = r#"{"type":"response.output_item.done","item":{"type":"message","content":[{"type":"output_text","text":"Hel"}]}}"#;
    let limit = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":1,"output_tokens":2}}}"#;
    check_events(
        &[item, limit],
        &expect![[r#"
        {"type":"text","text":"Hel"}
        MaxTokens, input 1 output 2 read 0 written 0
    "#]],
    );
    let filter = r#"{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}"#;
    check_events(
        &[item, filter],
        &expect![[r#"
        {"type":"text","text":"Hel"}
        Refusal, input 0 output 0 read 0 written 0
    "#]],
    );
    let by_status =
        r#"{"type":"response.completed","response":{"status":"incomplete","incomplete_details":null}}"#;
    check_events(
        &[item, by_status],
        &expect![[r#"
        {"type":"text","text":"Hel"}
        MaxTokens, input 0 output 0 read 0 written 0
    "#]],
    );
}

#[test]
fn a_refusal_is_a_text_and_a_finish() {
    let delta = r#"{"type":"response.refusal.delta","item_id":"msg_1","output_index":0,"delta":"I can't."}"#;
    let end = r#"{"type":"response.completed","response":{"status":"completed"}}"#;
    check_events(
        &[delta, end],
        &expect![[r#"
        {"type":"text","text":"I can't."}
        Refusal, input 0 output 0 read 0 written 0
    "#]],
    );
    let item = r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"refusal","refusal":"I can't."}]}}"#;
    check_events(
        &[delta, item, end],
        &expect![[r#"
        {"type":"text","text":"I can't."}
        Refusal, input 0 output 0 read 0 written 0
    "#]],
    );
}

#[test]
fn a_stream_cut_before_any_event_of_its_end_is_a_passing_fault() {
    for stream in [PLAIN, REASONING_AND_CALLS] {
        let events: Vec<_> = stream.split_inclusive("\n\n").collect();
        for end in 0..events.len() - 1 {
            let cut = events[..end].concat();
            check_error(&cut, &expect!["Passing: the stream ended before the answer did"]);
        }
    }
}

#[test]
fn the_answer_is_complete_with_its_last_event() {
    let mut decoder = crate::provider::Protocol::decoder(&super::OpenaiResponses);
    let mut ignore = |_| {};
    decoder.event("", r#"{"type":"response.output_text.delta","delta":"x"}"#, &mut ignore).unwrap();
    assert!(!decoder.is_complete());
    decoder.event("", r#"{"type":"response.completed"}"#, &mut ignore).unwrap();
    assert!(decoder.is_complete());
    decoder.event("", "not JSON", &mut ignore).unwrap();
    assert_eq!(decoder.finish().unwrap().message.text(), "x");
}

#[test]
fn an_error_in_the_stream_is_a_fault_by_its_code() {
    check_error(
        r#"data: {"type":"error","code":"server_error","message":"Try again","param":null,"sequence_number":3}"#,
        &expect!["Passing: Try again"],
    );
    check_error(
        r#"data: {"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}"#,
        &expect!["ContextTooLong: Your input exceeds the context window of this model."],
    );
    check_error(r#"data: {"error":{"message":"No upstream","code":502}}"#, &expect!["Passing: No upstream"]);
    check_error(
        r#"data: {"type":"response.failed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"Slow down"}}}"#,
        &expect!["Passing: Slow down"],
    );
    check_error(
        r#"data: {"type":"response.failed","response":{"status":"failed","error":{"code":"invalid_prompt","message":"Flagged"}}}"#,
        &expect!["Lasting: Flagged"],
    );
    check_error(
        r#"data: {"type":"response.failed","response":{"status":"failed","error":null}}"#,
        &expect!["Passing: the server broke off with an error: null"],
    );
}

#[test]
fn broken_json_is_a_passing_fault_with_an_excerpt() {
    check_error(
        "data: {\"type\":\"response.outp\n\n",
        &expect![[r#"Passing: the server sent an event that is not valid JSON: {"type":"response.outp"#]],
    );
    check_error(
        "data: {\"type\":\"response.completed\",\"response\":7}",
        &expect![[
            r#"Passing: the server sent an event that does not have the expected shape: {"type":"response.completed","response":7}"#
        ]],
    );
}
