//! A definition as a Posse Markdown file; reading that file gives the same definition.

use serde_json::{Map, Value};

use super::{Definition, PermissionMode, ToolName, Visibility};

/// Writes the file that `show` prints.
pub fn to_markdown(definition: &Definition) -> String {
    let mut out = String::from("---\n");
    for (key, value) in keys(definition) {
        push_key(&mut out, 0, &key, &value);
    }
    out.push_str("---\n\n");
    out.push_str(&definition.prompt);
    out.push('\n');
    out
}

/// The keys in the order a person would write them.
fn keys(definition: &Definition) -> Vec<(String, Value)> {
    let mut keys: Vec<(String, Value)> = Vec::new();
    let mut add = |key: &str, value: Value| {
        if !value.is_null() {
            keys.push((key.to_owned(), value));
        }
    };
    let d = definition;
    add("name", d.name.as_str().into());
    add("display_name", d.display_name.as_deref().into());
    add("description", d.description.as_deref().into());
    add("tools", tools(d.tools.as_deref()));
    add("disallowedTools", tools(d.disallowed_tools.as_deref()));
    // A list of models is kept whole; its first is the model.
    let models = d.extra.get("model").filter(|models| models.is_array()).cloned();
    add("model", models.or_else(|| d.model.as_ref().map(|model| model.written.as_str().into())).into());
    add("effort", d.effort.as_deref().into());
    add("permissionMode", d.permission_mode.map(PermissionMode::as_str).into());
    add("permissions", d.permissions.as_ref().map_or(Value::Null, super::permissions_json));
    add("skills", d.skills.clone().into());
    add("hooks", d.hooks.clone().into());
    add("mcpServers", d.mcp_servers.clone().map_or(Value::Null, Value::Object));
    add("color", d.color.as_deref().into());
    add("visibility", d.visibility.map(Visibility::as_str).into());
    add("enabled", d.enabled.into());
    add("session", d.session.into());
    add("memory", d.memory.as_deref().into());
    add("callers", d.callers.clone().into());
    add("delegates", d.delegates.clone().into());
    add("maxTurns", d.max_turns.into());
    add("timeout", d.timeout_ms.map(duration).into());
    add("budget", budget(d));
    add("output", output(d));
    add("findings", d.findings.into());
    add("engine", d.engine.as_deref().into());
    add("isolation", d.isolation.as_deref().into());
    add("workspace", d.workspace.as_deref().into());
    add("network", d.network.clone().into());
    add("env", d.env.clone().into());
    add("context_files", d.context_files.clone().into());
    add("background", d.background.into());
    add("environment", d.environment.into());
    add("initialPrompt", d.initial_prompt.as_deref().into());
    let extra = d.extra.iter().filter(|(key, _)| key.as_str() != "model");
    keys.extend(extra.map(|(key, value)| (key.clone(), value.clone())));
    keys
}

fn tools(list: Option<&[ToolName]>) -> Value {
    list.map_or(Value::Null, |list| list.iter().map(|tool| Value::from(tool.name.as_str())).collect())
}

fn budget(definition: &Definition) -> Value {
    let Some(budget) = definition.budget else { return Value::Null };
    let mut map = Map::new();
    map.extend(budget.usd.map(|usd| ("usd".to_owned(), usd.into())));
    map.extend(budget.tokens.map(|tokens| ("tokens".to_owned(), tokens.into())));
    Value::Object(map)
}

fn output(definition: &Definition) -> Value {
    let mut map = Map::new();
    map.extend(definition.output_schema.clone().map(|schema| ("schema".to_owned(), schema)));
    map.extend(definition.output_retries.map(|retries| ("retries".to_owned(), retries.into())));
    if map.is_empty() { Value::Null } else { Value::Object(map) }
}

/// The shortest way to write a number of milliseconds.
pub fn duration(milliseconds: u64) -> String {
    for (unit, size) in [("h", 3_600_000), ("m", 60_000), ("s", 1000)] {
        if milliseconds.is_multiple_of(size) {
            return format!("{}{unit}", milliseconds / size);
        }
    }
    format!("{milliseconds}ms")
}

fn push_key(out: &mut String, indent: usize, key: &str, value: &Value) {
    out.extend(std::iter::repeat_n(' ', indent));
    out.push_str(&key_text(key));
    out.push(':');
    push_value(out, indent, value);
}

/// Writes what follows a colon or a dash.
fn push_value(out: &mut String, indent: usize, value: &Value) {
    match value {
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            out.push('\n');
            for item in items {
                out.extend(std::iter::repeat_n(' ', indent + 2));
                out.push('-');
                push_value(out, indent + 2, item);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(scalar).collect();
            out.push_str(&format!(" [{}]\n", items.join(", ")));
        }
        Value::Object(map) if map.is_empty() => out.push_str(" {}\n"),
        Value::Object(map) => {
            out.push('\n');
            for (key, value) in map {
                push_key(out, indent + 2, key, value);
            }
        }
        other => {
            out.push(' ');
            out.push_str(&scalar(other));
            out.push('\n');
        }
    }
}

fn key_text(key: &str) -> String {
    let plain = !key.is_empty()
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        && !key.starts_with('-');
    let text = super::node::Scalar::plain(key).kind == super::node::ScalarKind::Text;
    if plain && text { key.to_owned() } else { quoted_always(key) }
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        other => other.to_string(),
    }
}

/// A text as a YAML scalar on one line, quoted where it must be.
pub fn quoted(text: &str) -> String {
    let safe = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, ' ' | '_' | '-' | '.' | '/' | '(' | ')' | ';' | '+' | '\'')
            || (c.is_alphanumeric())
    };
    let first = text.chars().next();
    let plain = first.is_some_and(char::is_alphanumeric)
        && text.chars().all(safe)
        && !text.ends_with(' ')
        && super::node::Scalar::plain(text).kind == super::node::ScalarKind::Text
        && !matches!(text.to_lowercase().as_str(), "yes" | "no" | "on" | "off" | "y" | "n");
    if plain { text.to_owned() } else { quoted_always(text) }
}

fn quoted_always(text: &str) -> String {
    // The other quotes are shorter, and easier to read, around text that has double quotes in it.
    if text.contains('"') && !text.contains(|c: char| c == '\\' || c.is_control() || is_not_printable(c)) {
        return format!("'{}'", text.replace('\'', "''"));
    }
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_not_printable(c) => {
                out.push_str(&format!("\\u{:04x}", c as u32));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// True for characters that YAML takes only as an escape.
fn is_not_printable(character: char) -> bool {
    matches!(character, '\u{feff}' | '\u{2028}' | '\u{2029}' | '\u{85}' | '\u{fffe}' | '\u{ffff}')
}
