//! `posse run` where all goes well: what is sent, what is printed, what it costs.

use expect_test::expect;
use posse_testkit::{Reply, Script, Usage};
use serde_json::{Value, json};

use crate::lab::{CLAUDE, KEY, Lab, MODELS, PROMPT, lines, of_type, results, said, system, types, value};
use std::process::Stdio;

/// Every key of a run's JSON.
const KEYS: [&str; 28] = [
    "agent",
    "attachments",
    "caller",
    "context",
    "cost_usd",
    "denied",
    "depth",
    "duration_ms",
    "ended_at",
    "engine",
    "error",
    "findings",
    "isolation",
    "model",
    "output",
    "parent_run_id",
    "result",
    "run_id",
    "session_id",
    "started_at",
    "status",
    "task",
    "tool_calls",
    "tree",
    "truncated",
    "turns",
    "usage",
    "workspace",
];

/// Thinks, calls two tools at once, calls one more, answers; in pieces of seven bytes.
fn script(cache_write: u64) -> Script {
    let usage = Usage { input: 100, output: 20, cache_read: 40, cache_write };
    let replies = [
        Reply::calls(&[("Read", json!({"file_path": "a.txt"})), ("Read", json!({"file_path": "b.txt"}))])
            .and_thinking("Both files, then."),
        Reply::calls(&[("LS", json!({"path": "."}))]).and_text("One more look. "),
        Reply::text("Both say hello. ✓"),
    ];
    Script::by_turn(replies.into_iter().map(|reply| reply.usage(usage).chunk_bytes(7)).collect())
}

fn lab(model: &str) -> Lab {
    let lab = Lab::with(model, script(if model == CLAUDE { 10 } else { 0 }));
    lab.agent(&format!("model: {model}\neffort: medium\ntools: Read, LS\n"));
    lab
}

#[test]
fn the_answer_alone_is_on_stdout_over_every_protocol() {
    for model in MODELS {
        let lab = lab(model);
        let finished = lab.run(&["run", "helper", "What do the files say?"]);
        assert_eq!(finished.stdout, "Both say hello. ✓\n", "{}", finished.shown());
        assert_eq!(finished.code, 0, "{}", finished.shown());
        assert_eq!(lab.server.requests().len(), 3, "{model}");
    }
}

#[test]
fn what_the_model_is_sent_is_exact_over_every_protocol() {
    for model in MODELS {
        let lab = lab(model);
        let mut command = lab.command(&["run", "helper", "What?", "--context", "It is\nlate."]);
        command.env("CALLER_SECRET", "of-the-caller-alone").env("USER", "somebody-in-particular");
        let finished =
            lab.finished(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("runs"));
        assert_eq!(finished.code, 0, "{}", finished.shown());
        let started = lab.runs()[0]["started_at"].as_str().expect("a time")[..10].to_owned();
        let environment = format!(
            "<environment>\ndate: {started}\nworking directory: {}\nplatform: {}\n</environment>",
            lab.project.work().display(),
            std::env::consts::OS
        );
        let requests = lab.server.requests();
        let blocks = system(&requests[0]);
        match blocks.as_slice() {
            [one] => assert_eq!(*one, format!("{PROMPT}\n\n{environment}"), "{model}"),
            several => assert_eq!(several, [PROMPT, &environment], "{model}"),
        }
        assert_eq!(said(&requests[0]), ["Context:\nIt is\nlate.\n\nTask:\nWhat?"], "{model}");
        assert_eq!(results(&requests[0]), [""; 0], "{model}");
        assert_eq!(results(&requests[1]), ["     1\thello from a", "     1\thello from b"], "{model}");
        let listed = "a.txt (13 bytes)\nb.txt (13 bytes)";
        assert_eq!(results(&requests[2]).last().map(String::as_str), Some(listed), "{model}");
        for request in &requests {
            let sent = String::from_utf8_lossy(&request.raw);
            for word in
                ["of-the-caller-alone", "somebody-in-particular", &lab.project.home().display().to_string()]
            {
                assert!(!sent.contains(word), "{model}: `{word}` was sent");
            }
            assert!(!sent.contains(KEY), "{model}: the key is in the body");
        }
    }
}

