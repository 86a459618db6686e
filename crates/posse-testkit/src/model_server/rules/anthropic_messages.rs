//! The rules of Anthropic Messages for the conversation: roles, blocks, and calls with their results.

use std::collections::HashSet;

use serde_json::Value;

use super::super::anthropic::thinking_is_on;
use super::super::issued::{Tag, is_signature, sign};
use super::{Found, is_name, list, text, unknown_keys};

/// The blocks that a message may have, who may send them, and their fields.
const BLOCKS: [(&str, Who, &[&str]); 8] = [
    ("text", Who::Both, &["type", "text", "cache_control", "citations"]),
    ("image", Who::User, &["type", "source", "cache_control"]),
    ("document", Who::User, &["type", "source", "cache_control", "citations", "context", "title"]),
    ("search_result", Who::User, &["type", "source", "title", "content", "citations", "cache_control"]),
    ("tool_use", Who::Assistant, &["type", "id", "name", "input", "cache_control", "caller"]),
    ("tool_result", Who::User, &["type", "tool_use_id", "content", "is_error", "cache_control"]),
    ("thinking", Who::Assistant, &["type", "thinking", "signature"]),
    ("redacted_thinking", Who::Assistant, &["type", "data"]),
];
const RESULT_BLOCKS: [&str; 4] = ["text", "image", "document", "search_result"];
const THINKING_BLOCKS: [&str; 2] = ["thinking", "redacted_thinking"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    User,
    Assistant,
    Both,
}

pub(super) fn check(body: &Value, found: &mut Found) {
    let messages = match &body["messages"] {
        Value::Array(messages) if !messages.is_empty() => messages,
        Value::Array(_) => return found.refuse("messages: at least one message is required"),
        _ => return found.refuse("messages: Field required"),
    };
    check_roles(messages, found);
    for (index, message) in messages.iter().enumerate() {
        let last = index + 1 == messages.len();
        check_message(message, &format!("messages.{index}"), last, found);
    }
    check_results(messages, found);
    check_loop_thinking(body, messages, found);
    let uses_tools = |message: &Value| {
        list(&message["content"])
            .iter()
            .any(|block| block["type"] == "tool_use" || block["type"] == "tool_result")
    };
    if messages.iter().any(uses_tools) && list(&body["tools"]).is_empty() {
        found.refuse("Requests which have `tool_use` or `tool_result` blocks must define tools");
    }
}

/// A text must have something in it that can be seen.
pub(super) fn check_text(value: &Value, at: &str, found: &mut Found) {
    match value {
        Value::String(text) if text.is_empty() => {
            found.refuse(format!("{at}: text content blocks must be non-empty"));
        }
        Value::String(text) if text.trim().is_empty() => {
            found.refuse(format!("{at}: text content blocks must contain non-whitespace text"));
        }
        Value::String(_) => {}
        _ => found.refuse(format!("{at}.text: Field required")),
    }
}

fn check_roles(messages: &[Value], found: &mut Found) {
    if messages[0]["role"] != "user" {
        found.refuse("messages: first message must use the \"user\" role");
    }
    for (index, message) in messages.iter().enumerate() {
        match message["role"].as_str() {
            Some("user" | "assistant") => {}
            Some(role) => found.refuse(format!("messages: Unexpected role \"{role}\"")),
            None => found.refuse(format!("messages.{index}.role: Field required")),
        }
        if index > 0 && message["role"] == messages[index - 1]["role"] {
            found
                .refuse(format!("messages.{index}: roles must alternate between \"user\" and \"assistant\""));
        }
    }
}

fn check_message(message: &Value, at: &str, last: bool, found: &mut Found) {
    for key in unknown_keys(message, &["role", "content"]) {
        found.refuse(format!("{at}.{key}: Extra inputs are not permitted"));
    }
    let by_assistant = message["role"] == "assistant";
    let ending = match &message["content"] {
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => {
            check_text(&message["content"], at, found);
            Some(text.as_str())
        }
        Value::Array(blocks) if blocks.is_empty() => None,
        Value::Array(blocks) => {
            check_blocks(blocks, at, by_assistant, found);
            blocks.last().map(|block| text(&block["text"]))
        }
        _ => return found.refuse(format!("{at}.content: Input should be a valid string or list")),
    };
    match ending {
        None if !(last && by_assistant) => {
            found.refuse(format!("{at}: all messages must have non-empty content"));
        }
        Some(text) if last && by_assistant && text.ends_with(char::is_whitespace) => {
            found.refuse("messages: final assistant content cannot end with trailing whitespace");
        }
        None | Some(_) => {}
    }
}

fn check_blocks(blocks: &[Value], at: &str, by_assistant: bool, found: &mut Found) {
    let mut thinking_over = false;
    for (index, block) in blocks.iter().enumerate() {
        let at = format!("{at}.content.{index}");
        let kind = text(&block["type"]);
        let Some((_, who, keys)) = BLOCKS.iter().find(|(name, _, _)| *name == kind) else {
            found.refuse(format!(
                "{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
            ));
            continue;
        };
        if (*who == Who::User && by_assistant) || (*who == Who::Assistant && !by_assistant) {
            found.refuse(format!("{at}: `{kind}` blocks are not permitted in this role"));
        }
        for key in unknown_keys(block, keys) {
            found.refuse(format!("{at}.{kind}.{key}: Extra inputs are not permitted"));
        }
        if THINKING_BLOCKS.contains(&kind) && thinking_over {
            found.refuse(format!("{at}: `{kind}` blocks must come first in a message"));
        }
        thinking_over |= !THINKING_BLOCKS.contains(&kind);
        check_block(block, &at, found);
    }
}

