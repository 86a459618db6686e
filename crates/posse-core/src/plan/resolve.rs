//! From a definition, a request and what is configured to a plan, or to why there is none.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::rules;
use super::system::{self, ContextFile};
use super::tools;
use super::{Choice, DefinitionSource, Limits, OutputContract, Plan};
use crate::definition::field::Field;
use crate::definition::{Definition, PermissionMode, Scope};
use crate::grant::Ceiling;
use crate::id::RunId;
use crate::message::Message;
use crate::model::{ModelChoice, ModelWorld, Wanted, choose_model};
use crate::output::schema_problem;

/// What a caller asks.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    /// What is to be done.
    pub task: String,
    /// What the caller adds.
    pub context: Option<String>,
    /// Who asks.
    pub caller: String,
    /// How many runs are above this one.
    pub depth: u32,
    /// The run that asks.
    pub parent_run_id: Option<RunId>,
    /// The chain of runs it belongs to.
    pub session_id: Option<RunId>,
    /// The conversation to go on with.
    pub prior: Vec<Arc<Message>>,
    /// Another model.
    pub model: Option<String>,
    /// Another engine.
    pub engine: Option<String>,
    /// Another wall clock.
    pub timeout_ms: Option<u64>,
    /// Other turns.
    pub turns: Option<u64>,
    /// Another budget.
    pub budget_usd: Option<f64>,
    /// Another mode.
    pub permission_mode: Option<PermissionMode>,
}

/// A configured value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// `~/.config/posse/config.toml:3`.
    pub from: String,
}

/// Configured values by their dotted keys.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings(pub BTreeMap<String, Setting>);

impl Settings {
    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.0.get(key)
    }

    /// The text of a key.
    pub fn text(&self, key: &str) -> Option<(&str, &str)> {
        let setting = self.get(key)?;
        setting.value.as_str().map(|value| (value, setting.from.as_str()))
    }

    /// True when a switch is on.
    pub fn is_on(&self, key: &str) -> bool {
        self.get(key).is_some_and(|setting| setting.value == Value::Bool(true))
    }

    /// What stands below a table, by the rest of its key.
    pub fn below<'a>(&'a self, table: &'a str) -> impl Iterator<Item = (&'a str, &'a Setting)> {
        self.0.iter().filter_map(move |(key, setting)| {
            key.strip_prefix(table).and_then(|rest| rest.strip_prefix('.')).map(|rest| (rest, setting))
        })
    }
}

/// What a plan depends on besides the definition and the request, looked up beforehand.
#[derive(Debug, Clone)]
pub struct Surroundings<'a> {
    /// Where the definition came from.
    pub source: DefinitionSource,
    /// Its scope.
    pub scope: Scope,
    /// What is configured.
    pub settings: &'a Settings,
    /// What models there are.
    pub models: &'a ModelWorld,
    /// The tools that can be offered.
    pub tools: &'a [&'a str],
    /// The directory to work in.
    pub workspace: String,
    /// The directory as the model is told, where that differs.
    pub workspace_shown: Option<String>,
    /// The day, as `2026-11-15`.
    pub date: String,
    /// The kind of machine.
    pub platform: String,
    /// The files that the definition or the configuration asks for.
    pub context_files: Vec<ContextFile>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What to do about it.
    pub kind: RefusalKind,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub help: Option<String>,
}

/// What a refusal means to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// It cannot be planned: a bad value, no model, no key.
    Unplannable,
    /// No model is configured, and nobody has looked for servers on this machine yet.
    LookForServers,
    /// It asks for what is not to be had here or not allowed, and would be weaker or less without it.
    Unavailable,
}

impl Refusal {
    /// A refusal because something is wrong or missing.
    pub fn unplannable(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        let (message, help) = (message.into(), Some(help.into()));
        Refusal { kind: RefusalKind::Unplannable, message, help }
    }

    /// A refusal because somebody does not allow it.
    pub fn refused(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::unavailable(message, help)
    }

    fn unavailable(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        let (message, help) = (message.into(), Some(help.into()));
        Refusal { kind: RefusalKind::Unavailable, message, help }
    }
}

