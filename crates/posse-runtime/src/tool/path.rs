//! Paths as a model writes them, and the files they lead to: always below the workspace.
//!
//! Nothing here reads content.

use std::fs::{self, File, FileType};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Component, Path, PathBuf};

use posse_core::text::{closest, one_line, visible_line};
use rustix::fs::{Mode, OFlags};

use super::ToolContext;

/// How many names a path that leads nowhere may have meant.
const SIMILAR_MAX: usize = 3;
/// How many names of a directory are compared for that.
const NAMES_MAX: usize = 10_000;
/// How much of a path is repeated in a message.
const WRITTEN_CHARACTERS_MAX: usize = 300;
/// Where regular files are none: reading them may block, have an effect or never end.
const KERNEL_DIRECTORIES: [&str; 2] = ["/proc", "/sys"];

/// Something that exists in the workspace.
#[derive(Debug)]
pub(super) struct Target {
    /// The path without symbolic links.
    pub real: PathBuf,
    /// The same, from the workspace; empty for the workspace itself.
    pub relative: PathBuf,
}

impl Target {
    /// The path for the model.
    pub(super) fn shown(&self) -> String {
        shown(&self.relative)
    }

    /// True when it is a directory.
    pub(super) fn is_directory(&self) -> bool {
        self.real.is_dir()
    }
}

/// Finds what a path of the model leads to, which must be below the workspace.
pub(super) fn resolve(written: &str, context: &ToolContext) -> Result<Target, String> {
    let path = below_workspace(Path::new(written), context);
    match path.canonicalize() {
        Ok(real) => match real.strip_prefix(&context.workspace) {
            Err(_) => Err(outside(written, "read", context)),
            Ok(_) if is_of_kernel(&real) => {
                Err(format!("`{}` is made up by the kernel; only files on disk can be read", quoted(written)))
            }
            Ok(relative) => {
                context.held.check_look(&path, &real)?;
                Ok(Target { relative: relative.to_owned(), real })
            }
        },
        Err(error) => Err(unresolved(&path, written, &error, context)),
    }
}

