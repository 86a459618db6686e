//! Layering, and what a project may not do.

use expect_test::{Expect, expect};

use super::Config;
use crate::places::Places;
use crate::trust::{Item, Trust};

/// Writes the three files, trusts the project's or not, and prints settings and problems.
fn check((user, project, managed): (&str, &str, &str), trusted: bool, expected: &Expect) {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path();
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("created");
        std::fs::write(path, text).expect("written");
    };
    write("home/.config/posse/config.toml", user);
    write("project/.posse/config.toml", project);
    write("etc/config.toml", managed);
    let home = root.join("home");
    let mut places =
        Places::from_variables(root.join("project"), |name| (name == "HOME").then(|| home.clone().into()));
    places.managed = root.join("etc");
    let state = root.join("state");
    if trusted {
        let item = Item::new(&root.join("project/.posse/config.toml"), None, project.as_bytes());
        Trust::record(&state, &[item]).expect("recorded");
    }
    let config = Config::load(&places, &Trust::load(Some(&state)).expect("loaded"), None);
    let mut out = String::new();
    for (key, setting) in config.settings() {
        out += &format!("{key} = {} ({:?}, line {})\n", setting.value, setting.layer, setting.line);
    }
    for problem in &config.problems {
        let line = problem.place.map_or(0, |place| place.line);
        let path = problem.path.as_deref().unwrap_or("").replace(&root.display().to_string(), "");
        out += &format!(
            "{} {}:{line} {} {}\n",
            problem.severity.as_str(),
            path,
            problem.message,
            problem.help.as_deref().unwrap_or("")
        );
    }
    expected.assert_eq(&out);
}

#[test]
fn the_operator_wins_over_the_project_and_that_over_the_person() {
    check(
        (
            "duplicates = \"shadow\"\ndefault_model = \"u\"\n[limits]\nturns = 9\n",
            "default_model = \"p\"\n[limits]\nturns = 5\n",
            "duplicates = \"reject\"\n",
        ),
        true,
        &expect![[r#"
            default_model = "p" (Project, line 1)
            duplicates = "reject" (Managed, line 1)
            limits.turns = 5 (Project, line 3)
        "#]],
    );
}

#[test]
fn an_untrusted_project_file_is_not_used_and_says_so() {
    check(
        ("", "default_model = \"p\"\n", ""),
        false,
        &expect![[r#"
            warning /project/.posse/config.toml:0 the project's configuration is not trusted and was not used look at it, then run `posse trust`
        "#]],
    );
}

#[test]
fn a_project_may_not_raise_a_limit_or_set_what_is_the_operators() {
    check(
        (
            "[limits]\ntimeout = \"2m\"\n",
            "[limits]\ntimeout = \"5m\"\n[rules.a]\nallow = [\"Bash\"]\n[ceilings]\nproject = \"read-only\"\n",
            "",
        ),
        true,
        &expect![[r#"
            limits.timeout = 120000 (User, line 2)
            error /project/.posse/config.toml:2 `limits.timeout` is above the limit in force a project may only lower a limit
            error /project/.posse/config.toml:4 `rules.a.allow` may not be set by a project set it in your own configuration; a project may not
            error /project/.posse/config.toml:6 `ceilings.project` may not be set by a project set it in your own configuration; a project may not
        "#]],
    );
}

#[test]
fn mistakes_are_reported_with_their_line() {
    check(
        (
            "duplicatse = \"reject\"\nstrict_models = \"yes\"\n[limits]\nturns = -1\n[providers.x]\napi = \"soap\"\n",
            "",
            "a = = 1\n",
        ),
        true,
        &expect![[r#"
            warning /home/.config/posse/config.toml:1 unknown key `duplicatse` did you mean `duplicates`?
            error /home/.config/posse/config.toml:2 `strict_models` takes true or false, not `yes` 
            error /home/.config/posse/config.toml:4 `limits.turns` takes a whole number above zero, not `-1` 
            error /home/.config/posse/config.toml:6 `providers.x.api` takes "anthropic" or "openai-chat" or "openai-responses" or "gemini" or "local", not `soap` 
            error /etc/config.toml:1 not valid TOML: extra `=`, expected nothing 
        "#]],
    );
}

#[test]
fn a_ceiling_is_read_part_by_part_and_a_scope_that_is_none_is_an_error() {
    check(
        (
            "[ceilings]\nplugin = \"read-only\"\n[ceilings.project]\ndeny = [\"Bash(curl *)\"]\npermission_modes = [\"plan\"]\nnetwork = \"none\"\n",
            "",
            "[ceilings.projct]\ndeny = [\"Bash\"]\n[ceilings.user]\npermission_modes = [\"yolo\"]\nisolation = \"sandbox\"\ntoolz = [\"Read\"]\n",
        ),
        true,
        &expect![[r#"
            ceilings.plugin = "read-only" (User, line 2)
            ceilings.project.deny = ["Bash(curl *)"] (User, line 4)
            ceilings.project.network = "none" (User, line 6)
            ceilings.project.permission_modes = ["plan"] (User, line 5)
            error /etc/config.toml:1 unknown key `ceilings.projct` did you mean `ceilings.project`?
            error /etc/config.toml:4 `ceilings.user.permission_modes` takes a list of some of default, acceptEdits, auto, dontAsk, bypassPermissions, plan, not a list 
            error /etc/config.toml:5 `ceilings.user.isolation` takes a list of some of none, landlock, sandbox, container, not `sandbox` 
            error /etc/config.toml:6 unknown key `ceilings.user.toolz` did you mean `ceilings.user.tools`?
        "#]],
    );
}
