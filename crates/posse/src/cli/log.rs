//! `posse log`: what happened in a run.

use posse_core::event::{Event, Fact};
use posse_core::message::Part;
use posse_core::step::duration;
use posse_core::text::visible;

use crate::app::App;
use crate::error::CommandError;
use crate::print::{BOLD, CYAN, DIM, GREEN, RED, YELLOW, styled};
use crate::service::{block_on, find, open, supervise_failed};

/// Show what happened in a run, turn by turn
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The run: its identity, or enough of its beginning
    run: String,
    /// Go on until the run has ended
    #[arg(long, short)]
    follow: bool,
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    block_on(async {
        let supervisor = open(app)?;
        let run_id = find(&supervisor, &options.run).await?;
        let failed = |error| supervise_failed(&error);
        let events = supervisor.events(run_id, 1).await.map_err(failed)?;
        let mut next_seq = events.last().map_or(1, |event| event.seq + 1);
        print(app, &events)?;
        if options.follow {
            while let Some(events) = supervisor.next_events(run_id, next_seq).await.map_err(failed)? {
                next_seq = events.last().map_or(next_seq, |event| event.seq + 1);
                print(app, &events)?;
            }
        }
        let view = supervisor.look(run_id).await.map_err(failed)?;
        if view.report().status() == "interrupted" {
            app.printer.hint(&styled(
                YELLOW,
                &format!("its process is gone; `posse resume {run_id}` goes on from here"),
            ))?;
        }
        supervisor.close().await;
        Ok(0)
    })
}

fn print(app: &App, events: &[Event]) -> Result<(), CommandError> {
    for event in events {
        if app.printer.json {
            app.printer.raw(&format!("{}\n", event.to_line()))?;
        } else {
            let clock = &event.at.to_string()[11..23];
            app.printer.text(&format!("{} {:>3}  {}\n", styled(DIM, clock), event.seq, told(&event.fact)))?;
        }
    }
    Ok(())
}

fn told(fact: &Fact) -> String {
    match fact {
        Fact::Started(plan) => {
            let model = format!("{}/{}", plan.model.value.provider, plan.model.value.model);
            let task = indented(&plan.first_message());
            format!("{} {} asked by {}{task}", styled(BOLD, &plan.agent), styled(CYAN, &model), plan.caller)
        }
        Fact::Asked(asked) => {
            let note = asked.note.as_ref().map(|note| indented(&note.text)).unwrap_or_default();
            format!("turn {}{note}", asked.turn)
        }
        Fact::Answered(answered) => {
            let parts: String = answered.message.parts.iter().map(part).collect();
            let cost = answered.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
            let tokens = answered.usage.total();
            format!("answered after {} ({tokens} tokens{cost}){parts}", duration(answered.duration_ms))
        }
        Fact::Retried(retried) => {
            let text = format!(
                "try {} failed: {}; again in {}",
                retried.attempt,
                retried.message,
                duration(retried.wait_ms)
            );
            styled(YELLOW, &visible(&text))
        }
        Fact::Permission(permission) => {
            let (style, word) = if permission.allowed { (GREEN, "allowed") } else { (RED, "denied") };
            let by = permission.by.describe();
            let rule = permission.rule.as_deref().map(|rule| format!(" ({rule})")).unwrap_or_default();
            let text = format!("{} {word} by {by}{rule}", permission.tool);
            format!("{}{}", styled(style, &visible(&text)), indented(&permission.input.to_string()))
        }
        Fact::ToolStarted(started) => format!("{} begins", styled(GREEN, &visible(&started.tool))),
        Fact::ToolFinished(finished) => {
            let style = if finished.is_error { RED } else { GREEN };
            let tool = styled(style, &visible(&finished.tool));
            format!("{tool} took {}{}", duration(finished.duration_ms), indented(&finished.text))
        }
        Fact::Compacted(compacted) => format!("shortened{}", indented(&compacted.summary)),
        Fact::Said(said) => format!("{} says{}", visible(&said.from), indented(&said.text)),
        Fact::StopAsked(stop) => styled(YELLOW, &format!("to stop: {}", stop.reason.describe())),
        Fact::Ended(outcome) => {
            let error = outcome.error().map(|error| indented(&error.message)).unwrap_or_default();
            format!("{}{error}", styled(BOLD, outcome.status()))
        }
        Fact::Unknown { kind, data } => format!("{}{}", visible(kind), indented(&data.to_string())),
    }
}

fn part(part: &Part) -> String {
    match part {
        Part::Text { text } => indented(text),
        Part::Thinking { text, .. } if text.is_empty() => String::new(),
        Part::Thinking { text, .. } => indented(&format!("(thinks) {text}")),
        Part::ToolCall(call) => indented(&format!("→ {} {}", call.name, call.input)),
        Part::ToolResult(result) => indented(&result.text),
    }
}

/// Some lines below, as many as a look needs.
fn indented(text: &str) -> String {
    const LINES_MAX: usize = 12;
    let text = visible(text);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut shown: String = lines
        .iter()
        .take(LINES_MAX)
        .map(|line| format!("\n                  {}", line.chars().take(200).collect::<String>()))
        .collect();
    if lines.len() > LINES_MAX {
        shown += &format!("\n                  … {} more lines", lines.len() - LINES_MAX);
    }
    shown
}
