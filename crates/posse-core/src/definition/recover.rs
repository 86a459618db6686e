//! The keys of a frontmatter block: strictly, and where that fails, field by field as their author meant.
//!
//! A key that says what the agent may do is never guessed: if it cannot be read, the block is refused.

use super::dialect::known_field;
use super::field::Field;
use super::frontmatter::{key_of, lines};
use super::node::{Entry, Node, NodeValue, Scalar};
use super::source::Source;
use super::value::split_names;
use super::write::quoted;
use super::yaml::{self, YamlError};
use crate::diagnostic::{Code, Diagnostic, Span};

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
    match yaml::parse(block, span.start) {
        Ok(Node { value: NodeValue::Map(mut entries), .. }) if entries.iter().all(|e| is_meant(e, block)) => {
            let diagnostics = restore_comment_cuts(source, &mut entries);
            return Keys { entries, diagnostics, refused: false };
        }
        Ok(node) if node.is_null() => return Keys::default(),
        Ok(_) | Err(_) => {}
    }
    let mut recovery = Recovery { source, keys: Keys::default() };
    for field in cut(source, span) {
        recovery.read(&field);
    }
    recovery.keys
}

/// False for what only looks like a key because free text was taken apart.
fn is_meant(entry: &Entry, block: &str) -> bool {
    let key = entry.key.trim().to_lowercase();
    let dialogue = match key.as_str() {
        "user" | "assistant" | "commentary" | "human" => true,
        "context" | "example" | "examples" => block.contains("<example>"),
        _ => false,
    };
    let text_is_scalar = match known_field(&entry.key) {
        Some(Field::Name | Field::DisplayName | Field::Description | Field::Color) => {
            // `name: [x]` is a placeholder that no dialect takes; a mapping is prose with a colon.
            entry.value.entries().is_none()
        }
        Some(Field::Model) => entry.value.entries().is_none(),
        _ => true,
    };
    !dialogue && !key.contains(['<', '\n']) && key.chars().count() <= 60 && text_is_scalar
}

/// In a text, ` #` is text: takes the whole line where YAML saw a comment.
fn restore_comment_cuts(source: &Source, entries: &mut [Entry]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for entry in entries {
        let field = known_field(&entry.key);
        let Some(scalar) = entry.value.scalar().filter(|scalar| scalar.plain) else { continue };
        let line = source.line_at(entry.key_span.start);
        let after_key = &source.text()[entry.key_span.end..line.end];
        let Some(raw) = after_key.trim_start().strip_prefix(':').map(str::trim) else { continue };
        let cut = match field {
            Some(Field::Color) => raw.starts_with('#'),
            Some(field) if field.keeps_hash() => {
                raw.starts_with('#') || raw.contains(" #") || raw.contains("\t#")
            }
            _ => false,
        };
        // A value that continues on the next line was not cut at the end of this one.
        if !cut || scalar.text.len() >= raw.len() {
            continue;
        }
        let start = line.end - after_key.len() + after_key.find(raw).unwrap_or(0);
        let span = Span::new(start, start + raw.len());
        let mut diagnostic =
            Diagnostic::new(Code::CommentCut, format!("` #` cuts the {} short in YAML", entry.key))
                .with_help(format!("write {}: {}", entry.key, shown(&quoted(raw))));
        diagnostic.place = Some(source.place(span));
        diagnostic.fix = source.fix(span, &quoted(raw));
        diagnostics.push(diagnostic);
        entry.value = Node { span, value: NodeValue::Scalar(Scalar::text(raw)) };
    }
    diagnostics
}

/// One key and all lines that belong to it.
struct RawField {
    key: String,
    key_span: Span,
    span: Span,
}

