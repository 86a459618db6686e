//! `LS`: what is in one directory.
//!
//! Nothing is opened but the directory itself.

use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use rustix::fs::{AtFlags, Dir, FileType};
use serde::Deserialize;
use serde_json::Value;

use super::blocking::{FileTool, Stop};
use super::bound::{Bounded, counted, thousands};
use super::input::{read_input, spec};
use super::path;
use super::{ToolContext, ToolOutput, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::read_only(
    || spec("LS", include_str!("ls.md"), include_str!("ls.json")),
    |input, context| touch::look(input, "path", context),
    list,
);

/// How many entries are shown.
const ENTRIES_MAX: usize = 1_000;
/// How many entries are sorted.
const NAMES_MAX: usize = 500_000;

#[derive(Deserialize)]
struct Input {
    path: String,
    ignore: Option<Vec<String>>,
}

fn list(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let input: Input = read_input(input)?;
    let ignored = compile(input.ignore.as_deref().unwrap_or_default())?;
    let target = path::resolve(&input.path, context)?;
    let directory = path::open_directory(&target, context)?;
    let unreadable =
        |error: rustix::io::Errno| format!("`{}` cannot be read: {}", target.shown(), error.kind());
    let (mut names, all_were_read) = names(&directory, &ignored, stop).map_err(unreadable)?;
    names.retain(|name| !context.held.hides(&target.real.join(name)));
    let mut text = Bounded::new(context.output_bytes_max);
    if names.is_empty() {
        let but = if ignored.is_empty() { "" } else { ", but for what was to be ignored" };
        return Ok(ToolOutput::ok(format!("[`{}` is empty{but}]", target.shown())));
    }
    let shown =
        names.iter().take(ENTRIES_MAX).take_while(|name| text.push(&describe(&directory, name))).count();
    let mut notes = Vec::new();
    if shown < names.len() || !all_were_read {
        let more = if all_were_read { "" } else { "more than " };
        let (shown, all) = (thousands(shown as u64), thousands(names.len() as u64));
        notes
            .push(format!("{shown} of {more}{all} entries; for the rest use ignore, or Glob with a pattern"));
    }
    Ok(ToolOutput::ok(text.finish(&notes)))
}

/// The names that are not ignored, sorted, and whether those are all.
fn names(
    directory: &OwnedFd,
    ignored: &GlobSet,
    stop: &Stop,
) -> Result<(Vec<OsString>, bool), rustix::io::Errno> {
    let mut names = Vec::new();
    let mut all_were_read = true;
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || ignored.is_match(name) {
            continue;
        }
        if names.len() == NAMES_MAX || stop.is_set() {
            all_were_read = false;
            break;
        }
        names.push(name.to_owned());
    }
    names.sort();
    Ok((names, all_were_read))
}

fn describe(directory: &OwnedFd, name: &OsStr) -> String {
    let shown = path::shown(Path::new(name));
    let Ok(stat) = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
        return format!("{shown} (unreadable)");
    };
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => {
            format!("{shown} ({})", counted(stat.st_size.cast_unsigned(), "byte"))
        }
        FileType::Directory => format!("{shown}/"),
        FileType::Symlink => match rustix::fs::readlinkat(directory, name, Vec::new()) {
            Ok(leads_to) => {
                let leads_to = OsString::from_vec(leads_to.into_bytes());
                format!("{shown} -> {}", path::shown(Path::new(&leads_to)))
            }
            Err(_) => format!("{shown} -> (unreadable)"),
        },
        FileType::Fifo => format!("{shown} (FIFO)"),
        FileType::Socket => format!("{shown} (socket)"),
        FileType::CharacterDevice | FileType::BlockDevice => format!("{shown} (device)"),
        _ => format!("{shown} (unknown kind)"),
    }
}

fn compile(globs: &[String]) -> Result<GlobSet, String> {
    let complaint = |glob: &str, error: &globset::Error| format!("ignore: `{glob}`: {}", error.kind());
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        let name = glob.trim_start_matches("./").trim_end_matches('/');
        let built = GlobBuilder::new(name).literal_separator(true).empty_alternates(true).build();
        set.add(built.map_err(|error| complaint(glob, &error))?);
    }
    set.build().map_err(|error| complaint("all of them", &error))
}

#[cfg(test)]
mod tests;
