//! Gemini's `generateContent`: how a conversation is written down for it, and what its refusals mean.
//!
//! Reading an answer is `stream`. Nothing here sends.

mod stream;

use std::fmt::Write as _;
use std::time::Duration;

use posse_core::message::{Api, Media, Message, Part, Role, Schema, Seal, ToolCall, ToolResult, ToolSpec};
use serde::Serialize;
use serde_json::Value;

use self::stream::Stream;
use super::wire::{self, NO_OUTPUT, NO_WORDS};
use super::{Ask, Decoder, Protocol, ProviderError, Thinking};

/// What the id of a call begins with when the API gave none. Such an id is never sent.
const OWN_ID: &str = "gemini-call-";

/// The field of a seal, as of a part, that holds a signature.
const SIGNATURE: &str = "thoughtSignature";

/// The field of a thought's seal that says what was signed.
const SIGNED: &str = "signed";

/// What the API takes in place of a signature for a call that another model made; without one it refuses
/// the first call of a message.
const FOREIGN_SIGNATURE: &str = "skip_thought_signature_validator";

/// Gemini's `generateContent`.
pub(crate) struct Gemini;

impl Protocol for Gemini {
    fn path(&self, model: &str) -> String {
        let mut path = "/v1beta/models/".to_owned();
        for byte in model.strip_prefix("models/").unwrap_or(model).bytes() {
            // Anything else could end the path early, or make it another one.
            if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
                path.push(char::from(byte));
            } else {
                write!(path, "%{byte:02X}").expect("a string takes every character");
            }
        }
        path.push_str(":streamGenerateContent?alt=sse");
        path
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        let key = key.map(|key| ("x-goog-api-key", key.to_owned()));
        key.into_iter().chain([("content-type", "application/json".to_owned())]).collect()
    }

    /// Nothing is marked: the API caches by itself.
    fn message(&self, message: &Message, _cached: bool, out: &mut Vec<u8>) {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "model",
        };
        wire::write(&Content { role: Some(role), parts: parts(message) }, out);
    }

    fn head(&self, ask: &Ask<'_>, out: &mut Vec<u8>) {
        let head = Head {
            system_instruction: system(ask.system),
            tools: tools(ask.tools),
            tool_config: (!ask.tools_allowed && !ask.tools.is_empty()).then_some(NO_CALLS),
            generation_config: GenerationConfig {
                max_output_tokens: ask.output_tokens_max,
                thinking_config: thinking(ask.thinking),
            },
        };
        wire::write_head(&head, "contents", out);
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::<Stream>::default()
    }

    fn refusal(&self, status: u16, body: &str) -> ProviderError {
        ProviderError { retry_after: retry_after(body), ..wire::refusal(status, body) }
    }
}

/// A request without its contents.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<[Tools<'a>; 1]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    generation_config: GenerationConfig,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<WirePart<'a>>,
}

/// A part as the API has it: one of text, call, response and media, and what goes with it.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
struct WirePart<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_call: Option<FunctionCall<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    function_response: Option<FunctionResponse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    inline_data: Option<InlineData<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thought_signature: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    args: &'a Value,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Tools<'a> {
    function_declarations: Vec<Declaration<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    parameters_json_schema: &'a Schema,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    function_calling_config: CallingConfig,
}

#[derive(Serialize)]
struct CallingConfig {
    mode: &'static str,
}

const NO_CALLS: ToolConfig = ToolConfig { function_calling_config: CallingConfig { mode: "NONE" } };

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenerationConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<ThinkingConfig>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThinkingConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    include_thoughts: bool,
}

/// What a signature that came outside a call was put on. A text has no room for a seal, so its signature is
/// kept in a thought without words, and is put where it was when the message is sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signed {
    /// The thought itself.
    Thought,
    /// The text that follows.
    NextText,
    /// A text without words, of which nothing else is kept.
    EmptyText,
}

impl Signed {
    const ALL: [Signed; 3] = [Signed::Thought, Signed::NextText, Signed::EmptyText];

    fn as_str(self) -> &'static str {
        match self {
            Signed::Thought => "thought",
            Signed::NextText => "next_text",
            Signed::EmptyText => "empty_text",
        }
    }

    fn of(seal: &Seal) -> Option<Signed> {
        let word = seal.value.get(SIGNED)?.as_str()?;
        Signed::ALL.into_iter().find(|signed| signed.as_str() == word)
    }
}

/// The parts of a message. The API wants the results of tools together, and at least one part.
fn parts(message: &Message) -> Vec<WirePart<'_>> {
    let is_result = |part: &&Part| matches!(part, Part::ToolResult(_));
    let results = message.parts.iter().filter(is_result);
    let others = message.parts.iter().filter(|part| !is_result(part));
    let mut written: Vec<_> = results.clone().filter_map(as_response).collect();
    // Beside the responses and not in them, which only the newest models read.
    written.extend(results.filter_map(as_media).flatten().map(inline_data));
    let mut signature = None;
    for part in others {
        // A signature whose text is gone goes on an empty one, where it was.
        if !matches!(part, Part::Text { .. }) {
            written.extend(signature.take().map(signed_nothing));
        }
        written.extend(match part {
            Part::Text { text } => words(text, message.role, signature.take()),
            Part::Thinking { text, seal } => match seal.as_ref().and_then(signature_of) {
                None => None,
                Some((sign, Signed::Thought)) => Some(thought(text, sign)),
                Some((sign, Signed::EmptyText)) => Some(signed_nothing(sign)),
                Some((sign, Signed::NextText)) => {
                    signature = Some(sign);
                    None
                }
            },
            Part::ToolCall(call) => Some(function_call(call)),
            Part::ToolResult(_) => None,
        });
    }
    written.extend(signature.map(signed_nothing));
    sign_foreign_call(message, &mut written);
    if written.is_empty() {
        written.push(WirePart { text: Some(NO_WORDS), ..WirePart::default() });
    }
    written
}

