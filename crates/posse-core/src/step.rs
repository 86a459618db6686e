//! What happens next in a run: a pure function of the plan and the transcript.
//!
//! Every prefix of a legal transcript has a next step, so a run can go on from wherever it was left.

use serde_json::Value;

use crate::event::{Fact, Note, NoteKind, ToolFinished};
use crate::message::{Finish, Message, ToolCall};
use crate::outcome::{Outcome, RunError, StopReason};
use crate::output::read_output;
use crate::plan::Plan;
use crate::transcript::{CallState, Transcript};

/// The part of the context window, in hundredths, past which a conversation is shortened.
const COMPACT_AT_PERCENT: u64 = 80;
/// How often an empty answer is asked for again.
const EMPTY_ANSWERS_MAX: u64 = 1;

/// What happens next.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// Ask the model.
    AskModel {
        /// What to add to the conversation first.
        note: Option<Note>,
        /// Whether tools may be called in this turn.
        tools_allowed: bool,
    },
    /// Carry out these calls, the begun ones again.
    CallTools(Vec<ToolCall>),
    /// Replace the conversation so far by a summary.
    Compact,
    /// It is over.
    End(Outcome),
}

/// Decides what happens next.
pub fn next_step(plan: &Plan, transcript: &Transcript) -> Step {
    if let Some(outcome) = &transcript.outcome {
        return Step::End(outcome.clone());
    }
    if let Some(reason) = transcript.stop {
        return Step::End(stopped(plan, reason));
    }
    if !transcript.open_calls.is_empty() {
        let unanswered = |state: &CallState| !matches!(state, CallState::Finished(_));
        let open = transcript.open_calls.iter().filter(|open| unanswered(&open.state));
        return Step::CallTools(open.map(|open| open.call.clone()).collect());
    }
    if transcript.to_judge { judge(plan, transcript) } else { ask(plan, transcript) }
}

/// What must be added to a transcript before a run goes on after a crash: a call that had begun and may have
/// taken effect is answered, never begun again.
pub fn recover(transcript: &Transcript) -> Vec<Fact> {
    if transcript.outcome.is_some() {
        return Vec::new();
    }
    let interrupted = transcript
        .open_calls
        .iter()
        .filter(|open| matches!(open.state, CallState::Begun { effectful: true }));
    let answer = |call: &ToolCall| {
        Fact::ToolFinished(ToolFinished {
            call_id: call.id.clone(),
            tool: call.name.clone(),
            text: "interrupted: it may or may not have taken effect; look before you do it again".to_owned(),
            is_error: true,
            duration_ms: 0,
            diff: None,
            attachments: Vec::new(),
            media: Vec::new(),
        })
    };
    interrupted.map(|open| answer(&open.call)).collect()
}

fn stopped(plan: &Plan, reason: StopReason) -> Outcome {
    match reason {
        StopReason::Asked | StopReason::Interrupted => Outcome::Stopped { reason, partial: None },
        StopReason::Deadline => {
            let limit = &plan.limits.timeout_ms;
            let message = format!("the run took longer than {} (from {})", duration(limit.value), limit.from);
            let error = RunError::new("timeout", message).with_help("give it more with --timeout");
            Outcome::TimedOut { error, partial: None }
        }
    }
}

/// The model is to speak: unless something is spent, or the conversation too long.
fn ask(plan: &Plan, transcript: &Transcript) -> Step {
    if let Some(outcome) = money_spent(plan, transcript) {
        return Step::End(outcome);
    }
    if transcript.context_too_long && !transcript.can_compact() {
        return Step::End(Outcome::failed(
            RunError::new(
                "context",
                "the conversation is longer than the model takes, and cannot be shortened",
            )
            .with_help("give the agent a smaller task, or a model with a larger context window"),
        ));
    }
    let window = plan.model.value.context_tokens;
    let is_long = window.is_some_and(|window| transcript.context_tokens > window / 100 * COMPACT_AT_PERCENT);
    if transcript.can_compact() && (transcript.context_too_long || is_long) {
        return Step::Compact;
    }
    if transcript.last_turn {
        return Step::AskModel { note: None, tools_allowed: false };
    }
    match spent(plan, transcript) {
        Some(limit) => last_turn(last_turn_text(&limit)),
        None => Step::AskModel { note: None, tools_allowed: true },
    }
}

/// The answer will not do: the model is to speak again, as far as the limits go.
fn ask_again(plan: &Plan, transcript: &Transcript, note: Note) -> Step {
    if let Some(outcome) = money_spent(plan, transcript) {
        return Step::End(outcome);
    }
    match spent(plan, transcript) {
        Some(limit) => last_turn(format!("{}\n{}", note.text, last_turn_text(&limit))),
        None => Step::AskModel { note: Some(note), tools_allowed: true },
    }
}

fn last_turn(text: String) -> Step {
    Step::AskModel { note: Some(Note { why: NoteKind::LastTurn, text }), tools_allowed: false }
}

fn last_turn_text(limit: &RunError) -> String {
    format!("[{} No tool can be called any more. Answer now, with what you have.]", limit.message)
}

