//! One cell of a notebook: made, changed and written as Jupyter does.

use serde::{Deserialize, Serialize};
use serde_json::ser::PrettyFormatter;
use serde_json::value::RawValue;
use serde_json::{Map, Serializer, Value, json};

use super::super::seen::hash;
use super::place;

/// What a cell holds.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub(super) enum CellType {
    Code,
    Markdown,
}

/// How a cell stands in its file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// One blank for each level, as Jupyter writes.
    Indented,
    /// On one line.
    Compact,
}

/// What of a cell changes with its source.
#[derive(Deserialize)]
struct Parts<'a> {
    cell_type: String,
    #[serde(borrow)]
    source: &'a RawValue,
    #[serde(borrow)]
    outputs: Option<&'a RawValue>,
    #[serde(borrow)]
    execution_count: Option<&'a RawValue>,
}

impl CellType {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            CellType::Code => "code",
            CellType::Markdown => "markdown",
        }
    }
}

/// A new cell, with its keys in Jupyter's order.
pub(super) fn new(cell_type: CellType, source: &str, id: Option<String>) -> Value {
    let mut cell = Map::new();
    cell.insert("cell_type".to_owned(), cell_type.as_str().into());
    if cell_type == CellType::Code {
        cell.insert("execution_count".to_owned(), Value::Null);
    }
    if let Some(id) = id {
        cell.insert("id".to_owned(), id.into());
    }
    cell.insert("metadata".to_owned(), json!({}));
    if cell_type == CellType::Code {
        cell.insert("outputs".to_owned(), json!([]));
    }
    cell.insert("source".to_owned(), lines(source));
    Value::Object(cell)
}

/// An id that no cell has; the same for the same source, so that a recorded run replays.
pub(super) fn new_id(source: &str, taken: impl Fn(&str) -> bool) -> String {
    let id = |number: u32| {
        let bytes = hash(format!("{number}{source}").as_bytes());
        bytes[..4].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
    };
    (0..).map(id).find(|id| !taken(id)).expect("there are more ids than cells")
}

/// The text of the same cell with another source: only what must change does, numbers elsewhere keep their spelling.
/// `None` where the cell has no source.
pub(super) fn replaced_in(text: &str, source: &str, style: Style) -> Option<String> {
    let parts: Parts<'_> = serde_json::from_str(text).ok()?;
    let new_source = if parts.source.get().starts_with('"') { source.into() } else { lines(source) };
    let mut changes = vec![(parts.source, new_source)];
    if parts.cell_type == "code" {
        // A count that is null or not there needs no change.
        changes.extend(parts.outputs.map(|old| (old, json!([]))));
        changes.extend(parts.execution_count.map(|old| (old, Value::Null)));
    }
    // From the back, so that what is before stays in its place.
    changes.sort_by_key(|(old, _)| std::cmp::Reverse(place(text, old.get()).start));
    let mut replaced = text.to_owned();
    for (old, new) in &changes {
        // A key of a cell stands one level further in than the cell.
        replaced.replace_range(place(text, old.get()), &write(new, style).replace('\n', "\n "));
    }
    Some(replaced)
}

/// The same cell with another source. What the old one gave when it ran is gone with it.
pub(super) fn replaced(cell: &Value, source: &str, cell_type: Option<CellType>) -> Value {
    let mut cell = cell.as_object().cloned().unwrap_or_default();
    let was_text = cell.get("source").is_some_and(Value::is_string);
    if let Some(cell_type) = cell_type {
        cell.insert("cell_type".to_owned(), cell_type.as_str().into());
    }
    if cell.get("cell_type").and_then(Value::as_str) == Some("code") {
        cell.insert("execution_count".to_owned(), Value::Null);
        cell.insert("outputs".to_owned(), json!([]));
    } else {
        cell.shift_remove("execution_count");
        cell.shift_remove("outputs");
    }
    cell.insert("source".to_owned(), if was_text { source.into() } else { lines(source) });
    Value::Object(cell)
}

/// The text of a cell in the list of a notebook.
pub(super) fn write(cell: &Value, style: Style) -> String {
    if style == Style::Compact {
        return cell.to_string();
    }
    let mut out = Vec::new();
    cell.serialize(&mut Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(b" ")))
        .expect("a JSON value can be written");
    // No line break is inside a string: JSON spells it.
    String::from_utf8(out).expect("JSON is UTF-8").replace('\n', "\n  ")
}

/// A source as Jupyter keeps it: a list of lines with their ends.
fn lines(source: &str) -> Value {
    source.split_inclusive('\n').map(str::to_owned).collect::<Vec<_>>().into()
}
