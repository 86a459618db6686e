//! What a call would touch, as far as its input tells: no file is looked at.

use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::{ToolContext, path};

/// One thing that a call would touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Touch {
    /// It looks at this file, or below this directory.
    Look(PathBuf),
    /// It changes this file.
    Change(PathBuf),
    /// It sends something to this host, and gets something back.
    Fetch(String),
}

/// Looking at what the input names, or at the workspace where it names nothing.
pub(super) fn look(input: &Value, key: &str, context: &ToolContext) -> Vec<Touch> {
    let written = input.get(key).and_then(Value::as_str).unwrap_or_default();
    vec![Touch::Look(absolute(written, context))]
}

/// Changing what the input names.
pub(super) fn change(input: &Value, key: &str, context: &ToolContext) -> Vec<Touch> {
    let written = input.get(key).and_then(Value::as_str);
    written.map(|written| Touch::Change(absolute(written, context))).into_iter().collect()
}

/// The absolute path, with `.` and `..` taken out by their letters alone; links in it are not followed.
fn absolute(written: &str, context: &ToolContext) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path::below_workspace(Path::new(written), context).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            Component::Normal(_) | Component::RootDir | Component::Prefix(_) => plain.push(part),
        }
    }
    plain
}
