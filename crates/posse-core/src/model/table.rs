//! Prices and context windows: a dated file, with a person's own values over it.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Price;
use crate::plan::Settings;

/// What is known about a model.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelFacts {
    /// How many tokens a conversation may have.
    pub context_tokens: Option<u64>,
    /// How many tokens an answer may have.
    pub output_tokens: Option<u64>,
    /// What it costs.
    pub price: Option<Price>,
    /// How it is asked to think harder.
    pub thinking: ThinkingForm,
    /// True when it can be shown pictures and documents.
    pub takes_media: bool,
}

/// How a model is asked to think harder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingForm {
    /// Not at all, or nobody knows.
    #[default]
    None,
    /// By a number of tokens.
    Budget,
    /// By a word, and it decides how much.
    Adaptive,
    /// By a word.
    Effort,
    /// By a level.
    Level,
}

#[derive(Deserialize)]
struct Table {
    date: String,
    vendors: serde_json::Map<String, Value>,
    models: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    vendor: String,
    id: String,
    context: Option<u64>,
    output: Option<u64>,
    usd: Option<Price>,
    #[serde(default)]
    thinking: ThinkingForm,
    /// Absent where it is like the vendor's others.
    media: Option<bool>,
}

/// Vendors whose models take pictures and documents unless their row says otherwise.
const MEDIA_VENDORS: &[&str] = &["anthropic", "openai", "gemini"];

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_json::from_str(include_str!("data.json")).expect("the table of models is valid"));

/// The day on which the table was made.
pub static DATA_DATE: LazyLock<&'static str> = LazyLock::new(|| &TABLE.date);

/// What is known about a provider's model: the table, and what the configuration says over it.
pub fn facts(provider: &str, model: &str, settings: &Settings) -> ModelFacts {
    let row = find(provider, model);
    let mut facts = row.map_or_else(ModelFacts::default, |row| ModelFacts {
        context_tokens: row.context,
        output_tokens: row.output,
        price: row.usd,
        thinking: row.thinking,
        takes_media: false,
    });
    let row_says = row.and_then(|row| row.media);
    facts.takes_media = row_says.unwrap_or_else(|| MEDIA_VENDORS.contains(&provider));
    let own = settings.get("prices").and_then(|prices| prices.value.get(format!("{provider}/{model}")));
    if let Some(own) = own {
        let number = |key: &str| own.get(key).and_then(Value::as_f64);
        if let (Some(input), Some(output)) = (number("input"), number("output")) {
            let (cache_read, cache_write) = (number("cache_read"), number("cache_write"));
            facts.price = Some(Price { input, output, cache_read, cache_write });
        }
        facts.context_tokens = own.get("context").and_then(Value::as_u64).or(facts.context_tokens);
        facts.takes_media = own.get("media").and_then(Value::as_bool).unwrap_or(facts.takes_media);
        facts.output_tokens = own.get("max_output").and_then(Value::as_u64).or(facts.output_tokens);
    }
    facts
}

/// The row whose name is the model's; a dated, latest or preview one is the same model.
fn find(vendor: &str, model: &str) -> Option<&'static Row> {
    let same = |rest: &str| match rest.strip_prefix(['-', '@']) {
        // Three digits or more are a date or a build; one or two are another model.
        Some(rest) => {
            let digits = rest.chars().take_while(char::is_ascii_digit).count();
            rest == "latest" || rest.starts_with("preview") || digits >= 3
        }
        None => rest.is_empty(),
    };
    let fits = |row: &&Row| row.vendor == vendor && model.strip_prefix(row.id.as_str()).is_some_and(same);
    TABLE.models.iter().filter(fits).max_by_key(|row| row.id.len())
}

/// The vendor that has a model of this very name.
pub(super) fn vendor_of(model: &str) -> Option<&'static str> {
    TABLE.models.iter().map(|row| row.vendor.as_str()).find(|vendor| find(vendor, model).is_some())
}

/// The vendor's model of a tier: `small`, `medium` or `large`.
pub(super) fn tier_model(vendor: &str, tier: &str) -> Option<&'static str> {
    TABLE.vendors.get(vendor)?.get(tier)?.as_str()
}

/// The identifier that a name for people stands for: `Claude Sonnet 4.5 (copilot)`, `GPT-4.1`.
pub(super) fn id_of_display_name(name: &str) -> Option<&'static str> {
    let plain = name.split('(').next().unwrap_or(name);
    let squash =
        |text: &str| -> String { text.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect() };
    let wanted = squash(plain);
    TABLE.models.iter().map(|row| row.id.as_str()).find(|id| squash(id) == wanted)
}

#[cfg(test)]
mod tests;
