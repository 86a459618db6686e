//! One file of each dialect as its own tool writes it.

use super::check;
use expect_test::expect;

use crate::definition::dialect::Dialect;
use crate::definition::family::clues;
use crate::definition::field::Field;
use crate::definition::read::{File, read};
use crate::diagnostic::Code;

#[test]
fn claude() {
    check(
        ".claude/agents/a.md",
        r#"---
name: Code Reviewer
description: Reviews code
tools: Read, Glob, Grep, Bash
disallowedTools: Write
model: sonnet
permissionMode: plan
maxTurns: 9
skills: [x]
memory: user
effort: high
color: pink
initialPrompt: go
---
Do it.
"#,
        &expect![[r#"
            agent (claude)
              name: "code-reviewer"
              display_name: "Code Reviewer"
              description: "Reviews code"
              tools: ["Read","Glob","Grep","Bash"]
              disallowed_tools: ["Write"]
              model: "sonnet"
              effort: "high"
              permission_mode: "plan"
              skills: ["x"]
              color: "pink"
              memory: "user"
              max_turns: 9
              initial_prompt: "go"
        "#]],
    );
}

#[test]
fn posse() {
    check(
        ".posse/agents/a.md",
        r#"---
name: a
description: d
tools: [Read, Bash]
permissions:
  allow: ["Bash(git log *)"]
  ask: [WebFetch]
  deny: ["Read(.env)"]
  otherwise: {Bash: deny}
timeout: 5m
budget: {usd: 0.5, tokens: 1000}
callers: []
delegates: [b]
session: true
visibility: internal
engine: claude
isolation: sandbox
workspace: worktree
network: none
env: [TOKEN]
findings: true
environment: false
---
Do it.
"#,
        &expect![[r#"
            agent (posse)
              name: "a"
              description: "d"
              tools: ["Read","Bash"]
              permissions: {"allow":["Bash(git log *)"],"ask":["WebFetch"],"deny":["Read(.env)"],"otherwise":{"Bash":"deny"}}
              visibility: "internal"
              session: true
              callers: []
              delegates: ["b"]
              timeout_ms: 300000
              budget: {"usd":0.5,"tokens":1000}
              findings: true
              engine: "claude"
              isolation: "sandbox"
              workspace: "worktree"
              network: "none"
              env: ["TOKEN"]
              environment: false
        "#]],
    );
}

#[test]
fn opencode() {
    check(
        ".opencode/agent/review/security.md",
        r#"---
description: Audits
mode: subagent
model: anthropic/claude-sonnet-4
temperature: 0.1
steps: 7
tools:
  write: false
  bash: true
permission:
  edit: deny
  bash:
    "*": ask
    "git diff*": allow
  webfetch: allow
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "review-security"
              display_name: "review/security"
              description: "Audits"
              tools: ["Bash"]
              disallowed_tools: ["Write"]
              model: "anthropic/claude-sonnet-4"
              permissions: {"allow":["Bash(git diff*)","WebFetch"],"ask":[],"deny":["Edit"],"otherwise":{"Bash":"ask"}}
              max_turns: 7
              extra: {"mode":"subagent","temperature":0.1}
            3:1 info[unused-key] `mode` is read by other tools and has no effect here
            5:1 info[unused-key] `temperature` is read by other tools and has no effect here
        "#]],
    );
}

#[test]
fn opencode_rules_that_depend_on_their_order() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission:
  bash:
    "git *": deny
    "git log": allow
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              permissions: {"allow":["Bash(git log)"],"ask":[],"deny":["Bash(git *)"]}
            3:1 warning[ordered-rules] `permission` depends on the order of its rules; the stricter reading was taken; write the rules as allow, ask and deny
        "#]],
    );
}

#[test]
fn opencode_without_a_description_loads() {
    check(
        ".opencode/agent/a.md",
        r#"---
mode: primary
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              extra: {"mode":"primary"}
            1:1 warning[missing-description] the agent has no description; say in `description` when to delegate to this agent
            2:1 info[unused-key] `mode` is read by other tools and has no effect here
        "#]],
    );
}

#[test]
fn opencode_rules_that_cannot_be_read() {
    check(
        ".opencode/agent/a.md",
        r#"---
description: d
permission: maybe
---
Do it.
"#,
        &expect![[r#"
            rejected a (opencode)
            3:13 error[bad-capability] `permission` takes allow, ask or deny, for each tool or pattern, not `maybe`; correct it; guessing could give the agent more than its author wrote
        "#]],
    );
}

#[test]
fn gemini() {
    check(
        ".gemini/agents/a.md",
        r#"---
kind: local
name: a
description: d
display_name: The A
tools: [read_file, run_shell_command, mcp_github_list]
model: gemini-3-pro
max_turns: 60
timeout_mins: 30
---
Do it.
"#,
        &expect![[r#"
            agent (gemini)
              name: "a"
              display_name: "The A"
              description: "d"
              tools: ["Read","Bash","mcp_github_list"]
              model: "gemini-3-pro"
              max_turns: 60
              timeout_ms: 1800000
        "#]],
    );
}

#[test]
fn gemini_remote() {
    check(
        ".gemini/agents/a.md",
        r#"---
kind: remote
name: a
description: d
agent_card_url: https://example.com
---
Do it.
"#,
        &expect![[r#"
            agent (gemini)
              name: "a"
              description: "d"
              extra: {"agent_card_url":"https://example.com"}
            2:7 error[remote-agent] the agent runs elsewhere; Posse runs agents itself; remove `kind: remote` and give the agent a prompt
            5:1 info[unused-key] `agent_card_url` is read by other tools and has no effect here
        "#]],
    );
}

#[test]
fn gemini_drafts_are_skipped() {
    check(
        ".gemini/agents/_a.md",
        r#"---
name: a
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
fn qwen() {
    check(
        ".qwen/agents/a.md",
        r#"---
name: a
description: d
approvalMode: auto-edit
tools: [read_file, edit]
---
Do it.
"#,
        &expect![[r#"
            agent (qwen)
              name: "a"
              description: "d"
              tools: ["Read","Edit"]
              permission_mode: "acceptEdits"
        "#]],
    );
}

#[test]
fn cursor() {
    check(
        ".cursor/agents/verify.md",
        r#"---
description: d
model: fast
readonly: true
is_background: true
---
Do it.
"#,
        &expect![[r#"
            agent (cursor)
              name: "verify"
              description: "d"
              model: "fast"
              permission_mode: "plan"
              background: true
        "#]],
    );
}

#[test]
fn copilot() {
    check(
        ".github/agents/planner.agent.md",
        r#"---
description: d
tools: ['search', 'edit', 'web/fetch', 'github/*', 'vscodeAPI']
model: Claude Sonnet 4.5
disable-model-invocation: true
agents: ['*']
mcp-servers:
  x: {command: y}
handoffs: []
---
Do it.
"#,
        &expect![[r#"
            agent (copilot)
              name: "planner"
              description: "d"
              tools: ["Grep","Glob","Edit","MultiEdit","Write","NotebookEdit","WebFetch","mcp__github__*","vscodeAPI"]
              model: "Claude Sonnet 4.5"
              mcp_servers: {"x":{"command":"y"}}
              callers: []
              delegates: ["*"]
              extra: {"handoffs":[]}
            3:52 warning[foreign-tool] tool `vscodeAPI` does not exist here; the agent runs without it
            9:1 info[unused-key] `handoffs` is read by other tools and has no effect here
        "#]],
    );
}

#[test]
fn copilot_chat_mode() {
    check(
        ".github/chatmodes/plan.chatmode.md",
        r#"---
description: 'd'
tools: ['codebase', 'editFiles', 'runCommands']
---
Do it.
"#,
        &expect![[r#"
            agent (copilot)
              name: "plan"
              description: "d"
              tools: ["Grep","Glob","Edit","MultiEdit","Write","NotebookEdit","Bash"]
        "#]],
    );
}

#[test]
fn factory() {
    check(
        ".factory/droids/a.md",
        r#"---
name: a
description: d
tools: [Read, Execute, Create]
model: inherit
---
Do it.
"#,
        &expect![[r#"
            agent (factory)
              name: "a"
              description: "d"
              tools: ["Read","Bash","Write"]
              model: "inherit"
        "#]],
    );
}

#[test]
fn codex() {
    check(
        ".codex/agents/a.toml",
        r#"name = "a"
description = "d"
developer_instructions = """
Do it.
"""
model = "gpt-5"
model_reasoning_effort = "high"
sandbox_mode = "read-only"
[mcp_servers.docs]
command = "x"
"#,
        &expect![[r#"
            agent (codex)
              name: "a"
              description: "d"
              model: "gpt-5"
              effort: "high"
              permission_mode: "plan"
              mcp_servers: {"docs":{"command":"x"}}
        "#]],
    );
}

#[test]
fn codex_configuration_is_not_an_agent() {
    check(
        ".codex/agents/config.toml",
        r#"model = "gpt-5"
"#,
        &expect![[r#"
            not an agent: it has neither description nor developer_instructions
        "#]],
    );
}

#[test]
fn codex_without_instructions_is_refused() {
    check(
        ".codex/agents/a.toml",
        r#"name = "a"
description = "d"
"#,
        &expect![[r#"
            rejected a (codex)
            1:1 error[empty-prompt] the agent has no prompt; write the system prompt into `developer_instructions`
        "#]],
    );
}

#[test]
fn codex_that_is_not_toml() {
    check(
        ".codex/agents/a.toml",
        r#"name = "a
"#,
        &expect![[r#"
            rejected a (codex)
            1:10 error[broken-toml] not valid TOML: invalid basic string, expected `"`
        "#]],
    );
}

#[test]
fn netclaw() {
    check(
        ".netclaw/agents/a.md",
        r#"---
name: a
description: d
tools: [web_search, web_fetch, file_read, attach_file]
modelRole: Compaction
timeoutSeconds: 120
visibility: user-facing
emitStructuredFindings: false
---
Do it.
"#,
        &expect![[r#"
            agent (netclaw)
              name: "a"
              description: "d"
              tools: ["WebSearch","WebFetch","Read","AttachFile"]
              model: "Compaction"
              visibility: "user-facing"
              timeout_ms: 120000
              findings: false
        "#]],
    );
}

#[test]
fn nanoclaw() {
    check(
        "agents.json",
        r#"{
  "researcher": {"description": "d", "prompt": "Do it.", "tools": ["WebSearch", "Read"], "model": "sonnet"},
  "bad": {"description": "d"},
  "worse": 3
}"#,
        &expect![[r#"
            agent (nanoclaw)
              name: "researcher"
              description: "d"
              tools: ["WebSearch","Read"]
              model: "sonnet"
            rejected bad (nanoclaw)
            3:3 error[empty-prompt] the agent has no prompt; write the system prompt into `prompt`
            rejected worse (nanoclaw)
            4:12 error[bad-entry] `worse` is a number, not an object; write {"description": …, "prompt": …}
        "#]],
    );
}

#[test]
fn nanoclaw_empty_is_quiet() {
    check("agents.json", "{}", &expect![""]);
}

#[test]
fn nanoclaw_that_is_no_object() {
    check(
        "agents.json",
        "[]",
        &expect![[r#"
        rejected - (nanoclaw)
        1:1 error[broken-json] expected an object from names to agents, not a list; write {"name": {"description": …, "prompt": …}}
    "#]],
    );
}

#[test]
fn nanoclaw_that_is_not_json() {
    check(
        "agents.json",
        r#"{"a": }"#,
        &expect![[r#"
        rejected - (nanoclaw)
        1:7 error[broken-json] not valid JSON: Unexpected close brace
    "#]],
    );
}

#[test]
fn jarvis() {
    check(
        "agents/web-search/agent.md",
        r#"---
name: searcher
description: d
session: false
allowed_callers: [main]
timeout_ms: 30000
permissions:
  allow: ["Bash(curl:*)"]
  deny: []
mcp_servers:
  - name: brave
    command: npx
    env: {KEY: "${KEY}"}
---
Do it.
"#,
        &expect![[r#"
            agent (jarvis)
              name: "web-search"
              description: "d"
              permissions: {"allow":["Bash(curl:*)"],"ask":[],"deny":[]}
              mcp_servers: {"brave":{"command":"npx","env":{"KEY":"${KEY}"}}}
              session: false
              callers: ["main"]
              timeout_ms: 30000
            1:1 warning[name-mismatch] the name `searcher` differs from the folder `web-search`, which counts; write `name: web-search`
        "#]],
    );
}

#[test]
fn crush() {
    check(
        ".crush/agents/a.md",
        r#"---
name: a
description: d
tools: view, glob, grep, bash, write, edit
model: large
hooks:
  Stop:
    - {type: command, command: ./done}
---
Do it.
"#,
        &expect![[r#"
            agent (crush)
              name: "a"
              description: "d"
              tools: ["Read","Glob","Grep","Bash","Write","Edit"]
              model: "large"
              hooks: {"Stop":[{"hooks":[{"type":"command","command":"./done"}]}]}
        "#]],
    );
}

#[test]
fn a_file_of_another_dialect_reads_as_what_it_is() {
    check(
        ".claude/agents/a.md",
        r#"---
description: d
mode: subagent
tools: {bash: false}
---
Do it.
"#,
        &expect![[r#"
            agent (opencode)
              name: "a"
              description: "d"
              disallowed_tools: ["Bash"]
              extra: {"mode":"subagent"}
            1:1 info[dialect-guessed] the keys are those of opencode
            3:1 info[unused-key] `mode` is read by other tools and has no effect here
        "#]],
    );
}

#[test]
fn a_claude_agent_without_a_name_is_refused() {
    check(
        ".claude/agents/a.md",
        r#"---
description: d
tools: Read
---
Do it.
"#,
        &expect![[r#"
            rejected a (claude)
            1:1 error[missing-name] the agent has no name; add `name: a`
        "#]],
    );
}

/// A value that a key of this field takes.
fn sample(field: Field) -> &'static str {
    match field {
        Field::Tools | Field::DisallowedTools => "Read",
        Field::PermissionMode | Field::ApprovalMode => "plan",
        Field::SandboxMode => "read-only",
        Field::Permissions => "{allow: [Read]}",
        Field::OrderedPermissions => "{bash: ask}",
        Field::Hooks => "{Stop: [{type: command, command: x}]}",
        Field::McpServers => "{x: {command: y}}",
        Field::Visibility => "internal",
        Field::Memory => "project",
        Field::Timeout(_) => "5",
        Field::MaxTurns => "5",
        Field::Budget => "{usd: 1}",
        Field::Output => "{schema: {}}",
        Field::OutputSchema => "{type: object}",
        Field::Effort => "high",
        Field::Isolation | Field::Sandbox => "sandbox",
        Field::Workspace => "worktree",
        Field::Network => "none",
        Field::Kind => "local",
        Field::ReadOnly
        | Field::OnlyPerson
        | Field::Infer
        | Field::Hidden
        | Field::Enabled
        | Field::Disabled
        | Field::Session
        | Field::Findings
        | Field::Background
        | Field::Environment => "true",
        Field::Name
        | Field::DisplayName
        | Field::Description
        | Field::Prompt
        | Field::Model
        | Field::ModelRole
        | Field::Skills
        | Field::Color
        | Field::Callers
        | Field::Delegates
        | Field::Engine
        | Field::Env
        | Field::ContextFiles
        | Field::InitialPrompt
        | Field::PromptFile
        | Field::UnusedText
        | Field::Unused => "x",
    }
}

#[test]
fn every_key_of_every_dialect_takes_a_value() {
    for dialect in Dialect::ALL {
        for (key, field) in dialect.table().keys {
            let extra = match field {
                Field::Name | Field::Description => String::new(),
                field => format!("{key}: {}\n", sample(*field)),
            };
            let text = format!("---\nname: a\ndescription: d\n{extra}---\nDo it.\n");
            let mut clues = clues(".posse/agents/a.md");
            clues.dialect = Some(*dialect);
            clues.folder = Some("a".into());
            let reading = read(File { path: "a.md".into(), bytes: text.into_bytes(), clues }).remove(0);
            assert!(reading.definition().is_some(), "{dialect:?} {key}: {:?}", reading.diagnostics);
            let wrong = |code: Code| matches!(code, Code::BadValue | Code::BadCapability | Code::UnknownKey);
            assert!(
                !reading.diagnostics.iter().any(|one| wrong(one.code)),
                "{dialect:?} {key}: {:?}",
                reading.diagnostics
            );
        }
    }
}
