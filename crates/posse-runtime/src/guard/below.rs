//! Everything that descends from this process: found, signalled, reaped. Who must go, and when, is decided elsewhere.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};

use crate::child::platform;
use crate::guard::wire::Exit;

/// How long a killed process may take to be gone; one that hangs in the kernel is left to the system.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// How long to wait between two looks at what is left.
const KILL_TICK: Duration = Duration::from_millis(1);

/// What a look at the children showed.
#[derive(Debug, PartialEq, Eq)]
pub enum Reaped {
    /// One has ended.
    One(Pid, Exit),
    /// There are some, and all of them live.
    AllLive,
    /// There are none.
    NoneLeft,
}

/// Takes the next child that has ended, without waiting.
pub fn reap() -> Reaped {
    match wait(WaitOptions::NOHANG) {
        Ok(Some((pid, status))) => match (status.exit_status(), status.terminating_signal()) {
            (Some(code), _) => Reaped::One(pid, Exit::Code(code)),
            (None, Some(signal)) => Reaped::One(pid, Exit::Signal(signal)),
            (None, None) => Reaped::AllLive,
        },
        Ok(None) => Reaped::AllLive,
        Err(rustix::io::Errno::INTR) => Reaped::AllLive,
        Err(_) => Reaped::NoneLeft,
    }
}

/// The living descendants of this process.
pub fn below() -> BTreeSet<i32> {
    descendants(rustix::process::getpid().as_raw_pid(), &platform::processes())
}

/// The direct children of this process.
pub fn children() -> BTreeSet<i32> {
    let parent = rustix::process::getpid().as_raw_pid();
    platform::processes().into_iter().filter(|(_, of)| *of == parent).map(|(pid, _)| pid).collect()
}

/// All that descend from one process, given every process and its parent.
fn descendants(root: i32, processes: &[(i32, i32)]) -> BTreeSet<i32> {
    let mut found = BTreeSet::new();
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for (pid, _) in processes.iter().filter(|(pid, of)| *of == parent && *pid != root) {
            if found.insert(*pid) {
                open.push(*pid);
            }
        }
    }
    found
}

/// Signals everything below, and the group of the command where processes cannot be listed.
pub fn signal_below(signal: Signal, command: Option<Pid>) {
    for pid in below().into_iter().filter_map(Pid::from_raw) {
        // One that is gone already needs no signal.
        kill_process(pid, signal).ok();
    }
    if let Some(command) = command {
        kill_process_group(command, signal).ok();
    }
}

/// Kills everything below until nothing is left. Says how the command itself ended, if it had not before.
pub fn kill_below(command: Option<Pid>) -> Option<Exit> {
    let until = Instant::now() + KILL_LIMIT;
    let mut exit = None;
    loop {
        match reap() {
            Reaped::NoneLeft => return exit,
            Reaped::One(pid, how) if Some(pid) == command => exit = Some(how),
            Reaped::One(..) => {}
            Reaped::AllLive if Instant::now() >= until => return exit,
            Reaped::AllLive => {
                // The group only until its leader is reaped: its number may then belong to a stranger.
                signal_below(Signal::KILL, command.filter(|_| exit.is_none()));
                std::thread::sleep(KILL_TICK);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::descendants;

    #[test]
    fn what_descends_is_found_at_any_depth_and_nothing_else() {
        let processes = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (7, 4)];
        assert_eq!(descendants(2, &processes).into_iter().collect::<Vec<_>>(), [3, 4, 7]);
        assert_eq!(descendants(7, &processes).into_iter().collect::<Vec<_>>(), [0; 0]);
    }

    #[test]
    fn a_listing_that_goes_in_a_circle_ends() {
        assert_eq!(descendants(1, &[(2, 3), (3, 2), (2, 1)]).into_iter().collect::<Vec<_>>(), [2, 3]);
    }
}
