//! Taking a shell command apart: every program it would run, every file it names, and what cannot be known.
//!
//! The grammar is tree-sitter's, which is not the shell. What it found is therefore checked against the text: nothing
//! but blanks may stand between its tokens, words may not touch, and an unknown kind of node is not understood.

use std::borrow::Cow;
use std::cell::RefCell;

use tree_sitter::{Node, Parser, Tree};

use super::variable::{is_harmless, is_steering};
use super::word::{Word, decode};
use super::wrapper;

/// The longest command that is looked at, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 64 * 1024;
/// How deep commands may stand in one another.
pub(super) const DEPTH_MAX: usize = 32;
/// The most programs of one command.
pub(super) const PARTS_MAX: usize = 512;

/// A command, taken apart.
#[derive(Debug, Default)]
pub(super) struct Script {
    /// The programs that it would run, in the order they are written.
    pub calls: Vec<Call>,
    /// The targets of its redirects.
    pub redirects: Vec<Redirect>,
    /// Why it is not fully understood; empty when it is.
    pub unclear: Vec<String>,
}

/// One program with its words.
#[derive(Debug)]
pub(super) struct Call {
    /// Its name and arguments.
    pub words: Vec<Word>,
    /// Assignments in front of it, as words.
    pub assignments: Vec<Word>,
    /// What it runs in turn.
    pub inner: Inner,
}

/// What a call runs in turn.
#[derive(Debug)]
pub(super) enum Inner {
    /// Nothing that is known of.
    Nothing,
    /// Exactly this; whoever may do it may do the call.
    Through(Script),
    /// This, besides what the call does itself.
    Beside(Script),
    /// Perhaps this: rules that forbid look at it, no rule about it allows the call.
    Perhaps(Script),
}

/// A file that the shell opens.
#[derive(Debug)]
pub(super) struct Redirect {
    /// Its path as a word.
    pub target: Word,
    /// Whether it is written.
    pub writes: bool,
}

impl Script {
    /// Takes a command apart.
    pub(super) fn read(text: &str, depth: usize) -> Script {
        let mut script = Script::default();
        if text.len() > TEXT_BYTES_MAX {
            script.unclear.push(format!("it is longer than {TEXT_BYTES_MAX} bytes"));
            return script;
        }
        if depth > DEPTH_MAX {
            script.unclear.push(format!("commands are nested deeper than {DEPTH_MAX}"));
            return script;
        }
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            script.unclear.push("it has control characters".to_owned());
            return script;
        }
        let mask = masked(text);
        match parse(&mask) {
            Some(tree) => {
                let mut walk = Walk { text, mask: &mask, depth, script, seen_to: 0, heredocs: 0 };
                walk.all(tree.root_node());
                walk.script
            }
            None => {
                script.unclear.push("it cannot be parsed".to_owned());
                script
            }
        }
    }

    fn unclear(&mut self, why: impl Into<String>) {
        let why = why.into();
        if !self.unclear.contains(&why) {
            self.unclear.push(why);
        }
    }
}

/// The text with a letter for each byte that is not ASCII. To the shell such bytes are only characters of words, and the
/// scanner of the grammar reads beyond its tables for some of them (tree-sitter-bash, issue 337).
fn masked(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.bytes().map(|byte| if byte.is_ascii() { char::from(byte) } else { 'x' }).collect())
}

thread_local! {
    // Making a parser costs more than a decision; it keeps nothing from one text to the next.
    static PARSER: RefCell<Option<Parser>> = const { RefCell::new(None) };
}

fn parse(text: &str) -> Option<Tree> {
    PARSER.with_borrow_mut(|kept| {
        let mut parser = match kept.take() {
            Some(parser) => parser,
            None => {
                let mut parser = Parser::new();
                parser.set_language(&tree_sitter_bash::LANGUAGE.into()).ok()?;
                parser
            }
        };
        let tree = parser.parse(text, None);
        *kept = Some(parser);
        tree
    })
}

struct Walk<'t> {
    text: &'t str,
    /// What the parser saw: of the same length, and ASCII.
    mask: &'t str,
    depth: usize,
    script: Script,
    /// Everything before this byte is inside of a token, or blank.
    seen_to: usize,
    heredocs: usize,
}

