//! HTML as Markdown, token by token.
//!
//! There is no tree: a page can be as deep and as broken as it likes and costs time and room in step with its length.
//! What has no words for a reader (scripts, styles, drawings) is left out, and so is emphasis.

use html5gum::{DefaultEmitter, EndTag, StartTag, Token, Tokenizer};
use reqwest::Url;

/// How deep lists and quotations are shown.
const DEPTH_MAX: usize = 8;

/// A page.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Page {
    /// Its title, if it has one.
    pub title: String,
    /// Its Markdown.
    pub text: String,
}

/// What is left out, with all that is in it.
const LEFT_OUT: &[&str] = &[
    "script", "style", "template", "noscript", "svg", "iframe", "object", "select", "canvas", "audio",
    "video",
];

/// What stands on lines of its own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "body",
    "dd",
    "details",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "header",
    "main",
    "nav",
    "p",
    "section",
    "summary",
    "caption",
];

/// A page while it is written.
struct Writer<'a> {
    base: &'a Url,
    out: String,
    title: String,
    /// Line breaks that are due before the next words.
    breaks: usize,
    /// True when a blank is due before the next words.
    blank: bool,
    /// The element that is left out, and how often it was opened in itself.
    left_out: Option<(String, usize)>,
    /// The lists around, with the number of the next item where they are numbered.
    lists: Vec<Option<u64>>,
    quotes: usize,
    /// How many of them were around the last words.
    quotes_before: usize,
    /// Where the words of a link begin, and where it leads.
    link: Option<(usize, String)>,
    in_title: bool,
    in_pre: bool,
    table: Table,
}

/// How a table stands; tables in tables are words.
#[derive(Default)]
struct Table {
    depth: usize,
    cells: usize,
    has_rule: bool,
}

