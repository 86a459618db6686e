//! What both `OpenAI` APIs demand of a tool and of the choice between tools.

use serde_json::Value;

use super::{Found, is_name, list, schema, text};

/// Checks one function; `place` is where its fields are.
pub(super) fn check_function(function: &Value, place: &str, found: &mut Found) {
    let name = text(&function["name"]);
    if function.get("name").is_none() {
        found.refuse(format!("Missing required parameter: '{place}.name'."));
    } else if !is_name(name, 64) {
        found.refuse(format!(
            "Invalid '{place}.name': string does not match pattern. Expected a string that matches the \
             pattern \
             '^[a-zA-Z0-9_-]{{1,64}}$'."
        ));
    }
    let Some(parameters) = function.get("parameters").filter(|value| !value.is_null()) else { return };
    let mut problems = schema::problems(parameters);
    if function["strict"] == Value::Bool(true) {
        problems.extend(schema::strict_problems(parameters));
    }
    for problem in problems {
        found.refuse(format!("Invalid schema for function '{name}': {problem}"));
    }
}

/// Checks the bearer token.
pub(super) fn check_key(header: Option<&str>, found: &mut Found) {
    let token = header.and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default();
    if token.trim().is_empty() {
        found.refuse_key(401, "You didn't provide an API key.");
    }
}

/// Checks that options of a stream come with a stream.
pub(super) fn check_stream_options(body: &Value, found: &mut Found) {
    let options = body.get("stream_options").is_some_and(|value| !value.is_null());
    if options && body["stream"] != Value::Bool(true) {
        found.refuse("The 'stream_options' parameter is only allowed when 'stream' is enabled.");
    }
}

/// The names of the functions among the tools; `inner` is where a tool keeps its function.
pub(super) fn names<'a>(body: &'a Value, inner: Option<&str>) -> Vec<&'a str> {
    let function = |tool: &'a Value| inner.map_or(tool, |key| &tool[key]);
    list(&body["tools"])
        .iter()
        .map(|tool| text(&function(tool)["name"]))
        .filter(|name| !name.is_empty())
        .collect()
}

/// Whether a text is the JSON of an object, as arguments are.
pub(super) fn is_arguments(value: &Value) -> bool {
    value
        .as_str()
        .is_some_and(|text| serde_json::from_str::<Value>(text).is_ok_and(|parsed| parsed.is_object()))
}
