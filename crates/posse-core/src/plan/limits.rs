//! What a run may use up: every limit has a default, and none is unlimited.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Choice;
use super::resolve::{Request, Settings};
use crate::definition::{Definition, Dialect};

/// What a run may use up.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Limits {
    /// Wall clock, in milliseconds.
    pub timeout_ms: Choice<u64>,
    /// The longest silence of a provider, in milliseconds.
    pub stall_ms: Choice<u64>,
    /// Questions to the model; one more is granted, without tools, when they are spent.
    pub turns: Choice<u64>,
    /// Tokens of all kinds.
    pub tokens: Choice<u64>,
    /// US dollars; `None` where the price is not known.
    pub budget_usd: Option<Choice<f64>>,
    /// How often a question is asked again.
    pub retries: Choice<u64>,
    /// The longest wait between two attempts and for all of them together, in milliseconds.
    pub retry_wait_ms: Choice<u64>,
    /// Bytes of task and context.
    pub input_bytes: Choice<u64>,
    /// Bytes of one tool's result.
    pub tool_output_bytes: Choice<u64>,
    /// Bytes of the result that a caller is handed.
    pub result_bytes: Choice<u64>,
}

/// Where a limit may be set, in the order in which it counts.
#[derive(Debug, Clone)]
pub struct Origin<'a, T> {
    /// On the command line or by the caller.
    pub request: Option<(T, &'a str)>,
    /// In the definition.
    pub definition: Option<T>,
    /// The dialect's own default.
    pub dialect: Option<T>,
}

impl<T: Copy> Origin<'_, T> {
    fn choose(self, dialect: Dialect, configured: Option<Choice<T>>, default: T) -> Choice<T> {
        if let Some((value, flag)) = self.request {
            return Choice::new(value, flag);
        }
        if let Some(value) = self.definition {
            return Choice::new(value, "definition");
        }
        if let Some(value) = self.dialect {
            return Choice::new(value, format!("default of {}", dialect.as_str()));
        }
        configured.unwrap_or_else(|| Choice::new(default, "default"))
    }
}

impl Limits {
    /// Decides every limit; `price_known` says whether money can be counted at all.
    pub(super) fn resolve(
        definition: &Definition,
        request: &Request,
        settings: &Settings,
        price_known: bool,
    ) -> Limits {
        let dialect = definition.dialect;
        let own = &dialect.table().defaults;
        let budget = definition.budget;
        let number =
            |key: &str, default: u64| count(settings, key).unwrap_or_else(|| Choice::new(default, "default"));
        let timeout = Origin {
            request: request.timeout_ms.map(|ms| (ms, "--timeout")),
            definition: definition.timeout_ms,
            dialect: own.timeout_ms,
        };
        let turns = Origin {
            request: request.turns.map(|turns| (turns, "--max-turns")),
            definition: definition.max_turns,
            dialect: own.turns,
        };
        let tokens =
            Origin { request: None, definition: budget.and_then(|budget| budget.tokens), dialect: None };
        let usd = Origin {
            request: request.budget_usd.map(|usd| (usd, "--budget-usd")),
            definition: budget.and_then(|budget| budget.usd),
            dialect: None,
        };
        let usd = usd.choose(dialect, amount(settings, "limits.budget_usd"), 5.0);
        Limits {
            timeout_ms: timeout.choose(dialect, count(settings, "limits.timeout"), 600_000),
            stall_ms: number("limits.stall", 120_000),
            turns: turns.choose(dialect, count(settings, "limits.turns"), 50),
            tokens: tokens.choose(dialect, count(settings, "limits.tokens"), 2_000_000),
            budget_usd: Some(usd).filter(|usd| price_known || usd.from != "default"),
            retries: number("limits.retries", 6),
            retry_wait_ms: number("limits.retry_wait", 120_000),
            input_bytes: number("limits.input_bytes", 1_048_576),
            tool_output_bytes: number("limits.tool_output_bytes", 30_000),
            result_bytes: number("limits.result_bytes", 32_768),
        }
    }
}

fn count(settings: &Settings, key: &str) -> Option<Choice<u64>> {
    let setting = settings.get(key)?;
    setting.value.as_u64().map(|value| Choice::new(value, setting.from.clone()))
}

fn amount(settings: &Settings, key: &str) -> Option<Choice<f64>> {
    let setting = settings.get(key)?;
    Value::as_f64(&setting.value).map(|value| Choice::new(value, setting.from.clone()))
}
