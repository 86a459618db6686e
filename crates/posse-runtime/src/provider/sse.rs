//! Server-sent events out of bytes that arrive in any pieces.
//!
//! Nothing here knows what an event means, or where its bytes come from.

use std::fmt;
use std::ops::Range;

use memchr::memchr2;

/// The most bytes that one event may have.
pub(crate) const EVENT_BYTES_MAX: usize = 8 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Why a stream cannot be read further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SseError {
    /// An event has more than `EVENT_BYTES_MAX` bytes.
    TooLong,
    /// An event is not UTF-8.
    NotUtf8,
}

/// An event's name, empty where it has none, and its data.
pub(crate) type SseEvent<'a> = (&'a str, &'a str);

/// An incremental reader. After each `feed`, `next` is called until there is no event; at the end of the
/// stream `finish` is called once.
#[derive(Debug, Default)]
pub(crate) struct Sse {
    /// What was fed and is not read yet, after what the last event may still point into.
    buffer: Vec<u8>,
    /// Where the event that is being read begins.
    event_start: usize,
    /// Where its unfinished line begins, counted from `event_start`.
    line_start: usize,
    /// Up to where that line was searched for its end, counted from `event_start`.
    searched: usize,
    /// True when the last line ended with CR: an LF right after it belongs to the same line end.
    after_carriage_return: bool,
    /// True when the bytes are past a byte order mark.
    begun: bool,
    fields: Fields,
    /// The data of an event that has several lines of it.
    joined: String,
}

/// The fields of an event that is being read, counted from its start.
#[derive(Debug, Default)]
struct Fields {
    name: Range<usize>,
    data: EventData,
}

/// Where the data of an event is.
#[derive(Debug, Default)]
enum EventData {
    /// There was none yet.
    #[default]
    Missing,
    /// One line of the buffer.
    Line(Range<usize>),
    /// In `Sse::joined`.
    Joined,
}

/// What a line turned out to be.
enum Line {
    Blank,
    Field,
}

impl Sse {
    /// Takes the next bytes of the stream.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.drain(..self.event_start);
        self.event_start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event, if there is one yet.
    pub(crate) fn next(&mut self) -> Result<Option<SseEvent<'_>>, SseError> {
        if !self.begun && !self.begin() {
            return Ok(None);
        }
        while let Some(line) = self.next_line()? {
            // What holds no field yet is passed over at once: hours of comments are no long event.
            if matches!(line, Line::Field) && self.fields.hold_something() {
                continue;
            }
            let fields = self.end_event();
            if !matches!(fields.data, EventData::Missing) {
                return self.event(fields);
            }
        }
        Ok(None)
    }

    /// The event that the end of the stream cut off before its blank line, if it has data.
    pub(crate) fn finish(&mut self) -> Result<Option<SseEvent<'_>>, SseError> {
        let line = self.line_start..self.buffer.len() - self.event_start;
        self.check_length(line.end)?;
        if !line.is_empty() {
            self.take_field(line.clone())?;
        }
        self.line_start = line.end;
        self.searched = line.end;
        let fields = self.end_event();
        self.event(fields)
    }

    /// Skips a byte order mark; false as long as it cannot be told whether there is one.
    fn begin(&mut self) -> bool {
        if self.buffer.starts_with(BYTE_ORDER_MARK) {
            self.event_start = BYTE_ORDER_MARK.len();
            self.begun = true;
        } else {
            self.begun = !BYTE_ORDER_MARK.starts_with(&self.buffer);
        }
        self.begun
    }

    /// Reads one whole line into the fields, if there is one yet.
    fn next_line(&mut self) -> Result<Option<Line>, SseError> {
        let unread = &self.buffer[self.event_start..];
        if self.after_carriage_return && self.line_start < unread.len() {
            self.after_carriage_return = false;
            if unread[self.line_start] == b'\n' {
                self.line_start += 1;
                self.searched = self.line_start;
            }
        }
        let Some(length) = memchr2(b'\n', b'\r', &unread[self.searched..]) else {
            self.searched = unread.len();
            self.check_length(self.searched)?;
            return Ok(None);
        };
        let line = self.line_start..self.searched + length;
        self.after_carriage_return = unread[line.end] == b'\r';
        self.line_start = line.end + 1;
        self.searched = self.line_start;
        self.check_length(line.end)?;
        if line.is_empty() {
            return Ok(Some(Line::Blank));
        }
        self.take_field(line)?;
        Ok(Some(Line::Field))
    }

    fn check_length(&self, length: usize) -> Result<(), SseError> {
        if length > EVENT_BYTES_MAX { Err(SseError::TooLong) } else { Ok(()) }
    }

    /// Notes what a line that is not blank says; comments and fields nobody asks for say nothing.
    fn take_field(&mut self, line: Range<usize>) -> Result<(), SseError> {
        let bytes = &self.buffer[self.event_start..][line.clone()];
        let colon = bytes.iter().position(|byte| *byte == b':').unwrap_or(bytes.len());
        let mut value = (line.start + colon + 1).min(line.end)..line.end;
        if bytes.get(colon + 1) == Some(&b' ') {
            value.start += 1;
        }
        match &bytes[..colon] {
            b"event" => self.fields.name = value,
            b"data" => self.take_data(value)?,
            _ => {}
        }
        Ok(())
    }

    /// The usual event has one line of data, which is not copied; only a second line asks for a copy.
    fn take_data(&mut self, line: Range<usize>) -> Result<(), SseError> {
        let unread = &self.buffer[self.event_start..];
        self.fields.data = match std::mem::take(&mut self.fields.data) {
            EventData::Missing => EventData::Line(line),
            EventData::Line(first) => {
                self.joined.clear();
                self.joined.push_str(text(&unread[first])?);
                self.joined.push('\n');
                self.joined.push_str(text(&unread[line])?);
                EventData::Joined
            }
            EventData::Joined => {
                self.joined.push('\n');
                self.joined.push_str(text(&unread[line])?);
                EventData::Joined
            }
        };
        Ok(())
    }

    /// Moves on to the next event and gives the fields of the last, counted from the start of the buffer.
    fn end_event(&mut self) -> Fields {
        let start = self.event_start;
        let absolute = |range: Range<usize>| range.start + start..range.end + start;
        let fields = std::mem::take(&mut self.fields);
        self.event_start += self.line_start;
        self.line_start = 0;
        self.searched = 0;
        let data = match fields.data {
            EventData::Line(line) => EventData::Line(absolute(line)),
            EventData::Missing => EventData::Missing,
            EventData::Joined => EventData::Joined,
        };
        Fields { name: absolute(fields.name), data }
    }

    fn event(&self, fields: Fields) -> Result<Option<SseEvent<'_>>, SseError> {
        let data = match fields.data {
            EventData::Missing => return Ok(None),
            EventData::Line(line) => text(&self.buffer[line])?,
            EventData::Joined => self.joined.as_str(),
        };
        Ok(Some((text(&self.buffer[fields.name])?, data)))
    }
}

impl Fields {
    fn hold_something(&self) -> bool {
        !self.name.is_empty() || !matches!(self.data, EventData::Missing)
    }
}

impl fmt::Display for SseError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SseError::TooLong => {
                write!(formatter, "an event of the stream has more than {EVENT_BYTES_MAX} bytes")
            }
            SseError::NotUtf8 => formatter.write_str("an event of the stream is not UTF-8"),
        }
    }
}

impl std::error::Error for SseError {}

fn text(bytes: &[u8]) -> Result<&str, SseError> {
    std::str::from_utf8(bytes).map_err(|_| SseError::NotUtf8)
}

#[cfg(test)]
mod tests;
