//! What happened in a run: the one serialised vocabulary, version 1.
//!
//! An event is never changed. A new field has a default, so that an old transcript still reads; a type
//! that is not known here is kept as it is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::RunId;
use crate::message::{Finish, Media, Message, Usage};
use crate::outcome::{Outcome, StopReason};
use crate::plan::Plan;
use crate::time::Time;

/// The version of the vocabulary.
pub const VERSION: u32 = 1;

/// A fact, when it happened, and its place in the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// The run.
    pub run_id: RunId,
    /// Its place, from 1.
    pub seq: u64,
    /// When it happened.
    pub at: Time,
    /// What happened.
    pub fact: Fact,
}

/// What can happen in a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// The run was registered, with everything that was decided for it.
    Started(Arc<Plan>),
    /// A question goes to the model.
    Asked(Asked),
    /// The model answered.
    Answered(Answered),
    /// A question was not answered and will be asked again.
    Retried(Retried),
    /// A call was allowed or denied by more than the rules of its plan.
    Permission(Permission),
    /// A tool is about to run; stored before it does.
    ToolStarted(ToolStarted),
    /// A tool is done.
    ToolFinished(ToolFinished),
    /// The conversation so far was replaced by a summary.
    Compacted(Compacted),
    /// Somebody said something to the run.
    Said(Said),
    /// The run is to stop.
    StopAsked(StopAsked),
    /// The run is over; nothing follows.
    Ended(Outcome),
    /// Something that a later version knows.
    Unknown {
        /// Its type.
        kind: String,
        /// Its content.
        data: Value,
    },
}

/// A question to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Which turn, from 1.
    pub turn: u64,
    /// What the runtime adds to the conversation: a limit, what was wrong with an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
}

/// What the runtime itself says to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Why.
    pub why: NoteKind,
    /// The words.
    pub text: String,
}

/// Why the runtime says something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// A limit is spent: this is the last turn and no tool may be called.
    LastTurn,
    /// The answer was empty.
    EmptyAnswer,
    /// The answer does not fit the schema.
    WrongOutput,
}

/// An answer of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// Which turn.
    pub turn: u64,
    /// What it said.
    pub message: Arc<Message>,
    /// Why it stopped.
    pub finish: Finish,
    /// What it used.
    pub usage: Usage,
    /// What that cost; `None` where the price is not known.
    pub cost_usd: Option<f64>,
    /// From the question to the last byte.
    pub duration_ms: u64,
}

/// A question that will be asked again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retried {
    /// Which turn.
    pub turn: u64,
    /// How often it has failed.
    pub attempt: u32,
    /// How long to wait before the next.
    pub wait_ms: u64,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// What went wrong, in the provider's words.
    pub message: String,
    /// True when the conversation was too long for the model, so that it is shortened first.
    #[serde(default)]
    pub context_too_long: bool,
}

/// What was decided about a call that the rules alone did not allow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Permission {
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// With what.
    pub input: Value,
    /// True when it may run.
    pub allowed: bool,
    /// Who decided: `rule`, `mode`, `person`, `nobody`.
    pub by: Decider,
    /// The rule that denies it, with its line, or one that would allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The rules that a person allowed for the rest of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub granted: Vec<String>,
    /// How long a person took, which does not count against the deadline.
    #[serde(default)]
    pub waited_ms: u64,
}

/// Who decided about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decider {
    /// A rule of the plan.
    Rule,
    /// The permission mode.
    Mode,
    /// Whoever was asked.
    Person,
    /// There was nobody to ask.
    Nobody,
}

impl Decider {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            Decider::Rule => "a rule",
            Decider::Mode => "the permission mode",
            Decider::Person => "whoever was asked",
            Decider::Nobody => "default, since there is nobody to ask",
        }
    }
}

/// A tool about to run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolStarted {
    /// The call it answers.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// With what.
    pub input: Value,
    /// True when it may change something, so that it is never begun twice.
    pub effectful: bool,
}

/// A tool that is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFinished {
    /// The call it answers.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// What the model reads.
    pub text: String,
    /// True when the call did not do what was asked.
    pub is_error: bool,
    /// How long it took.
    pub duration_ms: u64,
    /// What it changed in a file, as a unified diff within a limit; for people, not for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
    /// Files that it hands to the caller of the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// What the model looks at besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
}

