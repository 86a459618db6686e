//! Which of the tools that exist a run is offered, and why not the others.

use super::resolve::at;
use super::{Choice, Refusal, Surroundings};
use crate::definition::{Definition, Permissions, ToolClass};

/// Tools that do the same to a path, so that what a rule says about one of them is about all.
const ALIKE: &[&[&str]] = &[&["Read", "Glob", "Grep", "LS"], &["Write", "Edit", "MultiEdit", "NotebookEdit"]];

/// The tools to offer. A list never becomes "all", and a list of which nothing exists is refused.
pub(super) fn offered(
    definition: &Definition,
    surroundings: &Surroundings<'_>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Choice<String>>, Refusal> {
    let mut offered = listed(definition, surroundings, warnings)?;
    let withheld = definition.disallowed_tools.iter().flatten();
    for tool in withheld {
        offered.retain(|choice| tool.class != ToolClass::Wildcard && choice.value != tool.name);
    }
    if let Some(permissions) = &definition.permissions {
        withhold_by_rules(permissions, &mut offered, warnings);
    }
    Ok(offered)
}

fn listed(
    definition: &Definition,
    surroundings: &Surroundings<'_>,
    warnings: &mut Vec<String>,
) -> Result<Vec<Choice<String>>, Refusal> {
    let available = surroundings.tools;
    let all = |from: &str| available.iter().map(|tool| Choice::new((*tool).to_owned(), from)).collect();
    let Some(tools) = &definition.tools else { return Ok(all("default: every tool there is")) };
    if tools.iter().any(|tool| tool.class == ToolClass::Wildcard) {
        return Ok(all("definition: *"));
    }
    let mut offered: Vec<Choice<String>> = Vec::new();
    let mut missing = Vec::new();
    for tool in tools {
        if available.contains(&tool.name.as_str()) {
            if !offered.iter().any(|choice| choice.value == tool.name) {
                offered.push(Choice::new(tool.name.clone(), at(&surroundings.source, Some(tool.line))));
            }
        } else {
            missing.push(format!("`{}`", tool.name));
        }
    }
    if offered.is_empty() && !tools.is_empty() {
        let message = format!("none of the listed tools is available here: {}", missing.join(", "));
        return Err(Refusal::unplannable(message, format!("list some of {}", available.join(", "))));
    }
    if !missing.is_empty() {
        warnings.push(format!("the agent runs without {}: not available here", missing.join(", ")));
    }
    Ok(offered)
}

/// A rule that would need a look at each call withholds every tool it could be about: narrower, never wider.
fn withhold_by_rules(
    permissions: &Permissions,
    offered: &mut Vec<Choice<String>>,
    warnings: &mut Vec<String>,
) {
    let restrictions = permissions.deny.iter().chain(&permissions.ask);
    let otherwise = permissions.otherwise.iter().filter(|(_, decision)| *decision != "allow");
    let otherwise = otherwise.map(|(tool, _)| tool);
    for rule in restrictions.chain(otherwise) {
        let (tool, pattern) = rule.split_once('(').unwrap_or((rule, ""));
        if pattern.is_empty() && tool != "*" {
            offered.retain(|choice| choice.value != tool);
            continue;
        }
        let concerned = |choice: &Choice<String>| {
            let alike = |tools: &&&[&str]| tools.contains(&tool) && tools.contains(&choice.value.as_str());
            tool == "*" || choice.value == tool || ALIKE.iter().any(|tools| alike(&tools))
        };
        // About every path: what one tool may not read, another must not show.
        if tool != "*" && (pattern == "*)" || pattern == "**)") {
            offered.retain(|choice| !concerned(choice));
            continue;
        }
        if !offered.iter().any(concerned) {
            continue;
        }
        offered.clear();
        warnings.push(format!("rule `{rule}` cannot be held call by call: the agent runs without tools"));
        return;
    }
}
