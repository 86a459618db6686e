//! What a command costs in the sandbox that its run already has, as a ratio against a bare bubblewrap around the same.
//!
//! Not a test: a busy machine makes a ratio worse, and a person reads it.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use posse_runtime::child::{
    Command, Confinement, Exit, How, Input, Isolation, Network, Output, Probe, Processes, Program,
    environment,
};

const ROUNDS: usize = 101;
const RATIO_MAX: f64 = 1.3;

fn main() {
    // `cargo test --benches` only asks whether it runs.
    if std::env::args().any(|word| word == "--test") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(measure());
}

async fn measure() {
    let guard = PathBuf::from(env!("CARGO_BIN_EXE_posse-guard"));
    if let Err(refused) = Probe::new(guard.clone()).prove(Isolation::Sandbox, &Network::None).await {
        println!("not measured: {refused}");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let workspace = directory.path().canonicalize().expect("a path");
    let processes = Processes::new(confinement(&workspace), guard);
    let first = timed(ours(&processes, &workspace)).await;
    // Each round measures both, one right after the other: a machine that is slower for a while is slower for both.
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((timed(bare()).await, timed(ours(&processes, &workspace)).await));
    }
    processes.close().await;
    let bare_ms = median(rounds.iter().map(|(bare, _)| bare.as_secs_f64() * 1e3));
    let ours_ms = median(rounds.iter().map(|(_, ours)| ours.as_secs_f64() * 1e3));
    let ratio = median(rounds.iter().map(|(bare, ours)| ours.as_secs_f64() / bare.as_secs_f64()));
    let told = if ratio <= RATIO_MAX { "ok" } else { "TOO MUCH" };
    println!(
        "`true` in a sandbox: bwrap alone {bare_ms:.1} ms, first command of a run {:.1} ms",
        first.as_secs_f64() * 1e3
    );
    println!("  every further command: {ours_ms:.1} ms, ratio {ratio:.2} (at most {RATIO_MAX}) {told}");
}

fn confinement(workspace: &Path) -> Confinement {
    Confinement {
        isolation: Isolation::Sandbox,
        network: Network::None,
        workspace: workspace.to_owned(),
        scratch: workspace.to_owned(),
        readable: Vec::new(),
        writable: Vec::new(),
        variables: environment([], &[]),
    }
}

async fn timed(work: impl Future<Output = ()>) -> Duration {
    let start = Instant::now();
    work.await;
    start.elapsed()
}

async fn ours(processes: &Processes, workspace: &Path) {
    let command = Command {
        program: Program::Direct("/bin/true".into(), Vec::new()),
        cwd: workspace.to_owned(),
        variables: Vec::new(),
        input: Input::Empty,
        output: Output::Together,
        timeout: Duration::from_secs(60),
        grace: Duration::ZERO,
    };
    let mut running = processes.start(command).await.expect("it starts");
    assert_eq!(running.wait().await.how, How::Exited(Exit::Code(0)));
}

/// The same namespaces around the same program, without anything of ours.
async fn bare() {
    let words =
        ["--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--die-with-parent", "--new-session"];
    let status = tokio::process::Command::new("bwrap")
        .args(words)
        .args(["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "/bin/true"])
        .status();
    assert!(status.await.expect("it starts").success());
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
