//! Where transcripts are kept: the seam, and what every store promises.
//!
//! The log of events is the truth; whatever else a store keeps is derived from it. `append` names the place
//! it expects to write at, so that two processes cannot extend one run.

mod memory;
mod sqlite;

use std::future::Future;
use std::pin::Pin;

use posse_core::event::Event;
use posse_core::id::RunId;
use posse_core::outcome::StopReason;
use serde::{Deserialize, Serialize};

pub use memory::MemoryStore;
pub use sqlite::{SqliteStore, rebuild};

/// Something the store does later.
pub type Storing<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// How safe an append must be before it is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// It survives this process.
    Process,
    /// It survives this machine: what precedes an effect, and how a run ended.
    Machine,
}

/// What one process tells the owner of a run in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Letter {
    /// Stop it.
    Stop {
        /// Why.
        reason: StopReason,
    },
    /// Tell it something.
    Say {
        /// Who says it.
        from: String,
        /// The words.
        text: String,
    },
}

/// A run as the store lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRun {
    /// The run.
    pub run_id: RunId,
    /// The process that runs it, or ran it last.
    pub owner: String,
    /// True once it has ended.
    pub has_ended: bool,
}

/// Why a store did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreError {
    /// Somebody else has written at that place.
    Conflict {
        /// The run.
        run_id: RunId,
    },
    /// There is no such run.
    Absent,
    /// The store itself failed.
    Failed(String),
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StoreError::Conflict { run_id } => write!(f, "another process has gone on with run {run_id}"),
            StoreError::Absent => write!(f, "there is no such run"),
            StoreError::Failed(message) => write!(f, "{message}"),
        }
    }
}

/// Keeps transcripts.
pub trait Store: Send + Sync {
    /// Registers a run with its first events and who runs it.
    fn create(&self, owner: &str, events: Vec<Event>) -> Storing<'_, ()>;

    /// Adds events to a run, the first of them at `expected_seq`; all of them or none.
    fn append(
        &self,
        run_id: RunId,
        expected_seq: u64,
        events: Vec<Event>,
        durability: Durability,
    ) -> Storing<'_, ()>;

    /// The events of a run from a place on.
    fn read(&self, run_id: RunId, from_seq: u64) -> Storing<'_, Vec<Event>>;

    /// The runs there are, the newest first.
    fn list(&self, count_max: usize) -> Storing<'_, Vec<StoredRun>>;

    /// One run.
    fn get(&self, run_id: RunId) -> Storing<'_, StoredRun>;

    /// The runs whose identity begins so, as many as tell whether it is unique.
    fn find(&self, prefix: &str) -> Storing<'_, Vec<RunId>>;

    /// Leaves a letter for the owner of a run.
    fn submit(&self, run_id: RunId, letter: Letter) -> Storing<'_, ()>;

    /// Takes the letters for the runs of an owner, the oldest first.
    fn take_letters(&self, owner: &str) -> Storing<'_, Vec<(RunId, Letter)>>;

    /// Hands a run from one owner to another; false when it was not the first one's any more.
    fn claim(&self, run_id: RunId, from: &str, to: &str) -> Storing<'_, bool>;
}

/// What must hold of events that are handed to a store: they follow one another from the place they are for.
fn assert_in_order(run_id: RunId, expected_seq: u64, events: &[Event]) {
    let in_order =
        (expected_seq..).zip(events).all(|(seq, event)| event.seq == seq && event.run_id == run_id);
    assert!(in_order, "the events of run {run_id} follow one another from {expected_seq}");
}

/// The hexadecimal digits that an identity is to begin with; `None` when there is no such identity.
fn digits_of_prefix(prefix: &str) -> Option<String> {
    let digits: String = prefix.chars().filter(|c| *c != '-').map(|c| c.to_ascii_lowercase()).collect();
    let is_possible = (1..=32).contains(&digits.len()) && digits.chars().all(|c| c.is_ascii_hexdigit());
    is_possible.then_some(digits)
}

#[cfg(test)]
mod tests;
