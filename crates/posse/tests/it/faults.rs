//! What goes wrong between a run and its provider: what is asked again, what is not, and that nothing half
//! received is kept.

use std::time::{Duration, Instant};

use expect_test::expect;
use posse_testkit::{Finished, Reply, Script};
use serde_json::{Value, json};

use crate::lab::{CLAUDE, Lab, MODELS, of_type, said, types, value};

/// A silence that is short for a test, and long for a busy machine.
const STALL: &str = "[limits]\nretries = 1\nstall = \"800ms\"\n";

fn answer() -> Reply {
    Reply::text("All is well.")
}

fn look() -> Reply {
    Reply::calls(&[("Read", json!({"file_path": "a.txt"}))])
}

/// Runs the helper and checks that it ended well after so many retries, with nothing but the answer stored.
fn check_recovers(model: &str, faults: Vec<Reply>) -> (Lab, Vec<Value>) {
    let count = faults.len();
    let lab = Lab::with(model, Script::in_order(faults.into_iter().chain([answer()]).collect()));
    lab.configure(STALL);
    let finished = lab.run(&["run", "helper", "T"]);
    assert_eq!(finished.stdout, "All is well.\n", "{model}: {}", finished.shown());
    assert_eq!(finished.code, 0, "{model}: {}", finished.shown());
    assert_eq!(lab.server.requests().len(), count + 1, "{model}");
    let events = lab.last_events();
    let retried = vec!["retried"; count];
    let wanted = [&["started", "asked"], retried.as_slice(), &["answered", "ended"]].concat();
    assert_eq!(types(&events), wanted, "{model}");
    let text = &of_type(&events, "answered")[0]["data"]["message"]["parts"];
    assert_eq!(
        text.as_array().and_then(|parts| parts.last()).map(|part| &part["text"]),
        Some(&json!("All is well."))
    );
    (lab, events)
}

/// Runs the helper and checks that it failed after so many requests, with nothing stored as an answer.
fn check_fails(model: &str, reply: &Reply, requests: usize) -> Finished {
    let reply = reply.clone();
    let lab = Lab::with(model, Script::route(move |_| reply.clone()));
    lab.configure(STALL);
    let finished = lab.run(&["run", "helper", "T"]);
    assert_eq!(finished.code, 4, "{model}: {}", finished.shown());
    assert_eq!(lab.server.requests().len(), requests, "{model}: {}", finished.shown());
    let events = lab.last_events();
    assert_eq!(of_type(&events, "answered").len(), 0, "{model}");
    assert_eq!(of_type(&events, "ended").len(), 1, "{model}");
    finished
}

/// Checks all of them beside each other: most of their time is waiting.
fn each<T: Sync>(all: &[T], check: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        for one in all {
            scope.spawn(|| check(one));
        }
    });
}

#[test]
fn a_rate_limit_is_waited_for_as_long_as_the_provider_asks() {
    let begun = Instant::now();
    let (_, events) = check_recovers(
        CLAUDE,
        vec![Reply::error(429, "rate_limit_error", "Slow down, please.").header("retry-after", "1")],
    );
    assert!(begun.elapsed() >= Duration::from_secs(1));
    let retried = &of_type(&events, "retried")[0]["data"];
    assert_eq!((&retried["status"], &retried["attempt"]), (&json!(429), &json!(1)));
    assert_eq!(retried["message"], json!("Slow down, please."));
    assert!(retried["wait_ms"].as_u64().is_some_and(|wait| wait >= 1000), "{retried}");
}

#[test]
fn a_retry_is_told_to_the_person() {
    let lab = Lab::new(vec![Reply::error(529, "overloaded_error", "Overloaded"), answer()]);
    let finished = lab.run(&["run", "helper", "T"]);
    assert!(finished.stderr.contains("  Overloaded (try 1); asking again in "), "{}", finished.shown());
}

#[test]
fn a_wait_that_is_too_long_is_not_waited() {
    let reply = Reply::error(429, "rate_limit_error", "Come back tomorrow.").header("retry-after", "80000");
    let finished = check_fails(CLAUDE, &reply, 1);
    assert!(finished.stderr.contains("Come back tomorrow."), "{}", finished.shown());
}

#[test]
fn statuses_that_pass_are_asked_again() {
    each(&[408, 409, 500, 502, 503, 529], |status| {
        check_recovers(CLAUDE, vec![Reply::error(*status, "api_error", "Not now.")]);
    });
}

