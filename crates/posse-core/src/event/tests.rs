//! Events as they are written and read. What is written here must be read for ever.

use std::sync::Arc;

use expect_test::expect;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{
    Answered, Asked, Attachment, Compacted, Decider, Event, Fact, Note, NoteKind, Permission, Retried, Said,
    StopAsked, ToolFinished, ToolStarted,
};
use crate::message::{Api, Finish, Media, Message, Part, Role, Seal, ToolCall, ToolResult, Usage};
use crate::outcome::{Outcome, RunError, StopReason};
use crate::step::script::{Run, plan};
use crate::time::Time;

/// What was written reads as what it was.
fn hold(fact: &Fact) {
    let read = Fact::read(fact.kind(), &fact.data()).expect("what was written reads");
    assert_eq!(&read, fact);
    assert_eq!((read.kind(), read.data()), (fact.kind(), fact.data()));
}

/// A line of an earlier time is still read, and means this.
fn check_old(kind: &str, data: &str, expected: &Fact) {
    assert_eq!(&Fact::read(kind, data).expect("an old line reads"), expected);
}

#[test]
fn a_story_is_these_lines() {
    let story = "turns=1 start ask calls:a:Well begin:a* finish:a retry say:Hi unknown ask answer:x end";
    let events = Run::play(story).events;
    let lines: Vec<String> = events[1..].iter().map(Event::to_line).collect();
    expect![[r#"
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":2,"at":"1970-01-01T00:00:02.000Z","type":"asked","data":{"turn":1}}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":3,"at":"1970-01-01T00:00:03.000Z","type":"answered","data":{"turn":1,"message":{"role":"assistant","parts":[{"type":"text","text":"Well"},{"type":"tool_call","id":"a","name":"Read","input":{"file_path":"a"}}]},"finish":"calls","usage":{"input_tokens":10,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0},"cost_usd":0.0,"duration_ms":5}}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":4,"at":"1970-01-01T00:00:04.000Z","type":"tool_started","data":{"call_id":"a","tool":"Read","input":{"file_path":"a"},"effectful":true}}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":5,"at":"1970-01-01T00:00:05.000Z","type":"tool_finished","data":{"call_id":"a","tool":"Read","text":"result of a","is_error":false,"duration_ms":3}}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":6,"at":"1970-01-01T00:00:06.000Z","type":"retried","data":{"turn":1,"attempt":1,"wait_ms":50,"status":529,"message":"overloaded","context_too_long":false}}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":7,"at":"1970-01-01T00:00:07.000Z","type":"said","data":{"from":"cli","text":"Hi"}}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":8,"at":"1970-01-01T00:00:08.000Z","type":"of-tomorrow","data":[1]}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":9,"at":"1970-01-01T00:00:09.000Z","type":"asked","data":{"turn":2,"note":{"why":"last_turn","text":"[The limit of 1 turns (from --max-turns) is reached. No tool can be called any more. Answer now, with what you have.]"}}}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":10,"at":"1970-01-01T00:00:10.000Z","type":"answered","data":{"turn":2,"message":{"role":"assistant","parts":[{"type":"text","text":"x"}]},"finish":"complete","usage":{"input_tokens":10,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0},"cost_usd":0.0,"duration_ms":5}}
        {"v":1,"run_id":"00000000-0000-0000-0000-000000000007","seq":11,"at":"1970-01-01T00:00:11.000Z","type":"ended","data":{"status":"exhausted","error":{"kind":"turns","message":"The limit of 1 turns (from --max-turns) is reached.","help":"give it more with --max-turns"},"partial":"x"}}
    "#]].assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn a_line_is_one_json_value_on_one_line() {
    for event in Run::play("start ask say:a\"b\\ unknown stop end").events {
        let line = event.to_line();
        let read: Value = serde_json::from_str(&line).expect("a line is JSON");
        assert_eq!((read["v"].clone(), read["seq"].clone()), (json!(1), json!(event.seq)));
        assert_eq!(read["type"], event.fact.kind());
        assert_eq!(read["at"], Value::from(Time(1000 * i64::try_from(event.seq).unwrap()).to_string()));
        assert!(!line.contains('\n'));
    }
}

