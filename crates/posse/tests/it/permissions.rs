//! What a run may do: rules of the definition, of the person and of a ceiling, call by call.

use expect_test::{Expect, expect};
use posse_testkit::Reply;
use serde_json::{Value, json};

use crate::lab::{Lab, of_type, results, value};

/// Looks at a secret in every way there is, then answers.
fn looks() -> Vec<Reply> {
    vec![
        Reply::calls(&[
            ("Read", json!({"file_path": "secrets/key.txt"})),
            ("Read", json!({"file_path": "src/../secrets/key.txt"})),
            ("Read", json!({"file_path": "link.txt"})),
            ("Grep", json!({"pattern": "canary", "output_mode": "content"})),
            ("Glob", json!({"pattern": "**/*.txt"})),
            ("LS", json!({"path": "."})),
        ]),
        Reply::text("Done."),
    ]
}

fn lab() -> Lab {
    let lab = Lab::new(looks());
    lab.project.write("secrets/key.txt", "canary in the mine\n");
    lab.project.write("src/a.txt", "canary in the open\n");
    std::os::unix::fs::symlink("secrets/key.txt", lab.project.work().join("link.txt")).expect("a link");
    lab
}

/// Runs the agent, and compares what the model was told and what the run says was denied.
fn check(lab: &Lab, expected: &Expect) {
    let finished = lab.run(&["run", "helper", "T", "--json"]);
    assert_eq!(finished.code, 0, "{}", finished.shown());
    let requests = lab.server.requests();
    let told = results(requests.last().expect("a request")).join("\n");
    assert!(!told.contains("in the mine"), "{told}");
    let work = lab.project.work();
    let root = work.parent().expect("a directory above").display().to_string();
    let denied = value(&finished)["denied"].clone();
    expected.assert_eq(&format!("{told}\n{denied:#}\n").replace(&root, "[ROOT]"));
}

#[test]
fn a_path_that_a_rule_denies_is_shown_by_no_tool() {
    let lab = lab();
    lab.agent("permissions:\n  deny:\n    - Read(secrets/**)\n");
    check(
        &lab,
        &expect![[r#"
            Not allowed: denied by `Read(secrets/**)` ([ROOT]/home/.config/posse/agents/helper.md:6). Go on without it, or say what you would need.
            Not allowed: denied by `Read(secrets/**)` ([ROOT]/home/.config/posse/agents/helper.md:6). Go on without it, or say what you would need.
            not allowed: it leads to a file that the rule Read(secrets/**) ([ROOT]/home/.config/posse/agents/helper.md:6) is about
            src/a.txt:1:canary in the open
            a.txt
            b.txt
            link.txt
            src/a.txt
            a.txt (13 bytes)
            b.txt (13 bytes)
            link.txt -> secrets/key.txt
            secrets/
            src/
            [
              {
                "tool": "Read",
                "input": {
                  "file_path": "secrets/key.txt"
                },
                "rule": "Read(secrets/**) ([HOME]/.config/posse/agents/helper.md:6)"
              },
              {
                "tool": "Read",
                "input": {
                  "file_path": "src/../secrets/key.txt"
                },
                "rule": "Read(secrets/**) ([HOME]/.config/posse/agents/helper.md:6)"
              }
            ]
        "#]],
    );
    let permissions: Vec<Value> = of_type(&lab.last_events(), "permission")
        .into_iter()
        .map(|event| event["data"]["by"].clone())
        .collect();
    assert_eq!(permissions, ["rule", "rule"]);
}

#[test]
fn what_is_asked_is_denied_where_nobody_is() {
    let lab = lab();
    lab.agent("permissions:\n  ask: [Read(secrets/**)]\n");
    check(
        &lab,
        &expect![[r#"
            Not allowed: asked about because of `Read(secrets/**)` ([ROOT]/home/.config/posse/agents/helper.md:5). Nobody is there to be asked. It would be allowed by the rule Read(/[ROOT]/work/secrets/key.txt). Go on without it, or say what you would need.
            Not allowed: asked about because of `Read(secrets/**)` ([ROOT]/home/.config/posse/agents/helper.md:5). Nobody is there to be asked. It would be allowed by the rule Read(/[ROOT]/work/secrets/key.txt). Go on without it, or say what you would need.
            not allowed: it leads to a file that the rule Read(secrets/**) ([ROOT]/home/.config/posse/agents/helper.md:5) is about
            src/a.txt:1:canary in the open
            a.txt
            b.txt
            link.txt
            src/a.txt
            a.txt (13 bytes)
            b.txt (13 bytes)
            link.txt -> secrets/key.txt
            secrets/
            src/
            [
              {
                "tool": "Read",
                "input": {
                  "file_path": "secrets/key.txt"
                },
                "rule": "Read(secrets/**) ([HOME]/.config/posse/agents/helper.md:5)"
              },
              {
                "tool": "Read",
                "input": {
                  "file_path": "src/../secrets/key.txt"
                },
                "rule": "Read(secrets/**) ([HOME]/.config/posse/agents/helper.md:5)"
              }
            ]
        "#]],
    );
}

#[test]
fn the_persons_own_rules_and_the_ceiling_hold_too() {
    let lab = lab();
    lab.agent("")
        .configure("[rules.helper]\ndeny = [\"Read(secrets/**)\"]\n[ceilings.user]\ndeny = [\"LS\"]\n");
    check(
        &lab,
        &expect![[r#"
            Not allowed: denied by `Read(secrets/**)` ([ROOT]/home/.config/posse/config.toml:8). Go on without it, or say what you would need.
            Not allowed: denied by `Read(secrets/**)` ([ROOT]/home/.config/posse/config.toml:8). Go on without it, or say what you would need.
            not allowed: it leads to a file that the rule Read(secrets/**) ([ROOT]/home/.config/posse/config.toml:8) is about
            src/a.txt:1:canary in the open
            a.txt
            b.txt
            link.txt
            src/a.txt
            There is no tool `LS`. The tools are: Read, Glob, Grep, TodoWrite, AttachFile.
            [
              {
                "tool": "Read",
                "input": {
                  "file_path": "secrets/key.txt"
                },
                "rule": "Read(secrets/**) ([HOME]/.config/posse/config.toml:8)"
              },
              {
                "tool": "Read",
                "input": {
                  "file_path": "src/../secrets/key.txt"
                },
                "rule": "Read(secrets/**) ([HOME]/.config/posse/config.toml:8)"
              }
            ]
        "#]],
    );
}
