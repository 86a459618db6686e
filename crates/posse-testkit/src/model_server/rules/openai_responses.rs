//! The rules of `OpenAI` Responses for everything but the input items.

use serde_json::Value;

use super::super::Received;
use super::openai_tools::{self, check_function, check_key, check_stream_options};
use super::{Found, list, repeated, responses_input, text, unknown_keys};

const KEYS: [&str; 29] = [
    "background",
    "context_management",
    "conversation",
    "include",
    "input",
    "instructions",
    "max_output_tokens",
    "max_tool_calls",
    "metadata",
    "model",
    "parallel_tool_calls",
    "previous_response_id",
    "prompt",
    "prompt_cache_key",
    "prompt_cache_retention",
    "reasoning",
    "safety_identifier",
    "service_tier",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "text",
    "tool_choice",
    "tools",
    "top_logprobs",
    "top_p",
    "truncation",
    "user",
];
const INCLUDES: [&str; 7] = [
    "reasoning.encrypted_content",
    "file_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "message.output_text.logprobs",
];
const FUNCTION_KEYS: [&str; 6] = ["type", "name", "description", "parameters", "strict", "defer_loading"];
const TOOL_TYPES: [&str; 9] = [
    "function",
    "custom",
    "web_search",
    "file_search",
    "code_interpreter",
    "image_generation",
    "mcp",
    "local_shell",
    "apply_patch",
];
const EFFORTS: [&str; 6] = ["none", "minimal", "low", "medium", "high", "xhigh"];
const SUMMARIES: [&str; 3] = ["auto", "concise", "detailed"];
const OUTPUT_TOKENS_MIN: u64 = 16;

pub(super) fn check(request: &Received, found: &mut Found) {
    let body = &request.body;
    check_key(request.header("authorization"), found);
    for key in unknown_keys(body, &KEYS) {
        found.refuse(format!("Unknown parameter: '{key}'."));
    }
    if text(&body["model"]).is_empty() {
        found.refuse("Missing required parameter: 'model'.");
    }
    if body["max_output_tokens"].as_u64().is_some_and(|tokens| tokens < OUTPUT_TOKENS_MIN) {
        found.refuse("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.");
    }
    if let Some(id) = body["previous_response_id"].as_str() {
        found.refuse(format!("Previous response with id '{id}' not found."));
    }
    for value in list(&body["include"]).iter().filter(|value| !INCLUDES.contains(&text(value))) {
        found.refuse(format!("Invalid value: {value}. 'include' does not know it."));
    }
    check_stream_options(body, found);
    check_reasoning(&body["reasoning"], found);
    check_tools(body, found);
    check_choice(body, found);
    responses_input::check(body, found);
}

fn check_reasoning(reasoning: &Value, found: &mut Found) {
    for key in unknown_keys(reasoning, &["effort", "summary", "generate_summary"]) {
        found.refuse(format!("Unknown parameter: 'reasoning.{key}'."));
    }
    for (key, known) in [("effort", &EFFORTS[..]), ("summary", &SUMMARIES[..])] {
        let value = &reasoning[key];
        if !value.is_null() && !known.contains(&text(value)) {
            found.refuse(format!("Invalid value: {value}. 'reasoning.{key}' must be one of {known:?}."));
        }
    }
}

fn check_tools(body: &Value, found: &mut Found) {
    if body.get("tools").is_some_and(|tools| !tools.is_array() && !tools.is_null()) {
        found.refuse("Invalid type for 'tools': expected an array of tools.");
    }
    for (index, tool) in list(&body["tools"]).iter().enumerate() {
        let at = format!("tools[{index}]");
        let kind = text(&tool["type"]);
        if !TOOL_TYPES.contains(&kind) {
            found.refuse(format!("Invalid value: '{kind}'. '{at}.type' must be one of {TOOL_TYPES:?}."));
        }
        if kind == "function" {
            check_function(tool, &at, found);
            for key in unknown_keys(tool, &FUNCTION_KEYS) {
                found.refuse(format!("Unknown parameter: '{at}.{key}'."));
            }
        }
    }
    if let Some(name) = repeated(openai_tools::names(body, None)) {
        found.refuse(format!("Invalid 'tools': function name '{name}' is not unique."));
    }
}

fn check_choice(body: &Value, found: &mut Found) {
    let tools = list(&body["tools"]);
    match &body["tool_choice"] {
        Value::Null => {}
        Value::String(mode) => match mode.as_str() {
            "none" | "auto" => {}
            "required" => found.require(!tools.is_empty(), || {
                "Tool choice 'required' must be specified with 'tools' parameter.".into()
            }),
            _ => found.refuse(format!(
                "Invalid value: '{mode}'. 'tool_choice' must be 'none', 'auto' or 'required'."
            )),
        },
        choice => {
            let fits = |tool: &Value| {
                tool["type"] == choice["type"]
                    && (choice.get("name").is_none() || tool["name"] == choice["name"])
            };
            let named = choice["type"] != "function" || choice["name"].is_string();
            found.require(named && tools.iter().any(fits), || {
                format!("Tool choice '{}' not found in 'tools' parameter.", text(&choice["name"]))
            });
        }
    }
}
