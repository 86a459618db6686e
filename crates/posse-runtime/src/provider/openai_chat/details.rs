//! OpenRouter's `reasoning_details`, put together from their fragments.
//!
//! They go back as they came; nothing here looks into what they hold.

use serde_json::{Map, Value};

/// The fields that stream in pieces.
const STREAMED: [&str; 3] = ["text", "summary", "data"];

/// The blocks of one answer in the order they began.
#[derive(Debug, Default)]
pub(super) struct Details {
    blocks: Vec<Map<String, Value>>,
}

impl Details {
    /// Takes one fragment: the next piece of the latest block of its index, or a new block. The index alone
    /// does not tell blocks apart, because OpenRouter streams all of them with 0.
    pub(super) fn add(&mut self, fragment: Map<String, Value>) {
        let latest = self.blocks.iter_mut().rev().find(|block| block.get("index") == fragment.get("index"));
        match latest {
            Some(block) if continues(block, &fragment) => merge(block, fragment),
            Some(_) | None => self.blocks.push(fragment),
        }
    }

    /// All blocks, unless there is none.
    pub(super) fn into_value(self) -> Option<Value> {
        let blocks: Vec<_> = self.blocks.into_iter().map(Value::Object).collect();
        (!blocks.is_empty()).then_some(Value::Array(blocks))
    }
}

/// The words of a fragment that a person may read.
pub(super) fn words_of(fragment: &Map<String, Value>) -> &str {
    let words = ["text", "summary"].iter().find_map(|key| fragment.get(*key).and_then(Value::as_str));
    words.unwrap_or_default()
}

fn continues(block: &Map<String, Value>, fragment: &Map<String, Value>) -> bool {
    if block.get("type") != fragment.get("type") {
        return false;
    }
    let ids = (text_in(block, "id"), text_in(fragment, "id"));
    // Encrypted blocks come whole: only one that names itself again is continued.
    if fragment.contains_key("data") {
        return !ids.0.is_empty() && ids.0 == ids.1;
    }
    // A signature closes a block: words after it belong to the next.
    let is_closed = !text_in(block, "signature").is_empty() && !words_of(fragment).is_empty();
    !is_closed && (ids.0.is_empty() || ids.1.is_empty() || ids.0 == ids.1)
}

fn merge(block: &mut Map<String, Value>, fragment: Map<String, Value>) {
    for (key, value) in fragment {
        match (block.get_mut(&key), value) {
            (_, Value::Null) => {}
            (Some(Value::String(text)), Value::String(more)) if STREAMED.contains(&key.as_str()) => {
                text.push_str(&more);
            }
            (_, value) => {
                block.insert(key, value);
            }
        }
    }
}

fn text_in<'a>(block: &'a Map<String, Value>, key: &str) -> &'a str {
    block.get(key).and_then(Value::as_str).unwrap_or_default()
}
