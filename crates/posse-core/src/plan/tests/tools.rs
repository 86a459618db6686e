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
    check_tools(POSSE, "permissions: {deny: ['*']}", "none");
    check_tools(POSSE, "permissions: {allow: [Bash]}", "Read Write Bash Grep WebFetch");
}

#[test]
fn a_rule_that_needs_a_look_at_each_call_takes_nothing_away() {
    let all = "Read Write Bash Grep WebFetch";
    for rules in ["deny: ['Read(.env)']", "ask: ['Bash(rm *)']", "ask: [Bash]", "deny: ['Edit(src/**)']"] {
        check_tools(POSSE, &format!("permissions: {{{rules}}}"), all);
    }
}

#[test]
fn a_rule_that_cannot_be_read_refuses_where_it_forbids_and_allows_nothing() {
    check_tools(
        POSSE,
        "permissions: {deny: ['WebFetch(domain:)']}",
        "unavailable: the rule `WebFetch(domain:)` (.posse/agents/a.md:4) cannot be held: the domain of the rule `WebFetch(domain:)` is no host; write a host such as `docs.rs`, or `*.docs.rs` for everything below it | correct it",
    );
    check_tools(
        POSSE,
        "permissions: {allow: ['WebFetch(domain:)']}",
        "Read Write Bash Grep WebFetch | the rule `WebFetch(domain:)` (.posse/agents/a.md:4) allows nothing: the domain of the rule `WebFetch(domain:)` is no host; write a host such as `docs.rs`, or `*.docs.rs` for everything below it",
    );
}

#[test]
fn a_rule_about_a_tool_that_is_not_offered_changes_nothing() {
    check_tools(POSSE, "tools: [Read];permissions: {deny: ['Bash(rm *)', Write]}", "Read");
    check_tools(POSSE, "tools: [Read];permissions: {deny: ['Edit(src/**)']}", "Read");
}

#[test]
fn a_tool_of_which_no_call_could_be_allowed_is_taken_away() {
    let closed = "permissions: {otherwise: {Bash: deny, Read: ask}, allow: [Grep]}";
    check_tools(POSSE, closed, "Read Write Grep WebFetch");
    check_tools(POSSE, "permissions: {otherwise: {'*': deny}, allow: ['Read(src/**)']}", "Read Bash Grep");
}
