//! Anthropic Messages: how a conversation is written down for it, and what its refusals mean.
//!
//! Reading an answer is `stream`. Nothing here sends or decides what is worth caching.

mod stream;

use std::borrow::Cow;
use std::fmt::Write as _;

use posse_core::message::{Api, Media, Message, Part, Role, Schema, Seal, ToolCall, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use self::stream::Stream;
use super::wire::{self, NO_OUTPUT, NO_WORDS};
use super::{Ask, Decoder, Protocol, ProviderError, Thinking};

/// The least the API takes as a budget for thinking.
const THINKING_TOKENS_MIN: u64 = 1024;

/// The most tokens of an answer where nobody knows what the model can: the API wants a number, and this is
/// one that no model in service refuses.
const OUTPUT_TOKENS: u64 = 8192;

/// Anthropic Messages.
pub(crate) struct Anthropic;

impl Protocol for Anthropic {
    fn path(&self, _model: &str) -> String {
        "/v1/messages".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-api-key", key.to_owned()));
        let others = [("anthropic-version", "2023-06-01"), ("content-type", "application/json")];
        let others = others.into_iter().map(|(name, value)| (name, value.to_owned()));
        key.into_iter().chain(others).collect()
    }

    fn message(&self, message: &Message, cached: bool, out: &mut Vec<u8>) {
        let mut content = blocks(message);
        if cached {
            mark_last(&mut content);
        }
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        wire::write(&Turn { role, content }, out);
    }

    fn head(&self, ask: &Ask<'_>, out: &mut Vec<u8>) {
        let max_tokens = max_tokens(ask);
        let head = Head {
            model: ask.model,
            max_tokens,
            stream: true,
            system: system(ask.system),
            tools: tools(ask.tools),
            tool_choice: (!ask.tools_allowed && !ask.tools.is_empty()).then_some(Choice::None),
            thinking: thinking(ask.thinking, max_tokens),
            output_config: output_config(ask.thinking),
        };
        wire::write_head(&head, "messages", out);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Stream>::default()
    }

    fn refusal(&self, status: u16, body: &str) -> ProviderError {
        wire::refusal(status, body)
    }
}

/// A request without its messages.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    max_tokens: u64,
    stream: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<ThinkingMode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
}

#[derive(Serialize)]
struct Turn<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: ResultContent<'a>,
        #[serde(skip_serializing_if = "is_false")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

/// What a tool answered: words, or words and media.
struct ResultContent<'a> {
    text: &'a str,
    media: &'a [Media],
}

