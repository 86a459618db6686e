//! Shortening a conversation: a model is shown it as text and writes what must not be lost.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use posse_core::event::{Compacted, Fact};
use posse_core::message::{Finish, Message, Part, Role};
use posse_core::outcome::RunError;
use posse_core::text::cut_at_char;

use super::ask::{Audience, Question, Reply};
use super::{NativeRun, cost, output_tokens_max};
use crate::provider::{Ask, Thinking};
use crate::store::{Durability, StoreError};

/// The most bytes of one tool's result that the record shows.
const RESULT_BYTES_MAX: usize = 4_000;
/// Bytes of the record for each token of the window, a fourth of which is left for the answer.
const BYTES_PER_WINDOW_TOKEN: u64 = 2;
/// The most bytes of the record where the window is not known.
const RECORD_BYTES_DEFAULT: u64 = 200_000;

impl NativeRun<'_> {
    /// Replaces what can be replaced by a summary; gives why the run fails if that cannot be had.
    pub(super) async fn compact(&mut self) -> Result<Option<RunError>, StoreError> {
        let plan = self.plan.clone();
        let model = &plan.compaction_model.value;
        let mut provider = match self.engine.providers.open(model) {
            Ok(provider) => provider,
            Err(message) => return Ok(Some(RunError::new("provider", message))),
        };
        let kept = self.transcript.kept_when_compacted();
        let bytes_max =
            model.context_tokens.map_or(RECORD_BYTES_DEFAULT, |tokens| tokens * BYTES_PER_WINDOW_TOKEN);
        let record =
            record(&self.transcript.messages[..kept], usize::try_from(bytes_max).unwrap_or(usize::MAX));
        let messages = [Arc::new(Message::user(record))];
        let system = [include_str!("compact.md").trim_end().to_owned()];
        let ask = Ask {
            model: &model.model,
            system: &system,
            tools: &[],
            tools_allowed: false,
            edition: 0,
            messages: &messages,
            output_tokens_max: output_tokens_max(model),
            thinking: Thinking::Unset,
            thinks: false,
            stall: Duration::from_millis(plan.limits.stall_ms.value),
        };
        let turn = self.transcript.turns + 1;
        let question = Question { turn, model, ask, audience: Audience::Nobody };
        match self.ask(provider.as_mut(), &question).await? {
            Reply::Stopped => Ok(None),
            Reply::Failed(error) => Ok(Some(error)),
            Reply::TooLong(_) => {
                Ok(Some(RunError::new("context", "the conversation is too long even to be shortened")))
            }
            Reply::Answered(answer) => {
                let summary = answer.message.text();
                if summary.trim().is_empty() || answer.finish == Finish::Refusal {
                    let message = "the conversation is too long, and the model gave no summary of it";
                    return Ok(Some(RunError::new("context", message)));
                }
                let (usage, cost_usd) = (answer.usage, cost(model, &answer.usage));
                self.note(Fact::Compacted(Compacted { summary, messages: kept as u64, usage, cost_usd }));
                self.recorder.flush(Durability::Process).await?;
                Ok(None)
            }
        }
    }
}

/// The conversation as text; from its middle is left out what does not fit.
fn record(messages: &[Arc<Message>], bytes_max: usize) -> String {
    let mut text = String::new();
    for message in messages {
        let who = match message.role {
            Role::User => "User",
            Role::Assistant => "Agent",
        };
        for part in &message.parts {
            let written = match part {
                Part::Text { text: said } => writeln!(text, "{who}: {said}\n"),
                Part::Thinking { .. } => Ok(()),
                Part::ToolCall(call) => writeln!(text, "Agent called {} {}\n", call.name, call.input),
                Part::ToolResult(result) => {
                    let kept = cut_at_char(&result.text, RESULT_BYTES_MAX);
                    let mark = if kept.len() < result.text.len() { " […]" } else { "" };
                    writeln!(text, "{} answered: {kept}{mark}\n", result.name)
                }
            };
            written.expect("writing to a string does not fail");
        }
    }
    if text.len() <= bytes_max {
        return text;
    }
    let head = cut_at_char(&text, bytes_max / 3);
    let tail_start = text.ceil_char_boundary(text.len() - (bytes_max - head.len()));
    format!("{head}\n[… left out …]\n{}", &text[tail_start..])
}
