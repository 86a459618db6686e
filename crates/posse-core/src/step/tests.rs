//! What happens next, after any story. Each test is a row; the words are those of [`super::script`].

mod properties;

use expect_test::{Expect, expect};

use super::script::Run;
use super::{Step, duration, failed_with};
use crate::event::{Fact, NoteKind};
use crate::outcome::{Outcome, RunError};

/// The step after a story, in few words.
#[track_caller]
fn check(script: &str, expected: &str) {
    assert_eq!(shown(&Run::play(script).step()), expected, "{script}");
}

/// The step after a story, with all that is said to the model or to a person.
fn check_words(script: &str, expected: &Expect) {
    let said = match Run::play(script).step() {
        Step::AskModel { note: Some(note), .. } => note.text,
        Step::End(outcome) => {
            let error = outcome.error().expect("it ended badly");
            format!("{}\n{}", error.message, error.help.unwrap_or_default())
        }
        step => panic!("nothing is said: {step:?}"),
    };
    expected.assert_eq(&(said + "\n"));
}

fn shown(step: &Step) -> String {
    match step {
        Step::AskModel { note, tools_allowed } => {
            let note = note.as_ref().map_or("", |note| match note.why {
                NoteKind::LastTurn => " last-turn",
                NoteKind::EmptyAnswer => " empty-answer",
                NoteKind::WrongOutput => " wrong-output",
            });
            format!("ask{note}{}", if *tools_allowed { "" } else { " no-tools" })
        }
        Step::CallTools(calls) => {
            let ids: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
            format!("tools {}", ids.join(","))
        }
        Step::Compact => "compact".to_owned(),
        Step::End(outcome) => ended(outcome),
    }
}

fn ended(outcome: &Outcome) -> String {
    let why = match outcome {
        Outcome::Done { output: Some(output), .. } => format!(" = {output}"),
        Outcome::Done { output: None, .. } => String::new(),
        Outcome::Stopped { reason, .. } => format!(" {reason:?}").to_lowercase(),
        Outcome::Failed { error, .. }
        | Outcome::TimedOut { error, .. }
        | Outcome::Exhausted { error, .. } => format!(" {}", error.kind),
    };
    let text = outcome.text().map_or(String::new(), |text| format!(" `{text}`"));
    format!("{}{why}{text}", outcome.status())
}

// The way through.

#[test]
fn a_run_that_started_asks() {
    check("start", "ask");
}

#[test]
fn an_answer_without_calls_is_the_result() {
    check("start ask answer:Hello", "done `Hello`");
}

#[test]
fn an_answer_with_calls_has_them_carried_out() {
    check("start ask calls:a,b", "tools a,b");
}

#[test]
fn calls_that_are_answered_are_not_carried_out_again() {
    check("start ask calls:a,b,c begin:b finish:b", "tools a,c");
}

#[test]
fn calls_may_be_answered_in_any_order() {
    check("start ask calls:a,b,c begin:a begin:b begin:c finish:c finish:a finish:b", "ask");
}

#[test]
fn a_call_may_be_answered_without_having_begun() {
    check("start ask calls:a finish:a", "ask");
}

#[test]
fn an_answer_after_tools_is_the_result() {
    check("start ask calls:a:Let_me_see begin:a finish:a ask answer:Done", "done `Done`");
}

#[test]
fn what_a_later_version_knows_changes_nothing() {
    check("start unknown ask unknown calls:a unknown finish:a ask unknown answer:x unknown", "done `x`");
}

#[test]
fn a_run_that_ended_stays_so() {
    check("start ask answer:x end", "done `x`");
    check("start ask deadline end", "timed_out timeout");
}

#[test]
fn a_run_that_ended_stays_so_when_it_is_taken_up() {
    check("start ask calls:a begin:a* stop end CRASH", "stopped asked");
}

// A crash at every place.

#[test]
fn a_crash_before_the_question_asks() {
    check("start CRASH", "ask");
}

#[test]
fn a_question_that_was_not_answered_is_asked_again() {
    check("start ask CRASH", "ask");
    check("start ask CRASH ask answer:x", "done `x`");
}

#[test]
fn an_answer_that_was_stored_is_not_asked_for_again() {
    check("start ask answer:x CRASH", "done `x`");
    check("start ask calls:a,b CRASH", "tools a,b");
}

