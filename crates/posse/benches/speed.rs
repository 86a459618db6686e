//! Speed as ratios against a bare baseline of the same run, each with the most it may be.
//!
//! Not a test: a busy machine makes a ratio worse, and a person reads it.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::fs;
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use posse_core::definition::frontmatter::{Top, find};
use posse_core::definition::source::Source;
use posse_core::definition::yaml;
use posse_runtime::discover::read_paths;
use posse_testkit::{ModelServer, Reply, Script};

const POSSE: &str = env!("CARGO_BIN_EXE_posse");

fn main() {
    // `cargo test --benches` only asks whether it runs.
    if std::env::args().any(|argument| argument == "--test") {
        return;
    }
    if let [mode, url] = std::env::args().skip(1).collect::<Vec<_>>().as_slice()
        && mode == "bare"
    {
        return bare_request(url);
    }
    first_byte();
    reading_a_collection();
    listing_twenty_agents();
    listing_ten_thousand();
}

/// CPU from the start of a process to its first request, against a program that does nothing else.
fn first_byte() {
    // The answer never comes: what is measured ends when the request is there.
    let never = Reply::text("later").latency_ms(600_000);
    let server = ModelServer::start(Script::route(move |_| never.clone()));
    let home = tempfile::tempdir().expect("a directory");
    let variables = [("ANTHROPIC_API_KEY", "sk-ant-bench"), ("ANTHROPIC_BASE_URL", &server.url())];
    let mut asked = 0;
    let mut cpu = |command: &mut Command| {
        command.current_dir(home.path()).env_clear().envs(variables).env("HOME", home.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it runs");
        asked += 1;
        server.wait_for_requests(asked);
        let cpu = cpu_of(child.id());
        child.kill().expect("it is there");
        child.wait().expect("it ends");
        cpu
    };
    let mut least = |make: &dyn Fn() -> Command| (0..15).map(|_| cpu(&mut make())).min().unwrap_or_default();
    let this = std::env::current_exe().expect("a program");
    let baseline = least(&|| {
        let mut command = Command::new(&this);
        command.args(["bare", &server.url()]);
        command
    });
    let ours = least(&|| {
        let mut command = Command::new(POSSE);
        command.args(["run", "summarizer", "Say hello."]);
        command
    });
    report("CPU of posse run up to its first request, against a bare HTTP client", ours, baseline, 3.0);
    drop(server.take_problems());
}

/// The bare client: one request over the same HTTP library.
fn bare_request(url: &str) {
    drop(rustls::crypto::ring::default_provider().install_default());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let body = r#"{"model":"m","max_tokens":8,"stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    runtime.block_on(async {
        let client = reqwest::Client::builder().build().expect("a client");
        let request = client.post(format!("{url}/v1/messages")).header("x-api-key", "k").body(body);
        black_box(request.header("anthropic-version", "2023-06-01").send().await.is_ok());
    });
}

