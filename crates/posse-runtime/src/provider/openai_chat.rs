//! OpenAI Chat Completions, and everything that speaks it more or less.
//!
//! Requests are written here, answers are read in `decode`; nothing is sent and nothing is tried again.

mod decode;
mod details;
mod media;

use std::borrow::Cow;

use posse_core::message::{Api, Message, Part, Role, Schema, Seal, ToolCall, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::openai::{self, Elements};
use super::wire::{self, NO_OUTPUT, NO_WORDS};
use super::{Ask, Decoder, Protocol, ProviderError, Thinking};

/// The key of a seal's value, and of the field that goes back.
const REASONING_DETAILS: &str = "reasoning_details";
/// The key of a seal whose text goes back as that field.
const REASONING_CONTENT: &str = "reasoning_content";

/// The protocol of `/chat/completions`.
pub(crate) struct OpenaiChat;

impl Protocol for OpenaiChat {
    fn path(&self, _model: &str) -> String {
        "/chat/completions".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        openai::headers(key)
    }

    /// Caching is the server's own affair here: there is no mark for it.
    fn message(&self, message: &Message, _cached: bool, out: &mut Vec<u8>) {
        let mut elements = Elements::new(out);
        match message.role {
            Role::User => write_user(message, &mut elements),
            Role::Assistant => elements.push(&AssistantMessage::of(message)),
        }
    }

    fn head(&self, ask: &Ask<'_>, out: &mut Vec<u8>) {
        wire::write_head(&Head::of(ask), "messages", out);
        let system = openai::join_texts(ask.system.iter().map(String::as_str));
        if !system.is_empty() {
            Elements::new(out).push(&PlainMessage { role: "system", content: system });
            // A conversation is never empty: something follows.
            out.push(b',');
        }
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::ChatDecoder::default())
    }

    fn refusal(&self, status: u16, body: &str) -> ProviderError {
        openai::refusal(status, body)
    }
}

/// Everything of a request but its messages.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    /// OpenAI's own newer models know it by another name only, but they are spoken to through Responses.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Schema,
}

#[derive(Serialize)]
struct PlainMessage<'a> {
    role: &'static str,
    content: Cow<'a, str>,
}

#[derive(Serialize)]
struct ToolMessage<'a> {
    role: &'static str,
    tool_call_id: &'a str,
    content: &'a str,
}

#[derive(Serialize)]
struct AssistantMessage<'a> {
    role: &'static str,
    /// Null where there are only calls, as OpenAI itself writes it.
    content: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasoning_details: Vec<&'a Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Call<'a>>,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    r#type: &'static str,
    function: CallFunction<'a>,
}

#[derive(Serialize)]
struct CallFunction<'a> {
    name: &'a str,
    #[serde(serialize_with = "openai::as_json_text")]
    arguments: &'a Value,
}

impl<'a> Head<'a> {
    fn of(ask: &Ask<'a>) -> Head<'a> {
        let forbids_tools = !ask.tools_allowed && !ask.tools.is_empty();
        Head {
            model: ask.model,
            stream: true,
            stream_options: StreamOptions { include_usage: true },
            max_tokens: ask.output_tokens_max,
            reasoning_effort: match ask.thinking {
                Thinking::Effort(effort) => Some(effort),
                Thinking::Unset | Thinking::Budget(_) => None,
            },
            tools: ask.tools.iter().map(Tool::of).collect(),
            tool_choice: forbids_tools.then_some("none"),
        }
    }
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec) -> Tool<'a> {
        let function =
            ToolFunction { name: tool.name, description: tool.description, parameters: &tool.schema };
        Tool { r#type: "function", function }
    }
}

impl<'a> AssistantMessage<'a> {
    fn of(message: &'a Message) -> AssistantMessage<'a> {
        let (mut reasoning_content, mut reasoning_details) = (None, Vec::new());
        let mut tool_calls = Vec::new();
        for part in &message.parts {
            match part {
                Part::Thinking { text, seal } => {
                    reasoning_details.extend(details_of(seal.as_ref()));
                    if sealed(seal.as_ref(), REASONING_CONTENT).is_some() {
                        reasoning_content = Some(text.as_str());
                    }
                }
                Part::ToolCall(call) => tool_calls.push(Call::of(call)),
                Part::Text { .. } | Part::ToolResult(_) => {}
            }
        }
        let text = text_of(message);
        let content = match (text.is_empty(), tool_calls.is_empty()) {
            (false, _) => Some(text),
            (true, false) => None,
            (true, true) => Some(NO_WORDS.into()),
        };
        // Some servers want it back while tools are called, and others refuse it where none are.
        let reasoning_content = reasoning_content.filter(|_| !tool_calls.is_empty());
        AssistantMessage { role: "assistant", content, reasoning_content, reasoning_details, tool_calls }
    }
}

impl<'a> Call<'a> {
    fn of(call: &'a ToolCall) -> Call<'a> {
        Call {
            id: &call.id,
            r#type: "function",
            function: CallFunction { name: &call.name, arguments: &call.input },
        }
    }
}

/// Results come before words: they must follow the calls they answer.
fn write_user(message: &Message, elements: &mut Elements<'_>) {
    for part in &message.parts {
        match part {
            Part::ToolResult(result) => elements.push(&ToolMessage {
                role: "tool",
                tool_call_id: &result.call_id,
                content: if result.text.is_empty() { NO_OUTPUT } else { &result.text },
            }),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall(_) => {}
        }
    }
    let content = text_of(message);
    if let Some(message) = media::message(message, &content) {
        elements.push(&message);
    } else if !content.is_empty() {
        elements.push(&PlainMessage { role: "user", content });
    } else if elements.is_empty() {
        // A message without any element would leave a comma too many in the list.
        elements.push(&PlainMessage { role: "user", content: NO_WORDS.into() });
    }
}

/// The texts as one string: many servers take no list of parts.
fn text_of(message: &Message) -> Cow<'_, str> {
    openai::join_texts(message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        Part::Thinking { .. } | Part::ToolCall(_) | Part::ToolResult(_) => None,
    }))
}

fn details_of(seal: Option<&Seal>) -> &[Value] {
    let details = sealed(seal, REASONING_DETAILS).and_then(Value::as_array);
    details.map(Vec::as_slice).unwrap_or_default()
}

/// What an own seal holds under a key.
fn sealed<'a>(seal: Option<&'a Seal>, key: &str) -> Option<&'a Value> {
    seal.filter(|seal| seal.api == Api::OpenaiChat).and_then(|seal| seal.value.get(key))
}

#[cfg(test)]
mod tests;
