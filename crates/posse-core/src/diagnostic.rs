//! What is wrong with something a person wrote, and what to do about it.
//!
//! A diagnostic is a value; how it looks on a terminal is the binary's business.

pub mod codes;

pub use codes::Code;

/// How much a diagnostic matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing to do.
    Info,
    /// Coped with; the author should look.
    Warning,
    /// The definition is refused, or loaded but not runnable.
    Error,
}

impl Severity {
    /// The word used in text and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A range of bytes in the text of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The range `start..end`.
    pub fn new(start: usize, end: usize) -> Span {
        assert!(start <= end, "a span ends after it starts: {start}..{end}");
        Span { start, end }
    }
}

/// A replacement that mends what a diagnostic complains about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What to replace, in bytes of the file as it is on disk.
    pub span: Span,
    /// What to put there.
    pub replacement: String,
}

/// Where in a file a diagnostic points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Bytes in the source's text.
    pub span: Span,
    /// Line of the first byte, from 1.
    pub line: usize,
    /// Character in that line, from 1.
    pub column: usize,
}

/// One complaint about something a person wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// Which complaint it is.
    pub code: Code,
    /// What is wrong, and with what.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
    /// The file, as the user would name it.
    pub path: Option<String>,
    /// Where in the file; absent when the file as a whole is meant.
    pub place: Option<Place>,
    /// How to mend it without a person deciding anything; all of them or none.
    pub fixes: Vec<Fix>,
}

impl Diagnostic {
    /// A complaint of the code's usual severity, without help or place.
    pub fn new(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: code.severity(),
            code,
            message: message.into(),
            help: None,
            path: None,
            place: None,
            fixes: Vec::new(),
        }
    }

    /// The same complaint with what to do next.
    pub fn with_help(mut self, help: impl Into<String>) -> Diagnostic {
        self.help = Some(help.into());
        self
    }

    /// The same complaint about the file `path`.
    pub fn at_path(mut self, path: impl Into<String>) -> Diagnostic {
        self.path = Some(path.into());
        self
    }

    /// The same complaint with another severity.
    pub fn with_severity(mut self, severity: Severity) -> Diagnostic {
        self.severity = severity;
        self
    }

    /// True for an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The diagnostic as the JSON that programs rely on.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::json!({
            "severity": self.severity.as_str(),
            "code": self.code.as_str(),
            "message": self.message,
            "help": self.help,
            "path": self.path,
            "line": self.place.map(|place| place.line),
            "column": self.place.map(|place| place.column),
        })
    }
}
