//! `posse run`: carries an agent out.

pub mod approve;
pub mod carry;
pub mod progress;
pub mod request;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use clap::ValueEnum;
use posse_core::plan::Plan;
use posse_core::registry::Entry;
use posse_runtime::cassette::{Cassette, Frozen, Tape};
use posse_runtime::planning::{Planning, model_wanted};
use posse_runtime::provider::transport::Transport;

use crate::app::App;
use crate::error::{CommandError, Kind};
use crate::service::{Service, block_on, http};

/// Run an agent
///
/// Its answer goes to stdout; what it is doing goes to stderr. Every turn is kept as it happens: a run that was
/// cut off goes on with `posse resume`.
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    pub request: request::Asking,
    /// What to print on stdout [default: text]
    #[arg(long, value_name = "FORM")]
    pub output: Option<Output>,
    /// Keep what is said to the provider in this file, without secrets
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Answer from a file that --record made, with no network
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    replay: Option<PathBuf>,
}

/// What a run prints on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// The answer.
    Text,
    /// One JSON value when the run has ended.
    Json,
    /// One JSON value a line: every event as it happens, and the answer as it streams.
    StreamJson,
}

impl Output {
    /// What was asked for; `--json` alone means JSON.
    pub fn decide(app: &App, output: Option<Output>) -> Output {
        match output {
            Some(output) => output,
            None if app.printer.json => Output::Json,
            None => Output::Text,
        }
    }
}

pub fn run(app: &mut App, options: &Options) -> Result<u8, CommandError> {
    let output = Output::decide(app, options.output);
    app.printer.json = output != Output::Text;
    let cassette = options.replay.as_ref().map(|file| load(app, file)).transpose()?;
    let discovered = app.discover()?;
    let entry = request::admitted(app, &discovered.registry, &options.request.agent)?;
    let request = options.request.read(app)?;
    if let Some(file) = &options.record {
        refuse_unwritable(app, file)?;
    }
    app.printer.diagnostics(&entry.problems)?;
    block_on(async {
        let tape = Arc::new(Mutex::new(Tape::default()));
        let transport = transport(options, cassette.as_ref(), &tape)?;
        let service = Service::new(app, transport);
        lock(&tape).hide(service.providers.secrets());
        let frozen = cassette.as_ref().map(|cassette| &cassette.frozen);
        let wanted = entry.definition().and_then(|definition| model_wanted(definition, &request));
        let plan = plan(app, &service, entry, request, frozen).await?;
        for warning in &plan.warnings {
            app.printer.warn(warning)?;
        }
        let frozen = frozen_of(&plan, wanted);
        let agent = plan.agent.clone();
        let (approver, questions) = approve::person();
        let supervisor = service.supervisor(app, approver)?;
        let front = carry::Front { output, questions };
        let code = carry::carry(app, &supervisor, carry::Begin::Start(Box::new(plan)), front).await;
        if let Some(file) = &options.record {
            let path = app.places.cwd.join(file);
            if let Err(error) = lock(&tape).save(&path, &agent, &frozen) {
                // The run itself is stored, and its exit code counts.
                app.printer.error(&format!("--record: {}: {error}", file.display()), None)?;
            }
        }
        supervisor.close().await;
        code
    })
}

/// Makes the plan, or says why there is none.
pub async fn plan(
    app: &App,
    service: &Service,
    entry: &Entry,
    request: posse_core::plan::Request,
    frozen: Option<&Frozen>,
) -> Result<Plan, CommandError> {
    let names = service.toolbox.names();
    let workspace = app.places.cwd.canonicalize()?;
    let directories = app.places.project_directories().into_iter().map(PathBuf::from).collect();
    let planning = Planning {
        entry,
        request,
        settings: &service.settings,
        providers: &service.providers,
        tools: &names,
        workspace,
        directories,
        now: posse_runtime::now(),
        frozen,
    };
    planning.plan().await.map_err(|refusal| request::refused(&refusal))
}

fn transport(
    options: &Options,
    cassette: Option<&Arc<Cassette>>,
    tape: &Arc<Mutex<Tape>>,
) -> Result<Transport, CommandError> {
    match (cassette, &options.record) {
        (Some(cassette), _) => Ok(Transport::replay(cassette.clone())),
        (None, Some(_)) => {
            Transport::recording(tape.clone()).map_err(|message| CommandError::new(Kind::Internal, message))
        }
        (None, None) => http(),
    }
}

fn load(app: &App, file: &Path) -> Result<Arc<Cassette>, CommandError> {
    let cassette = Cassette::load(&app.places.cwd.join(file));
    let failed =
        |message: String| CommandError::new(Kind::Usage, format!("--replay: {}: {message}", file.display()));
    cassette.map(Arc::new).map_err(|message| failed(message).with_help("`posse run --record FILE` makes one"))
}

/// What cannot be kept is better known before the run than after it.
fn refuse_unwritable(app: &App, file: &Path) -> Result<(), CommandError> {
    let path = app.places.cwd.join(file);
    if path.exists() && Cassette::load(&path).is_err() {
        let message = format!("--record: {} is there and is not a recording", file.display());
        return Err(CommandError::new(Kind::Usage, message).with_help("name another file"));
    }
    if path.parent().is_some_and(Path::is_dir) {
        return Ok(());
    }
    let message = format!("--record: {} cannot be written", file.display());
    Err(CommandError::new(Kind::Usage, message).with_help("name a file in a directory that exists"))
}

fn frozen_of(plan: &Plan, model_wanted: Option<String>) -> Frozen {
    let date = plan.system.iter().find(|block| block.name == "environment");
    let date = date.and_then(|block| block.text.lines().find_map(|line| line.strip_prefix("date: ")));
    Frozen {
        date: date.unwrap_or_default().to_owned(),
        workspace: plan.workspace_shown.clone().unwrap_or_else(|| plan.workspace.value.clone()),
        platform: std::env::consts::OS.to_owned(),
        model_wanted,
        model: plan.model.value.clone(),
        compaction_model: plan.compaction_model.value.clone(),
    }
}

fn lock(tape: &Mutex<Tape>) -> std::sync::MutexGuard<'_, Tape> {
    tape.lock().expect("nobody panics while holding the lock")
}
