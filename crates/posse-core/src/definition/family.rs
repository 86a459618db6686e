//! The places agents are kept, as data, and what a path says about the file at its end.

use super::dialect::Dialect;
use super::read::{Clues, PlaceKind};

/// One directory convention.
#[derive(Debug)]
pub struct Family {
    /// The directory below a project's directory.
    pub project: &'static str,
    /// The same below the home directory; `None` where the tool has no such place.
    pub home: Option<&'static str>,
    /// The same below the configuration directory.
    pub config: Option<&'static str>,
    /// The dialect of the files in it.
    pub dialect: Dialect,
    /// Which files in it are read.
    pub layout: Layout,
    /// True when folders below the directory are part of a name.
    pub named_by_path: bool,
    /// Files whose name begins with it are drafts that the tool passes over.
    pub draft_prefix: Option<char>,
}

/// Which files of a family's directory are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Files with one of the extensions, in the directory and below it.
    Tree(&'static [&'static str]),
    /// Files with one of the extensions, in the directory itself.
    Flat(&'static [&'static str]),
    /// `agent.md` in each folder of the directory, but for `main`.
    Folders,
    /// The family is one file.
    OneFile,
}

const MD: &[&str] = &["md"];

const fn family(project: &'static str, dialect: Dialect, layout: Layout) -> Family {
    Family {
        project,
        home: Some(project),
        config: None,
        dialect,
        layout,
        named_by_path: false,
        draft_prefix: None,
    }
}

/// Every family, in order of precedence within one directory.
pub static FAMILIES: &[Family] = &[
    Family {
        home: None,
        config: Some("posse/agents"),
        ..family(".posse/agents", Dialect::Posse, Layout::Tree(MD))
    },
    family(".agents/agents", Dialect::Posse, Layout::Tree(MD)),
    family(".claude/agents", Dialect::Claude, Layout::Tree(MD)),
    Family {
        config: Some("opencode/agent"),
        named_by_path: true,
        ..family(".opencode/agent", Dialect::OpenCode, Layout::Tree(MD))
    },
    Family {
        config: Some("opencode/agents"),
        named_by_path: true,
        ..family(".opencode/agents", Dialect::OpenCode, Layout::Tree(MD))
    },
    Family { config: Some("crush/agents"), ..family(".crush/agents", Dialect::Crush, Layout::Flat(MD)) },
    Family { draft_prefix: Some('_'), ..family(".gemini/agents", Dialect::Gemini, Layout::Flat(MD)) },
    family(".qwen/agents", Dialect::Qwen, Layout::Tree(MD)),
    family(".cursor/agents", Dialect::Cursor, Layout::Flat(MD)),
    Family { home: None, ..family(".github/agents", Dialect::Copilot, Layout::Flat(MD)) },
    family(".factory/droids", Dialect::Factory, Layout::Flat(MD)),
    family(".codex/agents", Dialect::Codex, Layout::Tree(&["toml"])),
    family(".netclaw/agents", Dialect::Netclaw, Layout::Flat(&["md", "json"])),
    Family { home: None, ..family("agents", Dialect::Jarvis, Layout::Folders) },
    Family { home: None, ..family("agents.json", Dialect::NanoClaw, Layout::OneFile) },
    Family { home: None, ..family("../global/agents.json", Dialect::NanoClaw, Layout::OneFile) },
];

/// Chat modes lie where no tool looks for agents any more, but are still what they are.
static CHAT_MODES: Family =
    Family { home: None, ..family(".github/chatmodes", Dialect::Copilot, Layout::Flat(MD)) };

/// What the path of a file says about it, whoever found it.
pub fn clues(path: &str) -> Clues {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let (file, folders) = parts.split_last().map_or(("", &[][..]), |(file, folders)| (*file, folders));
    let folder = folders.last().map(|folder| (*folder).to_owned());
    let stem = stem(file);
    if is_never(file) {
        return Clues { dialect: None, place: PlaceKind::Never, stem, folder };
    }
    if file == "agents.json" {
        return Clues { dialect: Some(Dialect::NanoClaw), place: PlaceKind::Elsewhere, stem, folder };
    }
    if let Some((family, depth)) = locate(folders) {
        let below = &folders[depth..];
        if family.layout != Layout::Folders || (file == "agent.md" && below.len() == 1) {
            return in_family(family, file, below, folder);
        }
    }
    let dialect = (file.ends_with(".agent.md") || file.ends_with(".chatmode.md")).then_some(Dialect::Copilot);
    let place = if dialect.is_some() { PlaceKind::Family } else { kind_of(folders) };
    Clues { dialect, place, stem, folder }
}

