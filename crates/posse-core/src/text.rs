//! Small questions about words: which known word was meant, is anything in them invisible.

/// The known word closest to `written`, if one is close enough to be a typing mistake.
pub fn closest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = written.to_lowercase();
    let distance_max = match wanted.chars().count() {
        0..=2 => return None,
        3..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let length = written.chars().count();
    known
        .into_iter()
        .filter(|word| word.chars().count().abs_diff(length) <= distance_max)
        .map(|word| (strsim::damerau_levenshtein(&wanted, &word.to_lowercase()), word))
        .filter(|(distance, _)| *distance <= distance_max)
        .min_by_key(|(distance, word)| (*distance, word.len()))
        .map(|(_, word)| word)
}

/// The first character that is not shown on a screen, or that changes the direction of text.
pub fn first_hidden_character(text: &str) -> Option<(usize, char)> {
    if !may_hide(text.as_bytes()) {
        return None;
    }
    let mut previous = '\0';
    for (at, character) in text.char_indices() {
        // Joiners and variation selectors are part of emoji and of several scripts.
        let joins = matches!(character, '\u{200c}' | '\u{200d}') && !previous.is_ascii();
        if is_hidden(character) && !joins {
            return Some((at, character));
        }
        previous = character;
    }
    None
}

/// Escapes everything but plain characters, line breaks too, so that a name cannot pass for several.
pub fn visible_line(text: &str) -> String {
    let visible = visible(text);
    if !visible.contains(['\n', '\t']) {
        return visible;
    }
    visible.replace('\n', "\\n").replace('\t', "\\t")
}

/// Escapes what a terminal would not show or would act on, so that a text cannot lie.
pub fn visible(text: &str) -> String {
    if !may_hide(text.as_bytes()) {
        return text.to_owned();
    }
    text.chars()
        .map(|character| match character {
            '\n' => '\n'.to_string(),
            '\t' => '\t'.to_string(),
            c if is_hidden(c) => format!("\\u{{{:x}}}", c as u32),
            c => c.to_string(),
        })
        .collect()
}

/// A quick look at the bytes: false when none of them begins a hidden character.
fn may_hide(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    while let [first, after @ ..] = rest {
        // Most text is printable ASCII, which can be passed over eight bytes at a time.
        if let Some((chunk, beyond)) = rest.split_first_chunk::<8>()
            && is_printable_ascii(u64::from_ne_bytes(*chunk))
        {
            rest = beyond;
            continue;
        }
        let suspicious = match first {
            b'\n' | b'\t' | 0x20..=0x7e => false,
            0x00..=0x1f | 0x7f => true,
            _ => matches!(
                rest,
                [0xe2, 0x80, 0x8b..=0x8f | 0xa8..=0xae, ..]
                    | [0xe2, 0x81, 0xa0..=0xaf, ..]
                    | [0xc2, 0x80..=0x9f | 0xad, ..]
                    | [0xd8, 0x9c, ..]
                    | [0xe1, 0xa0, 0x8e, ..]
                    | [0xe1, 0x85, 0x9f | 0xa0, ..]
                    | [0xe3, 0x85, 0xa4, ..]
                    | [0xef, 0xbb, 0xbf, ..]
                    | [0xef, 0xbe, 0xa0, ..]
                    | [0xf3, 0xa0, ..]
            ),
        };
        if suspicious {
            return true;
        }
        rest = after;
    }
    false
}

/// True when all eight bytes are between a blank and a tilde.
fn is_printable_ascii(bytes: u64) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let below_blank = bytes.wrapping_sub(0x2020_2020_2020_2020);
    let above_tilde = bytes.wrapping_add(0x0101_0101_0101_0101);
    (bytes | below_blank | above_tilde) & HIGH == 0
}

fn is_hidden(character: char) -> bool {
    let acts = character.is_control() && !matches!(character, '\n' | '\t');
    acts || matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}'
            | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}')
}

/// Shortens `text` to one line of at most `characters_max`, marking what was cut.
pub fn one_line(text: &str, characters_max: usize) -> String {
    let words: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if words.chars().count() <= characters_max {
        return words;
    }
    let mut cut: String = words.chars().take(characters_max.saturating_sub(1)).collect();
    cut.truncate(cut.trim_end().len());
    cut.push('…');
    cut
}

/// As much of a text as fits in some bytes, without half a character.
pub fn cut_at_char(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::{closest, first_hidden_character, one_line, visible};

    #[test]
    fn a_typing_mistake_finds_its_word() {
        assert_eq!(closest("Grpe", ["Read", "Grep", "Glob"]), Some("Grep"));
        assert_eq!(closest("descripton", ["description", "delegates"]), Some("description"));
    }

    #[test]
    fn a_different_word_finds_nothing() {
        assert_eq!(closest("deploy", ["Read", "Grep", "Glob"]), None);
        assert_eq!(closest("ls", ["LSP"]), None);
    }

    #[test]
    fn a_bidirectional_override_is_hidden_and_an_emoji_is_not() {
        assert_eq!(first_hidden_character("a\u{202e}b"), Some((1, '\u{202e}')));
        assert_eq!(first_hidden_character("👩\u{200d}💻 ok"), None);
        assert_eq!(visible("a\u{202e}b\u{1b}"), "a\\u{202e}b\\u{1b}");
    }

    #[test]
    fn every_hidden_character_is_seen_wherever_it_stands() {
        for hidden in
            (0..=0x10_ffff).filter_map(char::from_u32).filter(|character| super::is_hidden(*character))
        {
            for before in ["", "x", "—", "1234567", "12345678", "123456789é"] {
                let text = format!("{before}{hidden}");
                let joined =
                    matches!(hidden, '\u{200c}' | '\u{200d}') && !before.is_ascii() && !before.ends_with('x');
                assert_eq!(
                    first_hidden_character(&text).is_none(),
                    joined && !before.is_empty(),
                    "{hidden:?} after {before}"
                );
            }
        }
        assert_eq!(first_hidden_character("— “quoted” …"), None);
    }

    #[test]
    fn a_long_text_is_cut_with_a_marker() {
        assert_eq!(one_line("one  two\nthree", 20), "one two three");
        assert_eq!(one_line("one two three", 8), "one two…");
    }
}
