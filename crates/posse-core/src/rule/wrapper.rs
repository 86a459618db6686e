//! Commands that run other commands: which, and whether allowing those is enough.

use super::pattern::ANY;
use super::shell::{Call, DEPTH_MAX, Inner, Script};
use super::variable::{is_harmless, is_steering};
use super::word::Word;

/// The most words of a runner that are each taken for the beginning of a command.
const BEGINNINGS_MAX: usize = 64;

/// A command that does nothing but run the rest of its words.
struct Wrapper {
    name: &'static str,
    /// Options with a value, in the next word or attached.
    values: &'static [&'static str],
    /// Options without one.
    flags: &'static [&'static str],
    /// The words between the options and the command.
    operands: usize,
}

const WRAPPERS: &[Wrapper] = &[
    Wrapper {
        name: "timeout",
        values: &["-k", "--kill-after", "-s", "--signal"],
        flags: &["--preserve-status", "--foreground", "-v", "--verbose", "-f", "-p"],
        operands: 1,
    },
    Wrapper { name: "time", values: &[], flags: &["-p"], operands: 0 },
    Wrapper { name: "nice", values: &["-n", "--adjustment"], flags: &[], operands: 0 },
    Wrapper { name: "nohup", values: &[], flags: &[], operands: 0 },
    Wrapper {
        name: "stdbuf",
        values: &["-i", "--input", "-o", "--output", "-e", "--error"],
        flags: &[],
        operands: 0,
    },
    Wrapper {
        name: "env",
        values: &["-u", "--unset"],
        flags: &["-i", "--ignore-environment", "-", "-0", "--null"],
        operands: 0,
    },
    Wrapper { name: "command", values: &[], flags: &["-p"], operands: 0 },
    Wrapper { name: "builtin", values: &[], flags: &[], operands: 0 },
    Wrapper { name: "exec", values: &["-a"], flags: &["-c", "-l"], operands: 0 },
    Wrapper { name: "noglob", values: &[], flags: &[], operands: 0 },
    Wrapper {
        name: "xargs",
        values: &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-s",
            "-d",
            "-E",
            "-a",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--replace",
            "--delimiter",
            "--arg-file",
            "--max-chars",
        ],
        flags: &[
            "-0",
            "-r",
            "-t",
            "-x",
            "-p",
            "-o",
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--exit",
            "--interactive",
            "-0r",
            "-r0",
        ],
        operands: 0,
    },
];

/// Commands that run some of their words in a way of their own: on another machine, as somebody else, again and again.
const RUNNERS: &[&str] = &[
    "arch",
    "at",
    "batch",
    "bunx",
    "busybox",
    "bwrap",
    "cgexec",
    "chroot",
    "chronic",
    "chrt",
    "coproc",
    "crontab",
    "dbus-run-session",
    "doas",
    "docker",
    "entr",
    "expect",
    "faketime",
    "fakeroot",
    "firejail",
    "flock",
    "gdb",
    "ionice",
    "kubectl",
    "ltrace",
    "nix-shell",
    "npx",
    "nsenter",
    "numactl",
    "parallel",
    "perf",
    "pipx",
    "pnpx",
    "podman",
    "proot",
    "rlwrap",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "sg",
    "ssh",
    "start-stop-daemon",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "taskset",
    "tmux",
    "toybox",
    "unbuffer",
    "unshare",
    "uvx",
    "valgrind",
    "watch",
    "xvfb-run",
    "nocorrect",
    "winpty",
    "wsl",
    "csh",
    "tcsh",
    "fish",
    "rbash",
    "pkexec",
];

/// Words of the grammar; where the parser takes one for a program, the shell does not.
const KEYWORDS: &[&str] = &[
    "!", "[[", "]]", "case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in",
    "select", "then", "until", "while", "{", "}",
];

/// Shells that take a command as `-c`.
const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "ksh", "ash"];

/// Built-ins after which a name may mean something else.
const REDEFINES: &[&str] =
    &["alias", "unalias", "enable", "hash", "trap", "bind", "shopt", "complete", "compgen", "let", "fc"];

/// Built-ins that set the variables they name.
const ASSIGNS: &[&str] = &["read", "mapfile", "readarray", "getopts", "printf", "wait"];

/// A call with what it runs in turn; what cannot be known is added to `unclear`.
pub(super) fn look_through(
    words: Vec<Word>,
    assignments: Vec<Word>,
    depth: usize,
    unclear: &mut Vec<String>,
) -> Call {
    let inner = inner(&words, depth, unclear);
    if let Inner::Through(script) | Inner::Beside(script) = &inner {
        unclear.extend(script.unclear.iter().cloned());
    }
    Call { words, assignments, inner }
}

