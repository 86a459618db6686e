//! Changing one file: read as it is, held against what the run has seen, replaced whole or not at all.
//!
//! Everything goes through directories that were opened step by step without following a link, so that a tree which
//! is changed meanwhile cannot lead a write out of the workspace. What is written is decided elsewhere.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::blocking::Stop;
use super::bound::thousands;
use super::seen::{self, Known};
use super::{ToolContext, path};

/// The largest file that is changed, before and after: it is held whole.
pub(super) const BYTES_MAX: u64 = MIB_MAX << 20;
const MIB_MAX: u64 = 16;
/// The most directories that are made for one file.
const DIRECTORIES_MAX: usize = 32;

/// A file that is about to be changed or made.
pub(super) struct Draft<'a> {
    context: &'a ToolContext,
    /// Where it is, from the workspace and without links.
    relative: PathBuf,
    /// What is there; `None` where nothing is.
    before: Option<Before>,
}

/// A file before its change.
struct Before {
    bytes: Vec<u8>,
    mode: Mode,
    identity: Identity,
}

/// What tells whether a name still stands for the file that was read.
#[derive(PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
}

impl<'a> Draft<'a> {
    /// Reads what a path of the model leads to, if there is something.
    pub(super) fn open(written: &str, context: &'a ToolContext) -> Result<Draft<'a>, String> {
        let relative = path::resolve_to_change(written, context)?;
        if written.ends_with('/') {
            return Err(format!("`{}` names a directory, not a file", path::shown(&relative)));
        }
        let draft = Draft { context, relative, before: None };
        if context.workspace.join(&draft.relative).symlink_metadata().is_err() {
            return Ok(draft);
        }
        let (file, size) = path::open_regular(&draft.relative, context)?;
        draft.check_size(size)?;
        let before = Before::read(file).map_err(|error| draft.failed(&error))?;
        draft.check_size(before.bytes.len() as u64)?;
        Ok(Draft { before: Some(before), ..draft })
    }

    /// The path for the model.
    pub(super) fn shown(&self) -> String {
        path::shown(&self.relative)
    }

    /// What the file holds, if it exists.
    pub(super) fn before(&self) -> Option<&[u8]> {
        self.before.as_ref().map(|before| before.bytes.as_slice())
    }

    /// Refuses a file that this run has not read as it is now. One that does not exist needs no reading.
    pub(super) fn check_seen(&self) -> Result<(), String> {
        let Some(before) = &self.before else { return Ok(()) };
        let name = self.shown();
        match self.context.seen.known(&self.relative, &before.bytes) {
            Known::AsItIs => Ok(()),
            Known::Unread => {
                Err(format!("`{name}` has not been read since this run began or was resumed; Read it first"))
            }
            Known::Changed => Err(format!("`{name}` has changed since it was read; Read it again")),
        }
    }

    /// Puts `bytes` in the file's place, all of them or none.
    pub(super) fn replace(self, bytes: &[u8], stop: &Stop) -> Result<(), String> {
        self.check_size(bytes.len() as u64)?;
        let parent = self.relative.parent().unwrap_or(Path::new(""));
        let Some(name) = self.relative.file_name() else {
            return Err("the workspace itself cannot be written".to_owned());
        };
        let directory = open_directories(parent, self.context).map_err(|error| self.failed(&error))?;
        self.check_writable(&directory, name)?;
        let temporary = Temporary::write(directory, name, bytes, self.before.as_ref());
        let temporary = temporary.map_err(|error| self.failed(&error))?;
        if stop.is_set() {
            return Err("the call was stopped, nothing was written".to_owned());
        }
        let found = identity_at(&temporary.directory, name);
        let is_still = found.as_ref() == self.before.as_ref().map(|before| &before.identity);
        if !is_still {
            return Err(format!("`{}` was changed by somebody else just now; Read it again", self.shown()));
        }
        let moved = temporary.move_to(name, self.before.is_some());
        moved.map_err(|error| self.failed(&error.into()))?;
        self.context.seen.note(&self.relative, seen::hash(bytes));
        Ok(())
    }

    /// A file that its owner protects is not replaced, although a directory that may be written would allow it.
    fn check_writable(&self, directory: &OwnedFd, name: &OsStr) -> Result<(), String> {
        if self.before.is_none() {
            return Ok(());
        }
        let may = rustix::fs::accessat(directory, name, Access::WRITE_OK, AtFlags::empty());
        may.map_err(|error| self.failed(&error.into()))
    }

    fn check_size(&self, bytes: u64) -> Result<(), String> {
        if bytes <= BYTES_MAX {
            return Ok(());
        }
        let (name, bytes) = (self.shown(), thousands(bytes));
        Err(format!("`{name}` would have or has {bytes} bytes; files of up to {MIB_MAX} MiB are changed"))
    }

    fn failed(&self, error: &std::io::Error) -> String {
        format!("`{}` cannot be written: {}", self.shown(), error.kind())
    }
}

impl Before {
    fn read(file: File) -> std::io::Result<Before> {
        let metadata = file.metadata()?;
        let identity = Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            size: metadata.size().cast_signed(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        };
        let mut bytes = Vec::new();
        file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
        Ok(Before { bytes, mode: Mode::from_bits_truncate(metadata.mode() & 0o7777), identity })
    }
}

/// A file under another name until it takes its place; gone when it does not.
struct Temporary {
    directory: OwnedFd,
    name: OsString,
}

impl Temporary {
    fn write(
        directory: OwnedFd,
        beside: &OsStr,
        bytes: &[u8],
        before: Option<&Before>,
    ) -> std::io::Result<Temporary> {
        let mut name = OsString::from(".");
        name.push(beside.to_string_lossy().chars().take(50).collect::<String>());
        name.push(format!(".posse-{:016x}", fastrand::u64(..)));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Nobody else reads it before it has the mode it is to have.
        let mode =
            if before.is_some() { Mode::from_bits_truncate(0o600) } else { Mode::from_bits_truncate(0o666) };
        let file = rustix::fs::openat(&directory, &name, flags, mode)?;
        let temporary = Temporary { directory, name };
        let mut file = File::from(file);
        file.write_all(bytes)?;
        if let Some(before) = before {
            rustix::fs::fchmod(&file, before.mode)?;
        }
        file.sync_all()?;
        Ok(temporary)
    }

