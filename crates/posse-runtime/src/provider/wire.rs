//! What the wire protocols have in common: reading loose JSON, reading errors, naming calls.
//!
//! Nothing here knows a protocol's own words for a message, and nothing here sends.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Deref;

use posse_core::message::{Finish, Media, Part, ToolCall, Usage};
use posse_core::text::one_line;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Delta, Fault, ProviderError, fault_of_status};

/// What is sent where an API wants words and there are none.
pub(super) const NO_WORDS: &str = "(empty)";

/// What is sent where a tool answered nothing.
pub(super) const NO_OUTPUT: &str = "(no output)";

/// How much of what a provider sent is shown.
const EXCERPT_CHARACTERS_MAX: usize = 300;

/// How much of it is looked at for that; a body may be megabytes of HTML.
const EXCERPT_BYTES_MAX: usize = 4096;

/// Words by which providers say that a conversation is too long, in lower case.
const CONTEXT_TOO_LONG: &[&str] = &[
    "prompt is too long",
    "prompt too long",
    "input is too long",
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "exceeds the maximum size",
    "exceeds maximum size",
    "input token count",
    "too many input tokens",
    "context length",
    "context window",
    "context_length_exceeded",
    "request too large",
    "request_too_large",
];

/// Who is told what streams.
pub(super) type OnDelta<'a> = &'a mut (dyn FnMut(Delta) + Send);

/// A string that is borrowed from the event where nothing in it is escaped.
///
/// A type of its own because serde copies an `Option<Cow<str>>` even when told to borrow it.
#[derive(Deserialize)]
pub(super) struct Words<'a>(#[serde(borrow)] Cow<'a, str>);

impl Words<'_> {
    /// The words, copied if they were borrowed.
    pub(super) fn into_owned(self) -> String {
        self.0.into_owned()
    }
}

impl Deref for Words<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// Media as a URL that holds it.
pub(super) struct DataUrl<'a>(pub &'a Media);

impl Serialize for DataUrl<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data:{};base64,{}", self.0.media_type, self.0.base64))
    }
}

/// The name of a document where an API wants one.
pub(super) const DOCUMENT_NAME: &str = "document.pdf";

/// Writes a value as JSON.
pub(super) fn write(value: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, value).expect("a vector takes every byte, and every key is a string");
}

/// Writes a request up to its messages: the fields of `head`, then the opening of the list `name`.
pub(super) fn write_head(head: &impl Serialize, name: &str, out: &mut Vec<u8>) {
    write(head, out);
    let brace = out.pop();
    assert_eq!(brace, Some(b'}'), "the head of a request is an object");
    assert_ne!(out.last(), Some(&b'{'), "the head of a request has a field");
    out.extend_from_slice(b",\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":[");
}

/// Tells what streams, unless it says nothing.
pub(super) fn tell(delta: Delta, on_delta: OnDelta<'_>) {
    let is_empty = match &delta {
        Delta::Text(words) | Delta::Thinking(words) | Delta::Call(words) => words.is_empty(),
    };
    if !is_empty {
        on_delta(delta);
    }
}

/// The arguments of a call, and the text itself where it is not a JSON object.
pub(super) fn arguments(raw: &str) -> (Value, Option<String>) {
    if raw.trim().is_empty() {
        return (Value::Object(Map::new()), None);
    }
    match serde_json::from_str(raw) {
        Ok(input @ Value::Object(_)) => (input, None),
        Ok(_) | Err(_) => (Value::Object(Map::new()), Some(raw.to_owned())),
    }
}

/// Names every call that came without an id, or with one that an earlier call of the answer has.
///
/// A decoder sees one answer, and ids must differ within a run: what the provider calls the answer, what it
/// counted and what the calls say all go into the name, and the position tells calls of one answer apart.
pub(super) fn name_calls(prefix: &str, answer_id: &str, usage: &Usage, parts: &mut [Part]) {
    let mut fingerprint = Fingerprint::new();
    fingerprint.take(answer_id);
    fingerprint.take(&format!("{} {}", usage.context(), usage.output_tokens));
    let mut taken = HashSet::new();
    let calls = parts.iter_mut().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult(_) => None,
    });
    for (before, call) in calls.enumerate() {
        if call.id.is_empty() || taken.contains(&call.id) {
            take_call(&mut fingerprint, call);
            call.id = format!("{prefix}{:016x}_{}", fingerprint.0, before + 1);
        }
        taken.insert(call.id.clone());
    }
}

