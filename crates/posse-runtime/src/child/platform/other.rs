//! Systems without Landlock, seccomp and subreapers. A command's own group is all that can be killed; every isolation is
//! refused.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::net::RecvFlags;
use rustix::process::Pid;

use super::Process;
use crate::guard::wire::Fence;

/// Nothing can be asked for.
pub const RECEIVE_FLAGS: RecvFlags = RecvFlags::empty();

/// There is no such thing: orphans go to the first process of the system.
pub fn become_subreaper() -> io::Result<()> {
    Ok(())
}

/// There is no such thing.
pub fn make_undumpable() -> io::Result<()> {
    Ok(())
}

/// There is no such thing: a keeper looks again from time to time.
pub fn end_of(_: Pid) -> Option<OwnedFd> {
    None
}

/// This program.
pub fn own_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// Not known: only a command's group is signalled.
pub fn processes() -> Vec<Process> {
    Vec::new()
}

/// Always refused.
pub fn fence_in(_: &Fence) -> io::Result<()> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// Always refused.
pub fn landlock_in_force() -> Result<u32, String> {
    Err("Landlock is part of Linux".to_owned())
}

/// Always refused.
pub fn filters() -> Result<Vec<Vec<u8>>, String> {
    Err("seccomp is part of Linux".to_owned())
}
