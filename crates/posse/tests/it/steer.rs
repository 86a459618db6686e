//! Looking at runs and steering them from other processes: `runs`, `log`, `result`, `wait`, `stop`, `resume`,
//! signals, and a process that dies.

use std::io::{BufRead, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use expect_test::expect;
use posse_testkit::{Reply, Script};
use serde_json::{Value, json};

use crate::lab::{CLAUDE, Lab, lines, of_type, said, signal, types, until, value};

fn look() -> Reply {
    Reply::calls(&[("Read", json!({"file_path": "a.txt"})), ("Read", json!({"file_path": "b.txt"}))])
}

/// Says so much of an answer, then nothing.
fn stalls() -> Reply {
    Reply::text("The beginning of an answer that never comes").stall_at(700)
}

/// A run whose process waits for a model that says nothing more, after one finished turn.
fn stalled(after: Vec<Reply>) -> (Lab, Child, String) {
    let lab = Lab::with(CLAUDE, Script::in_order([vec![look(), stalls()], after].concat()));
    let child = lab.start(&["run", "helper", "T"]);
    lab.server.wait_for_requests(2);
    let run = lab.last_run();
    (lab, child, run)
}

fn field<'a>(run: &'a Value, name: &str) -> &'a str {
    run[name].as_str().unwrap_or_else(|| panic!("{name} is a text: {run}"))
}

#[test]
fn runs_are_listed_the_newest_first_and_found_by_their_beginning() {
    let lab = Lab::new(vec![Reply::text("1"), Reply::text("2"), Reply::text("3")]);
    assert_eq!(lab.runs(), [Value::Null; 0]);
    for task in ["one", "two", "three"] {
        assert_eq!(lab.run(&["run", "helper", task]).code, 0);
    }
    let runs = lab.runs();
    let tasks: Vec<&str> = runs.iter().map(|run| field(run, "task")).collect();
    assert_eq!(tasks, ["three", "two", "one"]);
    let (newest, oldest) = (field(&runs[0], "run_id"), field(&runs[2], "run_id"));
    let shared = newest.bytes().zip(oldest.bytes()).take_while(|(a, b)| a == b).count();
    let several = lab.run(&["result", &newest[..4]]);
    assert_eq!(several.code, 2, "{}", several.shown());
    assert!(several.stderr.contains("several runs begin with"), "{}", several.shown());
    // Enough of an identity is one character more than it shares with any other.
    let second = field(&runs[1], "run_id");
    let near = newest.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
    let enough = &newest[..=shared.max(near)];
    assert_eq!(lab.run(&["result", enough]).stdout, "3\n");
    assert_eq!(lab.run(&["result", &newest.to_uppercase()]).stdout, "3\n");
    assert_eq!(lab.json(&["runs", "--json", "-n", "1"]).as_array().map(Vec::len), Some(1));
    for command in ["result", "log", "wait", "stop", "resume"] {
        let unknown = lab.run(&[command, "ffffffff"]);
        assert_eq!(unknown.code, 2, "{command}: {}", unknown.shown());
        assert!(unknown.stderr.contains("there is no run `ffffffff`"), "{command}: {}", unknown.shown());
        let unknown = lab.run(&[command, "ffffffff", "--json"]);
        let error = &value(&unknown)["error"];
        assert_eq!((unknown.code, &error["kind"]), (2, &json!("usage")), "{command}: {}", unknown.shown());
        assert!(!error["message"].is_null() && !error["help"].is_null(), "{command}: {error}");
    }
}

