//! Runs in one line, for tests: what is planned, then what happened, word by word.
//!
//! Before `start`: `turns=2 tokens=9 usd=1 window=1000 retries=1 schema prior`. After it: `ask` (with the note
//! that the step gives), `answer:text`, `calls:a,b`, `calls:a:text`, `refusal:text`, `cut:text`, `begin:a`,
//! `begin:a*` (may change something), `finish:a`, `retry`, `too-long`, `compact`, `say:text`, `stop`,
//! `interrupt`, `deadline`, `unknown`, `end` (as the step says), `CRASH` (all is read again, and recovered).
//! `uses=90` and `costs=0.5` hold for the answers after them; `_` is a space.

use std::sync::Arc;

use serde_json::json;
use uuid::Uuid;

use super::{Step, next_step, recover};
use crate::definition::{Definition, Dialect, Model, Scope};
use crate::event::{
    Answered, Asked, Compacted, Event, Fact, Retried, Said, StopAsked, ToolFinished, ToolStarted,
};
use crate::id::RunId;
use crate::message::{Api, Finish, Message, Part, Role, ToolCall, Usage};
use crate::model::{ModelWorld, ProviderEntry};
use crate::outcome::StopReason;
use crate::plan::{Choice, DefinitionSource, OutputContract, Plan, Request, Settings, Surroundings, resolve};
use crate::time::Time;
use crate::transcript::Transcript;

/// The identity that runs have in tests.
pub(crate) const RUN_ID: RunId = RunId(Uuid::from_u128(7));

/// A run so far.
pub(crate) struct Run {
    pub(crate) plan: Arc<Plan>,
    pub(crate) events: Vec<Event>,
    pub(crate) transcript: Transcript,
    tokens: u64,
    cost_usd: Option<f64>,
}

/// The plan of an agent `a` with every limit at its default, at a model of which nothing is known.
pub(crate) fn plan() -> Plan {
    let provider = ProviderEntry {
        name: "scripted".to_owned(),
        api: Api::OpenaiChat,
        base_url: "http://127.0.0.1:9".to_owned(),
        api_key_env: None,
        has_key: false,
        headers: Vec::new(),
        is_local_server: false,
    };
    let mut definition = Definition::new("a", "Do it.", Dialect::Posse);
    definition.model = Model::parse("scripted/m");
    let request = Request { task: "task".to_owned(), caller: "cli".to_owned(), ..Request::default() };
    let surroundings = Surroundings {
        source: DefinitionSource { path: None, scope: "user".to_owned(), dialect: "posse".to_owned() },
        scope: Scope::User,
        settings: &Settings::default(),
        models: &ModelWorld { providers: vec![provider], ..ModelWorld::default() },
        tools: &["Read"],
        workspace: "/w".to_owned(),
        workspace_shown: None,
        date: "2026-11-15".to_owned(),
        platform: "linux".to_owned(),
        context_files: Vec::new(),
    };
    resolve(&definition, &request, &surroundings).expect("a plain agent can be planned")
}

impl Run {
    /// A run that has not started.
    pub(crate) fn of(plan: Plan) -> Run {
        let transcript = Transcript::new();
        Run { plan: Arc::new(plan), events: Vec::new(), transcript, tokens: 10, cost_usd: Some(0.0) }
    }

    /// The run that a script tells.
    pub(crate) fn play(script: &str) -> Run {
        let mut plan = plan();
        let mut words = script.split_whitespace();
        for word in words.by_ref().take_while(|word| *word != "start") {
            set(&mut plan, word);
        }
        let mut run = Run::of(plan);
        run.append(Fact::Started(run.plan.clone()));
        for word in words {
            run.happen(word);
        }
        run
    }

    /// What happens next.
    pub(crate) fn step(&self) -> Step {
        next_step(&self.plan, &self.transcript)
    }

    /// Adds a fact, which must be a legal one.
    pub(crate) fn append(&mut self, fact: Fact) {
        let event = self.next_event(fact);
        self.transcript.append(&event).unwrap_or_else(|error| panic!("{error}: {event:?}"));
        self.events.push(event);
    }

    /// The fact at the next place, a second after the last.
    pub(crate) fn next_event(&self, fact: Fact) -> Event {
        let seq = self.transcript.next_seq;
        Event { run_id: RUN_ID, seq, at: Time(1000 * i64::try_from(seq).expect("tests are short")), fact }
    }

    /// All is lost but what was written; the run is taken up again.
    pub(crate) fn crash(&mut self) {
        for event in &mut self.events {
            let read = Fact::read(event.fact.kind(), &event.fact.data()).expect("what was written reads");
            assert_eq!(read, event.fact);
            event.fact = read;
        }
        self.transcript = Transcript::fold(&self.events).expect("what was legal stays so");
        for fact in recover(&self.transcript) {
            self.append(fact);
        }
    }

    /// Asks as the step says.
    pub(crate) fn ask(&mut self) {
        let Step::AskModel { note, .. } = self.step() else { panic!("not to be asked: {:?}", self.step()) };
        self.append(Fact::Asked(Asked { turn: self.transcript.turns + 1, note }));
    }

