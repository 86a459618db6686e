//! What each API streams, and the same answer as one object.

use serde_json::{Value, json};

use super::client::{ALL, Client, Response, answer, headers, smallest, with};
use crate::model_server::issued::{sign, sign_call};
use crate::{Api, ModelServer, Reply, Script, Stop, Usage};

const USAGE: Usage = Usage { input: 100, output: 40, cache_read: 30, cache_write: 7 };

/// Thinking, text and two calls.
fn rich() -> Reply {
    Reply::calls(&[("read", json!({ "path": "a/long/path.txt" })), ("list", json!({}))])
        .and_text("I look at it now, «then» decide.")
        .and_thinking("Let me think.")
        .usage(USAGE)
}

/// The names and values of one field, joined over all events that have it.
fn joined(response: &Response, pointer: &str) -> String {
    response.events().iter().filter_map(|event| event.pointer(pointer)?.as_str().map(str::to_owned)).collect()
}

/// A field of every event, in order and without repetition.
fn run_of(response: &Response, field: &str) -> Vec<String> {
    let mut names: Vec<String> =
        response.events().iter().map(|event| event[field].as_str().unwrap_or("-").to_owned()).collect();
    names.dedup();
    names
}

fn last(response: &Response) -> Value {
    response.events().last().expect("there are events").clone()
}

fn thinking_anthropic() -> Value {
    with(Api::Anthropic, &json!({ "thinking": { "type": "enabled", "budget_tokens": 1024 } }))
}

fn reasoning_responses() -> Value {
    let include = ["reasoning.encrypted_content"];
    with(Api::OpenAiResponses, &json!({ "reasoning": { "summary": "auto" }, "include": include }))
}

