//! `Grep`: files by their content.
//!
//! Decides what is asked for and how much of it is shown; what one file gives is in `grep/found.rs`.

mod found;

use std::io::Read;
use std::path::Path;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{FileTypeDef, Types, TypesBuilder};
use posse_core::text::closest;
use serde::Deserialize;
use serde_json::Value;

use self::found::{Asked, Found, Mode, Shown};
use super::blocking::{FileTool, Stop, Stoppable};
use super::bound::{Bounded, counted};
use super::input::{count, read_input, spec};
use super::path;
use super::tree::{Tally, Tree};
use super::{ToolContext, ToolOutput, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::read_only(
    || spec("Grep", include_str!("grep.md"), include_str!("grep.json")),
    |input, context| touch::look(input, "path", context),
    grep,
);

/// How many lines or paths are shown where the model does not say.
const HEAD_DEFAULT: u64 = 250;
/// How many lines around a match may be asked for.
const CONTEXT_LINES_MAX: u64 = 1_000;
/// How much of one file is searched.
const FILE_BYTES_MAX: u64 = FILE_MIB_MAX << 20;
const FILE_MIB_MAX: u64 = 256;
/// How much is searched in all.
const TOTAL_BYTES_MAX: u64 = TOTAL_GIB_MAX << 30;
const TOTAL_GIB_MAX: u64 = 2;
/// How much of a file is held at once: its longest line, or all of it where matches may span lines.
const HEAP_BYTES_MAX: usize = 64 << 20;
/// How much a compiled pattern, and the states it is in, may take.
const REGEX_BYTES_MAX: usize = 10 << 20;
/// How many types are suggested for one that is not known.
const SIMILAR_MAX: usize = 3;

#[derive(Deserialize)]
struct Input {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    r#type: Option<String>,
    output_mode: Option<Mode>,
    #[serde(default, rename = "-A", deserialize_with = "count")]
    after: Option<u64>,
    #[serde(default, rename = "-B", deserialize_with = "count")]
    before: Option<u64>,
    #[serde(default, rename = "-C", deserialize_with = "count")]
    around: Option<u64>,
    #[serde(rename = "-n")]
    numbers: Option<bool>,
    #[serde(rename = "-i")]
    ignore_case: Option<bool>,
    multiline: Option<bool>,
    #[serde(default, deserialize_with = "count")]
    head_limit: Option<u64>,
}

/// One search: what it looks for, and what it has found so far.
struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    mode: Mode,
    with_numbers: bool,
    context: &'a ToolContext,
    stop: &'a Stop,
    text: Bounded,
    entries: u64,
    entries_max: u64,
    bytes: u64,
    unreadable: Tally,
    cut_short: Tally,
    end: End,
}

/// How a search stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// There may be more files.
    Open,
    /// There was more than was asked for.
    Head,
    /// There was more than fits.
    Full,
    /// There was more to read than is read.
    Bytes,
}

/// What a file turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Looked {
    /// It was searched.
    Text,
    /// It is no text, and nothing of it is shown.
    Binary,
}

fn grep(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let input: Input = read_input(input)?;
    let matcher = compile(&input)?;
    let target = path::resolve(input.path.as_deref().unwrap_or(""), context)?;
    let (globs, types) = (wanted_globs(&input, context)?, wanted_types(&input)?);
    let mut tree = Tree::below(&target, context, stop, |builder| {
        // Hidden files are searched: `.github` and its like are part of a project.
        builder.hidden(false).overrides(globs).types(types);
    })?;
    let mut search = Search::new(&input, matcher, context, stop);
    if target.is_directory() {
        for entry in tree.by_ref().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
            let relative = entry.path().strip_prefix(&context.workspace).unwrap_or(entry.path());
            if search.look_into(relative).is_err() {
                search.unreadable.add(Some(relative));
            }
            if search.end != End::Open {
                break;
            }
        }
    } else if search.look_into(&target.relative)? == Looked::Binary {
        // A file that is named is not passed over in silence.
        return Err(format!("`{}` is binary; only text is searched", target.shown()));
    }
    Ok(ToolOutput::ok(search.finish(tree.notes(context))))
}

