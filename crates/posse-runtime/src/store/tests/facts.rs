//! One fact of every kind, with what is hard to keep: empty and odd texts, exact numbers, the order of keys.

use std::sync::Arc;

use posse_core::event::{
    Answered, Asked, Attachment, Compacted, Fact, Note, NoteKind, Retried, Said, StopAsked, ToolFinished,
    ToolStarted,
};
use posse_core::message::{Api, Finish, Media, Message, Part, Role, Seal, ToolCall, Usage};
use posse_core::outcome::{Outcome, RunError, StopReason};
use serde_json::json;

const ODD: &str = "a\u{0}b \"quoted\" \\ back\r\n\ttab 🦀 e\u{301} \u{2028} 'sql'; --";

/// The first starts a run, the last ends it.
pub(super) fn every_kind() -> Vec<Fact> {
    let mut plan = posse_testkit::sample::plan(Api::Gemini, "http://127.0.0.1");
    plan.task = ODD.to_owned();
    let usage =
        Usage { input_tokens: u64::MAX, output_tokens: 1, cache_read_tokens: 2, cache_write_tokens: 3 };
    vec![
        Fact::Started(Arc::new(plan)),
        Fact::Asked(Asked { turn: 1, note: None }),
        Fact::Retried(Retried {
            turn: 1,
            attempt: 1,
            wait_ms: 500,
            status: Some(529),
            message: ODD.to_owned(),
            context_too_long: true,
        }),
        Fact::Asked(Asked { turn: 1, note: Some(Note { why: NoteKind::WrongOutput, text: String::new() }) }),
        Fact::Answered(answered(usage)),
        Fact::ToolStarted(ToolStarted {
            call_id: "call_1".to_owned(),
            tool: "Odd".to_owned(),
            input: json!({ "z": 1, "a": { "z": null, "b": [0.1, -0.0, 1e300, 18_446_744_073_709_551_615_u64] } }),
            effectful: true,
        }),
        Fact::ToolFinished(ToolFinished {
            call_id: "call_1".to_owned(),
            tool: "Odd".to_owned(),
            text: ODD.repeat(1_000),
            is_error: true,
            duration_ms: 7,
            diff: Some(ODD.to_owned()),
            attachments: vec![Attachment {
                path: ODD.to_owned(),
                media_type: ODD.to_owned(),
                bytes: u64::MAX,
            }],
            media: vec![Media { media_type: ODD.to_owned(), base64: ODD.into() }],
        }),
        Fact::Compacted(Compacted { summary: ODD.to_owned(), messages: 2, usage, cost_usd: None }),
        Fact::Said(Said { from: "cli".to_owned(), text: ODD.to_owned() }),
        Fact::Unknown { kind: "from_the_future".to_owned(), data: json!({ "z": ODD, "a": [1.5, {}] }) },
        Fact::Unknown { kind: String::new(), data: json!(null) },
        Fact::StopAsked(StopAsked { reason: StopReason::Deadline }),
        Fact::Ended(Outcome::TimedOut {
            error: RunError::new("timeout", ODD).with_help("wait"),
            partial: Some(ODD.to_owned()),
        }),
    ]
}

fn answered(usage: Usage) -> Answered {
    let seal = Some(Seal { api: Api::Gemini, value: json!({ "z": "sig", "a": 1 }) });
    let call = ToolCall {
        id: "call_1".to_owned(),
        name: "Odd".to_owned(),
        input: json!({ "z": 1, "a": 2 }),
        malformed: Some("{\"z\":".to_owned()),
        seal: seal.clone(),
    };
    let parts = vec![
        Part::Thinking { text: String::new(), seal },
        Part::Text { text: ODD.to_owned() },
        Part::ToolCall(call),
    ];
    Answered {
        turn: 1,
        message: Arc::new(Message { role: Role::Assistant, parts }),
        finish: Finish::Calls,
        usage,
        cost_usd: Some(0.1 + 0.2),
        duration_ms: 12,
    }
}