/// Decides everything for one run, or says why it cannot be done.
pub fn resolve(
    definition: &Definition,
    request: &Request,
    surroundings: &Surroundings<'_>,
) -> Result<Plan, Refusal> {
    let (settings, mut warnings) = (surroundings.settings, Vec::new());
    let ceiling = Ceiling::of(surroundings.scope.as_str(), settings);
    let definition = &ceiling.leave_out(definition, &mut warnings);
    refuse_what_is_not_here(definition)?;
    refuse_bad_schema(definition)?;
    let stands = |field: Field| stands(definition, &surroundings.source, field);
    let engine = engine(definition, request, stands(Field::Engine))?;
    ceiling.check_engine(&engine)?;
    let permission_mode = permission_mode(definition, request, stands(Field::PermissionMode));
    ceiling.check_mode(&permission_mode)?;
    let isolation = Choice::new("none".to_owned(), "default");
    ceiling.check_isolation(&isolation)?;
    ceiling.check_network(&Choice::new(Value::from("full"), "default"))?;
    let wanted = Wanted::new(definition, request);
    let model = choose_model(&wanted, surroundings.models, settings, &mut warnings)?;
    let compaction = match settings.text("roles.compaction") {
        Some((name, from)) => {
            let wanted = Wanted::Named { name: name.to_owned(), from: from.to_owned() };
            choose_model(&wanted, surroundings.models, settings, &mut warnings)?
        }
        None => Choice::new(model.value.clone(), "the run's own model"),
    };
    let unpriced = [&model.value, &compaction.value].into_iter().find(|model| model.price.is_none());
    let mut limits = Limits::resolve(definition, request, settings, unpriced.is_none());
    let asks_for_money =
        request.budget_usd.is_some() || definition.budget.is_some_and(|budget| budget.usd.is_some());
    ceiling.limit_budget(&mut limits.budget_usd, asks_for_money)?;
    refuse_uncountable_money(&limits, unpriced)?;
    refuse_long_input(request, &limits)?;
    let rules = rules::rules(definition, surroundings, &ceiling, &mut warnings)?;
    let mut tools = tools::offered(definition, surroundings, &mut warnings)?;
    let withheld = rules::withhold(&rules, &mut tools);
    ceiling.limit_tools(&mut tools, &mut warnings);
    let output = definition
        .output_schema
        .clone()
        .map(|schema| OutputContract { schema, retries: definition.output_retries.unwrap_or(2) });
    let effort = definition.effort.clone().map(|effort| Choice::new(effort, "definition"));
    warn_about_parts_left_out(definition, &mut warnings);
    Ok(Plan {
        agent: definition.slug(),
        definition: surroundings.source.clone(),
        caller: request.caller.clone(),
        depth: request.depth,
        parent_run_id: request.parent_run_id,
        session_id: request.session_id,
        task: request.task.clone(),
        context: request.context.clone(),
        prior: request.prior.clone(),
        engine,
        model,
        compaction_model: compaction,
        effort,
        tools,
        withheld,
        rules,
        permission_mode,
        isolation,
        workspace: Choice::new(surroundings.workspace.clone(), "working directory"),
        workspace_shown: surroundings.workspace_shown.clone(),
        system: system::blocks(definition, surroundings, output.as_ref()),
        output,
        limits,
        warnings,
    })
}

/// What would be weaker if it were left out is a refusal, never a silent change.
fn refuse_what_is_not_here(definition: &Definition) -> Result<(), Refusal> {
    if let Some(isolation) = definition.isolation.as_deref().filter(|isolation| *isolation != "none") {
        let message = format!("isolation `{isolation}` is not available here");
        return Err(Refusal::unavailable(message, "remove `isolation`, or write `isolation: none`"));
    }
    if let Some(workspace) = definition.workspace.as_deref().filter(|workspace| *workspace != "shared") {
        let message = format!("workspace `{workspace}` is not available here");
        return Err(Refusal::unavailable(message, "remove `workspace`, or write `workspace: shared`"));
    }
    if let Some(network) = definition.network.as_ref().filter(|network| **network != "full") {
        let message = format!("network {network} cannot be held without an isolation");
        return Err(Refusal::unavailable(message, "remove `network`, or write `network: full`"));
    }
    if definition.hooks.as_ref().is_some_and(|hooks| *hooks != Value::Null && *hooks != serde_json::json!({}))
    {
        let message = "the definition has hooks, which cannot be run here";
        return Err(Refusal::unavailable(message, "remove `hooks` to run the agent without them"));
    }
    Ok(())
}