/// Turns a page into Markdown; links are made absolute from `base`.
pub(super) fn markdown(html: &str, base: &Url) -> Page {
    let mut emitter = DefaultEmitter::default();
    // Without a tree nobody else would tell the tokenizer where a script ends.
    emitter.naively_switch_states(true);
    let mut writer = Writer::new(base);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => writer.open(&tag),
            Token::EndTag(tag) => writer.close(&tag),
            Token::String(words) => writer.words(&String::from_utf8_lossy(&words)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    writer.finish()
}

impl<'a> Writer<'a> {
    fn new(base: &'a Url) -> Writer<'a> {
        Writer {
            base,
            out: String::new(),
            title: String::new(),
            breaks: 0,
            blank: false,
            left_out: None,
            lists: Vec::new(),
            quotes: 0,
            quotes_before: 0,
            link: None,
            in_title: false,
            in_pre: false,
            table: Table::default(),
        }
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if let Some((left_out, depth)) = &mut self.left_out {
            *depth += usize::from(*left_out == name && !tag.self_closing);
            return;
        }
        if LEFT_OUT.contains(&name.as_str()) && !tag.self_closing {
            self.left_out = Some((name, 1));
            return;
        }
        match name.as_str() {
            "title" => self.in_title = self.title.is_empty(),
            "br" => self.line(),
            "hr" => {
                self.block();
                self.push("---");
                self.block();
            }
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.block();
                let level = usize::from(name.as_bytes()[1] - b'0');
                self.push(&format!("{} ", "#".repeat(level)));
            }
            "ul" => self.open_list(None),
            "ol" => self.open_list(Some(1)),
            "li" => self.item(),
            "blockquote" => {
                self.block();
                self.quotes = (self.quotes + 1).min(DEPTH_MAX);
            }
            "pre" => {
                self.block();
                self.push("```\n");
                self.in_pre = true;
            }
            "code" | "kbd" | "samp" if !self.in_pre => self.push("`"),
            "a" => {
                self.end_link();
                self.link = self.target(tag, b"href").map(|target| (self.out.len(), target));
            }
            "img" => self.image(tag),
            "table" | "tr" | "td" | "th" => self.open_table(&name),
            block if BLOCKS.contains(&block) => self.block(),
            _ => {}
        }
    }

    fn close(&mut self, tag: &EndTag<()>) {
        let name = String::from_utf8_lossy(&tag.name).into_owned();
        if let Some((left_out, depth)) = &mut self.left_out {
            *depth -= usize::from(*left_out == name);
            if *depth == 0 {
                self.left_out = None;
            }
            return;
        }
        match name.as_str() {
            "title" => self.in_title = false,
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => self.block(),
            "ul" | "ol" => {
                self.lists.pop();
                self.end_list_line();
            }
            "blockquote" => {
                self.block();
                self.quotes = self.quotes.saturating_sub(1);
            }
            "pre" if self.in_pre => {
                self.in_pre = false;
                let end = if self.out.ends_with('\n') { "```" } else { "\n```" };
                self.out.push_str(end);
                self.block();
            }
            "code" | "kbd" | "samp" if !self.in_pre => self.out.push('`'),
            "a" => self.end_link(),
            "table" | "tr" | "td" | "th" => self.close_table(&name),
            block if BLOCKS.contains(&block) => self.block(),
            _ => {}
        }
    }

    fn words(&mut self, words: &str) {
        if self.left_out.is_some() {
            return;
        }
        if self.in_title {
            self.title.push_str(words);
            return;
        }
        if self.in_pre {
            self.out.push_str(words);
            return;
        }
        self.blank |= words.starts_with(char::is_whitespace);
        for (at, word) in words.split_whitespace().enumerate() {
            self.blank |= at > 0;
            self.push(word);
        }
        self.blank |= words.ends_with(char::is_whitespace);
    }

    /// Adds words after the breaks or the blank that are due.
    fn push(&mut self, words: &str) {
        let breaks = std::mem::take(&mut self.breaks);
        let blank = std::mem::take(&mut self.blank);
        if breaks > 0 && !self.out.is_empty() {
            self.out.truncate(self.out.trim_end_matches(' ').len());
            // A line between two quotations that are not one belongs to neither.
            let between = "> ".repeat(self.quotes.min(self.quotes_before));
            for _ in 1..breaks {
                self.out.push('\n');
                self.out.push_str(between.trim_end());
            }
            self.out.push('\n');
            self.out.push_str(&"> ".repeat(self.quotes));
            // What follows an item's first line belongs under it.
            self.out.push_str(&"  ".repeat(self.lists.len()));
        } else if breaks > 0 {
            self.out.push_str(&"> ".repeat(self.quotes));
        } else if blank && !self.out.ends_with([' ', '\n']) && !self.out.is_empty() {
            self.out.push(' ');
        }
        self.out.push_str(words);
        self.quotes_before = self.quotes;
    }

    /// Ends the line, if there is one.
    fn line(&mut self) {
        self.break_lines(1);
    }

    /// Ends the paragraph, if there is one.
    fn block(&mut self) {
        self.break_lines(2);
    }

    fn break_lines(&mut self, breaks: usize) {
        if self.table.depth > 0 && self.table.cells > 0 {
            // A row of a table is one line.
            self.blank = true;
        } else if self.in_pre {
            self.out.push('\n');
        } else {
            self.breaks = self.breaks.max(breaks);
        }
    }

    fn open_list(&mut self, number: Option<u64>) {
        self.end_list_line();
        if self.lists.len() < DEPTH_MAX {
            self.lists.push(number);
        }
    }

    /// A list in a list goes on without an empty line.
    fn end_list_line(&mut self) {
        self.break_lines(if self.lists.is_empty() { 2 } else { 1 });
    }

    fn item(&mut self) {
        self.line();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            Some(None) | None => "- ".to_owned(),
        };
        // The item itself stands one level further out than what follows it.
        let list = self.lists.pop();
        self.push(&mark);
        self.lists.extend(list);
    }

    fn end_link(&mut self) {
        let Some((from, target)) = self.link.take() else { return };
        let words = &self.out[from.min(self.out.len())..];
        let leading = words.len() - words.trim_start().len();
        if words.trim().is_empty() {
            return;
        }
        if words.trim().contains('\n') {
            self.out.push_str(&format!(" ({target})"));
        } else {
            self.out.insert(from + leading, '[');
            self.out.push_str(&format!("]({target})"));
        }
    }

    fn image(&mut self, tag: &StartTag<()>) {
        let alternative = attribute(tag, b"alt").unwrap_or_default();
        let alternative = alternative.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(target) = self.target(tag, b"src").filter(|_| !alternative.is_empty()) {
            self.push(&format!("![{alternative}]({target})"));
        }
    }

    /// Where an attribute leads, if that is another page.
    fn target(&self, tag: &StartTag<()>, name: &[u8]) -> Option<String> {
        let written = attribute(tag, name)?;
        let target = self.base.join(written.trim()).ok().filter(|_| !written.trim().starts_with('#'))?;
        matches!(target.scheme(), "http" | "https").then(|| target.to_string())
    }

    fn open_table(&mut self, name: &str) {
        match name {
            "table" => {
                self.block();
                self.table.depth += 1;
                if self.table.depth == 1 {
                    self.table = Table { depth: 1, ..Table::default() };
                }
            }
            "tr" if self.table.depth == 1 => {
                self.table.cells = 0;
                self.line();
            }
            "td" | "th" if self.table.depth == 1 => {
                let mark = if self.table.cells == 0 { "| " } else { "" };
                self.table.cells += 1;
                self.push(mark);
            }
            _ => self.blank = true,
        }
    }

    fn close_table(&mut self, name: &str) {
        match name {
            "table" => {
                self.table.depth = self.table.depth.saturating_sub(1);
                self.table.cells = 0;
                self.block();
            }
            "tr" if self.table.depth == 1 => {
                let cells = std::mem::take(&mut self.table.cells);
                if cells > 0 && !self.table.has_rule {
                    self.table.has_rule = true;
                    self.line();
                    self.push(&format!("|{}", "---|".repeat(cells.min(100))));
                }
                self.line();
            }
            "td" | "th" if self.table.depth == 1 => {
                self.blank = false;
                self.out.push_str(" | ");
            }
            _ => self.blank = true,
        }
    }

    fn finish(mut self) -> Page {
        self.end_link();
        self.out.truncate(self.out.trim_end().len());
        if self.in_pre {
            self.out.push_str("\n```");
        }
        Page { title: self.title.split_whitespace().collect::<Vec<_>>().join(" "), text: self.out }
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    tag.attributes.get(name).map(|value| String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests;
