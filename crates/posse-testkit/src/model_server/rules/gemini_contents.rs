//! The rules of Gemini for the contents: roles, parts, calls with their responses, and thought signatures.

use serde_json::Value;

use super::super::Received;
use super::super::gemini::{field, model, signs_always};
use super::super::issued::{is_signature, sign_call};
use super::gemini::refuse_unknown;
use super::{Found, list, text};

/// The fields of a part that hold what it is; a part has exactly one of them.
const DATA_KEYS: [&str; 13] = [
    "text",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
];
const OTHER_KEYS: [&str; 6] =
    ["thought", "thoughtSignature", "thought_signature", "videoMetadata", "partMetadata", "mediaResolution"];
/// What Google documents to send for a call that no Gemini model made.
const UNSIGNED: [&str; 2] = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

pub(super) fn check(request: &Received, found: &mut Found) {
    let contents = match &request.body["contents"] {
        Value::Array(contents) if !contents.is_empty() => contents,
        _ => return found.refuse("contents is not specified"),
    };
    if contents[0].get("role").is_some_and(|role| role != "user") {
        found.refuse("Please ensure that the first content is one with the role: user.");
    }
    for (index, content) in contents.iter().enumerate() {
        check_content(content, &format!("contents[{index}]"), found);
        check_calls(contents, index, found);
    }
    if signs_always(model(&request.path)) {
        check_signed(contents, found);
    }
}

fn check_content(content: &Value, at: &str, found: &mut Found) {
    refuse_unknown(content, &["role", "parts"], at, found);
    if content.get("role").is_some_and(|role| role != "user" && role != "model") {
        found.refuse("Please use a valid role: user, model.");
    }
    let parts = list(&content["parts"]);
    found.require(!parts.is_empty(), || format!("{at}.parts: must not be empty"));
    let mut calls = 0;
    for (index, part) in parts.iter().enumerate() {
        let at = format!("{at}.parts[{index}]");
        let known: Vec<&str> = DATA_KEYS.into_iter().chain(OTHER_KEYS).collect();
        refuse_unknown(part, &known, &at, found);
        let held = DATA_KEYS.iter().filter(|key| part.get(key).is_some()).count();
        found.require(held == 1, || {
            format!("{at}.data: required oneof field 'data' must have one initialized field")
        });
        check_signature(part, calls, &at, found);
        calls += usize::from(!call(part).is_null());
        check_part_data(part, &at, found);
    }
}

fn check_part_data(part: &Value, at: &str, found: &mut Found) {
    let (call, response) = (call(part), response(part));
    if !call.is_null() {
        refuse_unknown(call, &["id", "name", "args"], &format!("{at}.function_call"), found);
        found.require(!text(&call["name"]).is_empty(), || {
            format!("{at}.function_call.name: Name cannot be empty.")
        });
        found.require(call["args"].is_object() || call["args"].is_null(), || {
            format!("Invalid value at '{at}.function_call.args': Proto field is not a struct")
        });
    }
    if !response.is_null() {
        let at = format!("{at}.function_response");
        refuse_unknown(
            response,
            &["id", "name", "response", "parts", "scheduling", "willContinue"],
            &at,
            found,
        );
        found.require(!text(&response["name"]).is_empty(), || format!("{at}.name: Name cannot be empty."));
        found.require(response["response"].is_object(), || {
            format!("Invalid value at '{at}.response': Proto field is not a struct")
        });
    }
}

/// A signature stays on the part that it came with, which among calls is the first.
fn check_signature(part: &Value, calls_before: usize, at: &str, found: &mut Found) {
    let Some(signature) = signature(part).as_str() else { return };
    if UNSIGNED.contains(&signature) {
        return;
    }
    let call = call(part);
    let issued = if call.is_null() {
        is_signature(signature)
    } else {
        let arguments = call["args"].as_object().cloned().unwrap_or_default();
        calls_before == 0 && sign_call(text(&call["name"]), &arguments.into()) == signature
    };
    found.require(issued, || format!("{at}: Thought signature is not valid."));
}

/// Calls are answered in the next content: as many responses, with their names and ids, in order.
fn check_calls(contents: &[Value], index: usize, found: &mut Found) {
    let collect = |at: Option<usize>, get: fn(&Value) -> &Value| -> Vec<&Value> {
        let parts = at.and_then(|at| contents.get(at)).map_or(&[][..], |content| list(&content["parts"]));
        parts.iter().map(get).filter(|value| !value.is_null()).collect()
    };
    let responses = collect(Some(index), response);
    let before = index.checked_sub(1);
    if !responses.is_empty() && collect(before, call).is_empty() {
        found.refuse(
            "Please ensure that function response turn comes immediately after a function call turn.",
        );
    }
    let by_model = contents[index]["role"] == "model";
    found.require(responses.is_empty() || !by_model, || {
        format!("Please ensure that the function responses of contents[{index}] have the role: user.")
    });
    let calls = collect(Some(index), call);
    if calls.is_empty() {
        return;
    }
    found.require(by_model, || {
        format!("Please ensure that the function calls of contents[{index}] have the role: model.")
    });
    if before.is_none_or(|before| contents[before]["role"] == "model") {
        found.refuse(
            "Please ensure that function call turn comes immediately after a user turn or after a \
             function response \
             turn.",
        );
    }
    let answers = collect(Some(index + 1), response);
    if calls.len() != answers.len() {
        found.refuse(format!(
            "Please ensure that the number of function response parts is equal to the number of \
             function call parts of \
             the function call turn: contents[{index}] has {} calls and {} responses.",
            calls.len(),
            answers.len()
        ));
    }
    for (call, answer) in calls.iter().zip(answers) {
        let same = ["name", "id"].iter().all(|key| call[key] == answer[key]);
        found.require(same, || {
            format!(
                "contents[{index}]: the response to {} is for another call, {}",
                call["name"], answer["name"]
            )
        });
    }
}

/// In the current turn, the first call of every step carries its signature.
fn check_signed(contents: &[Value], found: &mut Found) {
    let is_question = |content: &Value| {
        content["role"] != "model" && list(&content["parts"]).iter().all(|part| response(part).is_null())
    };
    let begin = contents.iter().rposition(is_question).unwrap_or(0);
    for (index, content) in contents.iter().enumerate().skip(begin) {
        let first = list(&content["parts"]).iter().find(|part| !call(part).is_null());
        if let Some(part) = first.filter(|part| signature(part).is_null()) {
            let name = text(&call(part)["name"]);
            found.refuse(format!(
                "Function call is missing a thought_signature in functionCall parts: contents[{index}], \
                 `{name}`."
            ));
        }
    }
}

fn call(part: &Value) -> &Value {
    field(part, "functionCall", "function_call")
}

fn response(part: &Value) -> &Value {
    field(part, "functionResponse", "function_response")
}

fn signature(part: &Value) -> &Value {
    field(part, "thoughtSignature", "thought_signature")
}
