//! Our own loop: asks the core what happens next, does it, records it.
//!
//! Nothing is decided here that the core can decide; what happens twice after a crash is what was not recorded.

mod compact;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use posse_core::event::{Answered, Asked, Fact, Note, Retried, StopAsked};
use posse_core::message::{Answer, Message, Part, ToolSpec, Usage};
use posse_core::model::{ModelChoice, ThinkingForm};
use posse_core::outcome::{Outcome, RunError};
use posse_core::plan::Plan;
use posse_core::step::{Step, failed_with, next_step, recover};
use posse_core::transcript::Transcript;

use super::retry::{Patience, Verdict, verdict};
use super::{Engine, Job, Recorder, Running, Stop};
use crate::provider::{Ask, Delta, Fault, Provider, ProviderError, Thinking};
use crate::providers::Providers;
use crate::store::{Durability, StoreError};
use crate::tool::ToolContext;
use crate::toolbox::Toolbox;

/// The most tokens an answer is asked for, whatever the model could.
const OUTPUT_TOKENS_MAX: u64 = 32_000;

/// The most bytes that are kept of an answer that never came to its end.
const PARTIAL_BYTES_MAX: usize = 256 * 1024;

/// Carries plans out by asking a model and calling tools in this process.
pub struct Native {
    /// The tools there are.
    pub toolbox: Arc<Toolbox>,
    /// The way to models.
    pub providers: Providers,
}

/// One run while it goes on.
struct NativeRun<'a> {
    engine: &'a Native,
    plan: Arc<Plan>,
    transcript: Transcript,
    recorder: &'a mut dyn Recorder,
    stop: Stop,
    provider: Box<dyn Provider>,
    offered: Vec<String>,
    specs: Vec<ToolSpec>,
    system: Vec<String>,
    context: ToolContext,
    /// What has streamed of an answer that is not recorded.
    streamed: String,
}

impl Engine for Native {
    fn run<'a>(&'a self, job: Job, recorder: &'a mut dyn Recorder, stop: Stop) -> Running<'a> {
        Box::pin(async move {
            let mut transcript = job.transcript;
            match self.providers.open(&job.plan.model.value) {
                Ok(provider) => self.prepare(job.plan, transcript, recorder, stop, provider).go().await,
                Err(message) => {
                    let outcome = Outcome::failed(RunError::new("provider", message));
                    recorder.note(&mut transcript, Fact::Ended(outcome.clone()));
                    recorder.flush(Durability::Machine).await?;
                    Ok(outcome)
                }
            }
        })
    }
}

impl Native {
    fn prepare<'a>(
        &'a self,
        plan: Arc<Plan>,
        transcript: Transcript,
        recorder: &'a mut dyn Recorder,
        stop: Stop,
        provider: Box<dyn Provider>,
    ) -> NativeRun<'a> {
        let offered: Vec<String> = plan.tools.iter().map(|tool| tool.value.clone()).collect();
        let workspace = PathBuf::from(&plan.workspace.value);
        let context = ToolContext {
            workspace_shown: plan.workspace_shown.as_ref().map_or_else(|| workspace.clone(), PathBuf::from),
            workspace,
            output_bytes_max: usize::try_from(plan.limits.tool_output_bytes.value).unwrap_or(usize::MAX),
        };
        NativeRun {
            engine: self,
            specs: self.toolbox.specs(&offered),
            system: plan.system.iter().map(|block| block.text.clone()).collect(),
            offered,
            plan,
            transcript,
            recorder,
            stop,
            provider,
            context,
            streamed: String::new(),
        }
    }
}

