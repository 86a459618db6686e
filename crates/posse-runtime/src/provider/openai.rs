//! What both OpenAI protocols share: how their servers complain, how texts and calls are put together, and
//! JSON whose types servers do not agree about.
//!
//! No request and no event of either is here; what other protocols share too is in `wire`.

use std::borrow::Cow;
use std::fmt;

use posse_core::message::ToolCall;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::wire;

pub(super) use complaint::{complaint_in_stream, refusal};

mod complaint;

/// A value that is a string by the book, and at some servers null, a number, a list or an object.
#[derive(Debug, Default)]
pub(super) enum Loose<'a> {
    /// Not there, or null.
    #[default]
    Missing,
    /// As the book has it.
    Text(Cow<'a, str>),
    /// Anything else.
    Other(Value),
}

impl<'a> Loose<'a> {
    /// The string; empty where it is none.
    pub(super) fn as_str(&self) -> &str {
        match self {
            Loose::Text(text) => text,
            Loose::Missing | Loose::Other(_) => "",
        }
    }

    /// The words of a string, or of a list of parts with a `text` or `refusal` each.
    pub(super) fn into_words(self) -> Cow<'a, str> {
        match self {
            Loose::Text(text) => text,
            Loose::Other(Value::Array(parts)) => parts.iter().map(part_words).collect::<String>().into(),
            Loose::Missing | Loose::Other(_) => Cow::Borrowed(""),
        }
    }

    /// The string, or what stands in its place as JSON.
    pub(super) fn into_json(self) -> Cow<'a, str> {
        match self {
            Loose::Text(text) => text,
            Loose::Other(value) => value.to_string().into(),
            Loose::Missing => Cow::Borrowed(""),
        }
    }

    /// The list that stands in the string's place; empty where there is none.
    pub(super) fn into_list(self) -> Vec<Value> {
        match self {
            Loose::Other(Value::Array(list)) => list,
            Loose::Missing | Loose::Text(_) | Loose::Other(_) => Vec::new(),
        }
    }
}

fn part_words(part: &Value) -> &str {
    let words = part.get("text").or_else(|| part.get("refusal"));
    words.and_then(Value::as_str).unwrap_or_default()
}

/// Reads a number of tokens; what is none counts as nothing.
pub(super) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    Ok(match Loose::deserialize(deserializer)? {
        Loose::Other(value) => value.as_u64().unwrap_or(0),
        Loose::Missing | Loose::Text(_) => 0,
    })
}

/// Reads an index, where there is one.
pub(super) fn index<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(match Loose::deserialize(deserializer)? {
        Loose::Other(value) => value.as_u64(),
        Loose::Missing | Loose::Text(_) => None,
    })
}

/// A list of elements of JSON that is being written, without its brackets.
pub(super) struct Elements<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
}

impl<'o> Elements<'o> {
    /// An empty one at the end of `out`.
    pub(super) fn new(out: &'o mut Vec<u8>) -> Elements<'o> {
        let start = out.len();
        Elements { out, start }
    }

    /// Writes one more.
    pub(super) fn push(&mut self, element: &impl Serialize) {
        if !self.is_empty() {
            self.out.push(b',');
        }
        wire::write(element, self.out);
    }

    /// True when none was written.
    pub(super) fn is_empty(&self) -> bool {
        self.out.len() == self.start
    }
}

/// Writes a value as a string that holds JSON, which is how arguments travel.
pub(super) fn as_json_text<S: Serializer>(value: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

/// The texts that are not empty, with a blank line between them.
pub(super) fn join_texts<'a>(texts: impl Iterator<Item = &'a str>) -> Cow<'a, str> {
    let mut joined = Cow::Borrowed("");
    for text in texts.filter(|text| !text.is_empty()) {
        if joined.is_empty() {
            joined = Cow::Borrowed(text);
        } else {
            let joined = joined.to_mut();
            joined.push_str("\n\n");
            joined.push_str(text);
        }
    }
    joined
}

/// A call out of what came over the wire. An id that is missing stays empty until the calls are named.
pub(super) fn tool_call(id: String, name: String, arguments: &str) -> ToolCall {
    let (input, malformed) = wire::arguments(arguments);
    ToolCall { id, name, input, malformed, seal: None }
}

/// The headers of both protocols.
pub(super) fn headers(key: Option<&str>) -> Vec<(&'static str, String)> {
    let key = key.map(|key| ("authorization", format!("Bearer {key}")));
    key.into_iter().chain([("content-type", "application/json".to_owned())]).collect()
}

impl<'de: 'a, 'a> Deserialize<'de> for Loose<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Loose<'a>, D::Error> {
        deserializer.deserialize_any(LooseVisitor)
    }
}

struct LooseVisitor;

impl<'de> Visitor<'de> for LooseVisitor {
    type Value = Loose<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Loose<'de>, E> {
        Ok(Loose::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Loose<'de>, E> {
        Ok(Loose::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_string<E>(self, text: String) -> Result<Loose<'de>, E> {
        Ok(Loose::Text(Cow::Owned(text)))
    }

    fn visit_unit<E>(self) -> Result<Loose<'de>, E> {
        Ok(Loose::Missing)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Loose<'de>, E> {
        Ok(Loose::Other(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Loose<'de>, E> {
        Ok(Loose::Other(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Loose<'de>, E> {
        Ok(Loose::Other(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Loose<'de>, E> {
        Ok(Loose::Other(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Loose<'de>, A::Error> {
        Value::deserialize(SeqAccessDeserializer::new(list)).map(Loose::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Loose<'de>, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(map)).map(Loose::Other)
    }
}
