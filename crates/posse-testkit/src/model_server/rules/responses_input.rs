//! The rules of `OpenAI` Responses for the input items: calls with their outputs, reasoning with its item.

use std::collections::HashMap;

use serde_json::Value;

use super::super::issued::Tag;
use super::super::openai_responses::{BEFORE_CALL, BEFORE_MESSAGE, encrypted, includes_encrypted};
use super::openai_tools::is_arguments;
use super::{Found, is_name, list, text, unknown_keys};

/// The items that an input may have, how their ids begin, and their fields.
const ITEMS: [(&str, &str, &[&str]); 4] = [
    ("message", "msg", &["type", "role", "content", "id", "status", "phase"]),
    ("function_call", "fc", &["type", "id", "call_id", "name", "arguments", "status"]),
    ("function_call_output", "fc", &["type", "id", "call_id", "output", "status"]),
    ("reasoning", "rs", &["type", "id", "summary", "content", "encrypted_content", "status"]),
];
const INPUT_PARTS: [&str; 3] = ["input_text", "input_image", "input_file"];
const OUTPUT_PARTS: [&str; 2] = ["output_text", "refusal"];

pub(super) fn check(body: &Value, found: &mut Found) {
    let items = match &body["input"] {
        Value::String(_) => return,
        Value::Array(items) if !items.is_empty() => items,
        Value::Array(_) => return found.refuse("Invalid 'input': empty array."),
        _ => return found.refuse("Missing required parameter: 'input'."),
    };
    for (index, item) in items.iter().enumerate() {
        let at = format!("input[{index}]");
        let kind = kind(item);
        match ITEMS.iter().find(|(name, _, _)| *name == kind) {
            Some((_, prefix, keys)) => check_item(item, &at, (prefix, keys), found),
            None => found.refuse(format!("Invalid value: '{kind}'. '{at}.type' is not supported.")),
        }
        if kind == "reasoning" {
            check_reasoning(body, items, index, found);
        }
        if kind == "function_call" || kind == "message" {
            check_needs_reasoning(items, index, found);
        }
    }
    check_outputs(items, found);
}

/// A message may leave its type out.
fn kind(item: &Value) -> &str {
    match &item["type"] {
        Value::Null if item["role"].is_string() => "message",
        kind => text(kind),
    }
}

fn check_item(item: &Value, at: &str, (prefix, keys): (&str, &[&str]), found: &mut Found) {
    for key in unknown_keys(item, keys) {
        found.refuse(format!("Unknown parameter: '{at}.{key}'."));
    }
    if let Some(id) = item["id"].as_str().filter(|id| !id.starts_with(prefix)) {
        found.refuse(format!("Invalid '{at}.id': '{id}'. Expected an ID that begins with '{prefix}'."));
    }
    match kind(item) {
        "message" => check_message(item, at, found),
        "function_call" => {
            found.require(!text(&item["call_id"]).is_empty(), || missing(at, "call_id"));
            found.require(is_name(text(&item["name"]), 64), || {
                format!("Invalid '{at}.name': string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'.")
            });
            found.require(is_arguments(&item["arguments"]), || {
                format!("Invalid '{at}.arguments': expected a string with a JSON object.")
            });
        }
        "function_call_output" => {
            found.require(!text(&item["call_id"]).is_empty(), || missing(at, "call_id"));
            let parts = list(&item["output"]);
            let known = parts.iter().all(|part| INPUT_PARTS.contains(&text(&part["type"])));
            found.require(item["output"].is_string() || (!parts.is_empty() && known), || {
                format!("Invalid type for '{at}.output': expected a string or an array of input parts.")
            });
        }
        _ => {}
    }
}

