//! One `SQLite` file in WAL mode: a thread that writes, a thread that reads, several processes at once.
//!
//! What waits to be written is committed together. A commit that must survive the machine is synced; the
//! others survive the process.

mod schema;
mod writer;

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

use posse_core::event::{Event, Fact};
use posse_core::id::RunId;
use posse_core::time::Time;
use rusqlite::{Connection, OptionalExtension, Row, params};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::{Durability, Letter, Store, StoreError, StoredRun, Storing, assert_in_order, digits_of_prefix};
use writer::{Write, WriteKind, Writer};

pub use schema::rebuild;

/// Work for the thread that reads.
type Reading = Box<dyn FnOnce(&Connection) + Send>;

/// Keeps transcripts in a file.
pub struct SqliteStore {
    path: Arc<PathBuf>,
    writer: Thread<Write>,
    reader: Thread<Reading>,
}

/// A thread and the way to hand it work; it ends when that is dropped.
struct Thread<T> {
    work: Option<mpsc::Sender<T>>,
    handle: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Thread<T> {
    fn start(
        name: &str,
        run: impl FnOnce(mpsc::Receiver<T>) + Send + 'static,
    ) -> Result<Thread<T>, StoreError> {
        let (sender, receiver) = mpsc::channel();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || run(receiver));
        let handle = thread.map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))?;
        Ok(Thread { work: Some(sender), handle: Some(handle) })
    }

    fn send(&self, work: T) -> Result<(), StoreError> {
        let sender = self.work.as_ref().expect("the way to a thread is there until it is dropped");
        sender.send(work).map_err(|_| StoreError::Failed("the store's thread has ended".to_owned()))
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        drop(self.work.take());
        if let Some(handle) = self.handle.take() {
            // A panic there was told to whoever waited for its answer.
            drop(handle.join());
        }
    }
}

impl SqliteStore {
    /// Opens the file, making it and what is above it if need be.
    pub fn open(path: &Path) -> Result<SqliteStore, StoreError> {
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(|error| {
                let advice = "no directory to keep runs in; look at its permissions";
                StoreError::Failed(format!("{}: {error} ({advice})", directory.display()))
            })?;
        }
        // What agents read is in there, and is nobody else's to see. The file may be there already; if it cannot
        // be made, opening it says why.
        drop(OpenOptions::new().create_new(true).write(true).mode(0o600).open(path));
        SqliteStore::over(path, schema::open(path)?, schema::open_to_read(path)?)
    }

    /// A store over two ways into one file.
    fn over(path: &Path, writing: Connection, reading: Connection) -> Result<SqliteStore, StoreError> {
        let path = Arc::new(path.to_owned());
        let writer = Writer::new(writing, path.clone());
        let writer = Thread::start("store-writer", move |writes| writer.run(&writes))?;
        let reader = Thread::start("store-reader", move |readings: mpsc::Receiver<Reading>| {
            for work in readings {
                work(&reading);
            }
        })?;
        Ok(SqliteStore { path, writer, reader })
    }

    fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        make: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> WriteKind,
    ) -> Storing<'_, T> {
        let (reply, answer) = oneshot::channel();
        let sent = self.writer.send(Write { durability, kind: make(reply) });
        Box::pin(async move {
            sent?;
            answer.await.map_err(|_| StoreError::Failed("the store's writer has ended".to_owned()))?
        })
    }

    fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Storing<'_, T> {
        let (reply, answer) = oneshot::channel();
        let path = self.path.clone();
        let sent = self.reader.send(Box::new(move |connection| {
            // Nobody waits any more: then nobody needs it.
            drop(reply.send(query(connection).map_err(|fault| fault.of(&path))));
        }));
        Box::pin(async move {
            sent?;
            answer.await.map_err(|_| StoreError::Failed("the store's reader has ended".to_owned()))?
        })
    }
}

/// Why something was not done, before it is said which file it is about.
#[derive(Debug)]
enum Fault {
    Store(StoreError),
    Sqlite(rusqlite::Error),
}