#[test]
fn an_effectful_call_that_had_begun_is_not_carried_out_again() {
    check("start ask calls:a,b begin:a* CRASH", "tools b");
    check("start ask calls:a begin:a* CRASH", "ask");
    check("start ask calls:a,b begin:a* begin:b* finish:a CRASH", "ask");
}

#[test]
fn a_call_that_only_looked_is_carried_out_again() {
    check("start ask calls:a,b begin:a begin:b* CRASH", "tools a");
}

#[test]
fn a_call_that_was_done_is_not_carried_out_again() {
    check("start ask calls:a,b begin:a* begin:b finish:a finish:b CRASH", "ask");
}

#[test]
fn a_second_crash_changes_nothing() {
    check("start ask calls:a,b begin:a* CRASH CRASH", "tools b");
    check("start ask CRASH CRASH", "ask");
}

#[test]
fn a_call_that_had_begun_again_is_judged_by_its_last_beginning() {
    check("start ask calls:a begin:a CRASH begin:a* CRASH", "ask");
}

#[test]
fn a_note_is_not_said_twice_after_a_crash() {
    check("turns=1 start ask calls:a finish:a ask CRASH", "ask no-tools");
    check("schema start ask answer:x ask CRASH", "ask");
    check("start ask answer: ask CRASH", "ask");
}

#[test]
fn a_stop_is_not_forgotten_in_a_crash() {
    check("start ask calls:a begin:a* stop CRASH", "stopped asked");
}

// Limits.

#[test]
fn below_its_turns_a_run_goes_on() {
    check("turns=2 start ask calls:a finish:a", "ask");
}

#[test]
fn spent_turns_leave_one_without_tools() {
    check("turns=2 start ask calls:a finish:a ask calls:b finish:b", "ask last-turn no-tools");
}

#[test]
fn calls_of_the_last_turn_within_the_limit_are_still_carried_out() {
    check("turns=1 start ask calls:a", "tools a");
}

#[test]
fn a_run_that_is_done_in_its_last_turn_is_done() {
    check("turns=1 start ask answer:x", "done `x`");
    check("tokens=10 start ask answer:x", "done `x`");
}

#[test]
fn after_the_last_turn_the_run_is_exhausted() {
    check("turns=1 start ask calls:a finish:a ask answer:So_far", "exhausted turns `So far`");
}

#[test]
fn calls_of_the_last_turn_are_not_carried_out() {
    check("turns=1 start ask calls:a finish:a ask calls:b", "exhausted turns");
    check("turns=1 start ask calls:a finish:a ask calls:b:Some", "exhausted turns `Some`");
}

#[test]
fn spent_tokens_leave_one_turn_without_tools() {
    check("tokens=25 start ask calls:a finish:a", "ask");
    check("tokens=20 start ask calls:a finish:a ask calls:b finish:b", "ask last-turn no-tools");
    check("tokens=10 start ask calls:a finish:a ask answer:x", "exhausted tokens `x`");
}

#[test]
fn a_shortened_conversation_counts_its_tokens() {
    check("tokens=26 window=10 start ask calls:a finish:a ask calls:b finish:b", "compact");
    check(
        "tokens=26 window=10 start ask calls:a finish:a ask calls:b finish:b compact",
        "ask last-turn no-tools",
    );
}

#[test]
fn spent_money_ends_at_once() {
    check("usd=1 start costs=0.4 ask calls:a finish:a ask calls:b finish:b", "ask");
    check("usd=1 start costs=0.5 ask calls:a finish:a ask calls:b:Well finish:b", "exhausted budget `Well`");
}

#[test]
fn a_result_that_took_the_last_money_counts() {
    check("usd=1 start costs=1 ask answer:x", "done `x`");
}

#[test]
fn calls_that_are_paid_for_are_carried_out() {
    check("usd=1 start costs=1 ask calls:a", "tools a");
}

#[test]
fn money_is_not_counted_without_a_budget() {
    check("start costs=1000 ask calls:a finish:a", "ask");
}

#[test]
fn a_wrong_answer_is_not_sent_back_past_the_money() {
    check("schema usd=1 start costs=1 ask answer:x", "exhausted budget `x`");
}

