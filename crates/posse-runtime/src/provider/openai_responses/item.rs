//! One item of a response's output: a message, a thought or a call.
//!
//! What an item holds is decided here; which item an event belongs to is `decode`'s affair.

use posse_core::message::{Api, Part, Seal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::ENCRYPTED_CONTENT;
use super::decode::Read;
use crate::provider::openai::{self, Loose};

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words, or a refusal.
    Message,
    /// A thought.
    Reasoning,
    /// A call of one of our tools.
    Call,
    /// Something nothing here asked for.
    Unknown,
}

/// An item as it is on the wire.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item<'a> {
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(borrow)]
    pub(super) id: Loose<'a>,
    #[serde(borrow)]
    call_id: Loose<'a>,
    #[serde(borrow)]
    name: Loose<'a>,
    #[serde(borrow)]
    arguments: Loose<'a>,
    #[serde(borrow)]
    content: Loose<'a>,
    #[serde(borrow)]
    summary: Loose<'a>,
    #[serde(borrow)]
    encrypted_content: Loose<'a>,
}

/// An item as far as its deltas tell; only used where the server never shows it whole.
#[derive(Debug)]
pub(super) struct ItemSoFar {
    pub(super) kind: Kind,
    pub(super) text: String,
    pub(super) refusal: String,
    pub(super) name: String,
    pub(super) arguments: String,
    call_id: String,
}

impl Item<'_> {
    /// What it is.
    pub(super) fn kind(&self) -> Kind {
        match self.kind.as_str() {
            "message" => Kind::Message,
            "reasoning" => Kind::Reasoning,
            "function_call" => Kind::Call,
            _ => Kind::Unknown,
        }
    }

    /// What names a call; the item's own id stands in where a server knows only that.
    fn call_id(&self) -> &str {
        if self.call_id.as_str().is_empty() { self.id.as_str() } else { self.call_id.as_str() }
    }

    /// Adds what the item holds.
    pub(super) fn read_into(self, read: &mut Read) {
        match self.kind() {
            Kind::Message => {
                let refuses = read_content(self.content, &mut read.parts);
                read.refuses |= refuses;
            }
            Kind::Reasoning => read.parts.extend(self.into_thinking()),
            Kind::Call => {
                let (id, name) = (self.call_id().to_owned(), self.name.as_str().to_owned());
                let call = openai::tool_call(id, name, &self.arguments.into_json());
                read.parts.push(Part::ToolCall(call));
            }
            Kind::Unknown => {}
        }
    }

    fn into_thinking(self) -> Option<Part> {
        let summary = self.summary.into_list();
        let texts = summary.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
        let mut text = openai::join_texts(texts).into_owned();
        if text.is_empty() {
            text = self.content.into_words().into_owned();
        }
        let encrypted = self.encrypted_content.as_str();
        let seal = (!encrypted.is_empty()).then(|| Seal {
            api: Api::OpenaiResponses,
            value: json!({
                "type": "reasoning",
                "id": self.id.as_str(),
                "summary": summary,
                ENCRYPTED_CONTENT: encrypted,
            }),
        });
        (!text.is_empty() || seal.is_some()).then_some(Part::Thinking { text, seal })
    }
}

/// Adds the words of a message as one text; true when one of its parts declines.
fn read_content(content: Loose<'_>, parts: &mut Vec<Part>) -> bool {
    let refuses = match &content {
        Loose::Other(Value::Array(list)) => {
            list.iter().any(|part| part.get("refusal").is_some_and(Value::is_string))
        }
        Loose::Missing | Loose::Text(_) | Loose::Other(_) => false,
    };
    let text = content.into_words().into_owned();
    if !text.is_empty() {
        parts.push(Part::Text { text });
    }
    refuses
}

impl ItemSoFar {
    /// One that is only known to be of that kind.
    pub(super) fn empty(kind: Kind) -> ItemSoFar {
        ItemSoFar {
            kind,
            text: String::new(),
            refusal: String::new(),
            name: String::new(),
            arguments: String::new(),
            call_id: String::new(),
        }
    }

    /// One that begins with an item which is not filled yet.
    pub(super) fn of(item: &Item<'_>) -> ItemSoFar {
        let mut so_far = ItemSoFar::empty(item.kind());
        item.name.as_str().clone_into(&mut so_far.name);
        item.call_id().clone_into(&mut so_far.call_id);
        so_far
    }

    /// What it holds.
    pub(super) fn read(self) -> Read {
        let mut parts = Vec::new();
        let refuses = !self.refusal.is_empty();
        match self.kind {
            Kind::Message => {
                let text = self.text + &self.refusal;
                parts.extend((!text.is_empty()).then_some(Part::Text { text }));
            }
            Kind::Reasoning => {
                let text = self.text;
                parts.extend((!text.is_empty()).then_some(Part::Thinking { text, seal: None }));
            }
            Kind::Call => {
                parts.push(Part::ToolCall(openai::tool_call(self.call_id, self.name, &self.arguments)));
            }
            Kind::Unknown => {}
        }
        Read { parts, refuses }
    }
}
