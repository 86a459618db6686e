//! Asking a model until it answers: retries that everyone sees, and a stop at any moment.

use std::time::Duration;

use posse_core::event::{Fact, Retried, StopAsked};
use posse_core::message::Answer;
use posse_core::model::ModelChoice;
use posse_core::outcome::{RunError, StopReason};
use posse_core::plan::Plan;

use super::NativeRun;
use crate::engine::retry::{Patience, Verdict, verdict};
use crate::provider::{Ask, Delta, Fault, Provider, ProviderError};
use crate::store::{Durability, StoreError};

/// The most bytes that are kept of an answer that never came to its end.
const PARTIAL_BYTES_MAX: usize = 256 * 1024;

/// A question and whom it goes to.
pub(super) struct Question<'a> {
    pub turn: u64,
    pub model: &'a ModelChoice,
    pub ask: Ask<'a>,
    pub audience: Audience,
}

/// Who sees an answer while it streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Audience {
    /// Whoever looks on at the run.
    Followers,
    /// Nobody: it is not the run's own answer.
    Nobody,
}

/// What a question led to.
pub(super) enum Reply {
    /// An answer.
    Answered(Answer),
    /// The run is to stop, which is recorded.
    Stopped,
    /// The conversation is too long: what is to be recorded about that.
    TooLong(Fact),
    /// It will not be answered.
    Failed(RunError),
}

impl NativeRun<'_> {
    /// Asks until there is an answer or no sense in asking again.
    pub(super) async fn ask(
        &mut self,
        provider: &mut dyn Provider,
        question: &Question<'_>,
    ) -> Result<Reply, StoreError> {
        let mut trying = Trying::new(&self.plan);
        loop {
            let error = match self.ask_once(provider, question).await {
                Err(reason) => return Ok(self.stopped(reason)),
                Ok(Ok(answer)) => return Ok(Reply::Answered(answer)),
                Ok(Err(error)) => error,
            };
            let failed = |wait| retried(question.turn, trying.failures + 1, wait, &error);
            match verdict(&error, trying.failures + 1, trying.waited, trying.patience, fastrand::f64()) {
                Verdict::Again(wait) => {
                    self.note(failed(wait));
                    trying.failures += 1;
                    trying.waited += wait;
                    self.recorder.flush(Durability::Process).await?;
                    tokio::select! {
                        biased;
                        reason = self.stop.asked() => return Ok(self.stopped(reason)),
                        () = tokio::time::sleep(wait) => {}
                    }
                }
                Verdict::Shorten => return Ok(Reply::TooLong(failed(Duration::ZERO))),
                Verdict::GiveUp(why) => {
                    return Ok(Reply::Failed(provider_failed(question.model, &error, why)));
                }
            }
        }
    }

    async fn ask_once(
        &mut self,
        provider: &mut dyn Provider,
        question: &Question<'_>,
    ) -> Result<Result<Answer, ProviderError>, StopReason> {
        self.streamed.clear();
        let (recorder, streamed) = (&mut *self.recorder, &mut self.streamed);
        let mut on_delta = |delta: Delta| {
            if question.audience == Audience::Nobody {
                return;
            }
            if let Delta::Text(text) = &delta
                && streamed.len() < PARTIAL_BYTES_MAX
            {
                streamed.push_str(text);
            }
            recorder.show(delta);
        };
        tokio::select! {
            biased;
            reason = self.stop.asked() => Err(reason),
            answer = provider.answer(&question.ask, &mut on_delta) => Ok(answer),
        }
    }

    fn stopped(&mut self, reason: StopReason) -> Reply {
        self.note(Fact::StopAsked(StopAsked { reason }));
        Reply::Stopped
    }
}

/// How often a question has failed, and how long was waited.
struct Trying {
    patience: Patience,
    failures: u32,
    waited: Duration,
}

impl Trying {
    fn new(plan: &Plan) -> Trying {
        let limits = &plan.limits;
        let wait_max = Duration::from_millis(limits.retry_wait_ms.value);
        let patience = Patience { retries_max: limits.retries.value, wait_max };
        Trying { patience, failures: 0, waited: Duration::ZERO }
    }
}

fn retried(turn: u64, attempt: u32, wait: Duration, error: &ProviderError) -> Fact {
    Fact::Retried(Retried {
        turn,
        attempt,
        wait_ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
        status: error.status,
        message: error.message.clone(),
        context_too_long: error.fault == Fault::ContextTooLong,
    })
}

fn provider_failed(model: &ModelChoice, error: &ProviderError, why: Option<String>) -> RunError {
    let status = error.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    let is_refusal = error.fault == Fault::Lasting && error.status.is_some();
    let what = if is_refusal { "refused" } else { "did not answer" };
    let why = why.map(|why| format!("; {why}")).unwrap_or_default();
    let message = format!("{}/{} {what}{status}: {}{why}", model.provider, model.model, error.message);
    let advice = match (error.status, &model.api_key_env) {
        (Some(401 | 403), Some(variable)) => Some(format!("look at the key in {variable}")),
        (Some(404), _) => Some(format!("is `{}` a model of {}?", model.model, model.base_url)),
        (None, _) if error.fault == Fault::Passing => {
            Some(format!("can {} be reached? `posse doctor` tries", model.base_url))
        }
        _ => None,
    };
    let failed = RunError::new("provider", message);
    match advice {
        Some(advice) => failed.with_help(advice),
        None => failed,
    }
}
