//! Where agents are found: links, oddities, nested directories, Netclaw's pairs.

use std::os::unix::fs::symlink;

use expect_test::expect;

use crate::{agent, check, json, project};

#[test]
fn linked_directories_are_one_set_of_agents() {
    let project = project();
    project.write("~/.claude/agents/a.md", agent("a", "")).write("~/.config/crush/x", "");
    symlink(project.path("~/.claude/agents"), project.path("~/.config/crush/agents")).expect("a link");
    symlink(project.path("~/.claude/agents/a.md"), project.path("~/.claude/agents/b.md")).expect("a link");
    let list = json(&project, &["list", "--all", "--scope", "user", "--json"]);
    assert_eq!(list.as_array().map(Vec::len), Some(1), "{list:#}");
}

#[test]
fn loops_and_dead_links_are_reported_and_not_followed() {
    let project = project();
    project.write(".claude/agents/sub/a.md", agent("a", ""));
    symlink("..", project.path(".claude/agents/sub/up")).expect("a link");
    symlink("nowhere.md", project.path(".claude/agents/dead.md")).expect("a link");
    symlink("round.md", project.path(".claude/agents/round.md")).expect("a link");
    check(
        &project,
        &["list", "--scope", "project"],
        &expect![[r#"
            --- stdout
            NAME  SCOPE    DIALECT  MODEL  TOOLS  DESCRIPTION
            a     project  claude   -      any    Does a
            --- stderr
            warning[link-loop]: the link leads nowhere: Too many levels of symbolic links (os error 40)
            --> .claude/agents/round.md

            warning[link-loop]: the link leads back to a directory that contains it
            --> .claude/agents/sub/up

            warning[link-loop]: the link leads nowhere: No such file or directory (os error 2)
            --> .claude/agents/dead.md

            1 agent is not trusted yet; `posse trust` shows what that means and asks
            --- exit 0
        "#]],
    );
}

#[test]
fn a_pipe_is_reported_and_never_opened() {
    let project = project();
    project.write(".claude/agents/a.md", agent("a", ""));
    let made = std::process::Command::new("mkfifo").arg(project.path(".claude/agents/pipe.md")).status();
    assert!(made.is_ok_and(|status| status.success()));
    check(
        &project,
        &["list", "--scope", "project"],
        &expect![[r#"
            --- stdout
            NAME  SCOPE    DIALECT  MODEL  TOOLS  DESCRIPTION
            a     project  claude   -      any    Does a
            --- stderr
            error[unreadable]: not a regular file
            --> .claude/agents/pipe.md

            1 agent is not trusted yet; `posse trust` shows what that means and asks
            --- exit 0
        "#]],
    );
    check(
        &project,
        &["show", "--file", ".claude/agents/pipe.md"],
        &expect![[r#"
            --- stderr
            error: .claude/agents/pipe.md: not a regular file
            --- exit 3
        "#]],
    );
}

#[test]
fn the_nearest_directory_up_to_the_repository_root_wins() {
    let project = project();
    project
        .write(".git/HEAD", "")
        .write(".claude/agents/a.md", agent("a", "model: opus\n"))
        .write(".claude/agents/top.md", agent("top", ""))
        .write("sub/.claude/agents/a.md", agent("a", "model: haiku\n"))
        .write("sub/deep/x", "");
    let shown = json(&project, &["-C", "sub/deep", "show", "a", "--json"]);
    assert_eq!(shown["model"], "haiku");
    assert_eq!(json(&project, &["-C", "sub/deep", "show", "top", "--json"])["scope"], "project");
}

#[test]
fn without_a_repository_only_the_working_directory_counts() {
    let project = project();
    project.write(".claude/agents/a.md", agent("a", "")).write("sub/x", "");
    assert_eq!(project.run(&["-C", "sub", "show", "a"]).code, 3);
}

#[test]
fn the_home_directory_is_not_a_project() {
    let project = project();
    project.write("~/.claude/agents/a.md", agent("a", "")).write("~/.git/HEAD", "").write("~/x/y", "");
    let home = project.home().display().to_string();
    assert_eq!(json(&project, &["-C", &home, "show", "a", "--json"])["scope"], "user");
    assert_eq!(json(&project, &["-C", &format!("{home}/x"), "show", "a", "--json"])["scope"], "user");
}

#[test]
fn groups_of_nanoclaw_come_before_the_global_file() {
    let project = project();
    project.write(
        "groups/global/agents.json",
        r#"{"a": {"description": "global", "prompt": "p"}, "g": {"description": "g", "prompt": "p"}}"#,
    );
    project.write("groups/family/agents.json", r#"{"a": {"description": "group", "prompt": "p"}}"#);
    assert_eq!(json(&project, &["-C", "groups/family", "show", "a", "--json"])["description"], "group");
    assert_eq!(json(&project, &["-C", "groups/family", "show", "g", "--json"])["description"], "g");
}

#[test]
fn pairs_of_netclaw_are_read_together() {
    let project = project();
    let keys = r#"{"name": "NAME", "description": "d", "tools": ["file_read"]PROMPT}"#;
    let pair = |name: &str, prompt: &str| keys.replace("NAME", name).replace("PROMPT", prompt);
    project
        .write("~/.netclaw/agents/implied.json", pair("implied", ""))
        .write("~/.netclaw/agents/implied.md", "You are implied.\n")
        .write("~/.netclaw/agents/named.json", pair("named", r#", "promptFile": "prompts/n.md""#))
        .write("~/.netclaw/agents/prompts/n.md", "You are named.\n")
        .write("~/.netclaw/agents/inline.json", pair("inline", r#", "prompt": "You are inline.""#))
        .write("~/.netclaw/agents/missing.json", pair("missing", ""))
        .write("~/.netclaw/agents/outside.json", pair("outside", r#", "promptFile": "../../secret.md""#))
        .write("~/secret.md", "secret")
        .write("~/.netclaw/agents/newer.json", pair("newer", ""))
        .write("~/.netclaw/agents/newer.md", agent("newer", ""));
    check(
        &project,
        &["list", "--all", "--scope", "user"],
        &expect![[r#"
            --- stdout
            NAME     STATE     SCOPE  DIALECT  MODEL  TOOLS  DESCRIPTION
            implied  ready     user   netclaw  -      Read   d
            inline   ready     user   netclaw  -      Read   d
            missing  rejected  user   netclaw  -      -      ~/.netclaw/agents/missing.json: the prompt file `missing.md` is not there
            named    ready     user   netclaw  -      Read   d
            newer    ready     user   netclaw  -      any    Does newer
            outside  rejected  user   netclaw  -      -      ~/.netclaw/agents/outside.json: the prompt file `../../secret.md` is outside the directory of the definition
            --- stderr
            error[shadowed]: `newer.md` beside it is a definition of its own, which counts
            --> ~/.netclaw/agents/newer.json
             = help: remove the JSON file

            --- exit 0
        "#]],
    );
    for name in ["implied", "named", "inline"] {
        assert_eq!(json(&project, &["show", name, "--json"])["prompt"], format!("You are {name}."));
    }
    assert_eq!(json(&project, &["show", "newer", "--json"])["prompt"], "Do it.");
}

#[test]
fn plugins_of_claude_are_read_from_its_record() {
    let project = project();
    let record = r#"{"plugins": {"p@m": [{"installPath": "HOME/plugins/p"}], "off@m": [{"installPath": "HOME/plugins/off"}]}}"#;
    project
        .write(
            "~/.claude/plugins/installed_plugins.json",
            record.replace("HOME", &project.home().display().to_string()),
        )
        .write("~/.claude/settings.json", r#"{"enabledPlugins": {"off@m": false}}"#)
        .write("~/plugins/p/agents/a.md", agent("from-plugin", ""))
        .write("~/plugins/off/agents/b.md", agent("switched-off", ""));
    assert_eq!(json(&project, &["show", "from-plugin", "--json"])["scope"], "plugin");
    assert_eq!(project.run(&["show", "switched-off"]).code, 3);
}

#[test]
fn without_readable_settings_no_plugin_is_read() {
    let project = project();
    let record = r#"{"plugins": {"p@m": [{"installPath": "HOME/plugins/p"}]}}"#;
    project
        .write(
            "~/.claude/plugins/installed_plugins.json",
            record.replace("HOME", &project.home().display().to_string()),
        )
        .write("~/.claude/settings.json", r#"{"enabledPlugins": {"p@m": false},}"#)
        .write("~/plugins/p/agents/a.md", agent("from-plugin", ""));
    check(
        &project,
        &["list", "--scope", "plugin"],
        &expect![[r#"
        --- stdout
        NAME  SCOPE  DIALECT  MODEL  TOOLS  DESCRIPTION
        --- stderr
        error[broken-json]: not valid JSON: trailing comma at line 1 column 35; no plugin was read
        --> ~/.claude/settings.json

        no agents; `posse list --all` shows what is hidden, `posse init` writes three to start from
        --- exit 0
    "#]],
    );
}

#[test]
fn a_name_that_is_not_text_is_reported() {
    use std::os::unix::ffi::OsStrExt;
    let project = project();
    project.write(".claude/agents/a.md", agent("a", ""));
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
    std::fs::write(project.path(".claude/agents").join(name), agent("cafe", "")).expect("written");
    check(
        &project,
        &["check", "."],
        &expect![[r#"
        --- stdout
        1 file read, 1 agent, 1 error, 0 warnings
        --- stderr
        error[unreadable]: the name is not UTF-8; rename it
        --> ./.claude/agents/caf�.md

        --- exit 3
    "#]],
    );
    check(
        &project,
        &["list", "--scope", "project"],
        &expect![[r#"
        --- stdout
        NAME  SCOPE    DIALECT  MODEL  TOOLS  DESCRIPTION
        a     project  claude   -      any    Does a
        --- stderr
        error[unreadable]: the name is not UTF-8; rename it
        --> .claude/agents/caf�.md

        1 agent is not trusted yet; `posse trust` shows what that means and asks
        --- exit 0
    "#]],
    );
}

#[test]
fn a_project_cannot_claim_a_persons_agent() {
    let project = project();
    project.write("~/.claude/agents/explore.md", agent("explore", "tools: Read\ncallers: []\n"));
    project.write(".gemini/agents/x", "");
    symlink(project.path("~/.claude/agents/explore.md"), project.path(".gemini/agents/_x.md"))
        .expect("a link");
    let shown = json(&project, &["show", "explore", "--json"]);
    assert_eq!((&shown["scope"], &shown["tools"]), (&"user".into(), &serde_json::json!(["Read"])));
}

#[test]
fn a_plugin_of_another_project_is_not_read() {
    let project = project();
    let record = r#"{"plugins": {"p@m": [{"installPath": "HOME/plugins/p", "scope": "project", "projectPath": "/elsewhere"}]}}"#;
    project
        .write(
            "~/.claude/plugins/installed_plugins.json",
            record.replace("HOME", &project.home().display().to_string()),
        )
        .write("~/plugins/p/agents/a.md", agent("from-plugin", ""));
    assert_eq!(project.run(&["show", "from-plugin"]).code, 3);
}
