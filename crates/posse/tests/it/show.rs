//! `posse show`.

use expect_test::expect;

use crate::{agent, check, json, project};

/// The keys that programs rely on.
const KEYS: &[&str] = &[
    "name",
    "display_name",
    "description",
    "prompt",
    "tools",
    "disallowed_tools",
    "model",
    "effort",
    "permission_mode",
    "permissions",
    "skills",
    "hooks",
    "mcp_servers",
    "color",
    "visibility",
    "enabled",
    "session",
    "memory",
    "callers",
    "delegates",
    "max_turns",
    "timeout_ms",
    "budget",
    "output_schema",
    "output_retries",
    "findings",
    "engine",
    "isolation",
    "workspace",
    "network",
    "env",
    "context_files",
    "background",
    "extra",
    "scope",
    "dialect",
    "path",
    "problems",
];

#[test]
fn every_promised_key_is_there() {
    let project = project();
    project.write(".claude/agents/a.md", agent("a", ""));
    for arguments in [
        &["show", "a", "--json"][..],
        &["show", "--file", ".claude/agents/a.md", "--json"],
        &["show", "summarizer", "--json"],
    ] {
        let shown = json(&project, arguments);
        let missing: Vec<_> = KEYS.iter().filter(|key| shown.get(**key).is_none()).collect();
        assert!(missing.is_empty(), "{arguments:?} {missing:?}");
    }
}