impl Walk<'_> {
    /// Visits every node in the order of the text; a stack of its own, since a list nests as deep as it is long.
    fn all(&mut self, root: Node<'_>) {
        if root.has_error() {
            self.script.unclear("it cannot be parsed");
        }
        let mut open = vec![(root, self.depth)];
        let mut children = Vec::new();
        while let Some((node, depth)) = open.pop() {
            if depth > DEPTH_MAX {
                self.script.unclear(format!("commands are nested deeper than {DEPTH_MAX}"));
                return;
            }
            if self.script.calls.len() >= PARTS_MAX {
                self.script.unclear(format!("it has more than {PARTS_MAX} parts"));
                return;
            }
            self.visit(node);
            let depth = depth + usize::from(nests(node.kind()));
            let mut cursor = node.walk();
            children.clear();
            children.extend(node.children(&mut cursor).map(|child| (child, depth)));
            open.extend(children.drain(..).rev());
        }
        let rest = self.mask.get(self.seen_to..).unwrap_or_default();
        if !rest.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n')) {
            self.script.unclear("some of it is not seen by the parser");
        }
    }

    fn visit(&mut self, node: Node<'_>) {
        if node.is_error() || node.is_missing() {
            self.script.unclear("it cannot be parsed");
        }
        let kind = node.kind();
        if node.child_count() == 0 || covers(kind) {
            self.check_gap(node);
        }
        if !node.is_named() {
            let ends_case = kind == ";;" && node.parent().is_none_or(|parent| parent.kind() != "case_item");
            if ends_case {
                self.script.unclear("it cannot be parsed");
            }
            return;
        }
        if matches!(kind, "string" | "expansion" | "word" | "regex" | "extglob_pattern") {
            self.check_hidden(node);
        }
        match kind {
            "command" => self.command(node),
            "redirected_statement" => self.bare_redirect(node),
            "file_redirect" => self.redirect(node),
            "heredoc_redirect" => self.heredoc(node),
            "comment" => self.comment(node),
            "declaration_command" | "unset_command" => self.declaration(node),
            "variable_assignment" => self.assignment(node),
            "function_definition" => self.script.unclear("it defines a function"),
            "expansion" => self.expansion(node),
            "arithmetic_expansion" | "c_style_for_statement" => self.arithmetic(node),
            "compound_statement" if self.raw(node).starts_with("((") => self.arithmetic(node),
            "subscript" => self.arithmetic(node),
            "test_command" => self.test(node),
            "process_substitution" | "command_substitution" => {}
            kind if KNOWN.contains(&kind) => {}
            kind => self.script.unclear(format!("`{kind}` is not understood")),
        }
    }

    fn raw(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// Between two tokens there are blanks, or the shell reads other tokens than the parser did.
    fn check_gap(&mut self, node: Node<'_>) {
        if node.start_byte() > self.seen_to {
            let gap = self.mask.get(self.seen_to..node.start_byte()).unwrap_or("?");
            let after = self.mask.as_bytes().get(node.start_byte()).copied().unwrap_or(b' ');
            let before = self.mask[..self.seen_to].bytes().next_back();
            // A line that goes on is a gap only if a blank is there too: `gi\⏎t` is one word.
            let apart = gap.replace("\\\n", "");
            let joins = apart.is_empty() && before.is_some_and(is_of_word) && is_of_word(after);
            let escaped = before == Some(b'\\') && !self.mask[..self.seen_to].ends_with("\\\\");
            if !apart.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\n')) || joins || escaped {
                self.script.unclear("its words cannot be told apart");
            }
        }
        self.seen_to = self.seen_to.max(node.end_byte());
    }

    /// A substitution that the parser took for characters would run unseen.
    fn check_hidden(&mut self, node: Node<'_>) {
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
        let skip = if node.kind() == "expansion" { 1 } else { 0 };
        if hides_expansion(raw, skip, &seen) {
            self.script.unclear("a substitution of it cannot be read");
        }
    }

    /// The word at a node.
    fn word(&mut self, node: Node<'_>) -> Word {
        if node.kind() == "process_substitution" {
            return Word::literal("/dev/fd/63");
        }
        let start = node.start_byte();
        let mut unknown = Vec::new();
        replaced(node, start, &mut unknown);
        let word = decode(self.raw(node), &unknown);
        if word.odd {
            self.script.unclear("a word of it cannot be read");
        }
        let bytes = self.mask.as_bytes();
        let touches = |byte: Option<&u8>| byte.is_some_and(|byte| is_of_word(*byte));
        if touches(start.checked_sub(1).and_then(|at| bytes.get(at))) || touches(bytes.get(node.end_byte())) {
            self.script.unclear("its words cannot be told apart");
        }
        word
    }

    fn command(&mut self, node: Node<'_>) {
        let mut words = Vec::new();
        let mut assignments = Vec::new();
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        for child in children {
            match child.kind() {
                "variable_assignment" => assignments.push(self.prefix(child)),
                "file_redirect" => words.extend(self.after_target(child)),
                "herestring_redirect" | "heredoc_redirect" | "comment" => {}
                "subshell" => self.script.unclear("it cannot be parsed"),
                "command_name" => {
                    let inside = child.named_child(0).unwrap_or(child);
                    words.push(self.word(inside));
                }
                _ => words.push(self.word(child)),
            }
        }
        // Words behind a redirect stand beside the command, not in it.
        if let Some(parent) = node.parent().filter(|parent| parent.kind() == "redirected_statement") {
            let mut cursor = parent.walk();
            let redirects: Vec<Node<'_>> = parent.children_by_field_name("redirect", &mut cursor).collect();
            for redirect in redirects {
                words.extend(self.after_target(redirect));
            }
        }
        self.call(words, assignments);
    }

    /// A redirect without a command: what follows its target is one.
    fn bare_redirect(&mut self, node: Node<'_>) {
        let body = node.child_by_field_name("body");
        if body.is_some_and(|body| body.kind() == "command") {
            return;
        }
        let mut cursor = node.walk();
        let redirects: Vec<Node<'_>> = node.children_by_field_name("redirect", &mut cursor).collect();
        let mut words = Vec::new();
        for redirect in redirects {
            words.extend(self.after_target(redirect));
        }
        if !words.is_empty() {
            if body.is_some() {
                self.script.unclear("words follow a redirect");
            }
            self.call(words, Vec::new());
        }
    }

    fn call(&mut self, words: Vec<Word>, assignments: Vec<Word>) {
        let call = wrapper::look_through(words, assignments, self.depth, &mut self.script.unclear);
        self.script.calls.push(call);
    }

    /// The words that the parser took for further targets of a redirect.
    fn after_target(&mut self, node: Node<'_>) -> Vec<Word> {
        let mut cursor = node.walk();
        let targets: Vec<Node<'_>> =
            node.children_by_field_name("destination", &mut cursor).skip(1).collect();
        targets.into_iter().map(|target| self.word(target)).collect()
    }

    fn redirect(&mut self, node: Node<'_>) {
        let operator =
            self.mask[node.byte_range()].trim_start_matches(|c: char| c.is_ascii_digit()).to_owned();
        let Some(target) = node.child_by_field_name("destination") else {
            let closes = operator == "<&-" || operator == ">&-";
            if !closes {
                self.script.unclear("a redirect of it has no target");
            }
            return;
        };
        let target = self.word(target);
        let duplicates = operator.starts_with(">&") || operator.starts_with("<&");
        let descriptor = |text: &str| text.trim_end_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        if duplicates && target.known().is_some_and(descriptor) {
            return;
        }
        let writes = !operator.starts_with('<') || operator.starts_with("<>") || operator.starts_with("<&");
        self.script.redirects.push(Redirect { target, writes });
    }

    /// Where the shell would end the document must be where the parser did.
    fn heredoc(&mut self, node: Node<'_>) {
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

    fn comment(&mut self, node: Node<'_>) {
        let before = &self.mask[..node.start_byte()];
        let begins = before.is_empty() || before.ends_with([' ', '\t', '\n', ';', '&', '|', '(', ')']);
        let blanks_off = before.trim_end_matches([' ', '\t']);
        if !begins || (blanks_off.ends_with('\\') && blanks_off.len() < before.len()) {
            self.script.unclear("a comment of it may be none");
        }
    }

    /// An assignment in front of a command.
    fn prefix(&mut self, node: Node<'_>) -> Word {
        let mut unknown = Vec::new();
        replaced(node, node.start_byte(), &mut unknown);
        decode(self.raw(node), &unknown)
    }

    fn assignment(&mut self, node: Node<'_>) {
        let name = node.child_by_field_name("name").map(|name| self.raw(name).to_owned()).unwrap_or_default();
        if is_steering(&name) {
            self.script.unclear(format!("it sets `{name}`"));
        }
    }

    fn declaration(&mut self, node: Node<'_>) {
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.named_children(&mut cursor).collect();
        let exports = self.raw(node).starts_with("export");
        if !children.iter().any(|child| matches!(child.kind(), "variable_assignment" | "variable_name")) {
            self.script.unclear("it prints every variable");
        }
        for child in children {
            let name = match child.kind() {
                "variable_assignment" => child.child_by_field_name("name").unwrap_or(child),
                "variable_name" => child,
                "word" if self.raw(child).starts_with('-') && !self.raw(child).contains(['i', 'f', 'n']) => {
                    continue;
                }
                _ => return self.script.unclear("it declares what is not known beforehand"),
            };
            let name = self.raw(name);
            if is_steering(name) || (exports && !is_harmless(name) && name.to_uppercase() == name) {
                let why = format!("it sets `{name}`");
                self.script.unclear(why);
            }
        }
    }

    /// `${x@P}`, `${!x}` and subscripts run what is in a variable; plain replacements do not.
    fn expansion(&mut self, node: Node<'_>) {
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
    fn arithmetic(&mut self, node: Node<'_>) {
        let raw = self.raw(node);
        if raw.ends_with("[@]") || raw.ends_with("[*]") {
            return;
        }
        let inside = raw.split_once('[').map_or(raw, |(_, index)| index).trim_start_matches('$');
        if inside.contains(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '`')) {
            self.script.unclear("arithmetic of it may run what a variable holds");
        }
    }

    fn test(&mut self, node: Node<'_>) {
        const ARITHMETIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"];
        let raw = self.raw(node);
        let evaluates = raw.split_whitespace().any(|word| ARITHMETIC.contains(&word));
        let runs = raw.starts_with("[[") && evaluates && raw.contains(['$', '`']);
        if runs || raw.split_whitespace().any(|word| word == "-v" || word == "-R") {
            self.script.unclear("a test of it may run what a variable holds");
        }
    }
}