fn check_message(item: &Value, at: &str, found: &mut Found) {
    let role = text(&item["role"]);
    let known = match role {
        "user" | "system" | "developer" => &INPUT_PARTS[..],
        "assistant" => &OUTPUT_PARTS[..],
        _ => return found.refuse(format!("Invalid value: '{role}'. '{at}.role' is not supported.")),
    };
    match &item["content"] {
        Value::String(_) => {}
        Value::Array(parts) => {
            for (index, part) in parts.iter().enumerate() {
                let kind = text(&part["type"]);
                found.require(known.contains(&kind), || {
                    format!(
                        "Invalid value: '{kind}'. Supported values of '{at}.content[{index}].type' \
                             are: {known:?}."
                    )
                });
            }
        }
        _ => found.refuse(missing(at, "content")),
    }
}

/// Reasoning comes back as it was issued, and before the item that it led to.
fn check_reasoning(body: &Value, items: &[Value], index: usize, found: &mut Found) {
    let (item, at) = (&items[index], format!("input[{index}]"));
    let id = text(&item["id"]);
    let Some(tag) = Tag::read(id, "rs") else {
        return found.refuse(format!("Invalid '{at}.id': '{id}' is not the id of a reasoning item."));
    };
    found.require(item["summary"].is_array(), || missing(&at, "summary"));
    if body["store"] == Value::Bool(false) {
        found.require(includes_encrypted(body), || {
            format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false: \
                 'include' must have 'reasoning.encrypted_content'."
            )
        });
        found.require(item["encrypted_content"].is_string(), || {
            format!("Item with id '{id}' not found. Items are not persisted when `store` is set to false.")
        });
    }
    if item["encrypted_content"].as_str().is_some_and(|content| content != encrypted(id)) {
        found.refuse(format!("The encrypted content for item {id} could not be verified."));
    }
    let follows = items.get(index + 1).is_some_and(|next| match kind(next) {
        "function_call" => {
            id == tag.item_id("rs", BEFORE_CALL) && Tag::read(text(&next["call_id"]), "call") == Some(tag)
        }
        "message" => {
            id == tag.item_id("rs", BEFORE_MESSAGE)
                && next["role"] == "assistant"
                && next["id"].as_str().is_none_or(|next| next == tag.id("msg"))
        }
        _ => false,
    });
    found.require(follows, || {
        format!("Item '{id}' of type 'reasoning' was provided without its required following item.")
    });
}

/// An item that is named by its id needs the reasoning that led to it: a call anywhere before it, a message
/// directly before it.
fn check_needs_reasoning(items: &[Value], index: usize, found: &mut Found) {
    let (id, kind) = (text(&items[index]["id"]), kind(&items[index]));
    let (prefix, begin) = if kind == "message" { ("msg", index.saturating_sub(1)) } else { ("fc", 0) };
    let Some(tag) = Tag::read(id, prefix).filter(Tag::thought) else { return };
    let of_the_same = |item: &Value| Tag::read(text(&item["id"]), "rs").as_ref() == Some(&tag);
    found.require(items[begin..index].iter().any(of_the_same), || {
        let reasoning = tag.id("rs");
        format!(
            "Item '{id}' of type '{kind}' was provided without its required 'reasoning' item: '{reasoning}'."
        )
    });
}

/// Every call has one output after it, and no output is without its call.
fn check_outputs(items: &[Value], found: &mut Found) {
    let mut answered: HashMap<&str, bool> = HashMap::new();
    for item in items {
        let id = text(&item["call_id"]);
        match kind(item) {
            "function_call" => found.require(answered.insert(id, false).is_none(), || {
                format!("Duplicate function call with call_id {id}.")
            }),
            "function_call_output" => match answered.get_mut(id) {
                Some(done) if !*done => *done = true,
                Some(_) => found.refuse(format!("Duplicate function call output with call_id {id}.")),
                None => {
                    found.refuse(format!("No tool call found for function call output with call_id {id}."));
                }
            },
            _ => {}
        }
    }
    let calls = items.iter().filter(|item| kind(item) == "function_call").map(|item| text(&item["call_id"]));
    for id in calls.filter(|id| answered.get(id) == Some(&false)) {
        found.refuse(format!("No tool output found for function call {id}."));
    }
}

fn missing(at: &str, field: &str) -> String {
    format!("Missing required parameter: '{at}.{field}'.")
}
