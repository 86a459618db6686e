//! `posse check`: what is wrong with definitions, the way a compiler says it.

mod fix;

use std::collections::BTreeMap;
use std::path::PathBuf;

use posse_core::definition::source::Source;
use posse_core::diagnostic::{Code, Diagnostic, Severity};
use posse_core::registry::Registry;
use posse_core::text::closest;
use posse_runtime::discover::{Checked, read_paths};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{CommandError, Kind};
use crate::print::{BOLD, GREEN, Level, RED, YELLOW, styled};

/// Check definitions like source code
///
/// A directory is walked whole, hidden directories too. Without a path, every place that `list` reads is
/// checked, and the configuration. Exit 3 if anything is an error.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Files and directories to check
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Fail on warnings too
    #[arg(long)]
    strict: bool,
    /// Rewrite what can be mended without a decision, keeping every other byte
    #[arg(long)]
    fix: bool,
    /// Explain a code such as `unknown-tool`
    #[arg(long, value_name = "CODE")]
    explain: Option<String>,
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    if let Some(code) = &options.explain {
        return explain(app, code);
    }
    let mut checked = read(app, options)?;
    if options.fix {
        let fixed = fix::apply(&checked.registry)?;
        for path in &fixed {
            app.printer.hint(&format!("{} {path}", styled(GREEN, "fixed")))?;
        }
        if !fixed.is_empty() {
            checked = read(app, options)?;
        }
    }
    let diagnostics = collect(app, &checked.registry, options);
    let count =
        |severity: Severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let failed = errors > 0 || (options.strict && warnings > 0);
    if app.printer.json {
        app.printer.json(&to_json(&checked, &diagnostics, (errors, warnings)))?;
    } else {
        print(app, &checked, &diagnostics, options)?;
    }
    Ok(if failed { Kind::Definition.code() } else { 0 })
}

fn read(app: &App, options: &Options) -> Result<Checked, CommandError> {
    if options.paths.is_empty() {
        let registry = app.discover_anyway()?.registry;
        let mut paths: Vec<&String> =
            registry.entries().iter().filter_map(|entry| entry.found.path.as_ref()).collect();
        paths.extend(registry.not_agents.iter().map(|(path, _)| path));
        paths.sort();
        paths.dedup();
        let files = paths.len();
        return Ok(Checked { registry, files });
    }
    let mut paths = Vec::new();
    for path in &options.paths {
        let full = app.places.cwd.join(path);
        if full.symlink_metadata().is_err() {
            return Err(CommandError::new(Kind::Usage, format!("{} is not there", path.display())));
        }
        // Paths stay as they were given, so that what is printed can be clicked and compared.
        let given_works = std::env::current_dir().is_ok_and(|current| current == app.places.cwd);
        paths.push(if given_works { path.clone() } else { full });
    }
    Ok(read_paths(&paths))
}

/// Everything that was noticed, file by file.
fn collect(app: &App, registry: &Registry, options: &Options) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    if options.paths.is_empty() {
        diagnostics.extend(app.config.problems.iter().cloned());
    }
    diagnostics.extend(registry.problems.iter().cloned());
    diagnostics.extend(registry.entries().iter().flat_map(|entry| &entry.problems).cloned());
    diagnostics.sort_by(|a, b| (&a.path, a.place).cmp(&(&b.path, b.place)));
    diagnostics
}

fn to_json(checked: &Checked, diagnostics: &[Diagnostic], (errors, warnings): (usize, usize)) -> Value {
    let registry = &checked.registry;
    let agents = registry.entries().iter().filter(|entry| entry.definition().is_some()).count();
    let skipped: Vec<Value> =
        registry.not_agents.iter().map(|(path, reason)| json!({"path": path, "reason": reason})).collect();
    json!({
        "files": checked.files,
        "agents": agents,
        "not_agents": registry.not_agents.len(),
        "rejected": registry.entries().len() - agents,
        "errors": errors,
        "warnings": warnings,
        "diagnostics": diagnostics.iter().map(Diagnostic::to_json).collect::<Vec<_>>(),
        "not_agent_files": skipped,
    })
}

fn print(
    app: &App,
    checked: &Checked,
    diagnostics: &[Diagnostic],
    options: &Options,
) -> Result<(), CommandError> {
    let mut sources: BTreeMap<&str, Option<String>> = BTreeMap::new();
    for diagnostic in diagnostics {
        let path = diagnostic.path.as_deref().unwrap_or_default();
        let source = sources.entry(path).or_insert_with(|| source_of(diagnostic));
        let shown = if options.paths.is_empty() { app.shown(diagnostic) } else { diagnostic.clone() };
        app.printer.diagnostic(&shown, source.as_deref())?;
    }
    let registry = &checked.registry;
    for (path, reason) in &registry.not_agents {
        app.printer.detail(&format!("{path}: not an agent: {reason}"))?;
    }
    let agents = registry.entries().iter().filter(|entry| entry.definition().is_some()).count();
    let rejected = registry.entries().len() - agents;
    let count =
        |severity: Severity| diagnostics.iter().filter(|diagnostic| diagnostic.severity == severity).count();
    let notes = count(Severity::Info);
    let mut parts =
        vec![format!("{} read", plural(checked.files, "file")), styled(BOLD, &plural(agents, "agent"))];
    if rejected > 0 {
        parts.push(styled(RED, &format!("{rejected} rejected")));
    }
    if !registry.not_agents.is_empty() {
        parts.push(format!("{} not an agent", registry.not_agents.len()));
    }
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    parts.push(if errors > 0 { styled(RED, &plural(errors, "error")) } else { plural(errors, "error") });
    parts.push(if warnings > 0 {
        styled(YELLOW, &plural(warnings, "warning"))
    } else {
        plural(warnings, "warning")
    });
    app.printer.text(&format!("{}\n", parts.join(", ")))?;
    let fixable = diagnostics.iter().filter(|diagnostic| diagnostic.fix.is_some()).count();
    if fixable > 0 && !options.fix {
        app.printer
            .hint(&format!("{} can be mended with `posse check --fix`", plural(fixable, "problem")))?;
    }
    if notes > 0 && app.printer.level < Level::Verbose {
        app.printer.hint(&format!("{} not shown; -v shows them", plural(notes, "note")))?;
    }
    Ok(())
}

fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// The text of the file a diagnostic points into, as it was read.
pub fn source_of(diagnostic: &Diagnostic) -> Option<String> {
    diagnostic.place?;
    let bytes = std::fs::read(diagnostic.path.as_deref()?).ok()?;
    Source::decode(bytes).ok().map(|source| source.text().to_owned())
}

fn explain(app: &App, name: &str) -> Result<u8, CommandError> {
    let Some(code) = Code::parse(name) else {
        let names = Code::ALL.iter().map(|code| code.as_str());
        let help = match closest(name, names.clone()) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("one of {}", names.collect::<Vec<_>>().join(", ")),
        };
        return Err(CommandError::new(Kind::Usage, format!("unknown code `{name}`")).with_help(help));
    };
    let severity = code.severity().as_str();
    if app.printer.json {
        app.printer
            .json(&json!({"code": code.as_str(), "severity": severity, "explanation": code.explanation()}))?;
    } else {
        app.printer.text(&format!(
            "{} ({severity})\n\n{}\n",
            styled(BOLD, code.as_str()),
            code.explanation()
        ))?;
    }
    Ok(0)
}