/// Nodes whose whole text is theirs, blanks too.
fn covers(kind: &str) -> bool {
    matches!(kind, "string" | "heredoc_body" | "expansion" | "arithmetic_expansion" | "raw_string" | "regex")
}

/// Nodes in which commands stand deeper.
fn nests(kind: &str) -> bool {
    matches!(
        kind,
        "subshell"
            | "compound_statement"
            | "command_substitution"
            | "process_substitution"
            | "if_statement"
            | "while_statement"
            | "for_statement"
            | "case_statement"
            | "function_definition"
            | "expansion"
    )
}

/// True for what would belong to a word beside it.
fn is_of_word(byte: u8) -> bool {
    !matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'(' | b')' | b'<' | b'>' | b'`')
}

/// The ranges below a node that the shell replaces, counted from `start`.
fn replaced(node: Node<'_>, start: usize, out: &mut Vec<(usize, usize)>) {
    let mut open = vec![node];
    while let Some(node) = open.pop() {
        if matches!(
            node.kind(),
            "command_substitution"
                | "process_substitution"
                | "simple_expansion"
                | "expansion"
                | "arithmetic_expansion"
        ) {
            out.push((node.start_byte().saturating_sub(start), node.end_byte().saturating_sub(start)));
            continue;
        }
        let mut cursor = node.walk();
        open.extend(node.named_children(&mut cursor));
    }
    out.sort_unstable();
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

/// Kinds of nodes that need no look of their own.
const KNOWN: &[&str] = &[
    "program",
    "list",
    "pipeline",
    "negated_command",
    "subshell",
    "compound_statement",
    "if_statement",
    "elif_clause",
    "else_clause",
    "while_statement",
    "for_statement",
    "do_group",
    "case_statement",
    "case_item",
    "string",
    "string_content",
    "concatenation",
    "simple_expansion",
    "variable_assignments",
    "array",
    "word",
    "number",
    "raw_string",
    "ansi_c_string",
    "translated_string",
    "command_name",
    "variable_name",
    "special_variable_name",
    "file_descriptor",
    "herestring_redirect",
    "heredoc_start",
    "heredoc_body",
    "heredoc_end",
    "heredoc_content",
    "binary_expression",
    "unary_expression",
    "parenthesized_expression",
    "test_operator",
    "brace_expression",
    "extglob_pattern",
    "regex",
];
