//! A keeper: the process between the guard and one command. A subreaper of its own, so that whatever the command leaves
//! behind is known to be the command's. It knows nothing of other commands.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use crate::child::platform;
use crate::guard::below::{Reaped, below, kill_below, reap, signal_below};
use crate::guard::line::{receive, send};
use crate::guard::wire::{Exit, Order, Report, Told};

/// How often processes are reaped that ended while the command runs on.
const IDLE_TICK: Duration = Duration::from_secs(1);
/// How often a keeper looks whether all is over, while it is stopping.
const STOP_TICK: Duration = Duration::from_millis(5);

/// A command that has been started.
struct Kept {
    line: UnixStream,
    command: Pid,
    /// Readable when the command has ended, where the system has such a thing.
    ended: Option<OwnedFd>,
    exit: Option<Exit>,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    /// The command may take its time.
    Running,
    /// The command was asked to end, and is killed at that time.
    Stopping(Instant),
}

/// Carries out the one order that comes over the line.
pub fn keep(line: UnixStream) -> io::Result<()> {
    platform::become_subreaper()?;
    let Some((order, descriptors)) = receive::<Order>(&line)? else { return Ok(()) };
    match start(&order, descriptors) {
        Err(why) => send(&line, &Report::NotStarted(why), &[]),
        Ok(command) => {
            send(&line, &Report::Started, &[])?;
            let ended = platform::end_of(command);
            Kept { line, command, ended, exit: None, state: State::Running }.watch()
        }
    }
}

fn start(order: &Order, descriptors: Vec<OwnedFd>) -> Result<Pid, String> {
    let Ok([stdin, stdout, stderr]) = <[OwnedFd; 3]>::try_from(descriptors) else {
        return Err("the command came without its descriptors".to_owned());
    };
    let (program, arguments) = match &order.fence {
        None => (order.program.clone(), order.arguments.clone()),
        Some(fence) => crate::guard::confine::words(fence, order)?,
    };
    let child = Command::new(program)
        .args(arguments)
        .current_dir(&order.cwd)
        .env_clear()
        .envs(order.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(stdout))
        .stderr(Stdio::from(stderr))
        .process_group(0)
        .spawn();
    child.map(|child| Pid::from_child(&child)).map_err(|error| why_not(order, &error))
}

/// The system says only "not found", whichever of the two is missing.
fn why_not(order: &Order, error: &io::Error) -> String {
    if order.cwd.is_dir() {
        format!("cannot start `{}`: {error}", order.program.display())
    } else {
        format!("cannot start in {}: it is not a directory here", order.cwd.display())
    }
}

impl Kept {
    fn watch(mut self) -> io::Result<()> {
        loop {
            let some_live = self.reap_ended();
            let over = match self.state {
                State::Running => self.exit.is_some(),
                State::Stopping(until) => !some_live || Instant::now() >= until,
            };
            if over {
                return self.finish();
            }
            if self.wait_for_line()? {
                match receive::<Told>(&self.line) {
                    Ok(Some((Told::Stop { grace_ms }, _))) => {
                        self.ask_to_end(Duration::from_millis(grace_ms));
                    }
                    // Whoever wanted the command is gone.
                    Ok(None) | Err(_) => {
                        kill_below(self.unreaped());
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Its group may be signalled only until it is reaped.
    fn unreaped(&self) -> Option<Pid> {
        Some(self.command).filter(|_| self.exit.is_none())
    }

    /// False when nothing is left.
    fn reap_ended(&mut self) -> bool {
        loop {
            match reap() {
                Reaped::One(pid, exit) if pid == self.command => self.exit = Some(exit),
                Reaped::One(..) => {}
                Reaped::AllLive => return true,
                Reaped::NoneLeft => return false,
            }
        }
    }

    fn ask_to_end(&mut self, grace: Duration) {
        let asked = Instant::now() + grace;
        self.state = match self.state {
            State::Running => {
                signal_below(Signal::TERM, self.unreaped());
                State::Stopping(asked)
            }
            State::Stopping(until) => State::Stopping(until.min(asked)),
        };
    }

    /// True when there is something to read, or nobody to write it.
    fn wait_for_line(&self) -> io::Result<bool> {
        let tick = match self.state {
            State::Running => IDLE_TICK,
            State::Stopping(_) => STOP_TICK,
        };
        let mut sources = vec![PollFd::new(&self.line, PollFlags::IN)];
        // Only while it runs: the descriptor of a command that has ended is always ready, and this loop would spin.
        if let (Some(ended), State::Running) = (&self.ended, self.state) {
            sources.push(PollFd::new(ended, PollFlags::IN));
        }
        // Without such a descriptor there is only looking again.
        let tick = if self.ended.is_none() { STOP_TICK } else { tick };
        wait_on(&mut sources, tick)?;
        Ok(!sources[0].revents().is_empty())
    }

    fn finish(self) -> io::Result<()> {
        let left = match self.state {
            State::Running => u32::try_from(below().len()).unwrap_or(u32::MAX),
            State::Stopping(_) => 0,
        };
        let exit = kill_below(self.unreaped()).or(self.exit);
        let exit = exit.unwrap_or(Exit::Signal(Signal::KILL.as_raw()));
        // Whoever is not there to hear it does not need it.
        drop(send(&self.line, &Report::Ended { exit, left }, &[]));
        Ok(())
    }
}

/// Waits until one is ready or the time is over.
pub fn wait_on(sources: &mut [PollFd<'_>], time: Duration) -> io::Result<()> {
    let time = Timespec::try_from(time).map_err(io::Error::other)?;
    match poll(sources, Some(&time)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The socket that this process has as its stdin.
pub fn line_at_stdin() -> io::Result<UnixStream> {
    Ok(UnixStream::from(std::io::stdin().as_fd().try_clone_to_owned()?))
}
