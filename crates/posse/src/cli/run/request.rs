//! What a person asks of an agent, and whether that agent may be asked at all.

use std::io::{IsTerminal, Read};

use clap::builder::PossibleValuesParser;
use posse_core::definition::field::Unit;
use posse_core::definition::value::duration_text_ms;
use posse_core::definition::{PermissionMode, Visibility};
use posse_core::plan::{Refusal, RefusalKind, Request};
use posse_core::registry::{Entry, Registry};

use crate::app::App;
use crate::error::{CommandError, Kind};

/// Options of `run` and `plan`.
#[derive(Debug, clap::Args)]
pub struct Asking {
    /// The agent's name, as written or as `list` prints it
    pub agent: String,
    /// What it is to do; `-`, or nothing with a pipe on stdin, reads stdin
    task: Option<String>,
    /// What it should know besides, as text or @FILE
    #[arg(long, value_name = "TEXT|@FILE")]
    context: Option<String>,
    /// Ask this model: `provider/model`, an identifier, an alias or a tier
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Carry it out with this engine
    #[arg(long, value_name = "ENGINE")]
    engine: Option<String>,
    /// Give it so much time, such as 90s or 5m
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    timeout: Option<u64>,
    /// Give it so many turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_turns: Option<u64>,
    /// Let it spend so many US dollars
    #[arg(long, value_name = "USD", value_parser = dollars)]
    budget_usd: Option<f64>,
    /// How it treats what no rule decides
    #[arg(long, value_name = "MODE", value_parser = modes())]
    permission_mode: Option<String>,
}

const MODES: &[PermissionMode] = &[
    PermissionMode::Default,
    PermissionMode::AcceptEdits,
    PermissionMode::DontAsk,
    PermissionMode::BypassPermissions,
    PermissionMode::Plan,
];

fn modes() -> PossibleValuesParser {
    PossibleValuesParser::new(MODES.iter().map(|mode| mode.as_str()))
}

fn duration(text: &str) -> Result<u64, String> {
    duration_text_ms(text, Unit::Seconds)
        .filter(|ms| *ms > 0)
        .ok_or_else(|| "write a duration such as 500ms, 90s, 5m or 1h".to_owned())
}

fn dollars(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| "write an amount of dollars above zero, such as 0.50".to_owned())
}

impl Asking {
    /// The request, with what it is to be read from.
    pub fn read(&self, app: &App) -> Result<Request, CommandError> {
        let task = match self.task.as_deref() {
            Some("-") => stdin()?,
            Some(task) => task.to_owned(),
            None if !std::io::stdin().is_terminal() => stdin()?,
            None => String::new(),
        };
        if task.trim().is_empty() {
            return Err(CommandError::new(Kind::Usage, "there is no task")
                .with_help(format!("posse run {} \"what it is to do\"", self.agent)));
        }
        self.request(app, task)
    }

    /// The request for a task that may be missing.
    pub fn read_or_empty(&self, app: &App) -> Result<Request, CommandError> {
        let task = match self.task.as_deref() {
            Some("-") => stdin()?,
            task => task.unwrap_or_default().to_owned(),
        };
        self.request(app, task)
    }

    fn request(&self, app: &App, task: String) -> Result<Request, CommandError> {
        let mode = self.permission_mode.as_deref();
        Ok(Request {
            task,
            context: self.context.as_deref().map(|context| context_text(app, context)).transpose()?,
            caller: app.caller.clone(),
            model: self.model.clone(),
            engine: self.engine.clone(),
            timeout_ms: self.timeout,
            turns: self.max_turns,
            budget_usd: self.budget_usd,
            permission_mode: mode.and_then(|mode| MODES.iter().copied().find(|known| known.as_str() == mode)),
            ..Request::default()
        })
    }
}

fn context_text(app: &App, context: &str) -> Result<String, CommandError> {
    let Some(file) = context.strip_prefix('@') else { return Ok(context.to_owned()) };
    std::fs::read_to_string(app.places.cwd.join(file))
        .map_err(|error| CommandError::new(Kind::Usage, format!("--context: {file}: {error}")))
}

fn stdin() -> Result<String, CommandError> {
    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .map_err(|error| CommandError::new(Kind::Usage, format!("the task on stdin: {error}")))?;
    Ok(text.trim_end_matches('\n').to_owned())
}

/// The agent of that name, if it is fit to run and this caller may ask it.
pub fn admitted<'a>(app: &App, registry: &'a Registry, name: &str) -> Result<&'a Entry, CommandError> {
    let entry = crate::cli::show::find(registry, name)?;
    let slug = entry.slug.clone().unwrap_or_default();
    let Some(definition) = entry.definition() else {
        return Err(CommandError::new(
            Kind::Definition,
            format!("the definition of `{slug}` cannot be used"),
        )
        .with_help("correct the file; another agent of that name is not taken instead")
        .with_problems(entry.problems.clone()));
    };
    if !entry.found.trusted {
        let path = entry.found.path.as_deref().map(|path| app.printer.shown(path)).unwrap_or_default();
        return Err(CommandError::new(Kind::Refused, format!("`{slug}` ({path}) is not trusted"))
            .with_help("look at it, then run `posse trust`"));
    }
    if definition.enabled == Some(false) {
        return Err(CommandError::new(Kind::Definition, format!("`{slug}` is switched off"))
            .with_help("remove `enabled: false` from its definition"));
    }
    if !entry.is_runnable() {
        return Err(CommandError::new(Kind::Definition, format!("`{slug}` has errors and does not run"))
            .with_help("correct the file as its lines say")
            .with_problems(entry.problems.iter().filter(|problem| problem.is_error()).cloned().collect()));
    }
    let is_hidden = definition.visibility == Some(Visibility::Internal) && app.caller != "cli";
    if is_hidden || !entry.admits(&app.caller) {
        return Err(CommandError::new(
            Kind::Refused,
            format!("`{slug}` does not admit the caller `{}`", app.caller),
        )
        .with_help("its `callers` say who may start it"));
    }
    Ok(entry)
}

/// How a refusal to plan is told.
pub fn refused(refusal: &Refusal) -> CommandError {
    let kind = match refusal.kind {
        RefusalKind::Unplannable | RefusalKind::LookForServers => Kind::Definition,
        RefusalKind::Unavailable => Kind::Refused,
    };
    let error = CommandError::new(kind, refusal.message.clone());
    match &refusal.help {
        Some(help) => error.with_help(help.clone()),
        None => error,
    }
}
