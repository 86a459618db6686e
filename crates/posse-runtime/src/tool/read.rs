//! `Read`: the lines of a text file, a page at a time, or a picture or document whole.
//!
//! Text is streamed, never held whole. How paths are judged is not decided here.

mod media;

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Read, Take};
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::blocking::{FileTool, Stop, Stoppable};
use super::bound::{Bounded, counted, thousands};
use super::input::{count, read_input, spec};
use super::kind::HEAD_BYTES;
use super::seen::{self, Hashing};
use super::{ToolContext, ToolOutput, near, path, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::read_only(
    || spec("Read", include_str!("read.md"), include_str!("read.json")),
    |input, context| touch::look(input, "file_path", context),
    read,
)
.with_at_once(read_at_once);

/// How many lines are shown where the model does not say.
const LINES_DEFAULT: u64 = 2_000;
/// How much of a line is shown.
const LINE_CHARACTERS_MAX: usize = 2_000;
/// How much of a line is held: no character has more bytes than four, and there may be marks around.
const LINE_BYTES_MAX: u64 = LINE_CHARACTERS_MAX as u64 * 4 + 8;
/// How far a file is read, for lines to show and for counting the others.
const SCAN_BYTES_MAX: u64 = SCAN_MIB_MAX << 20;
const SCAN_MIB_MAX: u64 = 64;

#[derive(Deserialize)]
struct Input {
    file_path: String,
    #[serde(default, deserialize_with = "count")]
    offset: Option<u64>,
    #[serde(default, deserialize_with = "count")]
    limit: Option<u64>,
}

/// The lines of a file, one at a time.
struct Lines<R> {
    reader: Take<R>,
}

/// One line as far as it is held, without its line break.
#[derive(Default)]
struct Line {
    bytes: Vec<u8>,
    left_out_bytes: u64,
}

/// What is shown of a file, and what was seen of it.
struct Page {
    text: Bounded,
    /// The first line to show, from 1.
    first: u64,
    /// The last line to show.
    last_wanted: u64,
    /// The last line that is shown.
    last_shown: u64,
    /// The lines that were seen.
    lines: u64,
    is_lossy: bool,
    /// Room for the line that is being made.
    line: String,
}

fn read(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let input: Input = read_input(input)?;
    let target = path::resolve(&input.file_path, context)?;
    let (file, size) = path::open_regular(&target.relative, context)?;
    let mut file = BufReader::with_capacity(HEAD_BYTES, Hashing::new(Stoppable::new(file, stop)));
    let head = file.fill_buf().map_err(|error| format!("`{}` cannot be read: {error}", target.shown()))?;
    if let Some(kind) = media::kind(head) {
        return media::show(file, kind, &target.relative, context);
    }
    let text = show(&mut file, size, &target.relative, &input, context)?;
    // Any page of a file passes all of it, to count its lines, but for files too large to be changed anyway.
    context.seen.note(&target.relative, file.into_inner().finish());
    Ok(ToolOutput::ok(text))
}

/// The same for a small file that is at hand.
fn read_at_once(input: &Value, context: &ToolContext) -> Option<Result<ToolOutput, String>> {
    let input: Input = read_input(input).ok()?;
    // A picture is left to the other, which may take its time.
    let near = near::read(&input.file_path, context).filter(|near| media::kind(&near.bytes).is_none())?;
    let shown = show(near.bytes.as_slice(), near.bytes.len() as u64, &near.relative, &input, context);
    if shown.is_ok() {
        context.seen.note(&near.relative, seen::hash(&near.bytes));
    }
    Some(shown.map(ToolOutput::ok))
}

fn show(
    mut file: impl BufRead,
    size: u64,
    relative: &Path,
    input: &Input,
    context: &ToolContext,
) -> Result<String, String> {
    let name = path::shown(relative);
    let unreadable = |error: io::Error| format!("`{name}` cannot be read: {error}");

    let head = file.fill_buf().map_err(unreadable)?;
    if let Some(kind) = binary_kind(&head[..head.len().min(HEAD_BYTES)], relative) {
        return Err(format!("`{name}` is {kind}, {}; Read shows only text", counted(size, "byte")));
    }
    let mut lines = Lines { reader: file.take(SCAN_BYTES_MAX) };
    let mut page = Page::new(input, context);
    page.fill(&mut lines).map_err(unreadable)?;
    let was_read_whole = lines.is_at_end().map_err(unreadable)?;
    page.finish(&name, was_read_whole)
}

impl<R: BufRead> Lines<R> {
    /// Reads the next line into `line`; false at the end of what is read of the file.
    fn next(&mut self, line: &mut Line) -> io::Result<bool> {
        let Line { bytes, left_out_bytes } = line;
        bytes.clear();
        self.reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', bytes)?;
        if bytes.is_empty() {
            return Ok(false);
        }
        *left_out_bytes = 0;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        } else {
            *left_out_bytes = self.reader.skip_until(b'\n')? as u64;
        }
        if bytes.last() == Some(&b'\r') {
            bytes.pop();
        }
        Ok(true)
    }

    /// Passes over a line; false at the end.
    fn skip(&mut self) -> io::Result<bool> {
        Ok(self.reader.skip_until(b'\n')? > 0)
    }

    /// True when there is nothing behind what was read.
    fn is_at_end(&mut self) -> io::Result<bool> {
        Ok(self.reader.get_mut().fill_buf()?.is_empty())
    }
}

