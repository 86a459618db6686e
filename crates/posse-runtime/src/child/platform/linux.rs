//! Linux: processes listed and adopted, Landlock, system call filters. No policy: what to hold a command to comes in.

mod landlock;
mod seccomp;

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use rustix::net::RecvFlags;
use rustix::process::{DumpableBehavior, Pid, PidfdFlags};

pub use landlock::{fence_in, landlock_in_force};
pub use seccomp::filters;

use super::Process;

/// Descriptors that come over a socket are not inherited by accident.
pub const RECEIVE_FLAGS: RecvFlags = RecvFlags::CMSG_CLOEXEC;

/// Orphans below this process become its children.
pub fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

/// Keeps others of the same user from reading or tracing this process.
pub fn make_undumpable() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}

/// Readable once the process has ended.
pub fn end_of(pid: Pid) -> Option<OwnedFd> {
    rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// This program, also after its file was replaced by a newer one.
pub fn own_program() -> io::Result<PathBuf> {
    Ok(PathBuf::from("/proc/self/exe"))
}

/// Every process that lives.
pub fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    // One that ends meanwhile is none.
    pids.filter_map(|pid| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        living(pid, &String::from_utf8_lossy(&stat))
    })
    .collect()
}

/// A line of `/proc/PID/stat`, unless the process is only waiting to be reaped. The name, in parentheses, may hold
/// anything.
fn living(pid: i32, stat: &str) -> Option<Process> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(Process { pid, parent, group })
}

#[cfg(test)]
mod tests {
    use super::{Process, living};

    #[test]
    fn a_process_is_read_whatever_it_is_called() {
        let check = |stat: &str, expected: Option<(i32, i32)>| {
            let expected = expected.map(|(parent, group)| Process { pid: 12, parent, group });
            assert_eq!(living(12, stat), expected, "{stat}");
        };
        check("12 (sh) S 7 11 12 0", Some((7, 11)));
        check("12 (a) Z 9 (b) R 7 11 12 0", Some((7, 11)));
        check("12 (sh) Z 7 11 12 0", None);
        check("12 (sh", None);
        check("", None);
    }
}
