//! The conversation that a story leads to, and what cannot follow. The words are those of `step::script`.

use std::sync::Arc;

use expect_test::{Expect, expect};

use super::Transcript;
use crate::event::{Answered, Asked, Event, Fact};
use crate::message::{Finish, Media, Message, Part, Role, ToolResult, Usage};
use crate::outcome::StopReason;
use crate::step::script::{RUN_ID, Run, begun, compacted, finished, plan, stop};
use crate::time::Time;

/// The conversation after a story, a line for each part.
fn check(script: &str, expected: &Expect) {
    expected.assert_eq(&shown(&Run::play(script).transcript.messages));
}

/// The conversation that a later run goes on with.
fn check_settled(script: &str, expected: &Expect) {
    expected.assert_eq(&shown(&Run::play(script).transcript.settled_messages()));
}

/// What is wrong with a fact after a story; the transcript stays as it was.
#[track_caller]
fn check_illegal(script: &str, fact: Fact, expected: &str) {
    let mut run = Run::play(script);
    let (event, before) = (run.next_event(fact), run.transcript.clone());
    assert_eq!(run.transcript.append(&event).map_err(|error| error.to_string()), Err(expected.to_owned()));
    assert_eq!(run.transcript, before);
}

fn shown(messages: &[Arc<Message>]) -> String {
    let part = |part: &Part| match part {
        Part::Text { text } => format!("  {}\n", text.replace('\n', "\n  ")),
        Part::Thinking { text, .. } => format!("  (thinking) {text}\n"),
        Part::ToolCall(call) => format!("  -> {}\n", call.id),
        Part::ToolResult(result) => {
            format!("  <- {}: {}{}\n", result.call_id, if result.is_error { "! " } else { "" }, result.text)
        }
    };
    let message = |message: &Arc<Message>| {
        let who = if message.role == Role::User { "user" } else { "model" };
        format!("{who}\n{}", message.parts.iter().map(part).collect::<String>())
    };
    messages.iter().map(message).collect()
}

fn asked(turn: u64) -> Fact {
    Fact::Asked(Asked { turn, note: None })
}

fn answered(turn: u64) -> Fact {
    let message = Arc::new(Message { role: Role::Assistant, parts: Vec::new() });
    let (finish, usage) = (Finish::Complete, Usage::default());
    Fact::Answered(Answered { turn, message, finish, usage, cost_usd: None, duration_ms: 0 })
}