impl Page {
    fn new(input: &Input, context: &ToolContext) -> Page {
        let first = input.offset.unwrap_or(1).max(1);
        let limit = input.limit.filter(|limit| *limit > 0).unwrap_or(LINES_DEFAULT);
        let last_wanted = first.saturating_add(limit - 1);
        let text = Bounded::new(context.output_bytes_max);
        Page { text, first, last_wanted, last_shown: 0, lines: 0, is_lossy: false, line: String::new() }
    }

    /// Takes the lines that are wanted and fit, and counts the others.
    fn fill<R: BufRead>(&mut self, lines: &mut Lines<R>) -> io::Result<()> {
        let (mut is_full, mut line) = (false, Line::default());
        loop {
            let number = self.lines + 1;
            if is_full || number < self.first || number > self.last_wanted {
                if !lines.skip()? {
                    return Ok(());
                }
            } else if lines.next(&mut line)? {
                is_full = !self.push(number, &line);
            } else {
                return Ok(());
            }
            self.lines = number;
        }
    }

    fn push(&mut self, number: u64, line: &Line) -> bool {
        let bytes = match number {
            1 => line.bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&line.bytes),
            _ => &line.bytes,
        };
        let mut text = std::mem::take(&mut self.line);
        text.clear();
        write!(text, "{number:>6}\t").expect("writing to a string does not fail");
        let (shown_bytes, is_lossy) = push_characters(&mut text, bytes);
        let left_out_bytes = (bytes.len() - shown_bytes) as u64 + line.left_out_bytes;
        if left_out_bytes > 0 {
            write!(text, "… [line cut; {}]", counted(left_out_bytes, "more byte"))
                .expect("writing to a string does not fail");
        }
        if !self.text.push(&text) {
            // A first line that does not fit would otherwise never be seen at all.
            if !self.text.is_empty() {
                return false;
            }
            self.text.push_clipped(&text);
        }
        self.line = text;
        self.is_lossy |= is_lossy;
        self.last_shown = number;
        true
    }

    fn finish(self, name: &str, was_read_whole: bool) -> Result<String, String> {
        if self.lines == 0 {
            return Ok(format!("[`{name}` is empty]"));
        }
        let lines = counted(self.lines, "line");
        if self.last_shown == 0 {
            let first = self.first;
            return Err(if was_read_whole {
                format!("`{name}` has {lines}; offset {first} is past its end")
            } else {
                format!("Read looks only at the first {SCAN_MIB_MAX} MiB of `{name}`, {lines}; use Grep")
            });
        }
        let mut notes = Vec::new();
        if self.first > 1 || self.last_shown < self.lines || !was_read_whole {
            notes.push(self.range_note(was_read_whole));
        }
        if self.is_lossy {
            notes.push("not all of it is UTF-8; other bytes are shown as \u{fffd}".to_owned());
        }
        Ok(self.text.finish(&notes))
    }

    fn range_note(&self, was_read_whole: bool) -> String {
        let range = format!("lines {}-{}", self.first, self.last_shown);
        let lines = thousands(self.lines);
        let mut note = format!("{range} of {lines}");
        if !was_read_whole {
            note = format!("{range} of more than {lines}, counted up to {SCAN_MIB_MAX} MiB");
        }
        if self.last_shown < self.lines {
            note.push_str(&format!("; the rest: offset {}", self.last_shown + 1));
        }
        note
    }
}

