//! `Write`: a whole file, new or in the place of one that was read.

use serde::Deserialize;
use serde_json::Value;

use super::blocking::{FileTool, Stop};
use super::bound::counted;
use super::change::Draft;
use super::input::{read_input, spec};
use super::{ToolContext, ToolOutput, diff, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::effectful(
    || spec("Write", include_str!("write.md"), include_str!("write.json")),
    |input, context| touch::change(input, "file_path", context),
    write,
);

#[derive(Deserialize)]
struct Input {
    file_path: String,
    content: String,
}

fn write(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let Input { file_path, content } = read_input(input)?;
    let draft = Draft::open(&file_path, context)?;
    draft.check_seen()?;
    let (name, before) = (draft.shown(), draft.before().map(<[u8]>::to_vec));
    draft.replace(content.as_bytes(), stop)?;
    let done = if before.is_some() { "replaced" } else { "created" };
    let lines = counted(content.lines().count() as u64, "line");
    let bytes = counted(content.len() as u64, "byte");
    let diff = Some(diff::unified(&name, before.as_deref(), content.as_bytes()));
    Ok(ToolOutput { diff, ..ToolOutput::ok(format!("{done} `{name}` ({lines}, {bytes})")) })
}

#[cfg(test)]
mod tests;
