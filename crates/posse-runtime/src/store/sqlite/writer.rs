//! The thread that writes: what waits is committed together, then each is answered.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use posse_core::event::{Event, Fact};
use posse_core::id::RunId;
use rusqlite::{Connection, OptionalExtension, params};
use tokio::sync::oneshot::Sender;

use super::{Fault, place, run_id};
use crate::store::{Durability, Letter, StoreError};

/// The most that is committed together.
const BATCH_MAX: usize = 512;

type Reply<T> = Sender<Result<T, StoreError>>;

/// One thing to write.
#[derive(Debug)]
pub(super) struct Write {
    pub durability: Durability,
    pub kind: WriteKind,
}

/// What is written, and who waits for it.
#[derive(Debug)]
pub(super) enum WriteKind {
    Create { owner: String, events: Vec<Event>, reply: Reply<()> },
    Append { run_id: RunId, expected_seq: u64, events: Vec<Event>, reply: Reply<()> },
    Submit { run_id: RunId, letter: Letter, reply: Reply<()> },
    TakeLetters { owner: String, reply: Reply<Vec<(RunId, Letter)>> },
    Claim { run_id: RunId, from: String, to: String, reply: Reply<bool> },
}

/// An answer that is given once the commit has succeeded.
type Answer = Box<dyn FnOnce(Result<(), StoreError>)>;

#[derive(Debug)]
pub(super) struct Writer {
    connection: Connection,
    path: Arc<PathBuf>,
    synced: bool,
}

impl Writer {
    pub(super) fn new(connection: Connection, path: Arc<PathBuf>) -> Writer {
        Writer { connection, path, synced: false }
    }

    /// Writes until nobody can ask any more.
    pub(super) fn run(mut self, writes: &Receiver<Write>) {
        while let Ok(first) = writes.recv() {
            let batch: Vec<Write> =
                std::iter::once(first).chain(writes.try_iter().take(BATCH_MAX - 1)).collect();
            self.commit(batch);
        }
    }

    /// Everything or nothing: what fails in the middle is undone, and everybody is told why.
    fn commit(&mut self, batch: Vec<Write>) {
        let durability = batch.iter().map(|write| write.durability).max().unwrap_or(Durability::Process);
        let mut done = self.begin(durability).map_err(|fault| fault.of(&self.path));
        let mut answers: Vec<Answer> = Vec::with_capacity(batch.len());
        for write in batch {
            let (answer, failure) = self.apply(write.kind, done.is_ok());
            answers.push(answer);
            done = done.and(failure);
        }
        let done = done.and_then(|()| {
            self.connection.execute_batch("COMMIT").map_err(|error| Fault::from(error).of(&self.path))
        });
        if done.is_err() && !self.connection.is_autocommit() {
            // What cannot be undone either is undone by the next process that opens the file.
            drop(self.connection.execute_batch("ROLLBACK"));
        }
        for answer in answers {
            answer(done.clone());
        }
    }

    fn begin(&mut self, durability: Durability) -> Result<(), Fault> {
        let wants_sync = durability == Durability::Machine;
        if wants_sync != self.synced {
            let level = if wants_sync { "full" } else { "normal" };
            self.connection.pragma_update(None, "synchronous", level)?;
            self.synced = wants_sync;
        }
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE")?)
    }

    /// Writes one thing, unless the batch is lost already; gives the answer to it and why the batch is lost.
    fn apply(&self, write: WriteKind, is_open: bool) -> (Answer, Result<(), StoreError>) {
        match write {
            WriteKind::Create { owner, events, reply } => {
                self.answer(reply, is_open, || self.create(&owner, &events))
            }
            WriteKind::Append { run_id, expected_seq, events, reply } => {
                self.answer(reply, is_open, || self.append(run_id, expected_seq, &events))
            }
            WriteKind::Submit { run_id, letter, reply } => {
                self.answer(reply, is_open, || self.submit(run_id, &letter))
            }
            WriteKind::TakeLetters { owner, reply } => {
                self.answer(reply, is_open, || self.take_letters(&owner))
            }
            WriteKind::Claim { run_id, from, to, reply } => {
                self.answer(reply, is_open, || self.claim(run_id, &from, &to))
            }
        }
    }

    fn create(&self, owner: &str, events: &[Event]) -> Result<(), Fault> {
        let run_id = events.first().expect("a run is registered with its first event").run_id;
        let mut insert = self
            .connection
            .prepare_cached("INSERT OR IGNORE INTO runs (id, next_seq, status) VALUES (?1, 1, 'running')")?;
        if insert.execute([run_id.0.as_bytes()])? == 0 {
            return Err(StoreError::Conflict { run_id }.into());
        }
        let mut lease = self.connection.prepare_cached("INSERT INTO leases (id, owner) VALUES (?1, ?2)")?;
        lease.execute(params![run_id.0.as_bytes(), owner])?;
        self.append(run_id, 1, events)
    }

