//! Taking a shell command apart: every program it would run, every file it names, and what cannot be known.
//!
//! The grammar is tree-sitter's, which is not the shell. What it found is therefore checked against the text: nothing
//! but blanks may stand between its tokens, words may not touch, and an unknown kind of node is not understood.

mod doubt;
mod kind;

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use tree_sitter::{Node, Parser, Tree};

use super::variable::{is_harmless, is_steering};
use super::word::{Word, decode};
use super::wrapper;
use kind::Kind;

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
            Some((tree, kinds)) => {
                let mut walk = Walk { text, mask: &mask, kinds, depth, script, seen_to: 0, heredocs: 0 };
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

/// What is made once in a thread.
struct Kept {
    parser: Parser,
    kinds: Rc<[Kind]>,
}

thread_local! {
    // Making a parser costs more than a decision; it keeps nothing from one text to the next.
    static KEPT: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// The tree of a text, and what its kinds of nodes are.
fn parse(text: &str) -> Option<(Tree, Rc<[Kind]>)> {
    KEPT.with_borrow_mut(|kept| {
        if kept.is_none() {
            let language = tree_sitter_bash::LANGUAGE.into();
            let mut parser = Parser::new();
            parser.set_language(&language).ok()?;
            *kept = Some(Kept { parser, kinds: kind::table(&language) });
        }
        let kept = kept.as_mut()?;
        Some((kept.parser.parse(text, None)?, Rc::clone(&kept.kinds)))
    })
}

struct Walk<'t> {
    text: &'t str,
    /// What the parser saw: of the same length, and ASCII.
    mask: &'t str,
    kinds: Rc<[Kind]>,
    depth: usize,
    script: Script,
    /// Everything before this byte is inside of a token, or blank.
    seen_to: usize,
    heredocs: usize,
}

impl Walk<'_> {
    /// Visits every node in the order of the text; without recursion, since a list nests as deep as it is long.
    fn all(&mut self, root: Node<'_>) {
        if root.has_error() {
            self.script.unclear("it cannot be parsed");
        }
        let mut cursor = root.walk();
        let mut depth = self.depth;
        loop {
            if depth > DEPTH_MAX {
                return self.script.unclear(format!("commands are nested deeper than {DEPTH_MAX}"));
            }
            if self.script.calls.len() >= PARTS_MAX {
                return self.script.unclear(format!("it has more than {PARTS_MAX} parts"));
            }
            let node = cursor.node();
            let kind = self.kind(node);
            self.visit(node, kind);
            if cursor.goto_first_child() {
                depth += usize::from(kind.nests());
                continue;
            }
            while !cursor.goto_next_sibling() {
                if !cursor.goto_parent() {
                    return self.check_end();
                }
                depth -= usize::from(self.kind(cursor.node()).nests());
            }
        }
    }

    fn kind(&self, node: Node<'_>) -> Kind {
        self.kinds.get(usize::from(node.kind_id())).copied().unwrap_or(Kind::Unknown)
    }

    fn visit(&mut self, node: Node<'_>, kind: Kind) {
        if node.child_count() == 0 || kind.covers() {
            self.check_gap(node);
        }
        if matches!(kind, Kind::Text | Kind::String | Kind::Expansion) {
            self.check_hidden(node);
        }
        match kind {
            Kind::Plain | Kind::Nesting | Kind::Covering | Kind::Text | Kind::String | Kind::Substitution => {
            }
            Kind::CaseEnd => {
                if node.parent().is_none_or(|parent| parent.kind() != "case_item") {
                    self.script.unclear("it cannot be parsed");
                }
            }
            Kind::Command => self.command(node),
            Kind::Redirected => self.bare_redirect(node),
            Kind::Redirect => self.redirect(node),
            Kind::Heredoc => self.heredoc(node),
            Kind::Comment => self.comment(node),
            Kind::Declaration => self.declaration(node),
            Kind::Assignment => self.assignment(node),
            Kind::Function => self.script.unclear("it defines a function"),
            Kind::Expansion => self.expansion(node),
            Kind::Arithmetic => self.arithmetic(node),
            Kind::Compound => {
                if self.raw(node).starts_with("((") {
                    self.arithmetic(node);
                }
            }
            Kind::Test => self.test(node),
            Kind::Unknown => self.script.unclear(format!("`{}` is not understood", node.kind())),
        }
    }

    fn raw(&self, node: Node<'_>) -> &str {
        self.text.get(node.byte_range()).unwrap_or_default()
    }

    /// The word at a node.
    fn word(&mut self, node: Node<'_>) -> Word {
        if node.kind() == "process_substitution" {
            return Word::literal("/dev/fd/63");
        }
        let start = node.start_byte();
        let mut unknown = Vec::new();
        if self.raw(node).contains(['$', '`', '<', '>']) {
            replaced(node, start, &mut unknown);
        }
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
        let redirects = self.mask.contains(['<', '>']);
        let parent = if redirects { node.parent() } else { None };
        if let Some(parent) = parent.filter(|parent| self.kind(*parent) == Kind::Redirected) {
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
