//! What a supervisor promises, with an engine that does one thing and a store in memory.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use posse_core::event::{Asked, Event, Fact, StopAsked};
use posse_core::id::RunId;
use posse_core::message::Api;
use posse_core::outcome::{Outcome, RunError, StopReason};
use posse_core::plan::Plan;
use posse_core::step::{Step, next_step};
use posse_core::time::Time;
use tempfile::TempDir;
use tokio::sync::{Semaphore, mpsc};
use uuid::Uuid;

use super::{Means, Started, SuperviseError, Supervisor};
use crate::approver::Nobody;
use crate::engine::{Engine, Job, Live, Recorder, Running, Stop};
use crate::store::{Durability, MemoryStore, Store, StoreError};

mod doors;
mod failing;

/// What an engine does with a run.
#[derive(Clone)]
enum Does {
    /// Asks, and is done.
    Ends,
    /// Is done if the run is stored already.
    LooksForItself(Arc<MemoryStore>),
    /// Panics after something was stored.
    Panics,
    /// Panics before it has made a future.
    PanicsAtOnce,
    /// Ends the run, then panics.
    PanicsAtTheEnd,
    /// Goes on until it is stopped.
    Waits,
    /// Looks whether it is to stop only when told to look.
    WaitsFor(Arc<Semaphore>),
    /// Goes on until somebody says something, which is its answer.
    Listens,
}

struct StubEngine(Does);

fn done(text: &str) -> Outcome {
    Outcome::Done { result: text.to_owned(), output: None }
}

fn asked() -> Fact {
    Fact::Asked(Asked { turn: 1, note: None })
}

impl Engine for StubEngine {
    fn run<'a>(&'a self, job: Job, recorder: &'a mut dyn Recorder, stop: Stop) -> Running<'a> {
        assert!(!matches!(self.0, Does::PanicsAtOnce), "the engine panics at once");
        Box::pin(self.carry_out(job, recorder, stop))
    }
}

impl StubEngine {
    async fn carry_out(
        &self,
        mut job: Job,
        recorder: &mut dyn Recorder,
        mut stop: Stop,
    ) -> Result<Outcome, StoreError> {
        recorder.note(&mut job.transcript, asked());
        recorder.flush(Durability::Process).await?;
        let outcome = match &self.0 {
            Does::Ends | Does::PanicsAtTheEnd => done("yes"),
            Does::LooksForItself(store) => match store.get(job.run_id).await {
                Ok(stored) => done(&format!("stored for {}", stored.owner.len())),
                Err(error) => Outcome::failed(RunError::new("store", error.to_string())),
            },
            Does::Panics | Does::PanicsAtOnce => {
                recorder.note(&mut job.transcript, asked());
                panic!("the engine panics with something unstored");
            }
            Does::Waits => stopped(&mut job, recorder, &mut stop).await,
            Does::WaitsFor(gate) => {
                gate.acquire().await.expect("nobody closes it").forget();
                stopped(&mut job, recorder, &mut stop).await
            }
            Does::Listens => heard(recorder).await,
        };
        recorder.note(&mut job.transcript, Fact::Ended(outcome.clone()));
        recorder.flush(Durability::Machine).await?;
        assert!(!matches!(self.0, Does::PanicsAtTheEnd), "the engine panics at the end");
        Ok(outcome)
    }
}

async fn stopped(job: &mut Job, recorder: &mut dyn Recorder, stop: &mut Stop) -> Outcome {
    let reason = stop.asked().await;
    recorder.note(&mut job.transcript, Fact::StopAsked(StopAsked { reason }));
    match next_step(&job.plan, &job.transcript) {
        Step::End(outcome) => outcome,
        step => panic!("a run that is to stop ends, and does not {step:?}"),
    }
}

async fn heard(recorder: &mut dyn Recorder) -> Outcome {
    loop {
        if let Some(Fact::Said(said)) = recorder.letters().into_iter().next() {
            return done(&format!("{} said {}", said.from, said.text));
        }
        tokio::time::sleep(super::LOOK_EVERY).await;
    }
}