/// The limit of turns or tokens that is spent.
fn spent(plan: &Plan, transcript: &Transcript) -> Option<RunError> {
    let (turns, tokens) = (&plan.limits.turns, &plan.limits.tokens);
    if transcript.turns >= turns.value {
        let message = format!("The limit of {} turns (from {}) is reached.", turns.value, turns.from);
        return Some(RunError::new("turns", message).with_help("give it more with --max-turns"));
    }
    if transcript.usage.total() >= tokens.value {
        let message = format!("The limit of {} tokens (from {}) is reached.", tokens.value, tokens.from);
        return Some(RunError::new("tokens", message).with_help("raise `budget.tokens` or `limits.tokens`"));
    }
    None
}

fn money_spent(plan: &Plan, transcript: &Transcript) -> Option<Outcome> {
    let budget = plan.limits.budget_usd.as_ref()?;
    let cost = transcript.cost_usd.filter(|cost| *cost >= budget.value)?;
    let message = format!("{cost:.4} USD are spent of {} (from {})", budget.value, budget.from);
    let error = RunError::new("budget", message).with_help("give it more with --budget-usd");
    let partial = transcript.last_answer().map(Message::text).filter(|text| !text.is_empty());
    Some(Outcome::Exhausted { error, partial })
}

fn after_empty_answer(plan: &Plan, transcript: &Transcript) -> Step {
    if transcript.empty_answers > EMPTY_ANSWERS_MAX {
        let error = RunError::new("empty", "the model's answer was empty, twice");
        return Step::End(Outcome::failed(error.with_help("ask another model with --model")));
    }
    let text = "[Your last message was empty. Answer the task.]".to_owned();
    ask_again(plan, transcript, Note { why: NoteKind::EmptyAnswer, text })
}

/// The model has spoken and calls no tool: is that the end?
fn judge(plan: &Plan, transcript: &Transcript) -> Step {
    let is_empty = transcript.empty_answers > 0;
    let text = transcript.last_answer().filter(|_| !is_empty).map(Message::text).unwrap_or_default();
    match transcript.finish {
        Some(Finish::Refusal) => {
            let error = RunError::new("refusal", "the model declined to answer");
            return Step::End(Outcome::Failed { error, partial: some_text(text) });
        }
        Some(Finish::MaxTokens) => {
            let error = RunError::new("output_tokens", "the answer was cut at the model's output limit");
            let error = error.with_help("ask for a shorter answer, or a model with a higher limit");
            return Step::End(Outcome::Exhausted { error, partial: some_text(text) });
        }
        Some(Finish::Complete | Finish::Calls) | None => {}
    }
    if transcript.last_turn {
        let error = spent(plan, transcript).unwrap_or_else(|| RunError::new("turns", "a limit was reached"));
        return Step::End(Outcome::Exhausted { error, partial: some_text(text) });
    }
    if is_empty {
        return after_empty_answer(plan, transcript);
    }
    match &plan.output {
        None => Step::End(Outcome::Done { result: text, output: None }),
        Some(output) => match read_output(&output.schema, &text) {
            Ok(value) => Step::End(Outcome::Done { result: text, output: Some(value) }),
            Err(errors) if transcript.wrong_outputs < output.retries => {
                ask_again(plan, transcript, wrong_output(&errors))
            }
            Err(errors) => Step::End(no_output(&output.schema, transcript, errors)),
        },
    }
}

fn wrong_output(errors: &[String]) -> Note {
    let text = format!(
        "[Your answer does not fit the schema:\n- {}\nAnswer again with one JSON value that fits it, and nothing else.]",
        errors.join("\n- ")
    );
    Note { why: NoteKind::WrongOutput, text }
}

/// The attempt with the fewest errors, the latest of equals, and its errors.
fn no_output(schema: &Value, transcript: &Transcript, errors: Vec<String>) -> Outcome {
    let attempts = transcript.answers().map(Message::text).filter(|text| !text.trim().is_empty());
    let judged = attempts.filter_map(|text| read_output(schema, &text).err().map(|errors| (errors, text)));
    let best = judged.rev().min_by_key(|(errors, text)| (is_no_json(text), errors.len()));
    let (errors, partial) = best.map_or((errors, None), |(errors, text)| (errors, Some(text)));
    let message = format!("the answer does not fit the output schema: {}", errors.join("; "));
    Outcome::Failed { error: RunError::new("output", message), partial }
}

fn is_no_json(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text.trim()).is_err()
}

fn some_text(text: String) -> Option<String> {
    Some(text).filter(|text| !text.trim().is_empty())
}

/// A duration as a person writes it.
pub fn duration(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 if ms.is_multiple_of(1000) => format!("{} s", ms / 1000),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ if ms.is_multiple_of(3_600_000) => format!("{} h", ms / 3_600_000),
        _ if ms.is_multiple_of(60_000) => format!("{} min", ms / 60_000),
        _ => format!("{} min {} s", ms / 60_000, ms % 60_000 / 1000),
    }
}

/// The best of a run that must end without the engine's word, such as one whose provider failed.
pub fn failed_with(error: RunError, transcript: &Transcript) -> Outcome {
    let partial = transcript.last_answer().map(Message::text).and_then(some_text);
    Outcome::Failed { error, partial }
}

#[cfg(test)]
pub(crate) mod script;
#[cfg(test)]
mod tests;
