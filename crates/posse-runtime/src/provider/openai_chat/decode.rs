//! Reads the chunks of a streamed chat completion.
//!
//! Servers take liberties with this API: whatever can be understood is. Nothing is written here.

use posse_core::message::{Answer, Api, Finish, Message, Part, Role, Seal, Usage};
use serde::Deserialize;
use serde_json::{Value, json};

use super::details::{Details, words_of};
use crate::provider::openai::{self, Loose};
use crate::provider::wire::{self, OnDelta};
use crate::provider::{Decoder, Delta, ProviderError};

/// What has come of one answer.
#[derive(Debug, Default)]
pub(super) struct ChatDecoder {
    response_id: String,
    thinking: String,
    details: Details,
    text: String,
    refusal: String,
    calls: Vec<CallSoFar>,
    finish: Option<Finish>,
    usage: Usage,
    /// True when thoughts came as `reasoning_content`.
    has_reasoning_content: bool,
    /// True when the server said `[DONE]`.
    done: bool,
}

/// A call whose arguments may still come.
#[derive(Debug)]
struct CallSoFar {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Chunk<'a> {
    #[serde(borrow)]
    id: Loose<'a>,
    #[serde(borrow)]
    object: Loose<'a>,
    #[serde(borrow)]
    created: Loose<'a>,
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<ChunkUsage>,
    #[serde(borrow)]
    error: Loose<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Choice<'a> {
    #[serde(borrow)]
    delta: Option<ChoiceDelta<'a>>,
    /// What a server that does not really stream has in place of the delta.
    #[serde(borrow)]
    message: Option<ChoiceDelta<'a>>,
    #[serde(borrow)]
    finish_reason: Loose<'a>,
    #[serde(borrow)]
    error: Loose<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChoiceDelta<'a> {
    #[serde(borrow)]
    content: Loose<'a>,
    #[serde(borrow)]
    refusal: Loose<'a>,
    #[serde(borrow)]
    reasoning_content: Loose<'a>,
    #[serde(borrow)]
    reasoning: Loose<'a>,
    #[serde(borrow)]
    reasoning_details: Loose<'a>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    /// What a call was before there could be several.
    #[serde(borrow)]
    function_call: Option<FunctionDelta<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CallDelta<'a> {
    #[serde(deserialize_with = "openai::index")]
    index: Option<u64>,
    #[serde(borrow)]
    id: Loose<'a>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct FunctionDelta<'a> {
    #[serde(borrow)]
    name: Loose<'a>,
    #[serde(borrow)]
    arguments: Loose<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ChunkUsage {
    #[serde(deserialize_with = "openai::count")]
    prompt_tokens: u64,
    #[serde(deserialize_with = "openai::count")]
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "openai::count")]
    cached_tokens: u64,
    /// Only where a provider behind OpenRouter bills for it.
    #[serde(deserialize_with = "openai::count")]
    cache_write_tokens: u64,
}

impl Decoder for ChatDecoder {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ProviderError> {
        let data = data.trim();
        if self.done || data.is_empty() {
            return Ok(());
        }
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let chunk: Chunk<'_> =
            serde_json::from_str(data).map_err(|error| wire::unreadable("the server", &error, data))?;
        if name == "error" || chunk.object.as_str() == "error" {
            let complaint: Value =
                serde_json::from_str(data).map_err(|error| wire::unreadable("the server", &error, data))?;
            return Err(openai::complaint_in_stream(&complaint));
        }
        self.take_chunk(chunk, on_delta)
    }

    /// A finish reason is not the end: usage follows it, and a connection read to its end can be used again.
    fn is_complete(&self) -> bool {
        self.done
    }

    fn finish(self: Box<Self>) -> Result<Answer, ProviderError> {
        let decoder = *self;
        let finish = match decoder.finish {
            Some(finish) => finish,
            None if decoder.done => Finish::Complete,
            None => return Err(wire::cut_short()),
        };
        let usage = decoder.usage;
        let refuses = !decoder.refusal.is_empty();
        let message = Message { role: Role::Assistant, parts: decoder.into_parts() };
        let finish = match finish {
            Finish::MaxTokens => Finish::MaxTokens,
            Finish::Refusal => Finish::Refusal,
            Finish::Complete | Finish::Calls if refuses => Finish::Refusal,
            Finish::Complete | Finish::Calls => wire::finish_of(&message.parts),
        };
        Ok(Answer { message, finish, usage })
    }
}

impl ChatDecoder {
    fn take_chunk(&mut self, chunk: Chunk<'_>, on_delta: OnDelta<'_>) -> Result<(), ProviderError> {
        fail_on(chunk.error)?;
        if self.response_id.is_empty() {
            let id = if chunk.id.as_str().is_empty() { chunk.created } else { chunk.id };
            self.response_id = id.into_json().into_owned();
        }
        if let Some(usage) = chunk.usage {
            self.usage = usage.counted();
        }
        // Only one choice is ever asked for.
        let Some(choice) = chunk.choices.unwrap_or_default().into_iter().next() else { return Ok(()) };
        if let Some(delta) = choice.delta.or(choice.message) {
            self.take_delta(delta, on_delta);
        }
        fail_on(choice.error)?;
        self.take_finish_reason(choice.finish_reason.as_str())
    }

