//! Tool names: the canonical set, and what any dialect's name for a tool stands for.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::dialect::Dialect;
use crate::diagnostic::Span;

/// The tools there are, by the names every dialect's names become.
pub const CANONICAL: &[&str] = &[
    "Read",
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "Bash",
    "BashOutput",
    "KillShell",
    "Glob",
    "Grep",
    "LS",
    "WebFetch",
    "WebSearch",
    "TodoWrite",
    "Skill",
    "Agent",
    "AttachFile",
];

/// How a name in a list of tools is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolClass {
    /// A canonical tool.
    Known,
    /// Every tool (`*`).
    Wildcard,
    /// A tool of an MCP server, or all of them.
    Mcp,
    /// A real tool of some product that does not exist here.
    Foreign,
    /// Nothing that is known.
    Unknown,
}

/// One name in a list of tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolName {
    /// The canonical name; of foreign and unknown tools the name as written.
    pub name: String,
    /// How it is taken.
    pub class: ToolClass,
    /// Where it stands.
    pub span: Span,
    /// The line of that, from 1.
    pub line: usize,
}

/// What a written tool name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// These canonical tools.
    Known(&'static [&'static str]),
    /// One name of another class.
    Other(ToolClass, String),
}

/// What a name in a list is for, which decides what it stands for where dialects differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To be given: the narrowest meaning counts.
    Offer,
    /// To be kept back: the widest meaning counts.
    Withhold,
}

/// Finds what `name` stands for: in its own dialect, then among the canonical names, then anywhere.
pub fn resolve(name: &str, dialect: Dialect, purpose: Purpose) -> Resolved {
    if name == "*" {
        return Resolved::Other(ToolClass::Wildcard, "*".into());
    }
    if let Some(own) = OWN.get(&dialect).and_then(|table| table.get(name)) {
        return from_table(name, *own);
    }
    if let Some(mcp) = mcp_name(name) {
        return Resolved::Other(ToolClass::Mcp, mcp);
    }
    let lower = name.to_lowercase();
    let union = match purpose {
        Purpose::Offer => &NARROW,
        Purpose::Withhold => &WIDE,
    };
    let canonical = ANY_CASE_CANONICAL.get(lower.as_str());
    let found = canonical.or_else(|| union.get(name)).or_else(|| union.get(lower.as_str()));
    match found {
        Some(entry) => from_table(name, *entry),
        None if dialect.table().underscore_joins_server && is_server_tool(name, dialect) => {
            Resolved::Other(ToolClass::Mcp, name.to_owned())
        }
        // `Bash/Write` is two tools that somebody wrote together, and no server.
        None if name.split('/').any(|part| CANONICAL.contains(&part.trim())) => {
            Resolved::Other(ToolClass::Unknown, name.to_owned())
        }
        None if is_of_editor(name) => Resolved::Other(ToolClass::Foreign, name.to_owned()),
        None => match server_slash_tool(name) {
            Some(mcp) => Resolved::Other(ToolClass::Mcp, mcp),
            None => Resolved::Other(ToolClass::Unknown, name.to_owned()),
        },
    }
}

/// Names a person may have meant by an unknown one.
pub fn suggest(name: &str, dialect: Dialect) -> Option<&'static str> {
    let own = dialect.table().tools.iter().map(|(name, _)| *name);
    crate::text::closest(name, CANONICAL.iter().copied().chain(own))
}

type Meaning = Option<&'static [&'static str]>;

fn from_table(name: &str, meaning: Meaning) -> Resolved {
    match meaning {
        Some(canonical) => Resolved::Known(canonical),
        None => Resolved::Other(ToolClass::Foreign, name.to_owned()),
    }
}

/// `mcp__server`, `mcp__server__tool`, `mcp__*__verb`, and Gemini's `mcp_server_tool`.
fn mcp_name(name: &str) -> Option<String> {
    let rest = name.strip_prefix("mcp_")?;
    let rest = rest.strip_prefix('_').unwrap_or(rest);
    let legal = !rest.is_empty()
        && rest
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '*' | '.' | ':' | '/' | '@' | ' '));
    legal.then(|| name.to_owned())
}

/// True for a tool of one of VS Code's own sets that is in no table.
fn is_of_editor(name: &str) -> bool {
    const SETS: &[&str] = &["read", "edit", "search", "execute", "web", "agent", "vscode", "todo", "browser"];
    name.split_once('/').is_some_and(|(set, tool)| SETS.contains(&set) && tool != "*")
}

/// OpenCode's `server_tool` and `server_*`, unless it looks like a mistake in the name of another tool.
fn is_server_tool(name: &str, dialect: Dialect) -> bool {
    let legal = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '*' | '.'));
    let joined = name.split_once('_').is_some_and(|(server, tool)| !server.is_empty() && !tool.is_empty());
    legal && joined && suggest(name, dialect).is_none()
}

/// Copilot's `server/tool` and `server/*`, under the canonical name.
fn server_slash_tool(name: &str) -> Option<String> {
    let (server, tool) = name.rsplit_once('/')?;
    let word = |part: &str| {
        !part.is_empty()
            && part.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | ' '))
    };
    if !word(server) || server.starts_with('/') || server.contains("//") {
        return None;
    }
    match tool {
        "*" => Some(format!("mcp__{server}__*")),
        tool if word(tool) => Some(format!("mcp__{server}__{tool}")),
        _ => None,
    }
}

