//! What carries a plan out: the seam that every engine fits.

pub mod native;
mod retry;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use posse_core::event::{Event, Fact};
use posse_core::id::RunId;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::plan::Plan;
use posse_core::transcript::Transcript;
use tokio::sync::watch;

use crate::approver::Approver;
use crate::provider::Delta;
use crate::store::{Durability, StoreError};

/// What an engine is handed: it can start from any transcript.
pub struct Job {
    /// The run.
    pub run_id: RunId,
    /// What was decided.
    pub plan: Arc<Plan>,
    /// What has happened.
    pub transcript: Transcript,
    /// Who is asked about what no rule decides.
    pub approver: Arc<dyn Approver>,
}

/// What is being done, for those who look on. Deltas are live only, never stored.
#[derive(Debug, Clone)]
pub enum Live {
    /// Something happened, and it is stored.
    Event(Arc<Event>),
    /// A piece of an answer.
    Delta(RunId, Delta),
}

/// Something recorded later.
pub type Recording<'a> = Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'a>>;

/// The only way an engine writes: facts become events in order, are folded, stored and shown.
pub trait Recorder: Send {
    /// Makes a fact the next event of the transcript. It is stored with the next flush, which comes before
    /// anything else is done.
    fn note(&mut self, transcript: &mut Transcript, fact: Fact);

    /// Stores what was noted, all of it or none.
    fn flush(&mut self, durability: Durability) -> Recording<'_>;

    /// Shows a piece of an answer to whoever looks on.
    fn show(&mut self, delta: Delta);

    /// What was said to the run since this was last asked, to be noted by the engine.
    fn letters(&mut self) -> Vec<Fact>;
}

/// Tells a run to stop; the strongest reason so far counts.
#[derive(Debug, Clone)]
pub struct Stop(watch::Receiver<Option<StopReason>>);

impl Stop {
    /// A stop that has not been asked for, and the way to ask.
    pub fn channel() -> (watch::Sender<Option<StopReason>>, Stop) {
        let (sender, receiver) = watch::channel(None);
        (sender, Stop(receiver))
    }

    /// Waits until it is asked for.
    pub async fn asked(&mut self) -> StopReason {
        loop {
            if let Some(reason) = *self.0.borrow_and_update() {
                return reason;
            }
            if self.0.changed().await.is_err() {
                // Nobody is left who could ask.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// A run on its way.
pub type Running<'a> = Pin<Box<dyn Future<Output = Result<Outcome, StoreError>> + Send + 'a>>;

/// Carries a plan out.
pub trait Engine: Send + Sync {
    /// Goes on from the transcript to the end, which it records. A failure of the work is an [`Outcome`]; the
    /// only error is that of the store, without which nothing goes on. When this resolves nothing of the run is alive.
    fn run<'a>(&'a self, job: Job, recorder: &'a mut dyn Recorder, stop: Stop) -> Running<'a>;
}
