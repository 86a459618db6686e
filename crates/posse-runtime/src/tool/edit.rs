//! `Edit`: one exact text of a file for another.
//!
//! How an edit is applied is also what `MultiEdit` uses; how a file is replaced is not decided here.

mod hint;
pub(super) mod text;

use posse_core::text::one_line;
use serde::Deserialize;
use serde_json::Value;

use self::text::{Text, plain};
use super::blocking::{FileTool, Stop};
use super::bound::{counted, thousands};
use super::change::Draft;
use super::input::{read_input, spec};
use super::{ToolContext, ToolOutput, diff, path, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::effectful(
    || spec("Edit", include_str!("edit.md"), include_str!("edit.json")),
    |input, context| touch::change(input, "file_path", context),
    edit,
);

/// How many lines are named when a text is found more than once.
const PLACES_SHOWN: usize = 5;
/// How much of a text is repeated in a message.
const TEXT_CHARACTERS_MAX: usize = 80;

#[derive(Deserialize)]
struct Input {
    file_path: String,
    old_string: String,
    new_string: String,
    replace_all: Option<bool>,
}

/// One text for another.
#[derive(Debug, Deserialize)]
pub(super) struct Exchange {
    pub old_string: String,
    pub new_string: String,
    pub replace_all: Option<bool>,
}

/// Where something was put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Applied {
    /// How often.
    pub times: usize,
    /// The first place.
    pub from: usize,
    /// Where it ends.
    pub to: usize,
}

fn edit(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let Input { file_path, old_string, new_string, replace_all } = read_input(input)?;
    apply_all(&file_path, &[Exchange { old_string, new_string, replace_all }], context, stop)
}

/// Makes some exchanges in a file, each in what the one before left: all of them or none.
pub(super) fn apply_all(
    file_path: &str,
    edits: &[Exchange],
    context: &ToolContext,
    stop: &Stop,
) -> Result<ToolOutput, String> {
    let draft = Draft::open(file_path, context)?;
    let name = draft.shown();
    let creates = edits.first().is_some_and(|first| first.old_string.is_empty());
    let before = draft.before().map(<[u8]>::to_vec);
    if before.is_none() && !creates {
        // Said as `Read` would say it, with the names that are alike.
        path::resolve(file_path, context)?;
    }
    draft.check_seen()?;
    let Some(mut text) = Text::read(before.as_deref().unwrap_or_default()) else {
        return Err(format!("`{name}` is not UTF-8 text; only such files are edited"));
    };
    let mut last = Applied { times: 0, from: 0, to: 0 };
    let mut times = 0;
    for (number, edit) in (1..).zip(edits) {
        last = apply(&mut text, edit).map_err(|error| match edits.len() {
            1 => format!("`{name}`: {error}"),
            all => format!("`{name}`: edit {number} of {all}: {error}\nNothing was changed."),
        })?;
        times += last.times;
    }
    let after = text.to_bytes();
    draft.replace(&after, stop)?;
    let diff = Some(diff::unified(&name, before.as_deref(), &after));
    let what = match before {
        None => format!("created `{name}` ({})", counted(text.plain.lines().count() as u64, "line")),
        Some(_) => {
            let times = counted(times as u64, "replacement");
            let lines = diff::around(&text.plain, last.from, last.to);
            match lines.is_empty() {
                true => format!("edited `{name}` ({times}); it is empty now"),
                false => format!("edited `{name}` ({times}):\n{lines}"),
            }
        }
    };
    Ok(ToolOutput { diff, ..ToolOutput::ok(what) })
}

/// Makes one exchange, or says why not.
fn apply(text: &mut Text, edit: &Exchange) -> Result<Applied, String> {
    let (old, new) = (plain(&edit.old_string), plain(&edit.new_string));
    if old == new {
        return Err("old_string and new_string are the same".to_owned());
    }
    if old.is_empty() {
        if !text.plain.is_empty() {
            return Err("old_string is empty, which only makes a new file; Write replaces one".to_owned());
        }
        text.replace(&[0], 0, &new);
        return Ok(Applied { times: 1, from: 0, to: new.len() });
    }
    let places: Vec<usize> = text.plain.match_indices(&old).map(|(at, _)| at).collect();
    let Some(first) = places.first().copied() else {
        return Err(format!("old_string `{}` is not in it; {}", shown(&old), hint::hint(&text.plain, &old)));
    };
    if places.len() > 1 && edit.replace_all != Some(true) {
        return Err(ambiguous(&text.plain, &places));
    }
    text.replace(&places, old.len(), &new);
    Ok(Applied { times: places.len(), from: first, to: first + new.len() })
}

fn ambiguous(text: &str, places: &[usize]) -> String {
    let line = |at: &usize| 1 + text.as_bytes()[..*at].iter().filter(|byte| **byte == b'\n').count();
    let lines: Vec<String> = places.iter().take(PLACES_SHOWN).map(|at| line(at).to_string()).collect();
    let more = if places.len() > PLACES_SHOWN { ", …" } else { "" };
    format!(
        "old_string is found {} times, in lines {}{more}; add lines around the one you mean, or set replace_all",
        thousands(places.len() as u64),
        lines.join(", ")
    )
}

fn shown(text: &str) -> String {
    one_line(text, TEXT_CHARACTERS_MAX)
}

#[cfg(test)]
mod tests;
