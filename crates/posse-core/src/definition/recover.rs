//! The keys of a frontmatter block: strictly, and where that fails, field by field as their author meant.
//!
//! A key that says what the agent may do is never guessed: if it cannot be read, the block is refused.

pub(super) mod cut;
mod literal;

use super::dialect::{closest_key, known_field, squashed};
use super::field::Field;
use super::node::{Entry, Node, NodeValue, Scalar};
use super::source::Source;
use super::value::split_names;
use super::write::quoted;
use super::yaml::{self, YamlError};
use crate::diagnostic::{Code, Diagnostic, Span};
use cut::{RawField, cut, holds_capability, looks_like_capability};
use literal::literal_text;

/// The keys that could be read, and what had to be done to read them.
#[derive(Debug, Default)]
pub struct Keys {
    /// In the author's order; keys may repeat.
    pub entries: Vec<Entry>,
    /// What was recovered, dropped or refused.
    pub diagnostics: Vec<Diagnostic>,
    /// True when a capability could not be read, so that the file must not be used.
    pub refused: bool,
}

/// Reads the keys of the block at `span`.
pub fn read_keys(source: &Source, span: Span) -> Keys {
    let block = &source.text()[span.start..span.end];
    let mut recovery = Recovery { source, keys: Keys::default() };
    match yaml::parse(block, span.start) {
        Ok(Node { value: NodeValue::Map(entries), .. }) if entries.iter().all(|e| is_meant(e, block)) => {
            recovery.keys.entries = entries;
            recovery.restore_comment_cuts(0);
            return recovery.keys;
        }
        Ok(node) if node.is_null() => return recovery.keys,
        Ok(node) if node.elements().is_some() => {
            let message = "the frontmatter is a list, as of agents that run elsewhere";
            recovery.refuse(
                Diagnostic::new(Code::RemoteAgent, message).with_help("write one agent in a file"),
                span,
            );
            return recovery.keys;
        }
        Ok(_) | Err(_) => {}
    }
    let (fields, swallowed) = cut(source, span);
    for field in fields {
        recovery.read(&field);
    }
    for line in swallowed {
        let message = "this line may say what the agent may do, and cannot be read as a key";
        let diagnostic = Diagnostic::new(Code::UnreadableCapability, message);
        recovery.refuse(
            diagnostic
                .with_help("write it as `key: value` at the start of the line, or quote the text above"),
            line,
        );
    }
    recovery.keys
}

/// False for what only looks like a key because free text was taken apart.
fn is_meant(entry: &Entry, block: &str) -> bool {
    let key = entry.key.trim();
    // One such word may be a key of somebody's; a dialogue has an example around it, or two who speak.
    let dialogue = match squashed(key).as_ref() {
        "user" | "assistant" | "commentary" | "human" => {
            let speaks = |word: &str| block.lines().any(|line| line.trim_start().starts_with(word));
            block.contains("<example")
                || ["user:", "assistant:", "human:"].into_iter().filter(|word| speaks(word)).count() > 1
        }
        "context" | "example" | "examples" => block.contains("<example>"),
        _ => false,
    };
    // A mapping where a text belongs is prose with a colon; `name: [x]` is left for the normaliser to refuse.
    let prose = known_field(&entry.key).is_some_and(Field::is_text) && entry.value.entries().is_some();
    !dialogue
        && !prose
        && !key.contains('\n')
        && (!key.contains('<') || key == "<<")
        && key.chars().count() <= 60
}

struct Recovery<'a> {
    source: &'a Source,
    keys: Keys,
}

