//! `posse list`: the agents that can be called.

use anstyle::Style;
use clap::builder::PossibleValuesParser;
use posse_core::definition::{Scope, ToolClass};
use posse_core::registry::{Absence, Entry, Registry};
use serde_json::Value;

use crate::app::App;
use crate::error::CommandError;
use crate::print::{BOLD, CYAN, DIM, RED, Table, YELLOW, count, stdout_width, styled};

/// List the agents that can be called
///
/// An agent of a project can be run only after `posse trust`. With --all, also the internal, disabled,
/// shadowed and rejected ones, each with the reason.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Also list internal, disabled, shadowed and rejected agents
    #[arg(long)]
    all: bool,
    /// Only agents of this scope
    #[arg(long, value_name = "SCOPE", value_parser = scopes())]
    scope: Option<String>,
}

impl Options {
    fn is_in_scope(&self, entry: &Entry) -> bool {
        self.scope.as_deref().is_none_or(|scope| entry.found.scope.as_str() == scope)
    }
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    let discovered = app.discover()?;
    let registry = &discovered.registry;
    let mut entries: Vec<&Entry> =
        if options.all { registry.entries().iter().collect() } else { registry.callable().collect() };
    entries.retain(|entry| options.is_in_scope(entry));
    if !options.all {
        entries.retain(|entry| entry.admits(&app.caller));
    }
    entries.sort_by_key(|entry| (entry.slug.clone(), entry.absence().is_some()));
    app.report(registry)?;
    if app.printer.json {
        let list: Vec<Value> = entries.iter().map(|entry| registry.list_json(entry)).collect();
        app.printer.json(&Value::Array(list))?;
        return Ok(0);
    }
    if entries.is_empty() {
        app.printer.hint(
            "no agents; `posse list --all` shows what is hidden, `posse init` writes three to start from",
        )?;
    }
    app.printer.text(&table(app, &entries, options.all).render(stdout_width()))?;
    say_what_is_missing(app, registry, &entries, options)?;
    Ok(0)
}

fn scopes() -> PossibleValuesParser {
    PossibleValuesParser::new(Scope::ALL.iter().map(|scope| scope.as_str()))
}

fn table(app: &App, entries: &[&Entry], all: bool) -> Table {
    let mut heading = vec!["NAME", "SCOPE", "DIALECT", "MODEL", "TOOLS", "DESCRIPTION"];
    if all {
        heading.insert(1, "STATE");
    }
    let mut table = Table::new(&heading);
    for entry in entries {
        let plain = Style::new();
        let mut row = vec![
            (entry.slug.clone().unwrap_or_else(|| "-".into()), name_style(entry)),
            (entry.found.scope.as_str().to_owned(), plain),
            (entry.dialect().as_str().to_owned(), plain),
        ];
        if all {
            row.insert(1, state(entry));
        }
        match entry.definition() {
            Some(definition) => {
                let model = definition.model.as_ref().map_or("-", |model| &model.written);
                row.push((posse_core::text::one_line(model, 24), plain));
                row.push((tools(entry), plain));
                row.push((definition.description.clone().unwrap_or_default(), plain));
            }
            None => {
                let path = entry.found.path.as_deref().map(|path| app.printer.shown(path));
                let reason = entry
                    .problems
                    .iter()
                    .find(|problem| problem.is_error())
                    .map_or("", |problem| problem.message.as_str());
                row.extend([
                    ("-".into(), plain),
                    ("-".into(), plain),
                    (format!("{}: {reason}", path.unwrap_or_default()), RED),
                ]);
            }
        }
        table.row(row);
    }
    table
}

fn name_style(entry: &Entry) -> Style {
    match (entry.is_runnable(), entry.found.trusted) {
        (false, _) => RED,
        (true, false) => YELLOW,
        (true, true) => BOLD,
    }
}

fn state(entry: &Entry) -> (String, Style) {
    match (entry.absence(), entry.is_runnable(), entry.found.trusted) {
        (Some(Absence::Rejected), _, _) => ("rejected".into(), RED),
        (Some(absence), _, _) => (absence.as_str().into(), DIM),
        (None, false, _) => ("broken".into(), RED),
        (None, true, false) => ("untrusted".into(), YELLOW),
        (None, true, true) => ("ready".into(), CYAN),
    }
}

fn tools(entry: &Entry) -> String {
    const SHOWN_MAX: usize = 3;
    let Some(tools) = entry.definition().and_then(|definition| definition.tools.as_ref()) else {
        return "any".into();
    };
    let usable: Vec<&str> =
        tools.iter().filter(|tool| tool.class != ToolClass::Foreign).map(|tool| tool.name.as_str()).collect();
    match usable.len() {
        0 if !tools.is_empty() => "none here".into(),
        0 => "none".into(),
        count if count <= SHOWN_MAX => usable.join(" "),
        count => format!("{} +{}", usable[..SHOWN_MAX].join(" "), count - SHOWN_MAX),
    }
}

fn say_what_is_missing(
    app: &App,
    registry: &Registry,
    listed: &[&Entry],
    options: &Options,
) -> Result<(), CommandError> {
    let broken = listed.iter().filter(|entry| !entry.is_runnable() && entry.absence().is_none()).count();
    let untrusted = listed
        .iter()
        .filter(|entry| !entry.found.trusted && entry.is_runnable() && entry.absence().is_none())
        .count();
    let rejected = registry
        .entries()
        .iter()
        .filter(|entry| entry.definition().is_none() && options.is_in_scope(entry))
        .count();
    if untrusted > 0 {
        app.printer.hint(&styled(
            YELLOW,
            &format!(
                "{} not trusted yet; `posse trust` shows what that means and asks",
                are(untrusted, "agent")
            ),
        ))?;
    }
    if broken > 0 {
        app.printer
            .hint(&styled(RED, &format!("{} not runnable; `posse check` says why", are(broken, "agent"))))?;
    }
    if rejected > 0 && !options.all {
        app.printer.hint(&styled(
            RED,
            &format!(
                "{} rejected; `posse check` says why, `posse list --all` shows which",
                are(rejected, "definition")
            ),
        ))?;
    }
    Ok(())
}

/// "1 agent is", "2 agents are".
fn are(number: usize, noun: &str) -> String {
    format!("{} {}", count(number, noun), if number == 1 { "is" } else { "are" })
}
