//! What a change did: a unified diff for people, and a few numbered lines for the model.

use std::fmt::Write as _;
use std::time::Duration;

use posse_core::text::cut_at_char;
use similar::TextDiff;

use super::bound::thousands;

/// The most bytes of a diff, its mark aside.
const DIFF_BYTES_MAX: usize = 16 << 10;
/// How long the smallest difference is looked for; after that any difference will do.
const DIFF_TIME_MAX: Duration = Duration::from_millis(500);
/// Lines that are shown before and after a change.
const AROUND: usize = 4;
/// The most lines that are shown.
const LINES_MAX: usize = 40;
/// How many bytes of a line are shown.
const LINE_BYTES_MAX: usize = 500;

/// The difference between two contents of a file; `before` is `None` for a new one.
pub(super) fn unified(name: &str, before: Option<&[u8]>, after: &[u8]) -> String {
    let old = before.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{name}"));
    let (before, after) =
        (String::from_utf8_lossy(before.unwrap_or_default()), String::from_utf8_lossy(after));
    let difference = TextDiff::configure().timeout(DIFF_TIME_MAX).diff_lines(&*before, &*after);
    let diff = difference.unified_diff().header(&old, &format!("b/{name}")).to_string();
    if diff.len() <= DIFF_BYTES_MAX {
        return diff;
    }
    let kept = cut_at_char(&diff, DIFF_BYTES_MAX);
    let kept = kept.rfind('\n').map_or(kept, |end| &kept[..=end]);
    format!("{kept}[cut: {} of {} bytes]\n", thousands(kept.len() as u64), thousands(diff.len() as u64))
}

/// The lines around some bytes of a text, numbered as `Read` numbers them.
pub(super) fn around(text: &str, from: usize, to: usize) -> String {
    let line_of = |at: usize| text.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
    // What ends with a line break does not reach into the next line.
    let last = line_of(to.min(text.len())).max(line_of(from));
    let first = line_of(from).saturating_sub(AROUND);
    numbered(text, first, last + AROUND)
}

/// Some lines of a text, from 0 and with the last, numbered from 1.
pub(super) fn numbered(text: &str, first: usize, last: usize) -> String {
    let mut shown = String::new();
    let wanted = text.lines().enumerate().skip(first).take(last + 1 - first);
    for (number, line) in wanted.take(LINES_MAX) {
        let cut = cut_at_char(line, LINE_BYTES_MAX);
        let mark = if cut.len() < line.len() { "…" } else { "" };
        writeln!(shown, "{:>6}\t{cut}{mark}", number + 1).expect("writing to a string does not fail");
    }
    shown.truncate(shown.trim_end_matches('\n').len());
    shown
}
