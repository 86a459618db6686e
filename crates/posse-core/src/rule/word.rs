//! One word of a shell command: what is left of it when the shell has taken its quotes off.

use super::pattern::{ANY, GAP};

/// A word, with `ANY` where something stands that only the shell will know.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Its characters.
    pub text: String,
    /// It begins with a `~` that stands for the home directory.
    pub tilde: bool,
    /// Something of it was quoted, so that it is a word even when empty.
    pub quoted: bool,
    /// The shell may see something in it that is not seen here.
    pub odd: bool,
}

impl Word {
    /// A word that is exactly this.
    pub(super) fn literal(text: &str) -> Word {
        Word { text: text.to_owned(), ..Word::default() }
    }

    /// A word of which nothing is known.
    pub(super) fn unknown() -> Word {
        Word { text: ANY.to_string(), ..Word::default() }
    }

    /// Its text, when all of it is known.
    pub(super) fn known(&self) -> Option<&str> {
        (!self.odd && !self.text.contains(ANY)).then_some(self.text.as_str())
    }
}

/// Words as one text to compare with patterns.
pub(super) fn joined(words: &[Word]) -> Vec<char> {
    let mut out = Vec::new();
    for (index, word) in words.iter().enumerate() {
        if index > 0 {
            out.push(GAP);
        }
        out.extend(word.text.chars());
    }
    out
}

/// Words as a person would write them.
pub(super) fn shown(words: &[Word]) -> String {
    let text: String = joined(words)
        .into_iter()
        .map(|c| match c {
            GAP => ' ',
            ANY => '…',
            c => c,
        })
        .collect();
    crate::text::visible_line(&text)
}

/// Takes the quotes off `raw`; `unknown` are the ranges in it, in order, that the shell replaces.
pub(super) fn decode(raw: &str, unknown: &[(usize, usize)]) -> Word {
    let mut decoder = Decoder { raw, unknown, at: 0, word: Word::default(), rest_unknown: false };
    decoder.run();
    decoder.word
}

struct Decoder<'a> {
    raw: &'a str,
    unknown: &'a [(usize, usize)],
    at: usize,
    word: Word,
    /// Braces make several words, which end in anything.
    rest_unknown: bool,
}

impl Decoder<'_> {
    fn run(&mut self) {
        if self.raw == "[" || self.raw == "{}" {
            self.word.text.push_str(self.raw);
            return;
        }
        while self.at < self.raw.len() {
            if self.skip_unknown() {
                continue;
            }
            let Some(c) = self.next() else { return };
            match c {
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some(escaped) => self.push(escaped),
                    None => self.word.odd = true,
                },
                '\'' => self.single(),
                '"' => self.double(),
                '$' => self.dollar(),
                '`' => self.word.odd = true,
                '*' | '?' | '[' => self.any(),
                '{' if self.braces_expand() => {
                    self.any();
                    self.rest_unknown = true;
                }
                '~' if self.at == 1 => self.tilde(),
                '#' if self.at == 1 => self.word.odd = true,
                '(' | ')' | '<' | '>' | '|' | '&' | ';' | ' ' | '\t' | '\n' => self.word.odd = true,
                c => self.push(c),
            }
        }
    }

    fn next(&mut self) -> Option<char> {
        let c = self.raw[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn skip_unknown(&mut self) -> bool {
        let Ok(found) = self.unknown.binary_search_by_key(&self.at, |(start, _)| *start) else {
            return false;
        };
        self.at = self.unknown[found].1.max(self.at + 1);
        self.any();
        true
    }

    fn any(&mut self) {
        if !self.word.text.ends_with(ANY) {
            self.word.text.push(ANY);
        }
    }

    fn push(&mut self, c: char) {
        // The signs that matching uses cannot be smuggled in.
        if c.is_control() && !matches!(c, '\t' | '\n') {
            self.word.odd = true;
            self.any();
        } else if !self.rest_unknown {
            self.word.text.push(c);
        }
    }

    fn single(&mut self) {
        self.word.quoted = true;
        loop {
            match self.next() {
                Some('\'') => return,
                Some(c) => self.push(c),
                None => return self.word.odd = true,
            }
        }
    }

    fn double(&mut self) {
        self.word.quoted = true;
        while self.at < self.raw.len() {
            if self.skip_unknown() {
                continue;
            }
            match self.next() {
                Some('"') => return,
                Some('\\') => self.escaped_in_double(),
                Some('$') if self.raw[self.at..].starts_with(expands) => self.word.odd = true,
                Some('`') | None => self.word.odd = true,
                Some(c) => self.push(c),
            }
        }
        self.word.odd = true;
    }

    fn escaped_in_double(&mut self) {
        match self.next() {
            Some('\n') => {}
            Some(c @ ('$' | '`' | '"' | '\\')) => self.push(c),
            Some(c) => {
                self.push('\\');
                self.push(c);
            }
            None => self.word.odd = true,
        }
    }

    fn dollar(&mut self) {
        match self.raw[self.at..].chars().next() {
            Some('\'') => {
                self.at += 1;
                let start = self.at;
                let Some(length) = ansi_end(&self.raw[start..]) else { return self.word.odd = true };
                let inside = &self.raw[start..start + length];
                self.at = start + length + 1;
                self.word.quoted = true;
                if inside.contains('\\') {
                    self.any();
                } else {
                    inside.chars().for_each(|c| self.push(c));
                }
            }
            // A translated string: the quotes follow.
            Some('"') => {}
            None => self.push('$'),
            Some(_) => {
                self.word.odd = true;
                self.any();
            }
        }
    }

    /// Without a comma or dots after them, braces are only characters.
    fn braces_expand(&self) -> bool {
        let rest = &self.raw[self.at..];
        rest.contains(',') || rest.contains("..")
    }

    fn tilde(&mut self) {
        if self.raw.len() == 1 || self.raw.starts_with("~/") {
            self.word.tilde = true;
            self.push('~');
        } else {
            self.any();
        }
    }
}

/// The bytes up to the quote that ends `$'…'`.
fn ansi_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '\'' && !escaped;
        escaped = c == '\\' && !escaped;
        ends.then_some(at)
    })
}

/// True for what makes an expansion of the `$` before it.
fn expands(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '(' | '{' | '[' | '@' | '*' | '#' | '?' | '-' | '$' | '!')
}
