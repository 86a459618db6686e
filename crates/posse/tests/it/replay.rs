//! Recording a run and replaying it elsewhere: no network, no key, another day, another directory.

use posse_testkit::{Finished, Project, Reply, Script};
use serde_json::{Value, json};

use crate::lab::{CLAUDE, KEY, Lab, MODELS, finish, lines, value};
use crate::project;

fn script() -> Script {
    let look = Reply::calls(&[
        ("Read", json!({"file_path": "a.txt"})),
        ("Grep", json!({"pattern": "hello", "path": "b.txt"})),
    ]);
    Script::by_turn(vec![look.and_thinking("Look first."), Reply::text("It says hello.").chunk_bytes(7)])
}

/// A recording of a run that ended with this exit code.
fn record(lab: &Lab, code: i32) -> String {
    let finished = lab.run(&["run", "helper", "What?", "--record", "tape.json"]);
    assert_eq!(finished.code, code, "{}", finished.shown());
    lab.project.read("tape.json")
}

/// Another machine: nothing of the lab but its agent and its files.
fn elsewhere(lab: &Lab, tape: &str) -> Project {
    let other = project();
    let agent = "~/.config/posse/agents/helper.md";
    other.write(agent, lab.project.read(agent)).write("tape.json", tape);
    other.write("a.txt", "hello from a\n").write("b.txt", "hello from b\n");
    other
}

fn replay(project: &Project, task: &str) -> Finished {
    finish(project, project.command(&["run", "helper", task, "--replay", "tape.json"]))
}

#[test]
fn a_recorded_run_is_replayed_anywhere_with_nothing_set() {
    for model in MODELS {
        let lab = Lab::with(model, script());
        lab.agent(&format!("model: {model}\neffort: low\ntools: Read, Grep\n"));
        let tape = record(&lab, 0);
        assert!(!tape.contains(KEY), "{model}: the key is in the recording");
        let asked = lab.server.requests().len();
        let other = elsewhere(&lab, &tape);
        let replayed = replay(&other, "What?");
        assert_eq!(
            (replayed.stdout.as_str(), replayed.code),
            ("It says hello.\n", 0),
            "{}",
            replayed.shown()
        );
        let runs = finish(&other, other.command(&["runs", "--json"]));
        let run = &value(&runs)[0];
        assert_eq!((&run["turns"], &run["tool_calls"], &run["model"]), (&json!(2), &json!(2), &json!(model)));
        assert_eq!(run["usage"], lab.runs()[0]["usage"], "{model}");
        assert_eq!(lab.server.requests().len(), asked, "{model}: nobody is asked");
    }
}

#[test]
fn a_replay_works_after_its_server_is_gone_and_on_another_day() {
    let lab = Lab::with(CLAUDE, script());
    let tape = record(&lab, 0);
    let mut changed: Value = serde_json::from_str(&tape).expect("the recording is JSON");
    let today = changed["frozen"]["date"].as_str().expect("a date").to_owned();
    changed = serde_json::from_str(&tape.replace(&today, "2001-02-03")).expect("still JSON");
    let other = elsewhere(&lab, &changed.to_string());
    drop(lab);
    let replayed = replay(&other, "What?");
    assert_eq!((replayed.stdout.as_str(), replayed.code), ("It says hello.\n", 0), "{}", replayed.shown());
}

#[test]
fn a_request_that_differs_fails_with_the_difference() {
    let lab = Lab::with(CLAUDE, script());
    let tape = record(&lab, 0);
    let other = elsewhere(&lab, &tape);
    let asked = replay(&other, "What else?");
    assert_eq!(asked.code, 4, "{}", asked.shown());
    for line in [
        "request 1 of 2 differs from the recording",
        "-            \"text\": \"What?\"",
        "\"text\": \"What else?\"",
    ] {
        let found = asked.stderr.lines().any(|shown| shown.contains(line.trim_start_matches(['-', ' '])));
        assert!(found, "`{line}` is not in\n{}", asked.shown());
    }
    assert!(
        asked.stderr.lines().any(|line| line.starts_with('-') && line.contains("What?")),
        "{}",
        asked.shown()
    );
    assert!(
        asked.stderr.lines().any(|line| line.starts_with('+') && line.contains("What else?")),
        "{}",
        asked.shown()
    );

    other.write(
        "~/.config/posse/agents/helper.md",
        format!("---\nname: helper\ndescription: d\nmodel: {CLAUDE}\n---\nOther words.\n"),
    );
    let prompted = replay(&other, "What?");
    assert_eq!(prompted.code, 4, "{}", prompted.shown());
    assert!(
        prompted.stderr.lines().any(|line| line.starts_with('+') && line.contains("Other words.")),
        "{}",
        prompted.shown()
    );
}

#[test]
fn a_file_that_has_changed_fails_at_the_turn_that_shows_it() {
    let lab = Lab::with(CLAUDE, script());
    let tape = record(&lab, 0);
    let other = elsewhere(&lab, &tape);
    other.write("a.txt", "goodbye from a\n");
    let replayed = replay(&other, "What?");
    assert_eq!(replayed.code, 4, "{}", replayed.shown());
    assert!(replayed.stderr.contains("request 2 of 2 differs"), "{}", replayed.shown());
    assert!(
        replayed.stderr.lines().any(|line| line.starts_with('+') && line.contains("goodbye")),
        "{}",
        replayed.shown()
    );
}

