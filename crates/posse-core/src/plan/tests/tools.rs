//! Which tools a plan offers, and what is said about the others.

use super::{Given, POSSE, definition, planned_from, shown_refusal};

/// The tools of a plan, and what is said about them.
#[track_caller]
fn check_tools(path: &str, keys: &str, expected: &str) {
    let shown = match planned_from(&definition(path, keys), &Given::default()) {
        Ok(plan) => {
            let tools: Vec<&str> = plan.tools.iter().map(|tool| tool.value.as_str()).collect();
            let shown = if tools.is_empty() { "none".to_owned() } else { tools.join(" ") };
            plan.warnings.iter().fold(shown, |shown, warning| format!("{shown} | {warning}"))
        }
        Err(refusal) => shown_refusal(&refusal),
    };
    assert_eq!(shown, expected, "{keys}");
}

#[test]
fn without_a_list_every_tool_is_offered() {
    check_tools(POSSE, "", "Read Write Bash Grep WebFetch");
}

#[test]
fn a_list_is_offered_in_its_order_once() {
    check_tools(POSSE, "tools: [Grep, Read, Grep]", "Grep Read");
}

#[test]
fn an_empty_list_is_no_tools() {
    check_tools(POSSE, "tools: []", "none");
}

#[test]
fn a_star_is_every_tool() {
    check_tools(POSSE, "tools: ['*']", "Read Write Bash Grep WebFetch");
    check_tools(POSSE, "tools: [Read, '*']", "Read Write Bash Grep WebFetch");
}

#[test]
fn tools_that_are_not_here_are_said() {
    check_tools(
        POSSE,
        "tools: [Read, NotebookEdit]",
        "Read | the agent runs without `NotebookEdit`: not available here",
    );
    check_tools(
        ".github/agents/a.agent.md",
        "tools: [read, vscodeAPI]",
        "Read | the agent runs without `vscodeAPI`: not available here",
    );
    check_tools(
        POSSE,
        "tools: [Read, mcp__x__y]",
        "Read | the agent runs without `mcp__x__y`: not available here",
    );
}

#[test]
fn a_list_of_which_nothing_is_here_is_refused() {
    check_tools(
        POSSE,
        "tools: [NotebookEdit, mcp__x__y]",
        "unplannable: none of the listed tools is available here: `NotebookEdit`, `mcp__x__y` | list some of Read, Write, Bash, Grep, WebFetch",
    );
}

#[test]
fn disallowed_tools_are_taken_away() {
    check_tools(POSSE, "disallowedTools: [Bash, Write]", "Read Grep WebFetch");
    check_tools(POSSE, "tools: [Read, Bash];disallowedTools: [Bash]", "Read");
    check_tools(POSSE, "tools: [Read];disallowedTools: ['*']", "none");
    check_tools(POSSE, "tools: [Read];disallowedTools: [Read]", "none");
}

#[test]
fn a_rule_about_a_whole_tool_takes_it_away() {
    check_tools(POSSE, "permissions: {deny: [Bash]}", "Read Write Grep WebFetch");
    check_tools(POSSE, "permissions: {deny: ['Bash(*)', 'Write(**)']}", "Read Grep WebFetch");
    check_tools(POSSE, "permissions: {deny: ['Read(**)']}", "Write Bash WebFetch");
    check_tools(POSSE, "permissions: {ask: [Bash]}", "Read Write Grep WebFetch");
    check_tools(POSSE, "permissions: {allow: [Bash]}", "Read Write Bash Grep WebFetch");
}

#[test]
fn a_rule_that_needs_a_look_at_each_call_takes_every_tool_away() {
    check_tools(
        POSSE,
        "permissions: {deny: ['Read(.env)']}",
        "none | rule `Read(.env)` cannot be held call by call: the agent runs without tools",
    );
    check_tools(
        POSSE,
        "permissions: {ask: ['Bash(rm *)']}",
        "none | rule `Bash(rm *)` cannot be held call by call: the agent runs without tools",
    );
    check_tools(
        POSSE,
        "permissions: {deny: ['*']}",
        "none | rule `*` cannot be held call by call: the agent runs without tools",
    );
}

#[test]
fn a_rule_about_a_tool_that_is_not_offered_changes_nothing() {
    check_tools(POSSE, "tools: [Read];permissions: {deny: ['Bash(rm *)', Write]}", "Read");
    check_tools(POSSE, "tools: [Read];permissions: {deny: ['Edit(src/**)']}", "Read");
}

#[test]
fn a_path_that_one_tool_may_not_read_is_not_shown_by_another() {
    check_tools(
        POSSE,
        "tools: [Grep];permissions: {deny: ['Read(.env)']}",
        "none | rule `Read(.env)` cannot be held call by call: the agent runs without tools",
    );
    check_tools(
        POSSE,
        "tools: [Write];permissions: {deny: ['Edit(.env)']}",
        "none | rule `Edit(.env)` cannot be held call by call: the agent runs without tools",
    );
}

#[test]
fn a_rule_for_the_rest_of_a_tools_calls_takes_it_away() {
    check_tools(POSSE, "permissions: {otherwise: {Bash: ask, Read: allow}}", "Read Write Grep WebFetch");
    check_tools(
        POSSE,
        "permissions: {otherwise: {'*': deny}}",
        "none | rule `*` cannot be held call by call: the agent runs without tools",
    );
}
