//! The decision: deny, then ask, then allow, and what is missing where none of them decides.

mod command;

use super::path::Reading;
use super::{About, Act, DecidedBy, Decision, Judgement, Place, RuleSet, Sourced, mcp, pattern};

/// Says what the rules make of one call.
pub fn judge(rules: &RuleSet, act: &Act<'_>, place: &Place<'_>) -> Judgement {
    if let Act::Command { text, directory } = act {
        return command::judge(rules, text, directory, place);
    }
    let (decision, by) = decide(rules, act, place);
    let reason = match (&by, decision) {
        (Some(by), Some(decision)) => said_by(by, decision),
        (None, Some(decision)) => format!("`otherwise` {} `{}`", verb(decision), act.tool()),
        (_, None) => format!("no rule decides about {}", shown(act)),
    };
    let would_allow = if decision == Some(Decision::Allow) { Vec::new() } else { missing(decision, act) };
    Judgement { decision, by, reason, would_allow, parts: Vec::new() }
}

/// The first rule that is about an act, else what holds otherwise.
fn decide(rules: &RuleSet, act: &Act<'_>, place: &Place<'_>) -> (Option<Decision>, Option<DecidedBy>) {
    let kinds = [(Decision::Deny, &rules.deny), (Decision::Ask, &rules.ask), (Decision::Allow, &rules.allow)];
    for (decision, rules) in kinds {
        if let Some(found) = rules.iter().find(|sourced| matches(sourced, act, place, decision)) {
            return (Some(decision), Some(decided_by(found)));
        }
    }
    (rules.otherwise(act.tool()), None)
}

/// True when a rule is about an act that is no command.
fn matches(sourced: &Sourced, act: &Act<'_>, place: &Place<'_>, decision: Decision) -> bool {
    let reading = if decision == Decision::Allow { Reading::Permits } else { Reading::Forbids };
    let base = sourced.base.as_deref().unwrap_or(place.workspace);
    match (&sourced.rule.about, act) {
        (About::Everything, _) => true,
        // The shell opens files too: there a rule about the tool as a whole counts.
        (About::Tool(name), Act::Look { tool: "Bash", .. }) => name == "Read",
        (About::Tool(name), Act::Change { tool: "Bash", .. }) => name == "Edit" || name == "Write",
        (About::Tool(name), act) => pattern::glob(name, act.tool()),
        (About::Look(path), Act::Look { path: at, .. })
        | (About::Change(path), Act::Change { path: at, .. }) => path.matches(at, base, place, reading),
        (About::Domain(domain), Act::Fetch { host }) => is_in_domain(host, domain),
        (About::Agent(name), Act::Agent { name: called }) => pattern::glob(name, called),
        (About::Skill(name), Act::Skill { name: used }) => pattern::glob(name, used),
        (About::Mcp(name), act) => mcp::matches(name, act.tool()),
        _ => false,
    }
}

fn is_in_domain(host: &str, domain: &str) -> bool {
    let host = host.trim_end_matches('.').to_lowercase();
    match domain.strip_prefix("*.") {
        Some(above) => host.strip_suffix(above).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
        None => domain == "*" || host == domain,
    }
}

fn decided_by(sourced: &Sourced) -> DecidedBy {
    DecidedBy { rule: sourced.rule.text().to_owned(), from: sourced.from.clone() }
}

fn verb(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "allows",
        Decision::Ask => "asks about",
        Decision::Deny => "denies",
    }
}

fn said_by(by: &DecidedBy, decision: Decision) -> String {
    let verb = match decision {
        Decision::Allow => "allowed by",
        Decision::Ask => "asked about because of",
        Decision::Deny => "denied by",
    };
    format!("{verb} `{}` ({})", by.rule, by.from)
}

fn shown(act: &Act<'_>) -> String {
    match act {
        Act::Tool { name } | Act::Mcp { name } => format!("`{name}`"),
        Act::Look { tool, path } | Act::Change { tool, path } => format!("`{tool}` at `{path}`"),
        Act::Command { text, .. } => format!("`{text}`"),
        Act::Fetch { host } => format!("fetching from `{host}`"),
        Act::Agent { name } => format!("the agent `{name}`"),
        Act::Skill { name } => format!("the skill `{name}`"),
    }
}

/// The rule that would allow an act; none undoes a denial.
fn missing(decision: Option<Decision>, act: &Act<'_>) -> Vec<String> {
    if decision == Some(Decision::Deny) {
        return Vec::new();
    }
    let rule = match act {
        Act::Tool { name } | Act::Mcp { name } => Some((*name).to_owned()),
        Act::Look { path, .. } => path_rule("Read", path),
        Act::Change { path, .. } => path_rule("Edit", path),
        Act::Command { .. } => None,
        Act::Fetch { host } => Some(format!("WebFetch(domain:{host})")),
        Act::Agent { name } => Some(format!("Agent({name})")),
        Act::Skill { name } => Some(format!("Skill({name})")),
    };
    rule.into_iter().collect()
}

/// A rule about exactly one path, where that can be written.
fn path_rule(tool: &str, path: &str) -> Option<String> {
    let special = |c: char| matches!(c, '*' | '?' | '[' | '\\' | '!') || c.is_control();
    (!path.contains(special)).then(|| format!("{tool}(/{path})"))
}
