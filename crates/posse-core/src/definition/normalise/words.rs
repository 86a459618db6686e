//! The words and small shapes that single keys take.

use crate::definition::dialect::Dialect;
use crate::definition::field::Field;
use crate::definition::node::{Node, NodeValue};
use crate::definition::tool::{CANONICAL, Purpose, Resolved, ToolClass, resolve};
use crate::definition::value::{names, word};
use crate::definition::{Definition, PermissionMode, Visibility};

/// Stores a value that was understood; false when there is none.
pub(super) fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let understood = value.is_some();
    if understood {
        *slot = value;
    }
    understood
}

pub(super) fn take_isolation(definition: &mut Definition, node: &Node) -> bool {
    match word(node).as_deref() {
        Some("worktree") => set(&mut definition.workspace, Some("worktree".to_owned())),
        Some(level @ ("none" | "landlock" | "sandbox" | "container")) => {
            set(&mut definition.isolation, Some(level.to_owned()))
        }
        Some("true") => set(&mut definition.isolation, Some("sandbox".to_owned())),
        Some("false") => set(&mut definition.isolation, Some("none".to_owned())),
        _ => false,
    }
}

/// The tools that the name of a rule stands for; a name with `*` stands for every tool it fits.
pub(super) fn tools_of_rule(name: &str, dialect: Dialect) -> Vec<Resolved> {
    if name == "*" || name.starts_with("mcp_") || !name.contains('*') {
        return vec![resolve(name, dialect, Purpose::Withhold)];
    }
    let wanted = name.to_lowercase();
    let fits = |known: &&str| fits(&wanted, &known.to_lowercase());
    let own = dialect.table().tools.iter().map(|(known, _)| *known);
    let mut found: Vec<Resolved> = Vec::new();
    for known in own.chain(CANONICAL.iter().copied()).filter(fits) {
        let tool = resolve(known, dialect, Purpose::Withhold);
        if !found.contains(&tool) {
            found.push(tool);
        }
    }
    // What fits no tool may be about a server's; only a name that could be one is left alone.
    match (found.is_empty(), name.contains('_')) {
        (false, _) => found,
        (true, true) => vec![Resolved::Other(ToolClass::Mcp, name.to_owned())],
        (true, false) => vec![Resolved::Other(ToolClass::Unknown, name.to_owned())],
    }
}

/// True when a name fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else { return false };
    let mut last = "";
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
        last = part;
    }
    last.is_empty() || rest.is_empty()
}

/// True for a key that stands inside rules or hooks, and means nothing beside them.
pub(super) fn belongs_inside(key: &str, dialect: Dialect) -> bool {
    const EVENTS: &[&str] = &[
        "PreToolUse",
        "PostToolUse",
        "Stop",
        "SubagentStop",
        "SubagentStart",
        "SessionStart",
        "SessionEnd",
        "UserPromptSubmit",
        "Notification",
        "PreCompact",
        "PermissionRequest",
    ];
    let rules = matches!(key.to_lowercase().as_str(), "allow" | "ask" | "deny" | "otherwise");
    let tool = !matches!(resolve(key, dialect, Purpose::Offer), Resolved::Other(ToolClass::Unknown, _));
    rules || tool || EVENTS.contains(&key)
}

pub(super) fn mode(word: &str) -> Option<PermissionMode> {
    Some(match word {
        "default" | "manual" => PermissionMode::Default,
        "acceptedits" => PermissionMode::AcceptEdits,
        "auto" => PermissionMode::Auto,
        "dontask" => PermissionMode::DontAsk,
        "bypasspermissions" => PermissionMode::BypassPermissions,
        "plan" => PermissionMode::Plan,
        _ => return None,
    })
}

/// Qwen's words; `bubble` asks whoever called, as the default here does.
pub(super) fn approval_mode(word: &str) -> Option<PermissionMode> {
    Some(match word {
        "default" | "bubble" => PermissionMode::Default,
        "autoedit" => PermissionMode::AcceptEdits,
        "yolo" => PermissionMode::BypassPermissions,
        "plan" => PermissionMode::Plan,
        _ => return None,
    })
}

pub(super) fn sandbox_mode(word: &str) -> Option<PermissionMode> {
    Some(match word {
        "readonly" => PermissionMode::Plan,
        _ => return None,
    })
}

pub(super) fn visibility(word: &str) -> Option<Visibility> {
    match word {
        "userfacing" | "public" => Some(Visibility::UserFacing),
        "internal" | "hidden" => Some(Visibility::Internal),
        _ => None,
    }
}

pub(super) fn network(node: &Node) -> Option<serde_json::Value> {
    match word(node).as_deref() {
        Some("full" | "true" | "yes" | "on" | "allow") => Some("full".into()),
        Some("none" | "false" | "no" | "off" | "deny" | "disabled") => Some("none".into()),
        _ => names(node).filter(|hosts| !node.is_null() && !hosts.is_empty()).map(Into::into),
    }
}

pub(super) fn env(node: &Node) -> Option<serde_json::Value> {
    match &node.value {
        NodeValue::Map(entries) => {
            entries.iter().all(|entry| entry.value.scalar().is_some()).then(|| node.to_json())
        }
        _ => names(node).map(Into::into),
    }
}

pub(super) fn object(node: &Node) -> Option<serde_json::Value> {
    node.entries().map(|_| node.to_json())
}

pub(super) fn one_of(node: &Node, known: &[&str]) -> Option<String> {
    word(node).filter(|word| known.contains(&word.as_str()))
}

/// What a key takes, for a message.
pub(super) fn expectation(field: Field) -> &'static str {
    match field {
        Field::Tools => "names of tools as a list or between commas",
        Field::DisallowedTools | Field::Skills | Field::Callers => "names as a list or between commas",
        Field::Delegates => "names of agents, `*` or a list",
        Field::PermissionMode => "default, acceptEdits, auto, dontAsk, bypassPermissions or plan",
        Field::ApprovalMode => "default, plan, auto-edit, yolo or bubble",
        Field::SandboxMode => "read-only, workspace-write or danger-full-access",
        Field::Permissions => "lists under allow, ask and deny, and actions under otherwise",
        Field::OrderedPermissions => "allow, ask or deny, for each tool or pattern",
        Field::Hooks => "lists of hooks by event",
        Field::McpServers => "servers by name",
        Field::Isolation | Field::Sandbox => "none, landlock, sandbox, container or worktree",
        Field::Workspace => "shared or worktree",
        Field::Network => "full, none or a list of hosts",
        Field::Visibility => "user-facing or internal",
        Field::Memory => "user, project or local",
        Field::Effort => "none, minimal, low, medium, high, xhigh, max or a number",
        Field::Timeout(_) => "a duration such as 30s, 5m or 1h",
        Field::MaxTurns => "a whole number above zero",
        Field::Budget => "`usd` and `tokens`",
        Field::Output => "`schema` and `retries`",
        Field::OutputSchema => "a JSON Schema",
        Field::Env => "names, or a mapping from names to values",
        Field::ReadOnly
        | Field::OnlyPerson
        | Field::Infer
        | Field::Hidden
        | Field::Enabled
        | Field::Disabled
        | Field::Session
        | Field::Findings
        | Field::Background
        | Field::Environment => "true or false",
        Field::ContextFiles => "true, false or a list of files",
        _ => "a text",
    }
}
