//! `Glob`: files by their names.
//!
//! Content is never opened.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::DirEntry;
use serde::Deserialize;
use serde_json::Value;

use super::blocking::{FileTool, Stop};
use super::bound::{Bounded, thousands};
use super::input::{read_input, spec};
use super::path::{self, Target};
use super::tree::Tree;
use super::{ToolContext, ToolOutput, touch};

/// The tool.
pub(super) static TOOL: FileTool = FileTool::read_only(
    || spec("Glob", include_str!("glob.md"), include_str!("glob.json")),
    |input, context| touch::look(input, "path", context),
    glob,
);

/// How many paths are shown.
const PATHS_MAX: usize = 1_000;

#[derive(Deserialize)]
struct Input {
    pattern: String,
    path: Option<String>,
}

fn glob(input: &Value, context: &ToolContext, stop: &Stop) -> Result<ToolOutput, String> {
    let input: Input = read_input(input)?;
    let (root, pattern) = root_and_pattern(&input, context)?;
    if !root.is_directory() {
        return Err(format!("`{}` is a file; Glob looks below a directory", root.shown()));
    }
    let matcher = compile(&pattern)?;
    let mut tree = Tree::below(&root, context, stop, |builder| {
        builder.hidden(!names_hidden(&pattern));
    })?;
    let mut found: Vec<PathBuf> = Vec::new();
    for entry in tree.by_ref() {
        let below_root = entry.path().strip_prefix(&root.real).unwrap_or(entry.path());
        if matcher.is_match(below_root) && is_file(&entry, context) {
            found.push(root.relative.join(below_root));
        }
    }
    // By nothing that differs between two copies of a tree, so that a recorded run replays anywhere.
    found.sort();
    Ok(ToolOutput::ok(show(&found, &input.pattern, tree.notes(context), context)))
}

/// Where to look and for what: a pattern may be absolute, and then says both.
fn root_and_pattern(input: &Input, context: &ToolContext) -> Result<(Target, String), String> {
    if Path::new(&input.pattern).is_absolute() {
        let absolute = path::below_workspace(Path::new(&input.pattern), context);
        let Ok(pattern) = absolute.strip_prefix(&context.workspace) else {
            return Err(path::outside(&input.pattern, "read", context));
        };
        return Ok((path::resolve("", context)?, pattern.to_string_lossy().into_owned()));
    }
    let pattern = input.pattern.trim_start_matches("./");
    if pattern.split('/').any(|part| part == "..") {
        return Err("a pattern cannot lead up with `..`; give the directory as path".to_owned());
    }
    Ok((path::resolve(input.path.as_deref().unwrap_or(""), context)?, pattern.to_owned()))
}

fn compile(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).empty_alternates(true).build();
    match glob {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(format!("the pattern is not a glob: {}", error.kind())),
    }
}

/// True when a part of the pattern begins with a dot.
fn names_hidden(pattern: &str) -> bool {
    let begins_part = |before: Option<char>| matches!(before, None | Some('/' | '{' | ',' | '['));
    pattern.match_indices('.').any(|(at, _)| begins_part(pattern[..at].chars().next_back()))
}

/// True for a regular file, or a link to one in the workspace.
fn is_file(entry: &DirEntry, context: &ToolContext) -> bool {
    if !entry.path_is_symlink() {
        return entry.file_type().is_some_and(|kind| kind.is_file());
    }
    let real = entry.path().canonicalize();
    real.is_ok_and(|real| real.starts_with(&context.workspace) && real.is_file())
}

fn show(found: &[PathBuf], pattern: &str, mut notes: Vec<String>, context: &ToolContext) -> String {
    let mut text = Bounded::new(context.output_bytes_max);
    if found.is_empty() {
        text.push_clipped(&format!(
            "no files match `{pattern}`; what .gitignore names is left out, and hidden files unless the \
             pattern names a dot"
        ));
    }
    let shown = found.iter().take(PATHS_MAX).take_while(|path| text.push(&path::shown(path))).count();
    if shown < found.len() {
        let (shown, all) = (thousands(shown as u64), thousands(found.len() as u64));
        notes.insert(0, format!("the first {shown} of {all} paths; for the rest narrow pattern or path"));
    }
    text.finish(&notes)
}

#[cfg(test)]
mod tests;