    /// Takes the place of `name`, or of nothing.
    fn move_to(mut self, name: &OsStr, replaces: bool) -> Result<(), Errno> {
        let (directory, temporary) = (&self.directory, &self.name);
        let plain = || rustix::fs::renameat(directory, temporary, directory, name);
        if replaces {
            plain()?;
        } else {
            match rustix::fs::renameat_with(directory, temporary, directory, name, RenameFlags::NOREPLACE) {
                // Not every file system can promise it; what is there was looked at a moment ago.
                Err(Errno::INVAL | Errno::NOSYS) => plain()?,
                done => done?,
            }
        }
        self.name.clear();
        // What cannot be synced is still in its place.
        rustix::fs::fsync(&self.directory).ok();
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // Nobody is left to be told.
            rustix::fs::unlinkat(&self.directory, &self.name, AtFlags::empty()).ok();
        }
    }
}

/// Opens a directory below the workspace, and makes what is missing of it.
fn open_directories(relative: &Path, context: &ToolContext) -> std::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut opened = path::open_below(Path::new(""), flags, context)?;
    let mut made = 0;
    for name in relative.components().map(|part| part.as_os_str().to_owned()) {
        opened = match rustix::fs::openat(&opened, &name, flags, Mode::empty()) {
            Err(Errno::NOENT) if made < DIRECTORIES_MAX => {
                made += 1;
                match rustix::fs::mkdirat(&opened, &name, Mode::from_bits_truncate(0o777)) {
                    // Somebody else was faster.
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                rustix::fs::openat(&opened, &name, flags, Mode::empty())?
            }
            opened => opened?,
        };
    }
    Ok(opened)
}

/// What a name stands for, without following it; `None` where there is nothing.
fn identity_at(directory: &OwnedFd, name: &OsStr) -> Option<Identity> {
    let stat = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "the types differ between machines"
    )]
    Some(Identity {
        device: stat.st_dev as u64,
        inode: stat.st_ino as u64,
        size: stat.st_size as i64,
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
    })
}

#[cfg(test)]
mod tests;
