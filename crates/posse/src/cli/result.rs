//! `posse result`: what a run answered, whole.

use posse_core::report::ResultSize;
use posse_runtime::supervisor::RunView;

use crate::app::App;
use crate::cli::run::carry::{print_result, say_ending};
use crate::error::{CommandError, Kind};
use crate::service::{block_on, look, open};

/// Print what a run answered, all of it; exits as the run did
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The run: its identity, or enough of its beginning
    run: String,
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    block_on(async {
        let supervisor = open(app)?;
        let view = look(&supervisor, &options.run).await?;
        supervisor.close().await;
        print(app, &view)
    })
}

/// Prints how a run stands and gives the exit code.
pub fn print(app: &App, view: &RunView) -> Result<u8, CommandError> {
    if app.printer.json {
        app.printer.json(&view.report().to_json(ResultSize::Whole))?;
    }
    let run_id = view.run_id;
    let Some(outcome) = &view.transcript.outcome else {
        return match (app.printer.json, view.is_owned) {
            (true, true) => Ok(0),
            (true, false) => Ok(Kind::Stopped.code()),
            (false, true) => Err(CommandError::new(Kind::Usage, format!("run {run_id} is still running"))
                .with_help(format!("`posse wait {run_id}` waits for it"))),
            (false, false) => Err(CommandError::new(
                Kind::Stopped,
                format!("run {run_id} was interrupted: its process is gone"),
            )
            .with_help(format!("`posse resume {run_id}` goes on with it"))),
        };
    };
    if !app.printer.json {
        print_result(app, outcome)?;
        say_ending(app, view, outcome)?;
    }
    Ok(outcome.exit_code())
}