/// Cuts a block into fields at the lines that start one.
fn cut(source: &Source, span: Span) -> Vec<RawField> {
    let text = source.text();
    let block = &text[span.start..span.end];
    let dialogue =
        block.contains("<example>") || block.lines().any(|line| line.trim_start().starts_with("user:"));
    let mut fields: Vec<RawField> = Vec::new();
    let mut open_text = false;
    for line in lines(&text[..span.end], span.start) {
        let content = &text[line.start..line.end];
        if let Some(key) = key_of(content).filter(|key| starts_field(key, open_text, dialogue)) {
            let value = content[key.len()..].trim_start().trim_start_matches(':').trim();
            open_text = known_field(key).is_some_and(Field::is_text)
                && (value.is_empty() || value.starts_with(['|', '>']));
            let key_span = Span::new(line.start, line.start + key.len());
            fields.push(RawField { key: key.to_owned(), key_span, span: line });
        } else if let Some(field) = fields.last_mut() {
            let comment = content.starts_with('#') && !open_text;
            if comment {
                continue;
            }
            let indented = content.starts_with([' ', '\t']) || content.trim().is_empty();
            open_text |= !indented && known_field(&field.key).is_some_and(Field::is_text);
            field.span.end = line.end;
        }
    }
    fields
}

fn starts_field(key: &str, open_text: bool, dialogue: bool) -> bool {
    let word = key.to_lowercase();
    let talk = matches!(
        word.as_str(),
        "user" | "assistant" | "commentary" | "human" | "context" | "example" | "examples"
    );
    if talk && dialogue {
        return false;
    }
    known_field(key).is_some() || !open_text
}

struct Recovery<'a> {
    source: &'a Source,
    keys: Keys,
}

impl Recovery<'_> {
    fn read(&mut self, field: &RawField) {
        let text = &self.source.text()[field.span.start..field.span.end];
        let error = match yaml::parse(text, field.span.start) {
            Ok(Node { value: NodeValue::Map(mut entries), .. })
                if entries.len() == 1 && entries[0].key == field.key && is_meant(&entries[0], text) =>
            {
                self.keys.diagnostics.extend(restore_comment_cuts(self.source, &mut entries));
                self.keys.entries.append(&mut entries);
                return;
            }
            Ok(_) => YamlError { message: "a text was read as keys".into(), offset: field.key_span.end },
            Err(error) => error,
        };
        match known_field(&field.key) {
            Some(known) if known.is_text() => self.take_literally(field, &error),
            Some(Field::Tools | Field::DisallowedTools) => self.take_names(field, &error),
            Some(known) if known.is_capability() => self.refuse(field, &error),
            _ => self.drop_key(field, &error),
        }
    }

    /// A text is what stands there.
    fn take_literally(&mut self, field: &RawField, error: &YamlError) {
        let value = value_span(self.source.text(), field);
        let raw = &self.source.text()[value.start..value.end];
        let text = literal_text(raw);
        let mut diagnostic = Diagnostic::new(Code::BrokenYaml, reason(field, &text, error))
            .with_help(format!("quote it: {}: {}", field.key, shown(&quoted(&text))));
        let at = if (value.start..value.end).contains(&error.offset) { error.offset } else { value.start };
        let line = self.source.line_at(at);
        diagnostic.place = Some(self.source.place(Span::new(at, line.end.clamp(at, value.end.max(at)))));
        diagnostic.fix = self.source.fix(value, &format!(" {}", quoted(&text)));
        self.keys.diagnostics.push(diagnostic);
        let node = Node { span: value, value: NodeValue::Scalar(Scalar::text(text)) };
        self.keys.entries.push(Entry { key: field.key.clone(), key_span: field.key_span, value: node });
    }

    /// Names on one line can be told apart without YAML.
    fn take_names(&mut self, field: &RawField, error: &YamlError) {
        let value = value_span(self.source.text(), field);
        let raw = self.source.text()[value.start..value.end].trim();
        let inner = match raw.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']'),
            None => Some(raw),
        };
        let readable = |inner: &&str| !inner.contains(['\n', '[', ']', '{', '}']) && !is_reference(inner);
        let Some(names) = inner.filter(readable) else {
            return self.refuse(field, error);
        };
        let base = value.start + self.source.text()[value.start..value.end].find(names).unwrap_or(0);
        let elements: Vec<Node> = split_names(names)
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
        diagnostic.fix = self.source.fix(value, &format!(" {list}"));
        self.keys.diagnostics.push(diagnostic);
        let node = Node { span: value, value: NodeValue::List(elements) };
        self.keys.entries.push(Entry { key: field.key.clone(), key_span: field.key_span, value: node });
    }

    fn refuse(&mut self, field: &RawField, error: &YamlError) {
        self.keys.refused = true;
        let message = format!("`{}` cannot be read: {}", field.key, error.message);
        let help = format!(
            "correct the YAML of `{}`; without it the agent could do more than its author wrote",
            field.key
        );
        let mut diagnostic = Diagnostic::new(Code::UnreadableCapability, message).with_help(help);
        diagnostic.place = Some(self.source.place(field.key_span));
        self.keys.diagnostics.push(diagnostic);
    }

    fn drop_key(&mut self, field: &RawField, error: &YamlError) {
        let message = format!("`{}` cannot be read and was left out: {}", field.key, error.message);
        let mut diagnostic =
            Diagnostic::new(Code::UnreadableKey, message).with_help("correct its YAML, or quote the value");
        diagnostic.place = Some(self.source.place(field.key_span));
        self.keys.diagnostics.push(diagnostic);
    }
}

