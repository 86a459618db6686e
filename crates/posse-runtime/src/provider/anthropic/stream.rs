//! An answer of Anthropic Messages, read event by event.
//!
//! Lenient on purpose: many servers speak this protocol without `event:` lines, pings, usage or starts of
//! blocks. Nothing here knows how a request looks.

use posse_core::message::{Answer, Api, Finish, Message, Part, Role, Seal, ToolCall, Usage};
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::Error as NameError;
use serde_json::{Value, json};

use crate::provider::wire::{self, OnDelta, Words, tell};
use crate::provider::{Decoder, Delta, Fault, ProviderError};

/// The answer as far as it came.
#[derive(Default)]
pub(super) struct Stream {
    answer_id: String,
    blocks: Vec<Block>,
    usage: Usage,
    stop: Option<StopReason>,
    is_over: bool,
}

/// A block as far as it came. `index` is the server's; of two with the same the later one is meant.
struct Block {
    index: u64,
    content: Content,
}

enum Content {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    Call(Call),
    /// Of a type that is not known: what follows for it is passed over.
    Unknown,
}

struct Call {
    id: String,
    name: String,
    /// What the start of the block held; loose servers send the arguments whole.
    input: Option<Value>,
    raw: String,
}

/// What most events do not have is boxed: an event is moved several times while it is read.
#[derive(Deserialize)]
struct Event<'a> {
    #[serde(rename = "type")]
    kind: Option<EventKind>,
    index: Option<u64>,
    #[serde(borrow)]
    message: Option<Box<MessageStart<'a>>>,
    #[serde(borrow)]
    content_block: Option<Box<BlockStart<'a>>>,
    #[serde(borrow)]
    delta: Option<Piece<'a>>,
    usage: Option<Tokens>,
    error: Option<Value>,
}

#[derive(Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum EventKind {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    MessageDelta,
    MessageStop,
    Error,
    #[serde(other)]
    Unknown,
}

/// The type of an event alone, for one whose other fields are not as expected.
#[derive(Deserialize)]
struct EventType {
    #[serde(rename = "type")]
    kind: EventKind,
}

#[derive(Deserialize)]
struct MessageStart<'a> {
    #[serde(borrow)]
    id: Option<Words<'a>>,
    usage: Option<Tokens>,
}

#[derive(Deserialize)]
struct BlockStart<'a> {
    #[serde(rename = "type")]
    kind: Option<BlockKind>,
    #[serde(borrow)]
    text: Option<Words<'a>>,
    #[serde(borrow)]
    thinking: Option<Words<'a>>,
    #[serde(borrow)]
    signature: Option<Words<'a>>,
    #[serde(borrow)]
    data: Option<Words<'a>>,
    #[serde(borrow)]
    id: Option<Words<'a>>,
    #[serde(borrow)]
    name: Option<Words<'a>>,
    input: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockKind {
    Text,
    Thinking,
    RedactedThinking,
    ToolUse,
    #[serde(other)]
    Unknown,
}

/// What a delta adds; the field that is there says to what.
#[derive(Deserialize)]
struct Piece<'a> {
    #[serde(borrow)]
    text: Option<Words<'a>>,
    #[serde(borrow)]
    thinking: Option<Words<'a>>,
    #[serde(borrow)]
    signature: Option<Words<'a>>,
    #[serde(borrow)]
    partial_json: Option<Words<'a>>,
    stop_reason: Option<StopReason>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum StopReason {
    EndTurn,
    StopSequence,
    ToolUse,
    PauseTurn,
    MaxTokens,
    ModelContextWindowExceeded,
    Refusal,
    #[serde(other)]
    Unknown,
}

#[derive(Deserialize)]
struct Tokens {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
}

