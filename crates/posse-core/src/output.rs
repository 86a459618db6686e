//! The output contract: whether an answer is a value that fits the schema, and what is wrong if not.

use serde_json::Value;

use crate::text::one_line;

/// The most errors that are told.
const ERRORS_MAX: usize = 10;
/// How much of each; it repeats what the model wrote.
const ERROR_CHARACTERS_MAX: usize = 300;

/// What is wrong with a schema itself.
pub fn schema_problem(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some("a JSON Schema is an object".to_owned());
    }
    let external = external_reference(schema);
    if let Some(reference) = external {
        return Some(format!("`$ref` to `{reference}` leads out of the schema; only `#…` is followed"));
    }
    jsonschema::validator_for(schema).err().map(|error| error.to_string())
}

/// The value that an answer is, or what is wrong with it, one line each.
pub fn read_output(schema: &Value, answer: &str) -> Result<Value, Vec<String>> {
    let value = value_in(answer).map_err(|problem| vec![problem])?;
    let validator = jsonschema::validator_for(schema).map_err(|error| vec![error.to_string()])?;
    let errors: Vec<String> = validator
        .iter_errors(&value)
        .take(ERRORS_MAX)
        .map(|error| format!("{}: {error}", place(&error.instance_path().to_string())))
        .map(|error| one_line(&error, ERROR_CHARACTERS_MAX))
        .collect();
    if errors.is_empty() { Ok(value) } else { Err(errors) }
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the value" } else { pointer }
}

/// The JSON value of an answer: all of it, or its only code block.
fn value_in(answer: &str) -> Result<Value, String> {
    let trimmed = answer.trim();
    let whole = serde_json::from_str(trimmed);
    let Err(error) = whole else { return whole.map_err(|error| error.to_string()) };
    match fenced(trimmed).map(serde_json::from_str) {
        Some(Ok(value)) => Ok(value),
        _ => Err(format!("the answer is not one JSON value: {error}")),
    }
}

/// What stands in the only code block of a text.
fn fenced(text: &str) -> Option<&str> {
    let (_, rest) = text.split_once("```")?;
    let (_, rest) = rest.split_once('\n')?;
    let (inside, after) = rest.split_once("```")?;
    (!after.contains("```")).then(|| inside.trim())
}

fn external_reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(map) => map.iter().find_map(|(key, value)| match value {
            Value::String(text) if key == "$ref" && !text.starts_with('#') => Some(text.as_str()),
            _ => external_reference(value),
        }),
        Value::Array(list) => list.iter().find_map(external_reference),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{read_output, schema_problem};
    use serde_json::json;

    #[test]
    fn an_answer_is_read_however_it_was_asked_for() {
        let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        assert_eq!(read_output(&schema, " {\"n\": 1}\n"), Ok(json!({"n": 1})));
        assert_eq!(read_output(&schema, "Here:\n```json\n{\"n\": 2}\n```\n"), Ok(json!({"n": 2})));
        assert_eq!(
            read_output(&schema, "{\"n\": \"x\"}"),
            Err(vec!["/n: \"x\" is not of type \"integer\"".to_owned()])
        );
        assert!(read_output(&schema, "none").is_err_and(|errors| errors[0].contains("not one JSON value")));
    }

    #[test]
    fn a_bad_schema_is_told() {
        assert_eq!(schema_problem(&json!({"type": "object"})), None);
        assert!(schema_problem(&json!({"type": "objekt"})).is_some());
        assert!(schema_problem(&json!({"$ref": "http://example.com/x"})).is_some());
        assert!(schema_problem(&json!([])).is_some());
    }
}
