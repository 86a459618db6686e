//! An answer as the list of events that an API streams, before it is bytes; faults are put in here.
//!
//! What an event says is each API's own matter.

/// The text of an answer that is to be lengthened.
pub(super) const SHORT_TEXT: &str = "HUGE";

/// The events of one streamed answer.
#[derive(Debug, Default)]
pub(super) struct Stream {
    events: Vec<Event>,
    first_delta: Option<usize>,
}

/// One event: its data, and its name where the API names events.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub name: Option<&'static str>,
    pub data: String,
}

/// How an API writes its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Writing {
    /// Server-sent events with lines that end in `\n`.
    Sse,
    /// Server-sent events with lines that end in `\r\n`, as Google writes them.
    SseCrlf,
    /// One JSON array over all events.
    Array,
}

impl Event {
    pub(super) fn named(name: &'static str, data: String) -> Event {
        Event { name: Some(name), data }
    }

    pub(super) fn plain(data: String) -> Event {
        Event { name: None, data }
    }

    fn write(&self, line_end: &str, into: &mut Vec<u8>) {
        if let Some(name) = self.name {
            for text in ["event: ", name, line_end] {
                into.extend_from_slice(text.as_bytes());
            }
        }
        for text in ["data: ", &self.data, line_end, line_end] {
            into.extend_from_slice(text.as_bytes());
        }
    }
}

impl Stream {
    pub(super) fn push(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Adds an event that carries a piece of the answer's text.
    pub(super) fn push_delta(&mut self, event: Event) {
        self.first_delta.get_or_insert(self.events.len());
        self.events.push(event);
    }

    /// Breaks off after the first piece of text and goes on with other events.
    pub(super) fn broken_off(&mut self, then: impl IntoIterator<Item = Event>) {
        self.events.truncate(self.delta() + 1);
        self.events.extend(then);
    }

    /// Puts JSON that ends too early after the first piece of text.
    pub(super) fn break_json(&mut self) {
        let at = self.delta();
        let whole = &self.events[at];
        let mut end = whole.data.len() * 2 / 3;
        while !whole.data.is_char_boundary(end) {
            end -= 1;
        }
        let broken = Event { name: whole.name, data: whole.data[..end].to_owned() };
        self.events.insert(at + 1, broken);
    }

    pub(super) fn written(&self, writing: Writing) -> Vec<u8> {
        let whole = write(&self.events, writing);
        match writing {
            Writing::Array => [b"[", &whole[..], b"]"].concat(),
            Writing::Sse | Writing::SseCrlf => whole,
        }
    }

    /// The body with the first piece of text replaced by a `long` one and said over and over, until those
    /// alone have so many bytes.
    pub(super) fn lengthened(&self, writing: Writing, long: &str, bytes: usize) -> Vec<(Vec<u8>, usize)> {
        let (before, rest) = self.events.split_at(self.delta());
        let (delta, after) = rest.split_at(1);
        let delta = Event { name: delta[0].name, data: delta[0].data.replace(SHORT_TEXT, long) };
        let (mut before, mut delta) = (write(before, writing), write(&[delta], writing));
        let mut after = write(after, writing);
        if writing == Writing::Array {
            before.insert(0, b'[');
            delta.extend_from_slice(b",\r\n");
            after.push(b']');
        }
        let times = bytes.div_ceil(delta.len());
        vec![(before, 1), (delta, times), (after, 1)]
    }

    fn delta(&self) -> usize {
        self.first_delta.expect("a fault is put into an answer with text")
    }
}

fn write(events: &[Event], writing: Writing) -> Vec<u8> {
    let mut body = Vec::with_capacity(events.iter().map(|event| event.data.len() + 64).sum());
    for (index, event) in events.iter().enumerate() {
        match writing {
            Writing::Sse => event.write("\n", &mut body),
            Writing::SseCrlf => event.write("\r\n", &mut body),
            Writing::Array => {
                if index > 0 {
                    body.extend_from_slice(b",\r\n");
                }
                body.extend_from_slice(event.data.as_bytes());
            }
        }
    }
    body
}

/// A text as a JSON string.
pub(super) fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a text is always valid JSON")
}

/// A text in pieces of a few characters; a long text in larger ones, so that there are never many.
pub(super) fn pieces(text: &str) -> Vec<&str> {
    const PIECE_CHARS_MIN: usize = 12;
    const PIECES_MAX: usize = 40;
    let size = text.chars().count().div_ceil(PIECES_MAX).max(PIECE_CHARS_MIN);
    let mut rest = text;
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        let end = rest.char_indices().nth(size).map_or(rest.len(), |(at, _)| at);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}
