//! A store that fails says which file and what to do, and keeps what it had.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use rusqlite::Connection;
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

use super::{append, check_failure, failed, file, mark, open, run, started, three_runs};
use crate::store::sqlite::{SqliteStore, schema};
use crate::store::{Durability, Store, StoreError};

#[tokio::test]
async fn a_file_of_a_newer_version_is_refused() {
    let (_directory, path) = file();
    drop(three_runs(&path).await);
    let newer = Connection::open(&path).expect("the file opens");
    newer.pragma_update(None, "user_version", 99).expect("the version can be set");
    let expected = format!("{}: written by a newer Posse (version 99; this one knows 1)", path.display());
    assert_eq!(failed(open(&path)), expected);
    newer.pragma_update(None, "user_version", 1).expect("the version can be set");
    let store = SqliteStore::open(&path).expect("the store opens");
    assert_eq!(store.list(10).await.expect("there are runs").len(), 3, "it was left alone");
}

#[test]
fn a_file_of_garbage_is_refused_and_left_alone() {
    let (directory, _) = file();
    let path = directory.path().join("store.db");
    for garbage in [vec![0xA5; 16_384], b"posse".to_vec(), vec![0; 4_096]] {
        fs::write(&path, &garbage).expect("a file can be written");
        check_failure(open(&path), &path, "the file is damaged; move it away");
        assert_eq!(fs::read(&path).expect("the file is there"), garbage);
    }
}

#[tokio::test]
async fn a_truncated_file_is_not_taken_for_a_shorter_one() {
    let (_directory, path) = file();
    let store = three_runs(&path).await;
    let marks = (3..500).map(|seq| mark(run(3), seq, "me")).collect();
    store.append(run(3), 3, marks, Durability::Process).await.expect("it is the next place");
    drop(store);
    let whole = fs::metadata(&path).expect("the file is there").len();
    assert!(whole > 100_000, "the events are in the file itself, which has {whole} bytes");
    let file = fs::OpenOptions::new().write(true).open(&path).expect("the file opens");
    file.set_len(whole / 2 / 4_096 * 4_096).expect("a file can be cut");
    let read = async { SqliteStore::open(&path)?.read(run(3), 1).await };
    check_failure(read.await, &path, "the file is damaged");
}

#[tokio::test]
async fn one_damaged_event_is_named_and_hides_no_other_run() {
    let (_directory, path) = file();
    let store = three_runs(&path).await;
    let by_hand = Connection::open(&path).expect("the file opens");
    by_hand
        .execute("UPDATE events SET data = '{' WHERE id = ?1 AND seq = 2", [run(1).0.as_bytes()])
        .expect("it can be harmed");
    let message = failed(store.read(run(1), 1).await);
    assert!(message.starts_with(&format!("event 2 of run {} is damaged: ", run(1))), "{message}");
    assert_eq!(store.read(run(3), 2).await, Ok(vec![mark(run(3), 2, "me")]));
    assert_eq!(store.list(10).await.expect("there are runs").len(), 3);
}

#[test]
fn a_directory_in_the_place_of_the_file_is_refused() {
    let (_directory, path) = file();
    fs::create_dir_all(&path).expect("a directory can be made");
    check_failure(open(&path), &path, "look at its permissions");
}

#[test]
fn a_file_in_the_place_of_the_directory_is_refused() {
    let (_directory, path) = file();
    let place = path.parent().expect("it is below a directory");
    fs::write(place, "").expect("a file can be written");
    check_failure(open(&path), place, "look at its permissions");
}

/// Makes this thread, and those it starts, heed permissions even if it is root's; there is no way back.
fn heed_permissions() {
    let overriding = CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
    let mut sets = capabilities(None).expect("a thread knows its capabilities");
    sets.effective -= overriding;
    sets.permitted -= overriding;
    set_capabilities(None, sets).expect("a thread may give capabilities up");
}

#[test]
fn a_file_or_directory_that_may_not_be_written_is_not() {
    let thread = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime can be made");
        runtime.block_on(check_permissions());
    });
    thread.join().expect("permissions are heeded");
}

async fn check_permissions() {
    let (_directory, path) = file();
    let place = path.parent().expect("it is below a directory");
    drop(three_runs(&path).await);
    let allow = |path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    heed_permissions();
    for (file_mode, directory_mode) in [(0o444, 0o755), (0o644, 0o555), (0o444, 0o555), (0o000, 0o755)] {
        allow(&*path, file_mode);
        allow(place, directory_mode);
        // A file that can only be read may be looked at; what is refused is to write.
        let write = async { append(&SqliteStore::open(&path)?, mark(run(1), 3, "me")).await };
        check_failure(write.await, &path, "look at its permissions");
    }
    allow(place, 0o755);
    allow(&path, 0o644);
    let store = SqliteStore::open(&path).expect("the store opens");
    assert_eq!(store.read(run(1), 2).await, Ok(vec![mark(run(1), 2, "me")]));
}

#[tokio::test]
async fn a_full_disk_stops_writing_and_loses_nothing() {
    let (_directory, path) = file();
    drop(three_runs(&path).await);
    let writing = schema::open(&path).expect("the file opens");
    let pages: u32 = writing.pragma_query_value(None, "page_count", |row| row.get(0)).expect("a count");
    writing.pragma_update(None, "max_page_count", pages + 4).expect("a limit can be set");
    let reading = schema::open_to_read(&path).expect("the file opens");
    let store = SqliteStore::over(&path, writing, reading).expect("threads can be started");
    let mut seq = 3;
    let full = loop {
        match append(&store, mark(run(1), seq, "me")).await {
            Ok(()) => seq += 1,
            failed => break failed,
        }
    };
    check_failure(full, &path, "the disk is full; make room on it");
    check_failure(store.create("me", vec![started(run(4))]).await, &path, "the disk is full");
    assert_eq!(store.read(run(1), 1).await.expect("the run is there").len() as u64, seq - 1);
    drop(store);
    let roomier = SqliteStore::open(&path).expect("the store opens");
    assert_eq!(roomier.get(run(4)).await, Err(StoreError::Absent));
    append(&roomier, mark(run(1), seq, "me")).await.expect("it is still the next place");
}

#[tokio::test]
async fn a_file_that_another_process_holds_is_waited_for_and_then_given_up() {
    let (_directory, path) = file();
    drop(three_runs(&path).await);
    let writing = schema::open(&path).expect("the file opens");
    writing.busy_timeout(Duration::from_millis(20)).expect("a time can be set");
    let reading = schema::open_to_read(&path).expect("the file opens");
    let store = SqliteStore::over(&path, writing, reading).expect("threads can be started");
    let holder = Connection::open(&path).expect("the file opens");
    holder.execute_batch("BEGIN IMMEDIATE").expect("the file can be held");
    check_failure(append(&store, mark(run(1), 3, "me")).await, &path, "another process holds it");
    assert_eq!(store.read(run(1), 3).await, Ok(vec![]), "reading goes on");
    holder.execute_batch("COMMIT").expect("the file can be let go");
    append(&store, mark(run(1), 3, "me")).await.expect("it is still the next place");
}
