//! Rules of other dialects, as lists of what to allow, ask and deny.

use super::Permissions;
use super::node::{Entry, Node, NodeValue};
use super::value::{names, text};

/// What OpenCode's map became, and whether that depends on an order that lists do not have.
pub(super) struct Ordered {
    pub permissions: Permissions,
    pub order_lost: bool,
}

/// Posse's and Jarvis's `{allow, ask, deny}`, and `otherwise` by tool.
pub(super) fn lists(node: &Node) -> Option<Permissions> {
    let mut permissions = Permissions::default();
    for entry in node.entries()? {
        match entry.key.to_lowercase().as_str() {
            "allow" => permissions.allow.extend(names(&entry.value)?),
            "ask" => permissions.ask.extend(names(&entry.value)?),
            "deny" => permissions.deny.extend(names(&entry.value)?),
            "otherwise" => {
                for tool in entry.value.entries()? {
                    permissions.otherwise.insert(tool.key.clone(), action(&tool.value)?.to_owned());
                }
            }
            _ => return None,
        }
    }
    Some(permissions)
}

/// OpenCode's `permission`, in which the last match wins: an action, or a map from tools to actions
/// or to maps from patterns to actions.
pub(super) fn ordered(node: &Node) -> Option<Ordered> {
    let mut out = Ordered { permissions: Permissions::default(), order_lost: false };
    match &node.value {
        NodeValue::Scalar(_) => {
            out.permissions.otherwise.insert("*".into(), action(node)?.to_owned());
        }
        NodeValue::List(_) => return None,
        NodeValue::Map(entries) => {
            for entry in entries {
                tool_rules(entry, &mut out)?;
            }
        }
    }
    Some(out)
}

fn tool_rules(entry: &Entry, out: &mut Ordered) -> Option<()> {
    let tool = rule_tool(&entry.key);
    let patterns = match &entry.value.value {
        NodeValue::Scalar(_) if tool == "*" => {
            out.permissions.otherwise.insert("*".into(), action(&entry.value)?.to_owned());
            return Some(());
        }
        NodeValue::Scalar(_) => return add(&mut out.permissions, action(&entry.value)?, tool),
        NodeValue::Map(patterns) => patterns,
        NodeValue::List(_) => return None,
    };
    // Everything before a catch-all is decided by it, since the last match wins.
    let from = patterns.iter().rposition(|pattern| pattern.key == "*").unwrap_or(0);
    let mut earlier: Vec<(&str, &str)> = Vec::new();
    for pattern in &patterns[from..] {
        let action = action(&pattern.value)?;
        if pattern.key == "*" {
            out.permissions.otherwise.insert(tool.clone(), action.to_owned());
            continue;
        }
        let stricter =
            |before: &&(&str, &str)| rank(before.1) > rank(action) && covers(before.0, &pattern.key);
        out.order_lost |= earlier.iter().any(|before| stricter(&before));
        earlier.push((&pattern.key, action));
        add(&mut out.permissions, action, format!("{tool}({})", pattern.key))?;
    }
    Some(())
}

fn add(permissions: &mut Permissions, action: &str, rule: String) -> Option<()> {
    match action {
        "allow" => permissions.allow.push(rule),
        "ask" => permissions.ask.push(rule),
        _ => permissions.deny.push(rule),
    }
    Some(())
}

fn action(node: &Node) -> Option<&'static str> {
    match text(node)?.to_lowercase().as_str() {
        "allow" | "true" => Some("allow"),
        "ask" => Some("ask"),
        "deny" | "false" => Some("deny"),
        _ => None,
    }
}

fn rank(action: &str) -> usize {
    ["allow", "ask", "deny"].iter().position(|known| *known == action).unwrap_or(0)
}

/// The tool that a key of OpenCode's map is about; `Edit` rules hold for every tool that writes files.
fn rule_tool(key: &str) -> String {
    match key {
        "read" => "Read",
        "edit" | "write" | "patch" | "multiedit" => "Edit",
        "bash" => "Bash",
        "glob" => "Glob",
        "grep" => "Grep",
        "list" => "LS",
        "webfetch" => "WebFetch",
        "websearch" | "codesearch" => "WebSearch",
        "task" => "Agent",
        "skill" => "Skill",
        "todowrite" | "todoread" => "TodoWrite",
        other => other,
    }
    .to_owned()
}

/// True when the pattern `wide` may match what `narrow` matches.
fn covers(wide: &str, narrow: &str) -> bool {
    match wide.split_once('*') {
        None => wide == narrow,
        Some((prefix, _)) => narrow.starts_with(prefix) || narrow.starts_with('*'),
    }
}
