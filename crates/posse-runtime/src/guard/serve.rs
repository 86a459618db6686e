//! The guard as commands see it: starts a keeper for every line it is handed, and kills whatever a keeper lost. The same
//! code runs outside and, as the first process, inside a sandbox. Commands themselves are the keepers' work.

use std::collections::BTreeSet;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, Signal, kill_process};

use crate::child::platform;
use crate::guard::below::{Reaped, children, kill_below, reap};
use crate::guard::keep::wait_on;
use crate::guard::line::{receive_some, send};
use crate::guard::wire::Greeting;
use crate::guard::{Part, WORD};

/// How many commands of one run may live at a time.
const KEEPERS_MAX: usize = 256;
/// How often the guard looks for processes that have lost their keeper.
const TICK: Duration = Duration::from_secs(1);

/// Serves until the line is closed; then nothing below is alive.
pub fn serve(control: &UnixStream) -> io::Result<()> {
    platform::become_subreaper()?;
    send(control, &Greeting::Ready, &[])?;
    serve_lines(control)
}

/// The same, handing over a socket that listens in this network namespace.
pub fn listen(control: &UnixStream) -> io::Result<()> {
    platform::become_subreaper()?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, super::PROXY_PORT))?;
    send(control, &Greeting::Ready, &[listener.as_fd()])?;
    // Whoever accepts holds the only copy: it is closed when Posse is gone.
    drop(listener);
    serve_lines(control)
}

fn serve_lines(control: &UnixStream) -> io::Result<()> {
    let mut keepers = BTreeSet::new();
    loop {
        let mut sources = [PollFd::new(control, PollFlags::IN)];
        wait_on(&mut sources, TICK)?;
        reap_ended(&mut keepers);
        if sources[0].revents().is_empty() {
            kill_lost(&keepers);
            continue;
        }
        let mut byte = [0; 1];
        let (received, mut lines) = receive_some(control, &mut byte)?;
        if received == 0 {
            kill_below(None);
            return Ok(());
        }
        // A line that is dropped tells the other side that there is no keeper.
        if let Some(line) = lines.pop().filter(|_| keepers.len() < KEEPERS_MAX)
            && let Ok(keeper) = start_keeper(line)
        {
            keepers.insert(keeper.as_raw_pid());
        }
    }
}

fn start_keeper(line: OwnedFd) -> io::Result<Pid> {
    let child = Command::new(platform::own_program()?)
        .args([WORD, Part::Keep.as_str()])
        .env_clear()
        .stdin(Stdio::from(line))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Pid::from_child(&child))
}

fn reap_ended(keepers: &mut BTreeSet<i32>) {
    while let Reaped::One(pid, _) = reap() {
        keepers.remove(&pid.as_raw_pid());
    }
}

/// A child that is no keeper has lost its own: the command killed it, perhaps to get away.
fn kill_lost(keepers: &BTreeSet<i32>) {
    for pid in children().difference(keepers).copied().filter_map(Pid::from_raw) {
        kill_process(pid, Signal::KILL).ok();
    }
}
