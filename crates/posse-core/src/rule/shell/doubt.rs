//! Where the parser and the shell may not mean the same: each check makes the command unclear, none makes it clear.

use tree_sitter::Node;

use super::super::word::decode;
use super::kind::Kind;
use super::{Walk, is_of_word, replaced};

impl Walk<'_> {
    /// Between two tokens there are blanks, or the shell reads other tokens than the parser did.
    pub(super) fn check_gap(&mut self, node: Node<'_>) {
        let (from, to) = (self.seen_to, node.start_byte());
        self.seen_to = from.max(node.end_byte());
        let Some(gap) = self.mask.get(from..to).filter(|gap| !gap.is_empty()) else { return };
        let before = &self.mask.as_bytes()[..from];
        let blank = |text: &str| text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n'));
        let escaped = before.ends_with(b"\\") && !before.ends_with(b"\\\\");
        if blank(gap) && !escaped {
            return;
        }
        // A line that goes on is a gap only if a blank is there too: `gi\⏎t` is one word.
        let apart = gap.replace("\\\n", "");
        let after = self.mask.as_bytes().get(to).copied().unwrap_or(b' ');
        let joins =
            apart.is_empty() && before.last().is_some_and(|byte| is_of_word(*byte)) && is_of_word(after);
        if !blank(&apart) || joins || escaped {
            self.script.unclear("its words cannot be told apart");
        }
    }

    /// Nothing but blanks may follow the last token.
    pub(super) fn check_end(&mut self) {
        let rest = self.mask.get(self.seen_to..).unwrap_or_default();
        if !rest.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n')) {
            self.script.unclear("some of it is not seen by the parser");
        }
    }

    /// A substitution that the parser took for characters would run unseen.
    pub(super) fn check_hidden(&mut self, node: Node<'_>) {
        let raw = self.raw(node);
        if !raw.contains(['`', '$']) {
            return;
        }
        let mut seen = Vec::new();
        let mut cursor = node.walk();
        for child in node.named_children(&mut cursor) {
            replaced(child, node.start_byte(), &mut seen);
        }
        seen.sort_unstable();
        let skip = usize::from(self.kind(node) == Kind::Expansion);
        if hides_expansion(raw, skip, &seen) {
            self.script.unclear("a substitution of it cannot be read");
        }
    }

    /// Where the shell would end the document must be where the parser did.
    pub(super) fn heredoc(&mut self, node: Node<'_>) {
        self.heredocs += 1;
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        let of = |kind: &str| children.iter().copied().find(|child| child.kind() == kind);
        let (Some(start), Some(end)) = (of("heredoc_start"), of("heredoc_end")) else {
            return self.script.unclear("a document of it does not end");
        };
        let quoted = self.raw(start).contains(['"', '\'', '\\']);
        let delimiter = decode(self.raw(start), &[]);
        let strips = self.raw(node).trim_start_matches(|c: char| c.is_ascii_digit()).starts_with("<<-");
        let line =
            |line: &str| if strips { line.trim_start_matches('\t').to_owned() } else { line.to_owned() };
        let line_end = self.mask[end.start_byte()..].lines().next().unwrap_or_default();
        let line_start = self.mask[..end.start_byte()].lines().next_back().unwrap_or_default();
        let at_start = self.mask[..end.start_byte()].ends_with('\n')
            || (strips && line_start.trim_matches('\t').is_empty());
        let ends = delimiter.known() == Some(line(line_end).as_str()) && at_start;
        let body = of("heredoc_body").map(|body| self.raw(body).to_owned()).unwrap_or_default();
        let ends_before = body.lines().any(|text| delimiter.known() == Some(line(text).as_str()));
        if !ends || ends_before || self.heredocs > 1 {
            self.script.unclear("a document of it cannot be told from the commands around it");
        }
        let known =
            ["heredoc_start", "heredoc_body", "heredoc_end", "pipeline", "file_redirect", "list", "command"];
        if children.iter().any(|child| !known.contains(&child.kind())) {
            self.script.unclear("words follow a document");
        }
        if let Some(body) = of("heredoc_body").filter(|_| !quoted) {
            let mut unknown = Vec::new();
            replaced(body, body.start_byte(), &mut unknown);
            if hides_expansion(self.raw(body), 0, &unknown) {
                self.script.unclear("a document of it cannot be read");
            }
        }
    }

    pub(super) fn comment(&mut self, node: Node<'_>) {
        let before = &self.mask[..node.start_byte()];
        let begins = before.is_empty() || before.ends_with([' ', '\t', '\n', ';', '&', '|', '(', ')']);
        let blanks_off = before.trim_end_matches([' ', '\t']);
        if !begins || (blanks_off.ends_with('\\') && blanks_off.len() < before.len()) {
            self.script.unclear("a comment of it may be none");
        }
    }

    /// `${x@P}`, `${!x}` and subscripts run what is in a variable; plain replacements do not.
    pub(super) fn expansion(&mut self, node: Node<'_>) {
        let raw = self.raw(node);
        let inside = raw.trim_start_matches("${").trim_start_matches('#');
        let rest = inside.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
        let named = rest.len() < inside.len() || inside.starts_with(['@', '*', '?', '$', '-']);
        let plain = match rest.as_bytes() {
            [b'}'] | [b'#' | b'%' | b'/' | b'^' | b',' | b'-' | b'+' | b'?', ..] => true,
            [b':', b'-' | b'+' | b'?', ..] => true,
            [b':', offset @ ..] => {
                offset.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'}'))
            }
            [b'[', b'@' | b'*', b']', ..] => true,
            _ => inside.len() == rest.len() && rest.len() == 2,
        };
        if !named || !plain {
            self.script.unclear("an expansion of it may run what a variable holds");
        }
    }

    /// Arithmetic on a variable runs what the variable holds.
    pub(super) fn arithmetic(&mut self, node: Node<'_>) {
        let raw = self.raw(node);
        if raw.ends_with("[@]") || raw.ends_with("[*]") {
            return;
        }
        let inside = raw.split_once('[').map_or(raw, |(_, index)| index).trim_start_matches('$');
        if inside.contains(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '`')) {
            self.script.unclear("arithmetic of it may run what a variable holds");
        }
    }

    pub(super) fn test(&mut self, node: Node<'_>) {
        const ARITHMETIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
        let raw = self.raw(node);
        let evaluates = raw.split_whitespace().any(|word| ARITHMETIC.contains(&word));
        let runs = raw.starts_with("[[") && evaluates && raw.contains(['$', '`']);
        if runs || raw.split_whitespace().any(|word| word == "-v" || word == "-R") {
            self.script.unclear("a test of it may run what a variable holds");
        }
    }
}

/// True when something in a text, from a byte on, looks like an expansion that the parser did not see.
fn hides_expansion(body: &str, from: usize, seen: &[(usize, usize)]) -> bool {
    let bytes = body.as_bytes();
    let mut at = from;
    while at < bytes.len() {
        if let Ok(found) = seen.binary_search_by_key(&at, |(start, _)| *start) {
            at = seen[found].1.max(at + 1);
            continue;
        }
        match bytes[at] {
            b'\\' => at += 1,
            b'`' => return true,
            b'$' if matches!(bytes.get(at + 1), Some(b'(' | b'{' | b'[')) => return true,
            _ => {}
        }
        at += 1;
    }
    false
}
