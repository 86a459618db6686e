//! Pictures and documents that `Read` gives to models that take them.

use std::io::Read;
use std::path::Path;

use posse_core::message::Media;

use super::super::bound::counted;
use super::super::kind::media_type;
use super::super::{ToolContext, ToolOutput, base64, path};

/// The largest picture: the smallest limit of an API is 5 MiB, counted in base64.
const IMAGE_BYTES_MAX: u64 = (5 << 20) / 4 * 3;
/// The largest document: some APIs take requests of 20 MB in all, counted in base64, and what was read stays in the
/// conversation.
const DOCUMENT_BYTES_MAX: u64 = 10 << 20;

/// What a file that begins with `head` is, if a model can be shown it.
pub(super) fn kind(head: &[u8]) -> Option<&'static str> {
    let kind = media_type(head, Path::new(""));
    matches!(kind, "image/png" | "image/jpeg" | "image/gif" | "image/webp" | "application/pdf")
        .then_some(kind)
}

/// Shows the model a whole file.
pub(super) fn show(
    file: impl Read,
    media_type: &str,
    relative: &Path,
    context: &ToolContext,
) -> Result<ToolOutput, String> {
    let name = path::shown(relative);
    let bytes_max = if media_type == "application/pdf" { DOCUMENT_BYTES_MAX } else { IMAGE_BYTES_MAX };
    let mut bytes = Vec::new();
    let read = file.take(bytes_max + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    if bytes.len() as u64 > bytes_max {
        let limit = counted(bytes_max, "byte");
        return Err(format!("`{name}` ({media_type}) is too large to be shown: it has more than {limit}"));
    }
    let size = counted(bytes.len() as u64, "byte");
    if !context.takes_media {
        return Err(format!("`{name}` is {media_type}, {size}; the model of this run cannot see it"));
    }
    let media = Media { media_type: media_type.to_owned(), base64: base64::encode(&bytes).into() };
    Ok(ToolOutput {
        media: vec![media],
        ..ToolOutput::ok(format!("[`{name}`: {media_type}, {size}, shown]"))
    })
}