/// No answer could fit a schema that is none; that is told before anything is paid for.
fn refuse_bad_schema(definition: &Definition) -> Result<(), Refusal> {
    match definition.output_schema.as_ref().and_then(schema_problem) {
        None => Ok(()),
        Some(problem) => {
            let message = format!("`output.schema` is not a JSON Schema: {problem}");
            Err(Refusal::unplannable(message, "correct it in the definition"))
        }
    }
}

/// Where a part of a definition stands: its line, if it has a file.
pub(super) fn stands(definition: &Definition, source: &DefinitionSource, field: Field) -> String {
    at(source, definition.lines.of(field))
}

/// A line of a definition.
pub(super) fn at(source: &DefinitionSource, line: Option<usize>) -> String {
    match (&source.path, line) {
        (Some(path), Some(line)) => format!("{path}:{line}"),
        _ => "definition".to_owned(),
    }
}

fn engine(definition: &Definition, request: &Request, stands: String) -> Result<Choice<String>, Refusal> {
    let choice = match (&request.engine, &definition.engine) {
        (Some(engine), _) => Choice::new(engine.clone(), "--engine"),
        (None, Some(engine)) => Choice::new(engine.clone(), stands),
        (None, None) => Choice::new("native".to_owned(), "default"),
    };
    if choice.value == "native" {
        return Ok(choice);
    }
    let message = format!("engine `{}` (from {}) is not available here", choice.value, choice.from);
    Err(Refusal::unplannable(message, "use `native`, the only engine there is"))
}

fn permission_mode(definition: &Definition, request: &Request, stands: String) -> Choice<String> {
    match (request.permission_mode, definition.permission_mode) {
        (Some(mode), _) => Choice::new(mode.as_str().to_owned(), "--permission-mode"),
        (None, Some(mode)) => Choice::new(mode.as_str().to_owned(), stands),
        (None, None) => Choice::new("default".to_owned(), "default"),
    }
}

fn refuse_uncountable_money(limits: &Limits, unpriced: Option<&ModelChoice>) -> Result<(), Refusal> {
    let Some((budget, model)) = limits.budget_usd.as_ref().zip(unpriced) else { return Ok(()) };
    let message = format!(
        "a budget of {} USD (from {}) cannot be held: the price of `{}/{}` is not known",
        budget.value, budget.from, model.provider, model.model
    );
    let help = format!(
        "add [prices.\"{}/{}\"] with `input` and `output` in USD per million tokens to your configuration, or drop the budget",
        model.provider, model.model
    );
    Err(Refusal::unplannable(message, help))
}

fn refuse_long_input(request: &Request, limits: &Limits) -> Result<(), Refusal> {
    let bytes = request.task.len() + request.context.as_deref().map_or(0, str::len);
    let limit = &limits.input_bytes;
    if bytes as u64 <= limit.value {
        return Ok(());
    }
    let message =
        format!("task and context are {bytes} bytes; the limit is {} (from {})", limit.value, limit.from);
    Err(Refusal::unplannable(message, "put the material into a file and name it in the task"))
}

fn warn_about_parts_left_out(definition: &Definition, warnings: &mut Vec<String>) {
    if definition.mcp_servers.as_ref().is_some_and(|servers| !servers.is_empty()) {
        warnings.push("`mcpServers` are not connected: the agent runs without their tools".to_owned());
    }
    if definition.skills.as_ref().is_some_and(|skills| !skills.is_empty()) {
        warnings.push("`skills` are not loaded: the agent runs without them".to_owned());
    }
    if definition.memory.is_some() {
        warnings.push("`memory` is not kept: the agent runs without it".to_owned());
    }
}
