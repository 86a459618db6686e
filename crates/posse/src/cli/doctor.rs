//! `posse doctor`: what is configured, what is reachable, what is missing, and what to do about it.

use std::time::Duration;

use posse_core::model::{DATA_DATE, ProviderEntry, Wanted, choose_model};
use posse_core::registry::Entry;
use posse_runtime::providers::{list_models, reach};
use posse_runtime::store::{SqliteStore, Store, rebuild};
use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Kind};
use crate::print::{BOLD, CYAN, GREEN, RED, YELLOW, count, styled};
use crate::service::{Service, block_on, http, store_failed};

/// How long a provider may take to be reached.
const REACH_MAX: Duration = Duration::from_secs(5);
/// How long a server of this machine may.
const PROBE_MAX: Duration = Duration::from_millis(400);

/// Say what is configured, what can be reached and what is missing, with the fix
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Make the derived tables of the store anew from its events
    #[arg(long)]
    rebuild: bool,
    /// Do not try to reach any provider
    #[arg(long)]
    offline: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Good,
    Absent,
    Bad,
}

/// One thing that was looked at.
struct Finding {
    name: String,
    state: State,
    message: String,
    help: Option<String>,
}

impl Finding {
    fn new(name: &str, state: State, message: impl Into<String>) -> Finding {
        Finding { name: name.to_owned(), state, message: message.into(), help: None }
    }

    fn with_help(mut self, help: impl Into<String>) -> Finding {
        self.help = Some(help.into());
        self
    }
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    if options.rebuild {
        return rebuild_store(app);
    }
    let findings = block_on(async {
        let service = Service::new(app, http()?);
        let mut findings = vec![store(app).await, configuration(app)];
        findings.push(agents(app)?);
        for entry in service.providers.entries() {
            findings.push(provider(entry, options.offline).await);
        }
        findings.push(model(&service, options.offline).await);
        Ok(findings)
    })?;
    print(app, &findings)?;
    Ok(if findings.iter().any(|finding| finding.state == State::Bad) { Kind::Definition.code() } else { 0 })
}

fn rebuild_store(app: &App) -> Result<u8, CommandError> {
    let Some(path) = app.places.store() else {
        return Err(CommandError::new(Kind::Usage, "there is no home directory to keep runs in"));
    };
    let runs = rebuild(&path).map_err(|error| store_failed(&error))?;
    if app.printer.json {
        app.printer.json(&json!({"runs": runs, "path": path.display().to_string()}))?;
    } else {
        app.printer.text(&format!("{} made anew from their events\n", count(runs, "run")))?;
    }
    Ok(0)
}

fn print(app: &App, findings: &[Finding]) -> Result<(), CommandError> {
    if app.printer.json {
        let json: Vec<_> = findings
            .iter()
            .map(|finding| {
                let state = match finding.state {
                    State::Good => "ok",
                    State::Absent => "absent",
                    State::Bad => "error",
                };
                let Finding { name, message, help, .. } = finding;
                json!({"name": name, "state": state, "message": message, "help": help})
            })
            .collect();
        return Ok(app.printer.json(&json!({"findings": json}))?);
    }
    for finding in findings {
        let mark = match finding.state {
            State::Good => styled(GREEN, "✓"),
            State::Absent => styled(YELLOW, "·"),
            State::Bad => styled(RED, "✗"),
        };
        let message = app.printer.shown_in_text(&finding.message);
        app.printer
            .text(&format!("{mark} {:<14} {message}\n", styled(BOLD, &format!("{:<14}", finding.name))))?;
        if let Some(help) = &finding.help {
            app.printer.text(&format!("  {:<14} {} {help}\n", "", styled(CYAN, "→")))?;
        }
    }
    Ok(())
}

async fn store(app: &App) -> Finding {
    let Some(path) = app.places.store() else {
        return Finding::new("store", State::Bad, "there is no home directory")
            .with_help("set HOME or POSSE_HOME");
    };
    let listed = match SqliteStore::open(&path) {
        Ok(store) => store.list(usize::MAX).await.map(|runs| runs.len()),
        Err(error) => Err(error),
    };
    match listed {
        Ok(runs) => {
            Finding::new("store", State::Good, format!("{} in {}", count(runs, "run"), path.display()))
        }
        Err(error) => Finding::new("store", State::Bad, error.to_string())
            .with_help("move the file away or mend its cause"),
    }
}

fn configuration(app: &App) -> Finding {
    let errors = app.config.problems.iter().filter(|problem| problem.is_error()).count();
    let values = app.config.settings().count();
    match errors {
        0 => Finding::new("configuration", State::Good, format!("{} set", count(values, "value"))),
        _ => Finding::new("configuration", State::Bad, count(errors, "error"))
            .with_help("`posse list` shows the lines"),
    }
}

fn agents(app: &App) -> Result<Finding, CommandError> {
    let discovered = app.discover_anyway()?;
    let callable: Vec<&Entry> = discovered.registry.callable().collect();
    let ready = callable.iter().filter(|entry| entry.is_runnable() && entry.found.trusted).count();
    let untrusted = callable.iter().filter(|entry| !entry.found.trusted).count();
    let finding =
        Finding::new("agents", State::Good, format!("{ready} ready to run, {untrusted} not trusted"));
    Ok(if untrusted > 0 { finding.with_help("`posse trust` shows them and asks") } else { finding })
}

async fn provider(entry: &ProviderEntry, offline: bool) -> Finding {
    let name = entry.name.as_str();
    let Some(variable) = entry.api_key_env.as_deref().filter(|_| !entry.has_key) else {
        return reachable(entry, offline).await;
    };
    Finding::new(name, State::Absent, "no key").with_help(format!("set {variable} to use it"))
}

async fn reachable(entry: &ProviderEntry, offline: bool) -> Finding {
    let (name, url) = (entry.name.as_str(), entry.base_url.as_str());
    if offline {
        return Finding::new(name, State::Good, format!("{url} (not tried)"));
    }
    if entry.is_local_server {
        return match list_models(&format!("{url}/models"), PROBE_MAX).await {
            Ok(models) => Finding::new(name, State::Good, format!("{url}: {}", models.join(", "))),
            Err(_) => Finding::new(name, State::Absent, format!("nothing answers at {url}")),
        };
    }
    match reach(url, REACH_MAX).await {
        Ok(()) => Finding::new(name, State::Good, format!("{url} answers; the key was not tried")),
        Err(message) => Finding::new(name, State::Bad, format!("{url}: {message}"))
            .with_help("look at the network, a proxy, or the base URL"),
    }
}

async fn model(service: &Service, offline: bool) -> Finding {
    let mut world = service.providers.world();
    world.servers = Some(if offline { Vec::new() } else { service.providers.find_servers().await });
    let mut warnings = Vec::new();
    match choose_model(&Wanted::Default, &world, &service.settings, &mut warnings) {
        Ok(choice) => {
            let model = &choice.value;
            let price = if model.price.is_some() { "" } else { "; its price is not known" };
            let message = format!(
                "{}/{} ({}{price}); prices of {}",
                model.provider, model.model, choice.from, *DATA_DATE
            );
            Finding::new("default model", State::Good, message)
        }
        Err(refusal) => {
            let finding = Finding::new("default model", State::Bad, refusal.message);
            match refusal.help {
                Some(help) => finding.with_help(help),
                None => finding,
            }
        }
    }
}
