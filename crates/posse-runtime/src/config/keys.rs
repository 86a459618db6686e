//! The table of configuration keys: what each takes, its default where it is a limit, and what a project may do.

use posse_core::definition::field::Unit;
use posse_core::definition::node::{Node, ScalarKind};
use posse_core::definition::value::{amount, count, duration_text_ms, text};
use serde_json::Value;

/// What a project's file may do with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum InProject {
    /// Set it, once the file is trusted.
    AfterTrust,
    /// Lower it, once the file is trusted.
    MayLower,
    /// Nothing.
    Never,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Takes {
    Text,
    Texts,
    Flag,
    FlagOrTexts,
    Count,
    Amount,
    Duration,
    OneOf(&'static [&'static str]),
    SomeOf(&'static [&'static str]),
    /// `none`, `full` or a list of hosts.
    Network,
    /// A table, read where it is used.
    Table,
    /// A table or one text, read where it is used.
    TableOrText,
}

/// One key; `*` in its name stands for any one part.
#[derive(Debug)]
pub(super) struct Key {
    pub name: &'static str,
    pub takes: Takes,
    pub in_project: InProject,
    /// For limits: the value in force when nothing is set, in milliseconds, bytes, dollars or pieces.
    pub default: f64,
}

const fn key(name: &'static str, takes: Takes, in_project: InProject) -> Key {
    Key { name, takes, in_project, default: 0.0 }
}

const fn limit(name: &'static str, takes: Takes, default: f64) -> Key {
    Key { name, takes, in_project: InProject::MayLower, default }
}

use InProject::{AfterTrust, Never};

pub(super) const KEYS: &[Key] = &[
    key("default_model", Takes::Text, AfterTrust),
    key("models.*", Takes::Text, AfterTrust),
    key("roles.main", Takes::Text, AfterTrust),
    key("roles.compaction", Takes::Text, AfterTrust),
    key("roles.small", Takes::Text, AfterTrust),
    key("roles.large", Takes::Text, AfterTrust),
    key("strict_models", Takes::Flag, AfterTrust),
    key(
        "providers.*.api",
        Takes::OneOf(&["anthropic", "openai-chat", "openai-responses", "gemini", "local"]),
        AfterTrust,
    ),
    key("providers.*.base_url", Takes::Text, AfterTrust),
    key("providers.*.api_key_env", Takes::Text, AfterTrust),
    key("providers.*.headers.*", Takes::Text, AfterTrust),
    key("agents_dirs", Takes::Texts, AfterTrust),
    key("duplicates", Takes::OneOf(&["shadow", "reject"]), AfterTrust),
    key("expose", Takes::FlagOrTexts, AfterTrust),
    key("context_files", Takes::FlagOrTexts, AfterTrust),
    key("group", Takes::Text, AfterTrust),
    limit("limits.timeout", Takes::Duration, 600_000.0),
    limit("limits.stall", Takes::Duration, 120_000.0),
    limit("limits.turns", Takes::Count, 50.0),
    limit("limits.tokens", Takes::Count, 2_000_000.0),
    limit("limits.budget_usd", Takes::Amount, 5.0),
    limit("limits.depth", Takes::Count, 2.0),
    limit("limits.children", Takes::Count, 20.0),
    limit("limits.children_tree", Takes::Count, 200.0),
    limit("limits.concurrent_runs", Takes::Count, 64.0),
    limit("limits.input_bytes", Takes::Count, 1_048_576.0),
    limit("limits.tool_output_bytes", Takes::Count, 30_000.0),
    limit("limits.result_bytes", Takes::Count, 32_768.0),
    limit("limits.retries", Takes::Count, 6.0),
    limit("limits.retry_wait", Takes::Duration, 120_000.0),
    limit("limits.grace", Takes::Duration, 1000.0),
    limit("limits.engine_grace", Takes::Duration, 5000.0),
    limit("mcp.wait", Takes::Duration, 240_000.0),
    key("retention.days", Takes::Count, Never),
    key("retention.bytes", Takes::Count, Never),
    key("rules.*.allow", Takes::Texts, Never),
    key("rules.*.ask", Takes::Texts, Never),
    key("rules.*.deny", Takes::Texts, Never),
    key("prices", Takes::Table, Never),
    key("ceilings.*", Takes::OneOf(&["read-only", "read-only-web"]), Never),
    key("ceilings.*.tools", Takes::Texts, Never),
    key("ceilings.*.deny", Takes::Texts, Never),
    key(
        "ceilings.*.permission_modes",
        Takes::SomeOf(&["default", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "plan"]),
        Never,
    ),
    key("ceilings.*.isolation", Takes::SomeOf(&["none", "landlock", "sandbox", "container"]), Never),
    key("ceilings.*.engines", Takes::Texts, Never),
    key("ceilings.*.network", Takes::Network, Never),
    key("ceilings.*.budget_usd", Takes::Amount, Never),
    key("tokens.*", Takes::TableOrText, Never),
    key("nats", Takes::TableOrText, Never),
    key("otel", Takes::Table, Never),
    key("search", Takes::TableOrText, Never),
];

