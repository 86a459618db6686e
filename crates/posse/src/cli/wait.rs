//! `posse wait`: waits for a run of any process to end.

use posse_core::definition::field::Unit;
use posse_core::definition::value::duration_text_ms;
use posse_core::step::duration;
use tokio::time::{Duration, timeout};

use crate::app::App;
use crate::cli::result::print;
use crate::error::{CommandError, Kind};
use crate::service::{block_on, find, open, supervise_failed};

/// Wait until a run has ended, print what it answered, and exit as it did
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The run: its identity, or enough of its beginning
    run: String,
    /// Wait no longer than this, such as 30s; the run goes on
    #[arg(long, value_name = "DURATION", value_parser = patience)]
    timeout: Option<u64>,
}

fn patience(text: &str) -> Result<u64, String> {
    duration_text_ms(text, Unit::Seconds).ok_or_else(|| "write a duration such as 30s or 5m".to_owned())
}

/// A run ends by its own limits; this one only has to be longer than any of them.
const WAIT_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    block_on(async {
        let supervisor = open(app)?;
        let run_id = find(&supervisor, &options.run).await?;
        let patience = options.timeout.map_or(WAIT_MAX, Duration::from_millis);
        let view = match timeout(patience, supervisor.wait(run_id)).await {
            Ok(view) => view.map_err(|error| supervise_failed(&error))?,
            Err(_) => {
                let waited = duration(options.timeout.unwrap_or_default());
                let message = format!("run {run_id} has not ended after {waited}; it goes on");
                return Err(
                    CommandError::new(Kind::Exhausted, message).with_help(format!("`posse wait {run_id}`"))
                );
            }
        };
        supervisor.close().await;
        print(app, &view)
    })
}
