//! Scripts as JSON, for a server in a process of its own. The keys are the names of the Rust builder.

use serde_json::{Map, Value};

use super::{Reply, Script, Stop, Usage};

const SCRIPT_KEYS: [&str; 5] = ["in_order", "by_turn", "models", "keep_requests", "$comment"];

/// The keys that make a reply something other than content.
const KINDS: [&str; 7] =
    ["error", "raw", "malformed_json", "malformed_sse", "wrong_content_type", "huge", "in_stream_error"];

impl Script {
    /// Reads a script: `{"by_turn": [{"calls": [["read", {"path": "a"}]]}, {"text": "done"}]}`.
    ///
    /// Requests are counted and not kept unless `keep_requests` says so: another process cannot see them.
    pub fn from_json(script: &Value) -> Result<Script, String> {
        let fields = object(script, "a script")?;
        if let Some(unknown) = fields.keys().find(|key| !SCRIPT_KEYS.contains(&key.as_str())) {
            return Err(format!("`{unknown}` is not a key of a script"));
        }
        let replies = |list: &Value| {
            let list = list.as_array().ok_or("the replies are not a list")?;
            list.iter().map(Reply::from_json).collect::<Result<Vec<_>, _>>()
        };
        let mut result = match (fields.get("in_order"), fields.get("by_turn")) {
            (Some(list), None) => Script::in_order(replies(list)?),
            (None, Some(list)) => Script::by_turn(replies(list)?),
            (_, _) => return Err("a script has either `in_order` or `by_turn`".into()),
        };
        if let Some(models) = fields.get("models") {
            let models = models.as_array().ok_or("`models` is not a list")?;
            let names: Option<Vec<&str>> = models.iter().map(Value::as_str).collect();
            result = result.models(names.ok_or("`models` is not a list of names")?);
        }
        let kept = fields.get("keep_requests").map_or(Ok(0), |value| size(value, "keep_requests"))?;
        Ok(result.keep_requests(kept))
    }
}

impl Reply {
    /// Reads a reply: `{"text": "done", "latency_ms": 5}`.
    pub fn from_json(reply: &Value) -> Result<Reply, String> {
        let fields = object(reply, "a reply")?;
        let kind = fields.keys().find(|key| KINDS.contains(&key.as_str()));
        let mut result = match kind.map(String::as_str) {
            Some(kind) => of_kind(kind, &fields[kind])?,
            None => Reply::text(""),
        };
        for (key, value) in fields.iter().filter(|(key, _)| Some(*key) != kind) {
            result = with(result, key, value)?;
        }
        Ok(result)
    }
}

fn of_kind(kind: &str, value: &Value) -> Result<Reply, String> {
    match kind {
        "error" => Ok(Reply::error(
            status(&value["status"])?,
            string(&value["kind"], "error.kind")?,
            string(&value["message"], "error.message")?,
        )),
        "raw" => Ok(Reply::raw(
            status(&value["status"])?,
            string(&value["content_type"], "raw.content_type")?,
            string(&value["body"], "raw.body")?.as_bytes(),
        )),
        "malformed_json" => Ok(Reply::malformed_json()),
        "malformed_sse" => Ok(Reply::malformed_sse()),
        "wrong_content_type" => Ok(Reply::wrong_content_type()),
        "huge" => Ok(Reply::huge(size(value, "huge")?)),
        "in_stream_error" => Ok(Reply::in_stream_error(
            string(&value["kind"], "in_stream_error.kind")?,
            string(&value["message"], "in_stream_error.message")?,
        )),
        _ => Err(format!("`{kind}` is not a kind of reply")),
    }
}

fn with(reply: Reply, key: &str, value: &Value) -> Result<Reply, String> {
    Ok(match key {
        "text" => reply.and_text(string(value, key)?),
        "thinking" => reply.and_thinking(string(value, key)?),
        "calls" => calls(reply, value)?,
        "usage" => reply.usage(usage(value)?),
        "stop" => reply.stop(stop(string(value, key)?)?),
        "latency_ms" => reply.latency_ms(value.as_u64().ok_or("`latency_ms` is not a number")?),
        "chunk_bytes" => reply.chunk_bytes(size(value, key)?.max(1)),
        "cut_at" => reply.cut_at(size(value, key)?),
        "reset_at" => reply.reset_at(size(value, key)?),
        "stall_at" => reply.stall_at(size(value, key)?),
        "headers" => {
            let mut reply = reply;
            for (name, value) in object(value, "`headers`")? {
                reply = reply.header(name, string(value, name)?);
            }
            reply
        }
        _ => return Err(format!("`{key}` is not a key of a reply")),
    })
}

fn calls(mut reply: Reply, value: &Value) -> Result<Reply, String> {
    for call in value.as_array().ok_or("`calls` is not a list")? {
        match call.as_array().map(Vec::as_slice) {
            Some([name, input]) => reply = reply.and_call(string(name, "calls")?, input.clone()),
            Some(_) | None => return Err("a call is a list of a name and its input".into()),
        }
    }
    Ok(reply)
}

fn usage(value: &Value) -> Result<Usage, String> {
    let fields = object(value, "`usage`")?;
    let count = |name: &str| fields.get(name).map_or(Some(0), Value::as_u64);
    let read = || {
        Some(Usage {
            input: count("input")?,
            output: count("output")?,
            cache_read: count("cache_read")?,
            cache_write: count("cache_write")?,
        })
    };
    read().ok_or_else(|| "`usage` has something that is not a number".into())
}

fn stop(name: &str) -> Result<Stop, String> {
    Ok(match name {
        "end" => Stop::End,
        "tool_use" => Stop::ToolUse,
        "max_tokens" => Stop::MaxTokens,
        "refusal" => Stop::Refusal,
        "content_filter" => Stop::ContentFilter,
        "stop_sequence" => Stop::StopSequence,
        "pause_turn" => Stop::PauseTurn,
        "context_window" => Stop::ContextWindow,
        _ => return Err(format!("`{name}` is not a way to stop")),
    })
}

fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("{what} is not an object"))
}

fn string<'a>(value: &'a Value, what: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| format!("`{what}` is not a text"))
}

fn size(value: &Value, what: &str) -> Result<usize, String> {
    let size = value.as_u64().and_then(|number| usize::try_from(number).ok());
    size.ok_or_else(|| format!("`{what}` is not a number of bytes or requests"))
}

fn status(value: &Value) -> Result<u16, String> {
    let status = value.as_u64().and_then(|number| u16::try_from(number).ok());
    status.ok_or_else(|| "`status` is not an HTTP status".into())
}