impl Decoder for Stream {
    fn event(&mut self, name: &str, data: &str, on_delta: OnDelta<'_>) -> Result<(), ProviderError> {
        let Some(event) = read(data)? else { return Ok(()) };
        if let Some(error) = &event.error {
            return Err(wire::error_in_stream(error, fault_of(error)));
        }
        match event.kind.unwrap_or_else(|| kind_of(name)) {
            EventKind::MessageStart => self.begin(event),
            EventKind::ContentBlockStart => self.begin_block(event, on_delta),
            EventKind::ContentBlockDelta => self.add(event, on_delta),
            EventKind::MessageDelta => self.conclude(&event),
            EventKind::MessageStop => self.is_over = true,
            EventKind::Error => return Err(ProviderError::passing(wire::excerpt(data))),
            EventKind::Unknown => {}
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.is_over
    }

    fn finish(self: Box<Self>) -> Result<Answer, ProviderError> {
        let Stream { answer_id, blocks, usage, stop, is_over } = *self;
        // A stop reason comes after every block, so a stream without the end mark that follows it is whole.
        if !is_over && stop.is_none() {
            return Err(wire::cut_short());
        }
        let mut parts: Vec<_> = blocks.into_iter().filter_map(|block| part(block.content)).collect();
        wire::name_calls("call_", &answer_id, &usage, &mut parts);
        let finish = finish(stop, &parts);
        Ok(Answer { message: Message { role: Role::Assistant, parts }, finish, usage })
    }
}

impl Stream {
    fn begin(&mut self, event: Event<'_>) {
        let Some(start) = event.message else { return };
        if let Some(id) = start.id {
            self.answer_id = id.into_owned();
        }
        if let Some(tokens) = start.usage {
            count(&mut self.usage, &tokens);
        }
    }

    fn begin_block(&mut self, event: Event<'_>, on_delta: OnDelta<'_>) {
        let Some(start) = event.content_block else { return };
        let after_last = || self.blocks.last().map_or(0, |last| last.index.saturating_add(1));
        let index = event.index.unwrap_or_else(after_last);
        let content = content(*start);
        match &content {
            Content::Text(text) => tell(Delta::Text(text.clone()), on_delta),
            Content::Thinking { text, .. } => tell(Delta::Thinking(text.clone()), on_delta),
            Content::Call(call) => tell(Delta::Call(call.name.clone()), on_delta),
            Content::Redacted(_) | Content::Unknown => {}
        }
        self.blocks.push(Block { index, content });
    }

    fn add(&mut self, event: Event<'_>, on_delta: OnDelta<'_>) {
        let Some(piece) = event.delta else { return };
        let index = event.index.or_else(|| Some(self.blocks.last()?.index)).unwrap_or(0);
        if let Some(text) = piece.text {
            self.add_text(index, &text);
            tell(Delta::Text(text.into_owned()), on_delta);
        }
        if let Some(thought) = piece.thinking {
            self.add_thinking(index, &thought, "");
            tell(Delta::Thinking(thought.into_owned()), on_delta);
        }
        if let Some(signature) = piece.signature {
            self.add_thinking(index, "", &signature);
        }
        if let (Some(json), Some(Content::Call(call))) = (piece.partial_json, self.content(index)) {
            call.raw.push_str(&json);
        }
    }

    fn conclude(&mut self, event: &Event<'_>) {
        if let Some(reason) = event.delta.as_ref().and_then(|delta| delta.stop_reason) {
            self.stop = Some(reason);
        }
        if let Some(tokens) = &event.usage {
            count(&mut self.usage, tokens);
        }
    }

    /// Adds to the text at `index`, which begins here where no start of it came.
    fn add_text(&mut self, index: u64, piece: &str) {
        match self.content(index) {
            Some(Content::Text(text)) => text.push_str(piece),
            Some(Content::Unknown) => {}
            Some(Content::Thinking { .. } | Content::Redacted(_) | Content::Call(_)) | None => {
                self.blocks.push(Block { index, content: Content::Text(piece.to_owned()) });
            }
        }
    }

    /// Adds to the thinking at `index`, which begins here where no start of it came.
    fn add_thinking(&mut self, index: u64, piece: &str, sign: &str) {
        match self.content(index) {
            Some(Content::Thinking { text, signature }) => {
                text.push_str(piece);
                signature.push_str(sign);
            }
            Some(Content::Unknown) => {}
            Some(Content::Text(_) | Content::Redacted(_) | Content::Call(_)) | None => {
                let content = Content::Thinking { text: piece.to_owned(), signature: sign.to_owned() };
                self.blocks.push(Block { index, content });
            }
        }
    }

