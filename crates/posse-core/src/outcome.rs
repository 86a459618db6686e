//! How a run ended, and why it was stopped.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Why a run is to stop, the weakest first: a stronger reason replaces a weaker one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// Somebody asked: `posse stop`, a program.
    Asked,
    /// The process that runs it was told to end: Ctrl-C, a signal.
    Interrupted,
    /// Its time is over.
    Deadline,
}

impl StopReason {
    /// What is said about it.
    pub fn describe(self) -> &'static str {
        match self {
            StopReason::Asked => "it was asked to stop",
            StopReason::Interrupted => "its process was interrupted",
            StopReason::Deadline => "its time was over",
        }
    }
}

/// What went wrong in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunError {
    /// One word for programs: `provider`, `context`, `refusal`, `empty`, `output`, `store`, `turns`, …
    pub kind: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    #[serde(default)]
    pub help: Option<String>,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Outcome {
    /// It did what was asked.
    Done {
        /// The model's last words.
        result: String,
        /// The value, where a schema was asked for.
        #[serde(default)]
        output: Option<Value>,
    },
    /// It could not.
    Failed {
        /// Why.
        error: RunError,
        /// What there was by then.
        #[serde(default)]
        partial: Option<String>,
    },
    /// It was stopped.
    Stopped {
        /// Why.
        reason: StopReason,
        /// What had streamed by then.
        #[serde(default)]
        partial: Option<String>,
    },
    /// Its time was over.
    TimedOut {
        /// Which limit, in words.
        error: RunError,
        /// What had streamed by then.
        #[serde(default)]
        partial: Option<String>,
    },
    /// A limit of turns, tokens or money was spent.
    Exhausted {
        /// Which one.
        error: RunError,
        /// What there was by then: the answer of the last turn, where there was one.
        #[serde(default)]
        partial: Option<String>,
    },
}

impl RunError {
    /// An error with nothing to advise.
    pub fn new(kind: &str, message: impl Into<String>) -> RunError {
        RunError { kind: kind.to_owned(), message: message.into(), help: None }
    }

    /// The same error with what to do next.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> RunError {
        self.help = Some(help.into());
        self
    }
}

impl Outcome {
    /// A failure with nothing to show.
    pub fn failed(error: RunError) -> Outcome {
        Outcome::Failed { error, partial: None }
    }

    /// The status in JSON.
    pub fn status(&self) -> &'static str {
        match self {
            Outcome::Done { .. } => "done",
            Outcome::Failed { .. } => "failed",
            Outcome::Stopped { .. } => "stopped",
            Outcome::TimedOut { .. } => "timed_out",
            Outcome::Exhausted { .. } => "exhausted",
        }
    }

    /// The exit code of a command that carried the run out.
    pub fn exit_code(&self) -> u8 {
        match self {
            Outcome::Done { .. } => 0,
            Outcome::Failed { .. } => 4,
            Outcome::Stopped { .. } => 5,
            Outcome::TimedOut { .. } | Outcome::Exhausted { .. } => 6,
        }
    }

    /// The text there is: the result, or what there was when it ended otherwise.
    pub fn text(&self) -> Option<&str> {
        match self {
            Outcome::Done { result, .. } => Some(result),
            Outcome::Failed { partial, .. }
            | Outcome::Stopped { partial, .. }
            | Outcome::TimedOut { partial, .. }
            | Outcome::Exhausted { partial, .. } => partial.as_deref(),
        }
    }

    /// What went wrong, if it did not end well.
    pub fn error(&self) -> Option<RunError> {
        match self {
            Outcome::Done { .. } => None,
            Outcome::Failed { error, .. }
            | Outcome::TimedOut { error, .. }
            | Outcome::Exhausted { error, .. } => Some(error.clone()),
            Outcome::Stopped { reason, .. } => {
                Some(RunError::new("stopped", format!("the run was stopped: {}", reason.describe())))
            }
        }
    }

    /// The same ending with what had streamed, where there was nothing yet.
    #[must_use]
    pub fn with_partial(mut self, streamed: &str) -> Outcome {
        match &mut self {
            Outcome::Failed { partial, .. }
            | Outcome::Stopped { partial, .. }
            | Outcome::TimedOut { partial, .. }
            | Outcome::Exhausted { partial, .. } => {
                if partial.is_none() && !streamed.is_empty() {
                    *partial = Some(streamed.to_owned());
                }
            }
            Outcome::Done { .. } => {}
        }
        self
    }
}
