//! How a command fails: what kind of failure, what to say, what to do next, and the exit code.

use posse_core::diagnostic::Diagnostic;
use serde_json::{Value, json};

/// The kinds of failure, each with its exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Our fault: an unexpected failure of the machine or of Posse.
    Internal,
    /// The command line is wrong.
    Usage,
    /// A definition or configuration is bad or unknown.
    Definition,
    /// A run was stopped.
    Stopped,
    /// It took longer than it may.
    Exhausted,
    /// Trust, a caller or a ceiling forbids it.
    Refused,
}

impl Kind {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Kind::Internal => 1,
            Kind::Usage => 2,
            Kind::Definition => 3,
            Kind::Stopped => 5,
            Kind::Exhausted => 6,
            Kind::Refused => 7,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Kind::Internal => "internal",
            Kind::Usage => "usage",
            Kind::Definition => "definition",
            Kind::Stopped => "stopped",
            Kind::Exhausted => "exhausted",
            Kind::Refused => "refused",
        }
    }
}

/// A command that did not do what was asked.
#[derive(Debug)]
pub struct CommandError {
    /// What kind of failure.
    pub kind: Kind,
    /// What went wrong.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
    /// The diagnostics that explain it.
    pub problems: Vec<Diagnostic>,
}

impl CommandError {
    /// A failure without further explanation.
    pub fn new(kind: Kind, message: impl Into<String>) -> CommandError {
        CommandError { kind, message: message.into(), help: None, problems: Vec::new() }
    }

    /// The same failure with what to do next.
    pub fn with_help(mut self, help: impl Into<String>) -> CommandError {
        self.help = Some(help.into());
        self
    }

    /// The same failure with the diagnostics that explain it.
    pub fn with_problems(mut self, problems: Vec<Diagnostic>) -> CommandError {
        self.problems = problems;
        self
    }

    /// What `--json` prints.
    pub fn to_json(&self) -> Value {
        let problems: Vec<Value> = self.problems.iter().map(Diagnostic::to_json).collect();
        json!({
            "error": {"kind": self.kind.as_str(), "message": self.message, "help": self.help},
            "problems": problems,
        })
    }
}

impl From<std::io::Error> for CommandError {
    fn from(error: std::io::Error) -> CommandError {
        CommandError::new(Kind::Internal, error.to_string())
    }
}
