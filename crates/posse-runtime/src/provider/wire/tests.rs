//! What the protocols share, on its own.

use expect_test::{Expect, expect};
use posse_core::message::{Part, ToolCall, Usage};
use serde_json::json;

use super::{arguments, excerpt, name_calls};

fn check_arguments(raw: &str, expected: &Expect) {
    let (input, malformed) = arguments(raw);
    expected.assert_eq(&format!("{input} {malformed:?}"));
}

fn calls(ids: &[&str]) -> Vec<Part> {
    let call = |id: &&str| ToolCall {
        id: (*id).to_owned(),
        name: "read".to_owned(),
        input: json!({}),
        malformed: None,
        seal: None,
    };
    ids.iter().map(|id| Part::ToolCall(call(id))).collect()
}

fn named(answer_id: &str, ids: &[&str]) -> Vec<String> {
    let mut parts = calls(ids);
    name_calls("call_", answer_id, &Usage::default(), &mut parts);
    let id = |part| match part {
        Part::ToolCall(call) => call.id,
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult(_) => String::new(),
    };
    parts.into_iter().map(id).collect()
}

#[test]
fn an_object_is_the_input() {
    check_arguments(r#"{"path":"a"}"#, &expect![[r#"{"path":"a"} None"#]]);
}

#[test]
fn no_arguments_are_an_empty_object() {
    check_arguments(" ", &expect!["{} None"]);
}

#[test]
fn a_list_is_kept_as_it_came() {
    check_arguments("[1]", &expect![[r#"{} Some("[1]")"#]]);
}

#[test]
fn arguments_that_were_cut_are_kept_as_they_came() {
    check_arguments(r#"{"path":"a"#, &expect![[r#"{} Some("{\"path\":\"a")"#]]);
}

#[test]
fn missing_ids_and_repeated_ids_are_made_up() {
    let ids = named("msg_1", &["", "toolu_1", "toolu_1", ""]);
    expect!["call_edaeff3581db2f1d_1 toolu_1 call_132ce957dd739394_3 call_79b54e3a4ba39db3_4"]
        .assert_eq(&ids.join(" "));
}

#[test]
fn made_up_ids_are_the_same_for_the_same_answer_and_differ_between_answers() {
    assert_eq!(named("msg_1", &["", ""]), named("msg_1", &["", ""]));
    assert_ne!(named("msg_1", &[""]), named("msg_2", &[""]));
}

#[test]
fn an_excerpt_is_short_and_cuts_no_character() {
    let excerpt = excerpt(&"é".repeat(1_000_000));
    assert_eq!(excerpt.chars().count(), 300);
}