#[test]
fn every_protocol_asks_again_after_an_overload_and_a_reset() {
    each(&MODELS, |model| {
        check_recovers(model, vec![Reply::error(503, "overloaded_error", "Overloaded")]);
        check_recovers(model, vec![answer().reset_at(0)]);
    });
}

#[test]
fn a_reset_in_the_middle_is_asked_again() {
    each(&MODELS, |model| {
        check_recovers(model, vec![Reply::text("A half-said thing that must not be kept").reset_at(450)]);
    });
}

fn check_cuts(model: &str) {
    each(&[0, 1, 60, 150, 200, 250, 300, 333], |offset| {
        check_recovers(model, vec![Reply::text("A half-said thing that must not be kept").cut_at(*offset)]);
    });
}

#[test]
fn a_cut_stream_of_anthropic_is_asked_again() {
    check_cuts(MODELS[0]);
}

#[test]
fn a_cut_stream_of_responses_is_asked_again() {
    check_cuts(MODELS[1]);
}

#[test]
fn a_cut_stream_of_gemini_is_asked_again() {
    check_cuts(MODELS[2]);
}

#[test]
fn a_cut_stream_of_chat_is_asked_again() {
    check_cuts(MODELS[3]);
}

#[test]
fn calls_of_a_cut_answer_are_not_carried_out() {
    each(&MODELS, |model| {
        let cut = Reply::calls(&[("Read", json!({"file_path": "a.txt"})), ("LS", json!({"path": "."}))])
            .cut_at(500);
        let (lab, _) = check_recovers(model, vec![cut]);
        assert_eq!(lab.runs()[0]["tool_calls"], 0, "{model}");
    });
}

#[test]
fn a_stalled_stream_is_asked_again() {
    each(&MODELS, |model| {
        let (_, events) = check_recovers(model, vec![answer().stall_at(100)]);
        assert_eq!(
            of_type(&events, "retried")[0]["data"]["message"],
            json!("no byte came for 0.8 s"),
            "{model}"
        );
    });
}

#[test]
fn garbage_is_asked_for_again() {
    each(&MODELS, |model| {
        check_recovers(model, vec![Reply::malformed_json()]);
        check_recovers(model, vec![Reply::malformed_sse()]);
    });
}

#[test]
fn an_error_inside_a_stream_is_asked_again() {
    each(&MODELS, |model| {
        let (_, events) =
            check_recovers(model, vec![Reply::in_stream_error("overloaded_error", "Overloaded now")]);
        let message = of_type(&events, "retried")[0]["data"]["message"].to_string();
        assert!(message.contains("Overloaded now"), "{model}: {message}");
    });
}

#[test]
fn faults_that_do_not_pass_are_bounded() {
    let replies = [
        Reply::error(500, "api_error", "Broken."),
        answer().cut_at(200),
        answer().reset_at(10),
        answer().stall_at(0),
        Reply::malformed_json(),
        Reply::malformed_sse(),
    ];
    each(&replies, |reply| {
        let finished = check_fails(CLAUDE, reply, 2);
        assert!(finished.stderr.contains("asked 2 times"), "{}", finished.shown());
    });
}

#[test]
fn what_lasts_is_not_asked_again_and_is_told_in_the_providers_words() {
    each(&MODELS, |model| {
        for status in [400, 401, 403, 404] {
            let words = format!("No: the reason is number {status}.");
            let finished = check_fails(model, &Reply::error(status, "invalid_request_error", &words), 1);
            assert!(finished.stderr.contains(&words), "{model}: {}", finished.shown());
        }
    });
}

#[test]
fn a_web_page_is_no_answer_and_is_not_asked_again() {
    each(&MODELS, |model| {
        let finished = check_fails(model, &Reply::wrong_content_type(), 1);
        assert!(finished.stderr.contains("is the base URL right?"), "{model}: {}", finished.shown());
    });
}

