//! A block cut into fields at the lines that start one, without asking YAML.

use crate::definition::dialect::{known_field, squashed};
use crate::definition::field::Field;
use crate::definition::frontmatter::{key_of, lines};
use crate::definition::source::Source;
use crate::diagnostic::Span;

/// One key and all lines that belong to it.
pub(super) struct RawField {
    pub key: String,
    pub key_span: Span,
    /// One past the colon.
    pub colon_end: usize,
    pub span: Span,
}

impl RawField {
    /// What stands after the colon, without the blanks around it.
    pub(super) fn value(&self, text: &str) -> Span {
        let rest = &text[self.colon_end..self.span.end];
        let kept = rest.trim_matches([' ', '\t', '\n']);
        let start =
            self.colon_end + (rest.len() - rest.trim_start_matches([' ', '\t', '\n']).len()).min(rest.len());
        Span::new(start, start + kept.len())
    }
}

/// The fields of a block, and lines that belong to none or look like a capability inside another.
pub(super) fn cut(source: &Source, span: Span) -> (Vec<RawField>, Vec<Span>) {
    let text = source.text();
    let block = &text[span.start..span.end];
    let dialogue =
        block.contains("<example>") || block.lines().any(|line| line.trim_start().starts_with("user:"));
    let mut cutting = Cutting {
        fields: Vec::new(),
        swallowed: Vec::new(),
        open_text: false,
        block_indent: None,
        in_example: false,
        in_open_example: Vec::new(),
        dialogue,
    };
    let indent = block
        .lines()
        .find(|line| !line.trim().is_empty())
        .map_or("", |line| &line[..line.len() - line.trim_start_matches(' ').len()]);
    for line in lines(&text[..span.end], span.start) {
        let content = &text[line.start..line.end];
        // A block may be indented as a whole; its keys then stand at that column.
        let shifted = content.strip_prefix(indent).unwrap_or(content);
        cutting.take(shifted, line, content.len() - shifted.len());
    }
    // An example that is never closed quotes nothing.
    cutting.swallowed.append(&mut cutting.in_open_example);
    (cutting.fields, cutting.swallowed)
}

struct Cutting {
    fields: Vec<RawField>,
    swallowed: Vec<Span>,
    /// True inside free text: a block scalar, an empty value, or text that went on without indentation.
    open_text: bool,
    /// The indentation of a text that begins on its own lines; lines at least that deep are quoted.
    block_indent: Option<usize>,
    /// True between `<example>` and `</example>`, where every line is quoted.
    in_example: bool,
    /// What looks like a capability in an example that may turn out never to be closed.
    in_open_example: Vec<Span>,
    dialogue: bool,
}

impl Cutting {
    fn take(&mut self, content: &str, line: Span, indent: usize) {
        if let Some(key) = key_of(content).filter(|key| self.starts_field(key.name)) {
            let value = content[key.colon_end..].trim();
            let is_text = known_field(key.name).is_some_and(Field::is_text);
            self.open_text = is_text && (value.is_empty() || value.starts_with(['|', '>']));
            self.block_indent = None;
            self.in_example = false;
            let start = line.start + indent;
            self.fields.push(RawField {
                key: key.name.to_owned(),
                key_span: Span::new(start, start + key.width),
                colon_end: start + key.colon_end,
                span: line,
            });
            return;
        }
        let Some(field) = self.fields.last_mut() else {
            if !content.trim().is_empty() && !content.starts_with('#') {
                self.swallowed.push(line);
            }
            return;
        };
        if content.starts_with('#') && !self.open_text {
            return;
        }
        let is_text = known_field(&field.key).is_some_and(Field::is_text);
        let depth = content.len() - content.trim_start_matches([' ', '\t']).len();
        let indented = depth > 0 || content.trim().is_empty();
        if self.open_text && self.block_indent.is_none() && depth > 0 {
            self.block_indent = Some(depth);
        }
        self.open_text |= !indented && is_text;
        self.in_example |= content.contains("<example>") || content.contains("<examples>");
        field.span.end = line.end;
        let owned = !is_text && indented;
        let in_block = self.block_indent.is_some_and(|block| depth >= block);
        if !owned && !in_block && looks_like_capability(content) {
            if self.in_example {
                self.in_open_example.push(line);
            } else {
                self.swallowed.push(line);
            }
        }
        if content.contains("</example>") || content.contains("</examples>") {
            self.in_example = false;
            self.in_open_example.clear();
        }
    }

    fn starts_field(&self, key: &str) -> bool {
        let talk = matches!(
            squashed(key).as_ref(),
            "user" | "assistant" | "commentary" | "human" | "context" | "example" | "examples"
        );
        !(talk && self.dialogue) && (known_field(key).is_some() || !self.open_text)
    }
}

/// True for a line such as `tools:Read`, `- tools: Read`, `**tools** = Read`, `tools Read` or `tools` alone.
pub(in crate::definition) fn looks_like_capability(content: &str) -> bool {
    const SEPARATORS: &[char] = &[':', '=', ';', '→', '：', '﹕', '︓', '∶', '꞉', '；'];
    const KEY_MAX: usize = 40;
    let decoration = |c: char| !c.is_alphabetic();
    let before = content.split(SEPARATORS).next().unwrap_or_default();
    let before = before.split(" - ").next().unwrap_or_default();
    let key = before.trim_start_matches(decoration).trim_end_matches(|c: char| !c.is_alphanumeric());
    let separated = key.len() <= KEY_MAX && is_capability(key);
    // Without a separator only the exact spelling counts: prose begins with capital letters.
    let word = content.trim_start_matches(decoration).split_whitespace().next().unwrap_or_default();
    separated || (word.starts_with(|c: char| c.is_ascii_lowercase()) && is_capability(word))
}

/// True when a text has a capability key with its colon in it, as after a line break that was lost.
pub(super) fn holds_capability(text: &str) -> bool {
    let keys = text.split_whitespace().filter_map(|word| word.strip_suffix(':'));
    keys.into_iter().any(|key| key.starts_with(|c: char| c.is_ascii_lowercase()) && is_capability(key))
}

fn is_capability(key: &str) -> bool {
    known_field(key).is_some_and(Field::is_capability)
}
