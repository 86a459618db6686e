//! A diagnostic the way a compiler shows it: the line, a caret, the code, what to do.

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use posse_core::diagnostic::{Diagnostic, Severity};
use posse_core::text::visible_line;

/// The longest line that is shown.
const LINE_MAX: usize = 4000;

/// Renders a diagnostic; without its source it is its message and place.
pub fn render(diagnostic: &Diagnostic, source: Option<&str>, width: usize) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let message = visible_line(&diagnostic.message);
    let path = diagnostic.path.as_deref().map(visible_line);
    let help = diagnostic.help.as_deref().map(visible_line);
    let title = level.primary_title(&message).id(diagnostic.code.as_str());
    let line = source
        .zip(diagnostic.place)
        .and_then(|(text, place)| line_of(text, place.span.start, place.span.end));
    let mut group = match (&line, diagnostic.place) {
        (Some((line, start, end)), Some(place)) => {
            let snippet = Snippet::source(line.as_str()).line_start(place.line).fold(false);
            let snippet = snippet.annotation(AnnotationKind::Primary.span(*start..*end));
            Group::with_title(title).element(match &path {
                Some(path) => snippet.path(path.as_str()),
                None => snippet,
            })
        }
        _ => {
            let mut group = Group::with_title(title);
            if let Some(path) = &path {
                let mut origin = annotate_snippets::Origin::path(path.as_str());
                if let Some(place) = diagnostic.place {
                    origin = origin.line(place.line).char_column(place.column);
                }
                group = group.element(origin);
            }
            group
        }
    };
    if let Some(help) = &help {
        group = group.element(Level::HELP.message(help.as_str()));
    }
    Renderer::styled().term_width(width).render(&[group])
}

/// The line a span starts in, and the part of the span on that line.
fn line_of(text: &str, start: usize, end: usize) -> Option<(String, usize, usize)> {
    if start > text.len() || !text.is_char_boundary(start) {
        return None;
    }
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    // A line that no terminal can show is only pointed at.
    if line_end - line_start > LINE_MAX {
        return None;
    }
    // Control characters of two bytes reach a terminal as they are; two marks keep every place where it is.
    let line = text[line_start..line_end].replace(|c: char| ('\u{80}'..='\u{9f}').contains(&c), "??");
    let last = end.min(line_end).max(start);
    let last = (start..=last).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(start);
    Some((line, start - line_start, last - line_start))
}