impl Serialize for ResultContent<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.media.is_empty() {
            return serializer.serialize_str(self.text);
        }
        let text = std::iter::once(ResultBlock::Text { text: self.text });
        serializer.collect_seq(text.chain(self.media.iter().map(ResultBlock::of)))
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ResultBlock<'a> {
    Text { text: &'a str },
    Image { source: Source<'a> },
    Document { source: Source<'a> },
}

#[derive(Serialize)]
struct Source<'a> {
    r#type: &'static str,
    media_type: &'a str,
    data: &'a str,
}

impl<'a> ResultBlock<'a> {
    fn of(media: &'a Media) -> ResultBlock<'a> {
        let source = Source { r#type: "base64", media_type: &media.media_type, data: &media.base64 };
        if media.is_image() { ResultBlock::Image { source } } else { ResultBlock::Document { source } }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Schema,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize, Clone, Copy)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Choice {
    None,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ThinkingMode {
    Enabled { budget_tokens: u64 },
    Adaptive,
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

/// The blocks of a message. The API wants the results of tools before any words, and something
/// other than thinking at the end.
fn blocks(message: &Message) -> Vec<Block<'_>> {
    let is_result = |part: &&Part| matches!(part, Part::ToolResult(_));
    let results = message.parts.iter().filter(is_result);
    let others = message.parts.iter().filter(|part| !is_result(part));
    let mut blocks: Vec<_> = results.chain(others).filter_map(|part| block(part, message.role)).collect();
    match blocks.last() {
        Some(Block::Text { .. } | Block::ToolUse { .. } | Block::ToolResult { .. }) => {}
        Some(Block::Thinking { .. } | Block::RedactedThinking { .. }) | None => {
            blocks.push(Block::Text { text: NO_WORDS, cache_control: None });
        }
    }
    blocks
}

fn block(part: &Part, role: Role) -> Option<Block<'_>> {
    match part {
        Part::Text { text } => {
            let text = words(text, role)?;
            Some(Block::Text { text, cache_control: None })
        }
        Part::Thinking { text, seal } => thought(text, seal.as_ref()?),
        Part::ToolCall(call) => Some(tool_use(call)),
        Part::ToolResult(result) => Some(tool_result(result)),
    }
}

/// The words of a text block: the API refuses one without any.
fn words(text: &str, role: Role) -> Option<&str> {
    if !text.trim().is_empty() {
        return Some(text);
    }
    match role {
        Role::User => Some(NO_WORDS),
        Role::Assistant => None,
    }
}

fn thought<'a>(text: &'a str, seal: &'a Seal) -> Option<Block<'a>> {
    if seal.api != Api::Anthropic {
        return None;
    }
    let sealed = |name: &str| seal.value.get(name).and_then(Value::as_str);
    match sealed("redacted") {
        Some(data) => Some(Block::RedactedThinking { data }),
        None => Some(Block::Thinking { thinking: text, signature: sealed("signature")? }),
    }
}

fn tool_use(call: &ToolCall) -> Block<'_> {
    Block::ToolUse { id: plain(&call.id), name: plain(&call.name), input: &call.input, cache_control: None }
}

fn tool_result(result: &ToolResult) -> Block<'_> {
    let text = if result.text.trim().is_empty() { NO_OUTPUT } else { result.text.as_str() };
    let content = ResultContent { text, media: &result.media };
    let tool_use_id = plain(&result.call_id);
    Block::ToolResult { tool_use_id, content, is_error: result.is_error, cache_control: None }
}

/// A name in the only characters the API takes. Others are spelled by their bytes, so that two names which
/// differ stay different, and a call and its result agree.
fn plain(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() {
        return Cow::Borrowed("_");
    }
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let mut spelled = String::with_capacity(name.len() + 8);
    for byte in name.bytes() {
        if is_plain(byte) {
            spelled.push(char::from(byte));
        } else {
            write!(spelled, "_{byte:02x}").expect("a string takes every character");
        }
    }
    Cow::Owned(spelled)
}

/// Marks the last block that may be marked; thinking may not.
fn mark_last(blocks: &mut [Block<'_>]) {
    for block in blocks.iter_mut().rev() {
        match block {
            Block::Text { cache_control, .. }
            | Block::ToolUse { cache_control, .. }
            | Block::ToolResult { cache_control, .. } => {
                *cache_control = Some(CacheControl::Ephemeral);
                return;
            }
            Block::Thinking { .. } | Block::RedactedThinking { .. } => {}
        }
    }
}

fn system(texts: &[String]) -> Vec<Block<'_>> {
    let texts = texts.iter().filter(|text| !text.trim().is_empty());
    let mut blocks: Vec<_> = texts.map(|text| Block::Text { text, cache_control: None }).collect();
    mark_last(&mut blocks);
    blocks
}

fn tools(specs: &[ToolSpec]) -> Vec<Tool<'_>> {
    let last = specs.len().saturating_sub(1);
    specs
        .iter()
        .enumerate()
        .map(|(at, spec)| Tool {
            name: spec.name,
            description: spec.description,
            input_schema: &spec.schema,
            cache_control: (at == last).then_some(CacheControl::Ephemeral),
        })
        .collect()
}

/// The most tokens of the answer, in which the API counts thinking.
fn max_tokens(ask: &Ask<'_>) -> u64 {
    match (ask.output_tokens_max, ask.thinking) {
        (Some(tokens), _) => tokens,
        (None, Thinking::Budget(budget)) => budget.saturating_add(OUTPUT_TOKENS),
        (None, Thinking::Unset | Thinking::Effort(_)) => OUTPUT_TOKENS,
    }
}

/// Thinking as asked for. A budget must leave room for the answer; where none fits, nothing is sent,
/// because the API refuses both a smaller budget and a larger one.
fn thinking(asked: Thinking, max_tokens: u64) -> Option<ThinkingMode> {
    match asked {
        Thinking::Unset => None,
        Thinking::Effort(_) => Some(ThinkingMode::Adaptive),
        Thinking::Budget(_) if max_tokens <= THINKING_TOKENS_MIN => None,
        Thinking::Budget(tokens) => {
            let budget_tokens = tokens.clamp(THINKING_TOKENS_MIN, max_tokens - 1);
            Some(ThinkingMode::Enabled { budget_tokens })
        }
    }
}

fn output_config(thinking: Thinking) -> Option<OutputConfig> {
    match thinking {
        Thinking::Effort(effort) => Some(OutputConfig { effort }),
        Thinking::Unset | Thinking::Budget(_) => None,
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[cfg(test)]
mod tests;