impl NativeRun<'_> {
    async fn go(mut self) -> Result<Outcome, StoreError> {
        for fact in recover(&self.transcript) {
            self.note(fact);
        }
        loop {
            for fact in self.recorder.letters() {
                self.note(fact);
            }
            let step = next_step(&self.plan, &self.transcript);
            let failure = match step {
                Step::AskModel { note, tools_allowed } => self.ask_model(note, tools_allowed).await?,
                Step::CallTools(calls) => {
                    self.call_tools(calls).await?;
                    None
                }
                Step::Compact => self.compact().await?,
                Step::End(outcome) => return self.end(outcome).await,
            };
            if let Some(error) = failure {
                let outcome = failed_with(error, &self.transcript);
                return self.end(outcome).await;
            }
        }
    }

    async fn end(mut self, outcome: Outcome) -> Result<Outcome, StoreError> {
        let outcome = outcome.with_partial(&self.streamed);
        self.note(Fact::Ended(outcome.clone()));
        self.recorder.flush(Durability::Machine).await?;
        Ok(outcome)
    }

    fn note(&mut self, fact: Fact) {
        self.recorder.note(&mut self.transcript, fact);
    }

    async fn ask_model(
        &mut self,
        note: Option<Note>,
        tools_allowed: bool,
    ) -> Result<Option<RunError>, StoreError> {
        let turn = self.transcript.turns + 1;
        self.note(Fact::Asked(Asked { turn, note }));
        self.recorder.flush(Durability::Process).await?;
        let asked = Instant::now();
        let mut trying = Trying::new(&self.plan);
        loop {
            self.streamed.clear();
            let ask = Ask {
                model: &self.plan.model.value.model,
                system: &self.system,
                tools: &self.specs,
                tools_allowed,
                edition: 0,
                messages: &self.transcript.messages,
                output_tokens_max: output_tokens_max(&self.plan.model.value),
                thinking: thinking(&self.plan),
                thinks: self.plan.model.value.thinking != ThinkingForm::None,
                stall: Duration::from_millis(self.plan.limits.stall_ms.value),
            };
            let (recorder, streamed) = (&mut *self.recorder, &mut self.streamed);
            let mut on_delta = |delta: Delta| {
                if let Delta::Text(text) = &delta
                    && streamed.len() < PARTIAL_BYTES_MAX
                {
                    streamed.push_str(text);
                }
                recorder.show(delta);
            };
            let answer = tokio::select! {
                biased;
                reason = self.stop.asked() => Err(reason),
                answer = self.provider.answer(&ask, &mut on_delta) => Ok(answer),
            };
            match answer {
                Err(reason) => {
                    self.note(Fact::StopAsked(StopAsked { reason }));
                    return Ok(None);
                }
                Ok(Ok(answer)) => {
                    self.answered(turn, answer, asked);
                    return Ok(None);
                }
                Ok(Err(error)) => match trying.failed(&error) {
                    Verdict::Again(wait) => {
                        self.note(retried(turn, trying.failures, wait, &error));
                        self.recorder.flush(Durability::Process).await?;
                        if !self.sleep(wait).await {
                            return Ok(None);
                        }
                    }
                    Verdict::Shorten => {
                        self.note(retried(turn, trying.failures, Duration::ZERO, &error));
                        return Ok(None);
                    }
                    Verdict::GiveUp(why) => return Ok(Some(provider_failed(&self.plan, &error, why))),
                },
            }
        }
    }

    /// Waits, unless the run is to stop meanwhile, which is recorded.
    async fn sleep(&mut self, wait: Duration) -> bool {
        tokio::select! {
            biased;
            reason = self.stop.asked() => {
                self.note(Fact::StopAsked(StopAsked { reason }));
                false
            }
            () = tokio::time::sleep(wait) => true,
        }
    }

    fn answered(&mut self, turn: u64, answer: Answer, asked: Instant) {
        self.streamed.clear();
        let Answer { mut message, finish, usage } = answer;
        make_ids_unique(&mut message);
        self.note(Fact::Answered(Answered {
            turn,
            message: Arc::new(message),
            finish,
            usage,
            cost_usd: cost(&self.plan.model.value, &usage),
            duration_ms: milliseconds(asked),
        }));
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

    fn failed(&mut self, error: &ProviderError) -> Verdict {
        self.failures += 1;
        let verdict = verdict(error, self.failures, self.waited, self.patience, fastrand::f64());
        if let Verdict::Again(wait) = verdict {
            self.waited += wait;
        }
        verdict
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

fn provider_failed(plan: &Plan, error: &ProviderError, why: Option<String>) -> RunError {
    let model = &plan.model.value;
    let status = error.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    let why = why.map(|why| format!("; {why}")).unwrap_or_default();
    let message =
        format!("{}/{} did not answer{status}: {}{why}", model.provider, model.model, error.message);
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

fn cost(model: &ModelChoice, usage: &Usage) -> Option<f64> {
    model.price.map(|price| price.of(usage))
}

fn output_tokens_max(model: &ModelChoice) -> Option<u64> {
    model.output_tokens.map(|tokens| tokens.min(OUTPUT_TOKENS_MAX))
}

fn milliseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// A model that gives two calls one name would leave us without knowing which result is whose.
fn make_ids_unique(message: &mut Message) {
    let mut seen: Vec<String> = Vec::new();
    for part in &mut message.parts {
        if let Part::ToolCall(call) = part {
            if seen.contains(&call.id) {
                call.id = format!("{}_{}", call.id, seen.len());
            }
            seen.push(call.id.clone());
        }
    }
}

/// The definition's word for effort, in the terms of the model.
fn thinking(plan: &Plan) -> Thinking {
    let Some(effort) = &plan.effort else { return Thinking::Unset };
    let word = effort.value.to_lowercase();
    let level = match word.as_str() {
        "minimal" | "none" | "low" => "low",
        "medium" => "medium",
        "high" => "high",
        "xhigh" | "max" => "max",
        _ => return word.parse().map_or(Thinking::Unset, Thinking::Budget),
    };
    match plan.model.value.thinking {
        ThinkingForm::None => Thinking::Unset,
        ThinkingForm::Budget => Thinking::Budget(match level {
            "low" => 4_096,
            "medium" => 10_000,
            "high" => 20_000,
            _ => 30_000,
        }),
        ThinkingForm::Adaptive => Thinking::Effort(level),
        ThinkingForm::Effort | ThinkingForm::Level if level == "max" => Thinking::Effort("high"),
        ThinkingForm::Effort | ThinkingForm::Level => Thinking::Effort(level),
    }
}
