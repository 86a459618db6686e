//! `NotebookEdit`: one cell of a Jupyter notebook.
//!
//! Only the bytes of that cell change: the rest of the file, its keys, numbers and indentation, stays as it is.

mod cell;

use std::ops::Range;

use posse_core::text::visible_line;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use self::cell::{CellType, Style};
use super::blocking::{FileTool, Stop};
use super::change::Draft;
use super::input::{read_input, spec};
use super::{ToolContext, ToolOutput, diff, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::effectful(
    || spec("NotebookEdit", include_str!("notebook_edit.md"), include_str!("notebook_edit.json")),
    |input, context| touch::change(input, "notebook_path", context),
    notebook_edit,
);

#[derive(Deserialize)]
struct Input {
    notebook_path: String,
    cell_id: Option<String>,
    new_source: String,
    cell_type: Option<CellType>,
    #[serde(default)]
    edit_mode: EditMode,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum EditMode {
    #[default]
    Replace,
    Insert,
    Delete,
}

/// A notebook as far as it matters here.
#[derive(Deserialize)]
struct Notebook<'a> {
    #[serde(borrow)]
    cells: &'a RawValue,
    #[serde(default)]
    nbformat: u64,
    #[serde(default)]
    nbformat_minor: u64,
}

/// The cells of a notebook and where they stand in its text.
struct Cells<'a> {
    text: &'a str,
    /// The list, brackets included.
    list: Range<usize>,
    cells: Vec<(Range<usize>, Value)>,
    /// True when a cell has an id.
    have_ids: bool,
}

fn notebook_edit(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let input: Input = read_input(input)?;
    let draft = Draft::open(&input.notebook_path, context)?;
    let name = draft.shown();
    let Some(before) = draft.before().map(<[u8]>::to_vec) else {
        return Err(format!("`{name}` does not exist; Write makes a new notebook"));
    };
    draft.check_seen()?;
    let wrong = |error: String| format!("`{name}` is not a notebook: {error}");
    let text = std::str::from_utf8(&before).map_err(|_| wrong("it is not UTF-8".to_owned()))?;
    let cells = Cells::read(text).map_err(wrong)?;
    let (after, done) = cells.edit(&input).map_err(|error| format!("`{name}`: {error}"))?;
    draft.replace(after.as_bytes(), stop)?;
    let diff = Some(diff::unified(&name, Some(&before), after.as_bytes()));
    Ok(ToolOutput { diff, ..ToolOutput::ok(format!("{done} of `{name}`")) })
}

