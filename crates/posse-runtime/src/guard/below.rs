//! Everything that descends from this process: found, signalled, reaped. Who must go, and when, is decided elsewhere.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};

use crate::child::platform::{self, Process};
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
pub fn below() -> Vec<Process> {
    descendants(rustix::process::getpid().as_raw_pid(), &platform::processes())
}

/// The direct children of this process.
pub fn children() -> BTreeSet<i32> {
    let parent = rustix::process::getpid().as_raw_pid();
    let processes = platform::processes().into_iter();
    processes.filter(|process| process.parent == parent).map(|process| process.pid).collect()
}

/// All that descend from one process, given every process.
fn descendants(root: i32, processes: &[Process]) -> Vec<Process> {
    let mut found: Vec<Process> = Vec::new();
    let mut known = BTreeSet::from([root]);
    let mut open = vec![root];
    while let Some(parent) = open.pop() {
        for process in processes.iter().filter(|process| process.parent == parent) {
            if known.insert(process.pid) {
                found.push(*process);
                open.push(process.pid);
            }
        }
    }
    found
}

/// Signals everything below, each process once: a shell that cleans up must not be hit again meanwhile. The command's
/// own group is signalled as a whole, so that nothing it is just starting is missed; what has left the group, singly.
pub fn signal_below(signal: Signal, command: Option<Pid>) {
    let below = below();
    let group = command.map(Pid::as_raw_pid);
    if let Some(command) = command {
        // What is gone already needs no signal.
        kill_process_group(command, signal).ok();
    }
    let others = below.into_iter().filter(|process| Some(process.group) != group);
    for pid in others.filter_map(|process| Pid::from_raw(process.pid)) {
        kill_process(pid, signal).ok();
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
    use super::{Process, descendants};

    fn check(root: i32, processes: &[(i32, i32)], expected: &[i32]) {
        let processes: Vec<Process> = processes
            .iter()
            .map(|(pid, parent)| Process { pid: *pid, parent: *parent, group: *pid })
            .collect();
        let mut found: Vec<i32> = descendants(root, &processes).iter().map(|process| process.pid).collect();
        found.sort_unstable();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_descends_is_found_at_any_depth_and_nothing_else() {
        let processes = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 1), (6, 5), (7, 4)];
        check(2, &processes, &[3, 4, 7]);
        check(7, &processes, &[]);
    }

    #[test]
    fn a_listing_that_goes_in_a_circle_ends() {
        check(1, &[(2, 3), (3, 2), (2, 1)], &[2, 3]);
    }
}
