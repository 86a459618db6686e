//! Processes that measure and are measured.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use posse_testkit::{ModelServer, Script};
use serde_json::{Value, json};

/// What a process found out about itself.
pub struct Measured {
    pub cpu_us: f64,
    pub wall_s: f64,
    pub resident_kib: f64,
    pub server_cpu_s: f64,
}

/// What a measuring process is asked.
pub struct Child {
    pub url: String,
    pub runs: usize,
    pub at_once: usize,
    pub turns: usize,
}

/// The scripted server in a process of its own.
pub struct Server {
    process: std::process::Child,
    url: String,
}

impl Server {
    pub fn start(script: &Value) -> Server {
        let mut process = Command::new(std::env::current_exe().expect("a program"))
            .args(["server", &script.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut url = String::new();
        let stdout = process.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut url).expect("it says where it is");
        Server { process, url: url.trim().to_owned() }
    }

    fn cpu(&self) -> Duration {
        cpu_of(self.process.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().expect("the server ends").success(), "a request broke a rule");
    }
}

/// Serves until standard input closes; fails when a request broke a rule.
pub fn serve(script: &str) {
    let script: Value = serde_json::from_str(script).expect("a script");
    let server = ModelServer::start(Script::from_json(&script).expect("a script").keep_requests(0));
    println!("{}", server.url());
    std::io::stdout().flush().expect("whoever asked listens");
    let mut rest = String::new();
    while std::io::stdin().read_line(&mut rest).is_ok_and(|read| read > 0) {}
    let problems = server.take_problems();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Measures in a process of its own.
pub fn child(arguments: &[&str], server: &Server, runs: usize, at_once: usize, turns: usize) -> Measured {
    let before = server.cpu();
    let output = Command::new(std::env::current_exe().expect("a program"))
        .args(arguments)
        .args([&server.url, &runs.to_string(), &at_once.to_string(), &turns.to_string()])
        .stderr(Stdio::inherit())
        .output()
        .expect("it runs");
    assert!(output.status.success(), "{output:?}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("figures");
    let number = |key: &str| told[key].as_f64().expect("a figure");
    Measured {
        cpu_us: number("cpu_us"),
        wall_s: number("wall_s"),
        resident_kib: number("resident_kib"),
        server_cpu_s: server.cpu().saturating_sub(before).as_secs_f64(),
    }
}

/// How many instructions so many runs take, or `None` where they cannot be counted.
pub fn instructions(server: &Server, runs: usize, turns: usize) -> Option<f64> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().expect("a program"))
        .args(["ours", "memory", &server.url, &runs.to_string(), "1", &turns.to_string()])
        .output()
        .ok()?;
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8_lossy(&output.stderr);
    let collected = told.lines().find_map(|line| line.split_once("Collected : ")).expect("a figure");
    Some(collected.1.trim().parse().expect("a number"))
}

impl Child {
    pub fn parse(words: &[&str]) -> Child {
        let number = |index: usize| words[index].parse().expect("a number");
        Child { url: words[0].to_owned(), runs: number(1), at_once: number(2), turns: number(3) }
    }
}

pub fn tell(measured: &Measured) {
    let Measured { cpu_us, wall_s, resident_kib, .. } = measured;
    println!("{}", json!({"cpu_us": cpu_us, "wall_s": wall_s, "resident_kib": resident_kib}));
}

/// CPU for one of several runs, wall clock, and how much more memory was resident at the peak. What the runs
/// are asked is made before the CPU counts, on either side, and its memory is counted.
pub async fn measured<A, W: Future<Output = ()>>(
    runs: usize,
    make: impl FnOnce() -> A,
    work: impl FnOnce(A) -> W,
) -> Measured {
    let resident = resident_kib("VmRSS:");
    let asked = make();
    let (cpu, begun) = (cpu_of(std::process::id()), Instant::now());
    work(asked).await;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
    let cpu_us = (cpu_of(std::process::id()) - cpu).as_secs_f64() * 1e6 / runs as f64;
    let peak = resident_kib("VmHWM:") - resident;
    Measured { cpu_us, wall_s: begun.elapsed().as_secs_f64(), resident_kib: peak, server_cpu_s: 0.0 }
}

/// What the live threads of a process have used.
fn cpu_of(process: u32) -> Duration {
    let tasks =
        std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().filter_map(Result::ok);
    let nanoseconds = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

fn resident_kib(key: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0)
}

/// The runtime that both sides use.
pub fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime")
}