impl Recovery<'_> {
    /// In a text, ` #` is text: takes the whole line where YAML saw a comment.
    fn restore_comment_cuts(&mut self, from: usize) {
        let text = self.source.text();
        for index in from..self.keys.entries.len() {
            let entry = &self.keys.entries[index];
            let Some(field) = known_field(&entry.key) else { continue };
            let Some(scalar) = entry.value.scalar().filter(|scalar| scalar.plain) else { continue };
            // An empty value has no place of its own: what was cut off begins after the colon.
            let empty = entry.value.span.start == entry.value.span.end;
            let start = if empty { entry.key_span.end + 1 } else { entry.value.span.start };
            let end = if empty { start } else { entry.value.span.end };
            let line = self.source.line_at(end.saturating_sub(1).max(entry.key_span.start));
            let Some(tail) = text.get(end..line.end).map(str::trim_end) else { continue };
            let is_cut = tail.trim_start().starts_with('#') && tail.starts_with([' ', '\t']);
            let keeps = field.keeps_hash() || (field == Field::Color && empty);
            if !is_cut || !keeps {
                continue;
            }
            let before = if empty { "" } else { scalar.text.as_str() };
            let whole = format!("{before}{tail}").trim().to_owned();
            let start = start + text[start..].len() - text[start..].trim_start_matches([' ', '\t']).len();
            let span = Span::new(start, end + tail.len());
            let message = format!("` #` cuts the {} short in YAML", entry.key);
            let help = format!("write {}: {}", entry.key, shown(&quoted(&whole)));
            let mut diagnostic = Diagnostic::new(Code::CommentCut, message).with_help(help);
            diagnostic.place = Some(self.source.place(span));
            diagnostic.fixes.extend(self.source.fix(span, &quoted(&whole)));
            self.keys.diagnostics.push(diagnostic);
            self.keys.entries[index].value = Node { span, value: NodeValue::Scalar(Scalar::text(whole)) };
        }
    }

    fn read(&mut self, field: &RawField) {
        let text = &self.source.text()[field.span.start..field.span.end];
        let error = match yaml::parse(text, field.span.start) {
            Ok(Node { value: NodeValue::Map(mut entries), .. })
                if entries.len() == 1 && is_meant(&entries[0], text) =>
            {
                let before = self.keys.entries.len();
                self.keys.entries.append(&mut entries);
                self.restore_comment_cuts(before);
                return;
            }
            Ok(_) => YamlError::new("a text was read as keys", field.key_span.end),
            Err(error) => error,
        };
        let value = &self.source.text()[field.colon_end..field.span.end];
        match known_field(&field.key) {
            Some(known) if !known.keeps_hash() && holds_capability(value) => self.refuse_field(field, &error),
            None if holds_capability(value) || resembles_capability(&field.key) => {
                self.refuse_field(field, &error);
            }
            Some(known) if known.is_text() => self.take_literally(field, &error),
            _ if error.is_reference => self.refuse_field(field, &error),
            Some(Field::Tools | Field::DisallowedTools) => self.take_names(field, &error),
            Some(known) if known.is_capability() => self.refuse_field(field, &error),
            _ => self.drop_key(field, &error),
        }
    }

    /// A text is what stands there.
    fn take_literally(&mut self, field: &RawField, error: &YamlError) {
        let value = field.value(self.source.text());
        let text = literal_text(&self.source.text()[value.start..value.end]);
        let mut diagnostic = Diagnostic::new(Code::BrokenYaml, reason(field, &text, error))
            .with_help(format!("quote it: {}: {}", field.key, shown(&quoted(&text))));
        let at = if (value.start..value.end).contains(&error.offset) { error.offset } else { value.start };
        let line = self.source.line_at(at);
        diagnostic.place = Some(self.source.place(Span::new(at, line.end.clamp(at, value.end.max(at)))));
        self.mend(field, value, diagnostic, &quoted(&text));
        self.keep(field, Node { span: value, value: NodeValue::Scalar(Scalar::text(text)) });
    }

    /// Names on one line can be told apart without YAML.
    fn take_names(&mut self, field: &RawField, error: &YamlError) {
        let value = field.value(self.source.text());
        let raw = &self.source.text()[value.start..value.end];
        let inner = match raw.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']'),
            None => Some(raw),
        };
        let on_key_line = self.source.line_at(value.start).start == field.key_span.start;
        let readable = |inner: &&str| on_key_line && !inner.contains(['\n', '[', ']', '{', '}']);
        let Some(inner) = inner.filter(readable) else { return self.refuse_field(field, error) };
        let base = value.start + raw.find(inner).unwrap_or(0);
        let names = split_names(inner);
        // `a: b` outside a pattern is a mapping, whatever its author meant by it.
        if names.iter().any(|(_, name)| name.split('(').next().is_some_and(|name| name.contains(": "))) {
            return self.refuse_field(field, error);
        }
        let elements: Vec<Node> = names
            .into_iter()
            .map(|(at, name)| Node {
                span: Span::new(base + at, base + at + name.len()),
                value: NodeValue::Scalar(Scalar::text(name.trim_matches(['"', '\'', '`']))),
            })
            .collect();
        let written: Vec<String> =
            elements.iter().filter_map(Node::scalar).map(|scalar| quoted(&scalar.text)).collect();
        let list = format!("[{}]", written.join(", "));
        let mut diagnostic = Diagnostic::new(Code::BrokenYaml, format!("{} is not valid YAML", field.key))
            .with_help(format!("write it as a list: {}: {}", field.key, shown(&list)));
        diagnostic.place = Some(self.source.place(value));
        self.mend(field, value, diagnostic, &list);
        self.keep(field, Node { span: value, value: NodeValue::List(elements) });
    }

    /// Says what is wrong, with a fix that writes the value anew after its colon.
    fn mend(&mut self, field: &RawField, value: Span, mut diagnostic: Diagnostic, written: &str) {
        let after_colon = Span::new(field.colon_end, value.end);
        diagnostic.fixes.extend(self.source.fix(after_colon, &format!(" {written}")));
        self.keys.diagnostics.push(diagnostic);
    }

    fn keep(&mut self, field: &RawField, value: Node) {
        self.keys.entries.push(Entry { key: field.key.clone(), key_span: field.key_span, value });
    }

    fn refuse_field(&mut self, field: &RawField, error: &YamlError) {
        let message = format!("`{}` cannot be read: {}", field.key, error.message);
        let help = format!(
            "correct the YAML of `{}`; without it the agent could do more than its author wrote",
            field.key
        );
        self.refuse(Diagnostic::new(Code::UnreadableCapability, message).with_help(help), field.key_span);
    }

    fn refuse(&mut self, mut diagnostic: Diagnostic, span: Span) {
        self.keys.refused = true;
        diagnostic.place = Some(self.source.place(span));
        self.keys.diagnostics.push(diagnostic);
    }

    /// Leaves out a key that grants nothing, unless something in it looks as if it did.
    fn drop_key(&mut self, field: &RawField, error: &YamlError) {
        let text = &self.source.text()[field.span.start..field.span.end];
        if text.lines().skip(1).any(looks_like_capability) {
            return self.refuse_field(field, error);
        }
        let message = format!("`{}` cannot be read and was left out: {}", field.key, error.message);
        let mut diagnostic =
            Diagnostic::new(Code::UnreadableKey, message).with_help("correct its YAML, or quote the value");
        diagnostic.place = Some(self.source.place(field.key_span));
        self.keys.diagnostics.push(diagnostic);
    }
}

/// True for a key that is a typing mistake away from one that says what the agent may do.
fn resembles_capability(key: &str) -> bool {
    closest_key(key).and_then(known_field).is_some_and(Field::is_capability)
}

fn reason(field: &RawField, text: &str, error: &YamlError) -> String {
    let first_line = text.lines().next().unwrap_or_default();
    if first_line.contains(": ") || first_line.ends_with(':') {
        return format!("the {} is not valid YAML: an unquoted value has `: ` in it", field.key);
    }
    format!("the {} is not valid YAML: {}", field.key, error.message)
}

/// A value short enough for a line of help.
fn shown(value: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    match value.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…\"", &value[..at]),
        None => value.to_owned(),
    }
}
