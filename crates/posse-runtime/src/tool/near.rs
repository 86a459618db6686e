//! Small files on a disk of this machine: read where one stands, since nobody has to be waited for.
//!
//! Whatever is not as simple as that is left to the thread that may block, which also says what is wrong.

use std::path::{Path, PathBuf};

use super::ToolContext;

/// The largest file that is read at once.
const BYTES_MAX: u64 = 64 * 1024;

/// A file that was read at once.
pub(super) struct Near {
    /// Where it is, from the workspace.
    pub relative: PathBuf,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// Reads a small regular file below the workspace, on the same disk and by no link.
pub(super) fn read(written: &str, context: &ToolContext) -> Option<Near> {
    if !context.is_near {
        return None;
    }
    let path = super::path::below_workspace(Path::new(written), context);
    let relative = path.strip_prefix(&context.workspace).ok()?;
    let is_plain = relative.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    if !is_plain || relative.as_os_str().is_empty() {
        return None;
    }
    let bytes = platform::read(&context.workspace, relative, BYTES_MAX)?;
    Some(Near { relative: relative.to_owned(), bytes })
}

/// True when a directory is on a disk of this machine. May block: it is asked once for a directory.
pub fn is_near(directory: &Path) -> bool {
    platform::is_near(directory)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::fs::File;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, fstat, open, openat2, statfs};

    /// File systems that wait for nobody: ext, xfs, btrfs, tmpfs, overlay, f2fs, zfs.
    const NEAR: &[i64] =
        &[0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0xF2F5_2010, 0x2FC1_2FC1];

    pub(super) fn is_near(directory: &Path) -> bool {
        #[expect(clippy::useless_conversion, reason = "the type differs between machines")]
        statfs(directory).is_ok_and(|found| NEAR.iter().any(|near| i64::from(found.f_type) == *near))
    }

    pub(super) fn read(workspace: &Path, relative: &Path, bytes_max: u64) -> Option<Vec<u8>> {
        let directory =
            open(workspace, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).ok()?;
        // Opened as a name first: opening a device may have an effect.
        let name = open_plainly(&directory, relative, OFlags::PATH)?;
        let seen = fstat(&name).ok()?;
        let is_regular = FileType::from_raw_mode(seen.st_mode) == FileType::RegularFile;
        let size = u64::try_from(seen.st_size).ok().filter(|size| is_regular && *size <= bytes_max)?;
        let file = open_plainly(&directory, relative, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY)?;
        let opened = fstat(&file).ok()?;
        if (opened.st_dev, opened.st_ino) != (seen.st_dev, seen.st_ino) {
            return None;
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).ok()? + 1);
        File::from(file).take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
        (bytes.len() as u64 <= bytes_max).then_some(bytes)
    }

    /// By no link, to no other file system, and not out of the directory.
    fn open_plainly(directory: &OwnedFd, relative: &Path, flags: OFlags) -> Option<OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        openat2(directory, relative, flags | OFlags::CLOEXEC, Mode::empty(), resolve).ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::path::Path;

    pub(super) fn is_near(_directory: &Path) -> bool {
        false
    }

    pub(super) fn read(_workspace: &Path, _relative: &Path, _bytes_max: u64) -> Option<Vec<u8>> {
        None
    }
}
