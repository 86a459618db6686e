//! One agent as its author wrote it, whatever the dialect: the normalised definition.
//!
//! Text becomes a [`Definition`] through [`mod@read`] and never goes back, except as a Posse Markdown file
//! that [`mod@write`] makes for a person.

pub mod dialect;
pub mod family;
pub mod field;
pub mod frontmatter;
pub mod json;
mod lines;
pub mod model;
pub mod node;
mod normalise;
mod permission;
pub mod read;
pub mod recover;
mod server;
pub mod source;
pub mod toml;
pub mod tool;
pub mod value;
pub mod write;
pub mod yaml;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub use dialect::Dialect;
pub use lines::Lines;
pub use model::Model;
pub use tool::{ToolClass, ToolName};

/// Where a definition came from, the first having precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Installed by the operator of the machine.
    Managed,
    /// Given on the command line, for one session.
    Cli,
    /// Part of the project.
    Project,
    /// The user's own.
    User,
    /// Part of a plugin.
    Plugin,
    /// Part of Posse.
    Builtin,
}

impl Scope {
    /// Every scope in order of precedence.
    pub const ALL: &[Scope] =
        &[Scope::Managed, Scope::Cli, Scope::Project, Scope::User, Scope::Plugin, Scope::Builtin];

    /// The name in text, JSON and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Managed => "managed",
            Scope::Cli => "cli",
            Scope::Project => "project",
            Scope::User => "user",
            Scope::Plugin => "plugin",
            Scope::Builtin => "builtin",
        }
    }

    /// The scope of that name.
    pub fn parse(name: &str) -> Option<Scope> {
        Scope::ALL.iter().copied().find(|scope| scope.as_str() == name)
    }
}

/// Who is shown an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Everyone.
    UserFacing,
    /// Only callers whose `delegates` name it.
    Internal,
}

impl Visibility {
    /// The word in files and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Visibility::UserFacing => "user-facing",
            Visibility::Internal => "internal",
        }
    }
}

/// How a run treats what no rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the modes are Claude Code's, by its names")]
pub enum PermissionMode {
    Default,
    AcceptEdits,
    Auto,
    DontAsk,
    BypassPermissions,
    Plan,
}

impl PermissionMode {
    /// The word in files and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            PermissionMode::Default => "default",
            PermissionMode::AcceptEdits => "acceptEdits",
            PermissionMode::Auto => "auto",
            PermissionMode::DontAsk => "dontAsk",
            PermissionMode::BypassPermissions => "bypassPermissions",
            PermissionMode::Plan => "plan",
        }
    }
}

/// Rules as they are written, by what they decide.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Permissions {
    /// What is done without a question.
    pub allow: Vec<String>,
    /// What a person is asked about.
    pub ask: Vec<String>,
    /// What is never done.
    pub deny: Vec<String>,
    /// For a tool, `allow`, `ask` or `deny` where none of its rules matches.
    pub otherwise: BTreeMap<String, String>,
}

/// Adds rules that are not there yet.
fn add_rules(known: &mut Vec<String>, more: impl IntoIterator<Item = String>) {
    for rule in more {
        if !known.contains(&rule) {
            known.push(rule);
        }
    }
}

/// What a run may spend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Budget {
    /// US dollars.
    pub usd: Option<f64>,
    /// Tokens of all kinds.
    pub tokens: Option<u64>,
}

/// One agent as its author wrote it. What the author left out is `None`.
#[derive(Debug, Clone, PartialEq)]
#[expect(missing_docs, reason = "each field is the key of the same name in the reference")]
pub struct Definition {
    /// The identity as written; [`Definition::slug`] is made from it.
    pub name: String,
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub prompt: String,
    pub tools: Option<Vec<ToolName>>,
    pub disallowed_tools: Option<Vec<ToolName>>,
    pub model: Option<Model>,
    pub effort: Option<String>,
    pub permission_mode: Option<PermissionMode>,
    pub permissions: Option<Permissions>,
    pub skills: Option<Vec<String>>,
    pub hooks: Option<Value>,
    pub mcp_servers: Option<Map<String, Value>>,
    pub color: Option<String>,
    pub visibility: Option<Visibility>,
    pub enabled: Option<bool>,
    pub session: Option<bool>,
    pub memory: Option<String>,
    pub callers: Option<Vec<String>>,
    pub delegates: Option<Vec<String>>,
    pub max_turns: Option<u64>,
    pub timeout_ms: Option<u64>,
    pub budget: Option<Budget>,
    pub output_schema: Option<Value>,
    pub output_retries: Option<u64>,
    pub findings: Option<bool>,
    pub engine: Option<String>,
    pub isolation: Option<String>,
    pub workspace: Option<String>,
    pub network: Option<Value>,
    pub env: Option<Value>,
    pub context_files: Option<Value>,
    pub background: Option<bool>,
    pub environment: Option<bool>,
    pub initial_prompt: Option<String>,
    /// Keys that mean nothing here, as written.
    pub extra: Map<String, Value>,
    pub dialect: Dialect,
    /// Where its parts stand.
    pub lines: Lines,
}

