//! `AttachFile`: a file of the workspace that goes with the result of the run.
//!
//! The file stays where it is and is only named, so a call may be made again without harm: it only looks.

use std::io::Read;

use posse_core::event::Attachment;
use serde::Deserialize;
use serde_json::Value;

use super::blocking::{FileTool, Stop, Stoppable};
use super::bound::{counted, thousands};
use super::input::{read_input, spec};
use super::kind::{HEAD_BYTES, media_type};
use super::{ToolContext, ToolOutput, Touch, path, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::read_only(
    || spec("AttachFile", include_str!("attach_file.md"), include_str!("attach_file.json")),
    touches,
    attach,
);

/// The largest file that is attached.
const BYTES_MAX: u64 = MIB_MAX << 20;
const MIB_MAX: u64 = 100;

#[derive(Deserialize)]
struct Input {
    path: Option<String>,
    /// As every other tool calls it.
    file_path: Option<String>,
}

fn touches(input: &Value, context: &ToolContext) -> Vec<Touch> {
    let key = if input.get("path").is_some() { "path" } else { "file_path" };
    touch::look(input, key, context)
}

fn attach(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let input: Input = read_input(input)?;
    let Some(written) = input.path.or(input.file_path) else {
        return Err("there is no path".to_owned());
    };
    let target = path::resolve(&written, context)?;
    let (file, bytes) = path::open_regular(&target.relative, context)?;
    let name = target.shown();
    if bytes > BYTES_MAX {
        return Err(format!(
            "`{name}` has {} bytes; files of up to {MIB_MAX} MiB are attached",
            thousands(bytes)
        ));
    }
    let mut head = Vec::new();
    let looked = Stoppable::new(file, stop).take(HEAD_BYTES as u64).read_to_end(&mut head);
    looked.map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    let media_type = media_type(&head, &target.relative).to_owned();
    let text = format!("attached `{name}` ({media_type}, {})", counted(bytes, "byte"));
    let path = target.real.to_string_lossy().into_owned();
    Ok(ToolOutput { attachments: vec![Attachment { path, media_type, bytes }], ..ToolOutput::ok(text) })
}

#[cfg(test)]
mod tests;
