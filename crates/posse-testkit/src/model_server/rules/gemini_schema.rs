//! The subset of `OpenAPI` that Gemini takes as `parameters`; whatever is outside of it is refused.

use serde_json::Value;

use super::gemini::refuse_unknown;
use super::{Found, fields, list, text};

const KEYS: [&str; 29] = [
    "type",
    "format",
    "title",
    "description",
    "nullable",
    "enum",
    "items",
    "properties",
    "required",
    "anyOf",
    "any_of",
    "minItems",
    "min_items",
    "maxItems",
    "max_items",
    "minLength",
    "min_length",
    "maxLength",
    "max_length",
    "minProperties",
    "min_properties",
    "maxProperties",
    "max_properties",
    "minimum",
    "maximum",
    "pattern",
    "default",
    "example",
    "propertyOrdering",
];
const TYPES: [&str; 7] = ["OBJECT", "ARRAY", "STRING", "NUMBER", "INTEGER", "BOOLEAN", "NULL"];
const DEPTH_MAX: usize = 64;

pub(super) fn check(schema: &Value, at: &str, found: &mut Found) {
    if !text(&schema["type"]).eq_ignore_ascii_case("OBJECT") {
        found.refuse(format!("{at}: schema should be of type OBJECT"));
    }
    walk(schema, at, 0, found);
}

fn walk(schema: &Value, at: &str, depth: usize, found: &mut Found) {
    if !schema.is_object() || depth > DEPTH_MAX {
        return found.refuse(format!("Invalid value at '{at}': not a schema"));
    }
    refuse_unknown(schema, &KEYS, at, found);
    let kind = text(&schema["type"]).to_ascii_uppercase();
    let combined = list(&schema["anyOf"]);
    if !TYPES.contains(&kind.as_str())
        && (!kind.is_empty() || combined.is_empty() || !schema["type"].is_null())
    {
        found.refuse(format!("Invalid value at '{at}.type', {}", schema["type"]));
    }
    let properties = fields(&schema["properties"]).count();
    if kind == "OBJECT" && properties == 0 {
        found.refuse(format!("{at}.properties: should be non-empty for OBJECT type"));
    }
    if kind == "ARRAY" && schema["items"].is_null() {
        found.refuse(format!("{at}.items: missing field."));
    }
    if schema.get("enum").is_some() {
        let texts = !list(&schema["enum"]).is_empty() && list(&schema["enum"]).iter().all(Value::is_string);
        found.require(kind == "STRING" && texts, || format!("{at}.enum: only allowed for STRING type"));
    }
    for name in list(&schema["required"]) {
        found.require(schema["properties"].get(text(name)).is_some(), || {
            format!("{at}.required: property {name} is not defined")
        });
    }
    for (name, inner) in fields(&schema["properties"]) {
        walk(inner, &format!("{at}.properties.{name}"), depth + 1, found);
    }
    for (index, inner) in combined.iter().enumerate() {
        walk(inner, &format!("{at}.any_of[{index}]"), depth + 1, found);
    }
    if !schema["items"].is_null() {
        walk(&schema["items"], &format!("{at}.items"), depth + 1, found);
    }
}
