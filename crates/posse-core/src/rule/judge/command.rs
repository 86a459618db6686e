//! The decision about a shell command: rules that forbid look at every reading of it, rules that allow at each part.

use std::collections::HashSet;

use super::{decide, decided_by, matches, missing, said_by, verb};
use crate::rule::path::{absolute, is_below};
use crate::rule::pattern::GAP;
use crate::rule::readonly::{is_read_only, paths};
use crate::rule::shell::{Call, Inner, Script};
use crate::rule::variable::is_harmless;
use crate::rule::word::{Word, joined, shown};
use crate::rule::{About, Act, DecidedBy, Decision, Does, Judgement, Part, Place, RuleSet, Sourced};

/// The most directories that the parts of one command may run in.
const DIRECTORIES_MAX: usize = 8;

/// Says what the rules make of a command.
pub(super) fn judge(rules: &RuleSet, text: &str, directory: &str, place: &Place<'_>) -> Judgement {
    let mut script = Script::read(text, 0);
    // Taken off before the shell sees words; a parser may take it for a blank.
    if text.contains("\\\n") {
        let whole = Script::read(&text.replace("\\\n", ""), 0);
        script.calls.push(Call { words: Vec::new(), assignments: Vec::new(), inner: Inner::Perhaps(whole) });
    }
    let looked_at = readings(&script, text);
    let view = View::new(rules, &script, &looked_at.calls, (directory, place));
    let mut judgement = view
        .forbidden(&looked_at)
        .or_else(|| view.doubtful(&looked_at))
        .or_else(|| view.open())
        .unwrap_or_else(|| view.permitted());
    if judgement.parts.is_empty() {
        judgement.parts = view.parts(view.of(&script));
    }
    judgement
}

/// A decision by one rule about the whole command; its parts are added later.
fn decided(decision: Decision, found: &Sourced, reason: impl Fn(&DecidedBy) -> String) -> Judgement {
    let by = decided_by(found);
    let reason = reason(&by);
    Judgement { decision: Some(decision), by: Some(by), reason, would_allow: Vec::new(), parts: Vec::new() }
}

/// A command in all the ways it could be read.
struct Readings<'s> {
    calls: Vec<&'s Call>,
    texts: Vec<Vec<char>>,
    unclear: Vec<&'s str>,
}

/// Every call of a command, also those that are perhaps made, and each as texts to compare.
fn readings<'s>(script: &'s Script, text: &str) -> Readings<'s> {
    let mut out = Readings { calls: Vec::new(), texts: Vec::new(), unclear: Vec::new() };
    let mut open: Vec<&Script> = vec![script];
    while let Some(script) = open.pop() {
        out.unclear.extend(script.unclear.iter().map(String::as_str));
        for call in &script.calls {
            out.calls.push(call);
            add_texts(call, &mut out.texts);
            match &call.inner {
                Inner::Nothing => {}
                Inner::Through(inner) | Inner::Beside(inner) | Inner::Perhaps(inner) => open.push(inner),
            }
        }
    }
    out.texts.push(joined(&text.split_whitespace().map(Word::literal).collect::<Vec<_>>()));
    if !out.unclear.is_empty() {
        out.texts.extend(rough(text));
    }
    out
}

fn add_texts(call: &Call, texts: &mut Vec<Vec<char>>) {
    texts.push(joined(&call.words));
    let Some((name, arguments)) = call.words.split_first() else { return };
    if let Some((_, base)) = name.text.rsplit_once('/') {
        texts.push(joined(&[&[Word::literal(base)], arguments].concat()));
    }
    if !call.assignments.is_empty() {
        texts.push(joined(&[&call.assignments[..], &call.words].concat()));
    }
}

/// What cannot be parsed, cut wherever a command could begin.
fn rough(text: &str) -> Vec<Vec<char>> {
    let pieces = text.split([';', '&', '|', '\n', '(', ')', '{', '}', '`', '<', '>', '"', '\'']);
    let words = |piece: &str| -> Vec<Word> {
        let word = |word: &str| Word::literal(&word.replace(['\\', '$'], ""));
        piece.split_whitespace().skip_while(|word| is_before_command(word)).map(word).collect()
    };
    pieces.map(words).filter(|words| !words.is_empty()).map(|words| joined(&words)).collect()
}

