//! What answers a model request: the seam, and what every wire protocol must be able to do.
//!
//! A protocol only turns values into bytes and bytes into values; sending is `transport`, trying again is
//! the engine's.

mod anthropic;
mod gemini;
pub(crate) mod http;
mod openai;
mod openai_chat;
mod openai_responses;
mod sse;
pub mod transport;
mod wire;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use posse_core::message::{Answer, Api, Message, ToolSpec};

/// One question to a model.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// The model, by its provider's own name.
    pub model: &'a str,
    /// The blocks of the system prompt, in order.
    pub system: &'a [String],
    /// The tools the model is told about.
    pub tools: &'a [ToolSpec],
    /// False when no tool may be called; the tools are still sent, so that the cached prefix holds.
    pub tools_allowed: bool,
    /// Which edition of model, system prompt and tools this is: what a run has not changed is not written again.
    pub edition: u32,
    /// The conversation, which begins and ends with a message of the caller's side.
    pub messages: &'a [Arc<Message>],
    /// The most tokens the answer may have; `None` where nobody knows what the model can.
    pub output_tokens_max: Option<u64>,
    /// How hard to think, in the model's own terms.
    pub thinking: Thinking,
    /// True when the model is known to think: its thoughts are asked for in the form that goes back.
    pub thinks: bool,
    /// The longest silence between two bytes.
    pub stall: Duration,
}

/// How hard a model is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// As it does by itself: nothing is sent.
    Unset,
    /// So many tokens.
    Budget(u64),
    /// By a word: `minimal`, `low`, `medium`, `high`, `max` or what the API has.
    Effort(&'static str),
}

/// A piece of an answer while it streams. Live only: never stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delta {
    /// Words.
    Text(String),
    /// Thoughts.
    Thinking(String),
    /// A call of this tool has begun.
    Call(String),
}

/// What went wrong, by what a caller does about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Worth asking again: overload, rate limit, a cut or silent connection, garbage.
    Passing,
    /// The conversation is longer than the model takes.
    ContextTooLong,
    /// Asking again would not help: bad request, bad key, unknown model, not this API.
    Lasting,
}

/// A question that was not answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderError {
    /// What to do about it.
    pub fault: Fault,
    /// The HTTP status, if there was an answer.
    pub status: Option<u16>,
    /// What went wrong, in the provider's own words where it has some.
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
}

/// An answer that is on its way.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<Answer, ProviderError>> + Send + 'a>>;

/// Answers the questions of one run. It may keep what it has written of the conversation, which only grows.
pub trait Provider: Send {
    /// Asks once; what streams is handed on as it comes. Nothing is tried again here.
    fn answer<'a>(
        &'a mut self,
        ask: &'a Ask<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Answering<'a>;
}

/// What an event stream turned out to hold.
pub(crate) trait Decoder: Send {
    /// Takes one server-sent event; `name` is its `event:` field, empty where there is none.
    fn event(
        &mut self,
        name: &str,
        data: &str,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ProviderError>;

    /// True when the answer is complete and nothing more is needed.
    fn is_complete(&self) -> bool;

    /// The answer, when the stream is over; a stream that ended too early is a passing fault.
    fn finish(self: Box<Self>) -> Result<Answer, ProviderError>;
}

/// One wire protocol, without state.
pub(crate) trait Protocol: Send + Sync {
    /// What follows the base URL, with its leading slash.
    fn path(&self, model: &str) -> String;

    /// The headers that carry the key and what the API wants besides.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// Writes a message as elements of the request's list of messages, separated by commas where it becomes
    /// several. `cached` marks its end as worth caching, where the API is told so.
    fn message(&self, message: &Message, cached: bool, out: &mut Vec<u8>);

    /// Writes a request up to where its messages begin; they and `]}` complete it.
    fn head(&self, ask: &Ask<'_>, out: &mut Vec<u8>);

    /// A reader for one answer.
    fn decoder(&self) -> Box<dyn Decoder>;

    /// The error that a status other than 2xx and its body stand for; `retry_after` is filled in by the caller.
    fn refusal(&self, status: u16, body: &str) -> ProviderError;
}

impl ProviderError {
    /// A fault worth asking again for.
    pub(crate) fn passing(message: impl Into<String>) -> ProviderError {
        ProviderError { fault: Fault::Passing, status: None, message: message.into(), retry_after: None }
    }

    /// A fault that asking again does not mend.
    pub(crate) fn lasting(message: impl Into<String>) -> ProviderError {
        ProviderError { fault: Fault::Lasting, status: None, message: message.into(), retry_after: None }
    }
}

/// What a status means to a caller, unless the words beside it say more.
pub(crate) fn fault_of_status(status: u16) -> Fault {
    match status {
        408 | 409 | 425 | 429 | 500..=599 => Fault::Passing,
        _ => Fault::Lasting,
    }
}

/// The protocol of that name, unless it needs no wire.
pub(crate) fn protocol(api: Api) -> Option<&'static dyn Protocol> {
    match api {
        Api::Anthropic => Some(&anthropic::Anthropic),
        Api::OpenaiChat => Some(&openai_chat::OpenaiChat),
        Api::OpenaiResponses => Some(&openai_responses::OpenaiResponses),
        Api::Gemini => Some(&gemini::Gemini),
        Api::Local => None,
    }
}

#[cfg(test)]
mod tests;
