//! An answer of Gemini's `streamGenerateContent`, read chunk by chunk.
//!
//! Each chunk is a whole response with the parts that are new. Nothing here knows how a request looks.

use posse_core::message::{Answer, Api, Finish, Message, Part, Role, Seal, ToolCall, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{OWN_ID, SIGNATURE, SIGNED, Signed};
use crate::provider::wire::{self, OnDelta, Words, tell};
use crate::provider::{Decoder, Delta, Fault, ProviderError, fault_of_status};

/// The answer as far as it came.
#[derive(Default)]
pub(super) struct Stream {
    answer_id: String,
    parts: Vec<Part>,
    /// True when the last part takes more of its kind; one that was signed does not.
    is_open: bool,
    tokens: Tokens,
    end: Option<End>,
}

/// How an answer ended.
#[derive(Clone, Copy)]
enum End {
    /// It was done.
    Over,
    /// Its output limit was reached.
    Full,
    /// A filter, or the model, declined.
    Declined,
    /// For a reason that is not told, which is often nothing but bad luck.
    Unexplained,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(borrow)]
    response_id: Option<Words<'a>>,
    #[serde(borrow)]
    candidates: Option<Vec<Candidate<'a>>>,
    prompt_feedback: Option<PromptFeedback>,
    usage_metadata: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    finish_reason: Option<FinishReason>,
    #[serde(borrow)]
    finish_message: Option<Words<'a>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Option<Vec<WirePart<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(borrow)]
    text: Option<Words<'a>>,
    thought: Option<bool>,
    #[serde(borrow)]
    thought_signature: Option<Words<'a>>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    #[serde(borrow)]
    id: Option<Words<'a>>,
    #[serde(borrow)]
    name: Option<Words<'a>>,
    args: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum FinishReason {
    /// Not over; some servers say so in every chunk.
    #[serde(rename = "FINISH_REASON_UNSPECIFIED", alias = "")]
    Unspecified,
    Stop,
    MaxTokens,
    Safety,
    Recitation,
    Language,
    Blocklist,
    ProhibitedContent,
    Spii,
    ImageSafety,
    MalformedFunctionCall,
    MalformedResponse,
    UnexpectedToolCall,
    TooManyToolCalls,
    MissingThoughtSignature,
    Other,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    block_reason: Option<serde::de::IgnoredAny>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    prompt_token_count: Option<u64>,
    cached_content_token_count: Option<u64>,
    candidates_token_count: Option<u64>,
    thoughts_token_count: Option<u64>,
}

impl Decoder for Stream {
    fn event(&mut self, _name: &str, data: &str, on_delta: OnDelta<'_>) -> Result<(), ProviderError> {
        if matches!(data.trim(), "" | "[DONE]") {
            return Ok(());
        }
        let chunk: Chunk<'_> =
            serde_json::from_str(data).map_err(|error| wire::unreadable("Gemini", &error, data))?;
        if let Some(error) = &chunk.error {
            return Err(wire::error_in_stream(error, fault_of(error)));
        }
        if let Some(id) = chunk.response_id {
            self.answer_id = id.into_owned();
        }
        if let Some(tokens) = chunk.usage_metadata {
            self.count(&tokens);
        }
        if chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.is_some()) {
            self.end = Some(End::Declined);
        }
        // Only one candidate is asked for.
        match chunk.candidates.into_iter().flatten().next() {
            Some(candidate) => self.take(candidate, on_delta),
            None => Ok(()),
        }
    }

    /// Never: the protocol has no end mark but the end of the stream, and a server may name a finish reason
    /// in every chunk.
    fn is_complete(&self) -> bool {
        false
    }

    fn finish(self: Box<Self>) -> Result<Answer, ProviderError> {
        let Stream { answer_id, mut parts, is_open: _, tokens, end } = *self;
        let finish = match end {
            None => return Err(wire::cut_short()),
            Some(End::Unexplained) if parts.is_empty() => {
                return Err(ProviderError::passing("Gemini ended the answer before it began: OTHER"));
            }
            Some(End::Over | End::Unexplained) => wire::finish_of(&parts),
            Some(End::Full) => Finish::MaxTokens,
            Some(End::Declined) => Finish::Refusal,
        };
        let usage = usage(&tokens);
        wire::name_calls(OWN_ID, &answer_id, &usage, &mut parts);
        Ok(Answer { message: Message { role: Role::Assistant, parts }, finish, usage })
    }
}