#[test]
fn a_log_tells_what_happened() {
    let look = Reply::calls(&[("Read", json!({"file_path": "a.txt"}))]).and_thinking("Hm.");
    let fault = Reply::error(400, "invalid_request_error", "No more today.");
    let lab = Lab::with(CLAUDE, Script::in_order(vec![look, fault]));
    assert_eq!(lab.run(&["run", "helper", "What?"]).code, 4);
    let run = lab.last_run();
    let shown = lab.run(&["log", &run]).stdout;
    let without_times: Vec<String> = shown
        .lines()
        .map(|line| match line.get(13..) {
            Some(rest) if line.as_bytes()[0].is_ascii_digit() => steady(rest),
            _ => line.to_owned(),
        })
        .collect();
    expect![[r#"
        log
          1  helper anthropic/claude-sonnet-4-5 asked by cli
                          What?
          2  turn 1
          3  answered after [TIME] (30 tokens, $0.0002)
                          → Read {"file_path":"a.txt"}
          4  Read begins
          5  Read took [TIME]
                               1	hello from a
          6  turn 2
          7  failed
                          anthropic/claude-sonnet-4-5 refused (HTTP 400): No more today.
    "#]]
    .assert_eq(&format!("log\n{}\n", without_times.join("\n")));
}

/// A line without how long something took.
fn steady(line: &str) -> String {
    let marks =
        [" after ", " took "].into_iter().filter_map(|mark| line.find(mark).map(|at| at + mark.len()));
    match marks.min() {
        Some(at) => {
            format!("{}[TIME]{}", &line[..at], line[at..].find(" (").map_or("", |end| &line[at + end..]))
        }
        None => line.to_owned(),
    }
}

#[test]
fn a_log_is_followed_from_another_process_until_the_run_ends() {
    let (lab, child, run) = stalled(vec![]);
    let mut follower = lab.start(&["log", &run, "--follow", "--json"]);
    let mut shown = BufReader::new(follower.stdout.take().expect("it is piped")).lines();
    let mut seen: Vec<Value> = Vec::new();
    while of_type(&seen, "asked").len() < 2 {
        let line = shown.next().expect("the log goes on").expect("a line");
        seen.extend(lines(&line));
    }
    assert_eq!(of_type(&seen, "ended").len(), 0, "it is followed while it goes on");
    assert_eq!(lab.run(&["stop", &run]).code, 0);
    seen.extend(shown.flat_map(|line| lines(&line.expect("a line"))));
    assert_eq!(types(&seen).last(), Some(&"ended"));
    assert!(follower.wait().expect("the follower ends by itself").success());
    assert_eq!(lab.finished(child).code, 5);
    let places = |events: &[Value]| events.iter().map(|event| event["seq"].clone()).collect::<Vec<_>>();
    assert_eq!(places(&seen), places(&lab.events(&run)));
}

#[test]
fn waiting_from_another_process_ends_as_the_run_does() {
    for (reply, code) in [(Reply::text("Done."), 0), (Reply::error(400, "invalid_request_error", "No."), 4)] {
        // The run waits for its model while the others begin to wait for it.
        let lab = Lab::with(CLAUDE, Script::in_order(vec![reply.latency_ms(700)]));
        let child = lab.start(&["run", "helper", "T"]);
        lab.server.wait_for_requests(1);
        let run = lab.last_run();
        let still = lab.run(&["result", &run]);
        assert_eq!(still.code, 2, "{}", still.shown());
        assert!(still.stderr.contains("is still running"), "{}", still.shown());
        let patience = lab.run(&["wait", &run, "--timeout", "10ms"]);
        assert_eq!(patience.code, 6, "{}", patience.shown());
        let waited = lab.run(&["wait", &run]);
        let carried = lab.finished(child);
        let result = lab.run(&["result", &run]);
        assert_eq!((waited.code, carried.code, result.code), (code, code, code), "{}", waited.shown());
        assert_eq!((&waited.stdout, &result.stdout), (&carried.stdout, &carried.stdout));
    }
}

#[test]
fn a_run_is_stopped_from_another_process() {
    let (lab, child, run) = stalled(vec![]);
    assert_eq!(lab.runs()[0]["status"], "running");
    let asked = Instant::now();
    let stopped = lab.run(&["stop", &run, "--json"]);
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    assert_eq!((stopped.code, &value(&stopped)["status"]), (0, &json!("stopped")), "{}", stopped.shown());
    let finished = lab.finished(child);
    assert_eq!(finished.code, 5, "{}", finished.shown());
    assert!(finished.stderr.contains("it was asked to stop"), "{}", finished.shown());
    let events = lab.events(&run);
    assert_eq!(of_type(&events, "answered").len(), 1, "the half answer is not one");
    assert_eq!(types(&events)[events.len() - 2..], ["stop_asked", "ended"]);
    let again = lab.run(&["stop", &run, "--json"]);
    assert_eq!(
        (again.code, &value(&again)["status"]),
        (0, &json!("stopped")),
        "stopping twice is no mistake"
    );
    assert_eq!(lab.events(&run), events);
}

#[test]
fn an_interrupt_stops_a_run_and_says_how_to_go_on() {
    for name in ["INT", "TERM", "HUP"] {
        let (lab, child, run) = stalled(vec![]);
        signal(name, &child);
        let finished = lab.finished(child);
        assert_eq!(finished.code, 5, "{name}: {}", finished.shown());
        assert!(finished.stderr.contains(&format!("posse resume {run}")), "{name}: {}", finished.shown());
        let stored = &lab.runs()[0];
        assert_eq!(
            (field(stored, "status"), field(&stored["error"], "kind")),
            ("stopped", "stopped"),
            "{name}"
        );
        assert_eq!(lab.run(&["result", &run]).code, 5, "{name}");
        assert_eq!(lab.run(&["wait", &run, "--json"]).code, 5, "{name}");
    }
}

#[test]
fn an_interrupt_while_waiting_to_ask_again_stops_at_once() {
    let lab = Lab::new(vec![Reply::error(429, "rate_limit_error", "Slow.").header("retry-after", "60")]);
    let child = lab.start(&["run", "helper", "T"]);
    until("a retry is stored", || {
        let runs = lab.runs();
        let run = runs.first().map(|run| field(run, "run_id").to_owned())?;
        (!of_type(&lab.events(&run), "retried").is_empty()).then_some(())
    });
    let asked = Instant::now();
    signal("INT", &child);
    assert_eq!(lab.finished(child).code, 5);
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
}

#[test]
fn a_second_interrupt_leaves_the_run_where_it_is() {
    let (lab, mut child, run) = stalled(vec![Reply::text("Both say hello.")]);
    let before = lab.events(&run);
    // While another process writes, the end of the run cannot be stored.
    let path = lab.project.path("~/.local/state/posse/runs.db");
    let other = rusqlite::Connection::open(path).expect("the store opens");
    other.execute_batch("BEGIN IMMEDIATE").expect("nobody else writes");
    let asked = Instant::now();
    until("the process ends", || {
        let ended = child.try_wait().expect("the process is ours");
        if ended.is_none() {
            signal("INT", &child);
        }
        ended
    });
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    drop(other);
    let finished = lab.finished(child);
    assert_eq!(finished.code, 5, "{}", finished.shown());
    assert!(finished.stderr.contains("was left where it was"), "{}", finished.shown());
    assert!(finished.stderr.contains(&format!("posse resume {run}")), "{}", finished.shown());
    assert_eq!(lab.runs()[0]["status"], "interrupted");
    assert_eq!(lab.events(&run), before);
    assert_eq!(lab.run(&["resume", &run]).stdout, "Both say hello.\n");
}

#[test]
fn a_run_whose_process_died_is_interrupted_and_looking_changes_nothing() {
    let (lab, child, run) = stalled(vec![]);
    signal("KILL", &child);
    lab.finished(child);
    let before = lab.events(&run);
    assert_eq!(types(&before).last(), Some(&"asked"));
    let stored = std::fs::read(lab.project.path("~/.local/state/posse/runs.db")).expect("the store");
    for _ in 0..3 {
        assert_eq!(lab.runs()[0]["status"], "interrupted");
    }
    assert_eq!(lab.run(&["result", &run]).code, 5);
    assert_eq!(lab.run(&["wait", &run]).code, 5);
    assert_eq!(lab.json(&["result", &run, "--json"])["status"], "interrupted");
    let log = lab.run(&["log", &run]);
    assert!(log.stderr.contains(&format!("posse resume {run}")), "{}", log.shown());
    assert_eq!(lab.run(&["log", &run, "--follow"]).code, 0, "following ends by itself");
    assert_eq!(lab.events(&run), before);
    let after = std::fs::read(lab.project.path("~/.local/state/posse/runs.db")).expect("the store");
    assert!(stored == after, "looking wrote into the store");
}

#[test]
fn a_run_whose_process_died_goes_on_in_the_same_run() {
    let (lab, child, run) = stalled(vec![Reply::text("Both say hello.")]);
    signal("KILL", &child);
    lab.finished(child);
    let before = lab.events(&run);
    let resumed = lab.run(&["resume", &run]);
    assert_eq!((resumed.stdout.as_str(), resumed.code), ("Both say hello.\n", 0), "{}", resumed.shown());
    let events = lab.events(&run);
    assert_eq!(events[..before.len()], before, "nothing that was stored is changed");
    assert_eq!(of_type(&events, "ended").len(), 1);
    assert_eq!(of_type(&events, "tool_finished").len(), 2);
    let requests = lab.server.requests();
    assert_eq!(requests.len(), 3);
    assert_eq!(requests[1].body, requests[2].body, "the turn that was cut off is asked as it was");
    let runs = lab.runs();
    assert_eq!((runs.len(), field(&runs[0], "status"), &runs[0]["turns"]), (1, "done", &json!(2)));
}

#[test]
fn what_is_said_on_resuming_reaches_the_model() {
    let (lab, child, run) = stalled(vec![Reply::text("As you wish.")]);
    signal("KILL", &child);
    lab.finished(child);
    let resumed = lab.run(&["resume", &run, "And be brief.", "--output", "json"]);
    assert_eq!(value(&resumed)["result"], json!("As you wish."), "{}", resumed.shown());
    assert_eq!(said(&lab.server.requests()[2]), ["T", "And be brief."]);
}

#[test]
fn a_dead_run_can_be_stopped() {
    let (lab, child, run) = stalled(vec![]);
    signal("KILL", &child);
    lab.finished(child);
    let stopped = lab.run(&["stop", &run, "--json"]);
    assert_eq!((stopped.code, &value(&stopped)["status"]), (0, &json!("stopped")), "{}", stopped.shown());
    assert_eq!(of_type(&lab.events(&run), "ended").len(), 1);
}

#[test]
fn a_run_that_goes_on_elsewhere_is_not_resumed() {
    let (lab, child, run) = stalled(vec![]);
    let refused = lab.run(&["resume", &run]);
    assert_eq!(refused.code, 2, "{}", refused.shown());
    assert!(refused.stderr.contains("is still running"), "{}", refused.shown());
    assert_eq!(lab.run(&["stop", &run]).code, 0);
    assert_eq!(lab.finished(child).code, 5);
}

#[test]
fn an_ended_run_goes_on_as_a_new_one_with_its_conversation() {
    let lab = Lab::with(
        CLAUDE,
        Script::in_order(vec![look(), Reply::text("Both say hello."), Reply::text("In Latin: salve.")]),
    );
    let first = value(&lab.run(&["run", "helper", "What do they say?", "--json"]));
    let second = value(&lab.run(&["resume", field(&first, "run_id"), "And in Latin?", "--output", "json"]));
    assert_eq!(second["result"], json!("In Latin: salve."));
    assert_ne!(second["run_id"], first["run_id"]);
    assert_eq!(second["session_id"], first["session_id"]);
    assert_eq!((&second["task"], &second["turns"]), (&json!("And in Latin?"), &json!(1)));
    let messages = &lab.server.requests()[2].body["messages"];
    let roles: Vec<&Value> =
        messages.as_array().expect("a list").iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant", "user"]);
    assert_eq!(said(&lab.server.requests()[2]), ["What do they say?", "And in Latin?"]);
    assert_eq!(lab.runs().len(), 2);
}

#[test]
fn a_stopped_run_goes_on_with_every_call_answered() {
    let (lab, child, run) = stalled(vec![Reply::text("Where was I?")]);
    signal("INT", &child);
    lab.finished(child);
    let resumed = lab.run(&["resume", &run]);
    assert_eq!((resumed.stdout.as_str(), resumed.code), ("Where was I?\n", 0), "{}", resumed.shown());
    assert_eq!(said(&lab.server.requests()[2]), ["T", "Go on with the task."]);
}

#[test]
fn runs_of_twenty_processes_are_all_in_one_store() {
    const EACH: usize = 10;
    let lab = Lab::with(CLAUDE, Script::by_turn(vec![look(), Reply::text("Done.").latency_ms(20)]));
    let mut children: Vec<Child> = Vec::new();
    for crowd in 0..2 {
        for number in 0..EACH {
            children.push(lab.start(&["run", "helper", &format!("task {crowd}.{number}")]));
        }
    }
    for child in children {
        let finished = lab.finished(child);
        assert_eq!((finished.stdout.as_str(), finished.code), ("Done.\n", 0), "{}", finished.shown());
    }
    let runs = lab.runs();
    assert!(runs.iter().all(|run| run["status"] == "done" && run["turns"] == 2));
    let mut tasks: Vec<&str> = runs.iter().map(|run| field(run, "task")).collect();
    tasks.sort_unstable();
    let mut wanted: Vec<String> =
        (0..2).flat_map(|crowd| (0..EACH).map(move |number| format!("task {crowd}.{number}"))).collect();
    wanted.sort_unstable();
    assert_eq!(tasks, wanted);
    let left =
        std::fs::read_dir(lab.project.path("~/.local/state/posse/owners")).expect("a directory").count();
    assert_eq!(left, 0, "no owner leaves anything behind");
}

#[test]
fn a_store_that_cannot_be_used_is_told_before_anything_is_asked() {
    let lab = Lab::new(vec![]);
    lab.project.write("~/.local/state/posse/runs.db", "this is no database, however long it is ".repeat(100));
    let finished = lab.run(&["run", "helper", "T"]);
    assert_eq!(finished.code, 1, "{}", finished.shown());
    assert!(finished.stderr.contains("runs.db"), "{}", finished.shown());
    assert_eq!(lab.server.requests().len(), 0);
    let list = lab.run(&["runs", "--json"]);
    assert_eq!((list.code, &value(&list)["error"]["kind"]), (1, &json!("internal")), "{}", list.shown());
}

#[test]
fn a_reader_that_goes_away_does_not_break_the_run() {
    let lab = Lab::with(CLAUDE, Script::in_order(vec![look(), Reply::text("Both.").latency_ms(100)]));
    let mut child = lab.start(&["run", "helper", "T", "--output", "stream-json"]);
    let mut first = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    stdout.read_line(&mut first).expect("the first event");
    drop(stdout);
    let finished = lab.finished(child);
    assert_eq!(finished.code, 0, "{}", finished.shown());
    assert_eq!(lab.runs()[0]["status"], "done");
}

#[test]
fn doctor_makes_the_tables_anew_from_the_events() {
    let lab = Lab::new(vec![Reply::text("1")]);
    assert_eq!(lab.run(&["run", "helper", "T"]).code, 0);
    let before = lab.runs();
    let rebuilt = lab.run(&["doctor", "--rebuild"]);
    assert_eq!((rebuilt.stdout.as_str(), rebuilt.code), ("1 run made anew from their events\n", 0));
    assert_eq!(lab.runs(), before);
}

#[test]
fn doctor_says_what_is_there_without_a_key() {
    let lab = Lab::new(vec![]);
    let mut command = lab.command(&["doctor", "--json", "--offline"]);
    command.env_remove("OPENAI_API_KEY");
    let finished = crate::lab::finish(&lab.project, command);
    let doctor = value(&finished);
    let finding = |name: &str| {
        let findings = doctor["findings"].as_array().expect("a list");
        findings
            .iter()
            .find(|finding| finding["name"] == name)
            .unwrap_or_else(|| panic!("{name}: {doctor}"))
            .clone()
    };
    assert_eq!(finding("anthropic")["state"], "ok");
    assert_eq!(finding("openai")["state"], "absent");
    assert_eq!(finding("openai")["help"], "set OPENAI_API_KEY to use it");
    assert_eq!(finished.code, 0, "{}", finished.shown());
}
