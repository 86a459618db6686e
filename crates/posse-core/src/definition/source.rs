//! Bytes of a file made into text, and the way back from text to lines and bytes.
//!
//! Everything that later stages see is this text; nobody else decodes or counts.

use std::cell::OnceCell;

use crate::diagnostic::{Code, Diagnostic, Fix, Place, Span};

/// The largest file that is read.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A file's text with line feeds only, and how its offsets relate to the bytes on disk.
#[derive(Debug)]
pub struct Source {
    text: String,
    /// Bytes of the byte order mark.
    mark: usize,
    /// (offset of a line feed in the text, carriage returns dropped up to it), ascending.
    dropped: Vec<(usize, usize)>,
    /// Made when the first place is asked for: most files have nothing to point at.
    line_starts: OnceCell<Vec<usize>>,
    /// False when text and file differ in more than dropped bytes, so that no fix can be placed.
    exact: bool,
    /// Offset in the file of the first byte that is not UTF-8.
    first_bad_byte: Option<usize>,
    notes: Vec<Diagnostic>,
}

impl Source {
    /// Decodes a file; `Err` when it is too large or not text.
    pub fn decode(bytes: Vec<u8>) -> Result<Source, Diagnostic> {
        if bytes.len() > FILE_BYTES_MAX {
            let message = format!("the file has {} bytes, more than {FILE_BYTES_MAX}", bytes.len());
            return Err(Diagnostic::new(Code::FileTooLarge, message));
        }
        let mut notes = Vec::new();
        let mut first_bad_byte = None;
        let (text, exact) = match utf16_text(&bytes) {
            Some(text) => {
                notes.push(Diagnostic::new(Code::Utf16, "the file is UTF-16").with_help("save it as UTF-8"));
                (text, false)
            }
            None => match String::from_utf8(bytes) {
                Ok(text) => (text, true),
                Err(error) => {
                    first_bad_byte = Some(error.utf8_error().valid_up_to());
                    (String::from_utf8_lossy(error.as_bytes()).into_owned(), false)
                }
            },
        };
        if text.contains('\0') {
            return Err(
                Diagnostic::new(Code::NotText, "the file has a NUL byte").with_help("save it as UTF-8 text")
            );
        }
        let Normalised { text, mark, dropped, odd_line_ends } = normalise(text);
        if odd_line_ends {
            notes.push(Diagnostic::new(Code::LineEndings, "the file has CR CR LF or lone CR line ends"));
        }
        Ok(Source { text, mark, dropped, line_starts: OnceCell::new(), exact, first_bad_byte, notes })
    }

    /// The text, with line feeds only and no byte order mark.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What was noticed while decoding.
    pub fn notes(&self) -> &[Diagnostic] {
        &self.notes
    }

    /// Offset in the file of the first byte that is not UTF-8.
    pub fn first_bad_byte(&self) -> Option<usize> {
        self.first_bad_byte
    }

    /// The offset in the file of an offset in the text.
    pub fn file_offset(&self, offset: usize) -> usize {
        self.mark + offset + self.dropped_before(self.dropped.partition_point(|(at, _)| *at <= offset))
    }

    /// The same for the end of a span, which comes before the carriage returns of its line.
    fn file_end(&self, offset: usize) -> usize {
        self.mark + offset + self.dropped_before(self.dropped.partition_point(|(at, _)| *at < offset))
    }

    fn dropped_before(&self, line_feeds: usize) -> usize {
        line_feeds.checked_sub(1).map_or(0, |last| self.dropped[last].1)
    }

    /// Where a span is, in lines and columns from 1.
    pub fn place(&self, span: Span) -> Place {
        assert!(span.end <= self.text.len(), "span {span:?} outside a text of {}", self.text.len());
        let (line, line_start) = self.line_of(span.start);
        let column = self.text.get(line_start..span.start).map_or(1, |before| before.chars().count() + 1);
        Place { span, line, column }
    }

