//! Several processes at one file, and those that die at it. The children are this program again.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use posse_core::id::RunId;
use rustix::process::{Signal, getpid, kill_process};

use super::{append, check_failure, file, mark, run, started, three_runs};
use crate::store::sqlite::SqliteStore;
use crate::store::{Store, StoreError};

const ORDER: &str = "POSSE_STORE_ORDER";
const FILE: &str = "POSSE_STORE_FILE";
const CHILD: &str = "store::sqlite::tests::processes::child";

const PROCESSES: u128 = 4;
/// Runs of its own that each process writes.
const RUNS: u128 = 5;
/// Events that each process adds to the run that all share.
const SHARED: u64 = 25;

/// The command of a child with an order.
fn command(order: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test has a program"));
    command.args(["--exact", CHILD, "--nocapture"]).env(ORDER, order).env(FILE, path);
    command
}

/// Not a test: what a child does. Without an order it does nothing.
#[tokio::test]
async fn child() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let path = PathBuf::from(std::env::var_os(FILE).expect("an order is about a file"));
    let store = SqliteStore::open(&path).expect("the store opens");
    match order.as_str() {
        "die" => write_and_die(&store).await,
        "fill" => fill(&store, &path).await,
        number => share(&store, number.parse().expect("an order is a number")).await,
    }
}

/// The run that a process has for itself.
fn own(process: u128, number: u128) -> RunId {
    run(1_000 + process * RUNS + number)
}

async fn share(store: &SqliteStore, process: u128) {
    let by = process.to_string();
    for number in 0..RUNS {
        store.create(&by, vec![started(own(process, number))]).await.expect("it is new");
    }
    for seq in 2..=20 {
        let appends = (0..RUNS).map(|number| append(store, mark(own(process, number), seq, &by)));
        for appended in futures_util::future::join_all(appends).await {
            appended.expect("nobody else writes there");
        }
    }
    match store.create(&by, vec![started(run(1))]).await {
        Ok(()) | Err(StoreError::Conflict { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    for _ in 0..SHARED {
        // Whoever is late looks again where the end is.
        loop {
            let seq = store.read(run(1), 1).await.expect("it is there").len() as u64 + 1;
            match append(store, mark(run(1), seq, &by)).await {
                Ok(()) => break,
                Err(StoreError::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

#[tokio::test]
async fn several_processes_at_one_new_file_lose_nothing() {
    let (_directory, path) = file();
    let spawn = |process: u128| {
        let mut command = command(&process.to_string(), &path);
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a child can be started")
    };
    let children: Vec<_> = (0..PROCESSES).map(spawn).collect();
    for child in children {
        let output = child.wait_with_output().expect("a child ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let store = SqliteStore::open(&path).expect("the store opens");
    assert_eq!(store.list(100).await.expect("there are runs").len() as u128, PROCESSES * RUNS + 1);
    for process in 0..PROCESSES {
        for number in 0..RUNS {
            let events = store.read(own(process, number), 2).await.expect("the run is there");
            let by = process.to_string();
            let expected: Vec<_> = (2..=20).map(|seq| mark(own(process, number), seq, &by)).collect();
            assert_eq!(events, expected);
        }
    }
    let shared = store.read(run(1), 1).await.expect("the run is there");
    let count = 1 + u64::try_from(PROCESSES).expect("few") * SHARED;
    assert!(shared.iter().map(|event| event.seq).eq(1..=count), "no place is empty or taken twice");
    for process in 0..PROCESSES {
        let by = |seq| mark(run(1), seq, &process.to_string());
        let own = shared.iter().filter(|event| **event == by(event.seq)).count() as u64;
        assert_eq!(own, SHARED, "process {process}");
    }
}

#[test]
fn all_that_open_one_new_file_at_once_can() {
    for _ in 0..10 {
        let (_directory, path) = file();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| SqliteStore::open(&path).map(drop).expect("the store opens"));
            }
        });
    }
}

/// How many events a child is told to be stored before it dies.
const STORED: u64 = 40;

async fn write_and_die(store: &SqliteStore) {
    for seq in 3..=STORED {
        append(store, mark(run(1), seq, "child")).await.expect("it is the next place");
    }
    // On its way to the disk: it is there whole or not at all.
    drop(store.append(
        run(1),
        STORED + 1,
        vec![mark(run(1), STORED + 1, "child")],
        super::Durability::Process,
    ));
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
}

#[tokio::test]
async fn what_a_process_was_told_to_be_stored_is_there_after_it_died() {
    let (_directory, path) = file();
    let beside = three_runs(&path).await;
    let status = command("die", &path).stdout(Stdio::null()).status().expect("a child can be started");
    assert!(!status.success(), "it died");
    let reopened = SqliteStore::open(&path).expect("the store opens");
    for store in [&beside, &reopened] {
        let events = store.read(run(1), 1).await.expect("the run is there");
        assert!(events.iter().map(|event| event.seq).eq(1..=events.len() as u64));
        assert!((STORED..=STORED + 1).contains(&(events.len() as u64)), "{} are there", events.len());
    }
    let next = reopened.read(run(1), 1).await.expect("the run is there").len() as u64 + 1;
    append(&beside, mark(run(1), next, "me")).await.expect("it is the next place");
}

async fn fill(store: &SqliteStore, path: &Path) {
    let mut seq = 3;
    let full = loop {
        match append(store, mark(run(1), seq, "child")).await {
            Ok(()) => seq += 1,
            failed => break failed,
        }
    };
    check_failure(full, path, "the disk failed or is full");
    let count = store.read(run(1), 1).await.expect("reading goes on").len() as u64;
    assert_eq!(count, seq - 1, "what was said to be stored is there, and nothing else");
    std::fs::write(path.with_extension("count"), count.to_string()).expect("a small file can be written");
}

#[tokio::test]
async fn a_disk_that_takes_no_more_stops_writing_and_loses_nothing() {
    let (_directory, path) = file();
    drop(three_runs(&path).await);
    let child = command("fill", &path);
    // A file may not grow beyond 128 KiB, and growing it is an error rather than the end of the process.
    let mut limited = Command::new("/bin/sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\""]);
    limited.arg(child.get_program()).args(child.get_args());
    limited.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Output { status, stderr, .. } = limited.output().expect("a child can be started");
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let count = std::fs::read_to_string(path.with_extension("count")).expect("the child counted");
    let count: u64 = count.parse().expect("a number");
    assert!(count > 10, "{count} events fit");
    let store = SqliteStore::open(&path).expect("the store opens");
    assert_eq!(store.read(run(1), 1).await.expect("the run is there").len() as u64, count);
    append(&store, mark(run(1), count + 1, "me")).await.expect("it is the next place");
}
