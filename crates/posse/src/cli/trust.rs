//! `posse trust`: which files of a project a person has looked at and agrees to.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use posse_core::definition::{Permissions, ToolName};
use posse_core::diagnostic::{Code, Diagnostic};
use posse_core::registry::{Entry, Registry};
use posse_core::text::visible_line;
use posse_runtime::Trust;
use posse_runtime::trust::{Item, Standing};
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::Global;
use crate::error::{CommandError, Kind};
use crate::print::{BOLD, DIM, GREEN, Level, Printer, YELLOW, count, styled};

/// Agree to a project's agents and configuration as they are now
///
/// Files of a project count only after this, and a file that changes must be agreed to again.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The project [default: the working directory]
    dir: Option<PathBuf>,
    /// Agree without being asked
    #[arg(long, short)]
    yes: bool,
    /// List what is trusted, and what has changed since
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    list: bool,
    /// Take back the trust in everything of the project
    #[arg(long, conflicts_with = "yes")]
    revoke: bool,
}

pub fn run(app: &App, global: &Global, options: &Options) -> Result<u8, CommandError> {
    let app = &app.in_directory(options.dir.as_deref().unwrap_or(Path::new(".")), global)?;
    if options.revoke {
        return revoke(app);
    }
    let discovered = app.discover_anyway()?;
    let items: Vec<Item> = discovered.items.into_iter().chain(app.config.project_items.clone()).collect();
    if options.list {
        return list(app, &items);
    }
    let any = !items.is_empty();
    let open: Vec<Item> = items.into_iter().filter(|item| !app.trust.holds(item)).collect();
    if open.is_empty() {
        let text = if any {
            "everything of this project is trusted"
        } else {
            "this project has nothing that needs trust"
        };
        return finish(app, &[], text);
    }
    let of_project = app
        .config
        .problems
        .iter()
        .chain(app.config.untrusted.iter().flat_map(|(_, config)| &config.problems));
    let is_of_project = |problem: &&Diagnostic| {
        problem.is_error() && problem.path.as_deref().is_some_and(|path| path.ends_with(".posse/config.toml"))
    };
    let broken: Vec<Diagnostic> = of_project.filter(is_of_project).cloned().collect();
    if !broken.is_empty() {
        let error = CommandError::new(
            Kind::Definition,
            "the project's configuration has errors; nothing was trusted",
        );
        return Err(error
            .with_help("correct it first: once trusted, it would stop every command here")
            .with_problems(broken));
    }
    if !options.yes {
        describe(app, &discovered.registry, &open)?;
        ask(&open)?;
    }
    Trust::record(app.state()?, &open)?;
    finish(app, &open, &format!("trusted {}", as_now(open.len())))
}

fn revoke(app: &App) -> Result<u8, CommandError> {
    let root = app.places.project_root().to_owned();
    let forgotten = Trust::revoke(app.state()?, &root)?;
    if app.printer.json {
        app.printer.json(&json!({"revoked": forgotten}))?;
    } else {
        app.printer.text(&format!(
            "revoked the trust in {} below {}\n",
            count(forgotten, "file"),
            visible_line(&root.display().to_string())
        ))?;
    }
    Ok(0)
}

fn list(app: &App, items: &[Item]) -> Result<u8, CommandError> {
    let root = app.places.project_root();
    let state = |item: &Item| match app.trust.standing(item) {
        Standing::Trusted => "trusted",
        Standing::Changed => "changed",
        Standing::New => "new",
    };
    let mut rows: Vec<(&str, &str)> = items.iter().map(|item| (item.key.as_str(), state(item))).collect();
    let recorded = app.trust.below(root);
    rows.extend(
        recorded
            .into_iter()
            .filter(|key| !items.iter().any(|item| item.key == *key))
            .map(|key| (key, "gone")),
    );
    if app.printer.json {
        let rows: Vec<Value> =
            rows.iter().map(|(path, state)| json!({"path": path, "state": state})).collect();
        app.printer.json(&Value::Array(rows))?;
        return Ok(0);
    }
    let mut text = String::new();
    for (path, state) in rows {
        let style = match state {
            "trusted" => GREEN,
            "gone" => DIM,
            _ => YELLOW,
        };
        text += &format!("{}  {}\n", styled(style, &format!("{state:<7}")), app.printer.shown(path));
    }
    if text.is_empty() {
        text = format!("nothing of {} needs trust\n", visible_line(&root.display().to_string()));
    }
    app.printer.text(&text)?;
    Ok(0)
}

