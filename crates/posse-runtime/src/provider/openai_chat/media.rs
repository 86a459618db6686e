//! Media in a conversation: a tool's message holds only words, so a message of the user's that follows shows them.

use posse_core::message::{Media, Message, Part};
use serde::Serialize;

use super::super::wire::{DOCUMENT_NAME, DataUrl};

/// A message of the user's with more than words.
#[derive(Serialize)]
pub(super) struct MediaMessage<'a> {
    role: &'static str,
    content: Vec<Piece<'a>>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Piece<'a> {
    Text { text: String },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: File<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
struct File<'a> {
    filename: &'static str,
    file_data: DataUrl<'a>,
}

/// The media of a message's results and then its words; `None` where there are no media.
pub(super) fn message<'a>(message: &'a Message, words: &str) -> Option<MediaMessage<'a>> {
    let mut content = Vec::new();
    for part in &message.parts {
        match part {
            Part::ToolResult(result) if !result.media.is_empty() => {
                // Two calls may show something: which did what is not told by their order alone.
                let text = format!("Shown by {} (call {}):", result.name, result.call_id);
                content.push(Piece::Text { text });
                content.extend(result.media.iter().map(Piece::of));
            }
            Part::ToolResult(_) | Part::Text { .. } | Part::Thinking { .. } | Part::ToolCall(_) => {}
        }
    }
    if content.is_empty() {
        return None;
    }
    if !words.is_empty() {
        content.push(Piece::Text { text: words.to_owned() });
    }
    Some(MediaMessage { role: "user", content })
}

impl<'a> Piece<'a> {
    fn of(media: &'a Media) -> Piece<'a> {
        if media.is_image() {
            Piece::ImageUrl { image_url: ImageUrl { url: DataUrl(media) } }
        } else {
            Piece::File { file: File { filename: DOCUMENT_NAME, file_data: DataUrl(media) } }
        }
    }
}