fn rows(dialect: Dialect) -> impl Iterator<Item = (&'static str, Meaning)> {
    let table = dialect.table();
    let known = table.tools.iter().map(|(name, canonical)| (*name, Some(*canonical)));
    known.chain(table.foreign_tools.iter().map(|name| (*name, None)))
}

static OWN: LazyLock<HashMap<Dialect, HashMap<&'static str, Meaning>>> =
    LazyLock::new(|| Dialect::ALL.iter().map(|dialect| (*dialect, rows(*dialect).collect())).collect());

static ANY_CASE_CANONICAL: LazyLock<HashMap<String, Meaning>> = LazyLock::new(|| {
    let one = |name: &'static &'static str| (name.to_lowercase(), Some(std::slice::from_ref(name)));
    CANONICAL.iter().map(one).collect()
});

/// Of a name that several dialects use, the narrowest meaning.
static NARROW: LazyLock<HashMap<String, Meaning>> =
    LazyLock::new(|| union(|before, after| after.len() < before.len()));

/// Of a name that several dialects use, the widest meaning.
static WIDE: LazyLock<HashMap<String, Meaning>> =
    LazyLock::new(|| union(|before, after| after.len() > before.len()));

/// Every dialect's names, as written and in lower case; `better` decides between two meanings.
fn union(better: impl Fn(&[&str], &[&str]) -> bool) -> HashMap<String, Meaning> {
    let mut map: HashMap<String, Meaning> = HashMap::new();
    for (name, meaning) in Dialect::ALL.iter().flat_map(|dialect| rows(*dialect)) {
        for key in [name.to_owned(), name.to_lowercase()] {
            let entry = map.entry(key).or_insert(meaning);
            *entry = match (*entry, meaning) {
                (Some(before), Some(after)) if better(before, after) => Some(after),
                (None, Some(after)) => Some(after),
                (before, _) => before,
            };
        }
    }
    map
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Resolved, ToolClass, resolve, suggest};
    use crate::definition::dialect::Dialect;

    fn check(dialect: Dialect, name: &str, expected: &str) {
        let found = match resolve(name, dialect, Purpose::Offer) {
            Resolved::Known(canonical) => canonical.join(" "),
            Resolved::Other(class, name) => format!("{class:?} {name}"),
        };
        assert_eq!(found, expected, "{name}");
    }

    #[test]
    fn canonical_names_are_themselves_in_any_case() {
        for tool in super::CANONICAL {
            check(Dialect::Posse, tool, tool);
            check(Dialect::Claude, &tool.to_lowercase(), tool);
        }
    }

    #[test]
    fn each_dialect_has_its_own_names() {
        check(Dialect::Crush, "view", "Read");
        check(Dialect::Netclaw, "file_read", "Read");
        check(Dialect::Gemini, "run_shell_command", "Bash");
        check(Dialect::Copilot, "search", "Grep Glob");
        check(Dialect::Copilot, "edit", "Edit MultiEdit Write NotebookEdit");
        check(Dialect::Claude, "Task", "Agent");
        check(Dialect::Claude, "run_subagent", "Agent");
    }

    #[test]
    fn a_name_of_another_dialect_means_what_it_means_there() {
        check(Dialect::Claude, "run_shell_command", "Bash");
        check(Dialect::Claude, "edit", "Edit");
    }

    #[test]
    fn what_is_kept_back_is_taken_as_widely_as_any_dialect_does() {
        let wide = resolve("shell", Dialect::Claude, Purpose::Withhold);
        let narrow = resolve("shell", Dialect::Claude, Purpose::Offer);
        assert!(
            matches!((wide, narrow), (Resolved::Known(wide), Resolved::Known(narrow)) if wide.len() >= narrow.len())
        );
        let edits = Resolved::Known(&["Edit", "MultiEdit", "Write", "NotebookEdit"]);
        assert_eq!(resolve("editFiles", Dialect::Claude, Purpose::Withhold), edits);
    }

    #[test]
    fn a_real_tool_that_is_not_here_is_foreign() {
        check(Dialect::Copilot, "vscodeAPI", "Foreign vscodeAPI");
        check(Dialect::Claude, "vscodeAPI", "Foreign vscodeAPI");
    }

    #[test]
    fn tools_of_servers_are_recognised_in_every_spelling() {
        check(Dialect::Claude, "mcp__github__list_issues", "Mcp mcp__github__list_issues");
        check(Dialect::Claude, "mcp__*__search", "Mcp mcp__*__search");
        check(Dialect::Copilot, "github/*", "Mcp mcp__github__*");
        check(Dialect::OpenCode, "github_*", "Mcp github_*");
        check(Dialect::OpenCode, "web_fetchh", "Unknown web_fetchh");
        check(Dialect::Copilot, "github/list_issues", "Mcp mcp__github__list_issues");
    }

    #[test]
    fn a_mistake_is_unknown_and_gets_a_suggestion() {
        check(Dialect::Claude, "Grpe", "Unknown Grpe");
        assert_eq!(suggest("Grpe", Dialect::Claude), Some("Grep"));
        assert_eq!(
            resolve("*", Dialect::Claude, Purpose::Offer),
            Resolved::Other(ToolClass::Wildcard, "*".into())
        );
    }
}
