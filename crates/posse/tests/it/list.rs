//! `posse list`.

use std::io::Read;
use std::process::Stdio;

use expect_test::expect;

use crate::{agent, check, json, project, repository};

#[test]
fn every_dialect_of_a_project_is_listed() {
    let project = project();
    let copy = std::process::Command::new("cp")
        .arg("-R")
        .arg(repository().join("examples/team/."))
        .arg(project.work())
        .status();
    assert!(copy.is_ok_and(|status| status.success()));
    check(
        &project,
        &["list", "--scope", "project"],
        &expect![[r#"
            --- stdout
            NAME           SCOPE    DIALECT   MODEL              TOOLS               DESCRIPTION
            docs-writer    project  opencode  -                  Read Grep Glob +4   Writes and corrects user documentation so that it matches the code
            fact-checker   project  nanoclaw  haiku              WebSearch WebFetch  Checks statements against public sources. Give it the statements as a list; it returns a verdict and a link for each.
            planner        project  copilot   Claude Sonnet 4.5  Grep Glob Read +1   Turns a feature request into a short plan of steps that can be reviewed, without changing code
            porter         project  codex     -                  any                 Moves code from one library, version or platform to another, one small step at a time.
            release-notes  project  posse     sonnet             Read Grep Bash      Writes release notes from the git history between two revisions. Name the two revisions in the task; the answer is JSON with one entry for each change that a user can see.
            reviewer       project  claude    sonnet             Read Grep Glob +1   Reviews the changes on the current branch for defects, missing tests and unclear names. Use it after a change and before a commit.
            web-search     project  jarvis    -                  any                 Looks one thing up on the web with curl and returns the answer with its address
            --- stderr
            7 agents are not trusted yet; `posse trust` shows what that means and asks
            --- exit 0
        "#]],
    );
    let list = json(&project, &["list", "--scope", "project", "--json"]);
    let rows: Vec<String> = list
        .as_array()
        .expect("an array")
        .iter()
        .map(|agent| {
            format!(
                "{} {} {} {} {} {}",
                agent["name"],
                agent["scope"],
                agent["dialect"],
                agent["tools"],
                agent["trusted"],
                agent["runnable"]
            )
        })
        .collect();
    expect![[r#"
        "docs-writer" "project" "opencode" ["Read","Grep","Glob","LS","Edit","Write","Bash"] false true
        "fact-checker" "project" "nanoclaw" ["WebSearch","WebFetch"] false true
        "planner" "project" "copilot" ["Grep","Glob","Read","WebFetch"] false true
        "porter" "project" "codex" null false true
        "release-notes" "project" "posse" ["Read","Grep","Bash"] false true
        "reviewer" "project" "claude" ["Read","Grep","Glob","Bash"] false true
        "web-search" "project" "jarvis" null false true"#]]
    .assert_eq(&rows.join("\n"));
}

#[test]
fn the_project_wins_and_all_shows_what_it_shadows() {
    let project = project();
    project
        .write(".claude/agents/a.md", agent("a", ""))
        .write(".posse/agents/b.md", agent("b", ""))
        .write(".claude/agents/b.md", agent("b", ""))
        .write("~/.claude/agents/a.md", agent("a", "model: opus\n"))
        .write(".claude/agents/off.md", agent("off", "enabled: false\n"))
        .write(".claude/agents/hidden.md", agent("hidden", "visibility: internal\n"))
        .write(".claude/agents/broken.md", agent("broken", "tools: {{{\n"));
    check(
        &project,
        &["list", "--scope", "project"],
        &expect![[r#"
            --- stdout
            NAME  SCOPE    DIALECT  MODEL  TOOLS  DESCRIPTION
            a     project  claude   -      any    Does a
            b     project  posse    -      any    Does b
            --- stderr
            2 agents are not trusted yet; `posse trust` shows what that means and asks
            1 definition is rejected; `posse check` says why, `posse list --all` shows which
            --- exit 0
        "#]],
    );
    check(
        &project,
        &["list", "--all", "--scope", "project"],
        &expect![[r#"
            --- stdout
            NAME    STATE      SCOPE    DIALECT  MODEL  TOOLS  DESCRIPTION
            a       untrusted  project  claude   -      any    Does a
            b       untrusted  project  posse    -      any    Does b
            b       shadowed   project  claude   -      any    Does b
            broken  rejected   project  claude   -      -      .claude/agents/broken.md: `tools` cannot be read: unclosed bracket '{'
            hidden  internal   project  claude   -      any    Does hidden
            off     disabled   project  claude   -      any    Does off
            --- stderr
            2 agents are not trusted yet; `posse trust` shows what that means and asks
            --- exit 0
        "#]],
    );
    check(
        &project,
        &["list", "--all", "--scope", "user"],
        &expect![[r#"
        --- stdout
        NAME  STATE     SCOPE  DIALECT  MODEL  TOOLS  DESCRIPTION
        a     shadowed  user   claude   opus   any    Does a
        --- exit 0
    "#]],
    );
    let list = json(&project, &["list", "--json"]);
    let first = list.as_array().and_then(|list| list.iter().find(|agent| agent["name"] == "a")).expect("a");
    assert_eq!(
        first["shadows"],
        serde_json::json!([{"scope": "user", "path": "[HOME]/.claude/agents/a.md"}])
    );
}

#[test]
fn a_broken_project_file_does_not_uncover_the_users() {
    let project = project();
    project
        .write(".claude/agents/a.md", agent("a", "tools: {{{\n"))
        .write("~/.claude/agents/a.md", agent("a", ""));
    let names = json(&project, &["list", "--json"]);
    assert!(names.as_array().expect("an array").iter().all(|agent| agent["name"] != "a"), "{names:#}");
    check(
        &project,
        &["show", "a"],
        &expect![[r#"
            --- stderr
            error[unreadable-capability]: `tools` cannot be read: unclosed bracket '{'
             --> .claude/agents/a.md:4:1
              |
            4 | tools: {{{
              | ^^^^^
              |
              = help: correct the YAML of `tools`; without it the agent could do more than its author wrote

            error: the definition of `a` cannot be used
            help: correct the file; another agent of that name is not taken instead
            --- exit 3
        "#]],
    );
}

#[test]
fn callers_see_what_admits_them() {
    let project = project();
    project
        .write("~/.claude/agents/a.md", agent("a", "callers: [lead]\n"))
        .write("~/.claude/agents/b.md", agent("b", ""));
    let names = |arguments: &[&str]| {
        let list = json(&project, arguments);
        let list = list
            .as_array()
            .expect("an array")
            .iter()
            .map(|agent| agent["name"].as_str().expect("a name").to_owned());
        list.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(names(&["list", "--scope", "user", "--json"]), "a b");
    assert_eq!(names(&["list", "--scope", "user", "--json", "--caller", "main"]), "b");
    assert_eq!(names(&["list", "--scope", "user", "--json", "--caller", "lead"]), "a b");
}

#[test]
fn agents_come_from_the_command_line() {
    let project = project();
    let agents = r#"{"x": {"description": "d", "prompt": "p", "tools": ["Read"]}, "bad": {"prompt": 3}}"#;
    check(
        &project,
        &["--agents", agents, "list", "--all", "--scope", "cli"],
        &expect![[r#"
        --- stdout
        NAME  STATE     SCOPE  DIALECT  MODEL  TOOLS  DESCRIPTION
        bad   rejected  cli    claude   -      -      --agents: the agent has no description
        x     ready     cli    claude   -      Read   d
        --- exit 0
    "#]],
    );
    project.write("agents-of-mine.json", agents);
    check(
        &project,
        &["--agents", "@agents-of-mine.json", "list", "--scope", "cli"],
        &expect![[r#"
            --- stdout
            NAME  SCOPE  DIALECT  MODEL  TOOLS  DESCRIPTION
            x     cli    claude   -      Read   d
            --- stderr
            1 definition is rejected; `posse check` says why, `posse list --all` shows which
            --- exit 0
        "#]],
    );
    check(
        &project,
        &["--agents", "@nowhere.json", "list"],
        &expect![[r#"
        --- stderr
        error: --agents: nowhere.json: No such file or directory (os error 2)
        --- exit 2
    "#]],
    );
    check(
        &project,
        &["--agents", "[]", "list", "--scope", "cli"],
        &expect![[r#"
            --- stderr
            error: --agents: not a JSON object
            help: write {"name": {"description": …, "prompt": …}}
            --- exit 3
        "#]],
    );
    check(
        &project,
        &["--agents", "{}", "list", "--scope", "cli"],
        &expect![[r#"
            --- stdout
            NAME  SCOPE  DIALECT  MODEL  TOOLS  DESCRIPTION
            --- stderr
            no agents; `posse list --all` shows what is hidden, `posse init` writes three to start from
            --- exit 0
        "#]],
    );
}

#[test]
fn verbose_says_how_many_came_from_where() {
    let project = project();
    project.write(".claude/agents/a.md", agent("a", "")).write("~/.config/posse/agents/b.md", agent("b", ""));
    check(
        &project,
        &["list", "-v", "--scope", "user"],
        &expect![[r#"
        --- stdout
        NAME  SCOPE  DIALECT  MODEL  TOOLS  DESCRIPTION
        b     user   posse    -      any    Does b
        --- stderr
            1 from .claude/agents (project)
            1 from ~/.config/posse/agents (user)
            6 from builtin (builtin)
        --- exit 0
    "#]],
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let project = project();
    let mut child = project
        .command(&["list", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    drop(child.stdout.take());
    let status = child.wait().expect("it ends");
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
    assert!(status.success() && stderr.is_empty(), "{status} {stderr}");
}

#[test]
fn mistakes_on_the_command_line_are_usage_errors() {
    let project = project();
    check(
        &project,
        &["lsit"],
        &expect![[r#"
        --- stderr
        error: unrecognized subcommand 'lsit'

          tip: a similar subcommand exists: 'list'

        Usage: posse [OPTIONS] <COMMAND>

        For more information, try '--help'.
        --- exit 2
    "#]],
    );
    check(
        &project,
        &["list", "--scope", "projct"],
        &expect![[r#"
            --- stderr
            error: invalid value 'projct' for '--scope <SCOPE>'
              [possible values: managed, cli, project, user, plugin, builtin]

              tip: a similar value exists: 'project'

            For more information, try '--help'.
            --- exit 2
        "#]],
    );
    check(
        &project,
        &["list", "--nope", "--json"],
        &expect![[r#"
            --- stdout
            {
              "error": {
                "kind": "usage",
                "message": "unexpected argument '--nope' found",
                "help": "a similar argument exists: '--scope'"
              },
              "problems": []
            }
            --- exit 2
        "#]],
    );
    check(
        &project,
        &["-C", "nowhere", "list"],
        &expect![[r#"
        --- stderr
        error: -C: nowhere is not a directory
        --- exit 2
    "#]],
    );
}
