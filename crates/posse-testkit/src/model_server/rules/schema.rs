//! Whether the schema of a tool's input is a JSON Schema at all, which every API demands.

use serde_json::Value;

use super::{fields, list};

const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];
const COMBINED: [&str; 3] = ["anyOf", "oneOf", "allOf"];
/// Keywords whose value is a schema.
const INNER: [&str; 8] =
    ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"];
/// Keywords whose value is an object of schemas.
const NAMED: [&str; 4] = ["properties", "$defs", "definitions", "patternProperties"];
const DEPTH_MAX: usize = 64;

/// What is wrong with the schema of a tool's input, each with its place.
pub(super) fn problems(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    if !schema.is_object() {
        found.push("the schema is not an object".to_owned());
    } else if schema["type"] != "object" {
        found.push(format!(
            "schema must be a JSON Schema of 'type: \"object\"', got 'type: {}'",
            schema["type"]
        ));
    }
    for key in COMBINED.into_iter().chain(["enum", "not"]).filter(|key| schema.get(key).is_some()) {
        found.push(format!("the schema has `{key}` at the top level"));
    }
    walk(schema, "", 0, &mut found);
    found
}

/// What is wrong with a schema that is to be followed strictly.
pub(super) fn strict_problems(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk_strict(schema, "", 0, &mut found);
    found
}

fn walk(schema: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    if schema.is_boolean() && depth > 0 {
        return;
    }
    if !schema.is_object() {
        return found.push(format!("schema{at} is not a schema"));
    }
    if depth > DEPTH_MAX {
        return found.push(format!("schema{at} is too deep"));
    }
    match &schema["type"] {
        Value::Null => {}
        Value::String(name) => check_type(name, at, found),
        Value::Array(names) if !names.is_empty() => {
            for name in names {
                check_type(name.as_str().unwrap_or_default(), at, found);
            }
        }
        other => found.push(format!("schema{at}.type is {other}")),
    }
    check_required(schema, at, found);
    match schema.get("enum") {
        Some(Value::Array(values)) if !values.is_empty() => {}
        Some(_) => found.push(format!("schema{at}.enum is not a list with something in it")),
        None => {}
    }
    check_named(schema, at, found);
    for (inner, at) in children(schema, at) {
        walk(inner, &at, depth + 1, found);
    }
}

fn check_type(name: &str, at: &str, found: &mut Vec<String>) {
    if !TYPES.contains(&name) {
        found.push(format!("schema{at}.type `{name}` is not a type of JSON Schema"));
    }
}

fn check_required(schema: &Value, at: &str, found: &mut Vec<String>) {
    match schema.get("required") {
        None => {}
        Some(Value::Array(names)) => {
            for name in names {
                let known = name.as_str().is_some_and(|name| schema["properties"].get(name).is_some());
                if !known {
                    found.push(format!("schema{at}.required names {name}, which is not in properties"));
                }
            }
        }
        Some(_) => found.push(format!("schema{at}.required is not a list")),
    }
}

fn check_named(schema: &Value, at: &str, found: &mut Vec<String>) {
    for key in NAMED {
        if schema.get(key).is_some_and(|value| !value.is_object()) {
            found.push(format!("schema{at}.{key} is not an object"));
        }
    }
    for key in COMBINED {
        if schema.get(key).is_some() && list(&schema[key]).is_empty() {
            found.push(format!("schema{at}.{key} is not a list with something in it"));
        }
    }
}

/// The schemas inside a schema, each with its place.
fn children<'a>(schema: &'a Value, at: &str) -> Vec<(&'a Value, String)> {
    let mut inner: Vec<_> =
        INNER.iter().filter_map(|key| Some((schema.get(key)?, format!("{at}.{key}")))).collect();
    for key in NAMED {
        inner.extend(fields(&schema[key]).map(|(name, value)| (value, format!("{at}.{key}.{name}"))));
    }
    for key in COMBINED {
        inner.extend(
            list(&schema[key]).iter().enumerate().map(|(i, value)| (value, format!("{at}.{key}.{i}"))),
        );
    }
    inner
}

fn walk_strict(schema: &Value, at: &str, depth: usize, found: &mut Vec<String>) {
    if schema["type"] == "object" || schema.get("properties").is_some() {
        if schema["additionalProperties"] != Value::Bool(false) {
            found.push(format!(
                "In schema{at}, 'additionalProperties' is required to be supplied and to be false"
            ));
        }
        let required = list(&schema["required"]);
        for (name, _) in fields(&schema["properties"]) {
            if !required.contains(&Value::from(name.as_str())) {
                found.push(format!("In schema{at}, 'required' is missing '{name}'"));
            }
        }
    }
    if depth < DEPTH_MAX {
        for (inner, at) in children(schema, at) {
            walk_strict(inner, &at, depth + 1, found);
        }
    }
}