fn as_response(part: &Part) -> Option<WirePart<'_>> {
    match part {
        Part::ToolResult(result) => Some(function_response(result)),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall(_) => None,
    }
}

fn as_media(part: &Part) -> Option<&[Media]> {
    match part {
        Part::ToolResult(result) => Some(&result.media),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall(_) => None,
    }
}

fn inline_data(media: &Media) -> WirePart<'_> {
    let data = InlineData { mime_type: &media.media_type, data: &media.base64 };
    WirePart { inline_data: Some(data), ..WirePart::default() }
}

/// The signature of a thought and what it was put on.
fn signature_of(seal: &Seal) -> Option<(&str, Signed)> {
    Some((sealed_signature(seal)?, Signed::of(seal)?))
}

fn sealed_signature(seal: &Seal) -> Option<&str> {
    match seal.api {
        Api::Gemini => seal.value.get(SIGNATURE)?.as_str(),
        Api::Anthropic | Api::OpenaiChat | Api::OpenaiResponses | Api::Local => None,
    }
}

fn words<'a>(text: &'a str, role: Role, thought_signature: Option<&'a str>) -> Option<WirePart<'a>> {
    if !text.trim().is_empty() || thought_signature.is_some() {
        return Some(WirePart { text: Some(text), thought_signature, ..WirePart::default() });
    }
    match role {
        Role::User => Some(WirePart { text: Some(NO_WORDS), ..WirePart::default() }),
        Role::Assistant => None,
    }
}

fn signed_nothing(signature: &str) -> WirePart<'_> {
    WirePart { text: Some(""), thought_signature: Some(signature), ..WirePart::default() }
}

fn thought<'a>(text: &'a str, signature: &'a str) -> WirePart<'a> {
    WirePart { thought: Some(true), text: Some(text), ..signed_nothing(signature) }
}

fn function_call(call: &ToolCall) -> WirePart<'_> {
    let function_call = FunctionCall { id: issued(&call.id), name: &call.name, args: &call.input };
    let thought_signature = call.seal.as_ref().and_then(sealed_signature);
    WirePart { function_call: Some(function_call), thought_signature, ..WirePart::default() }
}

fn function_response(result: &ToolResult) -> WirePart<'_> {
    let text = if result.text.trim().is_empty() { NO_OUTPUT } else { result.text.as_str() };
    let response = if result.is_error { Response::Error(text) } else { Response::Output(text) };
    let response = FunctionResponse { id: issued(&result.call_id), name: &result.name, response };
    WirePart { function_response: Some(response), ..WirePart::default() }
}

/// The id, unless it was made up here. One that another API gave is sent: its call and its result agree.
fn issued(id: &str) -> Option<&str> {
    (!id.starts_with(OWN_ID)).then_some(id)
}

/// Signs the first call of a message that another model wrote.
fn sign_foreign_call(message: &Message, written: &mut [WirePart<'_>]) {
    let is_own = |call: &ToolCall| {
        let is_sealed = call.seal.as_ref().is_some_and(|seal| seal.api == Api::Gemini);
        is_sealed || call.id.starts_with(OWN_ID)
    };
    if message.calls().any(is_own) {
        return;
    }
    if let Some(first) = written.iter_mut().find(|part| part.function_call.is_some()) {
        first.thought_signature = Some(FOREIGN_SIGNATURE);
    }
}

fn system(texts: &[String]) -> Option<Content<'_>> {
    let texts = texts.iter().filter(|text| !text.trim().is_empty());
    let parts: Vec<_> = texts.map(|text| WirePart { text: Some(text), ..WirePart::default() }).collect();
    (!parts.is_empty()).then_some(Content { role: None, parts })
}

fn tools(specs: &[ToolSpec]) -> Option<[Tools<'_>; 1]> {
    if specs.is_empty() {
        return None;
    }
    let declarations = specs.iter().map(|spec| Declaration {
        name: spec.name,
        description: spec.description,
        parameters_json_schema: &spec.schema,
    });
    Some([Tools { function_declarations: declarations.collect() }])
}

fn thinking(thinking: Thinking) -> Option<ThinkingConfig> {
    let (thinking_budget, thinking_level) = match thinking {
        Thinking::Unset => return None,
        Thinking::Budget(tokens) => (Some(tokens), None),
        Thinking::Effort(word) => (None, Some(word)),
    };
    Some(ThinkingConfig { thinking_budget, thinking_level, include_thoughts: true })
}

/// How long the API asks to wait, which it says in the body and not in a header.
fn retry_after(body: &str) -> Option<Duration> {
    let body: Value = serde_json::from_str(body).ok()?;
    let details = body.get(0).unwrap_or(&body).pointer("/error/details")?.as_array()?;
    let delay = details.iter().find_map(|detail| detail.get("retryDelay")?.as_str())?;
    let seconds = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

#[cfg(test)]
mod tests;
