//! Our own loop: asks the core what happens next, does it, records it.
//!
//! Nothing is decided here that the core can decide; what happens twice after a crash is what was not recorded.

mod ask;
mod compact;
mod permit;
mod tools;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use posse_core::event::{Answered, Asked, Fact, Note};
use posse_core::id::RunId;
use posse_core::message::{Answer, Message, Part, ToolSpec, Usage};
use posse_core::model::{ModelChoice, ThinkingForm};
use posse_core::outcome::{Outcome, RunError};
use posse_core::plan::Plan;
use posse_core::step::{Step, failed_with, next_step, recover};
use posse_core::transcript::Transcript;

use ask::{Audience, Question, Reply};

use super::{Engine, Job, Recorder, Running, Stop};
use crate::approver::Approver;
use crate::provider::{Ask, Provider, Thinking};
use crate::providers::Providers;
use crate::store::{Durability, StoreError};
use crate::tool::{self, Held, Seen, ToolContext};
use crate::toolbox::Toolbox;

/// The most tokens an answer is asked for, whatever the model could.
const OUTPUT_TOKENS_MAX: u64 = 32_000;

/// Carries plans out by asking a model and calling tools in this process.
pub struct Native {
    toolbox: Arc<Toolbox>,
    providers: Providers,
    /// Values that nobody is to see, each with the name of what holds it.
    secrets: Vec<(String, String)>,
    /// Workspaces that were looked at, and whether they are on a disk of this machine.
    // Held for a few instructions and never across an await: runs of one engine share what was found.
    near: Mutex<HashMap<String, bool>>,
    /// What `~` in a rule stands for.
    home: String,
}

/// How long a file system may take to say what it is.
const LOOK_MAX: Duration = Duration::from_secs(2);

impl Native {
    /// An engine with these tools and this way to models.
    pub fn new(toolbox: Arc<Toolbox>, providers: Providers) -> Native {
        let secrets = providers.secrets();
        Native { toolbox, providers, secrets, near: Mutex::default(), home: String::new() }
    }

    /// The same for somebody with a home directory, which rules may be about.
    #[must_use]
    pub fn with_home(mut self, home: &std::path::Path) -> Native {
        self.home = home.display().to_string();
        self
    }

    /// A text with the names of secrets in their place.
    fn without_secrets(&self, mut text: String) -> String {
        for (name, secret) in &self.secrets {
            if text.contains(secret.as_str()) {
                text = text.replace(secret.as_str(), &format!("[{name}]"));
            }
        }
        text
    }

    async fn is_near(&self, workspace: &str) -> bool {
        let known = || self.near.lock().expect("nobody panics while holding the lock");
        let found = known().get(workspace).copied();
        if let Some(found) = found {
            return found;
        }
        let path = PathBuf::from(workspace);
        let look = tokio::task::spawn_blocking(move || tool::is_near(&path));
        // What does not answer is not near.
        let found = matches!(tokio::time::timeout(LOOK_MAX, look).await, Ok(Ok(true)));
        known().insert(workspace.to_owned(), found);
        found
    }
}

/// One run while it goes on.
struct NativeRun<'a> {
    engine: &'a Native,
    run_id: RunId,
    approver: Arc<dyn Approver>,
    plan: Arc<Plan>,
    transcript: Transcript,
    recorder: &'a mut dyn Recorder,
    stop: Stop,
    /// There unless a question is under way.
    provider: Option<Box<dyn Provider>>,
    offered: Vec<String>,
    specs: Arc<[ToolSpec]>,
    system: Arc<[String]>,
    context: ToolContext,
    /// What has streamed of an answer that is not recorded.
    streamed: String,
}

impl Engine for Native {
    fn run<'a>(&'a self, job: Job, recorder: &'a mut dyn Recorder, stop: Stop) -> Running<'a> {
        Box::pin(async move {
            match self.providers.open(&job.plan.model.value) {
                Ok(provider) => {
                    let is_near = self.is_near(&job.plan.workspace.value).await;
                    let mut context = context(&job.plan, is_near);
                    let (rules, workspace) = (&job.plan.rules, &job.plan.workspace.value);
                    context.held = Arc::new(Held::new(rules, workspace, &self.home));
                    let place = Place { context, stop, provider };
                    NativeRun::new(self, job, recorder, place).go().await
                }
                Err(message) => {
                    let outcome = Outcome::failed(RunError::new("provider", message));
                    let mut transcript = job.transcript;
                    recorder.note(&mut transcript, Fact::Ended(outcome.clone()));
                    recorder.flush(Durability::Machine).await?;
                    Ok(outcome)
                }
            }
        })
    }
}

/// Where a run happens.
struct Place {
    context: ToolContext,
    stop: Stop,
    provider: Box<dyn Provider>,
}

fn context(plan: &Plan, is_near: bool) -> ToolContext {
    let workspace = PathBuf::from(&plan.workspace.value);
    ToolContext {
        workspace_shown: plan.workspace_shown.as_ref().map_or_else(|| workspace.clone(), PathBuf::from),
        workspace,
        is_near,
        output_bytes_max: usize::try_from(plan.limits.tool_output_bytes.value).unwrap_or(usize::MAX),
        held: Arc::default(),
        // Empty also when a run goes on after a crash: who knows what has happened to the files since.
        seen: Arc::new(Seen::default()),
        takes_media: plan.model.value.takes_media,
        private_hosts: Arc::new([]),
    }
}

impl<'a> NativeRun<'a> {
    fn new(engine: &'a Native, job: Job, recorder: &'a mut dyn Recorder, place: Place) -> NativeRun<'a> {
        let Job { run_id, plan, transcript, approver } = job;
        let Place { context, stop, provider } = place;
        let offered: Vec<String> = plan.tools.iter().map(|tool| tool.value.clone()).collect();
        NativeRun {
            engine,
            run_id,
            approver,
            specs: engine.toolbox.specs(&offered).into(),
            system: plan.system.iter().map(|block| block.text.clone()).collect(),
            offered,
            plan,
            transcript,
            recorder,
            stop,
            provider: Some(provider),
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
        let (plan, system, specs) = (self.plan.clone(), self.system.clone(), self.specs.clone());
        // Lent for the question: what is noted meanwhile does not touch the conversation, and counting up every
        // message of a long one would cost more than the rest of the turn.
        let messages = std::mem::take(&mut self.transcript.messages);
        let model = &plan.model.value;
        let ask = Ask {
            model: &model.model,
            system: &system,
            tools: &specs,
            tools_allowed,
            edition: 0,
            messages: &messages,
            output_tokens_max: output_tokens_max(model),
            thinking: thinking(&plan),
            thinks: model.thinking != ThinkingForm::None,
            stall: Duration::from_millis(plan.limits.stall_ms.value),
        };
        let mut provider = self.provider.take().expect("a provider is put back after each question");
        let question = Question { turn, model, ask, audience: Audience::Followers };
        let reply = self.ask(provider.as_mut(), &question).await;
        self.provider = Some(provider);
        self.transcript.messages = messages;
        match reply? {
            Reply::Answered(answer) => self.answered(turn, answer, asked),
            Reply::TooLong(fact) => self.note(fact),
            Reply::Stopped => {}
            Reply::Failed(error) => return Ok(Some(error)),
        }
        Ok(None)
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

/// Unknown where the price is, or where the provider did not count.
fn cost(model: &ModelChoice, usage: &Usage) -> Option<f64> {
    model.price.filter(|_| usage.total() > 0).map(|price| price.of(usage))
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
