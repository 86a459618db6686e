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

/// Reads a small regular file below the workspace and by no link.
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
    let bytes = platform::read(&path, BYTES_MAX)?;
    Some(Near { relative: relative.to_owned(), bytes })
}

/// True when a directory and all below it is on a disk of this machine. May block: it is asked once for a directory.
pub fn is_near(directory: &Path) -> bool {
    platform::is_near(directory)
}

#[cfg(target_os = "linux")]
mod platform {
    use std::fs::File;
    use std::io::Read;
    use std::path::Path;

    use rustix::fs::{
        AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, StatxFlags, openat2, statfs, statx,
    };

    /// File systems that wait for nobody: ext, xfs, btrfs, tmpfs, overlay, f2fs, zfs.
    const NEAR: &[i64] =
        &[0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0x794C_7630, 0xF2F5_2010, 0x2FC1_2FC1];

    pub(super) fn is_near(directory: &Path) -> bool {
        #[expect(clippy::useless_conversion, reason = "the type differs between machines")]
        let is_near = |kind: &i64| statfs(directory).is_ok_and(|found| i64::from(found.f_type) == *kind);
        // What is mounted below may wait for another machine.
        let mounts = std::fs::read_to_string("/proc/self/mountinfo");
        let has_none_below =
            |mounts: String| !mounts.lines().any(|mount| is_below(directory, &mount_point(mount)));
        mounts.is_ok_and(has_none_below) && NEAR.iter().any(is_near)
    }

    /// The fifth word of a line of mountinfo, in which white space and backslashes are written as octal numbers.
    fn mount_point(line: &str) -> String {
        let word = line.split(' ').nth(4).unwrap_or_default();
        [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
            .iter()
            .fold(word.to_owned(), |word, (escape, character)| word.replace(escape, character))
    }

    fn is_below(directory: &Path, mount: &str) -> bool {
        Path::new(mount).strip_prefix(directory).is_ok_and(|rest| rest.components().next().is_some())
    }

    pub(super) fn read(path: &Path, bytes_max: u64) -> Option<Vec<u8>> {
        // Asked about first: opening a device may have an effect.
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        let seen = statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::SIZE).ok()?;
        let is_regular = FileType::from_raw_mode(seen.stx_mode.into()) == FileType::RegularFile;
        if !is_regular || seen.stx_size > bytes_max {
            return None;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        // The path of the workspace is a real one, so that a link in it or below was put there since.
        let file = openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).ok()?;
        // One byte more than it had: a file that is still that long is read in one call.
        let mut bytes = vec![0; usize::try_from(seen.stx_size).ok()? + 1];
        let read = File::from(file).read(&mut bytes).ok()?;
        bytes.truncate(read);
        (read as u64 == seen.stx_size).then_some(bytes)
    }
}

#[cfg(not(target_os = "linux"))]
mod platform {
    use std::path::Path;

    pub(super) fn is_near(_directory: &Path) -> bool {
        false
    }

    pub(super) fn read(_path: &Path, _bytes_max: u64) -> Option<Vec<u8>> {
        None
    }
}
