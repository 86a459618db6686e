//! The files below a directory: links followed once, loops and oddities reported, within limits.

use std::collections::HashSet;
use std::fs::{self, FileType};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use posse_core::diagnostic::{Code, Diagnostic};

/// How deep a directory is read.
const DEPTH_MAX: usize = 32;
/// How many files and directories one walk looks at.
const ENTRIES_MAX: usize = 200_000;

/// A file or directory, whatever path led to it.
pub(crate) type RealFile = (u64, u64);

/// What a walk is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// The directory itself.
    Flat,
    /// Everything below it.
    Tree,
}

/// The walks of one discovery, which read no real file twice.
#[derive(Debug, Default)]
pub(crate) struct Walker {
    /// Directory names that are not entered.
    skipped: &'static [&'static str],
    seen_files: HashSet<RealFile>,
    looked_at: usize,
    pub problems: Vec<Diagnostic>,
}

impl Walker {
    /// A walker that does not enter directories of these names.
    pub(crate) fn skipping(names: &'static [&'static str]) -> Walker {
        Walker { skipped: names, ..Walker::default() }
    }

    /// The files below `directory` whose name `wanted` accepts, in path order. A missing directory has none.
    pub(crate) fn files(
        &mut self,
        directory: &Path,
        depth: Depth,
        wanted: &dyn Fn(&Path) -> bool,
    ) -> Vec<PathBuf> {
        let mut found = Vec::new();
        match fs::metadata(directory) {
            Ok(metadata) if metadata.is_dir() => {
                let mut inside = vec![(metadata.dev(), metadata.ino())];
                self.enter(directory, depth, wanted, (&mut inside, &mut found));
            }
            Ok(_) => self.complain(directory, Code::Unreadable, "is not a directory".into()),
            Err(error)
                if error.kind() == std::io::ErrorKind::NotFound
                    && fs::symlink_metadata(directory).is_err() => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {}
            Err(error) => self.complain(directory, Code::Unreadable, format!("cannot be read: {error}")),
        }
        found.sort();
        found
    }

    /// True the first time a real file is met.
    pub(crate) fn is_new(&mut self, path: &Path) -> bool {
        match fs::metadata(path) {
            Ok(metadata) => self.seen_files.insert((metadata.dev(), metadata.ino())),
            Err(_) => true,
        }
    }

    fn enter(
        &mut self,
        directory: &Path,
        depth: Depth,
        wanted: &dyn Fn(&Path) -> bool,
        (inside, found): (&mut Vec<RealFile>, &mut Vec<PathBuf>),
    ) {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                return self.complain(directory, Code::Unreadable, format!("cannot be read: {error}"));
            }
        };
        for entry in entries {
            self.looked_at += 1;
            if self.looked_at > ENTRIES_MAX {
                return self.complain(
                    directory,
                    Code::TooMany,
                    format!("more than {ENTRIES_MAX} files; the rest was not read"),
                );
            }
            let entry = match entry.and_then(|entry| entry.file_type().map(|kind| (entry.path(), kind))) {
                Ok(entry) => entry,
                Err(error) => {
                    self.complain(directory, Code::Unreadable, format!("cannot be read: {error}"));
                    continue;
                }
            };
            self.take(entry, depth, wanted, (inside, found));
        }
    }

    fn take(
        &mut self,
        (path, kind): (PathBuf, FileType),
        depth: Depth,
        wanted: &dyn Fn(&Path) -> bool,
        (inside, found): (&mut Vec<RealFile>, &mut Vec<PathBuf>),
    ) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if self.skipped.contains(&name.as_ref()) {
            return;
        }
        if kind.is_file() {
            if wanted(&path) {
                found.push(path);
            }
            return;
        }
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(_) if kind.is_symlink() && !wanted(&path) => return,
            Err(error) => return self.complain(&path, Code::LinkLoop, format!("leads nowhere: {error}")),
        };
        if metadata.is_file() && wanted(&path) {
            found.push(path);
        } else if metadata.is_dir() && depth == Depth::Tree {
            let real = (metadata.dev(), metadata.ino());
            if inside.contains(&real) {
                return self.complain(
                    &path,
                    Code::LinkLoop,
                    "leads back to a directory that contains it".into(),
                );
            }
            if inside.len() >= DEPTH_MAX {
                return self.complain(
                    &path,
                    Code::TooMany,
                    format!("nested deeper than {DEPTH_MAX} directories"),
                );
            }
            inside.push(real);
            self.enter(&path, depth, wanted, (inside, found));
            inside.pop();
        } else if !metadata.is_file() && !metadata.is_dir() && wanted(&path) {
            self.complain(&path, Code::Unreadable, "is not a regular file".into());
        }
    }

    fn complain(&mut self, path: &Path, code: Code, message: String) {
        self.problems.push(Diagnostic::new(code, message).at_path(path.display().to_string()));
    }
}
