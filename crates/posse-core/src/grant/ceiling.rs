//! The most an operator lets a definition of some scope have.
//!
//! What is beyond it and can be left out is left out with a warning; what would change the meaning of the run is
//! refused. Nothing here looks at a call.

use serde_json::Value;

use crate::definition::Definition;
use crate::definition::field::Field;
use crate::plan::{Choice, Refusal, Setting, Settings};

/// Tools that only look at files.
const LOOKING: &[&str] = &["Read", "Glob", "Grep", "LS", "TodoWrite"];
/// The same and the web.
const LOOKING_AND_WEB: &[&str] = &["Read", "Glob", "Grep", "LS", "TodoWrite", "WebFetch", "WebSearch"];
/// Every mode but the one that asks nobody.
const CAREFUL_MODES: &[&str] = &["default", "acceptEdits", "auto", "dontAsk", "plan"];

/// Ceilings that have a name: the tools, and the modes.
pub const PRESETS: &[(&str, &[&str], &[&str])] = &[
    ("read-only", LOOKING, &["default", "dontAsk", "plan"]),
    ("read-only-web", LOOKING_AND_WEB, &["default", "dontAsk", "plan"]),
];

/// The names that `ceilings` may have.
pub const SCOPES: &[&str] = &["managed", "cli", "project", "user", "plugin", "builtin", "defined"];

/// The most that a definition may have, each part with the line that says so; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Ceiling {
    /// Whose it is, for messages.
    scope: &'static str,
    tools: Vec<Choice<Vec<String>>>,
    deny: Vec<Choice<String>>,
    modes: Vec<Choice<Vec<String>>>,
    isolation: Option<Choice<Vec<String>>>,
    engines: Option<Choice<Vec<String>>>,
    network: Option<Choice<Value>>,
    budget_usd: Option<Choice<f64>>,
    /// What counts for nothing in a definition of this scope.
    left_out: &'static [Field],
}

impl Ceiling {
    /// The ceiling of one of [`SCOPES`]: what is configured, and where that is silent the default.
    pub fn of(name: &'static str, settings: &Settings) -> Ceiling {
        assert!(SCOPES.contains(&name), "`{name}` has no ceiling");
        let mut ceiling = Ceiling { scope: name, ..Ceiling::default() };
        if let Some((preset, from)) = settings.text(&format!("ceilings.{name}")) {
            for (_, tools, modes) in PRESETS.iter().filter(|(known, ..)| *known == preset) {
                ceiling.tools.push(Choice::new(owned(tools), from));
                ceiling.modes.push(Choice::new(owned(modes), from));
            }
        }
        let table = format!("ceilings.{name}");
        for (key, setting) in settings.below(&table) {
            ceiling.take(key, setting);
        }
        ceiling.add_defaults();
        ceiling
    }

    fn take(&mut self, key: &str, setting: &Setting) {
        let list = || Choice::new(texts(&setting.value), &*setting.from);
        match key {
            "tools" => self.tools.push(list()),
            "deny" => {
                let rules = texts(&setting.value).into_iter();
                self.deny.extend(rules.map(|rule| Choice::new(rule, &*setting.from)));
            }
            "permission_modes" => self.modes.push(list()),
            "isolation" => self.isolation = Some(list()),
            "engines" => self.engines = Some(list()),
            "network" => self.network = Some(Choice::new(setting.value.clone(), &*setting.from)),
            "budget_usd" => {
                self.budget_usd = setting.value.as_f64().map(|usd| Choice::new(usd, &*setting.from));
            }
            _ => {}
        }
    }

    /// What holds where an operator says nothing.
    fn add_defaults(&mut self) {
        let from = "the default";
        let is_ours = |list: &[Choice<Vec<String>>]| list.is_empty();
        match self.scope {
            "project" | "plugin" if is_ours(&self.modes) => {
                self.modes.push(Choice::new(owned(CAREFUL_MODES), from));
            }
            "defined" => {
                if is_ours(&self.tools) {
                    self.tools.push(Choice::new(owned(LOOKING_AND_WEB), from));
                }
                if is_ours(&self.modes) {
                    self.modes.push(Choice::new(owned(&["default"]), from));
                }
            }
            _ => {}
        }
        self.left_out = match self.scope {
            "plugin" => &[Field::Hooks, Field::McpServers, Field::PermissionMode],
            "defined" => &[Field::Permissions, Field::Hooks, Field::McpServers, Field::Engine, Field::Env],
            _ => &[],
        };
    }