fn is_before_command(word: &str) -> bool {
    matches!(
        word,
        "if" | "then" | "else" | "elif" | "do" | "while" | "until" | "!" | "time" | "exec" | "command"
    ) || word.contains('=')
}

/// True when a rule is about one of the readings.
fn forbids(sourced: &Sourced, texts: &[Vec<char>]) -> bool {
    match &sourced.rule.about {
        About::Command(pattern) => texts.iter().any(|text| pattern.holds_loosely(text)),
        _ => is_bare(sourced),
    }
}

/// True for a rule about every command.
fn is_bare(sourced: &Sourced) -> bool {
    match &sourced.rule.about {
        About::Everything => true,
        About::Tool(name) => crate::rule::pattern::glob(name, "Bash"),
        _ => false,
    }
}

/// What is found about one part.
struct Finding {
    decision: Option<Decision>,
    by: Option<DecidedBy>,
    would_allow: Vec<String>,
}

impl Finding {
    /// Nothing decides, and these rules would.
    fn open(would_allow: Vec<String>) -> Finding {
        Finding { decision: None, by: None, would_allow }
    }

    /// It is allowed, perhaps by a rule.
    fn allowed(by: Option<DecidedBy>) -> Finding {
        Finding { decision: Some(Decision::Allow), by, would_allow: Vec::new() }
    }

    fn is_allowed(&self) -> bool {
        self.decision == Some(Decision::Allow)
    }
}

/// A command beside the rules it is held to.
struct View<'a> {
    rules: &'a RuleSet,
    script: &'a Script,
    place: &'a Place<'a>,
    directories: Directories,
    /// Whether commands that only read need no rule.
    reading_is_free: bool,
}

