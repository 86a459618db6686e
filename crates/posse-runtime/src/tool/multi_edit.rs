//! `MultiEdit`: several exchanges in one file, all or none.

use serde::Deserialize;
use serde_json::Value;

use super::blocking::{FileTool, Stop};
use super::edit::{Exchange, apply_all};
use super::input::{read_input, spec};
use super::{ToolContext, ToolOutput, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::effectful(
    || spec("MultiEdit", include_str!("multi_edit.md"), include_str!("multi_edit.json")),
    |input, context| touch::change(input, "file_path", context),
    multi_edit,
);

/// The most exchanges of one call.
const EDITS_MAX: usize = 500;

#[derive(Deserialize)]
struct Input {
    file_path: String,
    edits: Vec<Exchange>,
}

fn multi_edit(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let Input { file_path, edits } = read_input(input)?;
    match edits.len() {
        0 => Err("there are no edits".to_owned()),
        1..=EDITS_MAX => apply_all(&file_path, &edits, context, stop),
        more => Err(format!("{more} edits are more than {EDITS_MAX}; nothing was changed")),
    }
}