/// The directory of the family that a path goes through, for telling which files are read together.
pub fn directory_of(path: &str) -> Option<&str> {
    let folders: Vec<&str> = path.rsplit_once('/')?.0.split('/').collect();
    let (_, depth) = locate(&folders).filter(|(family, _)| family.layout != Layout::Folders)?;
    let bytes: usize = folders[..depth].iter().map(|folder| folder.len() + 1).sum();
    Some(&path[..bytes - 1])
}

/// The family whose directory a path goes through last, and how many folders that directory is deep.
fn locate(folders: &[&str]) -> Option<(&'static Family, usize)> {
    (1..=folders.len())
        .rev()
        .filter(|end| matches!(folders[end - 1], "agents" | "agent" | "droids" | "chatmodes"))
        .find_map(|end| {
            let mut families = FAMILIES.iter().chain(std::iter::once(&CHAT_MODES));
            families.find(|family| family.is_at_end(&folders[..end])).map(|family| (family, end))
        })
}

impl Family {
    /// True when the last of these folders are the family's directory.
    fn is_at_end(&self, folders: &[&str]) -> bool {
        let ends = |directory: &str| {
            let mut upward = folders.iter().rev();
            directory.rsplit('/').all(|part| upward.next() == Some(&part))
        };
        let config = |directory: &str| {
            let above = folders.len().checked_sub(3).and_then(|index| folders.get(index));
            ends(directory) && above == Some(&".config")
        };
        self.layout != Layout::OneFile && (ends(self.project) || self.config.is_some_and(config))
    }
}

/// The clues of a file that was found `below` the directory of a family.
pub fn in_family(family: &Family, file: &str, below: &[&str], folder: Option<String>) -> Clues {
    let mut stem = stem(file);
    if family.named_by_path && !below.is_empty() {
        stem = format!("{}/{stem}", below.join("/"));
    }
    let draft = family.draft_prefix.is_some_and(|prefix| file.starts_with(prefix));
    // Jarvis keeps its frontline agent beside the others; it is nobody's subagent.
    let frontline = family.layout == Layout::Folders && folder.as_deref() == Some("main");
    let place = if is_never(file) || draft || frontline { PlaceKind::Never } else { PlaceKind::Family };
    Clues { dialect: Some(family.dialect), place, stem, folder }
}

fn stem(file: &str) -> String {
    [".agent.md", ".chatmode.md", ".md", ".toml", ".json"]
        .iter()
        .find_map(|ending| file.strip_suffix(ending))
        .filter(|stem| !stem.is_empty())
        .unwrap_or(file)
        .to_owned()
}

/// True for a file name that other conventions have taken.
fn is_never(file: &str) -> bool {
    file.eq_ignore_ascii_case("skill.md")
        || file.ends_with(".prompt.md")
        || file.ends_with(".instructions.md")
}

/// What the nearest telling folder says.
fn kind_of(folders: &[&str]) -> PlaceKind {
    let telling = folders.iter().rev().find_map(|folder| match folder.to_lowercase().as_str() {
        "agents" | "agent" | "subagents" | "droids" | "chatmodes" => Some(PlaceKind::Likely),
        "skills" | "commands" | "prompts" | "instructions" | "rules" => Some(PlaceKind::Never),
        _ => None,
    });
    telling.unwrap_or(PlaceKind::Elsewhere)
}

#[cfg(test)]
mod tests {
    use super::clues;

    fn check(path: &str, expected: &str) {
        let clues = clues(path);
        let dialect = clues.dialect.map_or("-", |dialect| dialect.as_str());
        assert_eq!(format!("{dialect} {:?} {}", clues.place, clues.stem), expected, "{path}");
    }

    #[test]
    fn a_family_gives_the_dialect() {
        check("/p/.claude/agents/team/a.md", "claude Family a");
        check("x/.opencode/agent/review/security.md", "opencode Family review/security");
        check(".github/agents/planner.agent.md", "copilot Family planner");
        check(".codex/agents/a.toml", "codex Family a");
        check("agents/web/agent.md", "jarvis Family agent");
        check("/home/u/.config/crush/agents/a.md", "crush Family a");
        check(".github/chatmodes/plan.chatmode.md", "copilot Family plan");
    }

    #[test]
    fn other_places_say_how_likely_an_agent_is() {
        check("plugins/x/agents/a.md", "- Likely a");
        check("docs/a.md", "- Elsewhere a");
        check("skills/x/SKILL.md", "- Never SKILL");
        check("skills/x/references/a.md", "- Never a");
        check("skills/x/agents/a.md", "- Likely a");
        check(".claude/commands/a.md", "- Never a");
        check("library/x.agent.md", "copilot Family x");
    }
}
