//! What a search finds in one file, as lines to show.
//!
//! Knows one file only; limits over all of them are the search's.

use std::io;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use serde::Deserialize;

/// How much of a line is shown.
const LINE_CHARACTERS_MAX: usize = 500;
/// How much of a cut line stands before its match, in bytes.
const BEFORE_MATCH_BYTES: usize = 100;

/// What is shown of a file with matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    /// The lines.
    Content,
    /// The path.
    FilesWithMatches,
    /// The path and how many lines.
    Count,
}

/// One line to show.
#[derive(Debug)]
pub(super) struct Shown {
    /// The path, and what else is asked for.
    pub text: String,
    /// True when lines of the same file were left out before it.
    pub follows_gap: bool,
}

/// What is asked of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Asked {
    pub mode: Mode,
    /// Whether lines are shown with their numbers.
    pub with_numbers: bool,
    /// How many lines are taken.
    pub entries_max: u64,
    /// How many bytes of lines are taken; the last line may be over.
    pub bytes_max: usize,
}

/// What was found in one file.
pub(super) struct Found<'a> {
    matcher: &'a RegexMatcher,
    path: String,
    asked: Asked,
    /// True when the file turned out to be no text.
    pub is_binary: bool,
    /// True when the search ended before the file did.
    pub has_stopped: bool,
    /// How much of the file was looked at.
    pub bytes_searched: u64,
    matches: u64,
    bytes: usize,
    follows_gap: bool,
    lines: Vec<Shown>,
}

impl<'a> Found<'a> {
    /// Nothing yet.
    pub(super) fn new(matcher: &'a RegexMatcher, path: String, asked: Asked) -> Found<'a> {
        Found {
            matcher,
            path,
            asked,
            is_binary: false,
            has_stopped: false,
            bytes_searched: 0,
            matches: 0,
            bytes: 0,
            follows_gap: false,
            lines: Vec::new(),
        }
    }

    /// The lines to show for the file; none where nothing matched.
    pub(super) fn into_lines(self) -> Vec<Shown> {
        let text = match self.asked.mode {
            Mode::Content => return self.lines,
            Mode::FilesWithMatches | Mode::Count if self.matches == 0 => return Vec::new(),
            Mode::FilesWithMatches => self.path,
            Mode::Count => format!("{}:{}", self.path, self.matches),
        };
        vec![Shown { text, follows_gap: false }]
    }

    /// Takes a line; false when no more are wanted.
    fn take(&mut self, number: Option<u64>, mark: char, text: &str) -> bool {
        let text = match number.filter(|_| self.asked.with_numbers) {
            Some(number) => format!("{}{mark}{number}{mark}{text}", self.path),
            None => format!("{}{mark}{text}", self.path),
        };
        self.bytes += text.len();
        self.lines.push(Shown { text, follows_gap: self.follows_gap });
        self.follows_gap = false;
        self.has_stopped =
            self.lines.len() as u64 >= self.asked.entries_max || self.bytes > self.asked.bytes_max;
        !self.has_stopped
    }
}

impl Sink for Found<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.matches += 1;
        match self.asked.mode {
            Mode::Count => Ok(true),
            Mode::FilesWithMatches => {
                self.has_stopped = true;
                Ok(false)
            }
            Mode::Content => {
                // A match that spans lines comes as one.
                for (number, line) in (found.line_number().unwrap_or(1)..).zip(found.lines()) {
                    let line = without_line_break(line);
                    let at = self.matcher.find(line).ok().flatten().map_or(0, |found| found.start());
                    if !self.take(Some(number), ':', &cut_around(line, at)) {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let text = cut_around(without_line_break(context.bytes()), 0);
        Ok(self.take(context.line_number(), '-', &text))
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.follows_gap = true;
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.bytes_searched = finish.byte_count();
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}

fn without_line_break(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// The line, or what stands around the byte `at` where it is long; `…` marks what was cut.
fn cut_around(line: &[u8], at: usize) -> String {
    let is_short = |text: &str| text.chars().nth(LINE_CHARACTERS_MAX).is_none();
    // No character has more bytes than four.
    if line.len() <= LINE_CHARACTERS_MAX * 4 {
        let whole = String::from_utf8_lossy(line);
        if is_short(&whole) {
            return whole.into_owned();
        }
    }
    let start = at.saturating_sub(BEFORE_MATCH_BYTES).min(line.len() - LINE_CHARACTERS_MAX);
    let is_inside_character = |start: &usize| line[*start] & 0b1100_0000 == 0b1000_0000;
    let start =
        (start.saturating_sub(3)..=start).rev().find(|start| !is_inside_character(start)).unwrap_or(start);
    let end = line.len().min(start + LINE_CHARACTERS_MAX * 4);
    let window = String::from_utf8_lossy(&line[start..end]);
    let before = if start > 0 { "…" } else { "" };
    let after = if end < line.len() || !is_short(&window) { "…" } else { "" };
    let text: String = window.chars().take(LINE_CHARACTERS_MAX).collect();
    format!("{before}{text}{after}")
}