/// Adds as much of a line as is shown; says how many bytes that were, and whether some were no UTF-8.
fn push_characters(text: &mut String, bytes: &[u8]) -> (usize, bool) {
    let (mut shown_bytes, mut is_lossy) = (0, false);
    let mut room = LINE_CHARACTERS_MAX;
    for chunk in bytes.utf8_chunks() {
        let valid = chunk.valid();
        let end = valid.char_indices().nth(room).map_or(valid.len(), |(at, _)| at);
        text.push_str(&valid[..end]);
        shown_bytes += end;
        room -= valid[..end].chars().count();
        if room == 0 {
            break;
        }
        if !chunk.invalid().is_empty() {
            text.push('\u{fffd}');
            shown_bytes += chunk.invalid().len();
            room -= 1;
            is_lossy = true;
        }
    }
    (shown_bytes, is_lossy)
}

/// What a file is that is not text, by its first bytes or else by its name.
fn binary_kind(head: &[u8], path: &Path) -> Option<String> {
    // The first page of a PDF may well have no NUL.
    if !head.contains(&0) && !head.starts_with(b"%PDF-") {
        return None;
    }
    let by_magic = MAGIC.iter().find(|(at, magic, _)| head.get(*at..).is_some_and(|b| b.starts_with(magic)));
    if let Some((_, _, name)) = by_magic {
        return Some((*name).to_owned());
    }
    Some(match path.extension() {
        Some(extension) => format!("a binary file (.{})", path::shown(Path::new(extension))),
        None => "a binary file".to_owned(),
    })
}

/// Where what stands in which files.
const MAGIC: &[(usize, &[u8], &str)] = &[
    (0, b"\x89PNG", "a PNG image"),
    (0, b"\xff\xd8\xff", "a JPEG image"),
    (0, b"GIF8", "a GIF image"),
    (8, b"WEBP", "a WebP image"),
    (8, b"WAVE", "a WAV sound"),
    (4, b"ftyp", "an MP4 video or HEIF image"),
    (0, b"ID3", "an MP3 sound"),
    (0, b"OggS", "an Ogg sound or video"),
    (0, b"%PDF-", "a PDF document"),
    (0, b"PK\x03\x04", "a ZIP archive, or a document or package in one"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"BZh", "a bzip2 archive"),
    (0, b"\xfd7zXZ", "an XZ archive"),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (257, b"ustar", "a tar archive"),
    (0, b"\x7fELF", "an ELF program or library"),
    (0, b"\xcf\xfa\xed\xfe", "a Mach-O program or library"),
    (0, b"\xca\xfe\xba\xbe", "a Java class or a Mach-O program"),
    (0, b"MZ", "a Windows program or library"),
    (0, b"\0asm", "a WebAssembly module"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"\xff\xfe", "UTF-16 text (Grep can search it)"),
    (0, b"\xfe\xff", "UTF-16 text (Grep can search it)"),
];

#[cfg(test)]
mod tests;
