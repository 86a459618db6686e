//! The rules for the schema of a tool's input, which all APIs share.

use serde_json::{Value, json};

use super::client::{check_rows, with};
use crate::Api;

fn tool(schema: &Value) -> Value {
    with(Api::Anthropic, &json!({ "tools": [{ "name": "t", "input_schema": schema }] }))
}

#[test]
fn a_schema_is_a_json_schema_of_an_object() {
    let nested = |inner: Value| json!({ "type": "object", "properties": { "a": inner } });
    check_rows(
        Api::Anthropic,
        &[
            ("empty object", tool(&json!({ "type": "object" })), &[]),
            ("typed", tool(&nested(json!({ "type": ["string", "null"] }))), &[]),
            ("missing", tool(&json!(null)), &["the schema is not an object", "schema is not a schema"]),
            ("no type", tool(&json!({ "properties": {} })), &["'type: \"object\"', got 'type: null'"]),
            ("not an object", tool(&json!({ "type": "string" })), &["got 'type: \"string\"'"]),
            (
                "top-level oneOf",
                tool(&json!({ "type": "object", "oneOf": [{}] })),
                &["`oneOf` at the top level"],
            ),
            (
                "properties is a list",
                tool(&json!({ "type": "object", "properties": [] })),
                &["schema.properties is not an object"],
            ),
            (
                "required is unknown",
                tool(&json!({ "type": "object", "properties": {}, "required": ["a"] })),
                &["schema.required names \"a\", which is not in properties"],
            ),
            (
                "required is text",
                tool(&json!({ "type": "object", "required": "a" })),
                &["required is not a list"],
            ),
            ("unknown type", tool(&nested(json!({ "type": "text" }))), &["schema.properties.a.type `text`"]),
            ("type is a number", tool(&nested(json!({ "type": 1 }))), &["schema.properties.a.type is 1"]),
            ("empty enum", tool(&nested(json!({ "enum": [] }))), &["schema.properties.a.enum is not a list"]),
            (
                "empty anyOf",
                tool(&nested(json!({ "anyOf": [] }))),
                &["schema.properties.a.anyOf is not a list"],
            ),
            (
                "items is text",
                tool(&nested(json!({ "items": "a" }))),
                &["schema.properties.a.items is not a schema"],
            ),
            (
                "inside anyOf",
                tool(&nested(json!({ "anyOf": [{ "type": "x" }] }))),
                &["schema.properties.a.anyOf.0.type `x`"],
            ),
        ],
    );
}

#[test]
fn a_strict_function_names_everything() {
    let strict = |schema: Value| {
        let tool = json!({ "type": "function", "name": "t", "strict": true, "parameters": schema });
        with(Api::OpenAiResponses, &json!({ "tools": [tool] }))
    };
    let properties = json!({ "a": { "type": "string" } });
    check_rows(
        Api::OpenAiResponses,
        &[
            (
                "strict",
                strict(json!({ "type": "object", "properties": properties, "required": ["a"],
                    "additionalProperties": false })),
                &[],
            ),
            (
                "loose",
                strict(json!({ "type": "object", "properties": properties })),
                &[
                    "'additionalProperties' is required to be supplied and to be false",
                    "'required' is missing 'a'",
                ],
            ),
        ],
    );
}
