//! A run as its caller is told about it: the JSON that programs rely on.

use serde_json::{Value, json};

use crate::id::RunId;
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::text::cut_at_char;
use crate::time::Time;
use crate::transcript::Transcript;

/// How a run stands, for those who look at it.
#[derive(Debug, Clone, PartialEq)]
pub struct Report<'a> {
    /// The run.
    pub run_id: RunId,
    /// What was decided for it.
    pub plan: &'a Plan,
    /// What happened.
    pub transcript: &'a Transcript,
    /// True when the process that runs it is alive; of no matter once it has ended.
    pub is_owned: bool,
}

/// How much of a result is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultSize {
    /// All of it.
    Whole,
    /// As much as the plan's limit allows, with a mark where it was cut.
    Bounded,
}

impl Report<'_> {
    /// The word for how it stands.
    pub fn status(&self) -> &'static str {
        match (&self.transcript.outcome, self.is_owned) {
            (Some(outcome), _) => outcome.status(),
            (None, true) => "running",
            (None, false) => "interrupted",
        }
    }

    /// When it ended.
    pub fn ended_at(&self) -> Option<Time> {
        self.transcript.outcome.as_ref().map(|_| self.transcript.last_at)
    }

    /// How long it took, or has taken up to its last event.
    pub fn duration_ms(&self) -> u64 {
        self.transcript.last_at.since(self.transcript.started_at)
    }

    /// The JSON of a run.
    pub fn to_json(&self, size: ResultSize) -> Value {
        let Report { plan, transcript, .. } = self;
        let outcome = transcript.outcome.as_ref();
        let limit = usize::try_from(plan.limits.result_bytes.value).unwrap_or(usize::MAX);
        let text = outcome.and_then(Outcome::text);
        let (result, truncated) = match size {
            ResultSize::Whole => (text.map(str::to_owned), false),
            ResultSize::Bounded => bounded(text, limit, self.run_id),
        };
        let output = outcome.and_then(|outcome| match outcome {
            Outcome::Done { output, .. } => output.as_ref(),
            Outcome::Failed { .. }
            | Outcome::Stopped { .. }
            | Outcome::TimedOut { .. }
            | Outcome::Exhausted { .. } => None,
        });
        json!({
            "run_id": self.run_id,
            "agent": plan.agent,
            "status": self.status(),
            "result": result,
            "output": output,
            "findings": [],
            "attachments": transcript.attachments,
            "error": outcome.and_then(Outcome::error),
            "task": plan.task,
            "context": plan.context,
            "caller": plan.caller,
            "depth": plan.depth,
            "parent_run_id": plan.parent_run_id,
            "session_id": plan.session_id,
            "started_at": transcript.started_at,
            "ended_at": self.ended_at(),
            "duration_ms": self.duration_ms(),
            "turns": transcript.turns,
            "tool_calls": transcript.tool_calls,
            "denied": transcript.denied,
            "usage": transcript.usage,
            "cost_usd": transcript.cost_usd,
            "tree": {"runs": 1, "usage": transcript.usage, "cost_usd": transcript.cost_usd},
            "model": format!("{}/{}", plan.model.value.provider, plan.model.value.model),
            "engine": plan.engine.value,
            "isolation": plan.isolation.value,
            "workspace": plan.workspace.value,
            "truncated": truncated,
        })
    }
}

fn bounded(text: Option<&str>, limit: usize, run_id: RunId) -> (Option<String>, bool) {
    match text {
        Some(text) if text.len() > limit => {
            let kept = cut_at_char(text, limit);
            let mark =
                format!("\n[cut: {} of {} bytes; `posse result {run_id}` has all]", kept.len(), text.len());
            (Some(format!("{kept}{mark}")), true)
        }
        text => (text.map(str::to_owned), false),
    }
}

#[cfg(test)]
mod tests;
