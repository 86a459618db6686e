//! The files below a directory as git would list them: ignored ones and `.git` left out, no link followed.
//!
//! What is done with a file is the tools' business.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};

use ignore::{DirEntry, Walk, WalkBuilder};
use posse_core::text::one_line;

use super::ToolContext;
use super::blocking::Stop;
use super::bound::{counted, thousands};
use super::path::{self, Target};

/// How many files and directories one call looks at.
const ENTRIES_MAX: u64 = 500_000;
/// How many bytes a `.gitignore` may have, because it is read whole.
const GITIGNORE_BYTES_MAX: u64 = 1 << 20;
/// How much of a path is shown in a note.
const PATH_CHARACTERS_MAX: usize = 120;

/// One walk, and what could not be looked at on the way.
pub(super) struct Tree {
    walk: Walk,
    stop: Stop,
    looked_at: u64,
    unreadable: Tally,
    /// Directories that were not entered because of their `.gitignore`.
    refused: Receiver<PathBuf>,
}

/// Files that something is to be said about: how many, and the first.
#[derive(Debug, Default)]
pub(super) struct Tally {
    number: u64,
    first: Option<PathBuf>,
}

impl Tree {
    /// Begins a walk, set up further by the tool; a file as `target` is the only one of its walk.
    pub(super) fn below(
        target: &Target,
        context: &ToolContext,
        stop: &Stop,
        set_up: impl FnOnce(&mut WalkBuilder),
    ) -> Result<Tree, String> {
        if target.relative.components().any(|name| name.as_os_str() == ".git") {
            return Err("`.git` is not searched; Read and LS show what is in it".to_owned());
        }
        let in_repository = context.workspace.ancestors().any(|directory| directory.join(".git").exists());
        // Those that the walk reads before it asks the filter.
        let mut first_read = target.real.ancestors().take(if in_repository { usize::MAX } else { 1 });
        if let Some(directory) = first_read.find(|directory| !has_sound_gitignore(directory)) {
            let path = directory.join(".gitignore");
            let path = path::shown(path.strip_prefix(&context.workspace).unwrap_or(&path));
            return Err(format!("`{path}` is not a small text file; nothing was searched"));
        }
        let (refuse, refused) = channel();
        let held = context.held.clone();
        let mut builder = WalkBuilder::new(&target.real);
        builder
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .filter_entry(move |entry| {
                let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                if is_directory && !has_sound_gitignore(entry.path()) {
                    // Nobody receives only when nobody asks any more.
                    drop(refuse.send(entry.path().to_owned()));
                    return false;
                }
                entry.file_name() != ".git" && !path::is_of_kernel(entry.path()) && !held.hides(entry.path())
            })
            // Only what belongs to the workspace decides, so that a run gives the same on another machine.
            .git_global(false)
            .git_exclude(false)
            .ignore(false)
            // A copy without its repository has its `.gitignore` too, but nothing above it has a say.
            .require_git(in_repository)
            .parents(in_repository);
        set_up(&mut builder);
        let (looked_at, unreadable) = (0, Tally::default());
        Ok(Tree { walk: builder.build(), stop: stop.clone(), looked_at, unreadable, refused })
    }

    /// What the model should know about what was not looked at.
    pub(super) fn notes(&mut self, context: &ToolContext) -> Vec<String> {
        for refused in self.refused.try_iter() {
            self.unreadable.add(Some(&refused));
        }
        let mut notes = Vec::new();
        if self.looked_at > ENTRIES_MAX {
            let looked_at = thousands(ENTRIES_MAX);
            notes.push(format!("stopped after {looked_at} files and directories; give a narrower path"));
        }
        notes.extend(self.unreadable.note("could not be read", context));
        notes
    }
}

impl Iterator for Tree {
    type Item = DirEntry;

    /// The next thing that is not a directory.
    fn next(&mut self) -> Option<DirEntry> {
        loop {
            self.looked_at += 1;
            if self.looked_at > ENTRIES_MAX || self.stop.is_set() {
                return None;
            }
            match self.walk.next()? {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_dir()) => {}
                Ok(entry) => return Some(entry),
                Err(error) => self.unreadable.add(error_path(&error)),
            }
        }
    }
}

impl Tally {
    /// Counts one more.
    pub(super) fn add(&mut self, path: Option<&Path>) {
        self.number += 1;
        self.first = self.first.take().or_else(|| path.map(Path::to_owned));
    }

    /// Says what became of them, if there are any.
    pub(super) fn note(&self, what: &str, context: &ToolContext) -> Option<String> {
        let number = (self.number > 0).then(|| counted(self.number, "path"))?;
        let first = self.first.as_deref().map_or("unknown".to_owned(), |first| {
            path::shown(first.strip_prefix(&context.workspace).unwrap_or(first))
        });
        Some(format!("{number} {what}, first {}", one_line(&first, PATH_CHARACTERS_MAX)))
    }
}

/// True unless the walk, which opens any `.gitignore` it meets, would wait at this one or never finish it.
fn has_sound_gitignore(directory: &Path) -> bool {
    let path = directory.join(".gitignore");
    let Ok(metadata) = fs::symlink_metadata(&path) else { return true };
    if !metadata.is_symlink() {
        return metadata.is_dir() || metadata.is_file() && metadata.len() <= GITIGNORE_BYTES_MAX;
    }
    let Ok(real) = path.canonicalize() else { return true };
    let metadata = fs::metadata(&real);
    let is_small = metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() <= GITIGNORE_BYTES_MAX);
    is_small && !path::is_of_kernel(&real)
}

/// The path that an error of a walk is about.
fn error_path(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => error_path(err),
        ignore::Error::Loop { child, .. } => Some(child),
        ignore::Error::Partial(errors) => errors.iter().find_map(error_path),
        ignore::Error::Io(_)
        | ignore::Error::Glob { .. }
        | ignore::Error::UnrecognizedFileType(_)
        | ignore::Error::InvalidDefinition => None,
    }
}