#[test]
fn json_has_every_key_and_the_numbers_add_up() {
    let costs = [Some(0.001_948_5), Some(0.000_99), Some(0.000_99), None];
    for (model, cost) in MODELS.into_iter().zip(costs) {
        let lab = lab(model);
        let finished = lab.run(&["run", "helper", "What?", "--output", "json"]);
        let run = value(&finished);
        let mut keys: Vec<&str> = run.as_object().expect("an object").keys().map(String::as_str).collect();
        keys.sort_unstable();
        assert_eq!(keys, KEYS, "{model}");
        let cache_write = if model == CLAUDE { 30 } else { 0 };
        let usage = json!({
            "input_tokens": 300, "output_tokens": 60, "cache_read_tokens": 120, "cache_write_tokens": cache_write,
        });
        let expected = json!({
            "agent": "helper", "status": "done", "result": "Both say hello. ✓", "output": null, "findings": [],
            "attachments": [], "error": null, "task": "What?", "context": null, "caller": "cli", "depth": 0,
            "parent_run_id": null, "turns": 3, "tool_calls": 3, "denied": [], "usage": usage, "model": model,
            "engine": "native", "isolation": "none", "workspace": "[WORK]", "truncated": false,
        });
        for (key, wanted) in expected.as_object().expect("an object") {
            assert_eq!(run[key], *wanted, "{model}: {key}");
        }
        assert_eq!(run["session_id"], run["run_id"]);
        assert_eq!(run["tree"]["runs"], 1);
        assert_eq!(run["tree"]["usage"], usage);
        for told in [&run["cost_usd"], &run["tree"]["cost_usd"]] {
            match cost {
                None => assert_eq!(*told, Value::Null, "{model}"),
                Some(cost) => {
                    let told = told.as_f64().expect("a number");
                    assert!((told - cost).abs() < 1e-9, "{model}: {told} is not {cost}");
                }
            }
        }
        let id = run["run_id"].as_str().expect("an identity");
        assert_eq!(lab.json(&["result", id, "--json"]), run, "{model}");
        assert_eq!(lab.json(&["wait", id, "--json"]), run, "{model}");
        assert_eq!(lab.runs(), std::slice::from_ref(&run), "{model}");
    }
}

#[test]
fn a_stream_of_events_is_numbered_and_ends_with_the_end() {
    for model in MODELS {
        let lab = lab(model);
        let finished = lab.run(&["run", "helper", "What?", "--output", "stream-json"]);
        assert_eq!((finished.code, finished.stderr.as_str()), (0, ""), "{}", finished.shown());
        let all = lines(&finished.stdout);
        let (deltas, events): (Vec<Value>, Vec<Value>) =
            all.iter().cloned().partition(|event| event["type"] == "delta");
        let seqs: Vec<u64> = events.iter().filter_map(|event| event["seq"].as_u64()).collect();
        assert_eq!(seqs, (1..=events.len() as u64).collect::<Vec<_>>(), "{model}");
        let wanted = [
            "started",
            "asked",
            "answered",
            "tool_started",
            "tool_started",
            "tool_finished",
            "tool_finished",
            "asked",
            "answered",
            "tool_started",
            "tool_finished",
            "asked",
            "answered",
            "ended",
        ];
        assert_eq!(types(&events), wanted, "{model}");
        assert_eq!(all.last().map(|event| &event["type"]), Some(&json!("ended")), "{model}");
        for event in &all {
            assert_eq!(event["v"], 1);
            assert_eq!(event["run_id"], all[0]["run_id"]);
            assert_eq!(event.get("seq").is_none(), event["type"] == "delta", "{event}");
            assert_eq!(event.get("at").is_none(), event["type"] == "delta", "{event}");
        }
        let streamed: String = deltas.iter().filter_map(|delta| delta["data"]["text"].as_str()).collect();
        assert_eq!(streamed, "One more look. Both say hello. ✓", "{model}");
        let thought: String = deltas.iter().filter_map(|delta| delta["data"]["thinking"].as_str()).collect();
        assert_eq!(thought, "Both files, then.", "{model}");
        let started_calls: Vec<&Value> = of_type(&deltas, "delta")
            .into_iter()
            .map(|delta| &delta["data"]["call"])
            .filter(|call| !call.is_null())
            .collect();
        assert_eq!(started_calls, ["Read", "Read", "LS"], "{model}");
        let id = events[0]["run_id"].as_str().expect("an identity");
        assert_eq!(lab.events(id), events, "{model}: what was shown is what is stored");
    }
}

#[test]
fn thinking_goes_back_as_the_protocol_wants_it() {
    for model in MODELS {
        let lab = lab(model);
        assert_eq!(lab.run(&["run", "helper", "What?"]).code, 0);
        let answered = lab.last_events();
        let answered = of_type(&answered, "answered")[0];
        let part = &answered["data"]["message"]["parts"][0];
        assert_eq!(
            (&part["type"], &part["text"]),
            (&json!("thinking"), &json!("Both files, then.")),
            "{model}"
        );
    }
}

#[test]
fn the_task_is_read_from_a_pipe() {
    let answer = || Reply::text("Done.");
    for arguments in [&["run", "helper"][..], &["run", "helper", "-"]] {
        let lab = Lab::new(vec![answer()]);
        let finished = lab.run_with_input(arguments, "Line one\n  line two\n\n");
        assert_eq!((finished.stdout.as_str(), finished.code), ("Done.\n", 0), "{}", finished.shown());
        assert_eq!(said(&lab.server.requests()[0]), ["Line one\n  line two"]);
    }
}

#[test]
fn context_is_a_text_or_a_file_and_nothing_where_it_is_only_space() {
    let lab = Lab::new(vec![Reply::text("1"), Reply::text("2"), Reply::text("3")]);
    lab.project.write("notes.md", "# Notes\n");
    for context in ["as text", "@notes.md", " \n"] {
        assert_eq!(lab.run(&["run", "helper", "T", "--context", context]).code, 0);
    }
    let messages: Vec<Vec<String>> = lab.server.requests().iter().map(said).collect();
    assert_eq!(messages, [["Context:\nas text\n\nTask:\nT"], ["Context:\n# Notes\n\n\nTask:\nT"], ["T"]]);
    let missing = lab.run(&["run", "helper", "T", "--context", "@none.md"]);
    assert_eq!(missing.code, 2, "{}", missing.shown());
}

