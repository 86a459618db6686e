//! Which of the tools that exist a run is offered, and why not the others.

use super::resolve::at;
use super::{Choice, Refusal, Surroundings};
use crate::definition::{Definition, ToolClass};

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