impl Definition {
    /// A definition in which nothing is set but who it is and what it is told.
    pub fn new(name: impl Into<String>, prompt: impl Into<String>, dialect: Dialect) -> Definition {
        Definition {
            name: name.into(),
            display_name: None,
            description: None,
            prompt: prompt.into(),
            tools: None,
            disallowed_tools: None,
            model: None,
            effort: None,
            permission_mode: None,
            permissions: None,
            skills: None,
            hooks: None,
            mcp_servers: None,
            color: None,
            visibility: None,
            enabled: None,
            session: None,
            memory: None,
            callers: None,
            delegates: None,
            max_turns: None,
            timeout_ms: None,
            budget: None,
            output_schema: None,
            output_retries: None,
            findings: None,
            engine: None,
            isolation: None,
            workspace: None,
            network: None,
            env: None,
            context_files: None,
            background: None,
            environment: None,
            initial_prompt: None,
            extra: Map::new(),
            dialect,
            lines: Lines::default(),
        }
    }

    /// The name by which the agent is run.
    pub fn slug(&self) -> String {
        slug(&self.name)
    }

    /// The name as its author wants it shown.
    pub fn shown_name(&self) -> &str {
        self.display_name.as_deref().unwrap_or(&self.name)
    }

    /// The part of `show --json` that the definition itself decides.
    pub fn to_json(&self) -> Value {
        let tools = |list: &Option<Vec<ToolName>>| {
            list.as_ref().map(|list| list.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>())
        };
        serde_json::json!({
            "name": self.slug(),
            "display_name": self.shown_name(),
            "description": self.description,
            "prompt": self.prompt,
            "tools": tools(&self.tools),
            "disallowed_tools": tools(&self.disallowed_tools),
            "model": self.model.as_ref().map(|model| &model.written),
            "model_kind": self.model.as_ref().map(Model::kind),
            "effort": self.effort,
            "permission_mode": self.permission_mode.map(PermissionMode::as_str),
            "permissions": self.permissions.as_ref().map(permissions_json),
            "skills": self.skills,
            "hooks": self.hooks,
            "mcp_servers": self.mcp_servers,
            "color": self.color,
            "visibility": self.visibility.map(Visibility::as_str),
            "enabled": self.enabled,
            "session": self.session,
            "memory": self.memory,
            "callers": self.callers,
            "delegates": self.delegates,
            "max_turns": self.max_turns,
            "timeout_ms": self.timeout_ms,
            "budget": self.budget.map(|budget| serde_json::json!({"usd": budget.usd, "tokens": budget.tokens})),
            "output_schema": self.output_schema,
            "output_retries": self.output_retries,
            "findings": self.findings,
            "engine": self.engine,
            "isolation": self.isolation,
            "workspace": self.workspace,
            "network": self.network,
            "env": self.env,
            "context_files": self.context_files,
            "background": self.background,
            "environment": self.environment,
            "initial_prompt": self.initial_prompt,
            "extra": self.extra,
        })
    }
}

fn permissions_json(permissions: &Permissions) -> Value {
    let mut json = serde_json::json!({
        "allow": permissions.allow,
        "ask": permissions.ask,
        "deny": permissions.deny,
    });
    if !permissions.otherwise.is_empty() {
        json["otherwise"] = serde_json::json!(permissions.otherwise);
    }
    json
}

/// A name in lower case, with a dash for every character outside `[a-z0-9_-]`.
pub fn slug(name: &str) -> String {
    name.trim()
        .chars()
        .flat_map(char::to_lowercase)
        .map(|c| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-' { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests;