fn check_block(block: &Value, at: &str, found: &mut Found) {
    match text(&block["type"]) {
        "text" => check_text(&block["text"], at, found),
        "thinking" => {
            let (thinking, signature) = (text(&block["thinking"]), text(&block["signature"]));
            // Thinking that was left out of the answer comes back without its text.
            let issued = sign(thinking) == signature || (thinking.is_empty() && is_signature(signature));
            found.require(issued, || format!("{at}: Invalid `signature` in `thinking` block"));
        }
        "tool_use" => {
            found.require(is_name(text(&block["id"]), usize::MAX), || {
                format!("{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
            });
            found.require(is_name(text(&block["name"]), 128), || {
                format!("{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
            });
            found.require(block["input"].is_object(), || {
                format!("{at}.tool_use.input: Input should be a valid dictionary")
            });
        }
        "tool_result" => check_result(block, at, found),
        _ => {}
    }
}

fn check_result(block: &Value, at: &str, found: &mut Found) {
    let content = &block["content"];
    match content {
        Value::Null | Value::String(_) => {}
        Value::Array(inner) => {
            for (index, inner) in inner.iter().enumerate() {
                let at = format!("{at}.tool_result.content.{index}");
                let kind = text(&inner["type"]);
                if !RESULT_BLOCKS.contains(&kind) {
                    found.refuse(format!("{at}: Input tag '{kind}' does not match any of the expected tags"));
                } else if kind == "text" {
                    check_text(&inner["text"], &at, found);
                }
            }
        }
        _ => found.refuse(format!("{at}.tool_result.content: Input should be a valid string or list")),
    }
    let empty = text(content).is_empty() && list(content).is_empty();
    if empty && block["is_error"] == Value::Bool(true) {
        found.refuse(format!("{at}.tool_result: content cannot be empty if `is_error` is true"));
    }
}

/// Every call is answered in the very next message, before anything else is said there.
fn check_results(messages: &[Value], found: &mut Found) {
    let mut every_id = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let blocks = list(&message["content"]);
        let of = |kind: &str, field: &str| -> Vec<&str> {
            blocks.iter().filter(|block| block["type"] == kind).map(|block| text(&block[field])).collect()
        };
        check_answers(index, &open, &of("tool_result", "tool_use_id"), found);
        let answers = blocks.iter().take_while(|block| block["type"] == "tool_result").count();
        if answers < of("tool_result", "type").len() && !open.is_empty() {
            found.refuse(format!("messages.{index}: `tool_result` blocks must come first in the message"));
        }
        open = of("tool_use", "id");
        for id in &open {
            if !every_id.insert(*id) {
                found.refuse(format!("messages.{index}: `tool_use` ids must be unique, `{id}` is not"));
            }
        }
    }
    if !open.is_empty() {
        refuse_unanswered(messages.len() - 1, &open, found);
    }
}

fn check_answers(index: usize, calls: &[&str], answers: &[&str], found: &mut Found) {
    let unanswered: Vec<&str> = calls.iter().filter(|id| !answers.contains(id)).copied().collect();
    if !unanswered.is_empty() {
        refuse_unanswered(index - 1, &unanswered, found);
    }
    for id in answers.iter().filter(|id| !calls.contains(id)) {
        found.refuse(format!(
            "messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each \
             `tool_result` \
             block must have a corresponding `tool_use` block in the previous message."
        ));
    }
    if let Some(id) = super::repeated(answers.iter().copied()) {
        found.refuse(format!(
            "messages.{index}: each tool_use must have a single result. Found multiple for {id}"
        ));
    }
}

fn refuse_unanswered(index: usize, ids: &[&str], found: &mut Found) {
    let ids = ids.join(", ");
    found.refuse(format!(
        "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: \
         {ids}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message."
    ));
}

/// A call that came with thinking goes back with it for as long as its results are being worked on.
fn check_loop_thinking(body: &Value, messages: &[Value], found: &mut Found) {
    if !thinking_is_on(body) {
        return;
    }
    let is_question = |message: &Value| {
        message["role"] == "user"
            && !list(&message["content"]).iter().any(|block| block["type"] == "tool_result")
    };
    let begin = messages.iter().rposition(is_question).unwrap_or(0);
    for (index, message) in messages.iter().enumerate().skip(begin) {
        let blocks = list(&message["content"]);
        let thought = |block: &Value| Tag::read(text(&block["id"]), "toolu").is_some_and(|tag| tag.thought());
        let first = blocks.first().map(|block| text(&block["type"])).unwrap_or_default();
        if blocks.iter().any(thought) && !THINKING_BLOCKS.contains(&first) {
            found.refuse(format!(
                "messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
                 `{first}`"
            ));
        }
    }
}
