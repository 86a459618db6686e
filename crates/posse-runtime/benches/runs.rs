//! What a run costs beyond its requests, as ratios against a bare loop of the same run.
//!
//! Not a test: a busy machine makes a ratio worse, and a person reads it. Every figure is taken in a process of
//! its own, and the scripted model server is another one.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

#[path = "runs/bare.rs"]
mod bare;
#[path = "runs/measure.rs"]
mod measure;
#[path = "runs/ours.rs"]
mod ours;

use measure::{Child, Server, child};
use serde_json::{Value, json};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["server", script] => measure::serve(script),
        ["ours", store, rest @ ..] => measure::tell(&ours::many(store, &Child::parse(rest))),
        ["bare", rest @ ..] => measure::tell(&bare::many(&Child::parse(rest))),
        // `cargo test --benches` only asks whether it runs.
        words if words.contains(&"--test") => {}
        _ => {
            rustix::process::setrlimit(rustix::process::Resource::Nofile, files_max()).expect("a limit");
            cpu_of_a_run();
            many_live_runs();
            long_runs();
        }
    }
}

/// As many open files as the machine allows: each live run holds a connection.
fn files_max() -> rustix::process::Rlimit {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    rustix::process::Rlimit { current: limit.maximum, maximum: limit.maximum }
}

fn verdict(ratio: f64, ratio_max: f64) -> &'static str {
    if ratio <= ratio_max { "ok" } else { "TOO MUCH" }
}

/// Three turns, two tool calls.
fn short_script(latency_ms: u64) -> Value {
    let call = |name: &str, input: Value| json!({"calls": [[name, input]], "latency_ms": latency_ms});
    json!({"by_turn": [
        call("Read", json!({"file_path": "notes.txt"})),
        call("Read", json!({"file_path": "notes.txt", "offset": 5, "limit": 3})),
        {"text": "The notes say that all is well.", "latency_ms": latency_ms},
    ]})
}

/// Each round measures all three, one right after the other: a machine that is slower for a while is slower for
/// all of them.
fn cpu_of_a_run() {
    const RUNS: usize = 4_000;
    const ROUNDS: usize = 7;
    let server = Server::start(&short_script(0));
    let cpu_us = |arguments: &[&str]| child(arguments, &server, RUNS, 64, 3).cpu_us;
    let rounds: Vec<[f64; 3]> = (0..ROUNDS)
        .map(|_| [cpu_us(&["bare"]), cpu_us(&["ours", "memory"]), cpu_us(&["ours", "sqlite"])])
        .collect();
    let bare_us = median(rounds.iter().map(|[bare, ..]| *bare));
    println!("CPU of a run of 3 turns and 2 tool calls, against a bare loop ({bare_us:.0} µs)");
    for (column, store, ratio_max) in [(1, "memory", 1.5), (2, "sqlite", 2.5)] {
        let ours_us = median(rounds.iter().map(|round| round[column]));
        let ratio = median(rounds.iter().map(|round| round[column] / round[0]));
        let told = verdict(ratio, ratio_max);
        println!("  {store}: {ours_us:.0} µs, ratio {ratio:.2} (at most {ratio_max}) {told}");
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

fn many_live_runs() {
    const LATENCY_MS: u64 = 50;
    let server = Server::start(&short_script(LATENCY_MS));
    println!("runs live at once, {LATENCY_MS} ms a turn");
    let mut per_run = Vec::new();
    for runs in [1_000, 10_000] {
        let ours = child(&["ours", "memory"], &server, runs, runs, 3);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let runs_f = runs as f64;
        let cpu_s = ours.cpu_us * runs_f / 1e6;
        // The server takes its share of the same cores.
        #[expect(clippy::cast_precision_loss, reason = "a few cores")]
        let cores = std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64);
        let floor_s = ((cpu_s + ours.server_cpu_s) / cores).max(3.0 * 0.001 * 50.0);
        let ratio = ours.wall_s / floor_s;
        let kib = ours.resident_kib / runs_f;
        println!(
            "  {runs}: wall {:.2} s, {ratio:.2} of max(CPU ÷ cores, turns × latency) (at most 2) {}; {kib:.0} KiB a run{}",
            ours.wall_s,
            verdict(ratio, 2.0),
            // What a process takes anyway weighs little only on many.
            if runs == 10_000 { format!(" (at most 64) {}", verdict(kib, 64.0)) } else { String::new() }
        );
        per_run.push(ours.cpu_us);
    }
    let growth = per_run[1] / per_run[0];
    println!("  CPU a run, 10,000 against 1,000: {growth:.2} (at most 1.5) {}", verdict(growth, 1.5));
}

/// In instructions: a long conversation is half a megabyte a turn, and what sending it takes on a busy machine
/// differs by more than all the rest. The kernel, which sends, is not counted.
fn long_runs() {
    println!("instructions of a turn");
    let turn = |turns: usize, runs: usize| -> Option<f64> {
        let mut replies: Vec<Value> =
            (1..turns).map(|_| json!({"calls": [["Read", {"file_path": "notes.txt"}]]})).collect();
        replies.push(json!({"text": "done"}));
        let server = Server::start(&json!({"by_turn": replies}));
        let instructions = |runs: usize| measure::instructions(&server, runs, turns);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let one = (instructions(runs + 1)? - instructions(1)?) / (runs * turns) as f64;
        println!("  {turns} turns: {one:.0} a turn");
        Some(one)
    };
    let (Some(short), Some(long)) = (turn(10, 100), turn(1_000, 1)) else {
        println!("  not counted: valgrind is not installed");
        return;
    };
    let ratio = long / short;
    println!("  in a run of 1,000 turns against one of 10: {ratio:.2} (at most 1.5) {}", verdict(ratio, 1.5));
}