/// Shows what is to be agreed to: what each agent may do, what the configuration sets, and anything hidden.
fn describe(app: &App, registry: &Registry, open: &[Item]) -> Result<(), CommandError> {
    let mut text = String::from("This project asks you to trust:\n");
    for item in open {
        let outdated = app.trust.standing(item) == Standing::Changed;
        let mark = if outdated { styled(YELLOW, " (changed since you trusted it)") } else { String::new() };
        text += &format!("  {}{mark}\n", styled(BOLD, &app.printer.shown(&item.key)));
        let entries = registry.entries().iter().filter(|entry| is_of(entry, item));
        for line in entries.flat_map(entry_lines) {
            text += &format!("      {}\n", visible_line(&line));
        }
        let config = app.config.untrusted.iter().filter(|(of, _)| of == item);
        for (key, setting) in config.flat_map(|(_, config)| config.settings()) {
            text += &format!(
                "      sets {} to {}\n",
                visible_line(key),
                visible_line(&setting.value.to_string())
            );
        }
    }
    app.printer.say(text.trim_end())?;
    Ok(())
}

fn is_of(entry: &Entry, item: &Item) -> bool {
    let path = entry.found.path.as_deref().unwrap_or_default();
    let name = entry.found.reading.name.as_deref().unwrap_or_default();
    item.key == path || (entry.found.reading.entry.is_some() && item.key == format!("{path}#{name}"))
}

/// What an agent may do, a line for each kind of thing, none of them cut.
fn entry_lines(entry: &Entry) -> Vec<String> {
    let Some(definition) = entry.definition() else { return Vec::new() };
    let names =
        |tools: &[ToolName]| tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" ");
    let mut lines = vec![match &definition.tools {
        None => "any tool".to_owned(),
        Some(tools) if tools.is_empty() => "no tools".to_owned(),
        Some(tools) => names(tools),
    }];
    lines.extend(definition.disallowed_tools.as_deref().map(|tools| format!("but not {}", names(tools))));
    lines.extend(definition.permission_mode.map(|mode| format!("mode {}", mode.as_str())));
    lines.extend(definition.permissions.iter().flat_map(rules));
    lines.extend(definition.hooks.as_ref().map(|hooks| format!("hooks {hooks}")));
    let servers = definition.mcp_servers.iter().flatten();
    lines.extend(servers.map(|(name, settings)| format!("MCP server {name} {settings}")));
    lines.extend(definition.engine.as_ref().map(|engine| format!("engine {engine}")));
    lines.extend(definition.env.as_ref().map(|env| format!("variables {env}")));
    let hidden = entry.problems.iter().filter(|problem| problem.code == Code::HiddenCharacter);
    lines.extend(hidden.map(|problem| format!("careful: {}", problem.message)));
    lines
}

/// The rules by what they decide, what holds otherwise included.
fn rules(permissions: &Permissions) -> Vec<String> {
    let otherwise: Vec<String> =
        permissions.otherwise.iter().map(|(tool, action)| format!("{tool} {action}")).collect();
    [
        ("allows", &permissions.allow),
        ("asks", &permissions.ask),
        ("denies", &permissions.deny),
        ("otherwise", &otherwise),
    ]
    .iter()
    .filter(|(_, rules)| !rules.is_empty())
    .map(|(word, rules)| format!("{word} {}", rules.join(", ")))
    .collect()
}

/// Asks at a terminal; nobody there is a no.
fn ask(open: &[Item]) -> Result<(), CommandError> {
    let refused = CommandError::new(Kind::Refused, "nothing was trusted");
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(
            refused.with_help("run it at a terminal, or with --yes once you have looked at the files")
        );
    }
    let printer = Printer { level: Level::Normal, json: false, places: None };
    printer.say(&format!("Trust {}? [y/N]", as_now(open.len())))?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    if matches!(answer.trim().to_lowercase().as_str(), "y" | "yes") { Ok(()) } else { Err(refused) }
}

fn finish(app: &App, trusted: &[Item], text: &str) -> Result<u8, CommandError> {
    if app.printer.json {
        let paths: Vec<&str> = trusted.iter().map(|item| item.key.as_str()).collect();
        app.printer.json(&json!({"trusted": paths}))?;
    } else {
        app.printer.text(&format!("{text}\n"))?;
    }
    Ok(0)
}

fn as_now(files: usize) -> String {
    format!("{} as {} now", count(files, "file"), if files == 1 { "it is" } else { "they are" })
}