    fn content(&mut self, index: u64) -> Option<&mut Content> {
        self.blocks.iter_mut().rev().find(|block| block.index == index).map(|block| &mut block.content)
    }
}

/// The event, unless it is one to pass over: of an unknown type, or another protocol's end mark.
fn read(data: &str) -> Result<Option<Event<'_>>, ProviderError> {
    if matches!(data.trim(), "" | "[DONE]") {
        return Ok(None);
    }
    serde_json::from_str(data).map(Some).or_else(|error| {
        let kind = serde_json::from_str(data).map(|event: EventType| event.kind);
        if error.is_data() && matches!(kind, Ok(EventKind::Unknown)) {
            return Ok(None);
        }
        Err(wire::unreadable("Anthropic", &error, data))
    })
}

/// The type of an event that names it beside its JSON only.
fn kind_of(name: &str) -> EventKind {
    let name: serde::de::value::StrDeserializer<'_, NameError> = name.into_deserializer();
    EventKind::deserialize(name).unwrap_or(EventKind::Unknown)
}

fn content(start: BlockStart<'_>) -> Content {
    let owned = |words: Option<Words<'_>>| words.map(Words::into_owned).unwrap_or_default();
    match start.kind {
        Some(BlockKind::Text) => Content::Text(owned(start.text)),
        Some(BlockKind::Thinking) => {
            Content::Thinking { text: owned(start.thinking), signature: owned(start.signature) }
        }
        Some(BlockKind::RedactedThinking) => Content::Redacted(owned(start.data)),
        Some(BlockKind::ToolUse) => Content::Call(Call {
            id: owned(start.id),
            name: owned(start.name),
            input: start.input,
            raw: String::new(),
        }),
        Some(BlockKind::Unknown) | None => Content::Unknown,
    }
}

fn part(content: Content) -> Option<Part> {
    match content {
        Content::Text(text) => (!text.is_empty()).then_some(Part::Text { text }),
        Content::Thinking { text, signature } => {
            let seal = (!signature.is_empty()).then(|| seal(json!({ "signature": signature })));
            (seal.is_some() || !text.is_empty()).then_some(Part::Thinking { text, seal })
        }
        Content::Redacted(redacted) => {
            Some(Part::Thinking { text: String::new(), seal: Some(seal(json!({ "redacted": redacted }))) })
        }
        Content::Call(call) => Some(Part::ToolCall(tool_call(call))),
        Content::Unknown => None,
    }
}

fn seal(value: Value) -> Seal {
    Seal { api: Api::Anthropic, value }
}

fn tool_call(call: Call) -> ToolCall {
    let (input, malformed) = match call.input {
        Some(input @ Value::Object(_)) if call.raw.is_empty() => (input, None),
        Some(_) | None => wire::arguments(&call.raw),
    };
    ToolCall { id: call.id, name: call.name, input, malformed, seal: None }
}

fn finish(stop: Option<StopReason>, parts: &[Part]) -> Finish {
    match stop {
        Some(StopReason::MaxTokens | StopReason::ModelContextWindowExceeded) => Finish::MaxTokens,
        Some(StopReason::Refusal) => Finish::Refusal,
        Some(
            StopReason::EndTurn
            | StopReason::StopSequence
            | StopReason::ToolUse
            | StopReason::PauseTurn
            | StopReason::Unknown,
        )
        | None => wire::finish_of(parts),
    }
}

/// Takes over what is counted. Counts are cumulative; a zero stands for "not known here" and loses nothing.
fn count(usage: &mut Usage, tokens: &Tokens) {
    let take = |to: &mut u64, from: Option<u64>| {
        if let Some(tokens @ 1..) = from {
            *to = tokens;
        }
    };
    take(&mut usage.input_tokens, tokens.input_tokens);
    take(&mut usage.output_tokens, tokens.output_tokens);
    take(&mut usage.cache_write_tokens, tokens.cache_creation_input_tokens);
    take(&mut usage.cache_read_tokens, tokens.cache_read_input_tokens);
}

/// What an error inside a stream stands for. One of an unknown type came while an answer was being made,
/// so the request was not at fault.
fn fault_of(error: &Value) -> Fault {
    match error.get("type").and_then(Value::as_str) {
        Some(
            "invalid_request_error"
            | "authentication_error"
            | "permission_error"
            | "billing_error"
            | "not_found_error"
            | "request_too_large",
        ) => Fault::Lasting,
        Some(_) | None => Fault::Passing,
    }
}

#[cfg(test)]
mod tests;
