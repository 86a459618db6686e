//! `posse plan`: everything that would be decided, each with where it came from; nothing is run.

use expect_test::expect;
use serde_json::json;

use crate::lab::{CLAUDE, Lab, PROMPT, finish, value};

/// The table's columns are as wide as their longest line, which holds a port; one space stands for many.
fn steady(lab: &Lab, text: &str) -> String {
    let text = text.replace(&lab.server.url(), "[URL]");
    let text = text.replace(&format!("platform: {}", std::env::consts::OS), "platform: [OS]");
    let date = text.lines().find_map(|line| line.strip_prefix("date: ")).unwrap_or("no date").to_owned();
    let one_space = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace(&date, "[DATE]").lines().map(one_space).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn every_choice_is_shown_with_where_it_came_from() {
    let lab = Lab::new(vec![]);
    lab.configure("[limits]\nstall = \"30s\"\nturns = 7\n");
    lab.agent(&format!(
        "model: {CLAUDE}\neffort: high\ntools: Read, Grep\ntimeout: 90s\ncontext_files: [NOTES.md]\n"
    ));
    lab.project.write("NOTES.md", "Be kind.\n");
    let planned = lab.run(&["plan", "helper", "Do it.", "--max-turns", "3", "--context", "Late."]);
    assert_eq!((planned.code, planned.stderr.as_str()), (0, ""), "{}", planned.shown());
    expect![[r#"
        choice value from
        agent helper ~/.config/posse/agents/helper.md (user, posse)
        caller cli default
        engine native default
        model anthropic/claude-sonnet-4-5 definition
        endpoint [URL] anthropic, ANTHROPIC_API_KEY
        context window 200,000 $3 in, $15 out a million tokens
        compaction anthropic/claude-sonnet-4-5 the run's own model
        effort high definition
        tools Read Grep ~/.config/posse/agents/helper.md:6
        permission mode default default
        isolation none default
        workspace [WORK] working directory
        timeout 1 min 30 s definition
        stall 30 s ~/.config/posse/config.toml:6
        retry wait 2 min default
        retries 6 default
        turns 3 --max-turns
        tokens 2,000,000 default
        input bytes 1,048,576 default
        tool output bytes 30,000 default
        result bytes 32,768 default
        budget $5 default

        ── system: prompt
        You look things up.

        Keep spaces, "quotes" and ümlauts.

        ── system: context-file
        <context-file path="NOTES.md">
        Be kind.
        </context-file>

        ── system: environment
        <environment>
        date: [DATE]
        working directory: [WORK]
        platform: [OS]
        </environment>

        ── first message
        Context:
        Late.

        Task:
        Do it.
    "#]]
    .assert_eq(&steady(&lab, &planned.stdout));
    assert!(lab.runs().is_empty());
    assert_eq!(lab.server.requests().len(), 0);
}

#[test]
fn the_plan_is_what_a_run_stores() {
    let lab = Lab::new(vec![posse_testkit::Reply::text("Done.")]);
    let plan = lab.json(&["plan", "helper", "T", "--json"]);
    assert_eq!(plan["system"][0], json!({"name": "prompt", "text": PROMPT}));
    assert_eq!(
        (&plan["model"]["value"]["model"], &plan["model"]["from"]),
        (&json!("claude-sonnet-4-5"), &json!("definition"))
    );
    assert_eq!(lab.run(&["run", "helper", "T"]).code, 0);
    let mut stored = lab.last_events()[0]["data"].clone();
    // A run begins a session of its own.
    stored["session_id"] = plan["session_id"].clone();
    assert_eq!(stored, plan);
}

#[test]
fn a_plan_needs_no_task() {
    let lab = Lab::new(vec![]);
    let planned = lab.run(&["plan", "helper"]);
    assert_eq!(planned.code, 0, "{}", planned.shown());
    assert!(!planned.stdout.contains("first message"), "{}", planned.shown());
}

#[test]
fn what_cannot_be_planned_is_refused_as_a_run_would_be() {
    let lab = Lab::new(vec![]);
    let mut command = lab.command(&["plan", "helper", "T", "--json"]);
    command.env_remove("ANTHROPIC_API_KEY");
    let refused = finish(&lab.project, command);
    assert_eq!(refused.code, 3, "{}", refused.shown());
    assert!(
        value(&refused)["error"]["message"].as_str().is_some_and(|text| text.contains("ANTHROPIC_API_KEY"))
    );
    lab.project.write(".claude/agents/a.md", crate::agent("a", ""));
    assert_eq!(lab.run(&["plan", "a", "T"]).code, 7);
    assert_eq!(lab.run(&["plan", "nobody", "T"]).code, 3);
}

#[test]
fn a_context_file_that_leads_out_of_the_project_is_refused() {
    let lab = Lab::new(vec![]);
    lab.agent(&format!("model: {CLAUDE}\ncontext_files: [../secret.md]\n"));
    std::fs::write(lab.project.work().join("../secret.md"), "x").expect("a file");
    let refused = lab.run(&["plan", "helper", "T"]);
    assert_eq!(refused.code, 3, "{}", refused.shown());
    assert!(refused.stderr.contains("leads out of the project"), "{}", refused.shown());
}
