//! `posse run` up to its limits: turns, tokens, time, money, and answers that are none.

use posse_testkit::{Reply, Script, Stop};
use serde_json::{Value, json};

use crate::lab::{CLAUDE, Lab, MODELS, of_type, said, types, value};

fn look() -> Reply {
    Reply::calls(&[("Read", json!({"file_path": "a.txt"}))]).and_text("Looking. ")
}

/// Runs the helper with JSON output and gives it with the exit code.
fn run(lab: &Lab, more: &[&str]) -> (Value, i32) {
    let arguments = [&["run", "helper", "T", "--output", "json"], more].concat();
    let finished = lab.run(&arguments);
    (value(&finished), finished.code)
}

/// How a run ended: exit code, status, kind of error, text.
fn ending((run, code): &(Value, i32)) -> (i32, &str, &str, Option<&str>) {
    let text = |value: &'_ Value| value.as_str().map(|text| text.to_owned().leak() as &str);
    (
        *code,
        text(&run["status"]).unwrap_or(""),
        text(&run["error"]["kind"]).unwrap_or(""),
        text(&run["result"]),
    )
}

#[test]
fn after_the_last_turn_tools_are_sent_and_none_may_be_called() {
    for model in MODELS {
        let lab = Lab::with(model, Script::by_turn(vec![look(), Reply::text("What I have.")]));
        let ended = run(&lab, &["--max-turns", "1"]);
        assert_eq!(ending(&ended), (6, "exhausted", "turns", Some("What I have.")), "{model}");
        assert_eq!(ended.0["turns"], 2, "{model}");
        let requests = lab.server.requests();
        let (first, last) = (&requests[0].body, &requests[1].body);
        assert_eq!(first["tools"], last["tools"], "{model}: the cached beginning holds");
        assert!(last["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{model}");
        let none = json!("none");
        let is_none = last["tool_choice"] == none
            || last["tool_choice"]["type"] == none
            || last["toolConfig"]["functionCallingConfig"]["mode"] == json!("NONE");
        assert!(is_none, "{model}: {last:#}");
        assert!(said(&requests[1]).last().is_some_and(|text| text.contains("limit of 1 turn")), "{model}");
    }
}

#[test]
fn calls_in_the_last_turn_are_not_carried_out() {
    let lab = Lab::new(vec![look(), look().and_text("And this.")]);
    let ended = run(&lab, &["--max-turns", "1"]);
    assert_eq!(ending(&ended), (6, "exhausted", "turns", Some("Looking. And this.")));
    assert_eq!(ended.0["tool_calls"], 1);
}

#[test]
fn spent_tokens_end_a_run_with_one_more_turn() {
    let lab = Lab::new(vec![look(), Reply::text("What I have.")]);
    lab.agent(&format!("model: {CLAUDE}\nbudget:\n  tokens: 25\n"));
    let ended = run(&lab, &[]);
    assert_eq!(ending(&ended), (6, "exhausted", "tokens", Some("What I have.")));
}

#[test]
fn time_that_is_over_ends_a_run_at_once_with_what_had_streamed() {
    for model in MODELS {
        let lab = Lab::with(model, Script::by_turn(vec![Reply::text("The first half").stall_at(900)]));
        let ended = run(&lab, &["--timeout", "400ms"]);
        let (code, status, kind, text) = ending(&ended);
        assert_eq!((code, status, kind), (6, "timed_out", "timeout"), "{model}");
        assert!(text.is_none_or(|text| "The first half".starts_with(text)), "{model}: {text:?}");
        let took = ended.0["duration_ms"].as_u64().expect("a number");
        assert!((400..2500).contains(&took), "{model}: {took} ms");
        assert_eq!(of_type(&lab.last_events(), "answered").len(), 0, "{model}");
    }
    let lab = Lab::new(vec![Reply::text("The first half").stall_at(700)]);
    assert_eq!(ending(&run(&lab, &["--timeout", "400ms"])).3, Some("The first ha"));
}

#[test]
fn spent_money_ends_a_run_at_once() {
    let lab = Lab::new(vec![look()]);
    let ended = run(&lab, &["--budget-usd", "0.0001"]);
    assert_eq!(ending(&ended), (6, "exhausted", "budget", Some("Looking. ")));
    assert_eq!(lab.server.requests().len(), 1);
}

#[test]
fn money_that_cannot_be_counted_is_refused_at_the_start() {
    let lab = Lab::with("lab/scripted-large", Script::in_order(vec![]));
    let (refused, code) = run(&lab, &["--budget-usd", "1"]);
    assert_eq!((code, &refused["error"]["kind"]), (3, &json!("definition")));
    let message = refused["error"]["message"].as_str().expect("a message");
    assert!(message.contains("lab/scripted-large"), "{message}");
    assert!(lab.runs().is_empty());
}

#[test]
fn a_price_of_ones_own_counts_money() {
    let lab = Lab::with("lab/scripted-large", Script::in_order(vec![Reply::text("Done.")]));
    lab.configure("[prices.\"lab/scripted-large\"]\ninput = 10\noutput = 100\n");
    let (ended, code) = run(&lab, &["--budget-usd", "1"]);
    assert_eq!((code, ended["cost_usd"].as_f64().map(|cost| (cost * 1e6).round())), (0, Some(1200.0)));
}

#[test]
fn an_empty_answer_is_asked_for_once_more() {
    for model in MODELS {
        let lab = Lab::with(model, Script::in_order(vec![Reply::text(""), Reply::text("")]));
        assert_eq!(ending(&run(&lab, &[])), (4, "failed", "empty", None), "{model}");
        assert_eq!(lab.server.requests().len(), 2, "{model}");
        let lab = Lab::with(model, Script::in_order(vec![Reply::text(""), Reply::text("Sorry: 4.")]));
        assert_eq!(ending(&run(&lab, &[])), (0, "done", "", Some("Sorry: 4.")), "{model}");
    }
}

#[test]
fn a_refusal_is_a_failure_with_the_models_words() {
    for model in MODELS {
        let reply = Reply::text("I would rather not.").stop(Stop::Refusal);
        let lab = Lab::with(model, Script::in_order(vec![reply]));
        let ended = run(&lab, &[]);
        let (code, status, kind, _) = ending(&ended);
        assert_eq!((code, status, kind), (4, "failed", "refusal"), "{model}: {}", ended.0);
        assert_eq!(lab.server.requests().len(), 1, "{model}");
    }
}

#[test]
fn an_answer_cut_at_the_output_limit_is_kept_and_is_no_success() {
    for model in MODELS {
        let reply = Reply::text("Once upon a").stop(Stop::MaxTokens);
        let lab = Lab::with(model, Script::in_order(vec![reply]));
        let ended = run(&lab, &[]);
        assert_eq!(ending(&ended), (6, "exhausted", "output_tokens", Some("Once upon a")), "{model}");
    }
}

#[test]
fn a_long_result_is_cut_for_the_caller_and_whole_in_the_store() {
    let long = "word ".repeat(20_000);
    let lab = Lab::new(vec![Reply::text(&long)]);
    let (bounded, code) = run(&lab, &[]);
    assert_eq!((code, &bounded["truncated"]), (0, &json!(true)));
    let text = bounded["result"].as_str().expect("a text");
    assert!(text.len() < 33_000 && text.contains("posse result"), "{} bytes", text.len());
    let whole = lab.json(&["result", bounded["run_id"].as_str().expect("an identity"), "--json"]);
    assert_eq!((&whole["result"], &whole["truncated"]), (&json!(long), &json!(false)));
}

#[test]
fn input_over_the_limit_is_refused_and_never_cut() {
    let lab = Lab::new(vec![]);
    let finished = lab.run_with_input(&["run", "helper"], &"x".repeat(1_048_577));
    assert_eq!(finished.code, 3, "{}", finished.shown());
    assert!(finished.stderr.contains("1048577 bytes"), "{}", finished.stderr);
    assert!(lab.runs().is_empty());
}

#[test]
fn unknown_tools_and_wrong_input_are_told_to_the_model() {
    for model in MODELS {
        let calls = Reply::calls(&[
            ("Bash", json!({"command": "ls"})),
            ("Read", json!({"path": "a.txt"})),
            ("Read", json!({"file_path": "none.txt"})),
            ("Read", json!({"file_path": "../../etc/passwd"})),
        ]);
        let lab = Lab::with(model, Script::by_turn(vec![calls, Reply::text("So be it.")]));
        lab.agent(&format!("model: {model}\ntools: Read, LS\n"));
        let ended = run(&lab, &[]);
        assert_eq!(ending(&ended), (0, "done", "", Some("So be it.")), "{model}");
        assert_eq!(ended.0["tool_calls"], 4, "{model}");
        let told = crate::lab::results(&lab.server.requests()[1]);
        assert_eq!(told.len(), 4, "{model}: {told:?}");
        assert_eq!(told[0], "There is no tool `Bash`. The tools are: Read, LS.", "{model}");
        assert!(told[1].contains("\"file_path\" is a required property"), "{model}: {}", told[1]);
        assert!(told[2].contains("none.txt"), "{model}: {}", told[2]);
        assert!(!told[3].contains("root:"), "{model}: {}", told[3]);
        let events = lab.last_events();
        assert_eq!(types(&events).iter().filter(|kind| **kind == "tool_finished").count(), 4);
        assert!(of_type(&events, "tool_finished").iter().all(|event| event["data"]["is_error"] == true));
    }
}
