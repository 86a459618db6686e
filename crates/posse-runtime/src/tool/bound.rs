//! Results within their limit: lines are added while there is room, and what is left out is said.
//!
//! Knows nothing of files.

/// Room that is kept free for the notes at the end.
const NOTES_BYTES_MAX: usize = 1_000;

/// A text that takes lines until it is full.
#[derive(Debug)]
pub(super) struct Bounded {
    text: String,
    bytes_max: usize,
}

impl Bounded {
    /// An empty text whose notes will also fit in `output_bytes_max`.
    pub(super) fn new(output_bytes_max: usize) -> Bounded {
        let bytes_max = output_bytes_max.saturating_sub(NOTES_BYTES_MAX).max(output_bytes_max / 2);
        Bounded { text: String::new(), bytes_max }
    }

    /// True while no line was added.
    pub(super) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Adds a line, or nothing of it when it does not fit; says whether it did.
    #[must_use]
    pub(super) fn push(&mut self, line: &str) -> bool {
        let fits = self.text.len() + line.len() < self.bytes_max;
        if fits {
            self.text.push_str(line);
            self.text.push('\n');
        }
        fits
    }

    /// Adds as much of a line as fits; `…` marks that it was cut.
    pub(super) fn push_clipped(&mut self, line: &str) {
        if self.push(line) {
            return;
        }
        let room = self.bytes_max.saturating_sub(self.text.len() + "…\n".len());
        self.text.push_str(&line[..line.floor_char_boundary(room)]);
        self.text.push_str("…\n");
    }

    /// The text, with each note in brackets on a line of its own after it.
    pub(super) fn finish(mut self, notes: &[String]) -> String {
        for note in notes {
            self.text.push_str(&format!("[{note}]\n"));
        }
        self.text.truncate(self.text.trim_end_matches('\n').len());
        self.text
    }
}

/// The text, cut at its limit whatever is in it.
pub(super) fn clip(mut text: String, bytes_max: usize) -> String {
    text.truncate(text.floor_char_boundary(bytes_max));
    text
}

/// A number as people read it: `5,003`.
pub(super) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of things: `1 line`, `5,003 lines`.
pub(super) fn counted(number: u64, thing: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", thousands(number))
}
