//! The same message in every protocol: what a tool shows besides its words.

use expect_test::{Expect, expect};
use posse_core::message::{Api, Media, Message, Part, Role, ToolResult};

use super::protocol;

fn shown(call_id: &str, text: &str, media: &[(&str, &str)]) -> Part {
    let media = media
        .iter()
        .map(|(media_type, base64)| Media { media_type: (*media_type).to_owned(), base64: (*base64).into() });
    let (call_id, name, text) = (call_id.to_owned(), "Read".to_owned(), text.to_owned());
    Part::ToolResult(ToolResult { call_id, name, text, is_error: false, media: media.collect() })
}

#[allow(clippy::needless_pass_by_value)]
fn check(api: Api, parts: Vec<Part>, expected: Expect) {
    let mut out = Vec::new();
    protocol(api).unwrap().message(&Message { role: Role::User, parts }, true, &mut out);
    expected.assert_eq(&String::from_utf8(out).unwrap());
}

fn picture_document_and_words() -> Vec<Part> {
    vec![
        shown("call_1", "[a picture]", &[("image/png", "iVBORw==")]),
        shown("call_2", "", &[("application/pdf", "JVBERg==")]),
        shown("call_3", "only words", &[]),
        Part::Text { text: "Go on.".to_owned() },
    ]
}

#[test]
fn anthropic_has_them_in_the_result() {
    check(
        Api::Anthropic,
        picture_document_and_words(),
        expect![[
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"[a picture]"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw=="}}]},{"type":"tool_result","tool_use_id":"call_2","content":[{"type":"text","text":"(no output)"},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="}}]},{"type":"tool_result","tool_use_id":"call_3","content":"only words"},{"type":"text","text":"Go on.","cache_control":{"type":"ephemeral"}}]}"#
        ]],
    );
}

#[test]
fn openai_responses_has_them_in_the_output() {
    check(
        Api::OpenaiResponses,
        picture_document_and_words(),
        expect![[
            r#"{"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"[a picture]"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw=="}]},{"type":"function_call_output","call_id":"call_2","output":[{"type":"input_text","text":"(no output)"},{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERg=="}]},{"type":"function_call_output","call_id":"call_3","output":"only words"},{"type":"message","role":"user","content":[{"type":"input_text","text":"Go on."}]}"#
        ]],
    );
}

#[test]
fn openai_chat_has_them_in_a_message_that_follows() {
    check(
        Api::OpenaiChat,
        picture_document_and_words(),
        expect![[
            r#"{"role":"tool","tool_call_id":"call_1","content":"[a picture]"},{"role":"tool","tool_call_id":"call_2","content":"(no output)"},{"role":"tool","tool_call_id":"call_3","content":"only words"},{"role":"user","content":[{"type":"text","text":"Shown by Read (call call_1):"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}},{"type":"text","text":"Shown by Read (call call_2):"},{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERg=="}},{"type":"text","text":"Go on."}]}"#
        ]],
    );
    check(
        Api::OpenaiChat,
        vec![shown("call_1", "[a picture]", &[("image/png", "iVBORw==")])],
        expect![[
            r#"{"role":"tool","tool_call_id":"call_1","content":"[a picture]"},{"role":"user","content":[{"type":"text","text":"Shown by Read (call call_1):"},{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]}"#
        ]],
    );
}

#[test]
fn gemini_has_them_beside_the_responses() {
    check(
        Api::Gemini,
        picture_document_and_words(),
        expect![[
            r#"{"role":"user","parts":[{"functionResponse":{"id":"call_1","name":"Read","response":{"output":"[a picture]"}}},{"functionResponse":{"id":"call_2","name":"Read","response":{"output":"(no output)"}}},{"functionResponse":{"id":"call_3","name":"Read","response":{"output":"only words"}}},{"inlineData":{"mimeType":"image/png","data":"iVBORw=="}},{"inlineData":{"mimeType":"application/pdf","data":"JVBERg=="}},{"text":"Go on."}]}"#
        ]],
    );
}