    fn take_delta(&mut self, delta: ChoiceDelta<'_>, on_delta: OnDelta<'_>) {
        self.take_thinking(delta.reasoning_content, delta.reasoning, delta.reasoning_details, on_delta);
        let content = delta.content.into_words();
        self.text.push_str(&content);
        wire::tell(Delta::Text(content.into_owned()), on_delta);
        let refusal = delta.refusal.into_words();
        self.refusal.push_str(&refusal);
        wire::tell(Delta::Text(refusal.into_owned()), on_delta);
        for call in delta.tool_calls.unwrap_or_default() {
            self.take_call(call, on_delta);
        }
        if let Some(function) = delta.function_call {
            self.take_call(
                CallDelta { index: Some(0), id: Loose::Missing, function: Some(function) },
                on_delta,
            );
        }
    }

    /// The same thoughts may come under several names at once: the first that has words is taken.
    fn take_thinking(
        &mut self,
        content: Loose<'_>,
        reasoning: Loose<'_>,
        details: Loose<'_>,
        on_delta: OnDelta<'_>,
    ) {
        let mut words = content.into_words();
        self.has_reasoning_content |= !words.is_empty();
        if words.is_empty() {
            words = reasoning.into_words();
        }
        let has_words = !words.is_empty();
        for detail in details.into_list() {
            let Value::Object(detail) = detail else { continue };
            if !has_words {
                words.to_mut().push_str(words_of(&detail));
            }
            self.details.add(detail);
        }
        self.thinking.push_str(&words);
        wire::tell(Delta::Thinking(words.into_owned()), on_delta);
    }

    fn take_call(&mut self, delta: CallDelta<'_>, on_delta: OnDelta<'_>) {
        let function = delta.function.unwrap_or_default();
        let (id, name) = (delta.id.as_str(), function.name.as_str());
        let position = self.call_position(delta.index, id, name).unwrap_or_else(|| {
            let (id, name) = (id.to_owned(), String::new());
            self.calls.push(CallSoFar { index: delta.index, id, name, arguments: String::new() });
            self.calls.len() - 1
        });
        let call = &mut self.calls[position];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        if call.name.is_empty() && !name.is_empty() {
            name.clone_into(&mut call.name);
            on_delta(Delta::Call(call.name.clone()));
        }
        call.arguments.push_str(&function.arguments.into_json());
    }

    /// The call that a delta goes on with; none when it begins one. Some servers number every call 0 and tell
    /// them apart by id, some give no number, some neither.
    fn call_position(&self, index: Option<u64>, id: &str, name: &str) -> Option<usize> {
        let position = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None if !id.is_empty() => self.calls.iter().rposition(|call| call.id == id)?,
            None if !name.is_empty() => return None,
            None => self.calls.len().checked_sub(1)?,
        };
        let known_id = &self.calls[position].id;
        (id.is_empty() || known_id.is_empty() || known_id == id).then_some(position)
    }

    fn take_finish_reason(&mut self, reason: &str) -> Result<(), ProviderError> {
        let finish = match reason {
            "" => return Ok(()),
            "length" | "max_tokens" => Finish::MaxTokens,
            "content_filter" => Finish::Refusal,
            "tool_calls" | "function_call" => Finish::Calls,
            "error" | "insufficient_system_resource" => {
                return Err(ProviderError::passing(format!("the server broke the answer off: {reason}")));
            }
            _ => Finish::Complete,
        };
        self.finish = Some(finish);
        Ok(())
    }

    fn into_parts(self) -> Vec<Part> {
        let mut parts = Vec::new();
        let details = self.details.into_value().map(|details| json!({ super::REASONING_DETAILS: details }));
        let content = self.has_reasoning_content.then(|| json!({ super::REASONING_CONTENT: true }));
        let seal = details.or(content).map(|value| Seal { api: Api::OpenaiChat, value });
        if !self.thinking.is_empty() || seal.is_some() {
            parts.push(Part::Thinking { text: self.thinking, seal });
        }
        for text in [self.text, self.refusal] {
            if !text.is_empty() {
                parts.push(Part::Text { text });
            }
        }
        let calls = self.calls.into_iter().map(|call| openai::tool_call(call.id, call.name, &call.arguments));
        parts.extend(calls.map(Part::ToolCall));
        wire::name_calls("call_", &self.response_id, &self.usage, &mut parts);
        parts
    }
}

impl ChunkUsage {
    fn counted(&self) -> Usage {
        let details = self.prompt_tokens_details.as_ref();
        let (read, written) = details.map_or((0, 0), |known| (known.cached_tokens, known.cache_write_tokens));
        Usage {
            input_tokens: self.prompt_tokens.saturating_sub(read).saturating_sub(written),
            output_tokens: self.completion_tokens,
            cache_read_tokens: read,
            cache_write_tokens: written,
        }
    }
}

/// Some servers send an `error` that is null, false or empty beside every answer.
fn fail_on(error: Loose<'_>) -> Result<(), ProviderError> {
    let error = match error {
        Loose::Text(text) if !text.is_empty() => Value::String(text.into_owned()),
        Loose::Other(error @ Value::Object(_)) => error,
        Loose::Missing | Loose::Text(_) | Loose::Other(_) => return Ok(()),
    };
    Err(openai::complaint_in_stream(&error))
}
