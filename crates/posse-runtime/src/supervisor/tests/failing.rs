//! A store that fails from some event on, until it is mended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use posse_core::event::Event;
use posse_core::id::RunId;

use super::{Does, SuperviseError, alone, done, kinds, outcome, plan};
use crate::store::{Durability, Letter, MemoryStore, Store, StoreError, StoredRun, Storing};

/// Fails from the event of that place on.
pub(super) struct FailingStore {
    store: MemoryStore,
    from_seq: AtomicU64,
}

pub(super) fn error() -> StoreError {
    StoreError::Failed("store.db: the disk is full".to_owned())
}

impl FailingStore {
    pub(super) fn from(seq: u64) -> FailingStore {
        FailingStore { store: MemoryStore::default(), from_seq: AtomicU64::new(seq) }
    }

    fn mend(&self) {
        self.from_seq.store(u64::MAX, Ordering::Relaxed);
    }

    fn fails(&self, events: &[Event]) -> bool {
        events.iter().any(|event| event.seq >= self.from_seq.load(Ordering::Relaxed))
    }
}

fn failing<T: Send + 'static>() -> Storing<'static, T> {
    Box::pin(std::future::ready(Err(error())))
}

impl Store for FailingStore {
    fn create(&self, owner: &str, events: Vec<Event>) -> Storing<'_, ()> {
        if self.fails(&events) { failing() } else { self.store.create(owner, events) }
    }

    fn append(
        &self,
        run_id: RunId,
        expected_seq: u64,
        events: Vec<Event>,
        durability: Durability,
    ) -> Storing<'_, ()> {
        if self.fails(&events) {
            return failing();
        }
        self.store.append(run_id, expected_seq, events, durability)
    }

    fn read(&self, run_id: RunId, from_seq: u64) -> Storing<'_, Vec<Event>> {
        self.store.read(run_id, from_seq)
    }

    fn list(&self, count_max: usize) -> Storing<'_, Vec<StoredRun>> {
        self.store.list(count_max)
    }

    fn get(&self, run_id: RunId) -> Storing<'_, StoredRun> {
        self.store.get(run_id)
    }

    fn find(&self, prefix: &str) -> Storing<'_, Vec<RunId>> {
        self.store.find(prefix)
    }

    fn submit(&self, run_id: RunId, letter: Letter) -> Storing<'_, ()> {
        self.store.submit(run_id, letter)
    }

    fn take_letters(&self, owner: &str) -> Storing<'_, Vec<(RunId, Letter)>> {
        self.store.take_letters(owner)
    }

    fn claim(&self, run_id: RunId, from: &str, to: &str) -> Storing<'_, bool> {
        self.store.claim(run_id, from, to)
    }
}

/// A store that fails from some place on stops the run, says so, and keeps what it had.
async fn check_lost_store(does: Does, from_seq: u64, stored: &[&str]) {
    let store = Arc::new(FailingStore::from(from_seq));
    let supervisor = alone(does, store.clone());
    let started = supervisor.start(plan(), None).await.expect("a run starts");
    let run_id = started.run_id;
    assert_eq!(outcome(started).await, Err(error()));
    assert_eq!(kinds(store.as_ref(), run_id).await, stored);
    let view = supervisor.wait(run_id).await.expect("nobody waits for what does not run");
    assert_eq!(view.report().status(), "interrupted");
    store.mend();
    let supervisor = alone(Does::Ends, store.clone());
    let resumed = supervisor.resume(run_id, None).await.expect("a run that nobody runs");
    assert_eq!(outcome(resumed).await, Ok(done("yes")));
}

#[tokio::test]
async fn losing_the_store_stops_the_run_and_is_told() {
    check_lost_store(Does::Ends, 2, &["started"]).await;
    check_lost_store(Does::Ends, 3, &["started", "asked"]).await;
    check_lost_store(Does::Panics, 3, &["started", "asked"]).await;
}

/// The run stayed the process's own, so that nobody could go on with it while the process lived.
#[tokio::test]
async fn a_run_that_lost_its_store_can_be_gone_on_with_in_the_same_process() {
    let store = Arc::new(FailingStore::from(3));
    let supervisor = alone(Does::Ends, store.clone());
    let started = supervisor.start(plan(), None).await.expect("a run starts");
    let run_id = started.run_id;
    assert_eq!(outcome(started).await, Err(error()));
    store.mend();
    let resumed = supervisor.resume(run_id, None).await.expect("a run that nobody runs");
    assert_eq!(outcome(resumed).await, Ok(done("yes")));
    let again = supervisor.resume(run_id, None).await.map(|started| started.run_id);
    assert_eq!(again, Err(SuperviseError::Ended("done")));
}
