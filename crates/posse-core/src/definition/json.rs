//! JSON to a tree with spans. Strict: no comments, no trailing commas.

use jsonc_parser::ast::{ObjectPropName, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};

use super::node::{Entry, Node, NodeValue, Scalar, ScalarKind};
use crate::diagnostic::{Code, Diagnostic, Span};

const STRICT: ParseOptions = ParseOptions {
    allow_comments: false,
    allow_loose_object_property_names: false,
    allow_trailing_commas: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// Reads one JSON value; an error comes with the span it points to.
pub fn parse(text: &str) -> Result<Node, (Diagnostic, Span)> {
    match parse_to_ast(text, &CollectOptions::default(), &STRICT) {
        Ok(result) => match result.value {
            Some(value) => Ok(convert(value)).and_then(limited),
            None => Err((Diagnostic::new(Code::BrokenJson, "the file is empty"), Span::new(0, 0))),
        },
        Err(error) => {
            let range = error.range();
            let end = range.end.min(text.len());
            let diagnostic = Diagnostic::new(Code::BrokenJson, format!("not valid JSON: {}", error.kind()));
            Err((diagnostic, Span::new(range.start.min(end), end)))
        }
    }
}

fn limited(node: Node) -> Result<Node, (Diagnostic, Span)> {
    match node.excess() {
        None => Ok(node),
        Some(excess) => Err((Diagnostic::new(Code::FileTooLarge, excess), Span::new(0, 0))),
    }
}

fn convert(value: Value<'_>) -> Node {
    let range = value.range();
    let value = match value {
        Value::StringLit(text) => NodeValue::Scalar(Scalar::text(text.value)),
        Value::NumberLit(number) => typed(number.value, ScalarKind::Number),
        Value::BooleanLit(flag) => {
            typed(if flag.value { "true" } else { "false" }, ScalarKind::Bool(flag.value))
        }
        Value::NullKeyword(_) => typed("null", ScalarKind::Null),
        Value::Array(array) => NodeValue::List(array.elements.into_iter().map(convert).collect()),
        Value::Object(object) => NodeValue::Map(
            object
                .properties
                .into_iter()
                .map(|property| {
                    let range = match &property.name {
                        ObjectPropName::String(name) => name.range,
                        ObjectPropName::Word(name) => name.range,
                    };
                    Entry {
                        key: property.name.into_string(),
                        key_span: Span::new(range.start, range.end),
                        value: convert(property.value),
                    }
                })
                .collect(),
        ),
    };
    Node { span: Span::new(range.start, range.end), value }
}

fn typed(text: &str, kind: ScalarKind) -> NodeValue {
    NodeValue::Scalar(Scalar { text: text.to_owned(), kind, plain: false })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn json_is_read_with_spans() {
        let text = r#"{"a": [1, true, null, "x\ud83d\ude00"]}"#;
        let node = parse(text).expect("valid JSON");
        assert_eq!(node.to_json().to_string(), r#"{"a":[1,true,null,"x😀"]}"#);
        let entry = &node.entries().expect("object")[0];
        assert_eq!(
            &text[entry.value.span.start..entry.value.span.end],
            r#"[1, true, null, "x\ud83d\ude00"]"#
        );
    }

    #[test]
    fn what_is_not_json_is_an_error_with_a_place() {
        for text in ["", "{", "{'a': 1}", "[1,]", "// x\n{}", "{\"a\": 1} x"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
