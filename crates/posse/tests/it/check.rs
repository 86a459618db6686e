//! `posse check`.

use expect_test::expect;

use crate::{agent, check, json, project};

#[test]
fn an_unknown_tool_is_shown_with_its_line() {
    let project = project();
    project.write(".claude/agents/a.md", agent("a", "tools: [Read, Grpe]\n"));
    check(
        &project,
        &["check", "."],
        &expect![[r#"
            --- stdout
            1 file read, 1 agent, 1 error, 0 warnings
            --- stderr
            error[unknown-tool]: tool `Grpe` is not known
             --> .claude/agents/a.md:4:15
              |
            4 | tools: [Read, Grpe]
              |               ^^^^
              |
              = help: did you mean `Grep`?

            --- exit 3
        "#]],
    );
}

#[test]
fn an_unquoted_colon_is_shown_with_the_corrected_line_and_fixed() {
    let project = project();
    let text = "---\nname: a\ndescription: Use this: always # really\nx: 1\n---\nDo  it.\n\n";
    project.write(".claude/agents/a.md", text);
    check(
        &project,
        &["check", "."],
        &expect![[r#"
            --- stdout
            1 file read, 1 agent, 0 errors, 1 warning
            --- stderr
            warning[broken-yaml]: the description is not valid YAML: an unquoted value has `: ` in it
             --> .claude/agents/a.md:3:22
              |
            3 | description: Use this: always # really
              |                      ^^^^^^^^^^^^^^^^^
              |
              = help: quote it: description: "Use this: always # really"

            1 problem can be mended with `posse check --fix`
            1 note not shown; see them with -v
            --- exit 0
        "#]],
    );
    check(
        &project,
        &["check", "--fix", "."],
        &expect![[r#"
            --- stdout
            1 file read, 1 agent, 0 errors, 0 warnings
            --- stderr
            fixed .claude/agents/a.md
            1 note not shown; see them with -v
            --- exit 0
        "#]],
    );
    expect![[r#"
        ---
        name: a
        description: "Use this: always # really"
        x: 1
        ---
        Do  it.

    "#]]
    .assert_eq(&project.read(".claude/agents/a.md"));
}

#[test]
fn a_fix_changes_nothing_in_the_definition() {
    for (name, text) in [
        ("crlf", "---\r\nname: a\r\ndescription: Use: this\r\n---\r\nDo it.\r\n"),
        ("closer", "---\nname: a\ndescription: d\n\nDo it.\n"),
        ("opener", "name: a\ndescription: d\n---\nDo it.\n"),
        ("fence", "```md\n---\nname: a\ndescription: d\n---\nDo it.\n```\n"),
        (
            "example",
            "---\nname: a\ndescription: Like\n<example>\nuser: hi\n</example>\ntools: Read\n---\nDo it.\n",
        ),
        ("mark", "\u{feff}---\nname: a\ndescription: \"a \"b\" c\"\n---\nDo it.\n"),
        ("tools", "---\nname: a\ndescription: d\ntools: Read, *\n---\nDo it.\n"),
    ] {
        let project = project();
        project.write(".claude/agents/a.md", text);
        let before = json(&project, &["show", "a", "--json"]);
        assert!(project.run(&["check", "--fix", "."]).code == 0, "{name}");
        let after = json(&project, &["show", "a", "--json"]);
        let without_problems = |mut shown: serde_json::Value| {
            shown["problems"] = serde_json::Value::Null;
            shown
        };
        let text = project.read(".claude/agents/a.md");
        assert_eq!(without_problems(before), without_problems(after), "{name}: {text}");
        let again = json(&project, &["check", "--json", "."]);
        assert_eq!((&again["errors"], &again["warnings"]), (&0.into(), &0.into()), "{name} {again}");
    }
}

#[test]
fn nothing_but_the_broken_value_changes() {
    let project = project();
    project.write(
        ".claude/agents/a.md",
        "---\r\nname:   a\r\ndescription: Use: this\r\n# note\r\n---\r\n\r\nDo it. \r\n",
    );
    project.run(&["check", "--fix", "."]);
    let expected = "---\r\nname:   a\r\ndescription: \"Use: this\"\r\n# note\r\n---\r\n\r\nDo it. \r\n";
    assert_eq!(project.read(".claude/agents/a.md"), expected);
}

#[test]
fn counts_account_for_every_file() {
    let project = project();
    project
        .write(".claude/agents/good.md", agent("good", ""))
        .write(".claude/agents/README.md", "# Agents\n")
        .write(".claude/agents/bad.md", agent("bad", "tools: {{{\n"))
        .write(".claude/skills/x/SKILL.md", "---\nname: x\ndescription: d\n---\n")
        .write("docs/a.md", "prose\n")
        .write("node_modules/x/agents/a.md", agent("hidden", ""))
        .write("agents.json", r#"{"one": {"description": "d", "prompt": "p"}, "two": {}}"#);
    let counts = json(&project, &["check", "--json", "."]);
    let numbers: Vec<_> = ["files", "agents", "not_agents", "rejected", "errors", "warnings"]
        .map(|key| counts[key].clone())
        .to_vec();
    assert_eq!(serde_json::json!(numbers), serde_json::json!([6, 2, 3, 2, 3, 0]), "{counts:#}");
}

#[test]
fn strict_fails_on_warnings() {
    let project = project();
    project.write(".claude/agents/a.md", agent("a", "tools: [Read, vscodeAPI]\n"));
    assert_eq!(project.run(&["check", "."]).code, 0);
    assert_eq!(project.run(&["check", "--strict", "."]).code, 3);
}

#[test]
fn the_starters_pass_strictly() {
    let project = project();
    assert_eq!(project.run(&["init"]).code, 0);
    check(
        &project,
        &["check", "--strict", ".posse"],
        &expect![[r#"
        --- stdout
        3 files read, 3 agents, 0 errors, 0 warnings
        --- exit 0
    "#]],
    );
}

#[test]
fn a_name_twice_in_one_directory_names_both_files() {
    let project = project();
    project
        .write(".claude/agents/one.md", agent("same", ""))
        .write(".claude/agents/two.md", agent("Same", ""));
    check(
        &project,
        &["check"],
        &expect![[r#"
            --- stdout
            2 files read, 2 agents, 1 error, 1 warning
            --- stderr
            warning[duplicate-name]: `same` is defined twice in one place: .claude/agents/one.md comes before .claude/agents/two.md
            --> .claude/agents/one.md
             = help: rename or remove one of the two

            error[duplicate-name]: `same` is defined twice in one place: .claude/agents/one.md comes before .claude/agents/two.md
            --> .claude/agents/two.md
             = help: rename or remove one of the two

            --- exit 3
        "#]],
    );
    check(
        &project,
        &["check", ".claude"],
        &expect![[r#"
            --- stdout
            2 files read, 2 agents, 1 error, 1 warning
            --- stderr
            warning[duplicate-name]: `same` is defined twice in one place: .claude/agents/one.md comes before .claude/agents/two.md
            --> .claude/agents/one.md
             = help: rename or remove one of the two

            error[duplicate-name]: `same` is defined twice in one place: .claude/agents/one.md comes before .claude/agents/two.md
            --> .claude/agents/two.md
             = help: rename or remove one of the two

            --- exit 3
        "#]],
    );
}

#[test]
fn a_code_is_explained() {
    check(
        &project(),
        &["check", "--explain", "unknown-tool"],
        &expect![[r#"
        --- stdout
        unknown-tool (error)

        No tool known to Posse has this name. It is kept in the list and the agent does not run until it is corrected, since a list with a mistake in it never becomes a wider one.
        --- exit 0
    "#]],
    );
    check(
        &project(),
        &["check", "--explain", "unknwon-tool"],
        &expect![[r#"
        --- stderr
        error: unknown code `unknwon-tool`
        help: did you mean `unknown-tool`?
        --- exit 2
    "#]],
    );
}

#[test]
fn a_missing_path_is_a_usage_error() {
    check(
        &project(),
        &["check", "nowhere"],
        &expect![[r#"
        --- stderr
        error: nowhere is not there
        --- exit 2
    "#]],
    );
    check(
        &project(),
        &["check", "nowhere", "--json"],
        &expect![[r#"
        --- stdout
        {
          "error": {
            "kind": "usage",
            "message": "nowhere is not there",
            "help": null
          },
          "problems": []
        }
        --- exit 2
    "#]],
    );
}

#[test]
fn taking_off_a_fence_keeps_mixed_line_ends() {
    let project = project();
    project.write(
        ".claude/agents/a.md",
        "```md\r\n---\nname: a\r\ndescription: d\n---\r\nDo\rit.\n\r\nNow.\n```\r\n",
    );
    assert_eq!(project.run(&["check", "--fix", "."]).code, 0);
    let expected = "---\nname: a\r\ndescription: d\n---\r\nDo\rit.\n\r\nNow.\n";
    assert_eq!(project.read(".claude/agents/a.md"), expected);
}

#[test]
fn a_link_stays_a_link_when_its_file_is_fixed() {
    let project = project();
    project
        .write("real.md", "---\nname: a\ndescription: Use: it\n---\nDo it.\n")
        .write(".claude/agents/x", "");
    std::os::unix::fs::symlink("../../real.md", project.path(".claude/agents/a.md")).expect("a link");
    assert_eq!(project.run(&["check", "--fix", ".claude"]).code, 0);
    assert!(project.path(".claude/agents/a.md").is_symlink());
    assert_eq!(project.read("real.md"), "---\nname: a\ndescription: \"Use: it\"\n---\nDo it.\n");
}

#[test]
fn a_file_with_another_error_is_left_and_says_so() {
    let project = project();
    project.write(".claude/agents/a.md", agent("a", "color: #fff\nenabled: maybe\n"));
    check(
        &project,
        &["check", "--fix", "."],
        &expect![[r##"
        --- stdout
        1 file read, 0 agents, 1 rejected, 1 error, 1 warning
        --- stderr
        left .claude/agents/a.md: correct its errors first
        warning[comment-cut]: ` #` cuts the color short in YAML
         --> .claude/agents/a.md:4:8
          |
        4 | color: #fff
          |        ^^^^
          |
          = help: write color: "#fff"

        error[bad-capability]: `enabled` takes true or false, not `maybe`
         --> .claude/agents/a.md:5:10
          |
        5 | enabled: maybe
          |          ^^^^^
          |
          = help: correct it; guessing could give the agent more than its author wrote

        --- exit 3
    "##]],
    );
}

#[test]
fn a_file_that_is_named_is_answered() {
    let project = project();
    project.write("x.md", "---\nname: x\ndescripton: typo\n---\nDo it.\n").write("prose.md", "# Prose\n");
    check(
        &project,
        &["check", "x.md"],
        &expect![[r#"
        --- stdout
        1 file read, 0 agents, 1 rejected, 1 error, 0 warnings
        --- stderr
        error[missing-description]: the agent has no description
         --> x.md:1:1
          |
        1 | ---
          | ^^^
          |
          = help: did you mean `description` by `descripton`?

        info[unknown-key]: unknown key `descripton`
         --> x.md:3:1
          |
        3 | descripton: typo
          | ^^^^^^^^^^
          |
          = help: did you mean `description`?

        --- exit 3
    "#]],
    );
    check(
        &project,
        &["check", "prose.md"],
        &expect![[r#"
            --- stdout
            1 file read, 0 agents, 1 not an agent, 0 errors, 0 warnings
            --- stderr
            prose.md: not an agent: it has no frontmatter
            --- exit 0
        "#]],
    );
}

#[test]
fn much_in_one_line_is_said_in_bounded_time() {
    let project = project();
    let entries: Vec<String> = (0..4000).map(|index| format!("\"a{index}\":{{}}")).collect();
    project.write("agents.json", format!("{{{}}}", entries.join(",")));
    let finished = project.run(&["check"]);
    assert_eq!(finished.code, 3);
    assert!(finished.stdout.contains("4000 rejected"), "{}", finished.stdout);
}