#[test]
fn a_run_past_the_end_of_its_recording_fails() {
    let lab = Lab::with(CLAUDE, script());
    let mut tape: Value = serde_json::from_str(&record(&lab, 0)).expect("the recording is JSON");
    tape["exchanges"].as_array_mut().expect("a list").pop();
    let other = elsewhere(&lab, &tape.to_string());
    let replayed = replay(&other, "What?");
    assert_eq!(replayed.code, 4, "{}", replayed.shown());
    let wanted = "the recording has 1 requests, and this would be number 2";
    assert!(replayed.stderr.contains(wanted), "{}", replayed.shown());
    assert!(!replayed.stderr.contains("be reached"), "the network is not in question: {}", replayed.shown());
}

#[test]
fn another_model_is_not_what_was_recorded() {
    let lab = Lab::with(CLAUDE, script());
    let other = elsewhere(&lab, &record(&lab, 0));
    let arguments = ["run", "helper", "What?", "--replay", "tape.json", "--model", "openai/gpt-5.1"];
    let replayed = finish(&other, other.command(&arguments));
    assert_eq!(replayed.code, 3, "{}", replayed.shown());
}

#[test]
fn what_is_no_recording_is_a_mistake_on_the_command_line() {
    let lab = Lab::with(CLAUDE, script());
    for (text, word) in
        [("{}", "not a recording"), ("no JSON", "not a recording"), ("[1]", "not a recording")]
    {
        let other = elsewhere(&lab, text);
        let replayed = replay(&other, "What?");
        assert_eq!(replayed.code, 2, "{}", replayed.shown());
        assert!(replayed.stderr.contains(word), "{}", replayed.shown());
    }
    let mut tape: Value = serde_json::from_str(&record(&lab, 0)).expect("the recording is JSON");
    tape["v"] = json!(99);
    let newer = replay(&elsewhere(&lab, &tape.to_string()), "What?");
    assert_eq!(newer.code, 2, "{}", newer.shown());
    let other = elsewhere(&lab, "");
    let missing = finish(&other, other.command(&["run", "helper", "T", "--replay", "none.json", "--json"]));
    assert_eq!(
        (missing.code, &value(&missing)["error"]["kind"]),
        (2, &json!("usage")),
        "{}",
        missing.shown()
    );
    let both = ["run", "helper", "T", "--replay", "tape.json", "--record", "other.json"];
    assert_eq!(finish(&other, other.command(&both)).code, 2);
}

#[test]
fn faults_are_recorded_and_replayed() {
    for fault in [
        Reply::error(529, "overloaded_error", "Overloaded"),
        Reply::text("half").cut_at(300),
        Reply::text("half").reset_at(0),
    ] {
        let lab = Lab::with(CLAUDE, Script::in_order(vec![fault, Reply::text("Whole.")]));
        let other = elsewhere(&lab, &record(&lab, 0));
        let arguments = ["run", "helper", "What?", "--replay", "tape.json", "--output", "stream-json"];
        let replayed = finish(&other, other.command(&arguments));
        assert_eq!(replayed.code, 0, "{}", replayed.shown());
        let retried = lines(&replayed.stdout).iter().filter(|event| event["type"] == "retried").count();
        assert_eq!(retried, 1, "{}", replayed.shown());
    }
}

#[test]
fn a_run_that_failed_fails_again() {
    let lab = Lab::with(CLAUDE, Script::in_order(vec![Reply::error(400, "invalid_request_error", "No.")]));
    let other = elsewhere(&lab, &record(&lab, 4));
    let replayed = replay(&other, "What?");
    assert_eq!(replayed.code, 4, "{}", replayed.shown());
    assert!(replayed.stderr.contains("(HTTP 400): No."), "{}", replayed.shown());
}

#[test]
fn a_shortened_conversation_is_replayed() {
    let look = || Reply::calls(&[("Read", json!({"file_path": "a.txt"}))]);
    let too_long =
        Reply::error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
    let replies = vec![look(), look(), too_long, Reply::text("A summary."), Reply::text("Done.")];
    let lab = Lab::with(CLAUDE, Script::in_order(replies));
    let other = elsewhere(&lab, &record(&lab, 0));
    let replayed = replay(&other, "What?");
    assert_eq!((replayed.stdout.as_str(), replayed.code), ("Done.\n", 0), "{}", replayed.shown());
}

#[test]
fn no_secret_of_the_configuration_is_recorded() {
    let lab = Lab::with("lab/scripted-large", Script::in_order(vec![Reply::text("Done.")]));
    let url = lab.server.url();
    let secret = "a-token-of-the-operator";
    let config = format!(
        "[providers.lab]\napi = \"openai-chat\"\nbase_url = \"{url}/v1\"\napi_key_env = \"LAB_KEY\"\nheaders = {{ x-tenant = \"{secret}\" }}\n"
    );
    lab.project.write("~/.config/posse/config.toml", config);
    let tape = record(&lab, 0);
    assert_eq!(lab.server.requests()[0].header("x-tenant"), Some(secret));
    assert!(!tape.contains(KEY) && !tape.contains(secret), "{tape}");
    assert!(!String::from_utf8_lossy(&lab.stored()).contains(secret));
}

#[test]
fn the_recording_among_the_examples_replays() {
    let project = crate::project();
    let examples = crate::repository().join("examples");
    let (team, recording) = (examples.join("team"), examples.join("replay/code-analyst.json"));
    let paths = [team, recording].map(|path| path.display().to_string());
    let task = "Which of these agents may run commands?";
    let replayed = project.run(&["-C", &paths[0], "run", "code-analyst", task, "--replay", &paths[1]]);
    assert!(
        replayed.stdout.starts_with("Four of the seven agents may run commands:\n"),
        "{}",
        replayed.shown()
    );
    assert_eq!(replayed.code, 0);
}
