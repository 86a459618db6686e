//! OpenAI Responses, without anything kept at the server: every request carries the whole conversation.
//!
//! Requests are written here, answers are read in `decode`; nothing is sent and nothing is tried again.

mod decode;
mod item;

use std::borrow::Cow;

use posse_core::message::{Api, Media, Message, Part, Role, Schema, Seal, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use super::openai::{self, Elements};
use super::wire::{self, DOCUMENT_NAME, DataUrl, NO_OUTPUT, NO_WORDS};
use super::{Ask, Decoder, Protocol, ProviderError, Thinking};

/// The field of a reasoning item without which a server that keeps nothing cannot use it.
const ENCRYPTED_CONTENT: &str = "encrypted_content";

/// The protocol of `/responses`.
pub(crate) struct OpenaiResponses;

impl Protocol for OpenaiResponses {
    fn path(&self, _model: &str) -> String {
        "/responses".to_owned()
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        openai::headers(key)
    }

    /// Caching is the server's own affair here: there is no mark for it.
    fn message(&self, message: &Message, _cached: bool, out: &mut Vec<u8>) {
        let mut elements = Elements::new(out);
        match message.role {
            Role::User => write_user(message, &mut elements),
            Role::Assistant => write_assistant(message, &mut elements),
        }
        // A message without any element would leave a comma too many in the list.
        if elements.is_empty() {
            elements.push(&MessageItem::of(message.role, vec![NO_WORDS]));
        }
    }

    fn head(&self, ask: &Ask<'_>, out: &mut Vec<u8>) {
        wire::write_head(&Head::of(ask), "input", out);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(decode::ResponsesDecoder::default())
    }

    fn refusal(&self, status: u16, body: &str) -> ProviderError {
        openai::refusal(status, body)
    }
}

/// Everything of a request but its input.
#[derive(Serialize)]
struct Head<'a> {
    model: &'a str,
    stream: bool,
    store: bool,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Reasoning>,
    #[serde(skip_serializing_if = "str::is_empty")]
    instructions: Cow<'a, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel_tool_calls: Option<bool>,
}

#[derive(Serialize)]
struct Reasoning {
    effort: &'static str,
    summary: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    r#type: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Schema,
    strict: bool,
}

#[derive(Serialize)]
struct MessageItem<'a> {
    r#type: &'static str,
    role: &'static str,
    content: Vec<Content<'a>>,
}

#[derive(Serialize)]
struct Content<'a> {
    r#type: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    r#type: &'static str,
    call_id: &'a str,
    name: &'a str,
    #[serde(serialize_with = "openai::as_json_text")]
    arguments: &'a Value,
}

#[derive(Serialize)]
struct FunctionCallOutput<'a> {
    r#type: &'static str,
    call_id: &'a str,
    output: Output<'a>,
}

/// What a tool answered: words, or words and media.
struct Output<'a> {
    text: &'a str,
    media: &'a [Media],
}

impl Serialize for Output<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.media.is_empty() {
            return serializer.serialize_str(self.text);
        }
        let text = std::iter::once(OutputItem::Text { text: self.text });
        serializer.collect_seq(text.chain(self.media.iter().map(OutputItem::of)))
    }
}

#[derive(Serialize)]
#[serde(tag = "type")]
enum OutputItem<'a> {
    #[serde(rename = "input_text")]
    Text { text: &'a str },
    #[serde(rename = "input_image")]
    Image { image_url: DataUrl<'a> },
    #[serde(rename = "input_file")]
    File { filename: &'static str, file_data: DataUrl<'a> },
}

impl<'a> OutputItem<'a> {
    fn of(media: &'a Media) -> OutputItem<'a> {
        if media.is_image() {
            OutputItem::Image { image_url: DataUrl(media) }
        } else {
            OutputItem::File { filename: DOCUMENT_NAME, file_data: DataUrl(media) }
        }
    }
}

impl<'a> Head<'a> {
    fn of(ask: &Ask<'a>) -> Head<'a> {
        let has_tools = !ask.tools.is_empty();
        Head {
            model: ask.model,
            stream: true,
            store: false,
            // A model that does not think refuses the request otherwise.
            include: if ask.thinks { &["reasoning.encrypted_content"] } else { &[] },
            max_output_tokens: ask.output_tokens_max,
            reasoning: match ask.thinking {
                Thinking::Effort(effort) => Some(Reasoning { effort, summary: "auto" }),
                Thinking::Unset | Thinking::Budget(_) => None,
            },
            instructions: openai::join_texts(ask.system.iter().map(String::as_str)),
            tools: ask.tools.iter().map(Tool::of).collect(),
            tool_choice: (has_tools && !ask.tools_allowed).then_some("none"),
            parallel_tool_calls: has_tools.then_some(true),
        }
    }
}

impl<'a> Tool<'a> {
    fn of(tool: &'a ToolSpec) -> Tool<'a> {
        Tool {
            r#type: "function",
            name: tool.name,
            description: tool.description,
            parameters: &tool.schema,
            strict: false,
        }
    }
}

impl<'a> MessageItem<'a> {
    fn of(role: Role, texts: Vec<&'a str>) -> MessageItem<'a> {
        let (role, kind) = match role {
            Role::User => ("user", "input_text"),
            Role::Assistant => ("assistant", "output_text"),
        };
        let content = texts.into_iter().map(|text| Content { r#type: kind, text }).collect();
        MessageItem { r#type: "message", role, content }
    }
}

/// Results come before words: they must follow the calls they answer.
fn write_user(message: &Message, elements: &mut Elements<'_>) {
    let mut texts = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult(result) => elements.push(&FunctionCallOutput {
                r#type: "function_call_output",
                call_id: &result.call_id,
                output: Output {
                    text: if result.text.is_empty() { NO_OUTPUT } else { &result.text },
                    media: &result.media,
                },
            }),
            Part::Text { text } if !text.is_empty() => texts.push(text.as_str()),
            Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall(_) => {}
        }
    }
    if !texts.is_empty() {
        elements.push(&MessageItem::of(Role::User, texts));
    }
}

fn write_assistant(message: &Message, elements: &mut Elements<'_>) {
    // The API refuses a reasoning item that nothing follows, which is what a cut answer can leave.
    let end = message.parts.iter().rposition(is_said).map_or(0, |last| last + 1);
    for part in &message.parts[..end] {
        match part {
            Part::Text { text } if !text.is_empty() => {
                elements.push(&MessageItem::of(Role::Assistant, vec![text]));
            }
            Part::Thinking { seal, .. } => {
                if let Some(item) = reasoning_item(seal.as_ref()) {
                    elements.push(item);
                }
            }
            Part::ToolCall(call) => elements.push(&FunctionCall {
                r#type: "function_call",
                call_id: &call.id,
                name: &call.name,
                arguments: &call.input,
            }),
            Part::Text { .. } | Part::ToolResult(_) => {}
        }
    }
}

/// True for what is more than a thought.
fn is_said(part: &Part) -> bool {
    match part {
        Part::Text { text } => !text.is_empty(),
        Part::ToolCall(_) => true,
        Part::Thinking { .. } | Part::ToolResult(_) => false,
    }
}

fn reasoning_item(seal: Option<&Seal>) -> Option<&Value> {
    let own = seal.filter(|seal| seal.api == Api::OpenaiResponses)?;
    own.value.get(ENCRYPTED_CONTENT).is_some_and(Value::is_string).then_some(&own.value)
}

#[cfg(test)]
mod tests;
