//! `posse run` where it may not or cannot begin: trust, callers, keys, definitions. Nothing is asked or stored.

use expect_test::{Expect, expect};
use posse_testkit::Reply;
use serde_json::{Value, json};

use crate::lab::{CLAUDE, Lab, finish, value};
use crate::{agent, project};

/// Checks what is said, that programs are told the same in JSON, and that nothing was begun.
fn check(lab: &Lab, arguments: &[&str], expected: &Expect) {
    let finished = lab.run(arguments);
    expected.assert_eq(&finished.shown());
    for form in [&["--json"][..], &["--output", "json"], &["--output", "stream-json"]] {
        let failed = lab.run(&[arguments, form].concat());
        let told = value(&failed);
        assert_eq!(failed.code, finished.code, "{form:?}: {}", failed.shown());
        if form.contains(&"stream-json") {
            assert_eq!(failed.stdout.lines().count(), 1, "a stream has one value a line");
        }
        let mut keys: Vec<&str> =
            told["error"].as_object().expect("an error").keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, ["help", "kind", "message"], "{form:?}");
        let message = told["error"]["message"].as_str().expect("a message");
        assert!(finished.stderr.contains(message), "{form:?}: {message}");
    }
    assert!(lab.runs().is_empty(), "no run is stored");
    assert_eq!(lab.server.requests().len(), 0, "nobody is asked");
}

fn lab() -> Lab {
    Lab::new(vec![])
}

