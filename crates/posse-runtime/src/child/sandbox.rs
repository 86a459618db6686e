//! The sandbox as the words that start it: bubblewrap with a root of its own in which only what is named here exists.
//! A function of values and of which files exist; it starts nothing.
//!
//! An allowlist, not the whole root read-only with holes: homes, keys and sockets are in other places on every
//! machine, and what is forgotten in a list of holes is open, while what is forgotten here is only missing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::child::{Confinement, Network};
use crate::guard::{Part, WORD};

/// Where bubblewrap is looked for. Never on `PATH`: what a project puts there must not become the sandbox.
const PROGRAMS: &[&str] =
    &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
/// Programs, libraries and settings of the system, read-only.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store"];
/// Secrets of the system that a root user could read: an empty file stands in their place.
const HIDDEN_FILES: &[&str] =
    &["/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/krb5.keytab"];
/// The same for directories.
const HIDDEN_DIRECTORIES: &[&str] = &["/etc/ssh", "/etc/ssl/private", "/etc/sudoers.d", "/etc/wireguard"];
/// Read through links that lead out of `/etc`; without it names are not resolved.
const RESOLVER: &str = "/etc/resolv.conf";
/// The guard inside.
const GUARD: &str = "/run/posse/guard";
/// How much each of `/tmp` and the home directory may hold: it is memory.
const SCRATCH_BYTES_MAX: u64 = 1 << 30;
/// The home directory of a user who has none.
const HOME_DEFAULT: &str = "/home/posse";

/// The bubblewrap of this machine.
pub(super) fn program() -> Option<PathBuf> {
    PROGRAMS.iter().map(PathBuf::from).find(|path| path.is_file())
}

/// All words of the sandbox of a run, from its program to the guard inside.
pub(super) fn words(bwrap: &Path, confinement: &Confinement, guard: &Path) -> Vec<OsString> {
    let mut words = fence(bwrap, confinement);
    let part = match confinement.network {
        Network::Hosts(_) => Part::Listen,
        Network::Full | Network::None => Part::Serve,
    };
    words.extend(["--ro-bind".into(), guard.into(), GUARD.into()]);
    words.extend(closing(&confinement.workspace));
    words.extend([GUARD, WORD, part.as_str()].map(OsString::from));
    words
}

fn fence(bwrap: &Path, confinement: &Confinement) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec![bwrap.into()];
    // `--unshare-user --cap-drop ALL`: without both, root inside could remount what is read-only.
    let flags = ["--unshare-all", "--unshare-user", "--cap-drop", "ALL", "--disable-userns"];
    words.extend(flags.map(OsString::from));
    words.extend(["--die-with-parent", "--new-session", "--as-pid-1"].map(OsString::from));
    if confinement.network == Network::Full {
        words.push("--share-net".into());
    }
    for path in SYSTEM {
        bind(&mut words, "--ro-bind-try", Path::new(path));
    }
    hide(&mut words);
    if let Some(path) = Path::new(RESOLVER).canonicalize().ok().filter(|path| !path.starts_with("/etc")) {
        bind(&mut words, "--ro-bind-try", &path);
    }
    words.extend(["--proc", "/proc", "--dev", "/dev"].map(OsString::from));
    scratch(&mut words, Path::new("/tmp"));
    scratch(&mut words, Path::new("/var/tmp"));
    scratch(&mut words, &home(confinement));
    // After the empty directories: a workspace may lie below any of them.
    for path in &confinement.readable {
        bind(&mut words, "--ro-bind", path);
    }
    for path in confinement.writable.iter().chain([&confinement.workspace]) {
        bind(&mut words, "--bind", path);
    }
    words
}

/// What comes last: the root itself, in which places to mount at were made.
fn closing(workspace: &Path) -> [OsString; 4] {
    ["--remount-ro".into(), "/".into(), "--chdir".into(), workspace.into()]
}

fn bind(words: &mut Vec<OsString>, how: &str, path: &Path) {
    words.extend([OsStr::new(how), path.as_os_str(), path.as_os_str()].map(OsString::from));
}

fn hide(words: &mut Vec<OsString>) {
    for path in HIDDEN_FILES.iter().filter(|path| Path::new(path).is_file()) {
        words.extend(["--ro-bind", "/dev/null", path].map(OsString::from));
    }
    for path in HIDDEN_DIRECTORIES.iter().filter(|path| Path::new(path).is_dir()) {
        words.extend(["--tmpfs", path, "--remount-ro", path].map(OsString::from));
    }
}

fn scratch(words: &mut Vec<OsString>, path: &Path) {
    words.extend([
        "--size".into(),
        OsString::from(SCRATCH_BYTES_MAX.to_string()),
        "--tmpfs".into(),
        path.into(),
    ]);
}

/// A home directory like the one outside, and empty. One that would hide the system is not made.
fn home(confinement: &Confinement) -> PathBuf {
    let home =
        confinement.variables.iter().find(|(name, _)| name == "HOME").map(|(_, value)| Path::new(value));
    let usable = |home: &&Path| {
        home.is_absolute() && home.parent().is_some() && !SYSTEM.iter().any(|path| home.starts_with(path))
    };
    home.filter(usable).unwrap_or(Path::new(HOME_DEFAULT)).to_owned()
}
