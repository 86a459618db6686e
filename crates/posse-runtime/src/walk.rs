//! The files below a directory: links followed once, loops and oddities reported, within limits.

use std::collections::HashSet;
use std::fs::{self, DirEntry, FileType};
use std::os::unix::fs::{DirEntryExt, MetadataExt};
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

/// One walk: what it looks for, where it is, and what it has found.
struct Search<'a> {
    depth: Depth,
    wanted: &'a dyn Fn(&Path) -> bool,
    /// The real directories between the start and here, for telling a loop.
    inside: Vec<RealFile>,
    found: Vec<(PathBuf, RealFile)>,
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
        let mut search = Search { depth, wanted, inside: Vec::new(), found: Vec::new() };
        match fs::metadata(directory) {
            Ok(metadata) if metadata.is_dir() => {
                search.inside.push((metadata.dev(), metadata.ino()));
                self.enter(directory, &mut search);
            }
            Ok(_) => self.complain(directory, Code::Unreadable, "not a directory".into()),
            Err(error) if is_absent(directory, &error) => {}
            Err(error) => self.complain(directory, Code::Unreadable, format!("cannot be read: {error}")),
        }
        let Search { mut found, .. } = search;
        found.sort_by(|(one, _), (other, _)| one.as_os_str().cmp(other.as_os_str()));
        // A file that another path has led to before counts where it was first met.
        found.into_iter().filter(|(_, real)| self.seen_files.insert(*real)).map(|(path, _)| path).collect()
    }

    /// Begins another scope: a file counts once in each, so that no place can claim what is another scope's.
    pub(crate) fn enter_scope(&mut self) {
        self.seen_files.clear();
    }

    /// The folders of a directory, in path order. A missing directory has none.
    pub(crate) fn folders(&mut self, directory: &Path) -> Vec<PathBuf> {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) if is_absent(directory, &error) => return Vec::new(),
            Err(error) => {
                self.complain(directory, Code::Unreadable, format!("cannot be read: {error}"));
                return Vec::new();
            }
        };
        let mut folders = Vec::new();
        for entry in entries {
            self.looked_at += 1;
            match entry {
                Ok(entry) if self.looked_at <= ENTRIES_MAX => {
                    folders.extend(Some(entry.path()).filter(|path| path.is_dir()));
                }
                Ok(_) => {
                    self.complain(
                        directory,
                        Code::TooMany,
                        format!("more than {ENTRIES_MAX} files; the rest was not read"),
                    );
                    break;
                }
                Err(error) => self.complain(directory, Code::Unreadable, format!("cannot be read: {error}")),
            }
        }
        folders.sort();
        folders
    }

    /// Of files that are found without walking, those that are met for the first time.
    pub(crate) fn new_ones(&mut self, files: Vec<PathBuf>) -> Vec<PathBuf> {
        let is_new = |path: &PathBuf| match fs::metadata(path) {
            Ok(metadata) => self.seen_files.insert((metadata.dev(), metadata.ino())),
            Err(_) => true,
        };
        files.into_iter().filter(is_new).collect()
    }

    fn enter(&mut self, directory: &Path, search: &mut Search<'_>) {
        let entries = match fs::read_dir(directory) {
            Ok(entries) => entries,
            Err(error) => {
                return self.complain(directory, Code::Unreadable, format!("cannot be read: {error}"));
            }
        };
        for entry in entries {
            self.looked_at += 1;
            if self.looked_at > ENTRIES_MAX {
                let message = format!("more than {ENTRIES_MAX} files; the rest was not read");
                return self.complain(directory, Code::TooMany, message);
            }
            match entry.and_then(|entry| entry.file_type().map(|kind| (entry, kind))) {
                Ok((entry, kind)) => self.take(&entry, kind, search),
                Err(error) => self.complain(directory, Code::Unreadable, format!("cannot be read: {error}")),
            }
        }
    }

    fn take(&mut self, entry: &DirEntry, kind: FileType, search: &mut Search<'_>) {
        let path = entry.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if self.skipped.contains(&name.as_ref()) {
            return;
        }
        let wanted = (search.wanted)(&path);
        if path.to_str().is_none() {
            if wanted || kind.is_dir() {
                self.complain(&path, Code::Unreadable, "the name is not UTF-8; rename it".into());
            }
            return;
        }
        if kind.is_file() {
            // A regular file is on the device of its directory, so that no further look is needed.
            let device = search.inside.last().map_or(0, |(device, _)| *device);
            search.found.extend(wanted.then_some((path, (device, entry.ino()))));
            return;
        }
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(_) if kind.is_symlink() && !wanted => return,
            Err(error) => {
                return self.complain(&path, Code::LinkLoop, format!("the link leads nowhere: {error}"));
            }
        };
        if metadata.is_dir() && search.depth == Depth::Tree {
            self.descend(&path, (metadata.dev(), metadata.ino()), search);
        } else if metadata.is_file() {
            search.found.extend(wanted.then_some((path, (metadata.dev(), metadata.ino()))));
        } else if !metadata.is_dir() && wanted {
            self.complain(&path, Code::Unreadable, "not a regular file".into());
        }
    }

    fn descend(&mut self, path: &Path, real: RealFile, search: &mut Search<'_>) {
        if search.inside.contains(&real) {
            return self.complain(
                path,
                Code::LinkLoop,
                "the link leads back to a directory that contains it".into(),
            );
        }
        if search.inside.len() >= DEPTH_MAX {
            return self.complain(path, Code::TooMany, format!("nested deeper than {DEPTH_MAX} directories"));
        }
        search.inside.push(real);
        self.enter(path, search);
        search.inside.pop();
    }

    fn complain(&mut self, path: &Path, code: Code, message: String) {
        self.problems.push(Diagnostic::new(code, message).at_path(path.display().to_string()));
    }
}

/// True when there is nothing at all, as opposed to something that cannot be read.
fn is_absent(path: &Path, error: &std::io::Error) -> bool {
    match error.kind() {
        std::io::ErrorKind::NotFound => fs::symlink_metadata(path).is_err(),
        std::io::ErrorKind::NotADirectory => true,
        _ => false,
    }
}