impl<'a> View<'a> {
    fn new(
        rules: &'a RuleSet,
        script: &'a Script,
        calls: &[&Call],
        (directory, place): (&str, &'a Place<'a>),
    ) -> View<'a> {
        let directories = directories(calls, script, directory, place);
        let reading_is_free = !matches!(rules.otherwise("Bash"), Some(Decision::Ask | Decision::Deny));
        View { rules, script, place, directories, reading_is_free }
    }

    /// A rule that forbids is about some reading of it, or about a file it may open.
    fn forbidden(&self, readings: &Readings<'_>) -> Option<Judgement> {
        let (looks, changes) = self.files(&readings.calls);
        let looks = looks.iter().map(|path| Act::Look { tool: "Bash", path });
        let changes = changes.iter().map(|path| Act::Change { tool: "Bash", path });
        let files: Vec<Act<'_>> = looks.chain(changes).collect();
        [(Decision::Deny, &self.rules.deny), (Decision::Ask, &self.rules.ask)].into_iter().find_map(
            |(decision, list)| {
                let hit = |sourced: &&Sourced| {
                    forbids(sourced, &readings.texts)
                        || files.iter().any(|act| matches(sourced, act, self.place, decision))
                };
                let found = list.iter().find(hit)?;
                Some(decided(decision, found, |by| said_by(by, decision)))
            },
        )
    }

    /// A rule that forbids may be about what is not known: then nothing is allowed without a question.
    fn doubtful(&self, readings: &Readings<'_>) -> Option<Judgement> {
        let forbidding = || self.rules.deny.iter().chain(&self.rules.ask);
        let patterns = || forbidding().filter(|sourced| matches!(sourced.rule.about, About::Command(_)));
        let may = |sourced: &&Sourced| match &sourced.rule.about {
            About::Command(pattern) => readings.texts.iter().any(|text| pattern.may_hold(text)),
            _ => false,
        };
        let (found, why) = match (patterns().find(may), readings.unclear.first()) {
            (Some(found), _) => (found, "a word of the command is not known beforehand"),
            (None, Some(why)) => (patterns().next()?, *why),
            (None, None) => return None,
        };
        let reason =
            |by: &DecidedBy| format!("asked about because `{}` ({}) may forbid it: {why}", by.rule, by.from);
        Some(decided(Decision::Ask, found, reason))
    }

    /// A rule allows every command.
    fn open(&self) -> Option<Judgement> {
        let found = self.rules.allow.iter().find(|sourced| is_bare(sourced))?;
        Some(decided(Decision::Allow, found, |by| said_by(by, Decision::Allow)))
    }

    /// What the rules that allow make of its parts.
    fn permitted(&self) -> Judgement {
        let mut findings = self.of(self.script);
        let unclear = self.script.unclear.first();
        if unclear.is_none() && findings.iter().all(|(_, finding)| finding.is_allowed()) {
            let by = findings.iter().find_map(|(_, finding)| finding.by.clone());
            let reason = by.as_ref().map_or("it only reads".to_owned(), |by| said_by(by, Decision::Allow));
            let parts = self.parts(findings);
            return Judgement { decision: Some(Decision::Allow), by, reason, would_allow: Vec::new(), parts };
        }
        let strict = findings.iter().filter(|(_, finding)| !finding.is_allowed()).map(|(_, finding)| finding);
        let strictest =
            strict.filter(|finding| finding.decision.is_some()).max_by_key(|finding| finding.decision);
        let by = strictest.and_then(|finding| finding.by.clone());
        let strictest = strictest.and_then(|finding| finding.decision);
        let otherwise = self.rules.otherwise("Bash");
        let decision = strictest.max(otherwise);
        let by = by.filter(|_| decision == strictest);
        let mut would_allow: Vec<String> = Vec::new();
        if unclear.is_none() && decision != Some(Decision::Deny) {
            would_allow.extend(
                findings.iter_mut().flat_map(|(_, finding)| std::mem::take(&mut finding.would_allow)),
            );
            let mut seen = HashSet::new();
            would_allow.retain(|rule| seen.insert(rule.clone()));
        }
        let parts = self.parts(findings);
        let reason = match (&by, decision, unclear) {
            (Some(by), Some(decision), _) => said_by(by, decision),
            (None, Some(decision), _) => format!("`otherwise` {} `Bash`", verb(decision)),
            (_, None, Some(why)) => format!("no pattern can allow it: {why}"),
            (_, None, None) => format!("no rule allows {}", undecided(&parts)),
        };
        Judgement { decision, by, reason, would_allow, parts }
    }

    /// Everything the command does, each with what was found.
    fn parts(&self, findings: Vec<(Does, Finding)>) -> Vec<Part> {
        let part =
            |(does, finding): (Does, Finding)| Part { does, decision: finding.decision, by: finding.by };
        let mut out: Vec<Part> = findings.into_iter().map(part).collect();
        let unclear = self.script.unclear.iter();
        out.extend(unclear.map(|why| Part { does: Does::Unclear(why.clone()), decision: None, by: None }));
        out
    }

    /// What is found about each part of a command.
    fn of(&self, script: &Script) -> Vec<(Does, Finding)> {
        let calls = script.calls.iter().filter(|call| !call.words.is_empty());
        let mut out: Vec<(Does, Finding)> =
            calls.map(|call| (Does::Run(shown(&call.words)), self.call(call))).collect();
        for redirect in &script.redirects {
            let relative = !redirect.target.tilde && !redirect.target.text.starts_with('/');
            let paths = self.resolved(&redirect.target);
            if paths.is_empty() || (relative && !self.directories.all_known) {
                let why = "the target of a redirect is not known beforehand".to_owned();
                out.push((Does::Unclear(why), Finding::open(Vec::new())));
                continue;
            }
            for path in paths {
                let found = self.file(&path, redirect.writes);
                out.push((if redirect.writes { Does::Change(path) } else { Does::Look(path) }, found));
            }
        }
        out
    }

    /// What is found about one call by the rules that allow.
    fn call(&self, call: &Call) -> Finding {
        let own = self.own(call);
        let inner = match &call.inner {
            Inner::Nothing | Inner::Perhaps(_) => return own,
            Inner::Through(_) if own.decision.is_some() => return own,
            Inner::Through(inner) | Inner::Beside(inner) => inner,
        };
        let mut found: Vec<Finding> = self.of(inner).into_iter().map(|(_, finding)| finding).collect();
        if matches!(call.inner, Inner::Beside(_)) {
            found.push(own);
        }
        if inner.unclear.is_empty() && bears(call) && found.iter().all(Finding::is_allowed) {
            return Finding::allowed(found.into_iter().find_map(|finding| finding.by));
        }
        Finding::open(found.into_iter().flat_map(|finding| finding.would_allow).collect())
    }

    /// What is found about the words of a call alone.
    fn own(&self, call: &Call) -> Finding {
        let text = joined(&call.words);
        let mut spelled = joined(&call.assignments);
        if !spelled.is_empty() {
            spelled.push(GAP);
        }
        spelled.extend(&text);
        let allows = |sourced: &&Sourced| match &sourced.rule.about {
            About::Command(pattern) => pattern.holds(&spelled) || (bears(call) && pattern.holds(&text)),
            _ => false,
        };
        if let Some(found) = self.rules.allow.iter().find(allows) {
            return Finding::allowed(Some(decided_by(found)));
        }
        if self.reading_is_free
            && bears(call)
            && (self.only_reads(&call.words) || self.moves_inside(&call.words))
        {
            return Finding::allowed(None);
        }
        Finding::open(suggestion(&call.words).into_iter().collect())
    }

    /// A command of the table; where a path is forbidden, one whose paths are known.
    fn only_reads(&self, words: &[Word]) -> bool {
        let guarded = || {
            let mut rules = self.rules.deny.iter().chain(&self.rules.ask);
            rules.any(|sourced| matches!(sourced.rule.about, About::Look(_)))
        };
        let prints = matches!(words.first().map(|word| word.text.as_str()), Some("echo" | "printf"));
        is_read_only(words) && (prints || words.iter().all(|word| word.known().is_some()) || !guarded())
    }

    /// `cd` to somewhere in the workspace.
    fn moves_inside(&self, words: &[Word]) -> bool {
        let [name, target] = words else { return false };
        name.known() == Some("cd")
            && target.known().is_some_and(|target| !target.starts_with('-') && !target.is_empty())
            && (self.directories.all_known || target.text.starts_with('/'))
            && self.resolved(target).iter().all(|path| is_below(path, self.place.workspace))
    }

    /// What is found about a file that the shell opens.
    fn file(&self, path: &str, writes: bool) -> Finding {
        let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin"].contains(&path);
        let act = if writes { Act::Change { tool: "Bash", path } } else { Act::Look { tool: "Bash", path } };
        let (decision, by) = decide(self.rules, &act, self.place);
        // Looking is free where no rule is against it; `otherwise` of the shell is not about files.
        let decision = if by.is_some() {
            decision
        } else {
            self.rules.otherwise.get(if writes { "Edit" } else { "Read" }).copied()
        };
        match decision {
            None if harmless || !writes => {
                Finding { decision: Some(Decision::Allow), by: None, would_allow: Vec::new() }
            }
            Some(Decision::Allow) => Finding { decision, by, would_allow: Vec::new() },
            _ => Finding { decision, by, would_allow: missing(decision, &act) },
        }
    }

    /// Where a path may lead; empty when it is not known.
    fn resolved(&self, word: &Word) -> Vec<String> {
        let Some(text) = word.known().filter(|text| !text.is_empty()) else { return Vec::new() };
        match text.strip_prefix('~').filter(|_| word.tilde) {
            Some(rest) => vec![absolute(rest.trim_start_matches('/'), self.place.home)],
            None if text.starts_with('/') => vec![absolute(text, "/")],
            None => self.directories.known.iter().map(|directory| absolute(text, directory)).collect(),
        }
    }

    /// The files that calls may look at, and those they may change.
    fn files(&self, calls: &[&Call]) -> (Vec<String>, Vec<String>) {
        let (mut looks, mut changes) = (Vec::new(), Vec::new());
        for call in calls {
            let (look, change) = paths(&call.words);
            looks.extend(look.iter().flat_map(|word| self.resolved(word)));
            changes.extend(change.iter().flat_map(|word| self.resolved(word)));
            if let Inner::Through(inner) | Inner::Beside(inner) | Inner::Perhaps(inner) = &call.inner {
                self.redirected(inner, &mut looks, &mut changes);
            }
        }
        self.redirected(self.script, &mut looks, &mut changes);
        (looks, changes)
    }

    fn redirected(&self, script: &Script, looks: &mut Vec<String>, changes: &mut Vec<String>) {
        for redirect in &script.redirects {
            let paths = self.resolved(&redirect.target);
            if redirect.writes { changes.extend(paths) } else { looks.extend(paths) }
        }
    }
}

