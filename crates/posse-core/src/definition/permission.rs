//! Rules of other dialects, as lists of what to allow, ask and deny.

use super::Permissions;
use super::node::{Entry, Node, NodeValue};
use super::value::{is_closed, rules, text};

/// The most rules of one kind.
const RULES_MAX: usize = 1000;

/// What OpenCode's map became, and whether that depends on an order that lists do not have.
pub(super) struct Ordered {
    pub permissions: Permissions,
    pub order_lost: bool,
}

/// True for a mapping in Posse's form, whatever is in it.
pub(super) fn is_lists(node: &Node) -> bool {
    let known =
        |entry: &Entry| matches!(entry.key.to_lowercase().as_str(), "allow" | "ask" | "deny" | "otherwise");
    node.entries().is_some_and(|entries| entries.is_empty() || entries.iter().any(known))
}

/// Posse's and Jarvis's `{allow, ask, deny}`, and `otherwise` by tool.
pub(super) fn lists(node: &Node) -> Option<Permissions> {
    let mut permissions = Permissions::default();
    for entry in node.entries()? {
        match entry.key.to_lowercase().as_str() {
            "allow" => permissions.allow.extend(rules(&entry.value)?),
            "ask" => permissions.ask.extend(rules(&entry.value)?),
            "deny" => permissions.deny.extend(rules(&entry.value)?),
            "otherwise" => {
                for tool in entry.value.entries()? {
                    permissions.otherwise.insert(tool.key.clone(), action(&tool.value)?.to_owned());
                }
            }
            _ => return None,
        }
    }
    let many =
        [&permissions.allow, &permissions.ask, &permissions.deny].iter().any(|rules| rules.len() > RULES_MAX);
    (!many).then_some(permissions)
}

/// OpenCode's `permission`, in which the last match wins: an action, or a map from tools to actions
/// or to maps from patterns to actions.
pub(super) fn ordered(node: &Node) -> Option<Ordered> {
    let mut out = Ordered { permissions: Permissions::default(), order_lost: false };
    let entries = match &node.value {
        NodeValue::Scalar(_) => {
            out.permissions.otherwise.insert("*".into(), action(node)?.to_owned());
            return Some(out);
        }
        NodeValue::List(_) => return None,
        NodeValue::Map(entries) => entries,
    };
    let mut rules: Vec<Rule<'_>> = Vec::new();
    for entry in since_catch_all(entries) {
        let tool = rule_tool(&entry.key);
        match &entry.value.value {
            NodeValue::Scalar(_) => rules.push(Rule { tool, pattern: "*", action: action(&entry.value)? }),
            NodeValue::Map(patterns) => {
                for pattern in since_catch_all(patterns) {
                    rules.push(Rule { tool, pattern: &pattern.key, action: action(&pattern.value)? });
                }
            }
            NodeValue::List(_) => return None,
        }
    }
    if rules.len() > RULES_MAX {
        return None;
    }
    for (index, rule) in rules.iter().enumerate() {
        let narrower =
            rules.iter().skip(index + 1).any(|later| later.tool == rule.tool && later.pattern != "*");
        let undone = |before: &Rule<'_>| !before.is_default(&rules) && before.undoes(rule);
        out.order_lost |= rules[..index].iter().any(undone);
        if rule.pattern == "*" && (rule.tool == "*" || narrower) {
            let before = out.permissions.otherwise.insert(rule.tool.to_owned(), rule.action.to_owned());
            if let Some(before) = before.filter(|before| rank(before) > rank(rule.action)) {
                out.order_lost = true;
                out.permissions.otherwise.insert(rule.tool.to_owned(), before);
            }
        } else {
            let text = if rule.pattern == "*" {
                rule.tool.to_owned()
            } else {
                format!("{}({})", rule.tool, rule.pattern)
            };
            if !is_closed(&text) {
                return None;
            }
            add(&mut out.permissions, rule.action, text);
        }
    }
    Some(out)
}

/// One line of OpenCode's map, taken apart.
struct Rule<'a> {
    tool: &'a str,
    pattern: &'a str,
    action: &'static str,
}

impl Rule<'_> {
    /// True when it becomes what holds otherwise, which every rule comes before.
    fn is_default(&self, rules: &[Rule<'_>]) -> bool {
        let narrower = |other: &Rule<'_>| other.tool == self.tool && other.pattern != "*";
        self.pattern == "*" && (self.tool == "*" || rules.iter().any(narrower))
    }

    /// True when it is stricter than a later rule about the same thing, so that here it would win.
    fn undoes(&self, later: &Rule<'_>) -> bool {
        rank(self.action) > rank(later.action)
            && overlap(self.tool, later.tool)
            && overlap(self.pattern, later.pattern)
    }
}

/// Everything before a catch-all is decided by it, since the last match wins.
fn since_catch_all(entries: &[Entry]) -> &[Entry] {
    &entries[entries.iter().rposition(|entry| entry.key == "*").unwrap_or(0)..]
}

fn add(permissions: &mut Permissions, action: &str, rule: String) {
    match action {
        "allow" => permissions.allow.push(rule),
        "ask" => permissions.ask.push(rule),
        _ => permissions.deny.push(rule),
    }
}

fn action(node: &Node) -> Option<&'static str> {
    match text(node)?.to_lowercase().as_str() {
        "allow" | "true" => Some("allow"),
        "ask" => Some("ask"),
        "deny" | "false" => Some("deny"),
        _ => None,
    }
}

/// How strict an action is.
pub(super) fn rank(action: &str) -> usize {
    ["allow", "ask", "deny"].iter().position(|known| *known == action).unwrap_or(0)
}

/// The tool that a key of OpenCode's map is about; `Edit` rules hold for every tool that writes files.
fn rule_tool(key: &str) -> &str {
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
}

/// True when two patterns may match the same thing; judged by what stands before their first `*`.
fn overlap(one: &str, other: &str) -> bool {
    let literal = |pattern: &str| pattern.split('*').next().unwrap_or_default().to_owned();
    let (a, b) = (literal(one), literal(other));
    match (one.contains('*'), other.contains('*')) {
        (true, true) => a.starts_with(&b) || b.starts_with(&a),
        (true, false) => other.starts_with(&a),
        (false, true) => one.starts_with(&b),
        (false, false) => one == other,
    }
}
