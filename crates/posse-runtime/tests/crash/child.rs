//! The process that runs an agent and dies where it is told to.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock};

use posse_core::event::Event;
use posse_core::id::RunId;
use posse_core::message::{Api, ToolSpec};
use posse_core::plan::{Plan, Settings};
use posse_runtime::approver::Nobody;
use posse_runtime::engine::native::Native;
use posse_runtime::provider::transport::Transport;
use posse_runtime::providers::Providers;
use posse_runtime::store::{Durability, Letter, SqliteStore, Store, StoreError, StoredRun, Storing};
use posse_runtime::supervisor::{Means, SuperviseError, Supervisor};
use posse_runtime::tool::{Calling, Effect, Tool, ToolContext, ToolOutput};
use posse_runtime::toolbox::Toolbox;
use posse_testkit::EffectLog;
use posse_testkit::sample::{chosen, plan};
use rustix::process::{Signal, getpid, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// How a child says that the run had ended before it came.
pub(crate) const HAD_ENDED: i32 = 17;

const ORDER: &str = "POSSE_CRASH_ORDER";

/// What a child is to do.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub directory: PathBuf,
    pub base_url: String,
    pub api: Api,
    pub writes: Writes,
    pub kill: Option<Kill>,
}

/// Where a child dies.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Kill {
    /// The event of that place is stored, and nobody knows it yet.
    AfterStored(u64),
    /// It is about to be stored.
    BeforeStored(u64),
    /// It is on its way to the disk.
    WhileStored(u64),
    /// A tool is about to have that effect.
    BeforeEffect(String),
    /// It has had it, and nobody knows it yet.
    AfterEffect(String),
    /// The model has said so many bytes of its answer; then the parent kills.
    InAnswer { turn: u64, bytes: usize },
}

/// How a child hands events to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Writes {
    /// As they come.
    Together,
    /// One by one.
    Singly,
}

impl Order {
    pub(crate) fn store(&self) -> PathBuf {
        self.directory.join("store.db")
    }

    pub(crate) fn owners(&self) -> PathBuf {
        self.directory.join("owners")
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.directory.join("workspace")
    }

    pub(crate) fn effects(&self) -> EffectLog {
        EffectLog::new(self.directory.join("effects"))
    }

    /// The child that carries it out.
    pub(crate) fn command(&self) -> Command {
        let program = std::env::current_exe().expect("a test has a program");
        let mut command = Command::new(program);
        let order = serde_json::to_string(self).expect("an order has no failing parts");
        command.args(["--exact", "child", "--nocapture"]).env(ORDER, order);
        command
    }
}

/// Does what the environment orders.
pub(crate) fn obey() {
    let Ok(order) = std::env::var(ORDER) else { return };
    let order: Order = serde_json::from_str(&order).expect("an order that a parent wrote");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended_before = runtime.expect("a runtime can be made").block_on(carry_out(&order));
    if ended_before {
        std::process::exit(HAD_ENDED);
    }
}

/// Runs the agent to its end, from wherever it is; true when it was there already.
async fn carry_out(order: &Order) -> bool {
    let store = Arc::new(SqliteStore::open(&order.store()).expect("the store opens"));
    let known = store.list(2).await.expect("the store can be read");
    assert!(known.len() <= 1, "there is one run at most: {known:?}");
    let supervisor = supervisor(order, store);
    let started = match known.first() {
        None => supervisor.start(planned(order), None).await,
        Some(run) => supervisor.resume(run.run_id, None).await,
    };
    let started = match started {
        Ok(started) => started,
        Err(SuperviseError::Ended(_)) => return true,
        Err(error) => panic!("the run does not begin: {error}"),
    };
    let outcome = started.done.await.expect("the owning task is alive").expect("the store works");
    assert_eq!(outcome.status(), "done", "{outcome:?}");
    supervisor.close().await;
    false
}