impl Fault {
    fn of(self, path: &Path) -> StoreError {
        match self {
            Fault::Store(error) => error,
            Fault::Sqlite(error) => schema::describe(path, &error),
        }
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Fault {
        Fault::Sqlite(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Fault {
        Fault::Store(error)
    }
}

/// The place of an event as the file keeps it.
fn place(seq: u64) -> i64 {
    i64::try_from(seq).expect("a run has far fewer events")
}

fn run_id(bytes: [u8; 16]) -> RunId {
    RunId(Uuid::from_bytes(bytes))
}

fn stored_run(row: &Row<'_>) -> rusqlite::Result<StoredRun> {
    Ok(StoredRun { run_id: run_id(row.get(0)?), owner: row.get(1)?, has_ended: row.get(2)? })
}

const STORED_RUN: &str = "SELECT runs.id, coalesce(leases.owner, ''), runs.status <> 'running' FROM runs LEFT JOIN leases USING (id)";

fn read_events(connection: &Connection, id: RunId, from_seq: u64) -> Result<Vec<Event>, Fault> {
    let mut query = connection
        .prepare_cached("SELECT seq, at, type, data FROM events WHERE id = ?1 AND seq >= ?2 ORDER BY seq")?;
    let mut rows = query.query(params![id.0.as_bytes(), place(from_seq)])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let (seq, at): (i64, i64) = (row.get(0)?, row.get(1)?);
        let seq = u64::try_from(seq).unwrap_or_default();
        let (kind, data) = (row.get_ref(2)?, row.get_ref(3)?);
        let damaged =
            |what: String| StoreError::Failed(format!("event {seq} of run {id} is damaged: {what}"));
        let kind = kind.as_str().map_err(|error| damaged(error.to_string()))?;
        let data = data.as_str().map_err(|error| damaged(error.to_string()))?;
        let fact = Fact::read(kind, data).map_err(|error| damaged(error.to_string()))?;
        events.push(Event { run_id: id, seq, at: Time(at), fact });
    }
    Ok(events)
}

fn has_events(connection: &Connection, id: RunId) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM events WHERE id = ?1 LIMIT 1")?.exists([id.0.as_bytes()])
}

/// The least and the greatest identity that begins with some hexadecimal digits.
fn range_of_prefix(prefix: &str) -> Option<([u8; 16], [u8; 16])> {
    let digits = digits_of_prefix(prefix)?;
    let fill = |with: char| {
        let padded: String = digits.chars().chain(std::iter::repeat(with)).take(32).collect();
        Uuid::try_parse(&padded).ok().map(Uuid::into_bytes)
    };
    Some((fill('0')?, fill('f')?))
}

impl Store for SqliteStore {
    fn create(&self, owner: &str, events: Vec<Event>) -> Storing<'_, ()> {
        let run_id = events.first().expect("a run is registered with its first event").run_id;
        assert_in_order(run_id, 1, &events);
        let owner = owner.to_owned();
        self.write(Durability::Process, |reply| WriteKind::Create { owner, events, reply })
    }

    fn append(
        &self,
        run_id: RunId,
        expected_seq: u64,
        events: Vec<Event>,
        durability: Durability,
    ) -> Storing<'_, ()> {
        assert_in_order(run_id, expected_seq, &events);
        self.write(durability, |reply| WriteKind::Append { run_id, expected_seq, events, reply })
    }

    fn read(&self, run_id: RunId, from_seq: u64) -> Storing<'_, Vec<Event>> {
        self.query(move |connection| {
            let events = read_events(connection, run_id, from_seq)?;
            if events.is_empty() && !has_events(connection, run_id)? {
                return Err(StoreError::Absent.into());
            }
            Ok(events)
        })
    }

    fn list(&self, count_max: usize) -> Storing<'_, Vec<StoredRun>> {
        self.query(move |connection| {
            let mut query =
                connection.prepare_cached(&format!("{STORED_RUN} ORDER BY runs.id DESC LIMIT ?1"))?;
            let rows = query.query_map([i64::try_from(count_max).unwrap_or(i64::MAX)], stored_run)?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn get(&self, run_id: RunId) -> Storing<'_, StoredRun> {
        self.query(move |connection| {
            let mut query = connection.prepare_cached(&format!("{STORED_RUN} WHERE runs.id = ?1"))?;
            query.query_row([run_id.0.as_bytes()], stored_run).optional()?.ok_or(StoreError::Absent.into())
        })
    }

    fn find(&self, prefix: &str) -> Storing<'_, Vec<RunId>> {
        let range = range_of_prefix(prefix);
        self.query(move |connection| {
            let Some((least, greatest)) = range else { return Ok(Vec::new()) };
            let mut query =
                connection.prepare_cached("SELECT id FROM runs WHERE id BETWEEN ?1 AND ?2 LIMIT 2")?;
            let rows = query.query_map([least, greatest], |row| row.get(0).map(run_id))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }

    fn submit(&self, run_id: RunId, letter: Letter) -> Storing<'_, ()> {
        self.write(Durability::Process, |reply| WriteKind::Submit { run_id, letter, reply })
    }

    fn take_letters(&self, owner: &str) -> Storing<'_, Vec<(RunId, Letter)>> {
        let owner = owner.to_owned();
        self.write(Durability::Process, |reply| WriteKind::TakeLetters { owner, reply })
    }

    fn claim(&self, run_id: RunId, from: &str, to: &str) -> Storing<'_, bool> {
        let (from, to) = (from.to_owned(), to.to_owned());
        self.write(Durability::Process, |reply| WriteKind::Claim { run_id, from, to, reply })
    }
}

#[cfg(test)]
mod tests;
