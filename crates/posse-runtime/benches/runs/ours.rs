//! Runs through the supervisor, the native engine and a store.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use posse_core::definition::{Definition, Dialect, Scope};
use posse_core::message::Api;
use posse_core::outcome::Outcome;
use posse_core::plan::{DefinitionSource, Plan, Request, Setting, Settings, Surroundings, resolve};
use posse_runtime::approver::Nobody;
use posse_runtime::engine::native::Native;
use posse_runtime::provider::transport::Transport;
use posse_runtime::providers::Providers;
use posse_runtime::store::{MemoryStore, SqliteStore, Store};
use posse_runtime::supervisor::{Means, Supervisor};
use posse_runtime::toolbox::Toolbox;
use serde_json::json;

use crate::measure::{Child, Measured, measured, runtime};

/// A directory with something to read.
pub fn workspace() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("notes.txt"), "all is well\n".repeat(12)).expect("a file");
    directory
}

fn setting(value: serde_json::Value) -> Setting {
    Setting { value, from: "bench".to_owned() }
}

/// The way to the server, and what is planned with it.
pub fn providers(url: &str) -> (Settings, Providers) {
    let settings = BTreeMap::from([
        ("limits.turns".to_owned(), setting(json!(100_000))),
        ("limits.tokens".to_owned(), setting(json!(1_000_000_000_000_u64))),
        ("limits.budget_usd".to_owned(), setting(json!(1e9))),
        ("limits.timeout".to_owned(), setting(json!(600_000))),
        ("default_model".to_owned(), setting(json!("anthropic/claude-sonnet-4-5"))),
    ]);
    let settings = Settings(settings);
    let url = url.to_owned();
    let variable = move |name: &str| match name {
        "ANTHROPIC_API_KEY" => Some("sk-ant-bench".to_owned()),
        "ANTHROPIC_BASE_URL" => Some(url.clone()),
        _ => None,
    };
    let providers = Providers::new(&settings, &variable, Transport::http().expect("a client"));
    assert!(providers.entries().iter().any(|entry| entry.api == Api::Anthropic && entry.has_key));
    (settings, providers)
}

/// A plan for one run in a directory.
pub fn plan(settings: &Settings, providers: &Providers, directory: &Path) -> Plan {
    let prompt = "You look after notes. Read what is there, then say in one sentence what it says.";
    let definition = Definition::new("bench", prompt, Dialect::Posse);
    let request =
        Request { task: "What do the notes say?".to_owned(), caller: "cli".to_owned(), ..Request::default() };
    let surroundings = Surroundings {
        source: DefinitionSource { path: None, scope: "cli".to_owned(), dialect: "posse".to_owned() },
        scope: Scope::Cli,
        settings,
        models: &providers.world(),
        tools: &["Read", "Glob", "Grep", "LS"],
        workspace: directory.display().to_string(),
        workspace_shown: Some("/w".to_owned()),
        date: "2026-01-01".to_owned(),
        platform: "linux".to_owned(),
        context_files: Vec::new(),
    };
    let mut plan = resolve(&definition, &request, &surroundings).expect("a plan");
    // Every question sends the whole conversation: what is measured is a long one.
    plan.model.value.context_tokens = None;
    plan
}

pub fn many(store: &str, asked: &Child) -> Measured {
    let (directory, kept) = (workspace(), tempfile::tempdir().expect("a directory"));
    let workspace = directory.path().canonicalize().expect("it is there");
    let (settings, providers) = providers(&asked.url);
    let plan = plan(&settings, &providers, &workspace);
    runtime().block_on(async {
        let store: Arc<dyn Store> = match store {
            "memory" => Arc::new(MemoryStore::default()),
            _ => Arc::new(SqliteStore::open(&kept.path().join("runs.db")).expect("a store")),
        };
        let engine = Arc::new(Native::new(Arc::new(Toolbox::builtin()), providers));
        let means =
            Means { store, engine, approver: Arc::new(Nobody), owners: None, clock: posse_runtime::now };
        let supervisor = Arc::new(Supervisor::new(means).expect("a supervisor"));
        // What is made once in a process is made before anything is measured.
        run(&supervisor, plan.clone(), asked.turns).await;
        let plans = || vec![plan; asked.runs];
        measured(asked.runs, plans, async |plans| {
            let mut tasks = tokio::task::JoinSet::new();
            for plan in plans {
                if tasks.len() == asked.at_once {
                    tasks.join_next().await.expect("one of them").expect("a run");
                }
                let (supervisor, turns) = (supervisor.clone(), asked.turns);
                tasks.spawn(async move { run(&supervisor, plan, turns).await });
            }
            while let Some(done) = tasks.join_next().await {
                done.expect("a run");
            }
        })
        .await
    })
}

async fn run(supervisor: &Supervisor, plan: Plan, turns: usize) {
    let started = supervisor.start(plan, None).await.expect("it starts");
    let outcome = started.done.await.expect("it ends").expect("the store holds");
    assert!(matches!(outcome, Outcome::Done { .. }), "{turns} turns: {outcome:?}");
}