fn supervisor(order: &Order, store: Arc<SqliteStore>) -> Supervisor {
    let mark = Mark { log: order.effects(), kill: order.kill.clone() };
    let variable = |_: &str| Some("a-key-of-no-value".to_owned());
    // As the program does; a second time changes nothing.
    let transport = Transport::http().expect("a way to the server can be made");
    let toolbox = Arc::new(Toolbox::builtin().with(Arc::new(mark)));
    let engine = Native::new(toolbox, Providers::new(&Settings::default(), &variable, transport));
    let mortal = MortalStore { store, kill: order.kill.clone(), writes: order.writes };
    let means = Means {
        store: Arc::new(mortal),
        engine: Arc::new(engine),
        approver: Arc::new(Nobody),
        owners: Some(order.owners()),
        clock: posse_runtime::now,
    };
    Supervisor::new(means).expect("a supervisor can be made")
}

fn planned(order: &Order) -> Plan {
    let mut plan = plan(order.api, &order.base_url);
    plan.tools = ["Read", "Glob", "LS", "Mark"].map(|tool| chosen(tool.to_owned())).into();
    plan.workspace = chosen(path_text(&order.workspace()));
    // `Mark` has an effect, and nobody is there to be asked.
    plan.permission_mode = chosen("bypassPermissions".to_owned());
    plan
}

fn path_text(path: &Path) -> String {
    path.to_str().expect("a path of a test is text").to_owned()
}

/// Ends this process as `kill -9` does.
fn die() -> ! {
    kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
    unreachable!("nobody survives that")
}

/// A store whose process dies at some event.
struct MortalStore {
    store: Arc<SqliteStore>,
    kill: Option<Kill>,
    writes: Writes,
}

impl MortalStore {
    async fn write(&self, events: &[Event], stored: Storing<'_, ()>) -> Result<(), StoreError> {
        let has = |place: u64| events.iter().any(|event| event.seq == place);
        match self.kill {
            // The writer has it and may be anywhere with it.
            Some(Kill::WhileStored(place)) if has(place) => die(),
            _ => stored.await?,
        }
        match self.kill {
            Some(Kill::AfterStored(place)) if has(place) => die(),
            _ => Ok(()),
        }
    }

    fn before(&self, events: &[Event]) {
        match self.kill {
            Some(Kill::BeforeStored(place)) if events.iter().any(|event| event.seq == place) => die(),
            _ => {}
        }
    }
}

impl Store for MortalStore {
    fn create(&self, owner: &str, events: Vec<Event>) -> Storing<'_, ()> {
        self.before(&events);
        let stored = self.store.create(owner, events.clone());
        Box::pin(async move { self.write(&events, stored).await })
    }

    fn append(
        &self,
        run_id: RunId,
        expected_seq: u64,
        events: Vec<Event>,
        durability: Durability,
    ) -> Storing<'_, ()> {
        let pieces = match self.writes {
            Writes::Together => vec![events],
            Writes::Singly => events.into_iter().map(|event| vec![event]).collect(),
        };
        Box::pin(async move {
            let mut seq = expected_seq;
            for events in pieces {
                self.before(&events);
                let stored = self.store.append(run_id, seq, events.clone(), durability);
                self.write(&events, stored).await?;
                seq += events.len() as u64;
            }
            Ok(())
        })
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

/// A tool with an effect that can be seen after everybody is dead.
struct Mark {
    log: EffectLog,
    kill: Option<Kill>,
}

static MARK: LazyLock<ToolSpec> = LazyLock::new(|| ToolSpec {
    name: "Mark",
    description: "Leaves a mark.",
    schema: json!({
        "type": "object",
        "properties": { "label": { "type": "string" } },
        "required": ["label"],
        "additionalProperties": false,
    })
    .into(),
});

impl Tool for Mark {
    fn spec(&self) -> &ToolSpec {
        &MARK
    }

    fn effect(&self) -> Effect {
        Effect::Effectful
    }

    fn call<'a>(&'a self, input: &'a Value, _context: &'a ToolContext) -> Calling<'a> {
        Box::pin(async move {
            let label = input["label"].as_str().expect("the schema asks for a label");
            if matches!(&self.kill, Some(Kill::BeforeEffect(at)) if at == label) {
                die();
            }
            self.log.add(label);
            if matches!(&self.kill, Some(Kill::AfterEffect(at)) if at == label) {
                die();
            }
            // A task of its own has a chance to go on while this one is in the middle of its work.
            tokio::task::yield_now().await;
            ToolOutput::ok(format!("marked {label}"))
        })
    }
}