/// Why an answer that was neither cut nor declined is over. Loose servers name the wrong reason, so what
/// was said decides: with `Finish::Calls` there is a call to wait for.
pub(super) fn finish_of(parts: &[Part]) -> Finish {
    let has_call = parts.iter().any(|part| match part {
        Part::ToolCall(_) => true,
        Part::Text { .. } | Part::Thinking { .. } | Part::ToolResult(_) => false,
    });
    if has_call { Finish::Calls } else { Finish::Complete }
}

/// The stream is over and the answer is not.
pub(super) fn cut_short() -> ProviderError {
    ProviderError::passing("the stream ended before the answer did")
}

/// An event that could not be read.
pub(super) fn unreadable(provider: &str, error: &serde_json::Error, data: &str) -> ProviderError {
    let what = if error.is_data() { "does not have the expected shape" } else { "is not valid JSON" };
    ProviderError::passing(format!("{provider} sent an event that {what}: {}", excerpt(data)))
}

/// The error that a status other than 2xx and its body stand for.
pub(super) fn refusal(status: u16, body: &str) -> ProviderError {
    let said = serde_json::from_str(body).ok().and_then(|body| words_of(&body));
    let message = match said {
        Some(words) => words,
        None if body.trim().is_empty() => format!("status {status} without a body"),
        None => excerpt(body),
    };
    // A code beside the message may say what the message does not, so the whole body is searched.
    let is_too_long = matches!(status, 400 | 413) && says_context_too_long(body);
    let fault = if is_too_long { Fault::ContextTooLong } else { fault_of_status(status) };
    ProviderError { fault, status: Some(status), message, retry_after: None }
}

/// An error that came inside a stream; `fault` is what its type stands for.
pub(super) fn error_in_stream(error: &Value, fault: Fault) -> ProviderError {
    let message = words_of(error).unwrap_or_else(|| excerpt(&error.to_string()));
    let is_too_long = match fault {
        Fault::Passing => false,
        Fault::ContextTooLong | Fault::Lasting => says_context_too_long(&message),
    };
    let fault = if is_too_long { Fault::ContextTooLong } else { fault };
    ProviderError { fault, status: None, message, retry_after: None }
}

/// The start of a text, on one line.
pub(super) fn excerpt(text: &str) -> String {
    let end = text.floor_char_boundary(EXCERPT_BYTES_MAX);
    one_line(&text[..end], EXCERPT_CHARACTERS_MAX)
}

/// What an error says, in any of the forms in which servers put it.
fn words_of(error: &Value) -> Option<String> {
    let error = error.get(0).unwrap_or(error);
    let places = ["/error/message", "/error", "/message", "/detail", ""];
    let said = places.iter().find_map(|place| error.pointer(place)?.as_str())?;
    let words = excerpt(said);
    (!words.is_empty()).then_some(words)
}

fn says_context_too_long(words: &str) -> bool {
    let end = words.floor_char_boundary(EXCERPT_BYTES_MAX);
    let words = words[..end].to_lowercase();
    CONTEXT_TOO_LONG.iter().any(|known| words.contains(known))
}

fn take_call(fingerprint: &mut Fingerprint, call: &ToolCall) {
    fingerprint.take(&call.name);
    fingerprint.take(&call.input.to_string());
    fingerprint.take(call.malformed.as_deref().unwrap_or_default());
}

/// FNV-1a. It names things and guards nothing; the standard hasher may change with the compiler.
struct Fingerprint(u64);

impl Fingerprint {
    fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    /// Takes a text and its end, so that two texts are not taken for one.
    fn take(&mut self, text: &str) {
        for byte in text.bytes().chain([0xff]) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

#[cfg(test)]
mod tests;
