//! The shapes in which people write one kind of value.

use super::{check, check_keys};
use expect_test::expect;

#[test]
fn tools_between_commas() {
    check_keys(
        "tools: Read, Grep,Glob",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: ["Read","Grep","Glob"]
    "#]],
    );
}

#[test]
fn tools_as_a_list() {
    check_keys(
        "tools: [Read, Grpe]",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: ["Read","Grpe"]
        4:15 error[unknown-tool] tool `Grpe` is not known; did you mean `Grep`?
    "#]],
    );
}

#[test]
fn tools_as_a_block_list() {
    check_keys(
        r#"tools:
  - Read
  - mcp__github__list
  - mcp__*__search"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read","mcp__github__list","mcp__*__search"]
        "#]],
    );
}

#[test]
fn tools_as_a_map() {
    check_keys(
        r#"tools:
  bash: true
  write: false
  edit: "deny""#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Bash"]
              disallowed_tools: ["Write","Edit"]
              permissions: {"allow":[],"ask":[],"deny":["Edit"]}
        "#]],
    );
}

#[test]
fn a_map_that_only_forbids_does_not_restrict() {
    check_keys(
        r#"tools:
  write: false"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              disallowed_tools: ["Write"]
              permissions: {"allow":[],"ask":[],"deny":["Edit"]}
        "#]],
    );
}

#[test]
fn a_map_that_forbids_all_but_some() {
    check_keys(
        r#"tools:
  "*": false
  read: true"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read"]
        "#]],
    );
}

#[test]
fn no_tools_at_all() {
    check_keys(
        "tools: []",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: []
    "#]],
    );
}

#[test]
fn tools_without_a_value_are_none() {
    check_keys(
        "tools:",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: []
        4:1 warning[empty-tools] `tools` has no value; it was read as no tools; write `tools: []`, or remove the key to leave the tools unrestricted
    "#]],
    );
}

#[test]
fn false_is_no_tools() {
    check_keys(
        "tools: false",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: []
    "#]],
    );
}

