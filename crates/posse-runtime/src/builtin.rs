//! The agents that are part of Posse, and which of them `init` writes for a person to change.

/// A definition that is part of the program.
#[derive(Debug, Clone, Copy)]
pub struct Builtin {
    /// The name of the file that `init` would write.
    pub file: &'static str,
    /// Its content.
    pub text: &'static str,
    /// True for the three that a person starts from.
    pub starter: bool,
}

const fn builtin(file: &'static str, text: &'static str, starter: bool) -> Builtin {
    Builtin { file, text, starter }
}

/// Every agent that is part of Posse.
pub const BUILTINS: &[Builtin] = &[
    builtin("general-purpose.md", include_str!("builtin/general-purpose.md"), false),
    builtin("explore.md", include_str!("builtin/explore.md"), false),
    builtin("plan.md", include_str!("builtin/plan.md"), false),
    builtin("research-assistant.md", include_str!("builtin/research-assistant.md"), true),
    builtin("code-analyst.md", include_str!("builtin/code-analyst.md"), true),
    builtin("summarizer.md", include_str!("builtin/summarizer.md"), true),
];

/// The commented configuration that `init` writes.
pub const CONFIG: &str = include_str!("builtin/config.toml");
