//! Tools, rules, servers and settings of every shape are taken as strictly as a plain list of tools.

use super::{check, check_bytes, check_keys};
use expect_test::expect;

#[test]
fn a_map_and_a_list_both_withhold() {
    check_keys(
        r#"tools: {bash: false}
disallowedTools: Write"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              disallowed_tools: ["Bash","Write"]
        "#]],
    );
}

#[test]
fn rules_in_another_shape_are_refused() {
    check_keys(
        r#"permissions: {deny: {Bash: true}}"#,
        &expect![[r#"
        rejected a (claude)
        4:14 error[bad-capability] `permissions` takes lists under allow, ask and deny, and actions under otherwise, not this mapping; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn a_rule_that_is_never_closed_is_refused() {
    check_keys(
        r#"permissions: {deny: ["Bash(rm", Write, WebFetch]}"#,
        &expect![[r#"
        rejected a (claude)
        4:14 error[bad-capability] `permissions` takes lists under allow, ask and deny, and actions under otherwise, not this mapping; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn a_rule_about_no_tool_keeps_the_agent_from_running() {
    check_keys(
        r#"permissions: {deny: [Bsah, "Wrte(x)"]}"#,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          permissions: {"allow":[],"ask":[],"deny":["Bsah","Wrte(x)"]}
        4:22 error[unknown-tool] tool `Bsah` is not known; did you mean `Bash`?
        4:29 error[unknown-tool] tool `Wrte` is not known; did you mean `Write`?
    "#]],
    );
}

#[test]
fn a_rule_of_opencode_about_no_tool_keeps_the_agent_from_running() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission: {bsah: deny, "my_*": ask, doom_loop: ask}
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              permissions: {"allow":[],"ask":["my_*","doom_loop"],"deny":["bsah"]}
            3:14 error[unknown-tool] tool `bsah` is not known; did you mean `Bash`?
        "#]],
    );
}

#[test]
fn a_late_catch_all_closes_what_was_offered() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
tools: {bash: true, "*": false}
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              tools: []
        "#]],
    );
}

#[test]
fn withholding_one_way_to_edit_denies_all_of_them() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
tools: {write: false}
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              disallowed_tools: ["Write"]
              permissions: {"allow":[],"ask":[],"deny":["Edit"]}
        "#]],
    );
}

#[test]
fn of_two_defaults_the_stricter_counts() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission: {edit: deny, write: allow, patch: {x: ask}}
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              permissions: {"allow":[],"ask":["Edit(x)"],"deny":[],"otherwise":{"Edit":"deny"}}
            3:1 warning[ordered-rules] `permission` depends on the order of its rules; the stricter reading was taken; write the rules as allow, ask and deny
        "#]],
    );
}

#[test]
fn a_pattern_on_a_category_denies_every_tool_of_it() {
    check_keys(
        r#"disallowedTools: "search(secret)""#,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          disallowed_tools: []
          permissions: {"allow":[],"ask":[],"deny":["Grep(secret)","Glob(secret)"]}
    "#]],
    );
}