/// A file that a run hands to its caller.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attachment {
    /// Where it is.
    pub path: String,
    /// What it is, such as `image/png`.
    pub media_type: String,
    /// How many bytes it had when it was attached.
    pub bytes: u64,
}

/// A summary in the place of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compacted {
    /// What stands for what was said.
    pub summary: String,
    /// How many messages it replaced.
    pub messages: u64,
    /// What making it used.
    pub usage: Usage,
    /// What that cost; `None` where the price is not known.
    pub cost_usd: Option<f64>,
}

/// Something said to a run while it went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// Who said it.
    pub from: String,
    /// The words.
    pub text: String,
}

/// Why a run is to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopAsked {
    /// Why.
    pub reason: StopReason,
}

impl Fact {
    /// The name of its type.
    pub fn kind(&self) -> &str {
        match self {
            Fact::Started(_) => "started",
            Fact::Asked(_) => "asked",
            Fact::Answered(_) => "answered",
            Fact::Retried(_) => "retried",
            Fact::Permission(_) => "permission",
            Fact::ToolStarted(_) => "tool_started",
            Fact::ToolFinished(_) => "tool_finished",
            Fact::Compacted(_) => "compacted",
            Fact::Said(_) => "said",
            Fact::StopAsked(_) => "stop_asked",
            Fact::Ended(_) => "ended",
            Fact::Unknown { kind, .. } => kind,
        }
    }

    /// Its content as JSON.
    pub fn data(&self) -> String {
        let written = match self {
            Fact::Started(plan) => serde_json::to_string(plan.as_ref()),
            Fact::Asked(asked) => serde_json::to_string(asked),
            Fact::Answered(answered) => serde_json::to_string(answered),
            Fact::Retried(retried) => serde_json::to_string(retried),
            Fact::Permission(permission) => serde_json::to_string(permission),
            Fact::ToolStarted(started) => serde_json::to_string(started),
            Fact::ToolFinished(finished) => serde_json::to_string(finished),
            Fact::Compacted(compacted) => serde_json::to_string(compacted),
            Fact::Said(said) => serde_json::to_string(said),
            Fact::StopAsked(stop) => serde_json::to_string(stop),
            Fact::Ended(outcome) => serde_json::to_string(outcome),
            Fact::Unknown { data, .. } => serde_json::to_string(data),
        };
        written.expect("facts have text keys and no failing parts")
    }

    /// Reads what [`Fact::kind`] and [`Fact::data`] gave.
    pub fn read(kind: &str, data: &str) -> Result<Fact, serde_json::Error> {
        Ok(match kind {
            "started" => Fact::Started(Arc::new(serde_json::from_str(data)?)),
            "asked" => Fact::Asked(serde_json::from_str(data)?),
            "answered" => Fact::Answered(serde_json::from_str(data)?),
            "retried" => Fact::Retried(serde_json::from_str(data)?),
            "permission" => Fact::Permission(serde_json::from_str(data)?),
            "tool_started" => Fact::ToolStarted(serde_json::from_str(data)?),
            "tool_finished" => Fact::ToolFinished(serde_json::from_str(data)?),
            "compacted" => Fact::Compacted(serde_json::from_str(data)?),
            "said" => Fact::Said(serde_json::from_str(data)?),
            "stop_asked" => Fact::StopAsked(serde_json::from_str(data)?),
            "ended" => Fact::Ended(serde_json::from_str(data)?),
            _ => Fact::Unknown { kind: kind.to_owned(), data: serde_json::from_str(data)? },
        })
    }
}

impl Event {
    /// One line of `log --json` and `stream-json`, without its line end.
    pub fn to_line(&self) -> String {
        let Event { run_id, seq, at, fact } = self;
        let kind = Value::from(fact.kind());
        format!(
            r#"{{"v":{VERSION},"run_id":"{run_id}","seq":{seq},"at":"{at}","type":{kind},"data":{}}}"#,
            fact.data()
        )
    }
}

#[cfg(test)]
mod tests;
