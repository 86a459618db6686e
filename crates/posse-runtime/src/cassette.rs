//! A recording of what a run said to its providers and what they answered, without secrets.
//!
//! A replay answers from it with no network; a request that differs from the recorded one is refused, with
//! the difference. The plan's frozen environment is part of it, so that a replay works on any day and anywhere.

use std::path::Path;

use posse_core::model::ModelChoice;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::TextDiff;

use crate::file::write_atomically;

const VERSION: u32 = 1;
/// The most lines of a difference that are shown.
const DIFF_LINES_MAX: usize = 60;

/// What was said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cassette {
    /// The version of the file.
    pub v: u32,
    /// The agent that ran.
    pub agent: String,
    /// What a plan takes from its surroundings.
    pub frozen: Frozen,
    /// Request and answer, in order.
    pub exchanges: Vec<Exchange>,
}

/// What a plan takes from its surroundings, as it was then.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Frozen {
    /// The day.
    pub date: String,
    /// The directory, as the model was told.
    pub workspace: String,
    /// The kind of machine.
    pub platform: String,
    /// The model as it was asked for: by the definition, or by `--model`.
    pub model_wanted: Option<String>,
    /// The model that was asked.
    pub model: ModelChoice,
    /// The model that shortened the conversation, if it had to be.
    pub compaction_model: ModelChoice,
}

/// One request and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// What followed the base URL.
    pub path: String,
    /// The request's body.
    pub request: Value,
    /// The answer's status; 0 when there was none.
    pub status: u16,
    /// What the answer was.
    pub content_type: String,
    /// How long the provider asked to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<String>,
    /// The answer's body, as far as it came.
    pub body: String,
    /// How the connection broke, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A recording that is being made.
#[derive(Debug, Default)]
pub struct Tape {
    exchanges: Vec<Exchange>,
    /// Values that must not be in it, and what stands for each.
    secrets: Vec<(String, String)>,
}

impl Exchange {
    /// A request that has no answer yet.
    pub(crate) fn of_request(path: &str, body: &[u8]) -> Exchange {
        Exchange {
            path: path.to_owned(),
            request: serde_json::from_slice(body).unwrap_or(Value::Null),
            status: 0,
            content_type: String::new(),
            retry_after: None,
            body: String::new(),
            error: None,
        }
    }
}

impl Tape {
    /// Leaves these values out, each by the name of what holds it.
    pub fn hide(&mut self, secrets: Vec<(String, String)>) {
        self.secrets = secrets;
    }

    pub(crate) fn keep(&mut self, exchange: Exchange) {
        self.exchanges.push(exchange);
    }

    /// What was asked, in order.
    pub fn requests(&self) -> impl Iterator<Item = &Value> {
        self.exchanges.iter().map(|exchange| &exchange.request)
    }

    /// Writes the recording to a file.
    pub fn save(&self, path: &Path, agent: &str, frozen: &Frozen) -> std::io::Result<()> {
        let (agent, frozen) = (agent.to_owned(), frozen.clone());
        let cassette = Cassette { v: VERSION, agent, frozen, exchanges: self.exchanges.clone() };
        let mut text = serde_json::to_string_pretty(&cassette)?;
        for (name, secret) in &self.secrets {
            // As it stands in JSON: a secret with a quote in it is written with a backslash.
            let written = serde_json::to_string(secret)?;
            text = text.replace(written.trim_matches('"'), &format!("[{name}]"));
        }
        text.push('\n');
        write_atomically(path, text.as_bytes())
    }
}

impl Cassette {
    /// Reads a recording.
    pub fn load(path: &Path) -> Result<Cassette, String> {
        let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
        let cassette: Cassette =
            serde_json::from_slice(&bytes).map_err(|error| format!("not a recording: {error}"))?;
        if cassette.v != VERSION {
            return Err(format!("a recording of version {}; this Posse reads version {VERSION}", cassette.v));
        }
        Ok(cassette)
    }

    /// The answer to a request, if it is the one that was recorded at this place.
    pub(crate) fn exchange(&self, number: usize, path: &str, body: &[u8]) -> Result<&Exchange, String> {
        let count = self.exchanges.len();
        let Some(exchange) = self.exchanges.get(number) else {
            return Err(format!(
                "the recording has {count} requests, and this would be number {}",
                number + 1
            ));
        };
        let request: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        if exchange.request == request && exchange.path == path {
            return Ok(exchange);
        }
        let (recorded, now) = (shown(&exchange.path, &exchange.request), shown(path, &request));
        let difference = difference(&recorded, &now);
        Err(format!(
            "request {} of {count} differs from the recording (- recorded, + now); record it again if that is meant\n{difference}",
            number + 1
        ))
    }
}

/// A request as lines, its texts broken where they break.
fn shown(path: &str, request: &Value) -> String {
    let pretty = serde_json::to_string_pretty(request).unwrap_or_default();
    format!("POST {path}\n{}", pretty.replace("\\n", "\\n\n"))
}

fn difference(recorded: &str, now: &str) -> String {
    let diff = TextDiff::from_lines(recorded, now).unified_diff().context_radius(2).to_string();
    let lines: Vec<&str> = diff.lines().collect();
    let mut shown = lines[..lines.len().min(DIFF_LINES_MAX)].join("\n");
    if lines.len() > DIFF_LINES_MAX {
        shown += &format!("\n… {} more lines", lines.len() - DIFF_LINES_MAX);
    }
    shown
}