/// Finds where a path of the model leads or would lead, from the workspace: links that stay below it are followed,
/// and only names that do not exist yet may be left over.
pub(super) fn resolve_to_change(written: &str, context: &ToolContext) -> Result<PathBuf, String> {
    let path = below_workspace(Path::new(written), context);
    let name = || quoted(&path.strip_prefix(&context.workspace).unwrap_or(&path).to_string_lossy());
    let existing = path.ancestors().find_map(|part| Some((part, part.canonicalize().ok()?)));
    let Some((part, real)) = existing else { return Err(outside(written, "changed", context)) };
    let Ok(relative) = real.strip_prefix(&context.workspace) else {
        return Err(outside(written, "changed", context));
    };
    if is_of_kernel(&real) {
        return Err(format!("`{}` is made up by the kernel; only files on disk can be changed", name()));
    }
    let rest = path.strip_prefix(part).unwrap_or(Path::new(""));
    let led = if rest.as_os_str().is_empty() { real.clone() } else { real.join(rest) };
    context.held.check_change(&path, &led)?;
    let Some(first) = rest.components().next() else { return Ok(relative.to_owned()) };
    if !rest.components().all(|name| matches!(name, Component::Normal(_))) {
        return Err(format!("`{}` leads up from a directory that does not exist", name()));
    }
    if written.contains('\0') {
        return Err(format!("`{}` is no path: it has a NUL in it", name()));
    }
    match fs::symlink_metadata(real.join(first)) {
        Ok(kind) if kind.is_symlink() => {
            Err(format!("`{}` is or goes through a link that leads nowhere", name()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && real.is_dir() => Ok(relative.join(rest)),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory || !real.is_dir() => {
            Err(format!("`{}` cannot be made: `{}` is a file", name(), shown(relative)))
        }
        Ok(_) => Err(format!("`{}` cannot be reached", name())),
        Err(error) => Err(format!("`{}` cannot be reached: {}", name(), error.kind())),
    }
}

/// The path with the workspace as the model knows it replaced by the one there is.
pub(super) fn below_workspace(written: &Path, context: &ToolContext) -> PathBuf {
    match written.strip_prefix(&context.workspace_shown) {
        Ok(relative) => context.workspace.join(relative),
        Err(_) => context.workspace.join(written),
    }
}

/// A path from the workspace for the model, on one line whatever is in it.
pub(super) fn shown(relative: &Path) -> String {
    if relative.as_os_str().is_empty() {
        return ".".to_owned();
    }
    visible_line(&relative.to_string_lossy())
}

/// Says that a path leads out, to where nothing can be `done`.
pub(super) fn outside(written: &str, done: &str, context: &ToolContext) -> String {
    let workspace = context.workspace_shown.display();
    format!("`{}` is outside the workspace {workspace}; only files below it can be {done}", quoted(written))
}

/// Opens a regular file without ever waiting for it, and says how many bytes it has.
pub(super) fn open_regular(relative: &Path, context: &ToolContext) -> Result<(File, u64), String> {
    let name = shown(relative);
    let unreadable = |error: io::Error| format!("`{name}` cannot be read: {}", error.kind());
    // Looked at before it is opened, because opening a device may have an effect.
    let kind = fs::symlink_metadata(context.workspace.join(relative)).map_err(unreadable)?.file_type();
    if kind.is_dir() {
        return Err(format!("`{name}` is a directory; LS shows what is in it"));
    }
    if !kind.is_file() {
        return Err(format!("`{name}` is {}, not a regular file", kind_name(kind)));
    }
    // And again after: another file may have taken its place, and a FIFO must not hang us.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(open_below(relative, flags, context).map_err(unreadable)?);
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(format!("`{name}` is not a regular file"));
    }
    Ok((file, metadata.len()))
}

/// Opens a directory.
pub(super) fn open_directory(target: &Target, context: &ToolContext) -> Result<OwnedFd, String> {
    if !target.is_directory() {
        return Err(format!("`{}` is a file; Read shows what is in it", target.shown()));
    }
    open_below(&target.relative, OFlags::RDONLY | OFlags::DIRECTORY, context)
        .map_err(|error| format!("`{}` cannot be read: {}", target.shown(), error.kind()))
}

/// True for what looks like files and is not.
pub(super) fn is_of_kernel(real: &Path) -> bool {
    KERNEL_DIRECTORIES.iter().any(|directory| real.starts_with(directory))
}

/// Opens step by step from the workspace and follows no link, so that no change of the tree on the way,
/// such as a directory that becomes a link, can lead out.
pub(super) fn open_below(relative: &Path, flags: OFlags, context: &ToolContext) -> io::Result<OwnedFd> {
    let always = OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let step = always | OFlags::RDONLY | OFlags::DIRECTORY;
    let mut opened = rustix::fs::open(&context.workspace, step, Mode::empty())?;
    let mut names = relative.components().peekable();
    while let Some(name) = names.next() {
        let flags = if names.peek().is_some() { step } else { always | flags };
        opened = rustix::fs::openat(&opened, name.as_os_str(), flags, Mode::empty())?;
    }
    Ok(opened)
}

/// Says why a path leads to nothing, and nothing at all about what is outside.
fn unresolved(path: &Path, written: &str, error: &io::Error, context: &ToolContext) -> String {
    let nearest = path.ancestors().skip(1).find_map(|directory| directory.canonicalize().ok());
    if !nearest.is_some_and(|directory| directory.starts_with(&context.workspace)) {
        return outside(written, "read", context);
    }
    let name = quoted(&path.strip_prefix(&context.workspace).unwrap_or(path).to_string_lossy());
    match error.kind() {
        io::ErrorKind::NotFound if path.is_symlink() => format!("`{name}` is a link that leads nowhere"),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            let similar = similar_paths(path, context);
            if similar.is_empty() {
                return format!("`{name}` does not exist; Glob and LS show what does");
            }
            format!("`{name}` does not exist; did you mean {}?", similar.join(", "))
        }
        kind => format!("`{name}` cannot be read: {kind}"),
    }
}

/// The paths in the same directory whose names are alike, the likeliest first.
fn similar_paths(path: &Path, context: &ToolContext) -> Vec<String> {
    let Some(directory) = path.parent().and_then(|parent| parent.canonicalize().ok()) else {
        return Vec::new();
    };
    let Ok(relative) = directory.strip_prefix(&context.workspace) else { return Vec::new() };
    let wanted = path.file_name().unwrap_or_default().to_string_lossy();
    let entries = fs::read_dir(&directory).into_iter().flatten().take(NAMES_MAX).flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let mut similar = Vec::new();
    while similar.len() < SIMILAR_MAX {
        let same_stem = |name: &&String| stem(name) == stem(&wanted);
        let next = closest(&wanted, names.iter().map(String::as_str));
        let Some(next) = next.or_else(|| names.iter().find(same_stem).map(String::as_str)) else { break };
        let next = next.to_owned();
        names.retain(|name| *name != next);
        similar.push(format!("`{}`", shown(&relative.join(&next))));
    }
    similar
}

/// The name without its last extension, in lower case.
fn stem(name: &str) -> String {
    Path::new(name).file_stem().unwrap_or_default().to_string_lossy().to_lowercase()
}

fn kind_name(kind: FileType) -> &'static str {
    if kind.is_fifo() {
        "a FIFO"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else {
        "something else"
    }
}

fn quoted(written: &str) -> String {
    one_line(&visible_line(written), WRITTEN_CHARACTERS_MAX)
}
