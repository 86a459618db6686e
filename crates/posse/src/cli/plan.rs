//! `posse plan`: everything that would be decided for a run, and where each choice came from.

use posse_core::plan::{Choice, Plan};
use posse_core::step::duration;
use serde_json::Value;

use crate::app::App;
use crate::cli::run::{self, request};
use crate::error::CommandError;
use crate::print::{BOLD, CYAN, DIM, Table, stdout_width, styled};
use crate::service::{Service, block_on, http};

/// Show what would be decided for a run, and why, without running it
#[derive(Debug, clap::Args)]
pub struct Options {
    #[command(flatten)]
    request: request::Asking,
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    let discovered = app.discover()?;
    let entry = request::admitted(app, &discovered.registry, &options.request.agent)?;
    let request = options.request.read_or_empty(app)?;
    let plan = block_on(async {
        let service = Service::new(app, http()?);
        run::plan(app, &service, entry, request, None).await
    })?;
    if app.printer.json {
        let json = serde_json::to_value(&plan).unwrap_or(Value::Null);
        app.printer.json(&json)?;
        return Ok(0);
    }
    app.printer.diagnostics(&entry.problems)?;
    for warning in &plan.warnings {
        app.printer.warn(warning)?;
    }
    app.printer.text(&choices(app, &plan).render(stdout_width()))?;
    for block in &plan.system {
        app.printer.text(&format!("\n{}\n", styled(DIM, &format!("── system: {}", block.name))))?;
        app.printer.file(&run::carry::ended_by_newline(&block.text))?;
    }
    if !plan.task.is_empty() {
        app.printer.text(&format!("\n{}\n", styled(DIM, "── first message")))?;
        app.printer.file(&run::carry::ended_by_newline(&plan.first_message()))?;
    }
    Ok(0)
}

fn choices(app: &App, plan: &Plan) -> Table {
    let mut table = Table::new(&["choice", "value", "from"]);
    let mut row = |name: &str, value: String, from: &str| {
        let from = app.printer.shown_in_text(from);
        table.row(vec![(name.into(), BOLD), (value, CYAN), (from, DIM)]);
    };
    let definition = &plan.definition;
    let path =
        definition.path.as_deref().map_or_else(|| "no file".to_owned(), |path| app.printer.shown(path));
    row("agent", plan.agent.clone(), &format!("{path} ({}, {})", definition.scope, definition.dialect));
    row("caller", plan.caller.clone(), if plan.caller == "cli" { "default" } else { "--caller" });
    row("engine", plan.engine.value.clone(), &plan.engine.from);
    let model = &plan.model.value;
    row("model", format!("{}/{}", model.provider, model.model), &plan.model.from);
    let key = model.api_key_env.as_deref().unwrap_or("no key");
    row("endpoint", model.base_url.clone(), &format!("{}, {key}", model.api.as_str()));
    let window = model.context_tokens.map_or_else(|| "unknown".to_owned(), run::progress::thousands);
    let price = model.price.map_or_else(
        || "price unknown".to_owned(),
        |price| format!("${} in, ${} out a million tokens", price.input, price.output),
    );
    row("context window", window, &price);
    let compaction = &plan.compaction_model;
    row("compaction", format!("{}/{}", compaction.value.provider, compaction.value.model), &compaction.from);
    if let Some(effort) = &plan.effort {
        row("effort", effort.value.clone(), &effort.from);
    }
    let tools: Vec<&str> = plan.tools.iter().map(|tool| tool.value.as_str()).collect();
    let from = plan.tools.first().map_or("definition", |tool| tool.from.as_str());
    row("tools", if tools.is_empty() { "none".into() } else { tools.join(" ") }, from);
    row("permission mode", plan.permission_mode.value.clone(), &plan.permission_mode.from);
    row("isolation", plan.isolation.value.clone(), &plan.isolation.from);
    row("workspace", app.printer.shown(&plan.workspace.value), &plan.workspace.from);
    limits(plan, &mut row);
    if let Some(output) = &plan.output {
        row("output", output.schema.to_string(), &format!("definition, {} retries", output.retries));
    }
    table
}

fn limits(plan: &Plan, row: &mut impl FnMut(&str, String, &str)) {
    let limits = &plan.limits;
    let mut time = |name: &str, limit: &Choice<u64>| row(name, duration(limit.value), &limit.from);
    time("timeout", &limits.timeout_ms);
    time("stall", &limits.stall_ms);
    time("retry wait", &limits.retry_wait_ms);
    let mut number = |name: &str, limit: &Choice<u64>| {
        row(name, run::progress::thousands(limit.value), &limit.from);
    };
    number("retries", &limits.retries);
    number("turns", &limits.turns);
    number("tokens", &limits.tokens);
    number("input bytes", &limits.input_bytes);
    number("tool output bytes", &limits.tool_output_bytes);
    number("result bytes", &limits.result_bytes);
    match &limits.budget_usd {
        Some(budget) => row("budget", format!("${}", budget.value), &budget.from),
        None => row("budget", "none".into(), "the price is not known"),
    }
}
