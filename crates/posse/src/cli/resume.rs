//! `posse resume`: goes on with a run that was cut off, or with the conversation of one that has ended.

use posse_core::plan::Plan;
use posse_runtime::supervisor::{RunView, Supervisor};

use crate::app::App;
use crate::cli::run::Output;
use crate::cli::run::approve;
use crate::cli::run::carry::{Begin, Front, carry};
use crate::cli::run::request::admitted;
use crate::error::{CommandError, Kind};
use crate::service::{Service, block_on, http, look, supervise_failed};

/// What is asked where a person says nothing.
const GO_ON: &str = "Go on with the task.";

/// Go on with a run
///
/// A run whose process is gone goes on in the same run: no finished turn is asked again, and no call that may
/// have had an effect is repeated. A run that has ended goes on as a new run with the same conversation.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The run: its identity, or enough of its beginning
    run: String,
    /// What to do next
    task: Option<String>,
    /// What to print on stdout [default: text]
    #[arg(long, value_name = "FORM")]
    pub output: Option<Output>,
}

pub fn run(app: &mut App, options: &Options) -> Result<u8, CommandError> {
    let output = Output::decide(app, options.output);
    app.printer.json = output != Output::Text;
    block_on(async {
        let (approver, questions) = approve::person();
        let supervisor = Service::new(app, http()?).supervisor(app, approver)?;
        let view = look(&supervisor, &options.run).await?;
        let begin = begin(app, &supervisor, &view, options.task.as_deref()).await?;
        let code = carry(app, &supervisor, begin, Front { output, questions }).await;
        supervisor.close().await;
        code
    })
}

async fn begin(
    app: &App,
    supervisor: &Supervisor,
    view: &RunView,
    task: Option<&str>,
) -> Result<Begin, CommandError> {
    if view.is_replay() {
        let message = format!("run {} was a replay, and only the recorded answers are there", view.run_id);
        return Err(CommandError::new(Kind::Usage, message).with_help("run the agent anew with `posse run`"));
    }
    if view.transcript.outcome.is_some() {
        let prior = view.transcript.settled_messages();
        let task = task.unwrap_or(GO_ON).to_owned();
        refuse(app, view, &task)?;
        let caller = app.caller.clone();
        let plan = Plan { task, caller, context: None, prior, ..view.plan.as_ref().clone() };
        return Ok(Begin::Start(Box::new(plan)));
    }
    if view.is_owned {
        return Err(CommandError::new(Kind::Usage, format!("run {} is still running", view.run_id))
            .with_help("`posse wait` waits for it, `posse stop` stops it"));
    }
    if let Some(task) = task {
        let said = supervisor.say(view.run_id, &app.caller, task).await;
        said.map_err(|error| supervise_failed(&error))?;
    }
    Ok(Begin::Resume(view.run_id))
}

/// A new run with an old plan: whoever asks must still be admitted by the definition, if it can be found from here.
fn refuse(app: &App, view: &RunView, task: &str) -> Result<(), CommandError> {
    let limit = &view.plan.limits.input_bytes;
    if task.len() as u64 > limit.value {
        let message =
            format!("the task has {} bytes; the limit is {} (from {})", task.len(), limit.value, limit.from);
        return Err(CommandError::new(Kind::Definition, message)
            .with_help("put the material into a file and name it"));
    }
    let discovered = app.discover()?;
    let entry = discovered.registry.find(&view.plan.agent);
    if entry.is_some_and(|entry| entry.found.path == view.plan.definition.path) {
        admitted(app, &discovered.registry, &view.plan.agent)?;
    } else if app.caller != "cli" {
        let message =
            format!("`{}` is not to be found here, so nobody knows whom it admits", view.plan.agent);
        return Err(CommandError::new(Kind::Refused, message).with_help("resume it from its project"));
    }
    Ok(())
}
