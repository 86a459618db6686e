//! `posse trust`: which files of a project a person has looked at and agrees to.

use std::io::{BufRead, IsTerminal};
use std::path::{Path, PathBuf};

use posse_core::definition::{Definition, Permissions};
use posse_core::registry::Registry;
use posse_core::text::{one_line, visible};
use posse_runtime::Trust;
use posse_runtime::trust::Item;
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::Global;
use crate::error::{CommandError, Kind};
use crate::print::{BOLD, DIM, GREEN, YELLOW, styled};

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
    let items: Vec<Item> = discovered.items.into_iter().chain(app.config.project_item.clone()).collect();
    if options.list {
        return list(app, &items);
    }
    let open: Vec<Item> = items.into_iter().filter(|item| !app.trust.holds(item)).collect();
    if open.is_empty() {
        return finish(app, &[], "nothing new: everything of this project is trusted, or there is nothing");
    }
    if !options.yes {
        describe(app, &discovered.registry, &open)?;
        if !agreed(&open)? {
            let error = CommandError::new(Kind::Refused, "nothing was trusted");
            return Err(error.with_help(
                "run `posse trust` at a terminal, or `posse trust --yes` once you have looked at the files",
            ));
        }
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
            plural(forgotten),
            root.display()
        ))?;
    }
    Ok(0)
}

fn list(app: &App, items: &[Item]) -> Result<u8, CommandError> {
    let root = app.places.project_root();
    let state = |item: &Item| match (app.trust.holds(item), app.trust.is_outdated(item)) {
        (true, _) => "trusted",
        (false, true) => "changed",
        (false, false) => "new",
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
        text +=
            &format!("{}  {}\n", styled(style, &format!("{state:<7}")), visible(&app.printer.shown(path)));
    }
    if text.is_empty() {
        text = format!("nothing of {} needs trust\n", root.display());
    }
    app.printer.text(&text)?;
    Ok(0)
}

/// Shows what is to be agreed to: what each agent may do, and anything hidden in it.
fn describe(app: &App, registry: &Registry, open: &[Item]) -> Result<(), CommandError> {
    let mut text = String::from("This project asks you to trust:\n");
    for item in open {
        let mark = if app.trust.is_outdated(item) {
            styled(YELLOW, " (changed since you trusted it)")
        } else {
            String::new()
        };
        text += &format!("  {}{mark}\n", styled(BOLD, &visible(&app.printer.shown(&item.key))));
        let path = item.key.split('#').next().unwrap_or_default();
        let entries = registry.entries().iter().filter(|entry| entry.found.path.as_deref() == Some(path));
        for entry in entries.filter(|entry| {
            !item.key.contains('#')
                || item
                    .key
                    .ends_with(&format!("#{}", entry.found.reading.name.as_deref().unwrap_or_default()))
        }) {
            if let Some(definition) = entry.definition() {
                text += &format!("      {}\n", visible(&grants(definition)));
            }
            for problem in entry
                .problems
                .iter()
                .filter(|problem| problem.code == posse_core::diagnostic::Code::HiddenCharacter)
            {
                text += &format!("      {}\n", styled(YELLOW, &visible(&problem.message)));
            }
        }
    }
    app.printer.hint(text.trim_end())?;
    Ok(())
}

/// What an agent may do, in one line.
fn grants(definition: &Definition) -> String {
    let tools = match &definition.tools {
        None => "any tool".to_owned(),
        Some(tools) if tools.is_empty() => "no tools".to_owned(),
        Some(tools) => tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().join(" "),
    };
    let mut parts = vec![tools];
    parts.extend(definition.permission_mode.map(|mode| format!("mode {}", mode.as_str())));
    parts.extend(definition.permissions.as_ref().map(rules));
    parts.extend(definition.hooks.as_ref().map(|_| "hooks".to_owned()));
    parts.extend(
        definition
            .mcp_servers
            .as_ref()
            .map(|servers| format!("MCP servers {}", servers.keys().cloned().collect::<Vec<_>>().join(", "))),
    );
    one_line(&parts.join(" · "), 200)
}

/// The rules by what they decide, what holds otherwise included.
fn rules(permissions: &Permissions) -> String {
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
    .collect::<Vec<_>>()
    .join(" · ")
}

/// Asks at a terminal; nobody there is a no.
fn agreed(open: &[Item]) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    let printer = crate::print::Printer { level: crate::print::Level::Normal, json: false, places: None };
    printer.say(&format!("Trust {}? [y/N]", as_now(open.len())))?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
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

fn as_now(count: usize) -> String {
    if count == 1 { "1 file as it is now".into() } else { format!("{count} files as they are now") }
}

fn plural(count: usize) -> String {
    if count == 1 { "1 file".into() } else { format!("{count} files") }
}
