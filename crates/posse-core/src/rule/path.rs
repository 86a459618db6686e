//! Paths in rules, in the syntax of gitignore, and paths in commands, made absolute by their text alone.

use super::Place;

/// Where a pattern begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Root {
    /// `//path`.
    FileSystem,
    /// `~/path`.
    Home,
    /// `/path`: the directory of the file that the rule stands in.
    Base,
    /// `path`.
    Workspace,
}

/// The path of a rule.
#[derive(Debug, Clone)]
pub(super) struct PathPattern {
    root: Root,
    segments: Vec<String>,
}

/// How a pattern about every path is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// It permits: nothing outside of where it begins.
    Permits,
    /// It forbids: everything there is.
    Forbids,
}

impl PathPattern {
    /// Compiles a specifier; the error says what is wrong with it.
    pub(super) fn compile(specifier: &str) -> Result<PathPattern, &'static str> {
        let text = specifier.trim();
        if text.starts_with('!') {
            return Err("a path with `!` in front says what it is not about");
        }
        let (root, rest) = if let Some(rest) = text.strip_prefix("//") {
            (Root::FileSystem, rest)
        } else if let Some(rest) = text.strip_prefix("~/") {
            (Root::Home, rest)
        } else if text == "~" {
            (Root::Home, "")
        } else if text.starts_with('~') {
            return Err("the home directory of somebody else is not known");
        } else if let Some(rest) = text.strip_prefix('/') {
            (Root::Base, rest)
        } else {
            (Root::Workspace, text)
        };
        let mut segments: Vec<String> = Vec::new();
        for segment in rest.split('/') {
            match segment {
                "" | "." => {}
                ".." if segments.last().is_some_and(|last| !last.contains('*')) => {
                    segments.pop();
                }
                ".." => return Err("`..` leads out of where the path begins"),
                segment => segments.push(segment.to_owned()),
            }
        }
        let anchored = text.trim_end_matches('/').contains('/') || root != Root::Workspace;
        if !anchored && !segments.is_empty() {
            segments.insert(0, "**".to_owned());
        }
        Ok(PathPattern { root, segments })
    }

    /// True when the rule is about `path`, or about a directory above it.
    pub(super) fn matches(&self, path: &str, base: &str, place: &Place<'_>, reading: Reading) -> bool {
        let everything = self.segments.iter().all(|segment| matches!(segment.as_str(), "*" | "**"));
        if reading == Reading::Forbids
            && everything
            && self.root == Root::Workspace
            && self.segments.len() <= 2
        {
            return true;
        }
        let root = match self.root {
            Root::FileSystem => "/",
            Root::Home => place.home,
            Root::Base => base,
            Root::Workspace => place.workspace,
        };
        let Some(below) = below(path, root) else { return false };
        let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
        segments_match(&self.segments, &parts)
    }
}

/// The rest of `path` below a directory.
fn below<'a>(path: &'a str, directory: &str) -> Option<&'a str> {
    let directory = directory.trim_end_matches('/');
    let rest = path.strip_prefix(directory)?;
    (rest.is_empty() || rest.starts_with('/')).then_some(rest)
}

/// True when `path` is `directory` or below it.
pub(super) fn is_below(path: &str, directory: &str) -> bool {
    below(path, directory).is_some()
}

/// True when a leading run of `parts` is what the segments say: what holds for a directory holds below it.
fn segments_match(segments: &[String], parts: &[&str]) -> bool {
    // reached[i]: the first i segments are used up by the parts so far.
    let mut reached = vec![false; segments.len() + 1];
    reached[0] = true;
    let spread = |reached: &mut Vec<bool>| {
        for (at, segment) in segments.iter().enumerate() {
            // At the end `**` stands for what is below, not for the directory itself.
            let last = at + 1 == segments.len() && at > 0;
            reached[at + 1] |= reached[at] && segment == "**" && !last;
        }
    };
    spread(&mut reached);
    if reached[segments.len()] {
        return true;
    }
    for part in parts {
        let mut next = vec![false; segments.len() + 1];
        for (at, segment) in segments.iter().enumerate().filter(|(at, _)| reached[*at]) {
            if segment == "**" {
                next[at] = true;
                next[at + 1] = true;
            } else if segment_matches(segment, part) {
                next[at + 1] = true;
            }
        }
        spread(&mut next);
        if next[segments.len()] {
            return true;
        }
        reached = next;
    }
    false
}

/// One segment with `*`, `?`, `[…]` and `\`.
fn segment_matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut here) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while here < text.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, here));
            at += 1;
            continue;
        }
        if let Some(after) = one_matches(&pattern, at, text[here]) {
            at = after;
            here += 1;
            continue;
        }
        let Some((star_at, from)) = star else { return false };
        star = Some((star_at, from + 1));
        at = star_at + 1;
        here = from + 1;
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// Where the pattern goes on when its next sign stands for `c`.
fn one_matches(pattern: &[char], at: usize, c: char) -> Option<usize> {
    match pattern.get(at)? {
        '?' => Some(at + 1),
        '\\' if at + 1 < pattern.len() => (pattern[at + 1] == c).then_some(at + 2),
        '[' => {
            let negated = matches!(pattern.get(at + 1), Some('!' | '^'));
            let first = at + 1 + usize::from(negated);
            // A bracket right after the opening one is a member.
            let close = (first + 1..pattern.len()).find(|i| pattern[*i] == ']');
            let Some(close) = close else { return (c == '[').then_some(at + 1) };
            (in_class(&pattern[first..close], c) != negated).then_some(close + 1)
        }
        literal => (*literal == c).then_some(at + 1),
    }
}

fn in_class(members: &[char], c: char) -> bool {
    let mut at = 0;
    while at < members.len() {
        if at + 2 < members.len() && members[at + 1] == '-' {
            if (members[at]..=members[at + 2]).contains(&c) {
                return true;
            }
            at += 3;
        } else {
            if members[at] == c {
                return true;
            }
            at += 1;
        }
    }
    false
}

/// A path made absolute and free of `.` and `..`, by its text alone.
pub(super) fn absolute(path: &str, directory: &str) -> String {
    let start = if path.starts_with('/') { "" } else { directory };
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}
