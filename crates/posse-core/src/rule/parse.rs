//! The text of a rule to what it is about; what makes no sense is refused with what to write instead.

use std::fmt;

use super::path::PathPattern;
use super::pattern::CommandPattern;
use super::{About, CHANGING, LOOKING, Rule};
use crate::definition::tool::CANONICAL;
use crate::text::{closest, visible_line};

/// The longest text of a rule, in bytes.
const RULE_BYTES_MAX: usize = 4096;

/// Why a text is no rule, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for RuleError {}

fn error<T>(message: impl Into<String>, help: impl Into<String>) -> Result<T, RuleError> {
    Err(RuleError { message: message.into(), help: help.into() })
}

/// Parses the text of a rule.
pub(super) fn rule(text: &str) -> Result<Rule, RuleError> {
    let text = text.trim();
    let shown = visible_line(crate::text::cut_at_char(text, 200));
    if text.len() > RULE_BYTES_MAX {
        return error(
            format!("the rule `{shown}…` is too long"),
            format!("use at most {RULE_BYTES_MAX} bytes"),
        );
    }
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return error(
            format!("the rule `{shown}` has characters that are not shown"),
            "write it on one line",
        );
    }
    let about = match text.split_once('(') {
        None if text.contains(')') => return unbalanced(&shown),
        None => whole_tool(text, &shown)?,
        Some((tool, rest)) => {
            let Some(specifier) = rest.strip_suffix(')') else { return unbalanced(&shown) };
            let tool = tool.trim_end();
            if tool.is_empty() {
                return no_rule(&shown);
            }
            if specifier.trim().is_empty() {
                let help = format!("write `{tool}` for every use of it, or say what it is about");
                return error(format!("the rule `{shown}` has nothing between its parentheses"), help);
            }
            with_specifier(tool, specifier.trim(), &shown)?
        }
    };
    Ok(Rule { text: text.to_owned(), about })
}

fn no_rule<T>(shown: &str) -> Result<T, RuleError> {
    error(format!("`{shown}` is no rule"), "write `Tool` or `Tool(specifier)`, such as `Bash(git diff *)`")
}

fn unbalanced<T>(shown: &str) -> Result<T, RuleError> {
    error(
        format!("the parentheses of the rule `{shown}` do not match"),
        "write `Tool` or `Tool(specifier)`, with nothing after the last parenthesis",
    )
}

/// A rule about a tool as a whole.
fn whole_tool(name: &str, shown: &str) -> Result<About, RuleError> {
    if name == "*" {
        return Ok(About::Everything);
    }
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | ':' | '/' | '@');
    if name.is_empty() || !name.chars().all(legal) || !name.chars().any(char::is_alphanumeric) {
        return no_rule(shown);
    }
    if name == "mcp__" || name.starts_with("mcp____") {
        return error(
            format!("the rule `{shown}` names no server"),
            "write `mcp__server` or `mcp__server__tool`",
        );
    }
    if name.starts_with("mcp_") {
        return Ok(About::Mcp(name.to_owned()));
    }
    if name == "Task" {
        return Ok(About::Tool("Agent".to_owned()));
    }
    known_or_foreign(name, shown)?;
    Ok(About::Tool(name.to_owned()))
}

/// Refuses a name that is a mistake in a canonical one; other names are of tools that exist elsewhere.
fn known_or_foreign(name: &str, shown: &str) -> Result<(), RuleError> {
    let known = CANONICAL.iter().chain(LOOKING).any(|known| *known == name);
    match closest(name, CANONICAL.iter().copied()) {
        Some(meant) if !known => {
            error(format!("the tool of the rule `{shown}` is not known"), format!("did you mean `{meant}`?"))
        }
        _ => Ok(()),
    }
}

fn with_specifier(tool: &str, specifier: &str, shown: &str) -> Result<About, RuleError> {
    let path = || {
        PathPattern::compile(specifier).or_else(|wrong| {
            error(
                format!("the path of the rule `{shown}` makes no sense: {wrong}"),
                "write `//absolute`, `~/in/home`, `/beside/this/file` or `in/workspace`",
            )
        })
    };
    match tool {
        "Bash" => match CommandPattern::compile(specifier) {
            Some(pattern) if pattern.is_everything() => Ok(About::Tool("Bash".to_owned())),
            Some(pattern) => Ok(About::Command(pattern)),
            None => error(format!("the rule `{shown}` names no command"), "write `Bash` for every command"),
        },
        tool if LOOKING.contains(&tool) => Ok(About::Look(path()?)),
        tool if CHANGING.contains(&tool) => Ok(About::Change(path()?)),
        "WebFetch" => domain(specifier, shown),
        "Agent" | "Task" => Ok(About::Agent(specifier.to_owned())),
        "Skill" => Ok(About::Skill(specifier.to_owned())),
        "*" => error(format!("the rule `{shown}` is about every tool and none"), "name the tool"),
        tool if tool.starts_with("mcp_") => error(
            format!("the rule `{shown}` looks into a call of an MCP server"),
            format!("write `{tool}`: only whole tools can be named"),
        ),
        tool => {
            known_or_foreign(tool, shown)?;
            error(format!("rules about `{tool}` take nothing in parentheses"), format!("write `{tool}`"))
        }
    }
}

fn domain(specifier: &str, shown: &str) -> Result<About, RuleError> {
    let Some(host) = specifier.strip_prefix("domain:") else {
        let host = specifier.split("://").last().unwrap_or_default();
        let host = host.split(['/', ':']).next().unwrap_or_default();
        return error(
            format!("the rule `{shown}` does not say `domain:`"),
            format!("write `WebFetch(domain:{host})`"),
        );
    };
    let host = host.trim().trim_end_matches('.').to_lowercase();
    let labels = host.strip_prefix("*.").unwrap_or(&host);
    let legal = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_' | ':' | '[' | ']');
    let is_host =
        !labels.is_empty() && labels.chars().all(legal) && labels.split('.').all(|label| !label.is_empty());
    if host != "*" && !is_host {
        return error(
            format!("the domain of the rule `{shown}` is no host"),
            "write a host such as `docs.rs`, or `*.docs.rs` for everything below it",
        );
    }
    Ok(About::Domain(host))
}
