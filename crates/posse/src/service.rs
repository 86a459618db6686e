//! What commands that look at or steer runs share: the runtime, the store, the supervisor.

use std::future::Future;
use std::sync::Arc;

use posse_core::id::RunId;
use posse_core::plan::Settings;
use posse_runtime::approver::{Approver, Nobody};
use posse_runtime::engine::native::Native;
use posse_runtime::planning::settings;
use posse_runtime::provider::transport::Transport;
use posse_runtime::providers::Providers;
use posse_runtime::store::{SqliteStore, StoreError};
use posse_runtime::supervisor::{Means, RunView, SuperviseError, Supervisor};
use posse_runtime::toolbox::Toolbox;

use crate::app::App;
use crate::error::{CommandError, Kind};

/// The means to plan and run.
pub struct Service {
    /// What is configured, as the core takes it.
    pub settings: Settings,
    /// The way to models.
    pub providers: Providers,
    /// The tools there are.
    pub toolbox: Arc<Toolbox>,
}

/// Runs the asynchronous part of a command.
pub fn block_on<T>(work: impl Future<Output = Result<T, CommandError>>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(work);
    // A search that nobody waits for any more must not hold up the end.
    runtime.shutdown_background();
    done
}

impl Service {
    /// Everything that planning needs, with a way to providers.
    pub fn new(app: &App, transport: Transport) -> Service {
        let settings = settings(&app.config);
        let providers = Providers::new(&settings, &variable, transport);
        Service { settings, providers, toolbox: Arc::new(Toolbox::builtin()) }
    }

    /// A supervisor over the person's store.
    pub fn supervisor(self, app: &App, approver: Arc<dyn Approver>) -> Result<Supervisor, CommandError> {
        let (Some(path), Some(owners)) = (app.places.store(), app.places.owners()) else {
            return Err(CommandError::new(Kind::Usage, "there is no home directory to keep runs in")
                .with_help("set HOME or POSSE_HOME to an absolute path"));
        };
        let store = SqliteStore::open(&path).map_err(|error| store_failed(&error))?;
        let engine = Native::new(self.toolbox, self.providers);
        let engine = match &app.places.home {
            Some(home) => engine.with_home(home),
            None => engine,
        };
        let means = Means {
            store: Arc::new(store),
            engine: Arc::new(engine),
            approver,
            owners: Some(owners),
            clock: posse_runtime::now,
        };
        Ok(Supervisor::new(means)?)
    }
}

/// A supervisor for commands that only look at or steer runs.
pub fn open(app: &App) -> Result<Supervisor, CommandError> {
    Service::new(app, http()?).supervisor(app, Arc::new(Nobody))
}

/// The way to providers over HTTP.
pub fn http() -> Result<Transport, CommandError> {
    Transport::http().map_err(|message| CommandError::new(Kind::Internal, message))
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The run that a prefix names, and how it stands.
pub async fn look(supervisor: &Supervisor, prefix: &str) -> Result<RunView, CommandError> {
    let run_id = find(supervisor, prefix).await?;
    supervisor.look(run_id).await.map_err(|error| supervise_failed(&error))
}

/// The run that a prefix names.
pub async fn find(supervisor: &Supervisor, prefix: &str) -> Result<RunId, CommandError> {
    supervisor.find(prefix).await.map_err(|error| match error {
        SuperviseError::Store(StoreError::Absent) => {
            CommandError::new(Kind::Usage, format!("there is no run `{prefix}`"))
                .with_help("`posse runs` shows those there are")
        }
        SuperviseError::Store(StoreError::Failed(message)) if message.contains("several runs") => {
            CommandError::new(Kind::Usage, message).with_help("give more of its identity")
        }
        error => supervise_failed(&error),
    })
}

/// How a supervisor's failure is told.
pub fn supervise_failed(error: &SuperviseError) -> CommandError {
    match error {
        SuperviseError::Store(error) => store_failed(error),
        SuperviseError::Alive => CommandError::new(Kind::Usage, "another process runs it")
            .with_help("`posse wait` waits for it, `posse stop` stops it"),
        SuperviseError::Ended(_) => CommandError::new(Kind::Usage, error.to_string()),
        SuperviseError::Damaged(_) => CommandError::new(Kind::Internal, error.to_string()),
    }
}

/// How a store's failure is told.
pub fn store_failed(error: &StoreError) -> CommandError {
    CommandError::new(Kind::Internal, error.to_string())
        .with_help("nothing that was stored is lost; mend the cause, then `posse runs` and `posse resume`")
}
