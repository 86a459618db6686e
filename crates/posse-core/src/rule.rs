//! Rules: what a call may do, decided from values alone.
//!
//! A rule is parsed once and kept with its text and the line it stands on; `judge` looks at one call. Nothing here
//! knows about modes, asks anybody, or touches a file: what no rule decides is left to who called.

mod judge;
mod mcp;
mod parse;
mod path;
mod pattern;
mod readonly;
mod shell;
mod variable;
mod word;
mod wrapper;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use judge::judge;
pub use parse::RuleError;

use path::PathPattern;
use pattern::CommandPattern;

/// What is done about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    /// It is done without a question.
    Allow,
    /// A person is asked.
    Ask,
    /// It is not done.
    Deny,
}

/// One line of permission, `Tool` or `Tool(specifier)`.
#[derive(Debug, Clone)]
pub struct Rule {
    text: String,
    about: About,
}

/// What a rule is about.
#[derive(Debug, Clone)]
enum About {
    /// `*`.
    Everything,
    /// A tool as a whole; `*` in the name stands for any characters.
    Tool(String),
    /// `Bash(…)`.
    Command(CommandPattern),
    /// `Read(…)`, and every other tool that looks at paths.
    Look(PathPattern),
    /// `Edit(…)`, and every other tool that changes files.
    Change(PathPattern),
    /// `WebFetch(domain:…)`.
    Domain(String),
    /// `Agent(…)`.
    Agent(String),
    /// `Skill(…)`.
    Skill(String),
    /// `mcp__…`.
    Mcp(String),
}

impl Rule {
    /// Parses a rule; what makes no sense is an error, never a rule about everything.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        parse::rule(text)
    }

    /// The rule as it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// True when the rule could decide about some call of this tool.
    pub fn concerns(&self, tool: &str) -> bool {
        match &self.about {
            About::Everything => true,
            About::Tool(name) => pattern::glob(name, tool) || (tool == "Bash" && is_file_tool(name)),
            About::Command(_) => tool == "Bash",
            About::Look(_) => tool == "Bash" || LOOKING.contains(&tool),
            About::Change(_) => tool == "Bash" || CHANGING.contains(&tool),
            About::Domain(_) => tool == "WebFetch",
            About::Agent(_) => tool == "Agent",
            About::Skill(_) => tool == "Skill",
            About::Mcp(name) => mcp::matches(name, tool),
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Rule) -> bool {
        self.text == other.text
    }
}

impl Eq for Rule {}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for Rule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rule, D::Error> {
        let text = String::deserialize(deserializer)?;
        Rule::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// A rule and where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sourced {
    /// The rule.
    pub rule: Rule,
    /// Its place, as `file:line`.
    pub from: String,
    /// The directory that `/path` in it begins at; the workspace where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
}

/// The rules of a run, by what they decide.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleSet {
    /// What is never done.
    #[serde(default)]
    pub deny: Vec<Sourced>,
    /// What a person is asked about.
    #[serde(default)]
    pub ask: Vec<Sourced>,
    /// What is done without a question.
    #[serde(default)]
    pub allow: Vec<Sourced>,
    /// For a tool, or `*`, what holds where none of the rules matches.
    #[serde(default)]
    pub otherwise: BTreeMap<String, Decision>,
}

impl RuleSet {
    /// The rules that concern a tool, in the order they are looked at.
    pub fn about(&self, tool: &str) -> impl Iterator<Item = (Decision, &Sourced)> {
        let deny = self.deny.iter().map(|rule| (Decision::Deny, rule));
        let ask = self.ask.iter().map(|rule| (Decision::Ask, rule));
        let allow = self.allow.iter().map(|rule| (Decision::Allow, rule));
        deny.chain(ask).chain(allow).filter(move |(_, sourced)| sourced.rule.concerns(tool))
    }

    /// What holds for a tool where no rule matches.
    fn otherwise(&self, tool: &str) -> Option<Decision> {
        self.otherwise.get(tool).or_else(|| self.otherwise.get("*")).copied()
    }
}

/// What one call would do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act<'a> {
    /// Uses a tool that is about nothing further.
    Tool {
        /// The canonical name of the tool.
        name: &'a str,
    },
    /// Looks at a path.
    Look {
        /// The canonical name of the tool.
        tool: &'a str,
        /// An absolute path without `.` and `..`.
        path: &'a str,
    },
    /// Changes a file.
    Change {
        /// The canonical name of the tool.
        tool: &'a str,
        /// An absolute path without `.` and `..`.
        path: &'a str,
    },
    /// Runs a shell command.
    Command {
        /// What the shell is given.
        text: &'a str,
        /// The absolute directory it runs in.
        directory: &'a str,
    },
    /// Fetches from a host.
    Fetch {
        /// The host, without port.
        host: &'a str,
    },
    /// Calls an agent.
    Agent {
        /// Its name.
        name: &'a str,
    },
    /// Uses a skill.
    Skill {
        /// Its name.
        name: &'a str,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// `mcp__server__tool`.
        name: &'a str,
    },
}

impl<'a> Act<'a> {
    /// The tool that a rule about the act as a whole would name.
    pub fn tool(&self) -> &'a str {
        match self {
            Act::Tool { name } | Act::Mcp { name } => name,
            Act::Look { tool, .. } | Act::Change { tool, .. } => tool,
            Act::Command { .. } => "Bash",
            Act::Fetch { .. } => "WebFetch",
            Act::Agent { .. } => "Agent",
            Act::Skill { .. } => "Skill",
        }
    }
}

/// The directories that paths in rules and commands begin at; absolute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place<'a> {
    /// The directory the run works in.
    pub workspace: &'a str,
    /// What `~` stands for.
    pub home: &'a str,
}

/// A rule that decided: its text, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecidedBy {
    /// The rule as written.
    pub rule: String,
    /// Its place, as `file:line`.
    pub from: String,
}

/// What the rules say about one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The decision; `None` where no rule decides and the mode does.
    pub decision: Option<Decision>,
    /// The rule that decided, if it was one.
    pub by: Option<DecidedBy>,
    /// Why, in words for a person or a model.
    pub reason: String,
    /// Rules that would allow exactly what is missing; empty where no rule could.
    pub would_allow: Vec<String>,
    /// What a command consists of, each with what was found about it; empty for other acts.
    pub parts: Vec<Part>,
}

/// One thing that a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What it does.
    pub does: Does,
    /// What was decided about it alone.
    pub decision: Option<Decision>,
    /// The rule that decided, if it was one.
    pub by: Option<DecidedBy>,
}

/// What one part of a command does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Does {
    /// Runs a program, with these words.
    Run(String),
    /// Looks at a path.
    Look(String),
    /// Changes a file.
    Change(String),
    /// Something that cannot be known beforehand, and why.
    Unclear(String),
}

/// Tools that a rule about looking at a path is about.
const LOOKING: &[&str] = &["Read", "Glob", "Grep", "LS", "NotebookRead", "AttachFile"];
/// Tools that a rule about changing a file is about.
const CHANGING: &[&str] = &["Edit", "Write", "MultiEdit", "NotebookEdit"];

/// True for the tools whose rules hold for the files of a shell command too.
fn is_file_tool(name: &str) -> bool {
    matches!(name, "Read" | "Edit" | "Write")
}

#[cfg(test)]
mod tests;
