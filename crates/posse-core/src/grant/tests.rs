//! Ceilings: what is left out with a warning, and what is refused.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{Ceiling, SCOPES};
use crate::definition::{Definition, Dialect};
use crate::plan::{Choice, Setting, Settings};

fn settings(rows: &[(&str, Value)]) -> Settings {
    let setting = |(index, (key, value)): (usize, &(&str, Value))| {
        let from = format!("/etc/posse/config.toml:{}", index + 1);
        ((*key).to_owned(), Setting { value: value.clone(), from })
    };
    Settings(rows.iter().enumerate().map(setting).collect())
}

/// What a ceiling leaves of a plan, one line for each thing it has an opinion about.
fn check(scope: &'static str, rows: &[(&str, Value)], expected: &Expect) {
    let ceiling = Ceiling::of(scope, &settings(rows));
    let mut said = Vec::new();
    let mut definition = Definition::new("a", "b", Dialect::Posse);
    definition.hooks = Some(json!({"Stop": []}));
    definition.env = Some(json!(["TOKEN"]));
    let held = ceiling.leave_out(&definition, &mut said);
    said.push(format!("hooks {}, env {}", held.hooks.is_some(), held.env.is_some()));
    let mut tools: Vec<Choice<String>> = ["Read", "WebFetch", "Bash", "mcp__db__query"]
        .map(|tool| Choice::new(tool.to_owned(), "a.md:3"))
        .into();
    ceiling.limit_tools(&mut tools, &mut said);
    let refusal = |result: Result<(), crate::plan::Refusal>| match result {
        Ok(()) => "ok".to_owned(),
        Err(refusal) => format!("{} [{}]", refusal.message, refusal.help.unwrap_or_default()),
    };
    let word = |word: &str| Choice::new(word.to_owned(), "a.md:4");
    for mode in ["default", "bypassPermissions"] {
        said.push(format!("{mode}: {}", refusal(ceiling.check_mode(&word(mode)))));
    }
    said.push(format!("codex: {}", refusal(ceiling.check_engine(&word("codex")))));
    said.push(format!("none: {}", refusal(ceiling.check_isolation(&word("none")))));
    for network in [json!("full"), json!(["a.example"]), json!("none")] {
        let shown = network.to_string();
        said.push(format!("{shown}: {}", refusal(ceiling.check_network(&Choice::new(network, "a.md:5")))));
    }
    for is_asked_for in [true, false] {
        let mut budget = Some(Choice::new(3.0, "a.md:6"));
        let result = ceiling.limit_budget(&mut budget, is_asked_for);
        let left = budget
            .map_or_else(|| "none".to_owned(), |budget| format!("{} from {}", budget.value, budget.from));
        said.push(format!("3 USD: {}; {left}", refusal(result)));
    }
    expected.assert_eq(&format!("{}\n", said.join("\n")));
}

