//! The processes of one run: its guard, started at the first command, and how a command gets to it. What confines them is
//! made of words in `sandbox` and of paths here; nothing here waits for a command to end.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::process::Child;
use tokio::sync::OnceCell;
use tokio::time::{Instant, timeout};

use super::environment::merge;
use super::line::Line;
use super::probe::holdable;
use super::proxy::Proxy;
use super::running::Running;
use super::{Command, Confinement, Input, Isolation, Network, Output, Program, Variable, platform, sandbox};
use crate::guard::wire::{Fence, Greeting, Hold, Order, Report};
use crate::guard::{PROXY_PORT, Part, WORD};

/// How long a guard may take until it is ready, and a command until it runs, on a machine that is very busy.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long a guard may take to kill everything and end.
const CLOSE_LIMIT: Duration = Duration::from_secs(15);
/// What a command may read under Landlock, beside its workspace: programs, libraries, settings, devices, processes.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/proc",
    "/dev",
    "/sys/devices/system/cpu",
    "/run/systemd/resolve",
];
/// Devices that a command may write to under Landlock.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"];
/// What makes most programs use a proxy.
const PROXY_VARIABLES: &[&str] =
    &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// The processes of one run. Dropping it kills them all; so does the end of this process, however it comes.
#[derive(Debug)]
pub struct Processes {
    confinement: Confinement,
    program: PathBuf,
    guard: OnceCell<Guard>,
    closed: AtomicBool,
}

/// Why a command was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartError {
    /// The command cannot be started: there is no such program or directory.
    Command(String),
    /// No command can be started: the guard or the isolation does not work.
    Guard(String),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            StartError::Command(why) | StartError::Guard(why) => formatter.write_str(why),
        }
    }
}

impl std::error::Error for StartError {}

#[derive(Debug)]
struct Guard {
    line: Line,
    /// Locked only to kill it, never across an await; whoever drops it leaves the reaping to the runtime.
    child: Mutex<Child>,
    /// Ends with the guard.
    _proxy: Option<Proxy>,
}

impl Processes {
    /// The processes of a run that has none yet. `guard` is a program that calls [`crate::guard::main`] first thing.
    pub fn new(confinement: Confinement, guard: PathBuf) -> Processes {
        let closed = AtomicBool::new(false);
        Processes { confinement, program: guard, guard: OnceCell::new(), closed }
    }

    /// Starts a command; the first one starts the guard.
    pub async fn start(&self, command: Command) -> Result<Running, StartError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StartError::Guard("the run is over".to_owned()));
        }
        let starting = self.guard.get_or_try_init(|| start_guard(&self.confinement, &self.program));
        let guard = timeout(START_LIMIT, starting).await;
        let guard = guard.map_err(|_| StartError::Guard("the guard takes too long to start".to_owned()))?;
        let guard = guard.map_err(StartError::Guard)?;
        let started = timeout(START_LIMIT, start_command(guard, &self.confinement, command)).await;
        started.unwrap_or_else(|_| Err(StartError::Guard("the guard takes too long".to_owned())))
    }

    /// Kills everything and waits until it is gone. Nothing can be started afterwards.
    pub async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let Some(guard) = self.guard.get() else { return };
        let ended = timeout(CLOSE_LIMIT, guard.line.end()).await;
        if !matches!(ended, Ok(Ok(())))
            && let Ok(mut child) = guard.child.lock()
        {
            // One that is gone already needs no signal.
            drop(child.start_kill());
        }
    }
}

async fn start_guard(confinement: &Confinement, program: &Path) -> Result<Guard, String> {
    holdable(confinement).map_err(|refused| refused.to_string())?;
    let said = |error: io::Error| format!("the guard: {error}");
    let program = program.canonicalize().map_err(|error| format!("{}: {error}", program.display()))?;
    let hold = match confinement.isolation {
        Isolation::None | Isolation::Landlock(_) => None,
        Isolation::Sandbox => Some(hold(confinement, &program)?),
    };
    let (mut line, theirs) = Line::pair().map_err(said)?;
    let part = if hold.is_some() { Part::Hold } else { Part::Serve };
    let child = tokio::process::Command::new(&program)
        .args([WORD, part.as_str()])
        .env_clear()
        .stdin(Stdio::from(theirs))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    if let Some(hold) = hold {
        line.send(&hold, &[]).await.map_err(said)?;
    }
    match line.receive::<Greeting>().await.map_err(said)? {
        Some(Greeting::Ready) => {}
        Some(Greeting::Failed(why)) => return Err(format!("the sandbox does not start: {why}")),
        None => return Err(format!("{} is not a guard", program.display())),
    }
    let _proxy = proxy(&confinement.network, line.take_descriptors()).map_err(said)?;
    Ok(Guard { line, child: Mutex::new(child), _proxy })
}

fn hold(confinement: &Confinement, program: &Path) -> Result<Hold, String> {
    let bwrap = sandbox::program().ok_or("bubblewrap is not installed")?;
    Ok(Hold { words: sandbox::words(&bwrap, confinement, program), filters: platform::filters()? })
}

