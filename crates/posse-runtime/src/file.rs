//! Reading what may be anything, and writing so that a crash leaves the old file or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use posse_core::definition::source::FILE_BYTES_MAX;
use posse_core::diagnostic::{Code, Diagnostic};

/// Reads a regular file, one byte more than a definition may have at the most.
pub fn read_regular(path: &Path) -> Result<Vec<u8>, Diagnostic> {
    let complaint = |what: String| {
        Diagnostic::new(Code::Unreadable, what)
            .with_help("make it a readable file, or remove it")
            .at_path(path.display().to_string())
    };
    // Without blocking: a FIFO put here between a look and this call must not hang us.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = opened.map_err(|error| complaint(format!("cannot be read: {error}")))?;
    let metadata = file.metadata().map_err(|error| complaint(format!("cannot be read: {error}")))?;
    if !metadata.is_file() {
        return Err(complaint("not a regular file".to_owned()));
    }
    let mut bytes = Vec::with_capacity(metadata.len().min(FILE_BYTES_MAX as u64) as usize + 1);
    let limit = FILE_BYTES_MAX as u64 + 1;
    file.take(limit)
        .read_to_end(&mut bytes)
        .map_err(|error| complaint(format!("cannot be read: {error}")))?;
    Ok(bytes)
}

/// Replaces a file: a crash at any moment leaves the old content or the new, never half of it.
///
/// A symbolic link stays one: what it leads to is replaced.
pub fn write_atomically(path: &Path, content: &[u8]) -> io::Result<()> {
    replace(path, content).map_err(|error| {
        io::Error::new(error.kind(), format!("{} cannot be written: {}", path.display(), error.kind()))
    })
}

fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let real = path.canonicalize();
    let path = real.as_deref().unwrap_or(path);
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let mut temporary = tempfile::NamedTempFile::new_in(directory)?;
    temporary.write_all(content)?;
    match fs::metadata(path) {
        Ok(old) => temporary.as_file().set_permissions(old.permissions())?,
        Err(_) => set_default_permissions(temporary.as_file())?,
    }
    temporary.as_file().sync_all()?;
    temporary.persist(path).map_err(|error| error.error)?;
    File::open(directory)?.sync_all()
}

/// A temporary file is private; a file that people share is not.
fn set_default_permissions(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}
