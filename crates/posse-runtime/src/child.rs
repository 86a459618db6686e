//! Processes of a run: started through a guard, held to an isolation, stopped with everything they started. The only
//! room that spawns. What a run may do is decided elsewhere and comes in as a [`Confinement`].

mod capture;
mod environment;
mod hosts;
mod line;
pub(crate) mod platform;
mod probe;
mod processes;
mod proxy;
mod running;
mod sandbox;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use capture::{Captured, capture};
pub use environment::{Variable, environment};
pub use hosts::{HostPattern, HostPatternError};
pub use probe::{Probe, Proven, Unavailable};
pub use processes::{Processes, StartError};
pub use running::{Ended, How, Running};

pub use crate::guard::wire::Exit;

/// What keeps a run's processes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    /// Nothing but the rights of the user.
    None,
    /// Landlock and a filter of sockets: cheap, with gaps.
    Landlock(AsRoot),
    /// Bubblewrap and a filter of system calls.
    Sandbox,
}

/// Whether Landlock may be used by root, for whom it holds less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AsRoot {
    /// It is refused.
    Refused,
    /// An operator has said that it is enough.
    Accepted,
}

/// What a run's processes may reach over the network.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// Everything.
    Full,
    /// Nothing.
    None,
    /// These hosts, through a proxy.
    Hosts(Vec<HostPattern>),
}

/// What all processes of one run are held to.
#[derive(Debug, Clone)]
pub struct Confinement {
    /// What keeps them in.
    pub isolation: Isolation,
    /// What they may reach over the network.
    pub network: Network,
    /// The directory they work in, which they may change.
    pub workspace: PathBuf,
    /// A directory of the run for temporary files, used under Landlock. Not in the workspace, where it would be seen
    /// as a change.
    pub scratch: PathBuf,
    /// What else they may read.
    pub readable: Vec<PathBuf>,
    /// What else they may change.
    pub writable: Vec<PathBuf>,
    /// Their variables, as [`environment`] makes them.
    pub variables: Vec<Variable>,
}

/// One command.
#[derive(Debug, Clone)]
pub struct Command {
    /// What is started.
    pub program: Program,
    /// Where.
    pub cwd: PathBuf,
    /// Variables beside those of the confinement.
    pub variables: Vec<Variable>,
    /// What it reads.
    pub input: Input,
    /// Where its stderr goes.
    pub output: Output,
    /// How long it may run.
    pub timeout: Duration,
    /// How long it may take to end once it is asked to, when its time is over.
    pub grace: Duration,
}

/// What a command starts.
#[derive(Debug, Clone)]
pub enum Program {
    /// Text for a shell: bash where there is one, else `sh`.
    Shell(String),
    /// A program, by its path or by a name on the command's `PATH`, with its arguments.
    Direct(OsString, Vec<OsString>),
}

/// What a command has as its stdin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// Nothing to read.
    Empty,
    /// What is written to [`Running::stdin`].
    Piped,
}

/// Where a command's stderr goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Output {
    /// To a pipe of its own.
    Apart,
    /// To the same pipe as its stdout, in the order of writing.
    Together,
}

/// Keeps other processes of the same user from reading this one: its memory, and its variables with the keys in them.
/// Root cannot be kept out this way. To be called first thing, before anything secret is read.
pub fn make_undumpable() -> std::io::Result<()> {
    platform::make_undumpable()
}
