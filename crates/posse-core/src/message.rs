//! What a run and a model say to each other, in no wire protocol's words.
//!
//! Providers turn these into requests and answers back into these; nothing here knows how.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// A wire protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, and everything that speaks it.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini's `generateContent`.
    Gemini,
    /// Weights run in this process.
    Local,
}

impl Api {
    /// Every protocol.
    pub const ALL: &[Api] = &[Api::Anthropic, Api::OpenaiChat, Api::OpenaiResponses, Api::Gemini, Api::Local];

    /// The name in configuration and plans.
    pub fn as_str(self) -> &'static str {
        match self {
            Api::Anthropic => "anthropic",
            Api::OpenaiChat => "openai-chat",
            Api::OpenaiResponses => "openai-responses",
            Api::Gemini => "gemini",
            Api::Local => "local",
        }
    }

    /// The protocol of that name.
    pub fn parse(name: &str) -> Option<Api> {
        Api::ALL.iter().copied().find(|api| api.as_str() == name)
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The caller, and what tools answered.
    User,
    /// The model.
    Assistant,
}

/// One message. Roles alternate in a conversation: two of one role are one message with more parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said, in order.
    pub parts: Vec<Part>,
}

/// A piece of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// What the model thought before it spoke.
    Thinking {
        /// As far as the provider shows it; may be empty.
        text: String,
        /// What must go back with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        seal: Option<Seal>,
    },
    /// A tool the model wants called.
    ToolCall(ToolCall),
    /// What a tool answered.
    ToolResult(ToolResult),
}

/// What a provider wants back unchanged with the part it came with: a signature, an encrypted item.
/// Another protocol's seal means nothing and is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Seal {
    /// Whose it is.
    pub api: Api,
    /// In that protocol's own form.
    pub value: Value,
}

/// A call as the model wrote it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Unique in the run; the result names it.
    pub id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments; an empty object where they could not be read.
    pub input: Value,
    /// The arguments as they came, where they are not a JSON object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
    /// What must go back with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seal: Option<Seal>,
}

/// What a tool answered to a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    /// The call.
    pub call_id: String,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// What the model reads.
    pub text: String,
    /// True when the call did not do what was asked.
    #[serde(default)]
    pub is_error: bool,
    /// What the model looks at besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
}

/// A picture or document for a model that takes such.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Media {
    /// What it is, such as `image/png` or `application/pdf`.
    pub media_type: String,
    /// Its bytes in base64, as every protocol sends them; shared, since it is in the event and in the conversation.
    pub base64: Arc<str>,
}

impl Media {
    /// True for what is looked at rather than read.
    pub fn is_image(&self) -> bool {
        self.media_type.starts_with("image/")
    }
}

/// A tool as a model is told about it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name to call it by.
    pub name: &'static str,
    /// What it does.
    pub description: &'static str,
    /// The JSON Schema of its arguments, an object; shared by every run that is offered the tool.
    pub schema: Schema,
}

/// A JSON Schema, and its text: the same for every request, so that it is written once.
#[derive(Debug, Clone)]
pub struct Schema {
    value: Arc<Value>,
    text: Arc<RawValue>,
}

impl Schema {
    /// What it says.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Schema {
        let text = serde_json::value::to_raw_value(&value).expect("a JSON value can be written");
        Schema { value: Arc::new(value), text: text.into() }
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.value == other.value
    }
}

impl Serialize for Schema {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

/// Why a model stopped speaking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It was done.
    Complete,
    /// It waits for tools.
    Calls,
    /// Its output limit was reached.
    MaxTokens,
    /// It, or a filter of its provider, declined.
    Refusal,
}

/// Tokens by how they are billed; `input_tokens` are those neither read from nor written to a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Sent, and not cached.
    pub input_tokens: u64,
    /// Answered, thinking included.
    pub output_tokens: u64,
    /// Sent, and read from a cache.
    pub cache_read_tokens: u64,
    /// Sent, and written to a cache.
    pub cache_write_tokens: u64,
}

impl Usage {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.context().saturating_add(self.output_tokens)
    }

    /// What was sent.
    pub fn context(&self) -> u64 {
        self.input_tokens.saturating_add(self.cache_read_tokens).saturating_add(self.cache_write_tokens)
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            cache_read_tokens: self.cache_read_tokens.saturating_add(other.cache_read_tokens),
            cache_write_tokens: self.cache_write_tokens.saturating_add(other.cache_write_tokens),
        }
    }
}

/// A whole answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What it said.
    pub message: Message,
    /// Why it stopped.
    pub finish: Finish,
    /// What it used, as the provider counts.
    pub usage: Usage,
}

impl Message {
    /// A message of the caller's side with one text.
    pub fn user(text: impl Into<String>) -> Message {
        Message { role: Role::User, parts: vec![Part::Text { text: text.into() }] }
    }

    /// The words of the message, thinking left out, one text after the other.
    pub fn text(&self) -> String {
        let texts = self.parts.iter().filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) => None,
        });
        texts.collect()
    }

    /// The tools it wants called.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult(_) => None,
        })
    }
}