#[test]
fn an_untrusted_agent_is_refused() {
    let lab = lab();
    lab.project.write(".claude/agents/a.md", agent("a", ""));
    check(
        &lab,
        &["run", "a", "T"],
        &expect![[r#"
            --- stderr
            error: `a` (.claude/agents/a.md) is not trusted
            help: look at it, then run `posse trust`
            --- exit 7
        "#]],
    );
    assert_eq!(lab.run(&["run", "a", "T"]).code, 7);
}

#[test]
fn a_trusted_agent_runs() {
    let lab = Lab::new(vec![Reply::text("Done.")]);
    lab.project.write(".claude/agents/a.md", agent("a", ""));
    assert_eq!(lab.run(&["trust", "--yes"]).code, 0);
    let finished = lab.run(&["run", "a", "T"]);
    assert_eq!((finished.stdout.as_str(), finished.code), ("Done.\n", 0), "{}", finished.shown());
}

#[test]
fn an_unknown_agent_is_refused_with_the_nearest() {
    check(
        &lab(),
        &["run", "helpr", "T"],
        &expect![[r#"
            --- stderr
            error: there is no agent `helpr`
            help: did you mean `helper`?
            --- exit 3
        "#]],
    );
}

#[test]
fn a_caller_that_is_not_admitted_is_refused() {
    let lab = lab();
    lab.agent(&format!("model: {CLAUDE}\ncallers: [main]\n"));
    check(
        &lab,
        &["run", "helper", "T", "--caller", "other"],
        &expect![[r#"
            --- stderr
            error: `helper` does not admit the caller `other`
            help: its `callers` say who may start it
            --- exit 7
        "#]],
    );
}

#[test]
fn an_agent_that_is_switched_off_is_refused() {
    let lab = lab();
    lab.agent(&format!("model: {CLAUDE}\nenabled: false\n"));
    check(
        &lab,
        &["run", "helper", "T"],
        &expect![[r#"
            --- stderr
            error: `helper` is switched off
            help: remove `enabled: false` from its definition
            --- exit 3
        "#]],
    );
}

#[test]
fn a_broken_definition_is_refused_with_its_lines() {
    let lab = lab();
    lab.agent("tools: Read, Grpe\n");
    check(
        &lab,
        &["run", "helper", "T"],
        &expect![[r#"
            --- stderr
            error[unknown-tool]: tool `Grpe` is not known
             --> ~/.config/posse/agents/helper.md:4:14
              |
            4 | tools: Read, Grpe
              |              ^^^^
              |
              = help: did you mean `Grep`?

            error: `helper` has errors and does not run
            help: correct the file as its lines say
            --- exit 3
        "#]],
    );
}

#[test]
fn an_output_schema_that_is_none_is_refused() {
    let lab = lab();
    lab.agent("output:\n  schema: {type: objekt}\n");
    check(
        &lab,
        &["run", "helper", "T"],
        &expect![[r#"
            --- stderr
            error[bad-schema]: the output schema is not valid: "objekt" is not valid under any of the schemas listed in the 'anyOf' keyword
             --> ~/.config/posse/agents/helper.md:5:11
              |
            5 |   schema: {type: objekt}
              |           ^^^^^^^^^^^^^^

            error: `helper` has errors and does not run
            help: correct the file as its lines say
            --- exit 3
        "#]],
    );
}

#[test]
fn a_model_that_nobody_knows_is_refused() {
    check(
        &lab(),
        &["run", "helper", "T", "--model", "nobody/knows"],
        &expect![[r#"
            --- stderr
            error: the provider of `nobody/knows` (from --model) is not configured
            help: add [providers.nobody] with `api`, `base_url` and `api_key_env` to your configuration, or use one of anthropic, openai, gemini, openrouter, ollama, lmstudio, llamacpp, lab
            --- exit 3
        "#]],
    );
    check(
        &lab(),
        &["run", "helper", "T", "--model", "unheard-of"],
        &expect![[r#"
            --- stderr
            error: the model `unheard-of` (from --model) is not known
            help: write it as `provider/model`, or give it a meaning in [models] of your configuration
            --- exit 3
        "#]],
    );
}

#[test]
fn an_engine_that_is_not_here_is_refused() {
    check(
        &lab(),
        &["run", "helper", "T", "--engine", "codex"],
        &expect![[r#"
            --- stderr
            error: engine `codex` (from --engine) is not available here
            help: use `native`, the only engine there is
            --- exit 3
        "#]],
    );
}

#[test]
fn isolation_that_is_not_here_is_refused() {
    let lab = lab();
    lab.agent(&format!("model: {CLAUDE}\nisolation: container\n"));
    check(
        &lab,
        &["run", "helper", "T"],
        &expect![[r#"
            --- stderr
            error: isolation `container` is not available here
            help: remove `isolation`, or write `isolation: none`
            --- exit 7
        "#]],
    );
}

#[test]
fn a_missing_key_is_named() {
    for (model, variable) in [
        ("anthropic/claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("openai/gpt-5.1", "OPENAI_API_KEY"),
        ("gemini/gemini-2.5-pro", "GEMINI_API_KEY"),
        ("lab/scripted-large", "LAB_KEY"),
    ] {
        let lab = lab();
        let mut command = lab.command(&["run", "helper", "T", "--model", model, "--json"]);
        command.env_remove(variable);
        let finished = finish(&lab.project, command);
        let error = value(&finished)["error"].clone();
        assert_eq!((finished.code, &error["kind"]), (3, &json!("definition")), "{}", finished.shown());
        let wanted = format!("`{model}` (from --model) needs a key: {variable} is not set");
        assert_eq!(error["message"], json!(wanted));
        assert!(error["help"].as_str().is_some_and(|help| help.contains(variable)), "{error}");
        assert!(lab.runs().is_empty());
        assert_eq!(lab.server.requests().len(), 0);
    }
}

#[test]
fn options_that_make_no_sense_are_mistakes_on_the_command_line() {
    let lab = lab();
    for option in [
        ["--timeout", "soon"],
        ["--timeout", "0"],
        ["--max-turns", "0"],
        ["--max-turns", "-1"],
        ["--budget-usd", "0"],
        ["--budget-usd", "nan"],
        ["--permission-mode", "yolo"],
        ["--output", "xml"],
    ] {
        let finished = lab.run(&[&["run", "helper", "T"], &option[..]].concat());
        assert_eq!(finished.code, 2, "{option:?}: {}", finished.shown());
        let finished = lab.run(&[&["run", "helper", "T", "--json"], &option[..]].concat());
        let told: Value = value(&finished);
        assert_eq!((finished.code, &told["error"]["kind"]), (2, &json!("usage")), "{option:?}");
    }
}

#[test]
fn a_tier_whose_vendor_has_no_key_is_replaced_aloud_or_refused() {
    let lab = Lab::with("sonnet", posse_testkit::Script::in_order(vec![Reply::text("Done.")]));
    let command = |arguments: &[&str]| {
        let mut command = lab.command(arguments);
        command.env_remove("ANTHROPIC_API_KEY").env_remove("GEMINI_API_KEY");
        command
    };
    let finished = finish(&lab.project, command(&["run", "helper", "T"]));
    assert_eq!((finished.stdout.as_str(), finished.code), ("Done.\n", 0), "{}", finished.shown());
    assert!(finished.stderr.contains("`sonnet` (from definition) is Anthropic's"), "{}", finished.shown());
    lab.project.write("~/.config/posse/config.toml", "strict_models = true\n");
    let refused = finish(&lab.project, command(&["run", "helper", "T"]));
    assert_eq!(refused.code, 3, "{}", refused.shown());
    assert!(refused.stderr.contains("ANTHROPIC_API_KEY"), "{}", refused.shown());
}

#[test]
fn without_a_home_there_is_nowhere_to_keep_a_run() {
    let project = project();
    let mut command = project.command(&[
        "run",
        "x",
        "T",
        "--agents",
        r#"{"x": {"description": "d", "prompt": "p", "model": "anthropic/claude-sonnet-4-5"}}"#,
    ]);
    command.env_remove("HOME").env("ANTHROPIC_API_KEY", "sk-fake-12345678");
    let finished = finish(&project, command);
    assert_eq!(finished.code, 2, "{}", finished.shown());
    assert!(finished.stderr.contains("POSSE_HOME"), "{}", finished.shown());
}