fn reason(field: &RawField, text: &str, error: &YamlError) -> String {
    let first_line = text.lines().next().unwrap_or_default();
    if first_line.contains(": ") || first_line.ends_with(':') {
        return format!("the {} is not valid YAML: an unquoted value has `: ` in it", field.key);
    }
    format!("the {} is not valid YAML: {}", field.key, error.message)
}

/// True for YAML's `*alias`, `&anchor` and `!tag`, which stand for something that is not here.
fn is_reference(text: &str) -> bool {
    let mut characters = text.trim_start().chars();
    let first = characters.next();
    let word = characters.next().is_some_and(|c| c.is_alphanumeric() || c == '_' || c == '!');
    matches!(first, Some('*' | '&' | '!')) && word
}

/// What stands after the colon of a field.
fn value_span(text: &str, field: &RawField) -> Span {
    let rest = &text[field.key_span.end..field.span.end];
    let start = field.key_span.end + rest.find(':').map_or(0, |at| at + 1);
    Span::new(start, start + text[start..field.span.end].trim_end().len())
}

/// The text an author meant by a value that YAML cannot read.
fn literal_text(raw: &str) -> String {
    let trimmed = raw.trim();
    let (first, rest) = trimmed.split_once('\n').unwrap_or((trimmed, ""));
    if first.starts_with(['|', '>']) && first[1..].trim().chars().all(|c| matches!(c, '+' | '-' | '0'..='9'))
    {
        let lines = dedented(rest);
        return if first.starts_with('>') { folded(&lines) } else { lines.join("\n").trim().to_owned() };
    }
    for quote in ['"', '\''] {
        if trimmed.len() >= 2 && trimmed.starts_with(quote) && trimmed.ends_with(quote) {
            return unquoted(&trimmed[1..trimmed.len() - 1], quote);
        }
    }
    if rest.is_empty() {
        return trimmed.to_owned();
    }
    let mut lines = vec![first.trim_end().to_owned()];
    lines.extend(dedented(rest));
    lines.join("\n").trim().to_owned()
}

fn dedented(text: &str) -> Vec<String> {
    let indent = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches([' ', '\t']).len())
        .min()
        .unwrap_or(0);
    text.lines().map(|line| line.get(indent..).unwrap_or("").trim_end().to_owned()).collect()
}

fn folded(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        if line.is_empty() {
            out.push('\n');
        } else {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push(' ');
            }
            out.push_str(line);
        }
    }
    out.trim().to_owned()
}

fn unquoted(inner: &str, quote: char) -> String {
    if quote == '\'' {
        return inner.replace("''", "'");
    }
    let mut out = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match (character, character == '\\') {
            (_, true) => match characters.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(escaped @ ('"' | '\\')) => out.push(escaped),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            (other, false) => out.push(other),
        }
    }
    out
}

/// A value short enough for a line of help.
fn shown(value: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    match value.char_indices().nth(CHARACTERS_MAX) {
        Some((at, _)) => format!("{}…\"", &value[..at]),
        None => value.to_owned(),
    }
}
