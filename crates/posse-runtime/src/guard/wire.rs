//! What a guard and its keepers are told and what they answer. Both ends are one program of one version, so
//! nothing here is a promise to anybody else. No decisions.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// What the outer guard of a sandbox starts.
#[derive(Debug, Serialize, Deserialize)]
pub struct Hold {
    /// The words that start the sandbox, the program first.
    pub words: Vec<OsString>,
    /// Programs of the system call filter, each loaded by itself.
    pub filters: Vec<Vec<u8>>,
}

/// The first thing a guard says.
#[derive(Debug, Serialize, Deserialize)]
pub enum Greeting {
    /// Commands can be started; a listening socket comes along when one was asked for.
    Ready,
    /// It cannot do its work.
    Failed(String),
}

/// One command, as a keeper is told to start it. Its descriptors come along: stdin, stdout, stderr.
#[derive(Debug, Serialize, Deserialize)]
pub struct Order {
    /// A path, or a name to look for on the command's own `PATH`.
    pub program: OsString,
    /// What follows the program's name.
    pub arguments: Vec<OsString>,
    /// The directory it starts in.
    pub cwd: PathBuf,
    /// All of its variables.
    pub variables: Vec<(OsString, OsString)>,
    /// What Landlock holds it to.
    pub fence: Option<Fence>,
}

/// What a command may reach under Landlock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fence {
    /// Read and executed, with everything below.
    pub readable: Vec<PathBuf>,
    /// Read, executed and changed, with everything below.
    pub writable: Vec<PathBuf>,
    /// No sockets but local ones.
    pub offline: bool,
}

/// What a keeper is told while its command runs; a closed line means: kill everything at once.
#[derive(Debug, Serialize, Deserialize)]
pub enum Told {
    /// A polite signal, and after the grace one that cannot be ignored.
    Stop {
        /// How long the command may take to end by itself.
        grace_ms: u64,
    },
}

/// What a keeper says of its command.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// The command runs.
    Started,
    /// It does not, and why.
    NotStarted(String),
    /// It is over, with everything it had started.
    Ended {
        /// How the command itself ended.
        exit: Exit,
        /// How many processes it had left behind, which were killed.
        left: u32,
    },
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}
