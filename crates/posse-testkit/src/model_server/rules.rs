//! What the services refuse. Each API's rules are in a file of their own; here is what they share.
//!
//! A rule is a public one of the service, and its text is the service's where that is known.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::{Api, Received};

mod anthropic;
mod anthropic_messages;
mod gemini;
mod gemini_contents;
mod gemini_schema;
mod openai_chat;
mod openai_responses;
mod openai_tools;
mod responses_input;
mod schema;

/// A rule that a request broke, and the status with which the service says so.
#[derive(Debug)]
pub(super) struct Broken {
    pub status: u16,
    pub text: String,
}

/// The rules that a request was found to break.
#[derive(Debug, Default)]
struct Found(Vec<Broken>);

impl Found {
    fn refuse(&mut self, text: impl Into<String>) {
        self.0.push(Broken { status: 400, text: text.into() });
    }

    /// Refuses unless something holds; the text is only made if it does not.
    fn require(&mut self, holds: bool, text: impl FnOnce() -> String) {
        if !holds {
            self.refuse(text());
        }
    }

    fn refuse_key(&mut self, status: u16, text: &str) {
        self.0.push(Broken { status, text: text.into() });
    }
}

/// Every rule of its API that a request breaks.
pub(super) fn check(request: &Received) -> Vec<Broken> {
    let mut found = Found::default();
    if !request.header("content-type").is_some_and(|value| value.starts_with("application/json")) {
        found.refuse("content-type: must be application/json");
    }
    if request.body.is_object() {
        match request.api {
            Api::Anthropic => anthropic::check(request, &mut found),
            Api::OpenAiChat => openai_chat::check(request, &mut found),
            Api::OpenAiResponses => openai_responses::check(request, &mut found),
            Api::Gemini => gemini::check(request, &mut found),
            Api::Other => {}
        }
    } else {
        found.refuse("the body is not a JSON object");
    }
    found.0
}

/// The name that an API gives to a refusal with this status.
pub(super) fn kind(api: Api, status: u16) -> &'static str {
    match (api, status) {
        (Api::Anthropic, 401) => "authentication_error",
        (Api::Anthropic, 500) => "api_error",
        (Api::Gemini, 400) => "INVALID_ARGUMENT",
        (Api::Gemini, 403) => "PERMISSION_DENIED",
        (Api::Gemini, _) => "INTERNAL",
        (Api::OpenAiChat | Api::OpenAiResponses, 500) => "server_error",
        (_, _) => "invalid_request_error",
    }
}

/// A list, or an empty one where there is none.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// A text, or an empty one where there is none.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn fields(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter)
}

fn unknown_keys<'a>(value: &'a Value, known: &[&str]) -> Vec<&'a str> {
    fields(value).map(|(key, _)| key.as_str()).filter(|key| !known.contains(key)).collect()
}

/// Whether a name has only letters, digits, `_` and `-`, and at most so many of them.
fn is_name(name: &str, longest: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !name.is_empty() && name.len() <= longest && name.bytes().all(allowed)
}

/// The first name that comes twice.
fn repeated<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut seen = HashSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}
