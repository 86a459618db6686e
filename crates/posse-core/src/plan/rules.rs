//! The rules of a run: the definition's, the person's own, and the ceiling's.

use std::path::Path;

use super::resolve::at;
use super::{Choice, Refusal, Surroundings};
use crate::definition::Definition;
use crate::grant::Ceiling;
use crate::rule::{Decision, Rule, RuleSet, Sourced};

/// Every rule with where it stands. One that cannot be read and would forbid something refuses the run; one that
/// would allow something allows nothing.
pub(super) fn rules(
    definition: &Definition,
    surroundings: &Surroundings<'_>,
    ceiling: &Ceiling,
    warnings: &mut Vec<String>,
) -> Result<RuleSet, Refusal> {
    let mut rules = RuleSet::default();
    if let Some(permissions) = &definition.permissions {
        let stands = |rule: &String| at(&surroundings.source, definition.lines.of_rule(rule));
        for rule in &permissions.deny {
            rules.deny.push(restriction(rule, &stands(rule))?);
        }
        for rule in &permissions.ask {
            rules.ask.push(restriction(rule, &stands(rule))?);
        }
        for rule in &permissions.allow {
            rules.allow.extend(allowance(rule, &stands(rule), warnings));
        }
        for (tool, decision) in &permissions.otherwise {
            let decision = match decision.as_str() {
                "allow" => Decision::Allow,
                "ask" => Decision::Ask,
                _ => Decision::Deny,
            };
            rules.otherwise.insert(tool.clone(), decision);
        }
    }
    let own = format!("rules.{}", definition.slug());
    for (key, setting) in surroundings.settings.below(&own) {
        let texts = setting.value.as_array().into_iter().flatten().filter_map(|text| text.as_str());
        for text in texts {
            match key {
                "deny" => rules.deny.push(restriction(text, &setting.from)?),
                "ask" => rules.ask.push(restriction(text, &setting.from)?),
                _ => rules.allow.extend(allowance(text, &setting.from, warnings)),
            }
        }
    }
    for Choice { value, from } in ceiling.denied() {
        rules.deny.push(restriction(value, from)?);
    }
    Ok(rules)
}

fn restriction(text: &str, from: &str) -> Result<Sourced, Refusal> {
    match Rule::parse(text) {
        Ok(rule) => Ok(Sourced { rule, from: from.to_owned(), base: base(from) }),
        Err(error) => {
            Err(Refusal::refused(format!("the rule `{text}` ({from}) cannot be held: {error}"), "correct it"))
        }
    }
}

fn allowance(text: &str, from: &str, warnings: &mut Vec<String>) -> Option<Sourced> {
    match Rule::parse(text) {
        Ok(rule) => Some(Sourced { rule, from: from.to_owned(), base: base(from) }),
        Err(error) => {
            warnings.push(format!("the rule `{text}` ({from}) allows nothing: {error}"));
            None
        }
    }
}

/// What `/path` in a rule of a configuration file begins at. In a definition it is the workspace.
fn base(from: &str) -> Option<String> {
    let (path, _line) = from.rsplit_once(':')?;
    let directory = Path::new(path).parent()?;
    path.ends_with("config.toml").then(|| directory.display().to_string())
}

/// Removes the tools that a rule forbids altogether, with the rule.
pub(super) fn withhold(rules: &RuleSet, tools: &mut Vec<Choice<String>>) -> Vec<Choice<String>> {
    let mut withheld = Vec::new();
    tools.retain(|tool| {
        let name = tool.value.as_str();
        let by = rules.deny.iter().find(|sourced| forbids(sourced.rule.text(), name));
        let by = match by {
            Some(sourced) => Some(format!("denied by `{}` ({})", sourced.rule.text(), sourced.from)),
            None => is_closed(rules, name).then(|| "denied: no rule allows any of its calls".to_owned()),
        };
        match by {
            None => true,
            Some(from) => {
                withheld.push(Choice::new(tool.value.clone(), from));
                false
            }
        }
    });
    withheld
}

/// True when a rule is about every call of a tool.
fn forbids(rule: &str, tool: &str) -> bool {
    let rest = rule.strip_prefix(tool);
    rule == "*" || rest.is_some_and(|rest| matches!(rest, "" | "(*)" | "(**)"))
}

/// True when what no rule decides is denied, and no rule lets anything through.
fn is_closed(rules: &RuleSet, tool: &str) -> bool {
    let decision = rules.otherwise.get(tool).or_else(|| rules.otherwise.get("*"));
    let opens = |(decision, _): (Decision, &Sourced)| decision != Decision::Deny;
    decision == Some(&Decision::Deny) && !rules.about(tool).any(opens)
}