/// A time that is different each time.
fn clock() -> Time {
    static NOW: AtomicU64 = AtomicU64::new(1);
    Time(i64::try_from(NOW.fetch_add(1, Ordering::Relaxed)).expect("not so often"))
}

fn plan() -> Plan {
    posse_testkit::sample::plan(Api::Anthropic, "http://127.0.0.1")
}

/// A supervisor that nobody else can see.
fn alone(does: Does, store: Arc<dyn Store>) -> Supervisor {
    let means =
        Means { store, engine: Arc::new(StubEngine(does)), approver: Arc::new(Nobody), owners: None, clock };
    Supervisor::new(means).expect("a supervisor can be made")
}

/// One of several, as if each were a process.
fn among(owners: &Path, does: Does, store: &Arc<MemoryStore>) -> Supervisor {
    let (engine, owners) = (Arc::new(StubEngine(does)), Some(owners.to_owned()));
    let means = Means { store: store.clone(), engine, approver: Arc::new(Nobody), owners, clock };
    Supervisor::new(means).expect("a supervisor can be made")
}

fn owners() -> TempDir {
    tempfile::tempdir().expect("a directory can be made")
}

async fn outcome(started: Started) -> Result<Outcome, StoreError> {
    started.done.await.expect("the owning task tells how it ended")
}

/// The kinds of a run's events.
async fn kinds(store: &dyn Store, run_id: RunId) -> Vec<String> {
    let events = store.read(run_id, 1).await.expect("the run is there");
    events.iter().map(|event| event.fact.kind().to_owned()).collect()
}

/// Starts a run and checks how it ends, in whose eyes, and what is stored.
async fn check(does: Does, expected: Outcome, expected_kinds: &[&str]) {
    let store = Arc::new(MemoryStore::default());
    let supervisor = alone(does, store.clone());
    let started = supervisor.start(plan(), None).await.expect("a run starts");
    let run_id = started.run_id;
    assert_eq!(outcome(started).await.as_ref(), Ok(&expected));
    assert_eq!(kinds(store.as_ref(), run_id).await, expected_kinds);
    let view = supervisor.wait(run_id).await.expect("the run is there");
    assert_eq!(view.transcript.outcome, Some(expected));
}

fn panicked() -> Outcome {
    let error = RunError::new("panic", "something in Posse went wrong while it ran");
    Outcome::failed(error.with_help("please report it, with what `posse log` shows"))
}

#[tokio::test]
async fn a_run_ends_with_what_the_engine_says() {
    check(Does::Ends, done("yes"), &["started", "asked", "ended"]).await;
}

#[tokio::test]
async fn a_run_is_stored_before_anything_of_it_begins() {
    let store = Arc::new(MemoryStore::default());
    let supervisor = alone(Does::LooksForItself(store.clone()), store);
    let started = supervisor.start(plan(), None).await.expect("a run starts");
    assert_eq!(outcome(started).await, Ok(done("stored for 12")));
}

#[tokio::test]
async fn a_run_that_cannot_be_stored_does_not_begin() {
    let store = Arc::new(failing::FailingStore::from(1));
    let supervisor = alone(Does::PanicsAtOnce, store);
    let refused = supervisor.start(plan(), None).await.map(|started| started.run_id);
    assert_eq!(refused, Err(SuperviseError::Store(failing::error())));
}

#[tokio::test]
async fn an_engine_that_panics_leaves_a_failed_run_that_ended_once() {
    check(Does::Panics, panicked(), &["started", "asked", "ended"]).await;
    check(Does::PanicsAtOnce, panicked(), &["started", "ended"]).await;
}

#[tokio::test]
async fn a_panic_after_the_end_changes_nothing() {
    check(Does::PanicsAtTheEnd, done("yes"), &["started", "asked", "ended"]).await;
}

#[tokio::test]
async fn a_panic_of_one_run_leaves_the_others_alone() {
    let store = Arc::new(MemoryStore::default());
    let owners = owners();
    let panicking = among(owners.path(), Does::Panics, &store);
    let first = panicking.start(plan(), None).await.expect("a run starts");
    assert_eq!(outcome(first).await, Ok(panicked()));
    let second = panicking.start(plan(), None).await.expect("another run starts");
    assert_eq!(outcome(second).await, Ok(panicked()));
}

