//! The text of a file as a model sees it, and the way back: line feeds only, no byte order mark.
//!
//! Lines that are not replaced keep the ends they have, also in a file that mixes them.

use std::ops::Range;

/// What stands before some texts of other systems.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// A text that can be edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tool) struct Text {
    /// With line feeds only.
    pub plain: String,
    /// Where in `plain` the line feeds are that had a carriage return.
    with_return: Vec<usize>,
    has_mark: bool,
    /// True when a new line gets a carriage return too.
    returns: bool,
}

impl Text {
    /// Reads a file; `None` when it is no UTF-8 or has a NUL, as no text has.
    pub(in crate::tool) fn read(bytes: &[u8]) -> Option<Text> {
        let raw = std::str::from_utf8(bytes).ok().filter(|raw| !raw.contains('\0'))?;
        let has_mark = raw.starts_with(BYTE_ORDER_MARK);
        let raw = raw.strip_prefix(BYTE_ORDER_MARK).unwrap_or(raw);
        let (mut plain, mut with_return) = (String::with_capacity(raw.len()), Vec::new());
        for line in raw.split_inclusive('\n') {
            match line.strip_suffix("\r\n") {
                Some(line) => {
                    plain.push_str(line);
                    with_return.push(plain.len());
                    plain.push('\n');
                }
                None => plain.push_str(line),
            }
        }
        let feeds = plain.bytes().filter(|byte| *byte == b'\n').count();
        let returns = with_return.len() * 2 > feeds;
        Some(Text { plain, with_return, has_mark, returns })
    }

    /// The bytes of the file.
    pub(in crate::tool) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.plain.len() + self.with_return.len() + BYTE_ORDER_MARK.len());
        if self.has_mark {
            bytes.extend_from_slice(BYTE_ORDER_MARK.as_bytes());
        }
        let mut from = 0;
        for at in &self.with_return {
            bytes.extend_from_slice(&self.plain.as_bytes()[from..*at]);
            bytes.push(b'\r');
            from = *at;
        }
        bytes.extend_from_slice(&self.plain.as_bytes()[from..]);
        bytes
    }

    /// Puts `new` in each of these places, which are in order and do not overlap. All have `old_bytes`.
    pub(super) fn replace(&mut self, places: &[usize], old_bytes: usize, new: &str) {
        let mut edited =
            Text { plain: String::with_capacity(self.plain.len()), with_return: Vec::new(), ..*self };
        let mut from = 0;
        for place in places {
            edited.copy(self, from..*place);
            if self.returns {
                let base = edited.plain.len();
                edited.with_return.extend(new.match_indices('\n').map(|(at, _)| base + at));
            }
            edited.plain.push_str(new);
            from = place + old_bytes;
        }
        edited.copy(self, from..self.plain.len());
        *self = edited;
    }

    /// Adds a part of another text, with the ends that its lines have there.
    fn copy(&mut self, other: &Text, part: Range<usize>) {
        let base = self.plain.len();
        let first = other.with_return.partition_point(|at| *at < part.start);
        let last = other.with_return.partition_point(|at| *at < part.end);
        self.with_return.extend(other.with_return[first..last].iter().map(|at| base + at - part.start));
        self.plain.push_str(&other.plain[part]);
    }
}

/// Words of a model with line feeds only.
pub(super) fn plain(words: &str) -> String {
    words.replace("\r\n", "\n")
}