#[test]
fn results_are_in_the_order_of_the_calls() {
    check(
        "start ask calls:a,b,c:Let_me_see begin:c finish:c finish:a finish:b",
        &expect![[r#"
        user
          task
        model
          Let me see
          -> a
          -> b
          -> c
        user
          <- a: result of a
          <- b: result of b
          <- c: result of c
    "#]],
    );
}

#[test]
fn open_calls_are_no_part_of_the_answer_yet() {
    check(
        "start ask calls:a,b finish:b",
        &expect![[r#"
        user
          task
        model
          -> a
          -> b
    "#]],
    );
}

#[test]
fn a_call_that_was_interrupted_is_answered_so() {
    check(
        "start ask calls:a,b begin:a* begin:b CRASH begin:b finish:b",
        &expect![[r#"
        user
          task
        model
          -> a
          -> b
        user
          <- a: ! interrupted: it may or may not have taken effect; look before you do it again
          <- b: result of b
    "#]],
    );
}

#[test]
fn a_note_is_in_the_conversation_once() {
    check(
        "turns=1 start ask calls:a finish:a ask CRASH ask",
        &expect![[r#"
        user
          task
        model
          -> a
        user
          <- a: result of a
          [The limit of 1 turns (from --max-turns) is reached. No tool can be called any more. Answer now, with what you have.]
    "#]],
    );
}

#[test]
fn an_empty_answer_is_not_in_the_conversation() {
    check(
        "start ask answer: ask answer:x",
        &expect![[r#"
        user
          task
          [Your last message was empty. Answer the task.]
        model
          x
    "#]],
    );
}

#[test]
fn a_wrong_answer_is_followed_by_what_is_wrong_with_it() {
    check(
        "schema start ask answer:x ask",
        &expect![[r#"
        user
          task
        model
          x
        user
          [Your answer does not fit the schema:
          - the answer is not one JSON value: expected value at line 1 column 1
          Answer again with one JSON value that fits it, and nothing else.]
    "#]],
    );
}

#[test]
fn calls_of_the_last_turn_are_not_in_the_conversation() {
    check(
        "turns=1 start ask calls:a finish:a ask calls:b:Some",
        &expect![[r#"
        user
          task
        model
          -> a
        user
          <- a: result of a
          [The limit of 1 turns (from --max-turns) is reached. No tool can be called any more. Answer now, with what you have.]
        model
          Some
    "#]],
    );
}

#[test]
fn what_is_said_before_the_first_question_is_part_of_it() {
    check(
        "start say:Be_quick ask",
        &expect![[r#"
        user
          task
          Be quick
    "#]],
    );
}

#[test]
fn what_is_said_while_the_model_speaks_follows_its_answer() {
    check(
        "start ask say:And_y? answer:x",
        &expect![[r#"
        user
          task
        model
          x
        user
          And y?
    "#]],
    );
}

#[test]
fn what_is_said_while_the_model_calls_tools_follows_their_results() {
    check(
        "start ask say:one calls:a,b say:two finish:b finish:a say:three ask",
        &expect![[r#"
        user
          task
        model
          -> a
          -> b
        user
          <- a: result of a
          <- b: result of b
          one
          two
          three
    "#]],
    );
}

#[test]
fn what_is_said_after_the_last_answer_follows_it() {
    check(
        "start ask answer:x say:one say:two ask answer:y",
        &expect![[r#"
        user
          task
        model
          x
        user
          one
          two
        model
          y
    "#]],
    );
}

#[test]
fn what_is_said_during_a_question_that_a_crash_voids_is_in_the_next() {
    check(
        "start ask say:one CRASH",
        &expect![[r#"
        user
          task
    "#]],
    );
    check(
        "start ask say:one CRASH ask",
        &expect![[r#"
        user
          task
          one
    "#]],
    );
}

#[test]
fn a_summary_stands_between_the_task_and_the_last_answer() {
    check(
        "start ask calls:a finish:a ask calls:b finish:b ask too-long compact",
        &expect![[r#"
        user
          task
          <summary of the work so far>
          so far
          </summary>
        model
          -> b
        user
          <- b: result of b
    "#]],
    );
}

#[test]
fn a_second_summary_replaces_the_first() {
    check(
        "start ask calls:a finish:a ask calls:b finish:b ask too-long compact ask calls:c finish:c ask too-long compact",
        &expect![[r#"
            user
              task
              <summary of the work so far>
              so far
              </summary>
            model
              -> c
            user
              <- c: result of c
        "#]],
    );
}

#[test]
fn the_task_of_a_run_that_goes_on_with_another_is_not_summed_up() {
    check(
        "prior start ask calls:a finish:a ask calls:b finish:b ask too-long compact",
        &expect![[r#"
        user
          task
          <summary of the work so far>
          so far
          </summary>
        model
          -> b
        user
          <- b: result of b
    "#]],
    );
}

#[test]
fn a_run_goes_on_with_the_conversation_before_it() {
    check(
        "prior start ask answer:x",
        &expect![[r#"
        user
          earlier task
        model
          {"n":"earlier"}
        user
          task
        model
          x
    "#]],
    );
}

#[test]
fn a_conversation_that_is_gone_on_with_has_every_call_answered() {
    check_settled(
        "start ask answer:x end",
        &expect![[r#"
        user
          task
        model
          x
    "#]],
    );
    check_settled(
        "start ask calls:a,b,c begin:a* finish:a begin:b* say:Hurry stop end",
        &expect![[r#"
            user
              task
            model
              -> a
              -> b
              -> c
            user
              <- a: result of a
              <- b: ! The run was stopped before this call was done; it may or may not have taken effect.
              <- c: ! The run was stopped before this call was begun.
              Hurry
        "#]],
    );
}

#[test]
fn counters_count() {
    let script =
        "start uses=100 costs=0.25 ask calls:a,b begin:a finish:a finish:b ask retry answer: ask answer:x";
    let transcript = Run::play(script).transcript;
    let counted = (transcript.turns, transcript.tool_calls, transcript.usage.total(), transcript.cost_usd);
    assert_eq!(counted, (3, 2, 300, Some(0.75)));
    assert_eq!((transcript.started_at.0, transcript.last_at.0, transcript.next_seq), (1000, 11_000, 12));
}

#[test]
fn a_cost_that_is_not_known_makes_the_sum_unknown() {
    let cost = |script: &str| Run::play(script).transcript.cost_usd;
    assert_eq!(cost("start costs=? ask calls:a finish:a costs=1 ask answer:x"), None);
    assert_eq!(cost("start costs=1 ask calls:a finish:a costs=? ask answer:x"), None);
}

#[test]
fn the_length_of_a_conversation_is_guessed_between_answers() {
    let tokens = |script: &str| Run::play(script).transcript.context_tokens;
    assert_eq!(tokens("start uses=100 ask calls:a"), 100);
    assert_eq!(tokens("start uses=100 ask calls:a finish:a"), 102);
    assert_eq!(tokens("start uses=100 ask calls:a finish:a ask calls:b finish:b compact"), 19);
    assert_eq!(tokens(&format!("start uses={} ask calls:a finish:a", u64::MAX)), u64::MAX);
}

// What cannot follow.

#[test]
fn nothing_follows_the_end() {
    check_illegal(
        "start ask answer:x end",
        stop(StopReason::Asked),
        "event 5 cannot be there: the run has ended",
    );
}

#[test]
fn a_run_starts_once() {
    let started = Fact::Started(Run::play("start").plan);
    check_illegal("start", started, "event 2 cannot be there: a run starts with `started`, once");
    let event = Event { seq: 1, ..Run::play("start").next_event(asked(1)) };
    let error = Transcript::fold([&event]).unwrap_err();
    assert_eq!(error.to_string(), "event 1 cannot be there: a run starts with `started`, once");
}

#[test]
fn events_are_in_their_places() {
    let mut run = Run::play("start ask");
    let event = Event { seq: 4, ..run.next_event(answered(1)) };
    let error = run.transcript.append(&event).unwrap_err();
    assert_eq!(error.to_string(), "event 4 cannot be there: 3 is the next place");
}

#[test]
fn an_answer_needs_its_question() {
    check_illegal("start", answered(1), "event 2 cannot be there: turn 1 was not asked");
    check_illegal("start ask", answered(2), "event 3 cannot be there: turn 2 was not asked");
    check_illegal("start ask answer:x", answered(1), "event 4 cannot be there: turn 1 was not asked");
}

#[test]
fn a_question_needs_every_call_answered() {
    check_illegal(
        "start ask calls:a,b finish:a",
        asked(2),
        "event 5 cannot be there: calls are not answered",
    );
}

#[test]
fn a_call_is_answered_once_and_only_if_it_was_made() {
    check_illegal("start ask calls:a", finished("b"), "event 4 cannot be there: call b is not open");
    check_illegal(
        "start ask calls:a,b finish:a",
        finished("a"),
        "event 5 cannot be there: call a is not open",
    );
    check_illegal(
        "start ask calls:a finish:a",
        begun("a", false),
        "event 5 cannot be there: call a is not open",
    );
}

#[test]
fn an_effectful_call_does_not_begin_twice() {
    check_illegal(
        "start ask calls:a begin:a*",
        begun("a", true),
        "event 5 cannot be there: call a has begun and may have taken effect",
    );
}

#[test]
fn a_summary_of_nothing_keeps_the_task() {
    let mut run = Run::play("start");
    run.append(compacted(None));
    expect![[r#"
        user
          task
          <summary of the work so far>
          so far
          </summary>
    "#]]
    .assert_eq(&shown(&run.transcript.messages));
}

#[test]
fn what_an_earlier_run_showed_is_left_out_for_a_model_that_cannot_look() {
    let media = vec![Media { media_type: "image/png".to_owned(), base64: "iVBORw==".into() }];
    let (call_id, name, text) = ("a".to_owned(), "Read".to_owned(), "[a picture]".to_owned());
    let result = ToolResult { call_id, name, text, is_error: false, media: media.clone() };
    let prior = Arc::new(Message { role: Role::User, parts: vec![Part::ToolResult(result)] });
    for (takes_media, expected) in
        [(false, ("[a picture]\n[this model cannot see it]", vec![])), (true, ("[a picture]", media))]
    {
        let mut plan = plan();
        plan.model.value.takes_media = takes_media;
        plan.prior = vec![prior.clone()];
        let event = Event { run_id: RUN_ID, seq: 1, at: Time(0), fact: Fact::Started(Arc::new(plan)) };
        let transcript = Transcript::fold([&event]).expect("a run starts so");
        let Part::ToolResult(result) = &transcript.messages[0].parts[0] else { panic!("{transcript:?}") };
        assert_eq!((result.text.as_str(), result.media.clone()), expected);
    }
}
