//! Commands that change nothing and run nothing, so that they need no rule; and the paths that commands name.

use super::word::Word;
use super::wrapper::is_exec;

/// What the arguments of a command may be.
enum Arguments {
    /// Whatever they are, they only read.
    Any,
    /// Not these options, also shortened or in a cluster; and all of them known.
    Without(&'static [&'static str]),
    /// What a function says; all of them known.
    If(fn(&[&str]) -> bool),
}

use Arguments::{Any, If, Without};

/// Commands that only read, by what their arguments may be.
const READ_ONLY: &[(&str, Arguments)] = &[
    (":", Any),
    ("[", Without(&["-v", "-R"])),
    ("b2sum", Any),
    ("basename", Any),
    ("cat", Any),
    ("cksum", Any),
    ("cmp", Any),
    ("comm", Any),
    ("command", If(|arguments| matches!(arguments, ["-v" | "-V", _, ..]))),
    ("cut", Any),
    ("date", If(date)),
    ("df", Any),
    ("diff", Without(&["-l", "--paginate"])),
    ("dirname", Any),
    ("du", Any),
    ("echo", Any),
    ("egrep", Any),
    ("expand", Any),
    ("expr", Any),
    ("false", Any),
    ("fgrep", Any),
    ("file", Without(&["-C", "--compile"])),
    ("find", If(find)),
    ("fold", Any),
    ("git", If(git)),
    ("grep", Any),
    ("groups", Any),
    ("head", Any),
    ("hostname", If(|arguments| arguments.is_empty())),
    ("id", Any),
    ("join", Any),
    ("ls", Any),
    ("md5sum", Any),
    ("nl", Any),
    ("nproc", Any),
    ("od", Any),
    ("paste", Any),
    ("printf", Without(&["-v"])),
    ("pwd", Any),
    ("read", Without(&[])),
    ("readlink", Any),
    ("realpath", Any),
    ("rev", Any),
    ("rg", Without(&["--pre", "--hostname-bin", "-z", "--search-zip"])),
    ("sed", If(sed)),
    ("seq", Any),
    ("set", If(set)),
    ("sha1sum", Any),
    ("sha256sum", Any),
    ("sha512sum", Any),
    ("sleep", Any),
    ("sort", Without(&["-o", "--output", "--compress-program", "-T", "--temporary-directory"])),
    ("stat", Any),
    ("strings", Any),
    ("tac", Any),
    ("tail", Any),
    ("test", Without(&["-v", "-R"])),
    ("tr", Any),
    ("tree", Without(&["-o", "--output", "-R"])),
    ("true", Any),
    ("type", Any),
    ("uname", Any),
    ("uniq", If(|arguments| arguments.iter().filter(|word| !word.starts_with('-')).count() <= 1)),
    ("wc", Any),
    ("which", Any),
    ("whoami", Any),
];

/// True when the words are a command that needs no rule.
pub(super) fn is_read_only(words: &[Word]) -> bool {
    let Some((name, arguments)) = words.split_first() else { return false };
    let Some((_, allowed)) = READ_ONLY.iter().find(|(known, _)| name.known() == Some(known)) else {
        return false;
    };
    if matches!(allowed, Any) {
        return true;
    }
    let known: Option<Vec<&str>> = arguments.iter().map(Word::known).collect();
    let is_find = name.text == "find";
    // What `find` runs is looked at by itself; in it stands what only `find` knows.
    let known = if is_find { without_exec(arguments) } else { known };
    let Some(known) = known else { return false };
    match allowed {
        Any => true,
        Without(options) => !known.iter().any(|word| options.iter().any(|option| is_option(word, option))),
        If(test) => test(&known),
    }
}

/// True when a word gives an option: whole, shortened as GNU programs take it, or in a cluster of letters.
fn is_option(word: &str, option: &str) -> bool {
    if let Some(long) = option.strip_prefix("--") {
        let Some(written) = word.strip_prefix("--") else { return false };
        let written = written.split('=').next().unwrap_or_default();
        return !written.is_empty() && long.starts_with(written);
    }
    word.starts_with('-') && !word.starts_with("--") && word[1..].contains(&option[1..])
}

fn without_exec(arguments: &[Word]) -> Option<Vec<&str>> {
    let mut out = Vec::new();
    let mut runs = false;
    for word in arguments {
        if runs {
            runs = !matches!(word.text.as_str(), ";" | "+");
        } else if is_exec(word) {
            runs = true;
        } else {
            out.push(word.known()?);
        }
    }
    Some(out)
}

fn find(arguments: &[&str]) -> bool {
    const WRITES: &[&str] = &["-delete", "-fprint", "-fprint0", "-fprintf", "-fls", "-files0-from"];
    !arguments.iter().any(|word| WRITES.contains(word))
}

fn date(arguments: &[&str]) -> bool {
    let mut takes_value = false;
    for word in arguments {
        if takes_value {
            takes_value = false;
        } else if matches!(*word, "-d" | "--date" | "-r" | "--reference") {
            takes_value = true;
        } else if word.starts_with('+') {
        } else if !word.starts_with('-') || is_option(word, "-s") || is_option(word, "--set") {
            return false;
        }
    }
    true
}