fn inner(words: &[Word], depth: usize, unclear: &mut Vec<String>) -> Inner {
    let Some(first) = words.first() else { return Inner::Nothing };
    if depth >= DEPTH_MAX {
        unclear.push(format!("commands are nested deeper than {DEPTH_MAX}"));
        return Inner::Nothing;
    }
    let Some(name) = first.known().filter(|name| !name.is_empty()) else {
        unclear.push("the name of a program is not known beforehand".to_owned());
        // What expands to nothing leaves the next word as the name.
        return Inner::Perhaps(beginnings(words, depth));
    };
    // Behind a wrapper an assignment is a program; who wrote it meant the one after it.
    if name.split_once('=').is_some_and(|(name, _)| name.chars().all(|c| c.is_alphanumeric() || c == '_')) {
        return Inner::Perhaps(of_words(words[1..].to_vec(), depth));
    }
    if KEYWORDS.contains(&name) {
        unclear.push(format!("`{name}` stands where a command should"));
        return Inner::Perhaps(of_words(words[1..].to_vec(), depth));
    }
    let base = name.rsplit('/').next().unwrap_or(name);
    let found = by_name(base, words, depth, unclear);
    match found {
        // A program at a path may be another one than its name says.
        Inner::Through(script) | Inner::Beside(script) if base != name => Inner::Perhaps(script),
        found => found,
    }
}

fn by_name(name: &str, words: &[Word], depth: usize, unclear: &mut Vec<String>) -> Inner {
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.name == name) {
        return wrapped(wrapper, words, depth, unclear);
    }
    if SHELLS.contains(&name) {
        return shell(words, depth, unclear);
    }
    if RUNNERS.contains(&name) {
        return Inner::Perhaps(beginnings(words, depth));
    }
    if REDEFINES.contains(&name) {
        unclear.push(format!("`{name}` may change what commands mean"));
        return Inner::Perhaps(beginnings(words, depth));
    }
    if ASSIGNS.contains(&name) {
        let sets = |word: &Word| word.known().is_none_or(|word| is_steering(word) || word.contains('['));
        let named = name != "printf" || words.get(1).is_some_and(|word| word.text.starts_with("-v"));
        if named && words[1..].iter().any(sets) {
            unclear.push(format!("`{name}` sets a variable that is not known beforehand"));
        }
        return Inner::Nothing;
    }
    match name {
        "eval" => eval(words, depth, unclear),
        "find" => find(words, depth),
        "git" => git(words, depth, unclear),
        _ => Inner::Nothing,
    }
}

/// The call that some words make, alone.
fn of_words(words: Vec<Word>, depth: usize) -> Script {
    let mut script = Script::default();
    let call = look_through(words, Vec::new(), depth + 1, &mut script.unclear);
    script.calls.push(call);
    script
}

/// Every word as the beginning of a command, and every word that is a command by itself.
fn beginnings(words: &[Word], depth: usize) -> Script {
    let mut script = Script::default();
    for at in 1..words.len().min(BEGINNINGS_MAX) {
        let words = words[at..].to_vec();
        script.calls.push(Call { words, assignments: Vec::new(), inner: Inner::Nothing });
    }
    let spoken =
        words.iter().skip(1).filter_map(Word::known).filter(|word| word.contains(|c: char| !is_plain(c)));
    for text in spoken {
        let read = Script::read(text, depth + 1);
        script.calls.extend(read.calls);
        script.unclear.extend(read.unclear);
    }
    if words.len() > BEGINNINGS_MAX {
        script.unclear.push("it runs too many words".to_owned());
    }
    script
}

fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '=' | ':' | ',' | '@' | '+' | '%')
}

fn wrapped(wrapper: &Wrapper, words: &[Word], depth: usize, unclear: &mut Vec<String>) -> Inner {
    let looks_up = |word: &Word| matches!(word.known(), Some("-v" | "-V" | "-pv" | "-pV"));
    if wrapper.name == "command" && words.get(1).is_some_and(looks_up) {
        return Inner::Nothing;
    }
    let Some(mut at) = wrapper.options_end(words) else { return Inner::Perhaps(beginnings(words, depth)) };
    if wrapper.name == "env" {
        while let Some((name, _)) = words.get(at).and_then(|word| word.text.split_once('=')) {
            if !is_harmless(name) {
                unclear.push(format!("it sets `{name}`"));
            }
            at += 1;
        }
    }
    if at >= words.len() {
        return Inner::Nothing;
    }
    let mut inner = words[at..].to_vec();
    if wrapper.name == "xargs" {
        fed(&words[1..at], &mut inner);
    }
    Inner::Through(of_words(inner, depth))
}

/// What `xargs` reads takes the place of a mark, or is added at the end.
fn fed(options: &[Word], inner: &mut Vec<Word>) {
    let texts: Vec<&str> = options.iter().map(|word| word.text.as_str()).collect();
    let mark = texts.iter().enumerate().find_map(|(at, text)| match *text {
        "-I" | "--replace" => texts.get(at + 1).copied(),
        text => text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")),
    });
    match mark.filter(|mark| !mark.is_empty()) {
        Some(mark) => {
            for word in inner {
                word.text = word.text.replace(mark, &ANY.to_string());
            }
        }
        None => inner.push(Word::unknown()),
    }
}

