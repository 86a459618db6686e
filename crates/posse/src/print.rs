//! Everything that reaches a terminal or a pipe goes through here.

mod snippet;
mod table;

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use anstyle::{AnsiColor, Style};
use posse_core::definition::source::Source;
use posse_core::diagnostic::{Diagnostic, Severity};
use posse_core::text::{visible, visible_line};
use posse_runtime::{Places, read_regular};
use serde_json::Value;

pub use table::Table;

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Only what was asked for, and errors.
    Quiet,
    /// Warnings and hints too.
    Normal,
    /// Everything that was noticed.
    Verbose,
}

/// Where output goes and how it looks.
#[derive(Debug)]
pub struct Printer {
    /// How much to say.
    pub level: Level,
    /// True when stdout carries one JSON value and nothing else.
    pub json: bool,
    /// What paths are shown relative to.
    pub places: Option<Places>,
}

pub const BOLD: Style = Style::new().bold();
pub const DIM: Style = Style::new().dimmed();
pub const GREEN: Style = AnsiColor::Green.on_default();
pub const YELLOW: Style = AnsiColor::Yellow.on_default();
pub const RED: Style = AnsiColor::Red.on_default();
pub const CYAN: Style = AnsiColor::Cyan.on_default();

/// `text` in a style.
pub fn styled(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

impl Printer {
    /// Prints text on stdout, unless JSON was asked for.
    pub fn text(&self, text: &str) -> io::Result<()> {
        if self.json { Ok(()) } else { quiet_on_closed_pipe(anstream::stdout().write_all(text.as_bytes())) }
    }

    /// Prints a file's text on stdout: as it is for a program, without what a terminal would act on for a person.
    pub fn file(&self, text: &str) -> io::Result<()> {
        if io::stdout().is_terminal() { self.raw(&visible(text)) } else { self.raw(text) }
    }

    /// Prints text on stdout as it is.
    pub fn raw(&self, text: &str) -> io::Result<()> {
        quiet_on_closed_pipe(io::stdout().write_all(text.as_bytes()))
    }

    /// Prints the one JSON value.
    pub fn json(&self, value: &Value) -> io::Result<()> {
        self.raw(&format!("{value:#}\n"))
    }

    /// Says something about the work on stderr.
    pub fn hint(&self, text: &str) -> io::Result<()> {
        if self.level < Level::Normal { Ok(()) } else { self.say(text) }
    }

    /// Says something on stderr that only `-v` asks for.
    pub fn detail(&self, text: &str) -> io::Result<()> {
        if self.level < Level::Verbose { Ok(()) } else { self.say(text) }
    }

    /// Says something on stderr whatever was asked.
    pub fn say(&self, text: &str) -> io::Result<()> {
        quiet_on_closed_pipe(anstream::stderr().write_all(format!("{text}\n").as_bytes()))
    }

    /// Warns on stderr about something that was decided.
    pub fn warn(&self, text: &str) -> io::Result<()> {
        self.hint(&format!("{}: {}", styled(YELLOW.bold(), "warning"), visible(text)))
    }

    /// True when a line on stderr can be drawn and taken back.
    pub fn stderr_moves(&self) -> bool {
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
    }

    /// Says something on stderr and stays on the line, for an answer.
    pub fn prompt(&self, text: &str) -> io::Result<()> {
        let mut stderr = io::stderr().lock();
        stderr.write_all(text.as_bytes())?;
        stderr.flush()
    }

    /// Draws a line on stderr that the next one replaces, cut to the terminal.
    pub fn moving_line(&self, text: &str) -> io::Result<()> {
        let width = stderr_width().saturating_sub(1);
        quiet_on_closed_pipe(
            anstream::stderr().write_all(format!("\r{}", cut_to_width(text, width)).as_bytes()),
        )
    }

    /// Takes that line back.
    pub fn clear_moving_line(&self) -> io::Result<()> {
        quiet_on_closed_pipe(anstream::stderr().write_all(b"\r\x1b[2K"))
    }

    /// Prints an error and what to do next on stderr.
    pub fn error(&self, message: &str, help: Option<&str>) -> io::Result<()> {
        self.say(&format!("{}: {}", styled(RED.bold(), "error"), visible(message)))?;
        match help {
            Some(help) => self.say(&format!("{}: {}", styled(CYAN.bold(), "help"), visible(help))),
            None => Ok(()),
        }
    }

    /// Prints diagnostics with the lines they point to on stderr, those whose severity is asked for.
    pub fn diagnostics<'a>(&self, diagnostics: impl IntoIterator<Item = &'a Diagnostic>) -> io::Result<()> {
        // A file that much is said about is read once.
        let mut read: Option<(&str, Option<String>)> = None;
        for diagnostic in diagnostics.into_iter().filter(|diagnostic| self.is_wanted(diagnostic)) {
            let path = diagnostic.path.as_deref().unwrap_or_default();
            if diagnostic.place.is_some() && read.as_ref().is_none_or(|(known, _)| *known != path) {
                read = Some((path, source_of(path)));
            }
            let source =
                read.as_ref().filter(|(known, _)| *known == path).and_then(|(_, source)| source.as_ref());
            let shown = snippet::render(
                &self.with_shown_paths(diagnostic),
                source.map(String::as_str),
                stderr_width(),
            );
            self.say(&format!("{shown}\n"))?;
        }
        Ok(())
    }

    fn is_wanted(&self, diagnostic: &Diagnostic) -> bool {
        match diagnostic.severity {
            Severity::Error => true,
            Severity::Warning => self.level >= Level::Normal,
            // A note that knows what was meant is worth a line.
            Severity::Info => {
                self.level >= Level::Verbose || (self.level == Level::Normal && diagnostic.help.is_some())
            }
        }
    }

    /// A path as a person would name it.
    pub fn shown(&self, path: &str) -> String {
        let shown =
            self.places.as_ref().map_or_else(|| path.to_owned(), |places| places.shown(Path::new(path)));
        visible_line(&shown)
    }

    /// A text in which paths are as a person would name them.
    pub fn shown_in_text(&self, text: &str) -> String {
        let Some(places) = &self.places else { return visible_line(text) };
        let text = text.replace(&format!("{}/", places.cwd.display()), "");
        let home = places.home.as_ref().map(|home| format!("{}/", home.display()));
        visible_line(&home.map_or_else(|| text.clone(), |home| text.replace(&home, "~/")))
    }

    fn with_shown_paths(&self, diagnostic: &Diagnostic) -> Diagnostic {
        let mut shown = diagnostic.clone();
        shown.path = diagnostic.path.as_deref().map(|path| self.shown(path));
        if let Some(places) = &self.places {
            shown.message = shown.message.replace(&format!("{}/", places.cwd.display()), "");
        }
        shown
    }
}