#[test]
fn two_workspaces_are_refused() {
    check_keys(
        r#"isolation: worktree
workspace: shared"#,
        &expect![[r#"
            rejected a (claude)
            5:1 error[conflicting-key] `workspace` contradicts another key that sets the same; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn two_spellings_that_differ_are_refused() {
    check_keys(
        r#"callers: "*"
allowed_callers: [x]"#,
        &expect![[r#"
            rejected a (claude)
            5:1 error[conflicting-key] `callers` and `allowed_callers` mean the same and have different values; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn a_mistyped_workspace_or_budget_is_refused() {
    check_keys(
        r#"workspace: wroktree
budget: {usd: five}"#,
        &expect![[r#"
            rejected a (claude)
            4:12 error[bad-capability] `workspace` takes shared or worktree, not `wroktree`; correct it; guessing could give the agent more than its author wrote
            5:9 error[bad-capability] `budget` takes `usd` and `tokens`, not this mapping; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn a_byte_that_is_not_text_refuses_json() {
    check_bytes(
        "agents.json",
        b"{\"a\": {\"description\": \"d\", \"prompt\": \"p\", \"disallow\xffedTools\": \"Bash\"}}",
        &expect![[r#"
            rejected - (nanoclaw)
            - error[not-text] the file is not valid UTF-8; save it as UTF-8
        "#]],
    );
}

#[test]
fn one_word_of_a_dialogue_is_a_key() {
    check_keys(
        r#"tools: [Read]
user: bob"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read"]
              extra: {"user":"bob"}
            5:1 info[unknown-key] unknown key `user`
        "#]],
    );
}

#[test]
fn rules_that_lost_their_indentation_are_refused() {
    check_keys(
        r#"permissions:
deny: [Bash]"#,
        &expect![[r#"
            rejected a (claude)
            4:1 error[unreadable-capability] `permissions` has no value, and keys that belong inside it stand beside it; correct it; guessing could give the agent more than its author wrote
            5:1 info[unknown-key] unknown key `deny`
        "#]],
    );
}

#[test]
fn opencode_rules_that_lost_their_indentation_are_refused() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission:
bash: deny
---
Do it.
"#,
        &expect![[r#"
            rejected a (opencode)
            3:1 error[unreadable-capability] `permission` has no value, and keys that belong inside it stand beside it; correct it; guessing could give the agent more than its author wrote
            4:1 info[unknown-key] unknown key `bash`
        "#]],
    );
}

#[test]
fn hooks_that_lost_their_indentation_are_refused() {
    check_keys(
        r#"hooks:
PreToolUse: [{matcher: Bash, hooks: []}]"#,
        &expect![[r#"
            rejected a (claude)
            4:1 error[unreadable-capability] `hooks` has no value, and keys that belong inside it stand beside it; correct it; guessing could give the agent more than its author wrote
            5:1 info[unknown-key] unknown key `PreToolUse`
        "#]],
    );
}

#[test]
fn two_tools_with_a_slash_are_no_server() {
    check_keys(
        r#"disallowedTools: Bash/Write"#,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          disallowed_tools: ["Bash/Write"]
        4:18 error[unknown-tool] tool `Bash/Write` is not known; remove it, or write `mcp__SERVER__TOOL` for a tool of an MCP server
    "#]],
    );
}

#[test]
fn a_mistyped_key_beside_one_that_sets_nothing_is_an_error() {
    check_keys(
        r#"readonly: false
permisionMode: plan"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              extra: {"permisionMode":"plan"}
            5:1 error[unknown-key] unknown key `permisionMode`; did you mean `permissionMode`?
        "#]],
    );
}

#[test]
fn a_mistyped_key_of_another_dialect_is_an_error() {
    check_keys(
        r#"sandbox_mod: read-only
allowed_caller: [x]
disabled_tool: Bash"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              extra: {"sandbox_mod":"read-only","allowed_caller":["x"],"disabled_tool":"Bash"}
            4:1 error[unknown-key] unknown key `sandbox_mod`; did you mean `sandbox_mode`?
            5:1 error[unknown-key] unknown key `allowed_caller`; did you mean `allowed_callers`?
            6:1 info[unknown-key] unknown key `disabled_tool`
        "#]],
    );
}

#[test]
fn a_server_twice_is_refused() {
    check_keys(
        r#"mcpServers: [{name: gh, tools: [read]}, {name: gh, tools: ["*"]}]"#,
        &expect![[r#"
        rejected a (claude)
        4:13 error[bad-capability] `mcpServers` takes servers by name, not a list; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn rules_are_written_under_canonical_names() {
    check_keys(
        r#"permissions: {deny: [shell, "view(x)", "Bash()", "Edi*"], ask: ["Bsah*"]}"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              permissions: {"allow":[],"ask":["Bsah*"],"deny":["Bash","Read(x)","Edit"]}
            4:66 error[unknown-tool] tool `Bsah*` is not known; did you mean `Bash`?
        "#]],
    );
}

#[test]
fn opencode_rules_with_a_star_stand_for_what_they_fit() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission: {"web*": deny, BASH: ask, "my_*": deny}
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              permissions: {"allow":[],"ask":["Bash"],"deny":["WebFetch","WebSearch","my_*"]}
        "#]],
    );
}

#[test]
fn a_name_twice_in_one_file_is_refused() {
    check(
        "agents.json",
        r#"{"b": {"description": "d", "prompt": "p"}, "b": {"description": "d", "prompt": "p", "tools": ["Read"]}}"#,
        &expect![[r#"
            rejected b (nanoclaw)
            1:2 error[conflicting-key] `b` stands twice in this file; remove one of the two
            rejected b (nanoclaw)
            1:44 error[conflicting-key] `b` stands twice in this file; remove one of the two
        "#]],
    );
}

#[test]
fn a_wider_sandbox_of_codex_gives_nothing() {
    check(
        ".codex/agents/a.toml",
        r#"name = "a"
description = "d"
developer_instructions = "Do it."
sandbox_mode = "workspace-write"
"#,
        &expect![[r#"
            agent (codex)
              name: "a"
              description: "d"
              extra: {"sandbox_mode":"workspace-write"}
            4:16 warning[bad-value] `sandbox_mode` gives no rights here; write `permissionMode` in a definition of your own if that is meant
        "#]],
    );
}

#[test]
fn a_heading_before_a_restriction_does_not_hide_it() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: d

# Capabilities

tools: Read

You are.
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[mangled-frontmatter] the frontmatter is not closed, and a key that says what the agent may do follows; put a line of three dashes below the last key
        "#]],
    );
}