impl<'a> Cells<'a> {
    fn read(text: &'a str) -> Result<Cells<'a>, String> {
        let said = |error: serde_json::Error| error.to_string();
        let notebook: Notebook<'a> = serde_json::from_str(text).map_err(said)?;
        let raw: Vec<&'a RawValue> = serde_json::from_str(notebook.cells.get()).map_err(said)?;
        let mut cells = Vec::with_capacity(raw.len());
        for cell in raw {
            let value: Value = serde_json::from_str(cell.get()).map_err(said)?;
            if !value.is_object() {
                return Err("a cell is not an object".to_owned());
            }
            cells.push((place(text, cell.get()), value));
        }
        let have_ids = (notebook.nbformat, notebook.nbformat_minor) >= (4, 5);
        Ok(Cells { text, list: place(text, notebook.cells.get()), cells, have_ids })
    }

    /// The text after the edit, and what was done to which cell.
    fn edit(&self, input: &Input) -> Result<(String, String), String> {
        let at = input.cell_id.as_deref().map(|id| self.find(id)).transpose()?;
        let Some(at) = at else {
            if input.edit_mode != EditMode::Insert {
                return Err(format!("cell_id is needed; {}", self.known()));
            }
            return Ok((self.insert_first(input)?, "inserted the first cell".to_owned()));
        };
        let shown = visible_line(input.cell_id.as_deref().unwrap_or_default());
        Ok(match input.edit_mode {
            EditMode::Replace => {
                let (place, cell) = &self.cells[at];
                let style = self.style(place);
                let is_as_it_was =
                    |new: &CellType| cell.get("cell_type").and_then(Value::as_str) == Some(new.as_str());
                let stays = input.cell_type.as_ref().is_none_or(is_as_it_was);
                let text = &self.text[place.clone()];
                let text = stays.then(|| cell::replaced_in(text, &input.new_source, style)).flatten();
                let text = text.unwrap_or_else(|| {
                    cell::write(&cell::replaced(cell, &input.new_source, input.cell_type), style)
                });
                (self.splice(place.clone(), &text), format!("replaced cell `{shown}`"))
            }
            EditMode::Insert => {
                let place = &self.cells[at].0;
                let style = self.style(place);
                let separator = if style == Style::Compact { ", " } else { ",\n  " };
                let new = format!("{separator}{}", cell::write(&self.new_cell(input)?, style));
                (self.splice(place.end..place.end, &new), format!("inserted a cell after `{shown}`"))
            }
            EditMode::Delete => (self.delete(at), format!("deleted cell `{shown}`")),
        })
    }

    fn find(&self, id: &str) -> Result<usize, String> {
        let has_id = |(_, cell): &(Range<usize>, Value)| cell.get("id").and_then(Value::as_str) == Some(id);
        let by_number = || id.strip_prefix("cell-")?.parse().ok().filter(|at| *at < self.cells.len());
        let found = self.cells.iter().position(has_id).or_else(by_number);
        found.ok_or_else(|| format!("there is no cell `{}`; {}", visible_line(id), self.known()))
    }

    /// What the cells are called, as far as that is short.
    fn known(&self) -> String {
        const SHOWN: usize = 20;
        let name =
            |(at, cell): (usize, &(Range<usize>, Value))| match cell.1.get("id").and_then(Value::as_str) {
                Some(id) => visible_line(id),
                None => format!("cell-{at}"),
            };
        let names: Vec<String> = self.cells.iter().enumerate().take(SHOWN).map(name).collect();
        let more = if self.cells.len() > SHOWN { ", …" } else { "" };
        match names.as_slice() {
            [] => "it has no cells".to_owned(),
            names => format!("its cells are {}{more}", names.join(", ")),
        }
    }

    fn insert_first(&self, input: &Input) -> Result<String, String> {
        let new = self.new_cell(input)?;
        let Some((first, _)) = self.cells.first() else {
            return Ok(
                self.splice(self.list.clone(), &format!("[\n  {}\n ]", cell::write(&new, Style::Indented)))
            );
        };
        let style = self.style(first);
        let separator = if style == Style::Compact { ", " } else { ",\n  " };
        Ok(self.splice(first.start..first.start, &format!("{}{separator}", cell::write(&new, style))))
    }

    fn new_cell(&self, input: &Input) -> Result<Value, String> {
        let Some(cell_type) = input.cell_type else {
            return Err("cell_type is needed to insert a cell: code or markdown".to_owned());
        };
        let taken =
            |id: &str| self.cells.iter().any(|(_, cell)| cell.get("id").and_then(Value::as_str) == Some(id));
        let id = self.have_ids.then(|| cell::new_id(&input.new_source, taken));
        Ok(cell::new(cell_type, &input.new_source, id))
    }

    /// The text without a cell and the comma beside it.
    fn delete(&self, at: usize) -> String {
        let place = &self.cells[at].0;
        match (at.checked_sub(1).map(|at| &self.cells[at].0), self.cells.get(at + 1)) {
            (_, Some((next, _))) => self.splice(place.start..next.start, ""),
            (Some(previous), None) => self.splice(previous.end..place.end, ""),
            (None, None) => self.splice(self.list.clone(), "[]"),
        }
    }

    fn style(&self, place: &Range<usize>) -> Style {
        if self.text[place.clone()].contains('\n') { Style::Indented } else { Style::Compact }
    }

    fn splice(&self, place: Range<usize>, new: &str) -> String {
        format!("{}{new}{}", &self.text[..place.start], &self.text[place.end..])
    }
}

/// Where a part of a text stands in it.
fn place(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr().addr() - text.as_ptr().addr();
    assert_eq!(&text[start..start + part.len()], part, "a raw value is a part of what was read");
    start..start + part.len()
}

#[cfg(test)]
mod tests;
