//! What is done about one call: the rules first, and the mode where they are silent.

use crate::definition::PermissionMode;
use crate::event::Decider;
use crate::rule::{Act, Decision, Judgement, Place, RuleSet, judge};

/// What is done about a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Allowed,
    /// Somebody is asked; without an answer it may not.
    Asked(Why),
    /// It may not.
    Denied(Why),
}

/// Why a call may not run as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Why {
    /// What decided.
    pub by: Decider,
    /// In words.
    pub reason: String,
    /// The rule that decided, with its line.
    pub rule: Option<String>,
    /// Rules that would allow it.
    pub would_allow: Vec<String>,
}

/// Decides about everything that a call would do: the strictest verdict counts.
pub fn decide(rules: &RuleSet, mode: PermissionMode, acts: &[Act<'_>], place: &Place<'_>) -> Verdict {
    let verdicts = acts.iter().map(|act| decide_one(rules, mode, act, place));
    verdicts
        .max_by_key(|verdict| match verdict {
            Verdict::Allowed => 0,
            Verdict::Asked(_) => 1,
            Verdict::Denied(_) => 2,
        })
        .unwrap_or(Verdict::Allowed)
}

fn decide_one(rules: &RuleSet, mode: PermissionMode, act: &Act<'_>, place: &Place<'_>) -> Verdict {
    let judged = match mode {
        // What only looks is all that counts there: an allowed command may still change something.
        PermissionMode::Plan => judge(&RuleSet { allow: Vec::new(), ..rules.clone() }, act, place),
        _ => judge(rules, act, place),
    };
    match (judged.decision, mode) {
        (Some(Decision::Deny), _) => Verdict::Denied(why(judged, Decider::Rule)),
        (Some(Decision::Allow), _) => Verdict::Allowed,
        (Some(Decision::Ask), PermissionMode::DontAsk) => Verdict::Denied(by_mode(judged, mode)),
        (Some(Decision::Ask), _) => Verdict::Asked(why(judged, Decider::Rule)),
        (None, _) => match silent(mode, act, place) {
            Decision::Allow => Verdict::Allowed,
            Decision::Ask => Verdict::Asked(why(judged, Decider::Mode)),
            Decision::Deny => Verdict::Denied(by_mode(judged, mode)),
        },
    }
}

/// What a mode means for an act that no rule decides.
fn silent(mode: PermissionMode, act: &Act<'_>, place: &Place<'_>) -> Decision {
    let is_inside = |path: &str| {
        path.strip_prefix(place.workspace).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let harmless = match act {
        Act::Look { path, .. } => is_inside(path),
        // Nothing outside the run is touched; what an agent that is called may do is its own grant.
        Act::Tool { name } => matches!(*name, "TodoWrite" | "BashOutput" | "KillShell"),
        Act::Agent { .. } | Act::Skill { .. } => true,
        Act::Change { .. } | Act::Command { .. } | Act::Fetch { .. } | Act::Mcp { .. } => false,
    };
    match (mode, act) {
        _ if harmless => Decision::Allow,
        (PermissionMode::BypassPermissions, _) => Decision::Allow,
        (PermissionMode::DontAsk, _) => Decision::Deny,
        (PermissionMode::Plan, Act::Change { .. } | Act::Command { .. } | Act::Mcp { .. }) => Decision::Deny,
        (PermissionMode::AcceptEdits, Act::Change { path, .. }) if is_inside(path) => Decision::Allow,
        (
            PermissionMode::Default
            | PermissionMode::AcceptEdits
            | PermissionMode::Auto
            | PermissionMode::Plan,
            _,
        ) => Decision::Ask,
    }
}

fn why(judged: Judgement, by: Decider) -> Why {
    let rule = judged.by.map(|by| format!("{} ({})", by.rule, by.from));
    Why { by, reason: judged.reason, rule, would_allow: judged.would_allow }
}

fn by_mode(judged: Judgement, mode: PermissionMode) -> Why {
    let reason = match mode {
        PermissionMode::Plan => "in the mode `plan` nothing may be changed".to_owned(),
        _ => format!("{}; in the mode `{}` nobody is asked", judged.reason, mode.as_str()),
    };
    Why { reason, ..why(judged, Decider::Mode) }
}
