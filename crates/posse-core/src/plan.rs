//! A definition with every choice made for one run, each with where it came from.
//!
//! A plan is self-contained: whoever has it and the transcript can go on. Secrets are in it by name only.

mod limits;
mod resolve;
mod rules;
mod system;
mod tools;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::RunId;
use crate::message::Message;
use crate::model::ModelChoice;
use crate::rule::RuleSet;

pub use limits::{Limits, Origin};
pub use resolve::{Refusal, RefusalKind, Request, Setting, Settings, Surroundings, resolve};
pub use system::ContextFile;

/// Where the model of a replayed run came from.
pub const RECORDING: &str = "the recording";

/// Something decided, and where that came from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Choice<T> {
    /// What was decided.
    pub value: T,
    /// Where it came from: `default`, `definition`, `--timeout`, a line of a file.
    pub from: String,
}

impl<T> Choice<T> {
    /// A value and where it came from.
    pub fn new(value: T, from: impl Into<String>) -> Choice<T> {
        Choice { value, from: from.into() }
    }
}

/// Everything that is decided for one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The agent's name, in the form that identifies.
    pub agent: String,
    /// Where its definition came from.
    pub definition: DefinitionSource,
    /// Who asks.
    pub caller: String,
    /// How many runs are above this one.
    pub depth: u32,
    /// The run that asked.
    #[serde(default)]
    pub parent_run_id: Option<RunId>,
    /// The chain of runs it belongs to.
    #[serde(default)]
    pub session_id: Option<RunId>,
    /// What is asked.
    pub task: String,
    /// What the caller adds.
    #[serde(default)]
    pub context: Option<String>,
    /// The conversation that is gone on with.
    #[serde(default)]
    pub prior: Vec<Arc<Message>>,
    /// What carries it out.
    pub engine: Choice<String>,
    /// The model that answers.
    pub model: Choice<ModelChoice>,
    /// The model that shortens a conversation.
    pub compaction_model: Choice<ModelChoice>,
    /// How hard the model is to think, in the definition's word.
    #[serde(default)]
    pub effort: Option<Choice<String>>,
    /// The tools it is offered.
    pub tools: Vec<Choice<String>>,
    /// The tools it would have been offered but for a rule, with the rule.
    #[serde(default)]
    pub withheld: Vec<Choice<String>>,
    /// What it may do with them.
    #[serde(default)]
    pub rules: RuleSet,
    /// How it treats what no rule decides.
    pub permission_mode: Choice<String>,
    /// What keeps its processes in.
    pub isolation: Choice<String>,
    /// The directory it works in.
    pub workspace: Choice<String>,
    /// The same directory as the model is told, where that differs.
    #[serde(default)]
    pub workspace_shown: Option<String>,
    /// The blocks of the system prompt, the definition's own text first.
    pub system: Vec<Block>,
    /// What its answer must be.
    #[serde(default)]
    pub output: Option<OutputContract>,
    /// What it may use up.
    pub limits: Limits,
    /// What a person should know before it runs.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// Where a definition came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DefinitionSource {
    /// Its file; `None` for what has none.
    pub path: Option<String>,
    /// Its scope.
    pub scope: String,
    /// Its dialect.
    pub dialect: String,
}

/// One block of a system prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// What it is: `prompt`, `context-file`, `environment`, `output`.
    pub name: String,
    /// The words, as they are sent.
    pub text: String,
}

/// What an answer must be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputContract {
    /// The JSON Schema of the value.
    pub schema: Value,
    /// How often a wrong answer is sent back.
    pub retries: u64,
}

impl Plan {
    /// The first message of the caller's side, exactly as it is sent.
    pub fn first_message(&self) -> String {
        match self.context.as_deref().filter(|context| !context.trim().is_empty()) {
            Some(context) => format!("Context:\n{context}\n\nTask:\n{}", self.task),
            None => self.task.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
