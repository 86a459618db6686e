//! `posse show`: one definition, normalised.

use std::path::{Path, PathBuf};

use clap::builder::PossibleValuesParser;
use posse_core::definition::Dialect;
use posse_core::definition::read::{Reading, Verdict};
use posse_core::definition::write::to_markdown;
use posse_core::diagnostic::Diagnostic;
use posse_core::registry::{Entry, show_json};
use posse_runtime::discover::read_one;

use crate::app::App;
use crate::error::{CommandError, Kind};

/// Show one agent as a Posse Markdown file, whatever tool it was written for
///
/// What is wrong with it is said on stderr. An agent that loads but cannot run (an unknown tool) is shown
/// all the same; one that cannot be loaded is exit 3.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The agent's name, as written or as `list` prints it
    #[arg(required_unless_present = "file")]
    agent: Option<String>,
    /// Read this file, wherever it is
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// The dialect of the file; otherwise its path and its keys decide
    #[arg(long, value_name = "DIALECT", requires = "file", value_parser = dialects())]
    dialect: Option<String>,
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    match (&options.file, &options.agent) {
        (Some(file), name) => {
            let dialect = options.dialect.as_deref().and_then(Dialect::parse);
            show_file(app, file, dialect, name.as_deref())
        }
        (None, Some(name)) => {
            let discovered = app.discover()?;
            show_entry(app, find(&discovered.registry, name)?)
        }
        (None, None) => Err(CommandError::new(Kind::Usage, "name an agent or a file")),
    }
}

/// The entry of that name, or the failure that says which name was meant.
pub fn find<'a>(registry: &'a posse_core::registry::Registry, name: &str) -> Result<&'a Entry, CommandError> {
    registry.find(name).ok_or_else(|| {
        let help = match registry.suggest(name) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => "`posse list --all` shows every agent there is".to_owned(),
        };
        CommandError::new(Kind::Definition, format!("there is no agent `{name}`")).with_help(help)
    })
}

fn show_entry(app: &App, entry: &Entry) -> Result<u8, CommandError> {
    let (Some(definition), Some(json)) = (entry.definition(), entry.show_json()) else {
        let name = entry.slug.as_deref().unwrap_or_default();
        let error = CommandError::new(Kind::Definition, format!("the definition of `{name}` cannot be used"));
        return Err(error
            .with_help("correct the file; another agent of that name is not taken instead")
            .with_problems(entry.problems.clone()));
    };
    print(app, &to_markdown(definition), &json, &entry.problems)
}

fn show_file(
    app: &App,
    file: &Path,
    dialect: Option<Dialect>,
    name: Option<&str>,
) -> Result<u8, CommandError> {
    let path = app.places.cwd.join(file);
    let shown = file.display().to_string();
    let mut readings = read_one(&path, dialect)
        .map_err(|problem| CommandError::new(Kind::Definition, format!("{shown}: {}", problem.message)))?;
    // As it was given, where that leads to the file from here.
    let here = std::env::current_dir().is_ok_and(|current| current == app.places.cwd);
    for diagnostic in readings.iter_mut().flat_map(|reading| &mut reading.diagnostics).filter(|_| here) {
        diagnostic.path = Some(shown.clone());
    }
    let reading = choose(&readings, name, &shown)?;
    match &reading.verdict {
        Verdict::Agent(definition) => {
            let json = show_json(definition, Some(&shown), &reading.diagnostics);
            print(app, &to_markdown(definition), &json.into(), &reading.diagnostics)
        }
        Verdict::Rejected => {
            let error = CommandError::new(Kind::Definition, format!("{shown} cannot be used"));
            Err(error.with_problems(reading.diagnostics.clone()))
        }
        Verdict::NotAnAgent(reason) => {
            let message = format!("{shown} is not an agent: {reason}");
            Err(CommandError::new(Kind::Definition, message).with_problems(reading.diagnostics.clone()))
        }
    }
}

/// The one reading that was asked for, of a file that may hold several.
fn choose<'a>(readings: &'a [Reading], name: Option<&str>, path: &str) -> Result<&'a Reading, CommandError> {
    let names: Vec<&str> = readings.iter().filter_map(|reading| reading.name.as_deref()).collect();
    match (readings, name) {
        ([only], None) => Ok(only),
        ([], _) => Err(CommandError::new(Kind::Definition, format!("{path} holds no agent"))),
        (_, None) => {
            let message = format!("{path} holds {} agents", readings.len());
            Err(CommandError::new(Kind::Usage, message)
                .with_help(format!("name one of {}", names.join(", "))))
        }
        (readings, Some(wanted)) => {
            let slug = posse_core::definition::slug(wanted);
            let found = readings.iter().find(|reading| {
                reading.name.as_deref().is_some_and(|name| posse_core::definition::slug(name) == slug)
            });
            found.ok_or_else(|| {
                CommandError::new(Kind::Definition, format!("{path} holds no agent `{wanted}`"))
                    .with_help(format!("it holds {}", names.join(", ")))
            })
        }
    }
}

fn print(
    app: &App,
    markdown: &str,
    json: &serde_json::Value,
    problems: &[Diagnostic],
) -> Result<u8, CommandError> {
    if app.printer.json {
        app.printer.json(json)?;
        return Ok(0);
    }
    app.printer.diagnostics(problems)?;
    app.printer.file(markdown)?;
    Ok(0)
}

fn dialects() -> PossibleValuesParser {
    PossibleValuesParser::new(Dialect::ALL.iter().map(|dialect| dialect.as_str()))
}
