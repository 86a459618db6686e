//! `posse stop`: stops a run of any process.

use posse_core::outcome::StopReason;
use posse_core::report::ResultSize;
use tokio::time::{Duration, timeout};

use crate::app::App;
use crate::cli::run::progress::summary;
use crate::error::{CommandError, Kind};
use crate::print::{DIM, styled};
use crate::service::{block_on, find, open, supervise_failed};

/// How long a run may take to stop before that is said.
const STOP_MAX: Duration = Duration::from_secs(30);

/// Stop a run, also one that another process carries out
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The run: its identity, or enough of its beginning
    run: String,
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    block_on(async {
        let supervisor = open(app)?;
        let run_id = find(&supervisor, &options.run).await?;
        supervisor.stop(run_id, StopReason::Asked).await.map_err(|error| supervise_failed(&error))?;
        let view = match timeout(STOP_MAX, supervisor.wait(run_id)).await {
            Ok(view) => view.map_err(|error| supervise_failed(&error))?,
            Err(_) => {
                let message =
                    format!("run {run_id} was asked to stop and has not after {} s", STOP_MAX.as_secs());
                return Err(CommandError::new(Kind::Exhausted, message)
                    .with_help("end its process; `posse runs` then shows it as interrupted"));
            }
        };
        if app.printer.json {
            app.printer.json(&view.report().to_json(ResultSize::Bounded))?;
        } else {
            app.printer.hint(&styled(DIM, &summary(&view.report())))?;
        }
        supervisor.close().await;
        Ok(0)
    })
}
