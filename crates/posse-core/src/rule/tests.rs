//! Decisions, as rows.

mod commands;
mod properties;
mod tables;

use super::{Act, Decision, Judgement, Place, Rule, RuleSet, Sourced, judge};

const PLACE: Place<'static> = Place { workspace: "/work/app", home: "/home/ada" };

fn sourced(kind: &str, rules: &[&str]) -> Vec<Sourced> {
    let one = |(index, text): (usize, &&str)| Sourced {
        rule: Rule::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")),
        from: format!("{kind}:{}", index + 1),
        base: None,
    };
    rules.iter().enumerate().map(one).collect()
}

/// Rules from their texts; each says `kind:number` as its place.
fn rules(deny: &[&str], ask: &[&str], allow: &[&str]) -> RuleSet {
    RuleSet {
        deny: sourced("deny", deny),
        ask: sourced("ask", ask),
        allow: sourced("allow", allow),
        otherwise: std::collections::BTreeMap::new(),
    }
}

fn judge_command(rules: &RuleSet, text: &str) -> Judgement {
    judge(rules, &Act::Command { text, directory: "/work/app" }, &PLACE)
}

fn word(decision: Option<Decision>) -> &'static str {
    match decision {
        None => "none",
        Some(Decision::Allow) => "allow",
        Some(Decision::Ask) => "ask",
        Some(Decision::Deny) => "deny",
    }
}