#[test]
fn a_wrong_answer_is_sent_back_past_the_turns_once() {
    check("retries=9 turns=1 start ask answer:x", "ask last-turn no-tools");
    check("retries=9 turns=1 start ask answer:x ask answer:y", "exhausted turns `y`");
    check("retries=9 tokens=10 start ask answer:x", "ask last-turn no-tools");
}

#[test]
fn an_empty_answer_is_asked_for_again_within_the_limits() {
    check("turns=1 start ask answer:", "ask last-turn no-tools");
    check("usd=1 start costs=1 ask answer:", "exhausted budget");
}

#[test]
fn what_is_spent_is_told_to_the_model() {
    check_words(
        "turns=1 start ask calls:a finish:a",
        &expect![[r"
            [The limit of 1 turns (from --max-turns) is reached. No tool can be called any more. Answer now, with what you have.]
        "]],
    );
    check_words(
        "tokens=9 start ask calls:a finish:a",
        &expect![[r"
            [The limit of 9 tokens (from definition) is reached. No tool can be called any more. Answer now, with what you have.]
        "]],
    );
}

#[test]
fn what_was_wrong_is_told_with_what_is_spent() {
    check_words(
        "retries=9 turns=1 start ask answer:x",
        &expect![[r#"
        [Your answer does not fit the schema:
        - the answer is not one JSON value: expected value at line 1 column 1
        Answer again with one JSON value that fits it, and nothing else.]
        [The limit of 1 turns (from --max-turns) is reached. No tool can be called any more. Answer now, with what you have.]
    "#]],
    );
}

#[test]
fn what_is_spent_is_told_to_a_person() {
    check_words(
        "turns=1 start ask calls:a finish:a ask answer:x",
        &expect![[r#"
        The limit of 1 turns (from --max-turns) is reached.
        give it more with --max-turns
    "#]],
    );
    check_words(
        "tokens=9 start ask calls:a finish:a ask answer:x",
        &expect![[r#"
        The limit of 9 tokens (from definition) is reached.
        raise `budget.tokens` or `limits.tokens`
    "#]],
    );
    check_words(
        "usd=1 start costs=1.5 ask calls:a finish:a",
        &expect![[r#"
        1.5000 USD are spent of 1 (from --budget-usd)
        give it more with --budget-usd
    "#]],
    );
}

// Stopping.

#[test]
fn a_stop_counts_wherever_the_run_is() {
    check("start stop", "stopped asked");
    check("start ask stop", "stopped asked");
    check("start ask calls:a,b begin:a* stop", "stopped asked");
    check("start ask calls:a begin:a stop finish:a", "stopped asked");
    check("start ask too-long stop", "stopped asked");
}

#[test]
fn a_stop_counts_before_an_answer_that_came_with_it() {
    check("start ask answer:x stop", "stopped asked");
}

#[test]
fn a_signal_stops() {
    check("start ask interrupt", "stopped interrupted");
}

#[test]
fn a_deadline_is_a_run_that_timed_out() {
    check("start ask deadline", "timed_out timeout");
    check_words(
        "start ask deadline",
        &expect![[r#"
        the run took longer than 10 min (from default)
        give it more with --timeout
    "#]],
    );
}

#[test]
fn the_stronger_reason_to_stop_counts_in_any_order() {
    check("start stop interrupt", "stopped interrupted");
    check("start interrupt stop", "stopped interrupted");
    check("start deadline stop", "timed_out timeout");
    check("start stop deadline interrupt", "timed_out timeout");
}

// Answers that are none.

#[test]
fn an_empty_answer_is_asked_for_once_more() {
    check("start ask answer:", "ask empty-answer");
    check("start ask answer:_", "ask empty-answer");
    check_words(
        "start ask answer:",
        &expect![[r#"
        [Your last message was empty. Answer the task.]
    "#]],
    );
}

#[test]
fn a_second_empty_answer_fails() {
    check("start ask answer: ask answer:", "failed empty");
    check_words(
        "start ask answer: ask answer:",
        &expect![[r#"
        the model's answer was empty, twice
        ask another model with --model
    "#]],
    );
}

#[test]
fn an_empty_answer_after_a_good_one_counts_from_one() {
    check("start ask answer: ask calls:a finish:a ask answer:", "ask empty-answer");
}

#[test]
fn an_empty_answer_is_not_taken_for_the_one_before() {
    check("start ask calls:a:Well finish:a ask answer: ask answer:", "failed empty");
}

#[test]
fn a_refusal_fails() {
    check("start ask refusal:No", "failed refusal `No`");
    check("start ask refusal:", "failed refusal");
    check_words(
        "start ask refusal:",
        &expect![[r#"
        the model declined to answer

    "#]],
    );
}

#[test]
fn an_answer_that_was_cut_is_exhausted() {
    check("start ask cut:Once_upon", "exhausted output_tokens `Once upon`");
    check("start ask cut:", "exhausted output_tokens");
    check_words(
        "start ask cut:",
        &expect![[r#"
        the answer was cut at the model's output limit
        ask for a shorter answer, or a model with a higher limit
    "#]],
    );
}

// Answers that must fit.

#[test]
fn an_answer_that_fits_is_the_output() {
    check(r#"schema start ask answer:{"n":1}"#, r#"done = {"n":1} `{"n":1}`"#);
}

#[test]
fn an_answer_that_does_not_fit_is_sent_back() {
    check(r#"schema start ask answer:{"n":"x"}"#, "ask wrong-output");
    check_words(
        r#"schema start ask answer:{"n":"x","m":"y"}"#,
        &expect![[r#"
        [Your answer does not fit the schema:
        - /n: "x" is not of type "integer"
        - /m: "y" is not of type "integer"
        Answer again with one JSON value that fits it, and nothing else.]
    "#]],
    );
    check_words(
        "schema start ask answer:one",
        &expect![[r#"
        [Your answer does not fit the schema:
        - the answer is not one JSON value: expected value at line 1 column 1
        Answer again with one JSON value that fits it, and nothing else.]
    "#]],
    );
}

#[test]
fn an_answer_that_fits_later_is_the_output() {
    check(r#"retries=1 start ask answer:no ask answer:{"n":1}"#, r#"done = {"n":1} `{"n":1}`"#);
}

#[test]
fn an_answer_is_sent_back_as_often_as_the_plan_says() {
    check("retries=0 start ask answer:x", "failed output `x`");
    check("retries=1 start ask answer:x ask answer:y", "failed output `y`");
    check("retries=2 start ask answer:x ask answer:y", "ask wrong-output");
}

#[test]
fn a_question_asked_again_after_a_crash_is_no_further_retry() {
    check("retries=2 start ask answer:x ask CRASH ask CRASH ask answer:y", "ask wrong-output");
}

#[test]
fn tools_may_be_called_before_a_better_answer() {
    check("retries=1 start ask answer:x ask calls:a finish:a ask answer:y", "failed output `y`");
}

#[test]
fn the_best_attempt_is_given() {
    check(
        r#"retries=2 start ask answer:{"n":"x"} ask answer:{"n":"x","m":"y"} ask answer:none"#,
        r#"failed output `{"n":"x"}`"#,
    );
    check_words(
        r#"retries=2 start ask answer:{"n":"x"} ask answer:{"n":"x","m":"y"} ask answer:none"#,
        &expect![[r#"
            the answer does not fit the output schema: /n: "x" is not of type "integer"

        "#]],
    );
}

#[test]
fn of_equal_attempts_the_last_is_given() {
    check(r#"retries=1 start ask answer:{"n":"x"} ask answer:{"n":"y"}"#, r#"failed output `{"n":"y"}`"#);
}

#[test]
fn an_empty_answer_is_no_attempt() {
    check("retries=0 start ask answer:", "ask empty-answer");
}

#[test]
fn an_attempt_of_an_earlier_run_is_not_given() {
    check("prior retries=0 start ask answer:none", "failed output `none`");
}

// A conversation that is too long.

#[test]
fn a_conversation_that_was_refused_as_too_long_is_shortened() {
    check("start ask calls:a finish:a ask calls:b finish:b ask too-long", "compact");
    check("start ask calls:a finish:a ask calls:b finish:b ask too-long compact", "ask");
}

#[test]
fn a_conversation_that_is_still_too_long_fails() {
    check(
        "start ask calls:a finish:a ask calls:b finish:b ask too-long compact ask too-long",
        "failed context",
    );
    check_words(
        "start ask too-long",
        &expect![[r#"
        the conversation is longer than the model takes, and cannot be shortened
        give the agent a smaller task, or a model with a larger context window
    "#]],
    );
}

#[test]
fn a_conversation_with_nothing_to_shorten_fails() {
    check("start ask too-long", "failed context");
    check("start ask calls:a finish:a ask too-long", "failed context");
}

#[test]
fn a_conversation_is_shortened_again_after_it_grew() {
    check(
        "start ask calls:a finish:a ask calls:b finish:b ask too-long compact ask calls:c finish:c ask too-long",
        "compact",
    );
}

#[test]
fn a_question_that_only_failed_is_asked_again() {
    check("start ask calls:a finish:a ask calls:b finish:b ask retry", "ask");
    check("start ask calls:a finish:a ask calls:b finish:b ask too-long CRASH", "compact");
}

#[test]
fn a_conversation_that_nearly_fills_the_window_is_shortened() {
    check("window=1000 start uses=800 ask calls:a finish:a ask calls:b finish:b", "compact");
    check("window=1000 start uses=790 ask calls:a finish:a ask calls:b finish:b", "ask");
    check("start uses=900000 ask calls:a finish:a ask calls:b finish:b", "ask");
}

#[test]
fn a_conversation_that_stays_long_is_asked_about_after_it_was_shortened() {
    check("window=10 start uses=99 ask calls:a finish:a ask calls:b finish:b compact", "ask");
}

#[test]
fn a_long_answer_needs_no_shortening() {
    check("window=10 start uses=99 ask calls:a finish:a ask answer:x", "done `x`");
}

#[test]
fn the_last_turn_is_the_last_after_shortening_too() {
    check("turns=2 start ask calls:a finish:a ask calls:b finish:b ask too-long compact", "ask no-tools");
}

// What is said meanwhile.

#[test]
fn what_is_said_after_the_last_answer_is_answered() {
    check("start ask answer:x say:And_y?", "ask");
    check("start ask answer:x say:And_y? ask answer:z", "done `z`");
}

#[test]
fn what_is_said_while_the_model_speaks_is_answered() {
    check("start ask say:And_y? answer:x", "ask");
    check("start ask say:And_y? answer:", "ask");
}

#[test]
fn what_is_said_while_tools_run_waits_for_them() {
    check("start ask calls:a,b say:Hurry finish:a", "tools b");
    check("start ask calls:a,b say:Hurry finish:a finish:b", "ask");
}

#[test]
fn what_is_said_to_a_run_that_is_to_stop_does_not_keep_it() {
    check("start ask stop say:Wait", "stopped asked");
}

// Endings that the engine decides.

#[test]
fn a_failure_comes_with_the_last_words_of_the_run() {
    let shown =
        |script: &str| ended(&failed_with(RunError::new("provider", "gone"), &Run::play(script).transcript));
    assert_eq!(shown("start ask"), "failed provider");
    assert_eq!(shown("start ask calls:a:Well finish:a ask"), "failed provider `Well`");
    assert_eq!(shown("start ask calls:a finish:a ask"), "failed provider");
    assert_eq!(shown("prior start ask"), "failed provider");
}

#[test]
fn spent_money_does_not_give_the_words_of_an_earlier_run() {
    check("prior usd=1 start costs=1 ask calls:a finish:a", "exhausted budget");
}

#[test]
fn a_call_that_was_interrupted_is_told_so() {
    let run = Run::play("start ask calls:a,b begin:a* begin:b CRASH");
    let Some(Fact::ToolFinished(finished)) = run.events.last().map(|event| &event.fact) else {
        panic!("{:?}", run.events)
    };
    expect![[r#"
        ToolFinished {
            call_id: "a",
            tool: "Read",
            text: "interrupted: it may or may not have taken effect; look before you do it again",
            is_error: true,
            duration_ms: 0,
            diff: None,
            attachments: [],
            media: [],
        }
    "#]]
    .assert_eq(&format!("{finished:#?}\n"));
}

#[test]
fn a_duration_reads_as_a_person_writes_it() {
    for (ms, text) in [
        (0, "0 ms"),
        (999, "999 ms"),
        (1000, "1 s"),
        (1500, "1.5 s"),
        (59_999, "59.9 s"),
        (60_000, "1 min"),
        (90_000, "1 min 30 s"),
        (600_000, "10 min"),
        (3_600_000, "1 h"),
        (5_400_000, "90 min"),
    ] {
        assert_eq!(duration(ms), text);
    }
}