#[test]
fn a_line_whose_later_fields_are_missing_is_read() {
    check_old("asked", r#"{"turn":2}"#, &Fact::Asked(Asked { turn: 2, note: None }));
    let (status, message) = (None, "m".to_owned());
    let retried = Retried { turn: 1, attempt: 2, wait_ms: 3, status, message, context_too_long: false };
    check_old(
        "retried",
        r#"{"turn":1,"attempt":2,"wait_ms":3,"status":null,"message":"m"}"#,
        &Fact::Retried(retried),
    );
    let done = Outcome::Done { result: "r".to_owned(), output: None };
    check_old("ended", r#"{"status":"done","result":"r"}"#, &Fact::Ended(done));
    let failed = Outcome::failed(RunError::new("k", "m"));
    check_old("ended", r#"{"status":"failed","error":{"kind":"k","message":"m"}}"#, &Fact::Ended(failed));
}

#[test]
fn fields_of_a_later_version_are_passed_over() {
    let said = Said { from: "cli".to_owned(), text: "t".to_owned() };
    check_old("said", r#"{"from":"cli","text":"t","of_tomorrow":[1]}"#, &Fact::Said(said));
}

#[test]
fn the_first_plan_that_was_written_is_read() {
    let read = Fact::read("started", include_str!("tests/started.json"));
    let Ok(Fact::Started(read)) = read else { panic!("{read:?}") };
    assert_eq!(*read, plan());
}

#[test]
fn what_is_not_known_is_kept_as_it_is() {
    let data = r#"{"z":1,"a":[null,-2,3.5,"x"],"m":{}}"#;
    let fact = Fact::read("of_tomorrow", data).expect("anything is kept");
    assert_eq!((fact.kind(), fact.data()), ("of_tomorrow", data.to_owned()));
}

#[test]
fn what_is_broken_is_an_error() {
    for (kind, data) in [("asked", "{}"), ("asked", ""), ("ended", r#"{"status":"lost"}"#), ("x", "{")] {
        assert!(Fact::read(kind, data).is_err(), "{kind} {data}");
    }
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        amount().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec(("[a-z$]{0,4}", inner), 0..4)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
        ]
    })
}

/// Costs as they come out of multiplying, with every digit.
fn amount() -> impl Strategy<Value = f64> {
    prop_oneof![0.0..10.0_f64, any::<u32>().prop_map(|tokens| f64::from(tokens) * 0.3 / 1_000_000.0)]
}

fn usage() -> impl Strategy<Value = Usage> {
    any::<[u64; 4]>().prop_map(|[input_tokens, output_tokens, cache_read_tokens, cache_write_tokens]| Usage {
        input_tokens,
        output_tokens,
        cache_read_tokens,
        cache_write_tokens,
    })
}

fn part() -> impl Strategy<Value = Part> {
    let seal = || {
        let api = prop_oneof![Just(Api::Anthropic), Just(Api::OpenaiResponses), Just(Api::Gemini)];
        proptest::option::of((api, value()).prop_map(|(api, value)| Seal { api, value }))
    };
    let call = ("\\PC{0,6}", value(), proptest::option::of("\\PC{0,6}"), seal());
    prop_oneof![
        "\\PC{0,12}".prop_map(|text| Part::Text { text }),
        ("\\PC{0,12}", seal()).prop_map(|(text, seal)| Part::Thinking { text, seal }),
        call.prop_map(|(id, input, malformed, seal)| {
            Part::ToolCall(ToolCall { id, name: "Read".to_owned(), input, malformed, seal })
        }),
        ("\\PC{0,6}", any::<bool>(), media()).prop_map(|(text, is_error, media)| {
            let (call_id, name) = ("c".to_owned(), "Read".to_owned());
            Part::ToolResult(ToolResult { call_id, name, text, is_error, media })
        }),
    ]
}

fn media() -> impl Strategy<Value = Vec<Media>> {
    let one = "[A-Za-z0-9+/]{0,8}"
        .prop_map(|base64| Media { media_type: "image/png".to_owned(), base64: base64.into() });
    proptest::collection::vec(one, 0..2)
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let partial = || proptest::option::of("\\PC{0,9}");
    let reason =
        prop_oneof![Just(StopReason::Asked), Just(StopReason::Interrupted), Just(StopReason::Deadline)];
    let error = || {
        ("[a-z]{1,5}", "\\PC{0,9}", proptest::option::of("\\PC{0,9}"))
            .prop_map(|(kind, message, help)| RunError { kind, message, help })
    };
    let output = proptest::option::of(value().prop_filter("null is no output", |value| !value.is_null()));
    prop_oneof![
        ("\\PC{0,9}", output).prop_map(|(result, output)| Outcome::Done { result, output }),
        (error(), partial()).prop_map(|(error, partial)| Outcome::Failed { error, partial }),
        (error(), partial()).prop_map(|(error, partial)| Outcome::TimedOut { error, partial }),
        (error(), partial()).prop_map(|(error, partial)| Outcome::Exhausted { error, partial }),
        (reason, partial()).prop_map(|(reason, partial)| Outcome::Stopped { reason, partial }),
    ]
}

fn answered() -> impl Strategy<Value = Answered> {
    let finish = prop_oneof![
        Just(Finish::Complete),
        Just(Finish::Calls),
        Just(Finish::MaxTokens),
        Just(Finish::Refusal)
    ];
    let parts = proptest::collection::vec(part(), 0..4);
    (any::<u64>(), parts, finish, usage(), proptest::option::of(amount())).prop_map(
        |(turn, parts, finish, usage, cost_usd)| {
            let message = Arc::new(Message { role: Role::Assistant, parts });
            Answered { turn, message, finish, usage, cost_usd, duration_ms: 1 }
        },
    )
}

fn fact() -> impl Strategy<Value = Fact> {
    let why = prop_oneof![Just(NoteKind::LastTurn), Just(NoteKind::EmptyAnswer), Just(NoteKind::WrongOutput)];
    let note = proptest::option::of((why, "\\PC{0,9}").prop_map(|(why, text)| Note { why, text }));
    let text = || "\\PC{0,12}";
    prop_oneof![
        proptest::collection::vec(part(), 0..3).prop_map(|parts| {
            let mut plan = plan();
            plan.prior = vec![Arc::new(Message { role: Role::User, parts })];
            Fact::Started(Arc::new(plan))
        }),
        (any::<u64>(), note).prop_map(|(turn, note)| Fact::Asked(Asked { turn, note })),
        answered().prop_map(Fact::Answered),
        (any::<u32>(), proptest::option::of(any::<u16>()), text(), any::<bool>()).prop_map(
            |(attempt, status, message, context_too_long)| {
                let (turn, wait_ms) = (1, 2);
                Fact::Retried(Retried { turn, attempt, wait_ms, status, message, context_too_long })
            }
        ),
        (text(), value(), any::<bool>()).prop_map(|(call_id, input, effectful)| {
            Fact::ToolStarted(ToolStarted { call_id, tool: "Bash".to_owned(), input, effectful })
        }),
        (text(), value(), any::<bool>(), proptest::option::of(text())).prop_map(
            |(call_id, input, allowed, rule)| {
                let (tool, by, granted) =
                    ("Bash".to_owned(), Decider::Person, rule.clone().into_iter().collect());
                Fact::Permission(Permission {
                    call_id,
                    tool,
                    input,
                    allowed,
                    by,
                    rule,
                    granted,
                    waited_ms: 3,
                })
            }
        ),
        (text(), text(), any::<bool>(), proptest::option::of(text()), media()).prop_map(
            |(call_id, text, is_error, diff, media)| {
                let (tool, media_type) = ("Bash".to_owned(), "text/plain".to_owned());
                let attachments = diff
                    .iter()
                    .map(|path| (path.clone(), media_type.clone()))
                    .map(|(path, media_type)| Attachment { path, media_type, bytes: 3 });
                let attachments = attachments.collect();
                let duration_ms = 7;
                Fact::ToolFinished(ToolFinished {
                    call_id,
                    tool,
                    text,
                    is_error,
                    duration_ms,
                    diff,
                    attachments,
                    media,
                })
            }
        ),
        (text(), usage(), proptest::option::of(amount())).prop_map(|(summary, usage, cost_usd)| {
            Fact::Compacted(Compacted { summary, messages: 3, usage, cost_usd })
        }),
        (text(), text()).prop_map(|(from, text)| Fact::Said(Said { from, text })),
        Just(Fact::StopAsked(StopAsked { reason: StopReason::Deadline })),
        outcome().prop_map(Fact::Ended),
        ("x[a-z_]{1,9}", value()).prop_map(|(kind, data)| Fact::Unknown { kind, data }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_fact_reads_as_it_was_written(fact in fact()) {
        hold(&fact);
    }
}