#[test]
fn true_is_not_a_list_of_tools() {
    check_keys(
        "tools: true",
        &expect![[r#"
        rejected a (claude)
        4:8 error[bad-capability] `tools` takes names of tools as a list or between commas, not `true`; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn every_tool() {
    check_keys(
        r#"tools: ["*"]"#,
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: ["*"]
    "#]],
    );
}

#[test]
fn a_pattern_is_a_rule() {
    check_keys(
        r#"tools: Read, Bash(git diff:*), Agent(a, b)
disallowedTools: Bash(rm *), Write"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              tools: ["Read","Bash","Agent"]
              disallowed_tools: ["Write"]
              permissions: {"allow":["Bash(git diff:*)","Agent(a, b)"],"ask":[],"deny":["Bash(rm *)"]}
        "#]],
    );
}

#[test]
fn foreign_tools_are_kept_with_a_warning() {
    check_keys(
        "tools: [Read, vscodeAPI]",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: ["Read","vscodeAPI"]
        4:15 warning[foreign-tool] tool `vscodeAPI` does not exist here; the agent runs without it
    "#]],
    );
}

#[test]
fn only_foreign_tools_do_not_run() {
    check_keys(
        "tools: [vscodeAPI]",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          tools: ["vscodeAPI"]
        4:9 warning[foreign-tool] tool `vscodeAPI` does not exist here; the agent runs without it
        4:9 error[no-usable-tool] none of the listed tools exists here; list tools that exist here, or write `tools: []` for an agent without tools
    "#]],
    );
}

#[test]
fn a_list_inside_a_list_is_not_a_tool() {
    check_keys(
        "tools: [[Read]]",
        &expect![[r#"
        rejected a (claude)
        4:8 error[bad-capability] `tools` takes names of tools as a list or between commas, not a list; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn an_unknown_tool_in_the_denied_ones_is_an_error() {
    check_keys(
        "disallowedTools: Bsh",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          disallowed_tools: ["Bsh"]
        4:18 error[unknown-tool] tool `Bsh` is not known; did you mean `Bash`?
    "#]],
    );
}

#[test]
fn a_model_of_every_form() {
    check_keys(
        "model: Claude Sonnet 4.5 (copilot)",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          model: "Claude Sonnet 4.5 (copilot)"
    "#]],
    );
}

#[test]
fn a_list_of_models_takes_the_first() {
    check_keys(
        "model: [GPT-5, sonnet]",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          model: "GPT-5"
          extra: {"model":["GPT-5","sonnet"]}
        4:8 info[model-list] the first of several models counts
    "#]],
    );
}

#[test]
fn a_version_stays_a_text() {
    check(
        ".claude/agents/a.md",
        r#"---
name: 1.0
description: 2024-01-01
model: 4.10
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "1-0"
              display_name: "1.0"
              description: "2024-01-01"
              model: "4.10"
        "#]],
    );
}

#[test]
fn flags_in_many_words() {
    check_keys(
        r#"enabled: "yes"
background: off
session: "true""#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              enabled: true
              session: true
              background: false
        "#]],
    );
}

#[test]
fn hidden_and_disabled() {
    check_keys(
        r#"hidden: true
disable: true"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              visibility: "internal"
              enabled: false
        "#]],
    );
}

#[test]
fn words_in_many_spellings() {
    check_keys(
        r#"visibility: UserFacing
permissionMode: accept-edits
memory: Project"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              permission_mode: "acceptEdits"
              visibility: "user-facing"
              memory: "project"
        "#]],
    );
}

#[test]
fn numbers_in_quotes() {
    check_keys(
        r#"maxTurns: "12"
timeout_ms: "30000""#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              max_turns: 12
              timeout_ms: 30000
        "#]],
    );
}

#[test]
fn numbers_that_are_none() {
    check_keys(
        r#"maxTurns: -3
timeoutSeconds: 0
budget: {usd: -1, tokens: 1e999}"#,
        &expect![[r#"
            rejected a (claude)
            4:11 warning[bad-value] `maxTurns` takes a whole number above zero, not `-3`; correct it; until then the default counts
            5:17 warning[bad-value] `timeoutSeconds` takes a duration such as 30s, 5m or 1h, not `0`; correct it; until then the default counts
            6:9 error[bad-capability] `budget` takes `usd` and `tokens`, not this mapping; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn durations_in_every_unit() {
    check_keys(
        "timeout: 1.5m",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          timeout_ms: 90000
    "#]],
    );
}

#[test]
fn minutes_of_gemini() {
    check_keys(
        "timeout_mins: 10",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          timeout_ms: 600000
    "#]],
    );
}

#[test]
fn a_permission_mode_that_does_not_exist_is_refused() {
    check_keys(
        "permissionMode: yolo2",
        &expect![[r#"
            rejected a (claude)
            4:17 error[bad-capability] `permissionMode` takes default, acceptEdits, auto, dontAsk, bypassPermissions or plan, not `yolo2`; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn a_worktree_is_a_workspace() {
    check_keys(
        "isolation: worktree",
        &expect![[r#"
        agent (claude)
          name: "a"
          description: "d"
          workspace: "worktree"
    "#]],
    );
}

#[test]
fn an_isolation_that_does_not_exist_is_refused() {
    check_keys(
        "isolation: chroot",
        &expect![[r#"
        rejected a (claude)
        4:12 error[bad-capability] `isolation` takes none, landlock, sandbox, container or worktree, not `chroot`; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn an_unknown_key_is_kept() {
    check_keys(
        r#"nmae: x
category: quality"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              extra: {"nmae":"x","category":"quality"}
            4:1 info[unknown-key] unknown key `nmae`; did you mean `name`?
            5:1 info[unknown-key] unknown key `category`
        "#]],
    );
}

#[test]
fn a_mistyped_capability_is_a_warning() {
    check_keys(
        "disalowedTools: Bash",
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              extra: {"disalowedTools":"Bash"}
            4:1 error[unknown-key] unknown key `disalowedTools`; did you mean `disallowedTools`?
        "#]],
    );
}

#[test]
fn one_key_under_two_spellings() {
    check_keys(
        r#"maxTurns: 3
max_turns: 4"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              max_turns: 4
            4:1 warning[duplicate-key] `maxTurns` means the same as `max_turns`, which counts; remove one of the two
        "#]],
    );
}

#[test]
fn servers_as_names_and_settings() {
    check_keys(
        r#"mcpServers:
  - github
  - search: {command: npx, args: [-y]}
  - {name: brave, command: npx}"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              mcp_servers: {"github":null,"search":{"command":"npx","args":["-y"]},"brave":{"command":"npx"}}
        "#]],
    );
}

#[test]
fn hooks_as_groups_and_flat() {
    check_keys(
        r#"hooks:
  PreToolUse:
    - matcher: Bash
      hooks:
        - {type: command, command: ./x}
  Stop:
    - {type: command, command: ./done}"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              hooks: {"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./x"}]}],"Stop":[{"hooks":[{"type":"command","command":"./done"}]}]}
        "#]],
    );
}

#[test]
fn hooks_that_are_no_hooks_are_refused() {
    check_keys(
        "hooks: run.sh",
        &expect![[r#"
        rejected a (claude)
        4:8 error[bad-capability] `hooks` takes lists of hooks by event, not `run.sh`; correct it; guessing could give the agent more than its author wrote
    "#]],
    );
}

#[test]
fn callers_and_delegates() {
    check_keys(
        r#"callers: main, lead
delegates: true"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              callers: ["main","lead"]
              delegates: ["*"]
        "#]],
    );
}

#[test]
fn an_output_schema() {
    check_keys(
        r#"output:
  schema: {type: object}
  retries: 0"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              output_schema: {"type":"object"}
              output_retries: 0
        "#]],
    );
}

#[test]
fn a_network_of_hosts() {
    check_keys(
        r#"network: [example.com]
env: {A: "${B:-c}"}
context_files: false"#,
        &expect![[r#"
            agent (claude)
              name: "a"
              description: "d"
              network: ["example.com"]
              env: {"A":"${B:-c}"}
              context_files: false
        "#]],
    );
}
