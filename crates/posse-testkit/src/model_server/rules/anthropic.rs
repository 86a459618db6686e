//! The rules of Anthropic Messages for everything but the messages themselves.

use serde_json::Value;

use super::super::Received;
use super::super::anthropic::thinking_is_on;
use super::{Found, anthropic_messages, is_name, list, repeated, schema, text, unknown_keys};

const KEYS: [&str; 20] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "stream",
    "temperature",
    "top_k",
    "top_p",
    "stop_sequences",
    "metadata",
    "service_tier",
    "container",
    "context_management",
    "mcp_servers",
    "output_config",
    "cache_control",
    "inference_geo",
];
const TOOL_KEYS: [&str; 10] = [
    "type",
    "name",
    "description",
    "input_schema",
    "cache_control",
    "strict",
    "defer_loading",
    "allowed_callers",
    "input_examples",
    "eager_input_streaming",
];
const CACHE_MARKS_MAX: usize = 4;
const BUDGET_MIN: u64 = 1024;

pub(super) fn check(request: &Received, found: &mut Found) {
    let body = &request.body;
    if request.header("x-api-key").or(request.header("authorization")).is_none() {
        found.refuse_key(401, "x-api-key header is required");
    }
    if request.header("anthropic-version").is_none() {
        found.refuse("anthropic-version: header is required");
    }
    for key in unknown_keys(body, &KEYS) {
        found.refuse(format!("{key}: Extra inputs are not permitted"));
    }
    if text(&body["model"]).is_empty() {
        found.refuse("model: Field required");
    }
    match body["max_tokens"].as_u64() {
        None => found.refuse("max_tokens: Field required"),
        Some(0) => found.refuse("max_tokens: must be greater than or equal to 1"),
        Some(_) => {}
    }
    check_system(&body["system"], found);
    check_thinking(body, found);
    check_tools(body, found);
    check_tool_choice(body, found);
    anthropic_messages::check(body, found);
    check_cache_marks(body, found);
}

fn check_system(system: &Value, found: &mut Found) {
    match system {
        Value::Null => {}
        Value::String(text) if text.is_empty() => {
            found.refuse("system: text content blocks must be non-empty");
        }
        Value::String(_) => {}
        Value::Array(blocks) => {
            for (index, block) in blocks.iter().enumerate() {
                let at = format!("system.{index}");
                if block["type"] != "text" {
                    found.refuse(format!("{at}: Input should be a text block"));
                }
                anthropic_messages::check_text(&block["text"], &at, found);
            }
        }
        _ => found.refuse("system: Input should be a valid string or list"),
    }
}

fn check_thinking(body: &Value, found: &mut Found) {
    let thinking = &body["thinking"];
    match thinking["type"].as_str() {
        Some("enabled") => match thinking["budget_tokens"].as_u64() {
            None => found.refuse("thinking.enabled.budget_tokens: Field required"),
            Some(budget) => {
                found.require(budget >= BUDGET_MIN, || {
                    "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".into()
                });
                found.require(budget < body["max_tokens"].as_u64().unwrap_or(u64::MAX), || {
                    "`max_tokens` must be greater than `thinking.budget_tokens`".into()
                });
            }
        },
        Some("adaptive") => found.require(thinking.get("budget_tokens").is_none(), || {
            "thinking.adaptive.budget_tokens: Extra inputs are not permitted".into()
        }),
        Some("disabled") => {}
        None if thinking.is_null() => {}
        Some(_) | None => found.refuse("thinking: Input tag is not one of 'enabled', 'adaptive', 'disabled'"),
    }
    if !thinking_is_on(body) {
        return;
    }
    if body.get("temperature").is_some_and(|value| value.as_f64() != Some(1.0)) {
        found.refuse("`temperature` may only be set to 1 when thinking is enabled");
    }
    if body.get("top_k").is_some() {
        found.refuse("`top_k` must be unset when thinking is enabled");
    }
    if body["top_p"].as_f64().is_some_and(|value| !(0.95..=1.0).contains(&value)) {
        found.refuse("`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled");
    }
    if matches!(body["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        found.refuse("Thinking may not be enabled when tool_choice forces tool use.");
    }
}

fn check_tools(body: &Value, found: &mut Found) {
    if body.get("tools").is_some_and(|tools| !tools.is_array()) {
        found.refuse("tools: Input should be a valid list");
    }
    let tools = list(&body["tools"]);
    for (index, tool) in tools.iter().enumerate() {
        let name = text(&tool["name"]);
        found.require(is_name(name, 128), || {
            format!("tools.{index}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        });
        // A tool of the service's own has a type with a date, and other fields.
        if tool.get("type").is_some_and(|kind| kind != "custom") {
            continue;
        }
        for key in unknown_keys(tool, &TOOL_KEYS) {
            found.refuse(format!("tools.{index}.custom.{key}: Extra inputs are not permitted"));
        }
        for problem in schema::problems(&tool["input_schema"]) {
            found.refuse(format!("tools.{index}.custom.input_schema: {problem}"));
        }
    }
    if repeated(tools.iter().map(|tool| text(&tool["name"]))).is_some() {
        found.refuse("tools: Tool names must be unique.");
    }
}

fn check_tool_choice(body: &Value, found: &mut Found) {
    let choice = &body["tool_choice"];
    if choice.is_null() {
        return;
    }
    let tools = list(&body["tools"]);
    if tools.is_empty() {
        found.refuse("tool_choice: may only be specified while providing `tools`");
    }
    match choice["type"].as_str() {
        Some("auto" | "any" | "none") => {}
        Some("tool") => found.require(tools.iter().any(|tool| tool["name"] == choice["name"]), || {
            format!("tool_choice: Tool '{}' not found in provided tools", text(&choice["name"]))
        }),
        Some(_) | None => found.refuse("tool_choice: Input tag is not one of 'auto', 'any', 'tool', 'none'"),
    }
}

/// Marks count in the order in which the prompt is put together: tools, system, messages.
fn check_cache_marks(body: &Value, found: &mut Found) {
    let mut marks: Vec<&Value> = Vec::new();
    let blocks = list(&body["messages"]).iter().flat_map(|message| list(&message["content"]));
    // A tool result may hold marked blocks itself.
    let blocks = blocks.flat_map(|block| list(&block["content"]).iter().chain([block]));
    let all = list(&body["tools"]).iter().chain(list(&body["system"])).chain(blocks);
    marks.extend(
        all.chain([body]).filter_map(|block| block.get("cache_control")).filter(|mark| !mark.is_null()),
    );
    if marks.len() > CACHE_MARKS_MAX {
        let count = marks.len();
        found.refuse(format!("A maximum of 4 blocks with cache_control may be provided. Found {count}."));
    }
    let mut shorter_seen = false;
    for mark in marks {
        if mark["type"] != "ephemeral" || !unknown_keys(mark, &["type", "ttl"]).is_empty() {
            found.refuse(format!("cache_control: {mark} is not an ephemeral one"));
        }
        match mark.get("ttl").map(|ttl| ttl.as_str()) {
            Some(Some("1h")) if shorter_seen => found
                .refuse("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block"),
            Some(Some("1h")) => {}
            None | Some(Some("5m")) => shorter_seen = true,
            Some(_) => found.refuse("cache_control.ttl: Input should be '5m' or '1h'"),
        }
    }
}