#[test]
fn no_task_is_a_mistake_on_the_command_line() {
    let lab = Lab::new(vec![]);
    expect![[r#"
        --- stderr
        error: there is no task
        help: posse run helper "what it is to do"
        --- exit 2
    "#]]
    .assert_eq(&lab.run(&["run", "helper"]).shown());
    assert!(lab.runs().is_empty());
}

#[test]
fn progress_is_told_on_stderr_line_by_line() {
    let lab = lab(CLAUDE);
    let finished = lab.run(&["run", "helper", "What?"]);
    let id = lab.last_run();
    let took = finished.stderr.rsplit(" · ").nth(1).expect("the summary says how long it took").to_owned();
    let stable = finished.stderr.replace(&id, "[RUN]").replace(&took, "[TIME]");
    expect![[r#"
        helper anthropic/claude-sonnet-4-5 [RUN]
          Read a.txt
          Read b.txt
          LS .
        done · 3 turns · 510 tokens · $0.0019 · [TIME] · [RUN]
    "#]]
    .assert_eq(&stable);
    let lab = self::lab(CLAUDE);
    assert_eq!(lab.run(&["run", "helper", "What?", "-q"]).stderr, "");
}

#[test]
fn a_model_server_without_a_key_is_asked_without_one() {
    let lab = Lab::with("lab/scripted-large", Script::by_turn(vec![Reply::text("Here.")]).keyless());
    let url = lab.server.url();
    lab.project.write(
        "~/.config/posse/config.toml",
        format!("[providers.lab]\napi = \"openai-chat\"\nbase_url = \"{url}/v1\"\n"),
    );
    let finished = lab.run(&["run", "helper", "What?"]);
    assert_eq!((finished.stdout.as_str(), finished.code), ("Here.\n", 0), "{}", finished.shown());
    assert_eq!(lab.server.requests()[0].header("authorization"), None);
}

#[test]
fn the_key_is_sent_and_kept_nowhere() {
    for model in MODELS {
        let lab = lab(model);
        assert_eq!(lab.run(&["run", "helper", "What?"]).code, 0);
        let sent = &lab.server.requests()[0];
        assert!(sent.headers.iter().any(|(_, value)| value.contains(KEY)), "{model}: the key is a header");
        assert!(!sent.path.contains(KEY), "{model}: a path is logged by others");
        lab.last_events();
        let stored = lab.stored();
        assert!(stored.windows(6).any(|bytes| bytes == b"helper"), "{model}: this is where runs are stored");
        assert!(
            !stored.windows(KEY.len()).any(|bytes| bytes == KEY.as_bytes()),
            "{model}: the key is stored"
        );
    }
}

#[test]
fn a_key_that_the_provider_repeats_is_not_told_on() {
    let words = format!("Incorrect API key provided: {KEY}. Look at your settings.");
    for model in MODELS {
        let words = words.clone();
        let lab = Lab::with(model, Script::route(move |_| Reply::error(401, "authentication_error", &words)));
        let finished = lab.run(&["run", "helper", "What?"]);
        assert_eq!(finished.code, 4, "{}", finished.shown());
        assert!(finished.stderr.contains("Incorrect API key provided"), "{}", finished.shown());
        let stored = lab.stored();
        assert!(
            !stored.windows(KEY.len()).any(|bytes| bytes == KEY.as_bytes()),
            "{model}: the key is stored"
        );
    }
}

#[test]
fn what_a_model_writes_cannot_drive_a_terminal() {
    let escape = "\u{1b}]52;c;aGk=\u{7}";
    let call = [("Read", json!({"file_path": format!("a{escape}b")}))];
    let lab = Lab::with(CLAUDE, Script::in_order(vec![Reply::calls(&call), Reply::text("Done.")]));
    let finished = lab.run(&["run", "helper", "T"]);
    assert_eq!(finished.code, 0, "{}", finished.shown());
    assert!(
        !finished.stderr.contains('\u{1b}') && !finished.stderr.contains('\u{7}'),
        "{}",
        finished.shown()
    );
}

#[test]
fn a_key_that_a_tool_comes_upon_is_not_shown_to_anybody() {
    let call = [("Read", json!({"file_path": ".env"}))];
    let lab = Lab::with(CLAUDE, Script::in_order(vec![Reply::calls(&call), Reply::text("Done.")]));
    lab.project.write(".env", format!("ANTHROPIC_API_KEY={KEY}\n"));
    assert_eq!(lab.run(&["run", "helper", "T"]).code, 0);
    let sent = String::from_utf8_lossy(&lab.server.requests()[1].raw).into_owned();
    assert!(sent.contains("ANTHROPIC_API_KEY=[ANTHROPIC_API_KEY]") && !sent.contains(KEY), "{sent}");
}
