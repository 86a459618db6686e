//! Which model a run asks, at which provider, for what price: names, tiers and vendors as data.

mod choose;
mod table;
mod vendor;

use serde::{Deserialize, Serialize};

use crate::message::{Api, Usage};

pub use choose::{Wanted, choose_model};
pub use table::{DATA_DATE, ModelFacts, ThinkingForm, facts};
pub use vendor::{VENDORS, Vendor};

/// A model with everything that is needed to ask it; the key by the name of its variable only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelChoice {
    /// The provider's name.
    pub provider: String,
    /// What it speaks.
    pub api: Api,
    /// The model, by the provider's own name.
    pub model: String,
    /// Where it is reached.
    pub base_url: String,
    /// The variable that holds the key.
    #[serde(default)]
    pub api_key_env: Option<String>,
    /// Names of further headers that the configuration gives values to.
    #[serde(default)]
    pub headers: Vec<String>,
    /// How many tokens a conversation may have; `None` where it is not known.
    #[serde(default)]
    pub context_tokens: Option<u64>,
    /// How many tokens an answer may have; `None` where it is not known.
    #[serde(default)]
    pub output_tokens: Option<u64>,
    /// What it costs; `None` where it is not known.
    #[serde(default)]
    pub price: Option<Price>,
    /// How it is asked to think harder.
    #[serde(default)]
    pub thinking: ThinkingForm,
    /// True when it can be shown pictures and documents.
    #[serde(default)]
    pub takes_media: bool,
}

/// US dollars for a million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Sent and not cached.
    pub input: f64,
    /// Answered.
    pub output: f64,
    /// Sent and read from a cache; like `input` where it is not known.
    #[serde(default)]
    pub cache_read: Option<f64>,
    /// Sent and written to a cache; like `input` where it is not known.
    #[serde(default)]
    pub cache_write: Option<f64>,
}

impl Price {
    /// What some tokens cost.
    pub fn of(&self, usage: &Usage) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "token counts are far below 2^52")]
        let part = |tokens: u64, price: f64| tokens as f64 * price / 1_000_000.0;
        part(usage.input_tokens, self.input)
            + part(usage.output_tokens, self.output)
            + part(usage.cache_read_tokens, self.cache_read.unwrap_or(self.input))
            + part(usage.cache_write_tokens, self.cache_write.unwrap_or(self.input))
    }
}

/// A provider that is configured or built in, as far as it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderEntry {
    /// Its name, before the slash of a model.
    pub name: String,
    /// What it speaks.
    pub api: Api,
    /// Where it is reached.
    pub base_url: String,
    /// The variable that holds its key; `None` where none is needed.
    pub api_key_env: Option<String>,
    /// True when that variable is set.
    pub has_key: bool,
    /// Names of further headers.
    pub headers: Vec<String>,
    /// True for a server of this machine, which is only used by itself when it was found running.
    pub is_local_server: bool,
}

/// A model server that was found running on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundServer {
    /// Its provider's name.
    pub provider: String,
    /// The model it has ready, the first it lists.
    pub model: String,
}

/// What models there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ModelWorld {
    /// Providers, those that are tried first, first.
    pub providers: Vec<ProviderEntry>,
    /// Servers of this machine; `None` when nobody has looked yet.
    pub servers: Option<Vec<FoundServer>>,
    /// The model of the caller's run, as `provider/model`.
    pub callers: Option<String>,
    /// The choice that was recorded, when a recorded run is replayed: taken instead of any other.
    pub recorded: Option<ModelChoice>,
}

impl ProviderEntry {
    /// True when it can be asked.
    pub fn is_ready(&self) -> bool {
        self.api_key_env.is_none() || self.has_key
    }
}

#[cfg(test)]
mod tests;
