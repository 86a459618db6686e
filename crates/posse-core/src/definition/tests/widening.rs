//! What must never widen by accident: restrictions that are mangled, hidden, repeated or contradicted.

use super::{check, check_keys};
use expect_test::expect;

use crate::definition::family::clues;
use crate::definition::read::{File, Verdict, read};

/// Reads keys that hide a restriction; the file is refused, does not run, or the restriction is read.
fn stays_restricted(keys: &str) {
    let text = format!("---\n{keys}\n---\nDo it.\n");
    let file =
        File { path: "a.md".into(), bytes: text.clone().into_bytes(), clues: clues(".claude/agents/a.md") };
    let reading = read(file).remove(0);
    let restricted = reading.definition().is_none_or(|definition| {
        definition.tools.is_some()
            || definition.disallowed_tools.is_some()
            || definition.permission_mode.is_some()
            || definition.callers.is_some()
    });
    let runs = !reading.diagnostics.iter().any(crate::diagnostic::Diagnostic::is_error);
    assert!((restricted || !runs) && !matches!(reading.verdict, Verdict::NotAnAgent(_)), "{text}");
}

#[test]
fn a_mangled_restriction_is_never_lost_wherever_it_stands() {
    let head = "name: a\ndescription: d";
    for line in [
        "tools:Read, Grep",
        "tools:[Read]",
        "tools = Read",
        "tools： Read",
        "- tools: Read",
        "**tools**: Read",
        "tools\n  - Read",
        "? tools\n: Read",
        "disallowedTools:Bash",
        "permissionMode:plan",
        "callers=main",
        "tools Read",
        "tools; Read",
        "tools﹕ Read",
        "Tools - Read, Grep",
        "1. tools: Read",
        "// tools: Read",
        "readonly true",
    ] {
        stays_restricted(&format!("{head}\n{line}"));
        stays_restricted(&format!("{line}\n{head}"));
        stays_restricted(&format!("name: a\n{line}\ndescription: d"));
        stays_restricted(&format!("name: a\ndescription: |\n  foo\n{line}"));
        stays_restricted(&format!("name: a\ndescription:\n  foo: bar\n{line}"));
        stays_restricted(&format!("{head}\nmodel: opus\n{line}"));
        stays_restricted(&format!("{head}\nmaxTurns: 5\n{line}"));
    }
    for keys in [
        "name: a\ndescription: x: y\ndisallowed tools:Bash",
        "name: a\ndescription: d\nmaxTurns: 5 tools: Read",
        "name: a\ndescription: d\nmodel: opus permissionMode: plan",
        "name: a\ndescription: d\nfoo: bar tools: Read",
        "name: a\ndescription: |\n  hello\n tools: Read",
        "name: a\ndescription: x: y\n<examples>\nfoo\n</examples>\ntools:Read",
        "name: a\ndescription: x: y\n<example>\nfoo\ntools:Read",
        "name: a\ndescription: |\n  foo\n\"to\\u006fls\": [Read]\nuser: bob",
        "name: a\ndescription: d\ntols: [Read",
        "name: a\ndescription: d\npermisionMode: plan: x",
    ] {
        stays_restricted(keys);
    }
}

#[test]
fn a_key_written_with_escapes_is_that_key() {
    check_keys(
        r#"initialPrompt: x: y
"to\u006fls": Read"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read"]
              initial_prompt: "x: y"
            4:17 warning[broken-yaml] the initialPrompt is not valid YAML: an unquoted value has `: ` in it; quote it: initialPrompt: "x: y"
        "#]],
    );
}

#[test]
fn a_line_that_continues_a_valid_text_is_text() {
    check_keys(
        r#" permissionMode:plan"#,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d permissionMode:plan"
    "#]],
    );
}

#[test]
fn a_quoted_key_is_a_key() {
    check_keys(
        r#"maxTurns: x: y
"tools": [Read]"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read"]
            4:1 warning[unreadable-key] `maxTurns` cannot be read and was left out: mapping values are not allowed in this context; correct its YAML, or quote the value
        "#]],
    );
}

