//! Variables whose value changes what a command does, though its words stay the same.

/// Set in front of a command these change nothing but what it prints.
const HARMLESS: &[&str] = &[
    "CI",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "DEBUG",
    "FORCE_COLOR",
    "GOARCH",
    "GOOS",
    "LANG",
    "LANGUAGE",
    "LINES",
    "NODE_ENV",
    "NO_COLOR",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RAILS_ENV",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TZ",
];

/// These decide which program runs, or what a program runs.
const STEERING: &[&str] = &[
    "BROWSER",
    "CC",
    "CDPATH",
    "CFLAGS",
    "CXX",
    "EDITOR",
    "ENV",
    "FCEDIT",
    "GLOBIGNORE",
    "HISTFILE",
    "HOME",
    "IFS",
    "INPUTRC",
    "LD",
    "LDFLAGS",
    "MAKEFLAGS",
    "MANPAGER",
    "OLDPWD",
    "OPENSSL_CONF",
    "PAGER",
    "PATH",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PWD",
    "SHELL",
    "SHELLOPTS",
    "TMPDIR",
    "VISUAL",
    "_",
];

/// The beginnings of names that belong to programs which run what the value says.
const STEERING_PREFIXES: &[&str] = &[
    "BASH", "CARGO", "DOCKER_", "DYLD_", "FZF_", "GCONV_", "GIT_", "GO", "JAVA_", "JDK_", "KUBE", "LD_",
    "LESS", "LOCPATH", "MALLOC_", "MAKE", "MAVEN_", "NODE_", "NPM_", "PERL", "PIP_", "PYTEST_", "PYTHON",
    "RIPGREP_", "RUBY", "RUST", "SSH_", "SUDO_", "SYSTEMD_", "XDG_", "ZDOTDIR",
];

/// True when a command may stand behind the assignment and still be known by its words.
pub(super) fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || name.starts_with("LC_")
}

/// True when no pattern may allow a command that the assignment reaches.
pub(super) fn is_steering(name: &str) -> bool {
    let upper = name.to_uppercase();
    !is_harmless(name)
        && (STEERING.contains(&upper.as_str())
            || upper.ends_with("_PROXY")
            || STEERING_PREFIXES.iter().any(|prefix| upper.starts_with(prefix)))
}