/// True when the assignments in front of a call do not change what it is.
fn bears(call: &Call) -> bool {
    call.assignments.iter().all(|word| word.text.split_once('=').is_some_and(|(name, _)| is_harmless(name)))
}

/// The directories that parts of a command may run in.
struct Directories {
    /// Never empty; the first is where it starts.
    known: Vec<String>,
    /// False when a part may run somewhere else.
    all_known: bool,
}

fn directories(calls: &[&Call], script: &Script, directory: &str, place: &Place<'_>) -> Directories {
    let mut out = Directories { known: vec![absolute(directory, "/")], all_known: true };
    let is_move = |call: &Call| {
        let name = call.words.first().map_or("", |word| word.text.as_str());
        matches!(name, "cd" | "pushd" | "popd" | "chdir")
    };
    let moves: Vec<&&Call> = calls.iter().filter(|call| is_move(call)).collect();
    // Which comes first is known only of those that stand beside one another.
    let beside = script.calls.iter().filter(|call| is_move(call)).count();
    out.all_known = beside == moves.len() || moves.len() <= 1;
    for call in moves {
        let target = match &call.words[..] {
            [name] if name.text == "cd" => Some(place.home.to_owned()),
            [_, target] => target.known().filter(|text| !text.starts_with(['-', '+'])).map(|text| match text
                .strip_prefix('~')
                .filter(|_| target.tilde)
            {
                Some(rest) => absolute(rest.trim_start_matches('/'), place.home),
                None => text.to_owned(),
            }),
            _ => None,
        };
        let Some(target) = target.filter(|_| out.known.len() * 2 <= DIRECTORIES_MAX) else {
            out.all_known = false;
            continue;
        };
        let more: Vec<String> = out.known.iter().map(|directory| absolute(&target, directory)).collect();
        out.known.extend(more);
    }
    out
}