#[test]
fn text_is_a_posse_file_that_shows_the_same_again() {
    let project = project();
    project.write(".opencode/agent/a.md", "---\ndescription: \"Say: hi\"\nmode: subagent\ntools: {bash: true, write: false}\npermission: {bash: {\"*\": ask, \"git *\": allow}}\n---\nDo it.\n\n- and that\n");
    check(
        &project,
        &["show", "a"],
        &expect![[r#"
            --- stdout
            ---
            name: a
            description: "Say: hi"
            tools: [Bash]
            disallowedTools: [Write]
            permissions:
              allow: ["Bash(git *)"]
              ask: []
              deny: [Edit]
              otherwise:
                Bash: ask
            mode: subagent
            ---

            Do it.

            - and that
            --- exit 0
        "#]],
    );
    let text = project.run(&["show", "a"]).stdout;
    project.write(".posse/agents/again.md", text);
    let first = json(&project, &["show", "--file", ".opencode/agent/a.md", "--json"]);
    let again = json(&project, &["show", "--file", ".posse/agents/again.md", "--json"]);
    for key in KEYS.iter().filter(|key| !matches!(**key, "dialect" | "path" | "problems")) {
        assert_eq!(first[key], again[key], "{key}");
    }
}

#[test]
fn an_agent_is_found_by_any_spelling_of_its_name() {
    let project = project();
    project.write(".claude/agents/x.md", agent("Code Reviewer", ""));
    for name in ["code-reviewer", "Code Reviewer", "CODE-REVIEWER"] {
        assert_eq!(json(&project, &["show", name, "--json"])["display_name"], "Code Reviewer");
    }
    check(
        &project,
        &["show", "code-reviewr"],
        &expect![[r#"
        --- stderr
        error: there is no agent `code-reviewr`
        help: did you mean `code-reviewer`?
        --- exit 3
    "#]],
    );
    check(
        &project,
        &["show", "code-reviewr", "--json"],
        &expect![[r#"
        --- stdout
        {
          "error": {
            "kind": "definition",
            "message": "there is no agent `code-reviewr`",
            "help": "did you mean `code-reviewer`?"
          },
          "problems": []
        }
        --- exit 3
    "#]],
    );
}

#[test]
fn a_loaded_agent_with_an_unknown_tool_is_shown() {
    let project = project();
    project.write("x.md", agent("x", "tools: Grpe\n"));
    check(
        &project,
        &["show", "--file", "x.md"],
        &expect![[r#"
            --- stdout
            ---
            name: x
            description: Does x
            tools: [Grpe]
            ---

            Do it.
            --- stderr
            error[unknown-tool]: tool `Grpe` is not known
             --> x.md:4:8
              |
            4 | tools: Grpe
              |        ^^^^
              |
              = help: did you mean `Grep`?

            --- exit 0
        "#]],
    );
}

#[test]
fn what_cannot_be_loaded_is_exit_3_with_the_reason() {
    let project = project();
    project
        .write("prose.md", "# Prose\n")
        .write("bad.md", agent("x", "tools: {{{\n"))
        .write("SKILL.md", agent("x", ""));
    check(
        &project,
        &["show", "--file", "prose.md"],
        &expect![[r#"
        --- stderr
        error: prose.md is not an agent: it has no frontmatter
        --- exit 3
    "#]],
    );
    check(
        &project,
        &["show", "--file", "bad.md"],
        &expect![[r#"
            --- stderr
            error[unreadable-capability]: `tools` cannot be read: unclosed bracket '{'
             --> bad.md:4:1
              |
            4 | tools: {{{
              | ^^^^^
              |
              = help: correct the YAML of `tools`; without it the agent could do more than its author wrote

            error: bad.md cannot be used
            --- exit 3
        "#]],
    );
    check(
        &project,
        &["show", "--file", "bad.md", "--json"],
        &expect![[r#"
            --- stdout
            {
              "error": {
                "kind": "definition",
                "message": "bad.md cannot be used",
                "help": null
              },
              "problems": [
                {
                  "severity": "error",
                  "code": "unreadable-capability",
                  "message": "`tools` cannot be read: unclosed bracket '{'",
                  "help": "correct the YAML of `tools`; without it the agent could do more than its author wrote",
                  "path": "bad.md",
                  "line": 4,
                  "column": 1
                }
              ]
            }
            --- exit 3
        "#]],
    );
}

#[test]
fn what_is_no_agent_is_exit_3_with_the_reason() {
    let project = project();
    project.write("SKILL.md", agent("x", ""));
    check(
        &project,
        &["show", "--file", "SKILL.md"],
        &expect![[r#"
        --- stderr
        error: SKILL.md is not an agent: its name or folder says that it is something else
        --- exit 3
    "#]],
    );
    check(
        &project,
        &["show", "--file", "nowhere.md"],
        &expect![[r#"
            --- stderr
            error: nowhere.md: cannot be read: No such file or directory (os error 2)
            --- exit 3
        "#]],
    );
}

#[test]
fn a_file_outside_the_usual_places_is_read_as_what_it_is() {
    let project = project();
    project
        .write("one.md", "---\ndescription: d\nmode: subagent\n---\nDo it.\n")
        .write("two.md", "---\nname: two\ndescription: d\nmodelRole: Main\n---\nDo it.\n")
        .write("three.toml", "name = \"three\"\ndescription = \"d\"\ndeveloper_instructions = \"Do it.\"\n")
        .write("four.md", "---\ndescription: d\ntools: [search]\n---\nDo it.\n");
    let dialect = |arguments: &[&str]| json(&project, arguments)["dialect"].clone();
    assert_eq!(dialect(&["show", "--file", "one.md", "--json"]), "opencode");
    assert_eq!(dialect(&["show", "--file", "two.md", "--json"]), "netclaw");
    assert_eq!(dialect(&["show", "--file", "three.toml", "--json"]), "codex");
    let four = json(&project, &["show", "--file", "four.md", "--dialect", "copilot", "--json"]);
    assert_eq!((&four["name"], &four["tools"]), (&"four".into(), &serde_json::json!(["Grep", "Glob"])));
    check(
        &project,
        &["show", "--file", "four.md", "--dialect", "copilto"],
        &expect![[r#"
            --- stderr
            error: invalid value 'copilto' for '--dialect <DIALECT>'
              [possible values: posse, claude, opencode, gemini, qwen, cursor, copilot, factory, codex, netclaw, nanoclaw, jarvis, crush]

              tip: a similar value exists: 'copilot'

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
}

#[test]
fn one_of_several_in_a_file_is_named() {
    let project = project();
    project.write(
        "agents.json",
        r#"{"one": {"description": "d", "prompt": "p"}, "two": {"description": "e", "prompt": "q"}}"#,
    );
    check(
        &project,
        &["show", "--file", "agents.json"],
        &expect![[r#"
        --- stderr
        error: agents.json holds 2 agents
        help: name one of one, two
        --- exit 2
    "#]],
    );
    assert_eq!(json(&project, &["show", "two", "--file", "agents.json", "--json"])["prompt"], "q");
}