#[test]
fn an_indented_capability_after_broken_text_is_refused() {
    check_keys(
        r#"initialPrompt: x: y
 tools: Read"#,
        &expect![[r#"
            rejected a (claude)
            4:17 warning[broken-yaml] the initialPrompt is not valid YAML: an unquoted value has `: ` in it; quote it: initialPrompt: "x: y\ntools: Read"
            5:1 error[unreadable-capability] this line may say what the agent may do, and cannot be read as a key; write it as `key: value` at the start of the line, or quote the text above
        "#]],
    );
}

#[test]
fn a_capability_in_an_example_is_text() {
    check_keys(
        r#"initialPrompt: see
<example>
tools:Read
</example>"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              initial_prompt: "see\n<example>\ntools:Read\n</example>"
            5:1 warning[broken-yaml] the initialPrompt is not valid YAML: simple key expected ':'; quote it: initialPrompt: "see\n<example>\ntools:Read\n</example>"
        "#]],
    );
}

#[test]
fn a_merge_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
base: &b {tools: Read}
name: a
description: d
<<: *b
---
Do it.
"#,
        &expect![[r#"
            rejected a (claude)
            2:1 error[unreadable-capability] `base` cannot be read: anchors, aliases and tags are not read; correct the YAML of `base`; without it the agent could do more than its author wrote
            5:1 error[unreadable-capability] `<<` cannot be read: anchors, aliases and tags are not read; correct the YAML of `<<`; without it the agent could do more than its author wrote
        "#]],
    );
}

#[test]
fn keys_that_contradict_each_other_are_refused() {
    check_keys(
        r#"readonly: true
permissionMode: bypassPermissions"#,
        &expect![[r#"
            rejected a (claude)
            5:1 error[conflicting-key] `permissionMode` contradicts another key that sets the same; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn keys_that_agree_are_taken() {
    check_keys(
        r#"readonly: true
permissionMode: plan"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              permission_mode: "plan"
        "#]],
    );
}

#[test]
fn disabled_and_enabled_are_refused() {
    check_keys(
        r#"disabled: true
enabled: true"#,
        &expect![[r#"
            rejected a (claude)
            5:1 error[conflicting-key] `enabled` contradicts another key that sets the same; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn only_a_person_and_callers_are_refused() {
    check_keys(
        r#"disable-model-invocation: true
callers: [x]"#,
        &expect![[r#"
            rejected a (claude)
            5:1 error[conflicting-key] `callers` contradicts another key that sets the same; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn hidden_and_user_facing_is_a_warning() {
    check_keys(
        r#"hidden: true
visibility: user-facing"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              visibility: "user-facing"
            5:1 warning[duplicate-key] `visibility` contradicts another key that sets the same; remove one of the two; this one counts
        "#]],
    );
}

#[test]
fn an_unreadable_infer_is_refused() {
    check_keys(
        r#"infer: maybe"#,
        &expect![[r#"
        rejected a (claude)
        4:8 error[bad-capability] `infer` takes true or false, not `maybe`; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn a_late_catch_all_decides_everything_before_it() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission:
  bash: allow
  "*": deny
  edit: ask
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              permissions: {"allow":[],"ask":["Edit"],"deny":[],"otherwise":{"*":"deny"}}
        "#]],
    );
}

#[test]
fn a_narrow_rule_before_a_wide_one_depends_on_its_order() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission:
  bash: {"git push*": deny, "git *": allow}
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              permissions: {"allow":["Bash(git *)"],"ask":[],"deny":["Bash(git push*)"]}
            3:1 warning[ordered-rules] `permission` depends on the order of its rules; the stricter reading was taken; write the rules as allow, ask and deny
        "#]],
    );
}

#[test]
fn a_tool_that_asks_gets_a_rule() {
    check_keys(
        r#"tools: {read: true, bash: ask}"#,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: ["Read","Bash"]
          permissions: {"allow":[],"ask":["Bash"],"deny":[]}
    "#]],
    );
}

#[test]
fn a_pattern_on_every_tool_is_unknown() {
    check_keys(
        r#"tools: "*(read)""#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["*(read)"]
              permissions: {"allow":[],"ask":[],"deny":[]}
            4:9 error[unknown-tool] tool `*(read)` is not known; remove it, or write `mcp__SERVER__TOOL` for a tool of an MCP server
        "#]],
    );
}

#[test]
fn a_key_twice_in_a_map_of_tools_is_refused() {
    check_keys(
        r#"tools: {"*": false, "*": true}"#,
        &expect![[r#"
        rejected a (claude)
        4:8 error[conflicting-key] `tools` has a key twice; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn a_tab_before_an_item_is_refused() {
    check_keys(
        r#"tools:
	- Read"#,
        &expect![[r#"
            rejected a (claude)
            4:1 error[unreadable-capability] `tools` cannot be read: tabs disallowed within this context (block indentation); correct the YAML of `tools`; without it the agent could do more than its author wrote
        "#]],
    );
}

#[test]
fn a_mapping_is_not_a_tool() {
    check_keys(
        r#"tools: Read: yes"#,
        &expect![[r#"
        rejected a (claude)
        4:1 error[unreadable-capability] `tools` cannot be read: mapping values are not allowed in this context; correct the YAML of `tools`; without it the agent could do more than its author wrote
    "#]],
    );
}

#[test]
fn servers_are_not_numbers() {
    check_keys(
        r#"mcpServers: 5"#,
        &expect![[r#"
        rejected a (claude)
        4:13 error[bad-capability] `mcpServers` takes servers by name, not `5`; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn a_list_of_remote_agents_is_refused() {
    check(
        ".gemini/agents/a.md",
        r#"---
- kind: remote
  name: a
---
Do it.
"#,
        &expect![[r#"
            rejected a (gemini)
            2:1 error[remote-agent] the frontmatter is a list, as of agents that run elsewhere; write one agent in a file
        "#]],
    );
}

#[test]
fn the_frontline_agent_is_not_a_subagent() {
    check(
        "agents/main/agent.md",
        r#"---
name: main
description: d
---
Do it.
"#,
        &expect![[r#"
            not an agent: its name or folder says that it is something else
        "#]],
    );
}

#[test]
fn a_mangled_line_before_the_first_key_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
tools:Read
name: a
description: d
---
Do it.
"#,
        &expect![[r#"
            rejected a (claude)
            2:1 error[unreadable-capability] this line may say what the agent may do, and cannot be read as a key; write it as `key: value` at the start of the line, or quote the text above
        "#]],
    );
}

#[test]
fn a_capability_indented_below_another_key_is_refused() {
    check_keys(
        r#"maxTurns: 5
  tools: Read"#,
        &expect![[r#"
            rejected a (claude)
            4:1 error[unreadable-capability] `maxTurns` cannot be read: mapping values are not allowed in this context; correct the YAML of `maxTurns`; without it the agent could do more than its author wrote
        "#]],
    );
}

#[test]
fn a_merged_mapping_is_refused() {
    check_keys(
        r#"<<: {tools: Read}"#,
        &expect![[r#"
        rejected a (claude)
        4:1 error[unreadable-capability] merged keys are not read; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn a_rule_that_yaml_cut_at_its_comma_is_whole() {
    check_keys(
        r#"permissions: {deny: [Bash(rm, mv)]}
tools: [Bash(git log, git diff), Read]"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Bash","Read"]
              permissions: {"allow":["Bash(git log, git diff)"],"ask":[],"deny":["Bash(rm, mv)"]}
        "#]],
    );
}

#[test]
fn a_pattern_for_every_tool_is_not_every_tool() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission:
  "*": {"src/*": allow}
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              permissions: {"allow":["*(src/*)"],"ask":[],"deny":[]}
        "#]],
    );
}

#[test]
fn a_mistyped_restriction_keeps_the_agent_from_running() {
    check_keys(
        r#"tols: Read"#,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          extra: {"tols":"Read"}
        4:1 error[unknown-key] unknown key `tols`; did you mean `tools`?
    "#]],
    );
}

#[test]
fn a_word_of_another_dialect_is_no_permission_mode() {
    check_keys(
        r#"permissionMode: yolo"#,
        &expect![[r#"
        rejected a (claude)
        4:17 error[bad-capability] `permissionMode` takes default, acceptEdits, auto, dontAsk, bypassPermissions or plan, not `yolo`; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn an_escape_sequence_is_hidden() {
    check_keys(
        r#"color: "x\e[1Ay""#,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          color: "x\u001b[1Ay"
        4:8 warning[hidden-character] `color` has the hidden character U+001B; remove it
    "#]],
    );
}

#[test]
fn a_restriction_below_an_unclosed_block_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
name: a
description: d
more text here
tools: Read

You are.
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[mangled-frontmatter] the frontmatter is not closed, and a key that says what the agent may do follows; put a line of three dashes below the last key
        "#]],
    );
}