/// The text of a file that a diagnostic points into, as it was read.
fn source_of(path: &str) -> Option<String> {
    let bytes = read_regular(Path::new(path)).ok()?;
    Source::decode(bytes).ok().map(|source| source.text().to_owned())
}

/// As much of a styled text as fits; styles take no room.
fn cut_to_width(text: &str, width: usize) -> String {
    let (mut out, mut used, mut in_escape) = (String::new(), 0, false);
    for c in text.chars() {
        in_escape = in_escape || c == '\u{1b}';
        let room = if in_escape { 0 } else { unicode_width::UnicodeWidthChar::width(c).unwrap_or(0) };
        if used + room <= width {
            out.push(c);
            used += room;
        }
        in_escape = in_escape && c != 'm';
    }
    out
}

/// A number and its noun.
pub fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The width of the terminal on stdout; `None` for a pipe, which has no width.
pub fn stdout_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}

fn stderr_width() -> usize {
    const PIPE_WIDTH: usize = 140;
    let terminal =
        io::stderr().is_terminal().then(|| terminal_size::terminal_size_of(io::stderr())).flatten();
    terminal.map_or(PIPE_WIDTH, |(width, _)| usize::from(width.0).max(40))
}

/// A reader that went away has read enough.
fn quiet_on_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}
