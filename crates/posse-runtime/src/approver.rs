//! Who answers when a call is neither allowed nor denied by a rule.
//!
//! A run never waits for a question that nobody sees: where nobody can answer, that is said at once. What an
//! answer means for the run is not decided here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use posse_core::id::RunId;
use tokio::sync::watch;
use tokio::time::Instant;

/// What somebody is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The run that asks.
    pub run_id: RunId,
    /// Its agent.
    pub agent: String,
    /// The tool it wants to use.
    pub tool: String,
    /// What it would do: the command, the path, the address.
    pub what: String,
    /// How a file would change.
    pub diff: Option<String>,
    /// Why it is asked.
    pub why: String,
    /// The rules that would allow it without a question.
    pub rules: Vec<String>,
}

/// What somebody answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// This once.
    Once,
    /// This and what is like it, for the rest of the run.
    Run,
    /// The same from now on, in every run of the agent.
    Always,
    /// No, and perhaps why.
    No(Option<String>),
}

/// An answer on its way; `None` when there is nobody to ask.
pub type Asking<'a> = Pin<Box<dyn Future<Output = Option<Answer>> + Send + 'a>>;

/// Somebody who can be asked. Frontends bring theirs.
pub trait Approver: Send + Sync {
    /// Asks, and waits for as long as somebody sees the question.
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a>;
}

/// There is nobody to ask.
#[derive(Debug, Clone, Copy)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask<'a>(&'a self, _question: &'a Question) -> Asking<'a> {
        Box::pin(std::future::ready(None))
    }
}

/// How long a run has waited for a person, which does not count against its deadline.
#[derive(Debug, Clone, Copy, Default)]
struct Waited {
    since: Option<Instant>,
    before: Duration,
}

/// An approver that stops a run's clock while somebody thinks.
pub(crate) struct Patient {
    approver: Arc<dyn Approver>,
    waited: watch::Sender<Waited>,
}

/// The clock of a run, without the time in which a person was waited for.
pub(crate) struct RunClock(watch::Receiver<Waited>);

/// Starts the clock again when the question is answered or dropped.
struct Thinking<'a>(&'a watch::Sender<Waited>);

impl Patient {
    pub(crate) fn new(approver: Arc<dyn Approver>) -> (Patient, RunClock) {
        let (waited, clock) = watch::channel(Waited::default());
        (Patient { approver, waited }, RunClock(clock))
    }
}

impl Approver for Patient {
    fn ask<'a>(&'a self, question: &'a Question) -> Asking<'a> {
        Box::pin(async move {
            self.waited.send_modify(|waited| waited.since = Some(Instant::now()));
            let _thinking = Thinking(&self.waited);
            self.approver.ask(question).await
        })
    }
}

impl Drop for Thinking<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|waited| {
            let since = waited.since.take();
            waited.before += since.map_or(Duration::ZERO, |since| since.elapsed());
        });
    }
}

impl RunClock {
    /// Resolves when the run has used so much time of its own.
    pub(crate) async fn elapsed(mut self, limit: Duration) {
        let begun = Instant::now();
        loop {
            let waited = *self.0.borrow_and_update();
            let own = begun.elapsed().saturating_sub(waited.before);
            let left = limit.saturating_sub(own);
            let changed = match waited.since {
                Some(_) => self.0.changed().await,
                None => tokio::select! {
                    () = tokio::time::sleep(left) => return,
                    changed = self.0.changed() => changed,
                },
            };
            if changed.is_err() {
                // Nobody is left who could be waited for.
                return tokio::time::sleep(left).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use posse_core::id::RunId;
    use tokio::time::Instant;

    use super::{Answer, Approver, Asking, Nobody, Patient, Question};

    /// Answers after a while.
    struct Slow;

    impl Approver for Slow {
        fn ask<'a>(&'a self, _question: &'a Question) -> Asking<'a> {
            Box::pin(async {
                tokio::time::sleep(Duration::from_secs(60)).await;
                Some(Answer::Once)
            })
        }
    }

    fn question() -> Question {
        Question {
            run_id: RunId(uuid::Uuid::nil()),
            agent: "a".to_owned(),
            tool: "Bash".to_owned(),
            what: "rm x".to_owned(),
            diff: None,
            why: "no rule allows it".to_owned(),
            rules: Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_in_which_a_person_thinks_does_not_count() {
        let (patient, clock) = Patient::new(Arc::new(Slow));
        let begun = Instant::now();
        let deadline = tokio::spawn(clock.elapsed(Duration::from_secs(10)));
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert_eq!(patient.ask(&question()).await, Some(Answer::Once));
        deadline.await.expect("it ends");
        assert_eq!(begun.elapsed().as_secs(), 70);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_is_dropped_starts_the_clock_again() {
        let (patient, clock) = Patient::new(Arc::new(Slow));
        let begun = Instant::now();
        let deadline = tokio::spawn(clock.elapsed(Duration::from_secs(10)));
        let given_up =
            tokio::time::timeout(Duration::from_secs(5), async { patient.ask(&question()).await }).await;
        assert!(given_up.is_err(), "it was given up");
        deadline.await.expect("it ends");
        assert_eq!(begun.elapsed().as_secs(), 15);
    }

    #[tokio::test(start_paused = true)]
    async fn where_there_is_nobody_that_is_said_at_once() {
        let begun = Instant::now();
        assert_eq!(Nobody.ask(&question()).await, None);
        assert_eq!(begun.elapsed(), Duration::ZERO);
    }
}