    fn append(&self, run_id: RunId, expected_seq: u64, events: &[Event]) -> Result<(), Fault> {
        let next_seq = expected_seq + events.len() as u64;
        let status = match events.last().map(|event| &event.fact) {
            Some(Fact::Ended(outcome)) => outcome.status(),
            _ => "running",
        };
        let mut advance = self.connection.prepare_cached(
            "UPDATE runs SET next_seq = ?1, status = ?2 WHERE id = ?3 AND next_seq = ?4 AND status = 'running'",
        )?;
        if advance.execute(params![place(next_seq), status, run_id.0.as_bytes(), place(expected_seq)])? == 0 {
            let conflict = StoreError::Conflict { run_id };
            return Err(if self.is_known(run_id)? { conflict } else { StoreError::Absent }.into());
        }
        let mut insert = self
            .connection
            .prepare_cached("INSERT INTO events (id, seq, at, type, data) VALUES (?1, ?2, ?3, ?4, ?5)")?;
        for event in events {
            let (kind, data) = (event.fact.kind(), event.fact.data());
            insert.execute(params![run_id.0.as_bytes(), place(event.seq), event.at.0, kind, data])?;
        }
        Ok(())
    }

    fn is_known(&self, run_id: RunId) -> rusqlite::Result<bool> {
        let mut known = self.connection.prepare_cached("SELECT 1 FROM runs WHERE id = ?1")?;
        known.exists([run_id.0.as_bytes()])
    }

    fn submit(&self, run_id: RunId, letter: &Letter) -> Result<(), Fault> {
        let text = serde_json::to_string(letter).expect("a letter has text keys and no failing parts");
        if !self.is_known(run_id)? {
            return Err(StoreError::Absent.into());
        }
        let mut insert =
            self.connection.prepare_cached("INSERT INTO letters (id, letter) VALUES (?1, ?2)")?;
        insert.execute(params![run_id.0.as_bytes(), text])?;
        Ok(())
    }

    fn take_letters(&self, owner: &str) -> Result<Vec<(RunId, Letter)>, Fault> {
        let mut take = self.connection.prepare_cached(
            "DELETE FROM letters WHERE id IN (SELECT id FROM leases WHERE owner = ?1)
             RETURNING number, id, letter",
        )?;
        let rows = take.query_map([owner], |row| {
            Ok((row.get::<_, i64>(0)?, run_id(row.get(1)?), row.get::<_, String>(2)?))
        })?;
        let mut letters = rows.collect::<Result<Vec<_>, _>>()?;
        letters.sort_by_key(|(number, _, _)| *number);
        // A letter that a newer Posse wrote and this one cannot read must not keep the others from their runs.
        let read = |(_, id, text): (i64, RunId, String)| {
            serde_json::from_str(&text).ok().map(|letter: Letter| (id, letter))
        };
        Ok(letters.into_iter().filter_map(read).collect())
    }

    fn claim(&self, run_id: RunId, from: &str, to: &str) -> Result<bool, Fault> {
        let id = run_id.0.as_bytes();
        if !self.is_known(run_id)? {
            return Err(StoreError::Absent.into());
        }
        let mut known = self.connection.prepare_cached("SELECT owner FROM leases WHERE id = ?1")?;
        let owner: Option<String> = known.query_row([id], |row| row.get(0)).optional()?;
        if owner.as_deref().unwrap_or_default() != from {
            return Ok(false);
        }
        let mut claim = self.connection.prepare_cached(
            "INSERT INTO leases (id, owner) VALUES (?1, ?2) ON CONFLICT (id) DO UPDATE SET owner = ?2",
        )?;
        claim.execute(params![id, to])?;
        Ok(true)
    }

    /// What is answered to one write once everything is committed, and why nothing can be.
    fn answer<T: 'static>(
        &self,
        reply: Reply<T>,
        is_open: bool,
        write: impl FnOnce() -> Result<T, Fault>,
    ) -> (Answer, Result<(), StoreError>) {
        let unwritten = || Err(StoreError::Failed("not written".to_owned()));
        let result = if is_open { write().map_err(|fault| fault.of(&self.path)) } else { unwritten() };
        let failure = match &result {
            Err(StoreError::Failed(message)) if is_open => Err(StoreError::Failed(message.clone())),
            Ok(_) | Err(_) => Ok(()),
        };
        // Nobody may wait any more; then nobody needs the answer.
        (Box::new(move |committed| drop(reply.send(committed.and(result)))), failure)
    }
}
