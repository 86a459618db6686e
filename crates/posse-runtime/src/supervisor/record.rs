//! The one who appends to a run: numbers facts, folds them, stores them, and shows them to who looks on.

use std::sync::Arc;
use std::time::Duration;

use posse_core::event::{Event, Fact};
use posse_core::id::RunId;
use posse_core::time::Time;
use posse_core::transcript::Transcript;
use tokio::sync::mpsc;

use super::Follower;
use crate::engine::{Live, Recorder, Recording};
use crate::provider::Delta;
use crate::store::{Durability, Store};

/// How long a run waits for a follower that does not keep up.
const FOLLOWER_MAX: Duration = Duration::from_secs(30);

/// The recorder of one run.
pub(super) struct RunRecorder {
    run_id: RunId,
    /// The place of the first event that is not stored.
    unstored_seq: u64,
    unstored: Vec<Event>,
    store: Arc<dyn Store>,
    clock: fn() -> Time,
    inbox: Option<mpsc::UnboundedReceiver<Fact>>,
    follower: Option<Follower>,
}

impl RunRecorder {
    pub(super) fn new(
        run_id: RunId,
        next_seq: u64,
        store: Arc<dyn Store>,
        clock: fn() -> Time,
    ) -> RunRecorder {
        let unstored = Vec::new();
        RunRecorder { run_id, unstored_seq: next_seq, unstored, store, clock, inbox: None, follower: None }
    }

    /// Where letters come from and who looks on.
    pub(super) fn connect(&mut self, inbox: mpsc::UnboundedReceiver<Fact>, follower: Option<Follower>) {
        self.inbox = Some(inbox);
        self.follower = follower;
    }
}

impl RunRecorder {
    /// Whoever looked on may have gone, or may have stopped looking: the run goes on without them.
    async fn show_event(&mut self, event: Event) {
        let Some(follower) = &self.follower else { return };
        if follower.send_timeout(Live::Event(Arc::new(event)), FOLLOWER_MAX).await.is_err() {
            self.follower = None;
        }
    }
}

impl Recorder for RunRecorder {
    fn note(&mut self, transcript: &mut Transcript, fact: Fact) {
        let event = Event { run_id: self.run_id, seq: transcript.next_seq, at: (self.clock)(), fact };
        transcript.append(&event).expect("an engine notes only what may follow");
        self.unstored.push(event);
    }

    fn flush(&mut self, durability: Durability) -> Recording<'_> {
        if self.unstored.is_empty() {
            return Box::pin(std::future::ready(Ok(())));
        }
        Box::pin(async move {
            let events = std::mem::take(&mut self.unstored);
            let (count, seq) = (events.len() as u64, self.unstored_seq);
            let shown = self.follower.is_some().then(|| events.clone());
            self.store.append(self.run_id, seq, events, durability).await?;
            self.unstored_seq += count;
            for event in shown.into_iter().flatten() {
                self.show_event(event).await;
            }
            Ok(())
        })
    }

    fn show(&mut self, delta: Delta) {
        if let Some(follower) = &self.follower {
            // A follower that is behind misses live pieces, never events.
            drop(follower.try_send(Live::Delta(self.run_id, delta)));
        }
    }

    fn letters(&mut self) -> Vec<Fact> {
        let Some(inbox) = &mut self.inbox else { return Vec::new() };
        std::iter::from_fn(|| inbox.try_recv().ok()).collect()
    }
}