/// The rule that would allow a call.
fn suggestion(words: &[Word]) -> Option<String> {
    const WITH_COMMANDS: &[&str] = &[
        "apt",
        "brew",
        "bun",
        "cargo",
        "deno",
        "docker",
        "gh",
        "git",
        "go",
        "kubectl",
        "npm",
        "pip",
        "pnpm",
        "podman",
        "poetry",
        "systemctl",
        "terraform",
        "uv",
        "yarn",
    ];
    let name = words.first()?.known()?;
    let plain = |word: &str| {
        !word.is_empty() && !word.contains(|c: char| c.is_whitespace() || "*\\\"'()".contains(c))
    };
    let command = words.get(1).and_then(Word::known).filter(|word| plain(word) && !word.starts_with('-'));
    match command {
        _ if !plain(name) => None,
        Some(command) if WITH_COMMANDS.contains(&name) => Some(format!("Bash({name} {command} *)")),
        _ => Some(format!("Bash({name} *)")),
    }
}

fn undecided(parts: &[Part]) -> String {
    let open = parts.iter().find(|part| part.decision != Some(Decision::Allow));
    match open.map(|part| &part.does) {
        Some(Does::Run(text)) => format!("`{}`", crate::text::one_line(text, 80)),
        Some(Does::Change(path)) => format!("changing `{path}`"),
        Some(Does::Look(path)) => format!("looking at `{path}`"),
        Some(Does::Unclear(why)) => why.clone(),
        None => "it".to_owned(),
    }
}
