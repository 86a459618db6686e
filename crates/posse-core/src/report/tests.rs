//! The JSON of a run, as programs rely on it.

use expect_test::expect;

use super::{Report, ResultSize};
use crate::event::{Attachment, Event, Fact};
use crate::step::script::{RUN_ID, Run, finished};
use crate::time::Time;

fn report(run: &Run, is_owned: bool) -> Report<'_> {
    Report { run_id: RUN_ID, plan: &run.plan, transcript: &run.transcript, is_owned }
}

/// The status of a run whose process is alive, and of one whose is not.
#[track_caller]
fn check_status(script: &str, expected: (&str, &str)) {
    let run = Run::play(script);
    assert_eq!((report(&run, true).status(), report(&run, false).status()), expected);
}

/// The result and whether it was cut, where six bytes are handed over at most.
#[track_caller]
fn check_cut(script: &str, size: ResultSize, expected: (&str, bool)) {
    let mut run = Run::play(script);
    std::sync::Arc::make_mut(&mut run.plan).limits.result_bytes.value = 6;
    let json = report(&run, false).to_json(size);
    assert_eq!((json["result"].as_str(), json["truncated"].as_bool()), (Some(expected.0), Some(expected.1)));
}

#[test]
fn a_file_that_was_attached_twice_is_there_once_as_it_was_last() {
    let mut run = Run::play("start ask calls:a,b,c");
    for (id, path, bytes) in [("a", "/w/chart.png", 1), ("b", "/w/notes.md", 2), ("c", "/w/chart.png", 3)] {
        let Fact::ToolFinished(mut fact) = finished(id) else { panic!("not a result") };
        let (path, media_type) = (path.to_owned(), "image/png".to_owned());
        fact.attachments = vec![Attachment { path, media_type, bytes }];
        let event = Event {
            run_id: RUN_ID,
            seq: run.transcript.next_seq,
            at: Time(0),
            fact: Fact::ToolFinished(fact),
        };
        run.transcript.append(&event).expect("a call that is open may finish");
    }
    expect![[r#"[{"path":"/w/notes.md","media_type":"image/png","bytes":2},{"path":"/w/chart.png","media_type":"image/png","bytes":3}]"#]]
        .assert_eq(&report(&run, true).to_json(ResultSize::Whole)["attachments"].to_string());
}

#[test]
fn a_run_that_has_not_ended_is_running_or_interrupted() {
    check_status("start ask", ("running", "interrupted"));
    check_status("start ask stop", ("running", "interrupted"));
}

#[test]
fn a_run_that_ended_stands_as_it_ended_whoever_lives() {
    check_status("start ask answer:x end", ("done", "done"));
    check_status("start ask refusal: end", ("failed", "failed"));
    check_status("start ask stop end", ("stopped", "stopped"));
    check_status("start ask deadline end", ("timed_out", "timed_out"));
    check_status("start ask cut:x end", ("exhausted", "exhausted"));
}

#[test]
fn a_long_result_is_cut_at_a_character_with_a_mark() {
    let id = "00000000-0000-0000-0000-000000000007";
    check_cut("start ask answer:sixsix end", ResultSize::Bounded, ("sixsix", false));
    check_cut(
        "start ask answer:seven77 end",
        ResultSize::Bounded,
        (&format!("seven7\n[cut: 6 of 7 bytes; `posse result {id}` has all]"), true),
    );
    check_cut(
        "start ask answer:fünf-é-é end",
        ResultSize::Bounded,
        (&format!("fünf-\n[cut: 6 of 11 bytes; `posse result {id}` has all]"), true),
    );
    check_cut("start ask answer:seven77 end", ResultSize::Whole, ("seven77", false));
}

#[test]
fn a_run_is_told_so() {
    let run =
        Run::play(r#"schema start uses=100 costs=0.25 ask calls:a begin:a finish:a ask answer:{"n":1} end"#);
    let json = report(&run, false).to_json(ResultSize::Bounded);
    expect![[r#"
        {
          "run_id": "00000000-0000-0000-0000-000000000007",
          "agent": "a",
          "status": "done",
          "result": "{\"n\":1}",
          "output": {
            "n": 1
          },
          "findings": [],
          "attachments": [],
          "error": null,
          "task": "task",
          "context": null,
          "caller": "cli",
          "depth": 0,
          "parent_run_id": null,
          "session_id": null,
          "started_at": "1970-01-01T00:00:01.000Z",
          "ended_at": "1970-01-01T00:00:08.000Z",
          "duration_ms": 7000,
          "turns": 2,
          "tool_calls": 1,
          "denied": [],
          "usage": {
            "input_tokens": 200,
            "output_tokens": 0,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0
          },
          "cost_usd": 0.5,
          "tree": {
            "runs": 1,
            "usage": {
              "input_tokens": 200,
              "output_tokens": 0,
              "cache_read_tokens": 0,
              "cache_write_tokens": 0
            },
            "cost_usd": 0.5
          },
          "model": "scripted/m",
          "engine": "native",
          "isolation": "none",
          "workspace": "/w",
          "truncated": false
        }
    "#]]
    .assert_eq(&format!("{json:#}\n"));
}

#[test]
fn a_run_that_ended_badly_has_its_error_and_what_there_was() {
    let run = Run::play("turns=1 start costs=? ask calls:a finish:a ask answer:So_far end");
    let json = report(&run, false).to_json(ResultSize::Bounded);
    let shown = ["status", "result", "output", "error", "cost_usd", "tree"]
        .map(|key| format!("{key}: {}\n", json[key]));
    expect![[r#"
        status: "exhausted"
        result: "So far"
        output: null
        error: {"kind":"turns","message":"The limit of 1 turns (from --max-turns) is reached.","help":"give it more with --max-turns"}
        cost_usd: null
        tree: {"runs":1,"usage":{"input_tokens":20,"output_tokens":0,"cache_read_tokens":0,"cache_write_tokens":0},"cost_usd":null}
    "#]].assert_eq(&shown.concat());
}

#[test]
fn a_run_that_was_stopped_says_why() {
    let run = Run::play("start ask interrupt end");
    let json = report(&run, false).to_json(ResultSize::Bounded);
    expect![[r#"
        {"kind":"stopped","message":"the run was stopped: its process was interrupted","help":null}
    "#]]
    .assert_eq(&format!("{}\n", json["error"]));
}
