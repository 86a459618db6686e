//! TOML to a tree with spans.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::node::{Entry, Node, NodeValue, Scalar, ScalarKind};
use crate::diagnostic::Span;

/// Reads a TOML document; an error is its message and the span it points to.
pub fn parse(text: &str) -> Result<Node, (String, Span)> {
    match DeTable::parse(text) {
        Ok(table) => {
            let span = Span::new(0, text.len());
            let node = Node { span, value: map(table.get_ref()) };
            match node.excess() {
                None => Ok(node),
                Some(excess) => Err((excess, Span::new(0, 0))),
            }
        }
        Err(error) => {
            let span = error.span().unwrap_or(0..0);
            let end = span.end.min(text.len());
            Err((error.message().to_owned(), Span::new(span.start.min(end), end)))
        }
    }
}

fn map(table: &DeTable<'_>) -> NodeValue {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: span(key),
            value: convert(value),
        })
        .collect();
    entries.sort_by_key(|entry| entry.key_span);
    NodeValue::Map(entries)
}

fn convert(value: &Spanned<DeValue<'_>>) -> Node {
    let converted = match value.get_ref() {
        DeValue::String(text) => NodeValue::Scalar(Scalar::text(text.as_ref())),
        DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
            Ok(number) => typed(number.to_string(), ScalarKind::Number),
            Err(_) => typed(number.as_str().to_owned(), ScalarKind::Number),
        },
        DeValue::Float(number) => typed(number.as_str().to_owned(), ScalarKind::Number),
        DeValue::Boolean(flag) => typed(flag.to_string(), ScalarKind::Bool(*flag)),
        DeValue::Datetime(time) => NodeValue::Scalar(Scalar::text(time.to_string())),
        DeValue::Array(elements) => NodeValue::List(elements.iter().map(convert).collect()),
        DeValue::Table(table) => map(table),
    };
    Node { span: span(value), value: converted }
}

fn span<T>(value: &Spanned<T>) -> Span {
    let range = value.span();
    Span::new(range.start, range.end.max(range.start))
}

fn typed(text: String, kind: ScalarKind) -> NodeValue {
    NodeValue::Scalar(Scalar { text, kind, plain: false })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn toml_is_read_in_the_order_of_the_file() {
        let text = "name = \"a\"\nb = 0x10\n[z]\ny = [1.5, true]\n[c]\n";
        let json = parse(text).expect("valid TOML").to_json().to_string();
        assert_eq!(json, r#"{"name":"a","b":16,"z":{"y":[1.5,true]},"c":{}}"#);
    }

    #[test]
    fn what_is_not_toml_is_an_error_with_a_place() {
        let (message, span) = parse("a = 1\nb = = 2\n").expect_err("not TOML");
        assert!(!message.is_empty());
        assert!(span.start >= 6, "{span:?}");
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert!(parse(&format!("a = {}{}", "[".repeat(10_000), "]".repeat(10_000))).is_err());
    }
}