/// The slowest test here: the limit is a constant, and all of it is received.
#[test]
fn an_answer_without_end_is_given_up() {
    let lab = Lab::with(CLAUDE, Script::in_order(vec![Reply::huge(18 * 1024 * 1024)]));
    let finished = lab.run(&["run", "helper", "T", "--json"]);
    let run = value(&finished);
    assert_eq!((finished.code, &run["status"], &run["turns"]), (4, &json!("failed"), &json!(0)));
    expect![[r#"
        {
          "kind": "provider",
          "message": "anthropic/claude-sonnet-4-5 did not answer: the answer has more than 16777216 bytes",
          "help": null
        }
    "#]]
    .assert_eq(&format!("{:#}\n", run["error"]));
    assert!(finished.stdout.len() < 64 * 1024, "what is handed over is bounded");
}

#[test]
fn nobody_at_the_other_end_says_what_to_do() {
    let lab = Lab::new(vec![]);
    lab.configure("[limits]\nretries = 1\n");
    let mut command = lab.command(&["run", "helper", "T"]);
    // A port that nothing listens on: it was free a moment ago and nobody else has been given it.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", free.local_addr().expect("an address"));
    drop(free);
    let finished = crate::lab::finish(&lab.project, {
        command.env("ANTHROPIC_BASE_URL", &url);
        command
    });
    let events = lab.last_events();
    assert_eq!(types(&events), ["started", "asked", "retried", "ended"]);
    let error = of_type(&events, "ended")[0]["data"]["error"].to_string().replace(&url, "[URL]");
    expect![[r#"
        {"kind":"provider","message":"anthropic/claude-sonnet-4-5 did not answer: cannot connect: client error (Connect): tcp connect error: Connection refused (os error 111); asked 2 times","help":"can [URL] be reached? `posse doctor` tries"}
    "#]]
    .assert_eq(&format!("{error}\n"));
    assert_eq!(finished.code, 4, "{}", finished.shown());
}

fn too_long(model: &str) -> Reply {
    match model.split('/').next() {
        Some("anthropic") => {
            Reply::error(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")
        }
        Some("gemini") => Reply::error(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        _ => Reply::error(
            400,
            "context_length_exceeded",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        ),
    }
}

#[test]
fn a_conversation_that_is_too_long_is_shortened_and_goes_on() {
    each(&MODELS, |model| {
        let summary = Reply::text("Read a.txt twice; it says hello.");
        let lab =
            Lab::with(model, Script::in_order(vec![look(), look(), too_long(model), summary, answer()]));
        let run = value(&lab.run(&["run", "helper", "T", "--json"]));
        assert_eq!(
            (&run["status"], &run["result"]),
            (&json!("done"), &json!("All is well.")),
            "{model}: {run}"
        );
        let events = lab.last_events();
        let tail = &types(&events)[events.len() - 6..];
        assert_eq!(tail, ["asked", "retried", "compacted", "asked", "answered", "ended"], "{model}");
        let first = said(&lab.server.requests()[4]).concat();
        let summary = "<summary of the work so far>\nRead a.txt twice; it says hello.\n</summary>";
        assert_eq!(first.replace("\n\n", ""), format!("T{summary}"), "{model}: the task stays");
        let usage = &run["usage"];
        assert_eq!(
            (&usage["input_tokens"], &usage["output_tokens"]),
            (&json!(80), &json!(40)),
            "{model}: the summary counts"
        );
    });
}

#[test]
fn a_conversation_that_stays_too_long_is_a_failure() {
    each(&MODELS, |model| {
        let replies = vec![look(), look(), too_long(model), Reply::text("A summary."), too_long(model)];
        let lab = Lab::with(model, Script::in_order(replies));
        let finished = lab.run(&["run", "helper", "T", "--json"]);
        let run = value(&finished);
        assert_eq!((finished.code, &run["error"]["kind"]), (4, &json!("context")), "{model}: {run}");
        let lab = Lab::with(model, Script::in_order(vec![too_long(model)]));
        let finished = lab.run(&["run", "helper", "T", "--json"]);
        assert_eq!((finished.code, &value(&finished)["error"]["kind"]), (4, &json!("context")), "{model}");
    });
}

#[test]
fn a_fault_after_finished_turns_asks_none_of_them_again() {
    let lab = Lab::new(vec![look(), answer().cut_at(300), look(), answer().reset_at(0), answer()]);
    let run = value(&lab.run(&["run", "helper", "T", "--json"]));
    assert_eq!((&run["status"], &run["turns"], &run["tool_calls"]), (&json!("done"), &json!(3), &json!(2)));
    let bodies: Vec<Value> = lab.server.requests().into_iter().map(|request| request.body).collect();
    assert_eq!((&bodies[1], &bodies[3]), (&bodies[2], &bodies[4]), "a question is asked again as it was");
}