/// Lines printed by their numbers; anything else of `sed` may write or run.
fn sed(arguments: &[&str]) -> bool {
    let ["-n", script, files @ ..] = arguments else { return false };
    let lines = script.strip_suffix('p').unwrap_or("x");
    lines.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'$'))
        && !files.iter().any(|file| file.starts_with('-'))
}

fn set(arguments: &[&str]) -> bool {
    const NAMES: &[&str] = &["pipefail", "errexit", "nounset", "xtrace"];
    let flags = |word: &str| word.len() > 1 && word[1..].bytes().all(|byte| b"euxo".contains(&byte));
    !arguments.is_empty()
        && arguments.iter().all(|word| NAMES.contains(word) || (word.starts_with(['-', '+']) && flags(word)))
}

/// The commands of `git` that only read, with the options under which they do not.
fn git(arguments: &[&str]) -> bool {
    const NEVER: &[&str] = &["--output", "--ext-diff", "--textconv", "--open-files-in-pager", "--filters"];
    const READING: &[&str] = &[
        "blame",
        "cat-file",
        "describe",
        "diff",
        "diff-tree",
        "for-each-ref",
        "log",
        "ls-files",
        "ls-tree",
        "merge-base",
        "name-rev",
        "rev-list",
        "rev-parse",
        "shortlog",
        "show",
        "show-ref",
        "status",
    ];
    let Some((command, rest)) = arguments.split_first() else { return false };
    if rest.iter().any(|word| NEVER.iter().any(|option| is_option(word, option))) {
        return false;
    }
    let only = |allowed: &[&str]| rest.iter().all(|word| allowed.contains(word));
    match *command {
        "branch" => match rest {
            ["--list" | "-l", patterns @ ..] => !patterns.iter().any(|word| word.starts_with('-')),
            _ => only(&["-a", "-r", "-v", "-vv", "--all", "--remotes", "--verbose", "--show-current"]),
        },
        "tag" => {
            rest.is_empty()
                || matches!(rest, ["-l" | "--list", patterns @ ..] if !patterns.iter().any(|word| word.starts_with('-')))
        }
        "remote" => matches!(rest, [] | ["-v" | "--verbose"] | ["get-url", _]),
        "stash" | "worktree" => rest == ["list"],
        "reflog" => rest.is_empty() || rest == ["show"],
        "config" => matches!(rest, ["--get", _] | ["--list" | "-l"] | ["get", _] | ["list"]),
        "version" | "--version" => rest.is_empty(),
        command => READING.contains(&command),
    }
}

/// Commands whose words are no paths.
const NO_PATHS: &[&str] = &[
    ":", "alias", "basename", "command", "dirname", "echo", "export", "expr", "false", "kill", "printf",
    "pwd", "seq", "set", "sleep", "true", "type", "unset", "which",
];
/// Commands whose first operand is a pattern or a program.
const PATTERN_FIRST: &[&str] = &["ag", "awk", "egrep", "fgrep", "grep", "jq", "rg", "sed", "tr"];
/// Commands that change all the files they name.
const CHANGERS: &[&str] = &[
    "chgrp", "chmod", "chown", "dd", "mkdir", "mv", "patch", "rm", "rmdir", "shred", "tee", "touch",
    "truncate", "unlink",
];
/// Commands that change the last file they name.
const COPIERS: &[&str] = &["cp", "install", "ln", "rsync", "scp"];

/// The words of a command that may be paths, and of those the files it may change.
pub(super) fn paths(words: &[Word]) -> (Vec<Word>, Vec<Word>) {
    let Some((name, arguments)) = words.split_first() else { return Default::default() };
    let name = name.text.rsplit('/').next().unwrap_or_default();
    if NO_PATHS.contains(&name) {
        return Default::default();
    }
    let gives_pattern =
        arguments.iter().any(|word| word.text.starts_with("-e") || word.text.starts_with("-f"));
    let mut patterns = usize::from(PATTERN_FIRST.contains(&name) && !gives_pattern);
    let mut looks = Vec::new();
    let mut operands = Vec::new();
    for word in arguments.iter().filter(|word| word.known().is_some() && !word.text.is_empty()) {
        if let Some(option) = word.text.strip_prefix('-') {
            let filters = option.contains("clude") || option.contains("glob");
            let value = option
                .split_once('=')
                .map(|(_, value)| value)
                .or_else(|| option.find('/').map(|at| &option[at..]));
            looks.extend(value.filter(|_| !filters).map(Word::literal));
            continue;
        }
        if patterns > 0 {
            patterns -= 1;
            continue;
        }
        operands.push(word.clone());
        let inside = match name {
            "git" => word.text.split_once(':'),
            _ => word.text.split_once('='),
        };
        looks.extend(inside.map(|(_, path)| Word::literal(path)));
    }
    looks.extend(operands.iter().cloned());
    let in_place = name == "sed"
        && arguments.iter().any(|word| word.text.starts_with("-i") || word.text == "--in-place");
    let changes = if CHANGERS.contains(&name) || in_place {
        let named = |word: &Word| word.text.strip_prefix("of=").map_or_else(|| word.clone(), Word::literal);
        operands.iter().map(named).collect()
    } else if COPIERS.contains(&name) {
        operands.last().cloned().into_iter().collect()
    } else {
        Vec::new()
    };
    (looks, changes)
}
