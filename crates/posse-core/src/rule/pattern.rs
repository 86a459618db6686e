//! Patterns over text: what a `*` stands for, and whether a command that is only partly known could match.
//!
//! A command is compared as one text in which its words are apart by `GAP`, so that a blank inside a word is not taken
//! for the end of it, and in which `ANY` stands for what only the shell will know.

/// Between two words of a command.
pub(super) const GAP: char = '\u{1}';
/// Where something stands that is not known beforehand.
pub(super) const ANY: char = '\u{2}';
/// Where a pattern says `*`.
const STAR: char = '\u{3}';

/// Tells whether `text` is what `pattern` says, where `*` stands for any characters.
pub(super) fn glob(pattern: &str, text: &str) -> bool {
    if !pattern.contains('*') {
        return pattern == text;
    }
    let pattern: Vec<char> = pattern.chars().map(|c| if c == '*' { STAR } else { c }).collect();
    let text: Vec<char> = text.chars().collect();
    certainly(&pattern, &text, |p, t| p == t)
}

/// The pattern of a `Bash(…)` rule.
#[derive(Debug, Clone)]
pub(super) struct CommandPattern {
    tokens: Vec<char>,
    /// Where the pattern ended in ` *`, the same with more words; without them it holds too.
    followed: Option<Vec<char>>,
}

impl CommandPattern {
    /// Compiles a specifier; `None` when it names no command.
    pub(super) fn compile(specifier: &str) -> Option<CommandPattern> {
        let text = specifier.trim();
        let text = match text.strip_suffix(":*") {
            Some("") => return None,
            Some(prefix) if !prefix.ends_with('\\') => format!("{prefix} *"),
            _ => text.to_owned(),
        };
        let mut tokens = tokens(text.trim_start());
        let mut followed = None;
        if tokens.ends_with(&[GAP, STAR]) {
            followed = Some(tokens.clone());
            tokens.truncate(tokens.len() - 2);
        }
        (!tokens.is_empty()).then_some(CommandPattern { tokens, followed })
    }

    /// True when it stands for every command.
    pub(super) fn is_everything(&self) -> bool {
        self.tokens.iter().all(|token| matches!(*token, STAR | GAP))
    }

    /// True when the command is what the pattern says, whatever its unknown words turn out to be.
    pub(super) fn holds(&self, command: &[char]) -> bool {
        self.any_form(|tokens| certainly(tokens, command, |p, c| p == c))
    }

    /// As `holds`, where a blank inside a word may also be the end of it.
    pub(super) fn holds_loosely(&self, command: &[char]) -> bool {
        self.any_form(|tokens| certainly(tokens, command, same_loosely))
    }

    /// True when the unknown words of the command could make it what the pattern says.
    pub(super) fn may_hold(&self, command: &[char]) -> bool {
        command.contains(&ANY) && self.any_form(|tokens| possibly(tokens, command))
    }

    fn any_form(&self, test: impl Fn(&[char]) -> bool) -> bool {
        test(&self.tokens) || self.followed.as_deref().is_some_and(test)
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, GAP | ' ' | '\t' | '\n')
}

fn same_loosely(pattern: char, text: char) -> bool {
    pattern == text || (is_blank(pattern) && is_blank(text))
}

/// A specifier as tokens: quotes are taken off, blanks between words become gaps.
fn tokens(text: &str) -> Vec<char> {
    let mut out = Vec::new();
    let mut quote: Option<char> = None;
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.as_str();
        match (c, quote) {
            ('*', _) => {
                if out.last() != Some(&STAR) {
                    out.push(STAR);
                }
            }
            ('\\', None) if !after.is_empty() => out.extend(rest.next()),
            (c, Some(open)) if c == open => quote = None,
            // An apostrophe without its partner is only a character.
            ('"' | '\'', None) if after.contains(c) => quote = Some(c),
            (' ' | '\t' | '\n', None) => {
                if !matches!(out.last(), None | Some(&GAP)) {
                    out.push(GAP);
                }
            }
            // The signs of this file cannot be written.
            (GAP | ANY | STAR, _) => out.push('\u{fffd}'),
            (c, _) => out.push(c),
        }
    }
    out
}

/// Wildcard matching in which an unknown of the text is matched by a star only.
fn certainly(pattern: &[char], text: &[char], same: impl Fn(char, char) -> bool) -> bool {
    let (mut at, mut here) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while here < text.len() {
        match pattern.get(at) {
            Some(&STAR) => {
                star = Some((at, here));
                at += 1;
            }
            Some(&token) if text[here] != ANY && same(token, text[here]) => {
                at += 1;
                here += 1;
            }
            _ => match star {
                Some((star_at, from)) => {
                    star = Some((star_at, from + 1));
                    at = star_at + 1;
                    here = from + 1;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|token| *token == STAR)
}

/// Matching in which both sides have wildcards: true when some text is what both say.
fn possibly(pattern: &[char], text: &[char]) -> bool {
    // reached[i]: the text so far can be what the first i tokens say.
    let mut reached = vec![false; pattern.len() + 1];
    reached[0] = true;
    spread(pattern, &mut reached);
    for c in text {
        let mut next = vec![false; pattern.len() + 1];
        if *c == ANY {
            let first = reached.iter().position(|reached| *reached).unwrap_or(next.len());
            next[first..].fill(true);
        } else {
            for (at, token) in pattern.iter().enumerate().filter(|(at, _)| reached[*at]) {
                next[at] |= *token == STAR;
                next[at + 1] |= same_loosely(*token, *c);
            }
        }
        spread(pattern, &mut next);
        if !next.contains(&true) {
            return false;
        }
        reached = next;
    }
    reached[pattern.len()]
}

/// A star may stand for nothing.
fn spread(pattern: &[char], reached: &mut [bool]) {
    for (at, token) in pattern.iter().enumerate() {
        reached[at + 1] |= reached[at] && *token == STAR;
    }
}
