//! The rules of `OpenAI` Chat Completions.

use serde_json::Value;

use super::super::Received;
use super::openai_tools::{self, check_function, check_key, check_stream_options, is_arguments};
use super::{Found, is_name, list, repeated, text};

const ROLES: [&str; 5] = ["system", "developer", "user", "assistant", "tool"];
const PARTS: [&str; 5] = ["text", "image_url", "input_audio", "file", "refusal"];

pub(super) fn check(request: &Received, found: &mut Found) {
    let body = &request.body;
    check_key(request.header("authorization"), found);
    if text(&body["model"]).is_empty() {
        found.refuse("you must provide a model parameter");
    }
    check_stream_options(body, found);
    if body.get("max_tokens").is_some() && body.get("max_completion_tokens").is_some() {
        found.refuse("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.");
    }
    check_tools(body, found);
    check_choice(body, found);
    match &body["messages"] {
        Value::Array(messages) if !messages.is_empty() => {
            for (index, message) in messages.iter().enumerate() {
                check_message(message, index, found);
            }
            check_results(messages, found);
        }
        Value::Array(_) => {
            found.refuse("Invalid 'messages': empty array. Expected an array with minimum length 1.");
        }
        _ => found.refuse("Missing required parameter: 'messages'."),
    }
}

fn check_tools(body: &Value, found: &mut Found) {
    let tools = match &body["tools"] {
        Value::Null => return,
        Value::Array(tools) if !tools.is_empty() => tools,
        _ => return found.refuse("Invalid 'tools': empty array. Expected an array with minimum length 1."),
    };
    for (index, tool) in tools.iter().enumerate() {
        if tool["type"] != "function" {
            found.refuse(format!(
                "Invalid value: '{}'. 'tools[{index}].type' must be 'function'.",
                tool["type"]
            ));
        } else if tool["function"].is_object() {
            check_function(&tool["function"], &format!("tools[{index}].function"), found);
        } else {
            found.refuse(format!("Missing required parameter: 'tools[{index}].function'."));
        }
    }
    if let Some(name) = repeated(openai_tools::names(body, Some("function"))) {
        found.refuse(format!("Invalid 'tools': function name '{name}' is not unique."));
    }
}

fn check_choice(body: &Value, found: &mut Found) {
    let names = openai_tools::names(body, Some("function"));
    for key in ["tool_choice", "parallel_tool_calls"] {
        if body.get(key).is_some_and(|value| !value.is_null()) && names.is_empty() {
            found.refuse(format!(
                "Invalid value for '{key}': '{key}' is only allowed when 'tools' are specified."
            ));
        }
    }
    match &body["tool_choice"] {
        Value::Null => {}
        Value::String(mode) => found.require(["none", "auto", "required"].contains(&mode.as_str()), || {
            format!("Invalid value: '{mode}'. 'tool_choice' must be 'none', 'auto' or 'required'.")
        }),
        choice => {
            let name = text(&choice["function"]["name"]);
            found.require(choice["type"] == "function" && names.contains(&name), || {
                format!("Invalid value for 'tool_choice': function '{name}' is not in 'tools'.")
            });
        }
    }
}

fn check_message(message: &Value, index: usize, found: &mut Found) {
    let at = format!("messages[{index}]");
    let role = text(&message["role"]);
    if !ROLES.contains(&role) {
        found.refuse(format!("Invalid value: '{role}'. '{at}.role' must be one of {ROLES:?}."));
    }
    let calls = message.get("tool_calls").is_some_and(|value| !value.is_null());
    let refusal = message["refusal"].is_string();
    match &message["content"] {
        Value::String(_) => {}
        Value::Array(parts) => {
            for (part_index, part) in parts.iter().enumerate() {
                let kind = text(&part["type"]);
                found.require(PARTS.contains(&kind), || {
                    format!("Invalid value: '{kind}'. '{at}.content[{part_index}].type' is not supported.")
                });
                found.require(kind != "text" || part["text"].is_string(), || {
                    format!("Missing required parameter: '{at}.content[{part_index}].text'.")
                });
            }
            found.require(!parts.is_empty(), || format!("Invalid '{at}.content': empty array."));
        }
        Value::Null if role == "assistant" && (calls || refusal) => {}
        _ => found.refuse(format!("Invalid value for 'content' of '{at}': expected a string, got null.")),
    }
    if calls {
        check_calls(message, &at, found);
    }
    if role == "tool" && text(&message["tool_call_id"]).is_empty() {
        found.refuse(format!("Missing required parameter: '{at}.tool_call_id'."));
    }
}

fn check_calls(message: &Value, at: &str, found: &mut Found) {
    found.require(message["role"] == "assistant", || format!("Unknown parameter: '{at}.tool_calls'."));
    let calls = list(&message["tool_calls"]);
    found.require(!calls.is_empty(), || {
        format!("Invalid '{at}.tool_calls': empty array. Expected an array with minimum length 1.")
    });
    for (index, call) in calls.iter().enumerate() {
        let at = format!("{at}.tool_calls[{index}]");
        let function = &call["function"];
        found.require(call["type"] == "function", || format!("Missing required parameter: '{at}.type'."));
        found.require(!text(&call["id"]).is_empty(), || format!("Missing required parameter: '{at}.id'."));
        found.require(is_name(text(&function["name"]), 64), || {
            format!("Invalid '{at}.function.name': string does not match pattern '^[a-zA-Z0-9_-]{{1,64}}$'.")
        });
        found.require(is_arguments(&function["arguments"]), || {
            format!("Invalid '{at}.function.arguments': expected a string with a JSON object.")
        });
    }
    if let Some(id) = repeated(calls.iter().map(|call| text(&call["id"]))) {
        found.refuse(format!("Duplicate value for 'tool_call_id' of '{id}' in '{at}'."));
    }
}

/// The results of a message's calls come directly after it, in any order.
fn check_results(messages: &[Value], found: &mut Found) {
    let mut open: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = text(&message["tool_call_id"]);
            match open.iter().position(|call| *call == id) {
                Some(at) => drop(open.remove(at)),
                None => found.refuse(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding \
                     message with \
                     'tool_calls': messages[{index}] answers '{id}'."
                )),
            }
            continue;
        }
        refuse_unanswered(&open, found);
        open = list(&message["tool_calls"]).iter().map(|call| text(&call["id"])).collect();
    }
    refuse_unanswered(&open, found);
}

fn refuse_unanswered(ids: &[&str], found: &mut Found) {
    if !ids.is_empty() {
        found.refuse(format!(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each \
             'tool_call_id'. The following tool_call_ids did not have response messages: {}",
            ids.join(", ")
        ));
    }
}