impl Key {
    /// True for the key that `key` names.
    pub(super) fn matches(&self, key: &str) -> bool {
        let (mine, theirs) = (self.name.split('.').count(), key.split('.').count());
        mine == theirs
            && self.name.split('.').zip(key.split('.')).all(|(mine, theirs)| mine == "*" || mine == theirs)
    }

    /// Its name, with what `key` has in the places of its own `*`.
    pub(super) fn name_like(&self, key: &str) -> String {
        let mut theirs = key.split('.');
        let parts = self.name.split('.').map(|mine| match (mine, theirs.next()) {
            ("*", Some(theirs)) => theirs,
            _ => mine,
        });
        parts.collect::<Vec<_>>().join(".")
    }

    /// True when `table` is a table on the way to this key.
    pub(super) fn is_below(&self, table: &str) -> bool {
        let depth = table.split('.').count();
        self.name.split('.').count() > depth
            && self.name.split('.').zip(table.split('.')).all(|(mine, theirs)| mine == "*" || mine == theirs)
    }
}

impl Takes {
    pub(super) fn describe(self) -> String {
        let fixed = match self {
            Takes::Text => "a text",
            Takes::Texts => "a list of texts",
            Takes::Flag => "true or false",
            Takes::FlagOrTexts => "true, false or a list of texts",
            Takes::Count => "a whole number above zero",
            Takes::Amount => "an amount of dollars",
            Takes::Duration => "a duration such as \"30s\" or \"5m\"",
            Takes::Table => "a table",
            Takes::TableOrText => "a table or a text",
            Takes::Network => "\"none\", \"full\" or a list of hosts",
            Takes::SomeOf(words) => return format!("a list of some of {}", words.join(", ")),
            Takes::OneOf(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                return words.join(" or ");
            }
        };
        fixed.to_owned()
    }
}

/// The value if the key takes it; durations in milliseconds.
pub(super) fn accepts(takes: Takes, node: &Node) -> Option<Value> {
    let kind = node.scalar().map(|scalar| scalar.kind);
    let texts = || {
        let elements = node.elements()?;
        let text_only = elements
            .iter()
            .all(|element| element.scalar().is_some_and(|scalar| scalar.kind == ScalarKind::Text));
        text_only.then(|| node.to_json())
    };
    match takes {
        Takes::Text => {
            text(node).filter(|text| kind == Some(ScalarKind::Text) && !text.is_empty()).map(Value::from)
        }
        Takes::Texts => texts(),
        Takes::Flag => matches!(kind, Some(ScalarKind::Bool(_))).then(|| node.to_json()),
        Takes::FlagOrTexts => {
            if matches!(kind, Some(ScalarKind::Bool(_))) {
                Some(node.to_json())
            } else {
                texts()
            }
        }
        Takes::Count => count(node).map(Value::from),
        Takes::Amount => amount(node).map(Value::from),
        Takes::Duration => {
            node.scalar().and_then(|scalar| duration_text_ms(&scalar.text, Unit::Seconds)).map(Value::from)
        }
        Takes::OneOf(known) => text(node).filter(|text| known.contains(&text.as_str())).map(Value::from),
        Takes::SomeOf(known) => {
            let is_known = |value: &Value| value.as_str().is_some_and(|word| known.contains(&word));
            texts().filter(|list| list.as_array().is_some_and(|list| list.iter().all(is_known)))
        }
        Takes::Network => accepts(Takes::OneOf(&["none", "full"]), node).or_else(texts),
        Takes::Table => node.entries().map(|_| node.to_json()),
        Takes::TableOrText => {
            (node.entries().is_some() || kind == Some(ScalarKind::Text)).then(|| node.to_json())
        }
    }
}

/// True when a limit is above what is in force.
pub(super) fn is_higher(key: &Key, value: &Value, current: Option<&Value>) -> bool {
    let in_force = current.and_then(Value::as_f64).unwrap_or(key.default);
    value.as_f64().is_none_or(|value| value > in_force)
}