    /// The number of the line that holds `offset`, from 1. For what stands near the beginning, as keys do.
    pub fn line(&self, offset: usize) -> usize {
        self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// The number of the line that holds `offset`, from 1, and where it starts.
    fn line_of(&self, offset: usize) -> (usize, usize) {
        let starts = self.line_starts.get_or_init(|| {
            let feeds = self.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
            std::iter::once(0).chain(feeds.map(|(at, _)| at + 1)).collect()
        });
        let line = starts.partition_point(|start| *start <= offset);
        (line, starts[line - 1])
    }

    /// A replacement of `span`, with the file's own line ends, if the rest of the file can be kept byte for byte.
    pub fn fix(&self, span: Span, replacement: &str) -> Option<Fix> {
        let end = self.file_end(span.end);
        let place = Span::new(self.file_offset(span.start).min(end), end);
        let line_end = if self.dropped.is_empty() { "\n" } else { "\r\n" };
        self.exact.then(|| Fix { span: place, replacement: replacement.replace('\n', line_end) })
    }

    /// The line of the text that holds `offset`, without its line feed.
    pub fn line_at(&self, offset: usize) -> Span {
        let bytes = self.text.as_bytes();
        let start = bytes[..offset].iter().rposition(|byte| *byte == b'\n').map_or(0, |feed| feed + 1);
        let end = bytes[offset..]
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(bytes.len(), |length| offset + length);
        Span::new(start, end)
    }
}

fn utf16_text(bytes: &[u8]) -> Option<String> {
    let unit: fn([u8; 2]) -> u16 = match bytes {
        [0xff, 0xfe, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// A text with line feeds only, and what was left out to get there.
struct Normalised {
    text: String,
    mark: usize,
    dropped: Vec<(usize, usize)>,
    odd_line_ends: bool,
}

/// Takes off a byte order mark and makes every `\r+\n` and lone `\r` one line feed.
fn normalise(text: String) -> Normalised {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    if mark == 0 && !text.contains('\r') {
        return Normalised { text, mark, dropped: Vec::new(), odd_line_ends: false };
    }
    let mut out = Normalised {
        text: String::with_capacity(text.len()),
        mark,
        dropped: Vec::new(),
        odd_line_ends: false,
    };
    let mut returns_dropped = 0;
    let mut rest = &text[mark..];
    while let Some(at) = rest.find('\r') {
        out.text.push_str(&rest[..at]);
        let after = rest[at..].trim_start_matches('\r');
        let returns = rest.len() - at - after.len();
        if after.starts_with('\n') {
            out.odd_line_ends |= returns > 1;
            returns_dropped += returns;
            out.dropped.push((out.text.len(), returns_dropped));
        } else {
            out.odd_line_ends = true;
            out.text.extend(std::iter::repeat_n('\n', returns));
        }
        rest = after;
    }
    out.text.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::Source;
    use crate::diagnostic::Span;

    fn decoded(bytes: &[u8]) -> Source {
        Source::decode(bytes.to_vec()).expect("text")
    }

    #[test]
    fn every_line_end_becomes_a_line_feed() {
        assert_eq!(decoded(b"a\r\nb\r\r\nc\rd\ne").text(), "a\nb\nc\nd\ne");
    }

    #[test]
    fn offsets_lead_back_to_the_bytes_on_disk() {
        let source = decoded("\u{feff}ab\r\ncd\r\n".as_bytes());
        let at = source.text().find("cd").expect("cd");
        assert_eq!(source.file_offset(at), 3 + 4);
        let place = source.place(Span::new(at, at + 2));
        assert_eq!((place.line, place.column), (2, 1));
    }

    #[test]
    fn utf_16_is_decoded_and_never_rewritten() {
        let bytes: Vec<u8> = "\u{feff}hé".encode_utf16().flat_map(u16::to_le_bytes).collect();
        let source = decoded(&bytes);
        assert_eq!(source.text(), "hé");
        assert!(source.fix(Span::new(0, 1), "").is_none());
    }

    #[test]
    fn nul_bytes_and_huge_files_are_refused() {
        assert!(Source::decode(b"a\0b".to_vec()).is_err());
        assert!(Source::decode(vec![b'a'; super::FILE_BYTES_MAX + 1]).is_err());
    }
}