fn proxy(network: &Network, mut descriptors: Vec<OwnedFd>) -> io::Result<Option<Proxy>> {
    match (network, descriptors.pop()) {
        (Network::Hosts(hosts), Some(listener)) => Proxy::start(TcpListener::from(listener), hosts).map(Some),
        (Network::Hosts(_), None) => Err(io::Error::other("it hands over no socket for the proxy")),
        (Network::Full | Network::None, _) => Ok(None),
    }
}

async fn start_command(
    guard: &Guard,
    confinement: &Confinement,
    command: Command,
) -> Result<Running, StartError> {
    let said = |error: io::Error| StartError::Guard(format!("the guard: {error}"));
    let (mut line, theirs) = Line::pair().map_err(said)?;
    guard.line.hand_over(theirs.as_fd()).await.map_err(said)?;
    drop(theirs);
    let (ends, pipes) = pipes(&command).map_err(said)?;
    let (timeout, grace) = (command.timeout, command.grace);
    let order = order(confinement, command);
    line.send(&order, &ends.each_ref().map(AsFd::as_fd)).await.map_err(said)?;
    drop(ends);
    match line.receive::<Report>().await.map_err(said)? {
        Some(Report::Started) => {
            let Pipes { stdin, stdout, stderr } = pipes;
            let deadline = Instant::now() + timeout;
            Ok(Running { stdin, stdout: Some(stdout), stderr, line, deadline, grace, ended: None })
        }
        Some(Report::NotStarted(why)) => Err(StartError::Command(why)),
        Some(Report::Ended { .. }) | None => {
            Err(StartError::Guard("the guard has ended, or keeps too many commands already".to_owned()))
        }
    }
}

struct Pipes {
    stdin: Option<pipe::Sender>,
    stdout: pipe::Receiver,
    stderr: Option<pipe::Receiver>,
}

/// The command's ends (stdin, stdout, stderr) and ours.
fn pipes(command: &Command) -> io::Result<([OwnedFd; 3], Pipes)> {
    let (stdin, their_stdin) = match command.input {
        Input::Empty => (None, OwnedFd::from(std::fs::File::open("/dev/null")?)),
        Input::Piped => {
            let (theirs, ours) = io::pipe()?;
            (Some(pipe::Sender::from_owned_fd(ours.into())?), theirs.into())
        }
    };
    let (ours, their_stdout) = io::pipe()?;
    let stdout = pipe::Receiver::from_owned_fd(ours.into())?;
    let (stderr, their_stderr) = match command.output {
        Output::Together => (None, their_stdout.try_clone()?),
        Output::Apart => {
            let (ours, theirs) = io::pipe()?;
            (Some(pipe::Receiver::from_owned_fd(ours.into())?), theirs)
        }
    };
    Ok(([their_stdin, their_stdout.into(), their_stderr.into()], Pipes { stdin, stdout, stderr }))
}

fn order(confinement: &Confinement, command: Command) -> Order {
    let (program, arguments) = match command.program {
        Program::Shell(text) => (shell(), vec!["-c".into(), text.into()]),
        Program::Direct(program, arguments) => (program, arguments),
    };
    let variables = merge(confinement.variables.clone(), command.variables);
    let variables = merge(variables, held_variables(confinement));
    let fence = match confinement.isolation {
        Isolation::Landlock(_) => Some(fence(confinement)),
        Isolation::None | Isolation::Sandbox => None,
    };
    Order { program, arguments, cwd: command.cwd, variables, fence }
}

fn shell() -> OsString {
    let bash = Path::new("/bin/bash");
    if bash.is_file() { bash.into() } else { "/bin/sh".into() }
}

/// What the isolation itself sets, whatever was asked for: other values would lead to places that are closed.
fn held_variables(confinement: &Confinement) -> Vec<Variable> {
    let temporary = |path: &Path| vec![("TMPDIR".into(), path.into())];
    match (confinement.isolation, &confinement.network) {
        (Isolation::None, _) => Vec::new(),
        (Isolation::Landlock(_), _) => temporary(&confinement.scratch),
        (Isolation::Sandbox, Network::Full | Network::None) => temporary(Path::new("/tmp")),
        (Isolation::Sandbox, Network::Hosts(_)) => {
            let address = OsString::from(format!("http://127.0.0.1:{PROXY_PORT}"));
            let proxies = PROXY_VARIABLES.iter().map(|name| (OsString::from(name), address.clone()));
            proxies.chain(temporary(Path::new("/tmp"))).collect()
        }
    }
}

fn fence(confinement: &Confinement) -> Fence {
    let system = SYSTEM.iter().map(PathBuf::from);
    let own = [confinement.workspace.clone(), confinement.scratch.clone()];
    Fence {
        readable: system.chain(confinement.readable.iter().cloned()).collect(),
        writable: DEVICES
            .iter()
            .map(PathBuf::from)
            .chain(confinement.writable.iter().cloned())
            .chain(own)
            .collect(),
        offline: confinement.network != Network::Full,
    }
}