impl Wrapper {
    /// Where the command begins; `None` when that cannot be told.
    fn options_end(&self, words: &[Word]) -> Option<usize> {
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let word = word.known()?;
            if word == "--" {
                at += 1;
                break;
            }
            if !word.starts_with('-') {
                break;
            }
            let attached = |option: &&&str| match option.strip_prefix("--") {
                Some(_) => word.strip_prefix(**option).is_some_and(|rest| rest.starts_with('=')),
                None => word.len() > option.len() && word.starts_with(**option) && !word.starts_with("--"),
            };
            let number = self.name == "nice" && word[1..].bytes().all(|byte| byte.is_ascii_digit());
            if self.flags.contains(&word) || number {
                at += 1;
            } else if self.values.contains(&word) {
                words.get(at + 1)?.known()?;
                at += 2;
            } else if self.values.iter().any(|option| attached(&option)) {
                at += 1;
            } else {
                return None;
            }
        }
        for operand in words.iter().skip(at).take(self.operands) {
            operand.known()?;
        }
        Some(at + self.operands)
    }
}

fn shell(words: &[Word], depth: usize, unclear: &mut Vec<String>) -> Inner {
    let mut at = 1;
    let mut takes_text = false;
    while let Some(word) = words.get(at) {
        let Some(option) = word.known() else {
            unclear.push("what a shell is to run is not known beforehand".to_owned());
            return Inner::Perhaps(beginnings(words, depth));
        };
        if !option.starts_with(['-', '+']) {
            break;
        }
        at += 1;
        match option {
            "--" => break,
            "--norc" | "--noprofile" | "--posix" => continue,
            _ => {}
        }
        if option.len() == 1 || option[1..].contains(|c| !"ceuxlvnfao".contains(c)) {
            unclear.push("what a shell is to run is not known beforehand".to_owned());
            return Inner::Perhaps(beginnings(words, depth));
        }
        takes_text |= option.contains('c') && option.starts_with('-');
        at += usize::from(option.ends_with('o'));
    }
    match words.get(at) {
        Some(word) if takes_text => match word.known() {
            Some(text) => Inner::Through(Script::read(text, depth + 1)),
            None => {
                unclear.push("what a shell is to run is not known beforehand".to_owned());
                Inner::Perhaps(beginnings(words, depth))
            }
        },
        Some(word)
            if word.known().is_some_and(|file| !file.starts_with("/dev/") && !file.starts_with("/proc/")) =>
        {
            Inner::Nothing
        }
        _ => {
            unclear.push("a shell reads its commands from its input".to_owned());
            Inner::Nothing
        }
    }
}

fn eval(words: &[Word], depth: usize, unclear: &mut Vec<String>) -> Inner {
    let known: Option<Vec<&str>> = words[1..].iter().map(Word::known).collect();
    match known {
        Some(known) => Inner::Through(Script::read(&known.join(" "), depth + 1)),
        None => {
            unclear.push("what `eval` is to run is not known beforehand".to_owned());
            Inner::Perhaps(beginnings(words, depth))
        }
    }
}

/// The commands that `find` runs on what it finds.
fn find(words: &[Word], depth: usize) -> Inner {
    let mut script = Script::default();
    let mut rest = words;
    while let Some(at) = rest.iter().position(is_exec) {
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(rest.len());
        let mut inner = rest[..end].to_vec();
        for word in &mut inner {
            word.text = word.text.replace("{}", &ANY.to_string());
        }
        let found = of_words(inner, depth);
        script.calls.extend(found.calls);
        script.unclear.extend(found.unclear);
        rest = &rest[end..];
    }
    if script.calls.is_empty() { Inner::Nothing } else { Inner::Beside(script) }
}

/// True for the predicates of `find` that run a command.
pub(super) fn is_exec(word: &Word) -> bool {
    matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
}

/// `git` without the options before its command.
fn git(words: &[Word], depth: usize, unclear: &mut Vec<String>) -> Inner {
    let mut at = 1;
    let mut elsewhere = false;
    while let Some(option) = words.get(at).map(|word| word.text.as_str()).filter(|text| text.starts_with('-'))
    {
        match option {
            "-c" | "--config-env" => {
                unclear.push("git runs with a setting of its own".to_owned());
                at += 2;
            }
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => {
                elsewhere = true;
                at += 2;
            }
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" => at += 1,
            option => {
                if option.starts_with("-c")
                    || option.starts_with("--config-env")
                    || option.starts_with("--exec-path")
                {
                    unclear.push("git runs with a setting of its own".to_owned());
                }
                elsewhere = true;
                at += 1;
            }
        }
    }
    if at == 1 || at >= words.len() {
        return Inner::Nothing;
    }
    let plain = [&words[..1], &words[at..]].concat();
    let script = of_words(plain, depth);
    if elsewhere { Inner::Perhaps(script) } else { Inner::Through(script) }
}
