//! The shapes in which people write one kind of value: flags, numbers, durations, lists of names.
//!
//! Each function takes what is readable and gives `None` for the rest; saying so is the caller's part.

use super::field::Unit;
use super::node::{Node, NodeValue, ScalarKind};
use crate::diagnostic::Span;

/// A text: any scalar that is not null, by its source.
pub fn text(node: &Node) -> Option<String> {
    let scalar = node.scalar().filter(|scalar| scalar.kind != ScalarKind::Null)?;
    Some(scalar.text.trim().to_owned())
}

/// True or false, also quoted, and in the words of YAML 1.1.
pub fn flag(node: &Node) -> Option<bool> {
    let scalar = node.scalar()?;
    match scalar.text.trim().to_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Some(true),
        "false" | "no" | "off" | "0" => Some(false),
        _ => None,
    }
}

/// A whole number above zero, also quoted.
pub fn count(node: &Node) -> Option<u64> {
    let text = node.scalar()?.text.trim().replace('_', "");
    let value = text.parse::<u64>().ok().or_else(|| match text.parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && (1.0..=1e15).contains(&number) => Some(number as u64),
        _ => None,
    })?;
    (value > 0).then_some(value)
}

/// An amount of money: finite and not negative, with or without a dollar sign.
pub fn amount(node: &Node) -> Option<f64> {
    let text = node.scalar()?.text.trim().trim_start_matches('$').parse::<f64>().ok()?;
    (text.is_finite() && text >= 0.0).then_some(text)
}

/// The longest duration that is taken: about a year.
const DURATION_MS_MAX: f64 = 366.0 * 24.0 * 3600.0 * 1000.0;

/// A duration in milliseconds: `500ms`, `2s`, `5m`, `1h`, or a bare number in `unit`.
pub fn duration_ms(node: &Node, unit: Unit) -> Option<u64> {
    duration_text_ms(&node.scalar()?.text, unit)
}

/// The same for a text.
pub fn duration_text_ms(text: &str, unit: Unit) -> Option<u64> {
    let text = text.trim().to_lowercase();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text[digits.len()..].trim() {
        "" => match unit {
            Unit::Milliseconds => 1.0,
            Unit::Seconds => 1000.0,
            Unit::Minutes => 60_000.0,
        },
        "ms" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hour" | "hours" => 3_600_000.0,
        _ => return None,
    };
    let number = digits.trim().parse::<f64>().ok()?;
    let milliseconds = (number * factor).round();
    (1.0..=DURATION_MS_MAX).contains(&milliseconds).then_some(milliseconds as u64)
}

/// A list of names: a list of scalars, one name, or names between commas. Null is an empty list.
pub fn names(node: &Node) -> Option<Vec<String>> {
    match &node.value {
        NodeValue::List(elements) => elements.iter().map(text).collect(),
        NodeValue::Scalar(scalar) if scalar.kind == ScalarKind::Null => Some(Vec::new()),
        NodeValue::Scalar(scalar) if matches!(scalar.kind, ScalarKind::Bool(_)) => None,
        NodeValue::Scalar(scalar) => {
            Some(split_names(&scalar.text).into_iter().map(|(_, name)| name.to_owned()).collect())
        }
        NodeValue::Map(_) => None,
    }
}

/// The names of a list, put together again where YAML took a pattern apart at its commas; `None` if one stays open.
pub fn whole_names(elements: &[Node]) -> Option<Vec<(String, Span)>> {
    let mut names: Vec<(String, Span)> = Vec::new();
    for element in elements {
        let name = text(element)?;
        match names.last_mut() {
            Some((open, span)) if !is_closed(open) => {
                *open += &format!(", {name}");
                span.end = element.span.end;
            }
            _ => names.push((name, element.span)),
        }
    }
    names.iter().all(|(name, _)| is_closed(name)).then_some(names)
}

/// True unless a pattern is opened and never closed, so that it may have swallowed what follows.
pub fn is_closed(name: &str) -> bool {
    name.matches('(').count() <= name.matches(')').count()
}

/// A list of rules: as names, with what YAML took apart at commas put together again.
pub fn rules(node: &Node) -> Option<Vec<String>> {
    match node.elements() {
        Some(elements) => Some(whole_names(elements)?.into_iter().map(|(name, _)| name).collect()),
        None => names(node).filter(|names| names.iter().all(|name| is_closed(name))),
    }
}

/// Cuts at commas outside parentheses and braces; each name with its offset, empty ones left out.
pub fn split_names(text: &str) -> Vec<(usize, &str)> {
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut start = 0;
    let ends = text.char_indices().chain(std::iter::once((text.len(), ',')));
    for (at, character) in ends {
        match character {
            '(' | '{' => depth += 1,
            ')' | '}' => depth = depth.saturating_sub(1),
            ',' | '\n' if depth == 0 || at == text.len() => {
                let piece = &text[start..at];
                let name = piece.trim();
                if !name.is_empty() {
                    names.push((start + piece.len() - piece.trim_start().len(), name));
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    names
}

/// The word of a fixed set that was meant, whatever its case and hyphens.
pub fn word(node: &Node) -> Option<String> {
    text(node).map(|text| super::dialect::squashed(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{duration_text_ms, split_names};
    use crate::definition::field::Unit;

    #[test]
    fn durations_come_in_many_spellings() {
        for (text, expected) in
            [("500ms", 500), ("2s", 2000), ("5m", 300_000), ("1h", 3_600_000), ("30", 30_000), ("1.5s", 1500)]
        {
            assert_eq!(duration_text_ms(text, Unit::Seconds), Some(expected), "{text}");
        }
        assert_eq!(duration_text_ms("10", Unit::Minutes), Some(600_000));
    }

    #[test]
    fn zero_negative_and_endless_durations_are_not_durations() {
        for text in ["0", "-5", "1e300", "inf", "NaN", "5 parsecs", ""] {
            assert_eq!(duration_text_ms(text, Unit::Seconds), None, "{text}");
        }
    }

    #[test]
    fn commas_inside_a_pattern_do_not_split() {
        let names: Vec<_> =
            split_names("Read, Bash(git log, git diff),, Agent(a, b)").into_iter().map(|(_, n)| n).collect();
        assert_eq!(names, ["Read", "Bash(git log, git diff)", "Agent(a, b)"]);
    }
}