#[test]
fn what_a_person_wrote_for_themselves_has_no_ceiling() {
    check(
        "user",
        &[],
        &expect![[r#"
        hooks true, env true
        default: ok
        bypassPermissions: ok
        codex: ok
        none: ok
        "full": ok
        ["a.example"]: ok
        "none": ok
        3 USD: ok; 3 from a.md:6
        3 USD: ok; 3 from a.md:6
    "#]],
    );
}

#[test]
fn a_project_may_not_go_without_asking() {
    check(
        "project",
        &[],
        &expect![[r#"
            hooks true, env true
            default: ok
            bypassPermissions: permission mode `bypassPermissions` (from a.md:4) is beyond the ceiling of project agents (the default) [allowed: default, acceptEdits, auto, dontAsk, plan]
            codex: ok
            none: ok
            "full": ok
            ["a.example"]: ok
            "none": ok
            3 USD: ok; 3 from a.md:6
            3 USD: ok; 3 from a.md:6
        "#]],
    );
}

#[test]
fn a_plugin_brings_no_hooks() {
    check(
        "plugin",
        &[],
        &expect![[r#"
            `hooks` counts for nothing in plugin agents
            hooks false, env true
            default: ok
            bypassPermissions: permission mode `bypassPermissions` (from a.md:4) is beyond the ceiling of plugin agents (the default) [allowed: default, acceptEdits, auto, dontAsk, plan]
            codex: ok
            none: ok
            "full": ok
            ["a.example"]: ok
            "none": ok
            3 USD: ok; 3 from a.md:6
            3 USD: ok; 3 from a.md:6
        "#]],
    );
}

#[test]
fn what_a_model_defined_only_looks() {
    check(
        "defined",
        &[],
        &expect![[r#"
            `hooks` counts for nothing in defined agents
            `env` counts for nothing in defined agents
            hooks false, env false
            the agent runs without `Bash` (from a.md:3): beyond the ceiling of defined agents (the default)
            the agent runs without `mcp__db__query` (from a.md:3): beyond the ceiling of defined agents (the default)
            default: ok
            bypassPermissions: permission mode `bypassPermissions` (from a.md:4) is beyond the ceiling of defined agents (the default) [allowed: default]
            codex: ok
            none: ok
            "full": ok
            ["a.example"]: ok
            "none": ok
            3 USD: ok; 3 from a.md:6
            3 USD: ok; 3 from a.md:6
        "#]],
    );
}

#[test]
fn each_part_is_held_with_its_line() {
    let rows = [
        ("ceilings.user.budget_usd", json!(1.5)),
        ("ceilings.user.engines", json!(["native"])),
        ("ceilings.user.isolation", json!(["sandbox"])),
        ("ceilings.user.network", json!(["a.example", "b.example"])),
        ("ceilings.user.permission_modes", json!(["plan"])),
        ("ceilings.user.tools", json!(["Read", "mcp__db__*"])),
    ];
    check(
        "user",
        &rows,
        &expect![[r#"
            hooks true, env true
            the agent runs without `WebFetch` (from a.md:3): beyond the ceiling of user agents (/etc/posse/config.toml:6)
            the agent runs without `Bash` (from a.md:3): beyond the ceiling of user agents (/etc/posse/config.toml:6)
            default: permission mode `default` (from a.md:4) is beyond the ceiling of user agents (/etc/posse/config.toml:5) [allowed: plan]
            bypassPermissions: permission mode `bypassPermissions` (from a.md:4) is beyond the ceiling of user agents (/etc/posse/config.toml:5) [allowed: plan]
            codex: engine `codex` (from a.md:4) is beyond the ceiling of user agents (/etc/posse/config.toml:2) [allowed: native]
            none: isolation `none` (from a.md:4) is beyond the ceiling of user agents (/etc/posse/config.toml:3) [allowed: sandbox]
            "full": network "full" (from a.md:5) is beyond the ceiling of user agents (/etc/posse/config.toml:4) [allowed: a.example, b.example]
            ["a.example"]: ok
            "none": ok
            3 USD: a budget of 3 USD (from a.md:6) is beyond the ceiling of user agents (/etc/posse/config.toml:1) [allowed: 1.5 USD]; 3 from a.md:6
            3 USD: ok; 1.5 from /etc/posse/config.toml:1
        "#]],
    );
}

#[test]
fn a_preset_and_a_table_both_hold() {
    let rows = [("ceilings.user", json!("read-only-web")), ("ceilings.user.tools", json!(["Read", "Bash"]))];
    check(
        "user",
        &rows,
        &expect![[r#"
            hooks true, env true
            the agent runs without `Bash` (from a.md:3): beyond the ceiling of user agents (/etc/posse/config.toml:1)
            the agent runs without `mcp__db__query` (from a.md:3): beyond the ceiling of user agents (/etc/posse/config.toml:1)
            the agent runs without `WebFetch` (from a.md:3): beyond the ceiling of user agents (/etc/posse/config.toml:2)
            default: ok
            bypassPermissions: permission mode `bypassPermissions` (from a.md:4) is beyond the ceiling of user agents (/etc/posse/config.toml:1) [allowed: default, dontAsk, plan]
            codex: ok
            none: ok
            "full": ok
            ["a.example"]: ok
            "none": ok
            3 USD: ok; 3 from a.md:6
            3 USD: ok; 3 from a.md:6
        "#]],
    );
}

#[test]
fn every_scope_has_a_ceiling() {
    for scope in SCOPES {
        Ceiling::of(scope, &Settings::default());
    }
}
