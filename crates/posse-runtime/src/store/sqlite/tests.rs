//! What only a file can do: be shared by processes, outlive one that dies, be damaged, and be full.

use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};

use posse_core::event::{Event, Fact};
use posse_core::id::RunId;
use posse_core::message::Api;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::time::Time;
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;
use tokio::sync::oneshot;
use uuid::Uuid;

use super::writer::{Write, WriteKind, Writer};
use super::{Durability, Letter, SqliteStore, Store, StoreError, rebuild, schema};

mod faults;
mod processes;

/// A directory with a file that is not there yet.
fn file() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().join("below").join("store.db");
    (directory, path)
}

fn run(number: u128) -> RunId {
    RunId(Uuid::from_u128(0x0190_0000_0000_7000_8000_0000_0000_0000 + number))
}

fn started(run_id: RunId) -> Event {
    let plan = posse_testkit::sample::plan(Api::Anthropic, "http://127.0.0.1");
    Event { run_id, seq: 1, at: Time(1), fact: Fact::Started(Arc::new(plan)) }
}

/// An event with some weight.
fn mark(run_id: RunId, seq: u64, by: &str) -> Event {
    let data = json!({ "by": by, "weight": "x".repeat(200) });
    Event { run_id, seq, at: Time(2), fact: Fact::Unknown { kind: "mark".to_owned(), data } }
}

fn ended(run_id: RunId, seq: u64) -> Event {
    let outcome = Outcome::Stopped { reason: StopReason::Asked, partial: None };
    Event { run_id, seq, at: Time(3), fact: Fact::Ended(outcome) }
}

async fn append(store: &SqliteStore, event: Event) -> Result<(), StoreError> {
    let (run_id, seq) = (event.run_id, event.seq);
    store.append(run_id, seq, vec![event], Durability::Machine).await
}

/// A file with three runs, the second of which has ended.
async fn three_runs(path: &Path) -> SqliteStore {
    let store = SqliteStore::open(path).expect("the store opens");
    for number in 1..=3 {
        store.create("me", vec![started(run(number))]).await.expect("a new run can be registered");
        append(&store, mark(run(number), 2, "me")).await.expect("it is the next place");
    }
    append(&store, ended(run(2), 3)).await.expect("it is the next place");
    store
}

fn failed(result: Result<impl std::fmt::Debug, StoreError>) -> String {
    match result {
        Err(StoreError::Failed(message)) => message,
        other => panic!("the store did not fail: {other:?}"),
    }
}

/// A failure names the file and says what to do.
fn check_failure<T: std::fmt::Debug>(result: Result<T, StoreError>, path: &Path, advice: &str) {
    let message = failed(result);
    let expected = format!("{}: ", path.display());
    assert!(message.starts_with(&expected) && message.contains(advice), "{message}");
}

fn open(path: &Path) -> Result<&'static str, StoreError> {
    SqliteStore::open(path).map(|_| "a store")
}

/// Hands the writer everything at once, so that it is one batch; gives what each was answered.
async fn write_together(path: &Path, appends: Vec<Vec<Event>>) -> Vec<Result<(), StoreError>> {
    let (sender, writes) = mpsc::channel();
    let mut answers = Vec::new();
    for events in appends {
        let (reply, answer) = oneshot::channel();
        let (run_id, expected_seq) = (events[0].run_id, events[0].seq);
        let kind = WriteKind::Append { run_id, expected_seq, events, reply };
        sender.send(Write { durability: Durability::Process, kind }).expect("the writer is to come");
        answers.push(answer);
    }
    drop(sender);
    Writer::new(schema::open(path).expect("the file opens"), Arc::new(path.to_owned())).run(&writes);
    futures_util::future::join_all(answers).await.into_iter().map(|answer| answer.expect("told")).collect()
}

#[tokio::test]
async fn a_conflict_leaves_the_rest_of_its_batch_alone() {
    let (_directory, path) = file();
    let store = three_runs(&path).await;
    let batch = vec![
        vec![mark(run(1), 3, "a"), mark(run(1), 4, "a")],
        vec![mark(run(3), 9, "b")],
        vec![mark(run(2), 4, "b")],
        vec![mark(run(9), 2, "b")],
        vec![mark(run(3), 3, "c")],
    ];
    let conflict = |number| Err(StoreError::Conflict { run_id: run(number) });
    let told = write_together(&path, batch).await;
    assert_eq!(told, [Ok(()), conflict(3), conflict(2), Err(StoreError::Absent), Ok(())]);
    assert_eq!(store.read(run(1), 3).await, Ok(vec![mark(run(1), 3, "a"), mark(run(1), 4, "a")]));
    assert_eq!(store.read(run(3), 3).await, Ok(vec![mark(run(3), 3, "c")]));
}

#[tokio::test]
async fn a_failure_in_a_batch_is_told_to_all_and_nothing_of_it_is_kept() {
    let (_directory, path) = file();
    let store = three_runs(&path).await;
    let tampered = Connection::open(&path).expect("the file opens");
    tampered
        .execute("UPDATE runs SET next_seq = 2 WHERE id = ?1", [run(3).0.as_bytes()])
        .expect("it is there");
    let batch = vec![vec![mark(run(1), 3, "a")], vec![mark(run(3), 2, "b")], vec![mark(run(1), 4, "c")]];
    for told in write_together(&path, batch).await {
        check_failure(told, &path, "UNIQUE");
    }
    assert_eq!(store.read(run(1), 3).await, Ok(vec![]));
    append(&store, mark(run(1), 3, "a")).await.expect("the file is as it was");
}

#[tokio::test]
async fn the_derived_table_is_made_anew() {
    let (_directory, path) = file();
    let store = three_runs(&path).await;
    store.submit(run(1), Letter::Stop { reason: StopReason::Asked }).await.expect("the run is there");
    let listed = store.list(10).await.expect("there are runs");
    assert_eq!(listed.len(), 3);
    let by_hand = Connection::open(&path).expect("the file opens");
    let table = "SELECT sql FROM sqlite_schema WHERE name = 'runs'";
    let made: String = by_hand.query_row(table, [], |row| row.get(0)).expect("the table is there");
    for harm in ["DELETE FROM runs", "UPDATE runs SET next_seq = 7, status = 'done'", "DROP TABLE runs"] {
        by_hand.execute_batch(harm).expect("it can be harmed");
        assert_eq!(rebuild(&path), Ok(3), "{harm}");
        assert_eq!(store.list(10).await.as_ref(), Ok(&listed), "{harm}");
    }
    let made_anew: String = by_hand.query_row(table, [], |row| row.get(0)).expect("the table is there");
    assert_eq!(made_anew, made);
    assert_eq!(append(&store, mark(run(2), 4, "me")).await, Err(StoreError::Conflict { run_id: run(2) }));
    append(&store, mark(run(1), 3, "me")).await.expect("it is the next place");
    assert_eq!(store.take_letters("me").await.expect("the owner is known").len(), 1);
}

#[tokio::test]
async fn a_letter_that_cannot_be_read_does_not_hold_up_the_others() {
    let (_directory, path) = file();
    let store = three_runs(&path).await;
    let newer = Connection::open(&path).expect("the file opens");
    let letter = r#"{"type":"from_the_future"}"#;
    newer
        .execute("INSERT INTO letters (id, letter) VALUES (?1, ?2)", (run(1).0.as_bytes(), letter))
        .expect("a letter can be left");
    let stop = Letter::Stop { reason: StopReason::Asked };
    store.submit(run(1), stop.clone()).await.expect("the run is there");
    assert_eq!(store.take_letters("me").await, Ok(vec![(run(1), stop)]));
}
