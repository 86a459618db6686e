//! The rules of Gemini for everything but the contents.
//!
//! The service takes every field in camel case and in snake case.

use serde_json::Value;

use super::super::Received;
use super::super::gemini::{field, model, query};
use super::{Found, fields, gemini_contents, gemini_schema, list, repeated, schema, text, unknown_keys};

const KEYS: [&str; 15] = [
    "contents",
    "tools",
    "toolConfig",
    "tool_config",
    "safetySettings",
    "safety_settings",
    "systemInstruction",
    "system_instruction",
    "generationConfig",
    "generation_config",
    "cachedContent",
    "cached_content",
    "model",
    "serviceTier",
    "service_tier",
];
const DECLARATION_KEYS: [&str; 9] = [
    "name",
    "description",
    "behavior",
    "parameters",
    "parametersJsonSchema",
    "parameters_json_schema",
    "response",
    "responseJsonSchema",
    "response_json_schema",
];
const MODES: [&str; 4] = ["AUTO", "ANY", "NONE", "VALIDATED"];

pub(super) fn check(request: &Received, found: &mut Found) {
    let body = &request.body;
    let key = request.header("x-goog-api-key").or(query(&request.path, "key"));
    let key = key.or(request.header("authorization"));
    if key.unwrap_or_default().is_empty() {
        found.refuse_key(
            403,
            "Method doesn't allow unregistered callers (callers without established identity).",
        );
    }
    if model(&request.path).is_empty() {
        found.refuse("the path names no model");
    }
    refuse_unknown(body, &KEYS, "", found);
    check_instruction(field(body, "systemInstruction", "system_instruction"), found);
    check_tools(body, found);
    check_tool_config(body, found);
    gemini_contents::check(request, found);
}

pub(super) fn refuse_unknown(value: &Value, known: &[&str], at: &str, found: &mut Found) {
    let place = if at.is_empty() { String::new() } else { format!(" at '{at}'") };
    for key in unknown_keys(value, known) {
        found.refuse(format!(
            "Invalid JSON payload received. Unknown name \"{key}\"{place}: Cannot find field."
        ));
    }
}

fn check_instruction(instruction: &Value, found: &mut Found) {
    if instruction.is_null() {
        return;
    }
    let parts = list(&instruction["parts"]);
    found.require(!parts.is_empty(), || "system_instruction.parts: must not be empty".into());
    for (index, part) in parts.iter().enumerate() {
        found.require(part["text"].is_string(), || {
            format!("system_instruction.parts[{index}]: must be a part with text")
        });
    }
}

fn check_tools(body: &Value, found: &mut Found) {
    let mut names = Vec::new();
    for (tool_index, tool) in list(&body["tools"]).iter().enumerate() {
        let declarations = list(field(tool, "functionDeclarations", "function_declarations"));
        for (index, declaration) in declarations.iter().enumerate() {
            let at = format!("tools[{tool_index}].function_declarations[{index}]");
            check_declaration(declaration, &at, found);
            names.push(text(&declaration["name"]));
        }
        found.require(fields(tool).next().is_some(), || format!("tools[{tool_index}]: is empty"));
    }
    if let Some(name) = repeated(names) {
        found.refuse(format!("Duplicate function declaration found: {name}"));
    }
}

fn check_declaration(declaration: &Value, at: &str, found: &mut Found) {
    refuse_unknown(declaration, &DECLARATION_KEYS, at, found);
    found.require(is_function_name(text(&declaration["name"])), || {
        format!(
            "{at}.name: Invalid function name. Must start with a letter or an underscore. Must be \
             alphanumeric \
             (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), with a maximum \
             length of 64."
        )
    });
    let (parameters, full) =
        (&declaration["parameters"], field(declaration, "parametersJsonSchema", "parameters_json_schema"));
    if !parameters.is_null() && !full.is_null() {
        found.refuse(format!("{at}: parameters and parameters_json_schema are mutually exclusive"));
    }
    if !parameters.is_null() {
        gemini_schema::check(parameters, &format!("{at}.parameters"), found);
    }
    if !full.is_null() {
        for problem in schema::problems(full) {
            found.refuse(format!("{at}.parameters_json_schema: {problem}"));
        }
    }
}

fn is_function_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    first && name.len() <= 64 && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
}

fn check_tool_config(body: &Value, found: &mut Found) {
    let config = field(body, "toolConfig", "tool_config");
    let calling = field(config, "functionCallingConfig", "function_calling_config");
    if calling.is_null() {
        return;
    }
    let mode = text(&calling["mode"]);
    if !calling["mode"].is_null() && !MODES.contains(&mode) {
        found.refuse(format!("Invalid value at 'tool_config.function_calling_config.mode', \"{mode}\""));
    }
    let declared = |name: &Value| {
        list(&body["tools"]).iter().any(|tool| {
            let declarations = list(field(tool, "functionDeclarations", "function_declarations"));
            declarations.iter().any(|declaration| declaration["name"] == *name)
        })
    };
    let allowed = list(field(calling, "allowedFunctionNames", "allowed_function_names"));
    if !allowed.is_empty() && !["ANY", "VALIDATED"].contains(&mode) {
        found.refuse(
            "allowed_function_names: must be set only when the function calling mode is ANY or VALIDATED",
        );
    }
    for name in allowed.iter().filter(|name| !declared(name)) {
        found.refuse(format!("allowed_function_names: {name} is not a declared function"));
    }
}
