//! Bytes of a file made into text, and the way back from text to lines and bytes.
//!
//! Everything that later stages see is this text; nobody else decodes or counts.

use crate::diagnostic::{Code, Diagnostic, Fix, Place, Span};

/// The largest file that is read.
pub const FILE_BYTES_MAX: usize = 1024 * 1024;

/// A file's text with line feeds only, and how its offsets relate to the bytes on disk.
#[derive(Debug)]
pub struct Source {
    text: String,
    /// (offset in the text, bytes of the file dropped before it), ascending.
    dropped: Vec<(usize, usize)>,
    line_starts: Vec<usize>,
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
        let (text, dropped, odd_line_ends) = normalise(text);
        if odd_line_ends {
            notes.push(Diagnostic::new(Code::LineEndings, "the file has CR CR LF or lone CR line ends"));
        }
        let line_starts = std::iter::once(0)
            .chain(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1))
            .collect();
        Ok(Source { text, dropped, line_starts, exact, first_bad_byte, notes })
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
        let index = self.dropped.partition_point(|(at, _)| *at <= offset);
        offset + index.checked_sub(1).map_or(0, |before| self.dropped[before].1)
    }

    /// Where a span is, in lines and columns from 1.
    pub fn place(&self, span: Span) -> Place {
        assert!(span.end <= self.text.len(), "span {span:?} outside a text of {}", self.text.len());
        let line = self.line_starts.partition_point(|start| *start <= span.start);
        let line_start = self.line_starts[line - 1];
        let column = self.text.get(line_start..span.start).map_or(1, |before| before.chars().count() + 1);
        Place { span, line, column }
    }

    /// A replacement of `span`, if the file can be rewritten byte for byte elsewhere.
    pub fn fix(&self, span: Span, replacement: String) -> Option<Fix> {
        let place = Span::new(self.file_offset(span.start), self.file_offset(span.end));
        self.exact.then_some(Fix { span: place, replacement })
    }

    /// The line of the text that holds `offset`, without its line feed.
    pub fn line_at(&self, offset: usize) -> Span {
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts[line - 1];
        let end = self.text[start..].find('\n').map_or(self.text.len(), |length| start + length);
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

/// Takes off a byte order mark and makes every `\r+\n` and lone `\r` one line feed.
fn normalise(text: String) -> (String, Vec<(usize, usize)>, bool) {
    let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    if mark == 0 && !text.contains('\r') {
        return (text, Vec::new(), false);
    }
    let mut out = String::with_capacity(text.len());
    let mut dropped = vec![(0, mark)];
    let mut dropped_bytes = mark;
    let mut odd = false;
    let mut rest = &text[mark..];
    while let Some(at) = rest.find('\r') {
        out.push_str(&rest[..at]);
        let after = rest[at..].trim_start_matches('\r');
        let returns = rest.len() - at - after.len();
        if after.starts_with('\n') {
            odd |= returns > 1;
            dropped_bytes += returns;
            dropped.push((out.len(), dropped_bytes));
        } else {
            odd = true;
            out.extend(std::iter::repeat_n('\n', returns));
        }
        rest = after;
    }
    out.push_str(rest);
    (out, dropped, odd)
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
        assert!(source.fix(Span::new(0, 1), String::new()).is_none());
    }

    #[test]
    fn nul_bytes_and_huge_files_are_refused() {
        assert!(Source::decode(b"a\0b".to_vec()).is_err());
        assert!(Source::decode(vec![b'a'; super::FILE_BYTES_MAX + 1]).is_err());
    }
}
