//! `posse check`: what is wrong with definitions, the way a compiler says it.

mod fix;

use std::collections::HashSet;
use std::path::PathBuf;

use posse_core::definition::Scope;
use posse_core::diagnostic::{Code, Diagnostic, Severity};
use posse_core::registry::Registry;
use posse_core::text::closest;
use posse_runtime::discover::{Checked, read_paths};
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{CommandError, Kind};
use crate::print::{BOLD, GREEN, Level, Printer, RED, YELLOW, count, styled};

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
        checked = fix_all(app, options, checked)?;
    }
    let diagnostics = collect(app, &checked.registry, options);
    let counts = Counts::new(&checked, &diagnostics);
    if app.printer.json {
        app.printer.json(&to_json(&checked.registry, &diagnostics, &counts))?;
    } else {
        print(app, &checked, &diagnostics)?;
        summarise(app, &counts, options)?;
    }
    let failed = counts.errors > 0 || (options.strict && counts.warnings > 0);
    Ok(if failed { Kind::Definition.code() } else { 0 })
}

/// Fixes until nothing more can be: mending a fence may show what is broken inside it.
fn fix_all(app: &App, options: &Options, mut checked: Checked) -> Result<Checked, CommandError> {
    const ROUNDS_MAX: usize = 4;
    for round in 1..=ROUNDS_MAX {
        let fixed = fix::apply(&checked.registry)?;
        for path in &fixed.mended {
            app.printer.hint(&format!("{} {}", styled(GREEN, "fixed"), app.printer.shown(path)))?;
        }
        for (path, reason) in fixed.left.iter().filter(|_| round == 1) {
            app.printer.hint(&format!("{} {}: {reason}", styled(YELLOW, "left"), app.printer.shown(path)))?;
        }
        if fixed.mended.is_empty() {
            break;
        }
        checked = read(app, options)?;
    }
    Ok(checked)
}

/// What there is of everything.
struct Counts {
    files: usize,
    agents: usize,
    rejected: usize,
    not_agents: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    fixable: usize,
}

impl Counts {
    fn new(checked: &Checked, diagnostics: &[Diagnostic]) -> Counts {
        let registry = &checked.registry;
        let of = |severity: Severity| diagnostics.iter().filter(|one| one.severity == severity).count();
        // What is part of the program is not what was asked about.
        let own = registry.entries().iter().filter(|entry| entry.found.scope != Scope::Builtin);
        let (agents, rejected): (Vec<_>, Vec<_>) = own.partition(|entry| entry.definition().is_some());
        Counts {
            files: checked.files,
            agents: agents.len(),
            rejected: rejected.len(),
            not_agents: registry.not_agents.len(),
            errors: of(Severity::Error),
            warnings: of(Severity::Warning),
            notes: diagnostics
                .iter()
                .filter(|one| one.severity == Severity::Info && one.help.is_none())
                .count(),
            fixable: agents
                .iter()
                .flat_map(|entry| &entry.problems)
                .filter(|problem| !problem.fixes.is_empty())
                .count(),
        }
    }
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
        return Ok(Checked { registry, files, named: HashSet::new() });
    }
    let mut paths = Vec::new();
    for path in &options.paths {
        let full = app.places.cwd.join(path);
        if full.symlink_metadata().is_err() {
            return Err(CommandError::new(Kind::Usage, format!("{} is not there", path.display())));
        }
        // Paths stay as they were given, so that what is printed can be clicked and compared.
        let given_works = std::env::current_dir().is_ok_and(|current| current == app.places.cwd);
        paths.push(if given_works { path.clone() } else { full.components().collect() });
    }
    Ok(read_paths(&paths))
}

/// Everything that was noticed, file by file.
fn collect(app: &App, registry: &Registry, options: &Options) -> Vec<Diagnostic> {
    let mut diagnostics: Vec<Diagnostic> = Vec::new();
    if options.paths.is_empty() {
        diagnostics.extend(app.config.problems.iter().cloned());
        diagnostics.extend(app.config.untrusted.iter().flat_map(|(_, config)| config.problems.clone()));
    }
    diagnostics.extend(registry.problems.iter().cloned());
    diagnostics.extend(registry.entries().iter().flat_map(|entry| &entry.problems).cloned());
    diagnostics.sort_by(|a, b| (&a.path, a.place).cmp(&(&b.path, b.place)));
    diagnostics
}

fn to_json(registry: &Registry, diagnostics: &[Diagnostic], counts: &Counts) -> Value {
    let skipped = registry.not_agents.iter().map(|(path, reason)| json!({"path": path, "reason": reason}));
    json!({
        "files": counts.files,
        "agents": counts.agents,
        "not_agents": counts.not_agents,
        "rejected": counts.rejected,
        "errors": counts.errors,
        "warnings": counts.warnings,
        "diagnostics": diagnostics.iter().map(Diagnostic::to_json).collect::<Vec<_>>(),
        "not_agent_files": skipped.collect::<Vec<_>>(),
    })
}

fn print(app: &App, checked: &Checked, diagnostics: &[Diagnostic]) -> Result<(), CommandError> {
    app.printer.diagnostics(diagnostics)?;
    for (path, reason) in &checked.registry.not_agents {
        // A file that was named is answered; of a directory's only the number is said.
        let say = if checked.named.contains(path) { Printer::hint } else { Printer::detail };
        say(&app.printer, &format!("{}: not an agent: {reason}", app.printer.shown(path)))?;
    }
    Ok(())
}

fn summarise(app: &App, counts: &Counts, options: &Options) -> Result<(), CommandError> {
    let coloured = |number: usize, noun: &str, style| {
        let text = count(number, noun);
        if number > 0 { styled(style, &text) } else { text }
    };
    let mut parts =
        vec![format!("{} read", count(counts.files, "file")), styled(BOLD, &count(counts.agents, "agent"))];
    if counts.rejected > 0 {
        parts.push(styled(RED, &format!("{} rejected", counts.rejected)));
    }
    if counts.not_agents > 0 {
        let noun = if counts.not_agents == 1 { "an agent" } else { "agents" };
        parts.push(format!("{} not {noun}", counts.not_agents));
    }
    parts.push(coloured(counts.errors, "error", RED));
    parts.push(coloured(counts.warnings, "warning", YELLOW));
    app.printer.text(&format!("{}\n", parts.join(", ")))?;
    if counts.fixable > 0 && !options.fix {
        app.printer
            .hint(&format!("{} can be mended with `posse check --fix`", count(counts.fixable, "problem")))?;
    }
    if counts.notes > 0 && app.printer.level < Level::Verbose {
        app.printer.hint(&format!("{} not shown; see them with -v", count(counts.notes, "note")))?;
    }
    Ok(())
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