#[tokio::test(start_paused = true)]
async fn a_run_whose_time_is_over_is_timed_out() {
    let error = RunError::new("timeout", "the run took longer than 1 min (from test)");
    let error = error.with_help("give it more with --timeout");
    let expected = Outcome::TimedOut { error, partial: None };
    check(Does::Waits, expected, &["started", "asked", "stop_asked", "ended"]).await;
}

#[tokio::test]
async fn the_strongest_reason_to_stop_counts() {
    let store = Arc::new(MemoryStore::default());
    let gate = Arc::new(Semaphore::new(0));
    let supervisor = alone(Does::WaitsFor(gate.clone()), store.clone());
    let first = supervisor.start(plan(), None).await.expect("a run starts");
    supervisor.stop(first.run_id, StopReason::Asked).await.expect("it runs");
    supervisor.stop_all(StopReason::Interrupted);
    supervisor.stop(first.run_id, StopReason::Asked).await.expect("it runs");
    // The owning task takes orders one after the other: once this run is going, it has seen those above.
    let (follower, mut events) = mpsc::channel(16);
    let later = supervisor.start(plan(), Some(follower)).await.expect("a run starts");
    while !matches!(events.recv().await, Some(Live::Event(event)) if event.fact == asked()) {}
    gate.add_permits(2);
    let expected = Outcome::Stopped { reason: StopReason::Interrupted, partial: None };
    assert_eq!(outcome(first).await, Ok(expected));
    supervisor.stop(later.run_id, StopReason::Asked).await.expect("it runs");
    let expected = Outcome::Stopped { reason: StopReason::Asked, partial: None };
    assert_eq!(outcome(later).await, Ok(expected), "what stops one run is not for another");
}

#[tokio::test]
async fn closing_stops_what_runs_and_waits_for_it() {
    let store = Arc::new(MemoryStore::default());
    let supervisor = alone(Does::Waits, store.clone());
    let started = supervisor.start(plan(), None).await.expect("a run starts");
    let run_id = started.run_id;
    supervisor.close().await;
    assert_eq!(kinds(store.as_ref(), run_id).await, ["started", "asked", "stop_asked", "ended"]);
    let expected = Outcome::Stopped { reason: StopReason::Interrupted, partial: None };
    assert_eq!(outcome(started).await, Ok(expected));
}

#[tokio::test]
async fn dropping_stops_what_runs() {
    let store = Arc::new(MemoryStore::default());
    let supervisor = alone(Does::Waits, store.clone());
    let started = supervisor.start(plan(), None).await.expect("a run starts");
    drop(supervisor);
    let expected = Outcome::Stopped { reason: StopReason::Interrupted, partial: None };
    assert_eq!(outcome(started).await, Ok(expected));
}

#[tokio::test]
async fn a_follower_sees_every_event_once_it_is_stored() {
    let store = Arc::new(MemoryStore::default());
    let supervisor = alone(Does::Ends, store.clone());
    let (follower, mut shown) = mpsc::channel(1);
    let following = tokio::spawn(async move {
        let mut events = Vec::new();
        while let Some(live) = shown.recv().await {
            if let Live::Event(event) = live {
                events.push(Event::clone(&event));
            }
        }
        events
    });
    let started = supervisor.start(plan(), Some(follower)).await.expect("a run starts");
    let run_id = started.run_id;
    outcome(started).await.expect("the store works");
    let events = following.await.expect("the follower ends with the run");
    assert_eq!(Ok(events), store.read(run_id, 1).await);
}

#[tokio::test]
async fn a_follower_that_is_gone_does_not_matter() {
    let supervisor = alone(Does::Ends, Arc::new(MemoryStore::default()));
    let (follower, shown) = mpsc::channel(1);
    drop(shown);
    let started = supervisor.start(plan(), Some(follower)).await.expect("a run starts");
    assert_eq!(outcome(started).await, Ok(done("yes")));
}
