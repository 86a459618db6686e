//! A store that is gone with its process: for tests, and for programs that keep nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use posse_core::event::{Event, Fact};
use posse_core::id::RunId;

use super::{Durability, Letter, Store, StoreError, StoredRun, Storing, assert_in_order, digits_of_prefix};

/// Keeps transcripts in memory.
#[derive(Debug, Default)]
pub struct MemoryStore {
    // Held for a few instructions and never across an await: runs of one process write beside each other.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    runs: BTreeMap<RunId, Kept>,
    letters: VecDeque<(RunId, Letter)>,
}

#[derive(Debug)]
struct Kept {
    owner: String,
    events: Vec<Event>,
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nobody panics while holding the lock")
    }
}

impl Kept {
    fn stored(&self, run_id: RunId) -> StoredRun {
        StoredRun { run_id, owner: self.owner.clone(), has_ended: self.has_ended() }
    }

    fn has_ended(&self) -> bool {
        self.events.last().is_some_and(|event| matches!(event.fact, Fact::Ended(_)))
    }
}

fn now<T: Send + 'static>(value: Result<T, StoreError>) -> Storing<'static, T> {
    Box::pin(std::future::ready(value))
}

impl Store for MemoryStore {
    fn create(&self, owner: &str, events: Vec<Event>) -> Storing<'_, ()> {
        let run_id = events.first().expect("a run is registered with its first event").run_id;
        assert_in_order(run_id, 1, &events);
        let mut state = self.state();
        if state.runs.contains_key(&run_id) {
            return now(Err(StoreError::Conflict { run_id }));
        }
        state.runs.insert(run_id, Kept { owner: owner.to_owned(), events });
        now(Ok(()))
    }

    fn append(
        &self,
        run_id: RunId,
        expected_seq: u64,
        events: Vec<Event>,
        _durability: Durability,
    ) -> Storing<'_, ()> {
        assert_in_order(run_id, expected_seq, &events);
        let mut state = self.state();
        let Some(kept) = state.runs.get_mut(&run_id) else { return now(Err(StoreError::Absent)) };
        if kept.has_ended() || kept.events.len() as u64 + 1 != expected_seq {
            return now(Err(StoreError::Conflict { run_id }));
        }
        kept.events.extend(events);
        now(Ok(()))
    }

    fn read(&self, run_id: RunId, from_seq: u64) -> Storing<'_, Vec<Event>> {
        let state = self.state();
        let Some(kept) = state.runs.get(&run_id) else { return now(Err(StoreError::Absent)) };
        let skipped = usize::try_from(from_seq.saturating_sub(1)).unwrap_or(usize::MAX);
        now(Ok(kept.events.iter().skip(skipped).cloned().collect()))
    }

    fn list(&self, count_max: usize) -> Storing<'_, Vec<StoredRun>> {
        let state = self.state();
        now(Ok(state.runs.iter().rev().take(count_max).map(|(id, kept)| kept.stored(*id)).collect()))
    }

    fn get(&self, run_id: RunId) -> Storing<'_, StoredRun> {
        now(self.state().runs.get(&run_id).map(|kept| kept.stored(run_id)).ok_or(StoreError::Absent))
    }

    fn find(&self, prefix: &str) -> Storing<'_, Vec<RunId>> {
        let Some(digits) = digits_of_prefix(prefix) else { return now(Ok(Vec::new())) };
        let state = self.state();
        let found = state.runs.keys().filter(|id| id.0.simple().to_string().starts_with(&digits));
        now(Ok(found.take(2).copied().collect()))
    }

    fn submit(&self, run_id: RunId, letter: Letter) -> Storing<'_, ()> {
        let mut state = self.state();
        if !state.runs.contains_key(&run_id) {
            return now(Err(StoreError::Absent));
        }
        state.letters.push_back((run_id, letter));
        now(Ok(()))
    }

    fn take_letters(&self, owner: &str) -> Storing<'_, Vec<(RunId, Letter)>> {
        let mut state = self.state();
        let letters = std::mem::take(&mut state.letters);
        let is_own = |id: &RunId| state.runs.get(id).is_some_and(|kept| kept.owner == owner);
        let (own, others) = letters.into_iter().partition(|(id, _)| is_own(id));
        state.letters = others;
        let own: VecDeque<(RunId, Letter)> = own;
        now(Ok(own.into()))
    }

    fn claim(&self, run_id: RunId, from: &str, to: &str) -> Storing<'_, bool> {
        let mut state = self.state();
        let Some(kept) = state.runs.get_mut(&run_id) else { return now(Err(StoreError::Absent)) };
        let is_free = kept.owner == from;
        if is_free {
            to.clone_into(&mut kept.owner);
        }
        now(Ok(is_free))
    }
}