impl<'a> Search<'a> {
    fn new(input: &Input, matcher: RegexMatcher, context: &'a ToolContext, stop: &'a Stop) -> Search<'a> {
        let mode = input.output_mode.unwrap_or(Mode::FilesWithMatches);
        Search {
            matcher,
            searcher: searcher(input, mode),
            mode,
            with_numbers: input.numbers.unwrap_or(true),
            context,
            stop,
            text: Bounded::new(context.output_bytes_max),
            entries: 0,
            entries_max: match input.head_limit.unwrap_or(HEAD_DEFAULT) {
                0 => u64::MAX,
                limit => limit,
            },
            bytes: 0,
            unreadable: Tally::default(),
            cut_short: Tally::default(),
            end: End::Open,
        }
    }

    /// Searches one file and shows what it gives.
    fn look_into(&mut self, relative: &Path) -> Result<Looked, String> {
        let (file, size) = path::open_regular(relative, self.context)?;
        if self.bytes >= TOTAL_BYTES_MAX {
            self.end = End::Bytes;
            return Ok(Looked::Text);
        }
        let asked = Asked {
            mode: self.mode,
            with_numbers: self.with_numbers,
            // One more than is shown, to know whether there is more.
            entries_max: self.entries_max.saturating_sub(self.entries).saturating_add(1),
            bytes_max: self.context.output_bytes_max,
        };
        let mut found = Found::new(&self.matcher, path::shown(relative), asked);
        let reader = Stoppable::new(file, self.stop).take(FILE_BYTES_MAX);
        if let Err(error) = self.searcher.search_reader(&self.matcher, reader, &mut found) {
            self.bytes += size.min(FILE_BYTES_MAX);
            return Err(format!("`{}` cannot be searched: {error}", path::shown(relative)));
        }
        self.bytes += found.bytes_searched;
        if found.is_binary {
            return Ok(Looked::Binary);
        }
        if size > FILE_BYTES_MAX && !found.has_stopped {
            self.cut_short.add(Some(relative));
        }
        let lines = found.into_lines();
        self.show(&lines);
        Ok(Looked::Text)
    }

    fn show(&mut self, lines: &[Shown]) {
        let has_context = self.searcher.after_context() + self.searcher.before_context() > 0;
        for (at, line) in lines.iter().enumerate() {
            if self.entries == self.entries_max {
                self.end = End::Head;
                return;
            }
            let follows_file = at == 0 && has_context && !self.text.is_empty();
            let separator = if line.follows_gap || follows_file { "--\n" } else { "" };
            if !self.text.push(&format!("{separator}{}", line.text)) {
                self.end = End::Full;
                return;
            }
            self.entries += 1;
        }
    }

    fn finish(self, walk_notes: Vec<String>) -> String {
        let mut text = self.text;
        if text.is_empty() && self.end == End::Open {
            text.push_clipped("no matches");
        }
        let thing = match self.mode {
            Mode::Content => "line",
            Mode::FilesWithMatches | Mode::Count => "file",
        };
        let shown = counted(self.entries, thing);
        let mut notes = Vec::new();
        match self.end {
            End::Open => {}
            End::Head => notes.push(format!(
                "the first {shown}; for the rest raise head_limit, or narrow pattern, path or glob"
            )),
            End::Full => notes.push(format!("the first {shown}; for the rest narrow pattern, path or glob")),
            End::Bytes => {
                notes.push(format!("stopped after {TOTAL_GIB_MAX} GiB; for the rest narrow path or glob"));
            }
        }
        notes.extend(walk_notes);
        notes.extend(self.unreadable.note("could not be searched", self.context));
        let what = format!("searched only in the first {FILE_MIB_MAX} MiB");
        notes.extend(self.cut_short.note(&what, self.context));
        text.finish(&notes)
    }
}

fn compile(input: &Input) -> Result<RegexMatcher, String> {
    let multiline = input.multiline.unwrap_or(false);
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(input.ignore_case.unwrap_or(false)).multi_line(true);
    builder.size_limit(REGEX_BYTES_MAX).dfa_size_limit(REGEX_BYTES_MAX);
    if multiline {
        builder.dot_matches_new_line(true);
    } else {
        // `$` stands before a line break of either kind.
        builder.line_terminator(Some(b'\n')).crlf(true);
    }
    builder.build(&input.pattern).map_err(|error| {
        let hint = if !multiline && input.pattern.contains("\\n") { "\nset multiline for that" } else { "" };
        format!("the pattern is not a regular expression: {error}{hint}")
    })
}

fn searcher(input: &Input, mode: Mode) -> Searcher {
    let lines_around = |own: Option<u64>| match mode {
        Mode::Content => own.or(input.around).unwrap_or(0).min(CONTEXT_LINES_MAX) as usize,
        Mode::FilesWithMatches | Mode::Count => 0,
    };
    SearcherBuilder::new()
        .binary_detection(BinaryDetection::quit(0))
        .line_terminator(LineTerminator::crlf())
        .multi_line(input.multiline.unwrap_or(false))
        .heap_limit(Some(HEAP_BYTES_MAX))
        .before_context(lines_around(input.before))
        .after_context(lines_around(input.after))
        .build()
}

/// Models also write several globs, as in `*.ts, *.tsx`; commas in braces are part of one.
fn wanted_globs(input: &Input, context: &ToolContext) -> Result<Override, String> {
    let glob = input.glob.as_deref().unwrap_or("");
    let complaint = |error: ignore::Error| format!("glob is not right: {error}");
    let mut builder = OverrideBuilder::new(&context.workspace);
    let separators: &[char] = if glob.contains('{') { &[' '] } else { &[' ', ','] };
    for one in glob.split(separators).filter(|one| !one.is_empty()) {
        builder.add(one).map_err(complaint)?;
    }
    builder.build().map_err(complaint)
}

fn wanted_types(input: &Input) -> Result<Types, String> {
    let Some(name) = &input.r#type else { return Ok(Types::empty()) };
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions();
    builder.select(name);
    builder.build().map_err(|_| {
        let near = similar_types(name, known.iter().map(FileTypeDef::name).collect());
        if near.is_empty() {
            format!("type `{name}` is not known; use glob")
        } else {
            format!("type `{name}` is not known; near ones: {}; or use glob", near.join(", "))
        }
    })
}

fn similar_types(name: &str, mut known: Vec<&str>) -> Vec<String> {
    let begins_alike =
        |known: &&&str| known.len() > 1 && (known.starts_with(name) || name.starts_with(**known));
    let mut similar = Vec::new();
    while similar.len() < SIMILAR_MAX {
        let next = closest(name, known.iter().copied());
        let Some(next) = next.or_else(|| known.iter().find(begins_alike).copied()) else { break };
        known.retain(|known| *known != next);
        similar.push(format!("`{next}`"));
    }
    similar
}

#[cfg(test)]
mod tests;