impl Stream {
    fn take(&mut self, candidate: Candidate<'_>, on_delta: OnDelta<'_>) -> Result<(), ProviderError> {
        for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
            self.take_part(part, on_delta);
        }
        if let Some(reason) = candidate.finish_reason {
            self.end = end(&reason, candidate.finish_message.as_deref())?.or(self.end);
        }
        Ok(())
    }

    /// Takes over what is counted; counts are of the whole answer so far.
    fn count(&mut self, new: &Tokens) {
        let old = &self.tokens;
        self.tokens = Tokens {
            prompt_token_count: new.prompt_token_count.or(old.prompt_token_count),
            cached_content_token_count: new.cached_content_token_count.or(old.cached_content_token_count),
            candidates_token_count: new.candidates_token_count.or(old.candidates_token_count),
            thoughts_token_count: new.thoughts_token_count.or(old.thoughts_token_count),
        };
    }

    fn take_part(&mut self, part: WirePart<'_>, on_delta: OnDelta<'_>) {
        let signature = part.thought_signature.map(Words::into_owned).filter(|sign| !sign.is_empty());
        if let Some(call) = part.function_call {
            self.take_call(call, signature, on_delta);
            return;
        }
        let words = part.text.map(Words::into_owned).unwrap_or_default();
        if part.thought == Some(true) {
            self.take_thought(&words, signature);
            tell(Delta::Thinking(words), on_delta);
        } else {
            self.take_text(&words, signature);
            tell(Delta::Text(words), on_delta);
        }
    }

    fn take_call(&mut self, call: FunctionCall<'_>, signature: Option<String>, on_delta: OnDelta<'_>) {
        let (input, malformed) = arguments(call.args);
        let id = call.id.map(Words::into_owned).unwrap_or_default();
        let name = call.name.map(Words::into_owned).unwrap_or_default();
        on_delta(Delta::Call(name.clone()));
        let mut value = Map::new();
        value.extend(signature.map(|sign| (SIGNATURE.to_owned(), Value::String(sign))));
        if !id.is_empty() {
            value.insert("id".to_owned(), Value::String(id.clone()));
        }
        let seal = (!value.is_empty()).then(|| seal(Value::Object(value)));
        self.parts.push(Part::ToolCall(ToolCall { id, name, input, malformed, seal }));
        self.is_open = false;
    }

    /// Takes a piece of a thought. A signature closes the thought, and may come without words.
    fn take_thought(&mut self, words: &str, signature: Option<String>) {
        let seal = signature.map(|sign| signed(&sign, Signed::Thought));
        let is_sealed = seal.is_some();
        if words.is_empty() && !is_sealed {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Thinking { text, seal: last }) if self.is_open => {
                text.push_str(words);
                *last = seal;
            }
            Some(_) | None => self.parts.push(Part::Thinking { text: words.to_owned(), seal }),
        }
        self.is_open = !is_sealed;
    }

    /// Takes a piece of a text. One that is signed stays apart, because its signature is for it alone.
    fn take_text(&mut self, words: &str, signature: Option<String>) {
        if let Some(signature) = signature {
            let what = if words.is_empty() { Signed::EmptyText } else { Signed::NextText };
            let seal = Some(signed(&signature, what));
            self.parts.push(Part::Thinking { text: String::new(), seal });
            self.is_open = false;
            if !words.is_empty() {
                self.parts.push(Part::Text { text: words.to_owned() });
            }
            return;
        }
        if words.is_empty() {
            return;
        }
        match self.parts.last_mut() {
            Some(Part::Text { text }) if self.is_open => text.push_str(words),
            Some(_) | None => self.parts.push(Part::Text { text: words.to_owned() }),
        }
        self.is_open = true;
    }
}

fn seal(value: Value) -> Seal {
    Seal { api: Api::Gemini, value }
}

fn signed(signature: &str, what: Signed) -> Seal {
    seal(json!({ SIGNATURE: signature, SIGNED: what.as_str() }))
}

/// The arguments, which come parsed; loose servers send them as a string.
fn arguments(args: Option<Value>) -> (Value, Option<String>) {
    match args {
        None | Some(Value::Null) => wire::arguments(""),
        Some(input @ Value::Object(_)) => (input, None),
        Some(Value::String(raw)) => wire::arguments(&raw),
        Some(other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_))) => {
            wire::arguments(&other.to_string())
        }
    }
}

/// How the answer ended, if it did; an end that is no answer is a fault.
fn end(reason: &FinishReason, words: Option<&str>) -> Result<Option<End>, ProviderError> {
    let fault = |fault, name| {
        let words = words.map(wire::excerpt).filter(|words| !words.is_empty());
        let message = words.unwrap_or_else(|| format!("Gemini ended the answer with {name}"));
        Err(ProviderError { fault, status: None, message, retry_after: None })
    };
    match reason {
        FinishReason::Unspecified => Ok(None),
        FinishReason::Stop | FinishReason::Unknown => Ok(Some(End::Over)),
        FinishReason::Other => Ok(Some(End::Unexplained)),
        FinishReason::MaxTokens => Ok(Some(End::Full)),
        FinishReason::Safety
        | FinishReason::Recitation
        | FinishReason::Language
        | FinishReason::Blocklist
        | FinishReason::ProhibitedContent
        | FinishReason::Spii
        | FinishReason::ImageSafety => Ok(Some(End::Declined)),
        FinishReason::MalformedFunctionCall => fault(Fault::Passing, "MALFORMED_FUNCTION_CALL"),
        FinishReason::MalformedResponse => fault(Fault::Passing, "MALFORMED_RESPONSE"),
        FinishReason::UnexpectedToolCall => fault(Fault::Passing, "UNEXPECTED_TOOL_CALL"),
        FinishReason::TooManyToolCalls => fault(Fault::Passing, "TOO_MANY_TOOL_CALLS"),
        FinishReason::MissingThoughtSignature => fault(Fault::Lasting, "MISSING_THOUGHT_SIGNATURE"),
    }
}

fn usage(tokens: &Tokens) -> Usage {
    let cached = tokens.cached_content_token_count.unwrap_or(0);
    let answered = tokens.candidates_token_count.unwrap_or(0);
    Usage {
        input_tokens: tokens.prompt_token_count.unwrap_or(0).saturating_sub(cached),
        output_tokens: answered.saturating_add(tokens.thoughts_token_count.unwrap_or(0)),
        cache_read_tokens: cached,
        cache_write_tokens: 0,
    }
}

/// What an error inside a stream stands for, by its code or else by its name.
fn fault_of(error: &Value) -> Fault {
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    if let Some(code) = code {
        return fault_of_status(code);
    }
    match error.get("status").and_then(Value::as_str) {
        Some(
            "INVALID_ARGUMENT"
            | "FAILED_PRECONDITION"
            | "OUT_OF_RANGE"
            | "UNAUTHENTICATED"
            | "PERMISSION_DENIED"
            | "NOT_FOUND"
            | "UNIMPLEMENTED",
        ) => Fault::Lasting,
        Some(_) | None => Fault::Passing,
    }
}

#[cfg(test)]
mod tests;
