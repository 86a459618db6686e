//! `posse runs`: the runs there are, the newest first.

use posse_core::report::ResultSize;
use posse_core::step::duration;
use posse_core::text::one_line;
use posse_runtime::supervisor::RunView;
use serde_json::Value;

use crate::app::App;
use crate::cli::run::progress::rounded;
use crate::error::CommandError;
use crate::print::{BOLD, CYAN, DIM, GREEN, RED, Table, YELLOW, count, stdout_width, styled};
use crate::service::{block_on, open, supervise_failed};

/// How many characters of an identity the table shows.
const RUN_ID_SHOWN: usize = 18;

/// List runs, the newest first, also those that other processes carry out
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Show so many
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Show all of them
    #[arg(long, short)]
    all: bool,
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    block_on(async {
        let supervisor = open(app)?;
        let limit = if options.all { usize::MAX - 1 } else { options.limit };
        let listed =
            supervisor.list(limit.saturating_add(1)).await.map_err(|error| supervise_failed(&error))?;
        let is_cut = listed.len() > limit;
        let (views, damaged): (Vec<_>, Vec<_>) = listed.into_iter().take(limit).partition(Result::is_ok);
        for problem in damaged.into_iter().filter_map(Result::err) {
            app.printer.error(&problem, Some("`posse doctor --rebuild` may mend it"))?;
        }
        let views: Vec<RunView> = views.into_iter().filter_map(Result::ok).collect();
        if app.printer.json {
            let json: Vec<Value> =
                views.iter().map(|view| view.report().to_json(ResultSize::Bounded)).collect();
            app.printer.json(&Value::Array(json))?;
        } else if views.is_empty() {
            app.printer.hint("there are no runs yet; `posse run AGENT TASK` makes one")?;
        } else {
            app.printer.text(&table(&views).render(stdout_width()))?;
        }
        if is_cut {
            app.printer.hint(&styled(
                DIM,
                &format!("only the newest {}; `--all` shows the rest", count(limit, "run")),
            ))?;
        }
        supervisor.close().await;
        Ok(0)
    })
}

fn table(views: &[RunView]) -> Table {
    let mut table = Table::new(&["run", "status", "agent", "started", "took", "turns", "cost", "task"]);
    for view in views {
        let report = view.report();
        let status = report.status();
        let colour = match status {
            "done" => GREEN,
            "running" => CYAN,
            "failed" => RED,
            _ => YELLOW,
        };
        let cost = view.transcript.cost_usd.map_or_else(|| "-".to_owned(), |cost| format!("${cost:.4}"));
        let plain = anstyle::Style::new();
        table.row(vec![
            // Enough of it to be unique; more is accepted everywhere, and `--json` has all.
            (view.run_id.to_string()[..RUN_ID_SHOWN].to_owned(), DIM),
            (status.to_owned(), colour),
            (view.plan.agent.clone(), BOLD),
            (view.transcript.started_at.to_string()[..19].replace('T', " "), plain),
            (duration(rounded(report.duration_ms())), plain),
            (view.transcript.turns.to_string(), plain),
            (cost, plain),
            (one_line(&view.plan.task, 40), plain),
        ]);
    }
    table
}
