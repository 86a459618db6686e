//! A tree of values with spans: what YAML, JSON and TOML all become before anyone asks what they mean.

use std::collections::HashSet;

use serde_json::{Map, Number, Value};

use crate::diagnostic::Span;

/// The most values that a JSON or TOML file may have; YAML blocks are smaller and have their own limit.
const NODES_MAX: usize = 50_000;
/// How deep any definition may be nested.
pub(super) const DEPTH_MAX: usize = 32;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where the value stands in the text.
    pub span: Span,
    /// The value.
    pub value: NodeValue,
}

/// One of the three kinds of value.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeValue {
    /// A scalar.
    Scalar(Scalar),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in the author's order; keys may repeat.
    Map(Vec<Entry>),
}

/// A scalar as it was written, and what it is.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// The text: of a string its content, of anything else its source.
    pub text: String,
    /// What the text stands for.
    pub kind: ScalarKind,
    /// True for an unquoted YAML scalar, whose source is its text.
    pub plain: bool,
}

/// What a scalar stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScalarKind {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Number,
    /// A text.
    Text,
}

/// One key of a mapping and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key's text.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The scalar, if this is one.
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.value {
            NodeValue::Scalar(scalar) => Some(scalar),
            NodeValue::List(_) | NodeValue::Map(_) => None,
        }
    }

    /// True for an explicit or implied null.
    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(|scalar| scalar.kind == ScalarKind::Null)
    }

    /// The entries, if this is a mapping.
    pub fn entries(&self) -> Option<&[Entry]> {
        match &self.value {
            NodeValue::Map(entries) => Some(entries),
            NodeValue::Scalar(_) | NodeValue::List(_) => None,
        }
    }

    /// The elements, if this is a sequence.
    pub fn elements(&self) -> Option<&[Node]> {
        match &self.value {
            NodeValue::List(elements) => Some(elements),
            NodeValue::Scalar(_) | NodeValue::Map(_) => None,
        }
    }

    /// True when a mapping in it has a key twice, so that nobody can say which was meant.
    pub fn has_repeated_key(&self) -> bool {
        match &self.value {
            NodeValue::Scalar(_) => false,
            NodeValue::List(elements) => elements.iter().any(Node::has_repeated_key),
            NodeValue::Map(entries) => {
                let mut seen = HashSet::new();
                entries.iter().any(|entry| !seen.insert(&entry.key) || entry.value.has_repeated_key())
            }
        }
    }

    fn count(&self) -> usize {
        match &self.value {
            NodeValue::Scalar(_) => 1,
            NodeValue::List(elements) => 1 + elements.iter().map(Node::count).sum::<usize>(),
            NodeValue::Map(entries) => 1 + entries.iter().map(|entry| entry.value.count()).sum::<usize>(),
        }
    }

    /// Says why the tree is more than a definition may be, if it is.
    pub fn excess(&self) -> Option<String> {
        if self.count() > NODES_MAX {
            return Some(format!("more than {NODES_MAX} values"));
        }
        (self.depth() > DEPTH_MAX).then(|| format!("nested deeper than {DEPTH_MAX} levels"))
    }

    fn depth(&self) -> usize {
        match &self.value {
            NodeValue::Scalar(_) => 0,
            NodeValue::List(elements) => 1 + elements.iter().map(Node::depth).max().unwrap_or(0),
            NodeValue::Map(entries) => 1 + entries.iter().map(|entry| entry.value.depth()).max().unwrap_or(0),
        }
    }

    /// What to call this kind of value in a message.
    pub fn kind_name(&self) -> &'static str {
        match &self.value {
            NodeValue::List(_) => "a list",
            NodeValue::Map(_) => "a mapping",
            NodeValue::Scalar(scalar) => match scalar.kind {
                ScalarKind::Null => "nothing",
                ScalarKind::Bool(_) => "true or false",
                ScalarKind::Number => "a number",
                ScalarKind::Text => "a text",
            },
        }
    }

    /// The value without its spans; of repeated keys the last counts.
    pub fn to_json(&self) -> Value {
        match &self.value {
            NodeValue::List(elements) => Value::Array(elements.iter().map(Node::to_json).collect()),
            NodeValue::Map(entries) => {
                let mut map = Map::new();
                for entry in entries {
                    map.insert(entry.key.clone(), entry.value.to_json());
                }
                Value::Object(map)
            }
            NodeValue::Scalar(scalar) => scalar.to_json(),
        }
    }
}

impl Scalar {
    /// A text scalar.
    pub fn text(text: impl Into<String>) -> Scalar {
        Scalar { text: text.into(), kind: ScalarKind::Text, plain: false }
    }

    /// An unquoted scalar, read by the core schema of YAML 1.2.
    pub fn plain(text: impl Into<String>) -> Scalar {
        let text = text.into();
        let kind = match text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => ScalarKind::Null,
            "true" | "True" | "TRUE" => ScalarKind::Bool(true),
            "false" | "False" | "FALSE" => ScalarKind::Bool(false),
            other if number(other).is_some() => ScalarKind::Number,
            _ => ScalarKind::Text,
        };
        Scalar { text, kind, plain: true }
    }

    fn to_json(&self) -> Value {
        match self.kind {
            ScalarKind::Null => Value::Null,
            ScalarKind::Bool(value) => Value::Bool(value),
            ScalarKind::Number => number(&self.text).map_or(Value::String(self.text.clone()), Value::Number),
            ScalarKind::Text => Value::String(self.text.clone()),
        }
    }
}

/// A finite number as JSON has it, from the spellings of YAML, JSON and TOML.
fn number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = unsigned.strip_prefix(prefix) {
            return i64::from_str_radix(&rest.replace('_', ""), radix).ok().map(Number::from);
        }
    }
    if let Ok(value) = digits.parse::<i64>() {
        return Some(Number::from(value));
    }
    if !digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')) {
        return None;
    }
    digits.parse::<f64>().ok().and_then(Number::from_f64)
}