    /// Answers the question that is asked.
    pub(crate) fn answer(&mut self, text: &str, calls: &[&str], finish: Finish) {
        let said =
            Some(text).filter(|text| !text.is_empty()).map(|text| Part::Text { text: text.to_owned() });
        let called = calls.iter().map(|id| Part::ToolCall(call(id)));
        let parts = said.into_iter().chain(called).collect();
        self.append(Fact::Answered(Answered {
            turn: self.transcript.turns + 1,
            message: Arc::new(Message { role: Role::Assistant, parts }),
            finish,
            usage: Usage { input_tokens: self.tokens, ..Usage::default() },
            cost_usd: self.cost_usd,
            duration_ms: 5,
        }));
    }

    fn happen(&mut self, word: &str) {
        let (word, rest) = word.split_once([':', '=']).unwrap_or((word, ""));
        let text = rest.replace('_', " ");
        match word {
            "uses" => self.tokens = number(rest),
            "costs" => self.cost_usd = rest.parse().ok(),
            "ask" => self.ask(),
            "answer" => self.answer(&text, &[], Finish::Complete),
            "refusal" => self.answer(&text, &[], Finish::Refusal),
            "cut" => self.answer(&text, &[], Finish::MaxTokens),
            "calls" => {
                let (calls, text) = text.split_once(':').unwrap_or((&text, ""));
                self.answer(text, &calls.split(',').collect::<Vec<_>>(), Finish::Calls);
            }
            "begin" => self.append(begun(rest.trim_end_matches('*'), rest.ends_with('*'))),
            "finish" => self.append(finished(rest)),
            "retry" => self.append(retried(false)),
            "too-long" => self.append(retried(true)),
            "compact" => self.append(compacted(Some(0.0))),
            "say" => self.append(Fact::Said(Said { from: "cli".to_owned(), text })),
            "stop" => self.append(stop(StopReason::Asked)),
            "interrupt" => self.append(stop(StopReason::Interrupted)),
            "deadline" => self.append(stop(StopReason::Deadline)),
            "unknown" => self.append(Fact::Unknown { kind: "of-tomorrow".to_owned(), data: json!([1]) }),
            "end" => {
                let Step::End(outcome) = self.step() else { panic!("not over: {:?}", self.step()) };
                self.append(Fact::Ended(outcome));
            }
            "CRASH" => self.crash(),
            word => panic!("`{word}` is no word of scripts"),
        }
    }
}

fn set(plan: &mut Plan, word: &str) {
    let (word, rest) = word.split_once('=').unwrap_or((word, ""));
    match word {
        "turns" => plan.limits.turns = Choice::new(number(rest), "--max-turns"),
        "tokens" => plan.limits.tokens = Choice::new(number(rest), "definition"),
        "usd" => plan.limits.budget_usd = rest.parse().ok().map(|usd| Choice::new(usd, "--budget-usd")),
        "window" => plan.model.value.context_tokens = Some(number(rest)),
        "schema" => plan.output = Some(OutputContract { schema: schema(), retries: 2 }),
        "retries" => plan.output = Some(OutputContract { schema: schema(), retries: number(rest) }),
        "prior" => plan.prior = prior(),
        word => panic!("`{word}` cannot be planned"),
    }
}

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("`{text}` is no number"))
}

/// A schema of which an answer can miss one part or two.
fn schema() -> serde_json::Value {
    json!({
        "type": "object",
        "required": ["n"],
        "properties": {"n": {"type": "integer"}, "m": {"type": "integer"}},
    })
}

/// A conversation that an earlier run of the session had.
fn prior() -> Vec<Arc<Message>> {
    let answer = vec![Part::Text { text: r#"{"n":"earlier"}"#.to_owned() }];
    vec![Arc::new(Message::user("earlier task")), Arc::new(Message { role: Role::Assistant, parts: answer })]
}

/// A call that is known by its name.
pub(crate) fn call(id: &str) -> ToolCall {
    let (id, name, input) = (id.to_owned(), "Read".to_owned(), json!({"file_path": id}));
    ToolCall { id, name, input, malformed: None, seal: None }
}

pub(crate) fn begun(id: &str, effectful: bool) -> Fact {
    let ToolCall { id, name, input, .. } = call(id);
    Fact::ToolStarted(ToolStarted { call_id: id, tool: name, input, effectful })
}

pub(crate) fn finished(id: &str) -> Fact {
    let text = format!("result of {id}");
    let (call_id, tool) = (id.to_owned(), "Read".to_owned());
    Fact::ToolFinished(ToolFinished {
        call_id,
        tool,
        text,
        is_error: false,
        duration_ms: 3,
        diff: None,
        attachments: Vec::new(),
        media: Vec::new(),
    })
}

pub(crate) fn retried(context_too_long: bool) -> Fact {
    let (status, message) = if context_too_long { (400, "too long") } else { (529, "overloaded") };
    let (status, message) = (Some(status), message.to_owned());
    Fact::Retried(Retried { turn: 1, attempt: 1, wait_ms: 50, status, message, context_too_long })
}

pub(crate) fn compacted(cost_usd: Option<f64>) -> Fact {
    let usage = Usage { input_tokens: 5, output_tokens: 1, ..Usage::default() };
    Fact::Compacted(Compacted { summary: "so far".to_owned(), messages: 3, usage, cost_usd })
}

pub(crate) fn stop(reason: StopReason) -> Fact {
    Fact::StopAsked(StopAsked { reason })
}