    /// A definition without what counts for nothing in its scope.
    pub fn leave_out(&self, definition: &Definition, warnings: &mut Vec<String>) -> Definition {
        let mut held = definition.clone();
        for field in self.left_out {
            let (name, was_set) = match field {
                Field::Hooks => ("hooks", held.hooks.take().is_some()),
                Field::McpServers => ("mcpServers", held.mcp_servers.take().is_some()),
                Field::PermissionMode => ("permissionMode", held.permission_mode.take().is_some()),
                Field::Engine => ("engine", held.engine.take().is_some()),
                Field::Env => ("env", held.env.take().is_some()),
                // A restriction still counts; only what it would allow does not.
                _ => match &mut held.permissions {
                    Some(permissions) => {
                        permissions.otherwise.retain(|_, decision| decision != "allow");
                        ("permissions.allow", !std::mem::take(&mut permissions.allow).is_empty())
                    }
                    None => ("permissions.allow", false),
                },
            };
            if was_set {
                let line =
                    definition.lines.of(*field).map(|line| format!(" (line {line})")).unwrap_or_default();
                warnings.push(format!("`{name}`{line} counts for nothing in {} agents", self.scope));
            }
        }
        held
    }

    /// Removes the tools beyond it.
    pub fn limit_tools(&self, tools: &mut Vec<Choice<String>>, warnings: &mut Vec<String>) {
        for limit in &self.tools {
            tools.retain(|tool| {
                let fits = limit.value.iter().any(|pattern| names_tool(pattern, &tool.value));
                if !fits {
                    let (name, from, line) = (&tool.value, &tool.from, &limit.from);
                    warnings.push(format!(
                        "the agent runs without `{name}` (from {from}): beyond the ceiling of {} agents ({line})",
                        self.scope
                    ));
                }
                fits
            });
        }
    }

    /// The rules that hold whatever the definition says.
    pub fn denied(&self) -> &[Choice<String>] {
        &self.deny
    }

    /// Refuses a mode beyond it.
    pub fn check_mode(&self, mode: &Choice<String>) -> Result<(), Refusal> {
        self.modes.iter().try_for_each(|limit| self.check_word("permission mode", mode, Some(limit)))
    }

    /// Refuses an engine beyond it.
    pub fn check_engine(&self, engine: &Choice<String>) -> Result<(), Refusal> {
        self.check_word("engine", engine, self.engines.as_ref())
    }

    /// Refuses an isolation beyond it.
    pub fn check_isolation(&self, isolation: &Choice<String>) -> Result<(), Refusal> {
        self.check_word("isolation", isolation, self.isolation.as_ref())
    }

    fn check_word(
        &self,
        what: &str,
        choice: &Choice<String>,
        limit: Option<&Choice<Vec<String>>>,
    ) -> Result<(), Refusal> {
        match limit.filter(|limit| !limit.value.contains(&choice.value)) {
            None => Ok(()),
            Some(limit) => Err(self.beyond(&format!("{what} `{}`", choice.value), &choice.from, limit)),
        }
    }

    /// Refuses a network beyond it: `full` is beyond everything else, and a host beyond a list without it.
    pub fn check_network(&self, network: &Choice<Value>) -> Result<(), Refusal> {
        let Some(limit) = self.network.as_ref().filter(|limit| limit.value != "full") else { return Ok(()) };
        let fits = match (&network.value, &limit.value) {
            (Value::String(word), _) => word == "none",
            (Value::Array(hosts), Value::Array(known)) => hosts.iter().all(|host| known.contains(host)),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        let limit = Choice::new(texts(&limit.value), &*limit.from);
        Err(self.beyond(&format!("network {}", network.value), &network.from, &limit))
    }

    /// Refuses a budget that somebody asked for beyond it; one that nobody asked for is lowered.
    pub fn limit_budget(&self, budget: &mut Option<Choice<f64>>, is_asked_for: bool) -> Result<(), Refusal> {
        let Some(limit) = &self.budget_usd else { return Ok(()) };
        match budget {
            Some(asked) if asked.value <= limit.value => Ok(()),
            Some(asked) if is_asked_for => {
                let most = Choice::new(vec![format!("{} USD", limit.value)], &*limit.from);
                Err(self.beyond(&format!("a budget of {} USD", asked.value), &asked.from, &most))
            }
            _ => {
                *budget = Some(limit.clone());
                Ok(())
            }
        }
    }

    fn beyond(&self, what: &str, from: &str, limit: &Choice<Vec<String>>) -> Refusal {
        let message =
            format!("{what} (from {from}) is beyond the ceiling of {} agents ({})", self.scope, limit.from);
        let help = match &limit.value[..] {
            [] => "nothing of the kind is allowed".to_owned(),
            allowed => format!("allowed: {}", allowed.join(", ")),
        };
        Refusal::refused(message, help)
    }
}

/// True when an entry of a list of tools is about a tool: its name, `*`, or a name that ends with `*`.
fn names_tool(pattern: &str, tool: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(beginning) => tool.starts_with(beginning),
        None => pattern == tool,
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::Array(values) => values.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    }
}