#[test]
fn anthropic_streams_blocks() {
    let response = answer(rich(), Api::Anthropic, &thinking_anthropic());
    assert!(response.head.contains("content-type: text/event-stream"), "{}", response.head);
    let (start, delta, stop) = ("content_block_start", "content_block_delta", "content_block_stop");
    let blocks = [start, delta, stop].repeat(4);
    let expected: Vec<&str> = ["message_start", "ping"].into_iter().chain(blocks).collect();
    assert_eq!(run_of(&response, "type"), [&expected[..], &["message_delta", "message_stop"]].concat());
    assert_eq!(joined(&response, "/delta/thinking"), "Let me think.");
    assert_eq!(joined(&response, "/delta/signature"), sign("Let me think."));
    assert_eq!(joined(&response, "/delta/text"), "I look at it now, «then» decide.");
    assert_eq!(joined(&response, "/delta/partial_json"), r#"{"path":"a/long/path.txt"}"#);
    assert_eq!(joined(&response, "/content_block/name"), "readlist");
    assert_eq!(joined(&response, "/content_block/id"), "toolu_0001t0k_0toolu_0001t0k_1");
    assert_eq!(joined(&response, "/delta/stop_reason"), "tool_use");
    let events = response.events();
    let begun = &events[0]["message"]["usage"];
    assert_eq!(
        *begun,
        json!({ "input_tokens": 100, "cache_creation_input_tokens": 7, "cache_read_input_tokens": 30,
            "output_tokens": 1 })
    );
    assert_eq!(events[events.len() - 2]["usage"]["output_tokens"], 40);
    assert!(response.text().starts_with("event: message_start\ndata: {\"type\":\"message_start\","));
}

#[test]
fn anthropic_does_not_think_unless_asked_and_can_leave_the_text_out() {
    let silent = answer(rich(), Api::Anthropic, &smallest(Api::Anthropic));
    assert!(!silent.text().contains("thinking"));
    assert!(silent.text().contains("toolu_0001t0_0"));
    let adaptive = json!({ "thinking": { "type": "adaptive", "display": "omitted" } });
    let omitted = answer(rich(), Api::Anthropic, &with(Api::Anthropic, &adaptive));
    assert_eq!(joined(&omitted, "/delta/thinking"), "");
    assert_eq!(joined(&omitted, "/delta/signature"), sign("Let me think."));
}

#[test]
fn chat_streams_chunks_with_calls_interleaved() {
    let body = with(Api::OpenAiChat, &json!({ "stream_options": { "include_usage": true } }));
    let response = answer(rich(), Api::OpenAiChat, &body);
    let delta = |name: &str| joined(&response, &format!("/choices/0/delta/{name}"));
    assert_eq!(delta("role"), "assistant");
    assert_eq!(delta("reasoning_content"), "Let me think.");
    assert_eq!(delta("content"), "I look at it now, «then» decide.");
    assert_eq!(joined(&response, "/choices/0/finish_reason"), "tool_calls");
    let events = response.events();
    let calls: Vec<String> = events
        .iter()
        .filter_map(|event| event.pointer("/choices/0/delta/tool_calls/0"))
        .map(|call| format!("{} {}", call["index"], call["function"]))
        .collect();
    assert_eq!(
        calls,
        [
            r#"0 {"name":"read","arguments":""}"#,
            r#"1 {"name":"list","arguments":""}"#,
            r#"0 {"arguments":"{\"path\":\"a/l"}"#,
            r#"1 {"arguments":"{}"}"#,
            r#"0 {"arguments":"ong/path.txt"}"#,
            r#"0 {"arguments":"\"}"}"#,
        ]
    );
    let counted = last(&response);
    assert_eq!(counted["choices"], json!([]));
    assert_eq!(counted["usage"]["prompt_tokens"], 137);
    assert_eq!(counted["usage"]["prompt_tokens_details"]["cached_tokens"], 30);
    assert_eq!(counted["usage"]["completion_tokens"], 40);
    assert!(events[..events.len() - 1].iter().all(|event| event.get("usage") == Some(&Value::Null)));
    assert!(response.text().ends_with("\n\ndata: [DONE]\n\n"));
}

#[test]
fn chat_counts_only_when_asked() {
    let response = answer(rich(), Api::OpenAiChat, &smallest(Api::OpenAiChat));
    assert!(!response.text().contains("usage"));
}

#[test]
fn responses_stream_numbered_items() {
    let response = answer(rich(), Api::OpenAiResponses, &reasoning_responses());
    let call = [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ];
    let expected = [
        &["response.created", "response.in_progress", "response.output_item.added"][..],
        &["response.reasoning_summary_part.added", "response.reasoning_summary_text.delta"],
        &["response.reasoning_summary_text.done", "response.reasoning_summary_part.done"],
        &["response.output_item.done", "response.output_item.added", "response.content_part.added"],
        &["response.output_text.delta", "response.output_text.done", "response.content_part.done"],
        &["response.output_item.done"],
        &call,
        &call,
        &["response.completed"],
    ]
    .concat();
    assert_eq!(run_of(&response, "type"), expected);
    let numbers: Vec<u64> =
        response.events().iter().map(|event| event["sequence_number"].as_u64().expect("a number")).collect();
    assert_eq!(numbers, (0..numbers.len() as u64).collect::<Vec<_>>());
    let whole = &last(&response)["response"];
    let usage = json!({ "input_tokens": 137, "input_tokens_details": { "cached_tokens": 30 },
        "output_tokens": 40, "output_tokens_details": { "reasoning_tokens": 20 }, "total_tokens": 177 });
    assert_eq!(whole["usage"], usage);
    let output = &whole["output"];
    assert_eq!(output[0]["encrypted_content"], json!(sign("rs_0001t0k_msg")));
    assert_eq!(output[0]["summary"][0]["text"], "Let me think.");
    assert_eq!(output[1]["content"][0]["text"], "I look at it now, «then» decide.");
    assert_eq!(output[2]["arguments"], r#"{"path":"a/long/path.txt"}"#);
    assert_eq!(output[3]["call_id"], "call_0001t0k_1");
}

#[test]
fn responses_stop_short_or_refuse() {
    let api = Api::OpenAiResponses;
    for (stop, reason) in [(Stop::MaxTokens, "max_output_tokens"), (Stop::ContentFilter, "content_filter")] {
        let response = answer(Reply::text("half").stop(stop), api, &smallest(api));
        assert_eq!(last(&response)["type"], "response.incomplete");
        assert_eq!(last(&response)["response"]["incomplete_details"]["reason"], reason);
    }
    let refused = answer(Reply::text("I will not.").stop(Stop::Refusal), api, &smallest(api));
    assert!(refused.text().contains("event: response.refusal.delta\n"));
    assert_eq!(last(&refused)["response"]["output"][0]["content"][0]["refusal"], "I will not.");
}

#[test]
fn gemini_streams_parts() {
    let config = json!({ "generationConfig": { "thinkingConfig": { "includeThoughts": true } } });
    let response = answer(rich(), Api::Gemini, &with(Api::Gemini, &config));
    let parts: Vec<Value> =
        response.events().iter().map(|event| event["candidates"][0]["content"]["parts"][0].clone()).collect();
    let call = json!({ "functionCall": { "name": "read", "args": { "path": "a/long/path.txt" } },
        "thoughtSignature": sign_call("read", &json!({ "path": "a/long/path.txt" })) });
    assert_eq!(parts[0], json!({ "text": "Let me think", "thought": true }));
    assert_eq!(parts[parts.len() - 2], call);
    assert_eq!(parts[parts.len() - 1], json!({ "functionCall": { "name": "list", "args": {} } }));
    let end = last(&response);
    assert_eq!(end["candidates"][0]["finishReason"], "STOP");
    let usage = json!({ "promptTokenCount": 137, "candidatesTokenCount": 20, "totalTokenCount": 177,
        "cachedContentTokenCount": 30, "thoughtsTokenCount": 20 });
    assert_eq!(end["usageMetadata"], usage);
    assert!(response.text().contains("}\r\n\r\ndata: {"));
}

#[test]
fn gemini_3_signs_and_names_what_it_says() {
    let server =
        ModelServer::start(Script::in_order(vec![Reply::text("yes"), Reply::calls(&[("a", json!({}))])]));
    let mut client = Client::new(&server);
    let body = smallest(Api::Gemini).to_string();
    let path = "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse";
    let text = last(&client.send("POST", path, headers(Api::Gemini), body.as_bytes()));
    let part = json!({ "text": "", "thoughtSignature": sign("yes") });
    assert_eq!(text["candidates"][0]["content"]["parts"][0], part);
    let call = last(&client.send("POST", path, headers(Api::Gemini), body.as_bytes()));
    let part = json!({ "functionCall": { "name": "a", "args": {}, "id": "fc_0002t0_0" },
        "thoughtSignature": sign_call("a", &json!({})) });
    assert_eq!(call["candidates"][0]["content"]["parts"][0], part);
}

#[test]
fn gemini_without_sse_streams_an_array() {
    let server =
        ModelServer::start(Script::in_order(vec![Reply::text("a text of some length"), Reply::huge(50_000)]));
    let path = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?key=k";
    let body = smallest(Api::Gemini).to_string();
    for least in [3, 10] {
        let response =
            Client::new(&server).send("POST", path, "content-type: application/json\r\n", body.as_bytes());
        assert!(response.json().as_array().expect("an array").len() >= least);
    }
}

#[test]
fn every_way_to_stop_has_a_word_in_every_api() {
    let words = [
        (Stop::End, ["end_turn", "stop", "completed", "STOP"]),
        (Stop::ToolUse, ["tool_use", "tool_calls", "completed", "STOP"]),
        (Stop::MaxTokens, ["max_tokens", "length", "incomplete", "MAX_TOKENS"]),
        (Stop::Refusal, ["refusal", "stop", "completed", "SAFETY"]),
        (Stop::ContentFilter, ["refusal", "content_filter", "incomplete", "SAFETY"]),
        (Stop::StopSequence, ["stop_sequence", "stop", "completed", "STOP"]),
        (Stop::PauseTurn, ["pause_turn", "stop", "completed", "STOP"]),
        (Stop::ContextWindow, ["model_context_window_exceeded", "length", "incomplete", "MAX_TOKENS"]),
    ];
    let pointers = ["/stop_reason", "/choices/0/finish_reason", "/status", "/candidates/0/finishReason"];
    for (stop, words) in words {
        for ((api, word), pointer) in ALL.into_iter().zip(words).zip(pointers) {
            assert_eq!(whole(Reply::text("a").stop(stop), api).pointer(pointer), Some(&json!(word)));
        }
    }
}

/// The answer when no stream is asked for.
fn whole(reply: Reply, api: Api) -> Value {
    if api != Api::Gemini {
        return answer(reply, api, &with(api, &json!({ "stream": false }))).json();
    }
    let server = ModelServer::start(Script::in_order(vec![reply]));
    let path = "/v1beta/models/gemini-3-pro:generateContent";
    Client::new(&server).send("POST", path, headers(api), smallest(api).to_string().as_bytes()).json()
}

#[test]
fn the_same_answer_as_one_object() {
    let anthropic = whole(rich(), Api::Anthropic);
    assert_eq!(anthropic["content"][1]["input"], json!({ "path": "a/long/path.txt" }));
    assert_eq!(anthropic["usage"]["output_tokens"], 40);
    let chat = whole(rich(), Api::OpenAiChat);
    let call = json!({ "id": "call_0001t0_1", "type": "function",
        "function": { "name": "list", "arguments": "{}" } });
    assert_eq!(chat["choices"][0]["message"]["tool_calls"][1], call);
    assert_eq!(chat["choices"][0]["message"]["reasoning_content"], "Let me think.");
    let responses = whole(rich(), Api::OpenAiResponses);
    assert_eq!(responses["output"][0], json!({ "id": "rs_0001t0k_msg", "type": "reasoning", "summary": [] }));
    assert_eq!(responses["status"], "completed");
    let gemini = whole(rich(), Api::Gemini);
    let parts = &gemini["candidates"][0]["content"]["parts"];
    assert_eq!(parts[0]["text"], "I look at it now, «then» decide.");
    assert_eq!(parts[1]["functionCall"]["id"], "fc_0001t0_0");
    assert_eq!(parts[2].get("thoughtSignature"), None);
}
