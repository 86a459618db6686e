//! What a server that speaks an OpenAI protocol complains about, and what a caller can do about it.
//!
//! Only words and codes are looked at here, never a request.

use serde_json::Value;

use crate::provider::wire::excerpt;
use crate::provider::{Fault, ProviderError, fault_of_status};

/// The most characters of a server's own message that are looked at.
const MESSAGE_CHARS_MAX: usize = 2000;

/// Codes and types, in part, of a conversation that is too long.
const CONTEXT_CODES: &[&str] = &["context_length_exceeded", "exceed_context_size", "context_too_long"];

/// How servers say, without a code, that a conversation is too long.
const CONTEXT_WORDS: &[&str] = &[
    "maximum context length",
    "context length exceeded",
    "context_length_exceeded",
    "context window",
    "exceeds the available context size",
    "exceed context size",
    "exceeds the context size",
    "prompt is too long",
    "input is too long",
    "too many tokens",
];

/// Codes and types, in part, that asking again does not mend although the status may be 429.
const SPENT_CODES: &[&str] = &["insufficient_quota", "billing"];

/// Codes and types, in part, that stand for a passing trouble.
const PASSING_CODES: &[&str] = &["rate_limit", "server_error", "overloaded", "unavailable", "timeout"];

/// Codes and types, in part, of a request or a key that will never do.
const LASTING_CODES: &[&str] = &["invalid_", "authentication", "permission", "not_found", "unsupported"];

/// A complaint in the server's own words.
#[derive(Debug, Default)]
struct Complaint {
    /// Empty where the server has none.
    message: String,
    /// The code and the type, lower case.
    codes: String,
    /// The code, where it is a status.
    status: Option<u16>,
}

/// The error that a status other than 2xx and its body stand for.
pub(in crate::provider) fn refusal(status: u16, body: &str) -> ProviderError {
    let read = serde_json::from_str::<Value>(body).ok();
    let mut complaint = read.as_ref().map(Complaint::of).unwrap_or_default();
    if complaint.message.is_empty() {
        complaint.message = excerpt(body);
    }
    let fault = complaint.fault_with_status(status);
    let message = if complaint.message.is_empty() {
        format!("the server answered with status {status} and no words")
    } else {
        excerpt(&complaint.message)
    };
    ProviderError { fault, status: Some(status), message, retry_after: None }
}

/// The error that a complaint in the middle of a stream stands for.
pub(in crate::provider) fn complaint_in_stream(complaint: &Value) -> ProviderError {
    let words = Complaint::of(complaint);
    let fault = words.fault_in_stream();
    let message = if words.message.is_empty() {
        format!("the server broke off with an error: {}", excerpt(&complaint.to_string()))
    } else {
        excerpt(&words.message)
    };
    ProviderError { fault, status: None, message, retry_after: None }
}

impl Complaint {
    /// Reads `{error: {…}}`, `{error: "…"}`, `{detail: …}`, a bare `{message, code}`, or a list of such.
    fn of(body: &Value) -> Complaint {
        let body = body.get(0).unwrap_or(body);
        let error = ["error", "detail"].iter().find_map(|key| body.get(key).filter(|value| !value.is_null()));
        let error = error.unwrap_or(body);
        let error = error.get(0).unwrap_or(error);
        let code = error.get("code");
        let codes = [code, error.get("type")].into_iter().flatten().filter_map(Value::as_str);
        Complaint {
            message: message_of(error).chars().take(MESSAGE_CHARS_MAX).collect(),
            codes: codes.collect::<Vec<_>>().join(" ").to_lowercase(),
            status: code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok()),
        }
    }

    fn fault_with_status(&self, status: u16) -> Fault {
        if self.code_is_one_of(CONTEXT_CODES) || (matches!(status, 400 | 413) && self.speaks_of_context()) {
            return Fault::ContextTooLong;
        }
        if self.code_is_one_of(SPENT_CODES) {
            return Fault::Lasting;
        }
        fault_of_status(status)
    }

    /// What has begun to answer has taken the request: unless it says otherwise, the trouble passes.
    fn fault_in_stream(&self) -> Fault {
        if self.code_is_one_of(CONTEXT_CODES) {
            return Fault::ContextTooLong;
        }
        if self.code_is_one_of(SPENT_CODES) {
            return Fault::Lasting;
        }
        if self.code_is_one_of(PASSING_CODES) {
            return Fault::Passing;
        }
        if self.speaks_of_context() {
            return Fault::ContextTooLong;
        }
        if self.code_is_one_of(LASTING_CODES) {
            return Fault::Lasting;
        }
        self.status.map_or(Fault::Passing, fault_of_status)
    }

    fn code_is_one_of(&self, codes: &[&str]) -> bool {
        codes.iter().any(|code| self.codes.contains(code))
    }

    fn speaks_of_context(&self) -> bool {
        let message = self.message.to_lowercase();
        CONTEXT_WORDS.iter().any(|words| message.contains(words))
    }
}

/// The words of an error. OpenRouter's own say little, what the provider behind it said is in `metadata.raw`.
fn message_of(error: &Value) -> String {
    let words = ["message", "msg", "detail"].iter().find_map(|key| error.get(key).and_then(Value::as_str));
    let words = words.or_else(|| error.as_str()).unwrap_or_default().trim();
    match error.pointer("/metadata/raw").and_then(Value::as_str) {
        Some(raw) => format!("{words}: {}", excerpt(raw)),
        None => words.to_owned(),
    }
}

#[cfg(test)]
mod tests;