/// The time that the threads of a process have been on a processor.
fn cpu_of(process: u32) -> Duration {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().filter_map(Result::ok);
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// The fastest of several runs: what is left when nothing else was running.
fn fastest(runs: usize, mut work: impl FnMut()) -> Duration {
    let once = |work: &mut dyn FnMut()| {
        let start = Instant::now();
        work();
        start.elapsed()
    };
    (0..runs).map(|_| once(&mut work)).min().unwrap_or_default()
}

fn report(what: &str, ours: Duration, baseline: Duration, ratio_max: f64) {
    let ratio = ours.as_secs_f64() / baseline.as_secs_f64();
    let verdict = if ratio <= ratio_max { "ok" } else { "TOO SLOW" };
    println!(
        "{what}\n  ours {ours:.1?}, baseline {baseline:.1?}, ratio {ratio:.2} (at most {ratio_max}) {verdict}"
    );
}

/// Finding, reading and judging a collection, against reading the same bytes and parsing the same frontmatter once.
fn reading_a_collection() {
    let directory = tempfile::tempdir().expect("a directory");
    let files = collection(directory.path());
    let baseline = fastest(7, || {
        for file in &files {
            let bytes = fs::read(file).expect("readable");
            let Ok(source) = Source::decode(bytes) else { continue };
            if let Top::Block(block) = find(&source) {
                let block = &source.text()[block.yaml.start..block.yaml.end];
                black_box(yaml::parse(block, 0).is_ok());
            }
        }
    });
    let roots = [directory.path().to_owned()];
    let ours = fastest(7, || {
        black_box(read_paths(&roots));
    });
    report(&format!("reading {} files end to end", files.len()), ours, baseline, 2.0);
}

/// The public collection where it lies beside the repository, else files made from the examples.
fn collection(directory: &Path) -> Vec<PathBuf> {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let named = std::env::var_os("POSSE_CORPUS").map(PathBuf::from);
    let archive = named.unwrap_or_else(|| repository.join("../shared/corpus/dev.tar.gz"));
    if let Ok(archive) = fs::File::open(archive) {
        tar::Archive::new(flate2::read::GzDecoder::new(archive)).unpack(directory).expect("it unpacks");
    } else {
        let text = fs::read_to_string(repository.join("examples/team/.claude/agents/reviewer.md"))
            .expect("the example");
        agents(&directory.join(".claude/agents"), 2286, &text);
    }
    let mut files = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for path in fs::read_dir(directory)
            .expect("readable")
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        {
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md" || extension == "toml") {
                files.push(path);
            }
        }
    }
    files
}

fn agents(directory: &Path, count: usize, text: &str) {
    fs::create_dir_all(directory).expect("a directory");
    for index in 0..count {
        let named = text.replacen("name: reviewer", &format!("name: agent-{index}"), 1);
        fs::write(directory.join(format!("agent-{index}.md")), named).expect("written");
    }
}

const AGENT: &str = "---\nname: reviewer\ndescription: Reviews the changes of a branch and says what is wrong with them.\n\
tools: Read, Grep, Glob, Bash\nmodel: sonnet\n---\nYou review changes. Read the diff first, then the files around it.\n";

fn list(directory: &Path) -> Command {
    let mut command = Command::new(POSSE);
    command.args(["list", "--json"]).current_dir(directory).env_clear().env("HOME", directory.join("home"));
    command
}

fn listing_twenty_agents() {
    let directory = tempfile::tempdir().expect("a directory");
    agents(&directory.path().join(".claude/agents"), 20, AGENT);
    let spawn = |command: &mut Command| {
        let output = command.stdin(Stdio::null()).output().expect("it runs");
        assert!(output.status.success(), "{output:?}");
    };
    let baseline = fastest(50, || spawn(&mut Command::new("/bin/true")));
    let ours = fastest(50, || spawn(&mut list(directory.path())));
    report("posse list with 20 agents, against /bin/true", ours, baseline, 10.0);
}

fn listing_ten_thousand() {
    let measured = |count: usize| {
        let directory = tempfile::tempdir().expect("a directory");
        agents(&directory.path().join(".claude/agents"), count, AGENT);
        let mut megabytes = 0;
        let time = fastest(3, || megabytes = peak_megabytes(directory.path()));
        (time, megabytes)
    };
    let (half, _) = measured(5_000);
    let (whole, megabytes) = measured(10_000);
    report("posse list with 10,000 agents, against 5,000", whole, half, 2.5);
    println!(
        "  peak memory {megabytes} MB (at most 200) {}",
        if megabytes <= 200 { "ok" } else { "TOO MUCH" }
    );
}

/// Lists, and looks at the process's peak while it waits for its output to be read.
fn peak_megabytes(directory: &Path) -> u64 {
    let mut child = list(directory).stdout(Stdio::piped()).spawn().expect("it runs");
    let mut stdout = child.stdout.take().expect("piped");
    let mut first = [0];
    stdout.read_exact(&mut first).expect("it prints");
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes =
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).expect("it prints");
    assert!(child.wait().expect("it ends").success());
    kilobytes / 1024
}
