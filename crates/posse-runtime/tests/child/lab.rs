//! A place to try commands in: a workspace, a directory beside it, a home with a key. No assertions about isolation.

use std::ffi::OsString;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use posse_runtime::child::{
    AsRoot, Command, Confinement, Ended, Input, Isolation, Network, Output, Probe, Processes, Program,
    environment,
};
use tokio::io::AsyncReadExt;

/// Longer than anything here takes on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(60);
pub const LANDLOCK: Isolation = Isolation::Landlock(AsRoot::Accepted);
pub const SECRET: &str = "a-key-that-nobody-may-read";

/// The guard, or a copy of it for a user who cannot reach the original.
pub fn guard_program() -> PathBuf {
    std::env::var_os("POSSE_TEST_GUARD")
        .map_or_else(|| env!("CARGO_BIN_EXE_posse-guard").into(), PathBuf::from)
}

pub struct Lab {
    _directory: tempfile::TempDir,
    pub workspace: PathBuf,
    /// Visible to commands, and not theirs to change.
    pub outside: PathBuf,
    /// Not visible to commands.
    pub home: PathBuf,
    pub scratch: PathBuf,
}

pub fn lab() -> Lab {
    let directory = tempfile::tempdir().expect("a directory");
    let root = directory.path().canonicalize().expect("a path");
    let made = |name: &str| {
        let path = root.join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        path
    };
    let (workspace, outside, home, scratch) = (made("work"), made("outside"), made("home"), made("scratch"));
    made("home/.ssh");
    std::fs::write(home.join(".ssh/id"), SECRET).expect("a file");
    std::fs::write(outside.join("file"), "as it was\n").expect("a file");
    std::fs::set_permissions(outside.join("file"), Permissions::from_mode(0o644)).expect("rights");
    Lab { _directory: directory, workspace, outside, home, scratch }
}

impl Lab {
    pub fn confinement(&self, isolation: Isolation, network: Network) -> Confinement {
        let home = (OsString::from("HOME"), self.home.clone().into());
        Confinement {
            isolation,
            network,
            workspace: self.workspace.clone(),
            scratch: self.scratch.clone(),
            readable: vec![self.outside.clone()],
            writable: Vec::new(),
            variables: environment([], &[home]),
        }
    }

    pub fn processes(&self, isolation: Isolation, network: Network) -> Processes {
        Processes::new(self.confinement(isolation, network), guard_program())
    }

    pub fn shell(&self, text: &str) -> Command {
        shell(&self.workspace, text)
    }
}

pub fn shell(cwd: &Path, text: &str) -> Command {
    Command {
        program: Program::Shell(text.to_owned()),
        cwd: cwd.to_owned(),
        variables: Vec::new(),
        input: Input::Empty,
        output: Output::Together,
        timeout: LIMIT,
        grace: Duration::from_secs(1),
    }
}

/// Runs a command to its end.
pub async fn run(processes: &Processes, command: Command) -> (Ended, Vec<u8>) {
    let mut running = processes.start(command).await.expect("it starts");
    let mut bytes = Vec::new();
    let mut stdout = running.stdout.take().expect("a pipe");
    let (ended, read) = tokio::join!(running.wait(), stdout.read_to_end(&mut bytes));
    read.expect("it is read");
    (ended, bytes)
}

/// False, with the reason printed, where there is no sandbox.
#[expect(clippy::print_stderr, reason = "a test that is skipped says why")]
pub async fn can(isolation: Isolation) -> bool {
    match Probe::new(guard_program()).prove(isolation, &Network::None).await {
        Ok(_) => true,
        Err(refused) => {
            assert!(std::env::var_os("POSSE_NO_SKIP").is_none_or(|value| value != "1"), "{refused}");
            eprintln!("skipped: {refused}");
            false
        }
    }
}

/// Runs one of these tests in a process of its own, as a user without any rights: nobody, or whoever this is if not root.
pub fn as_nobody(test: &str) {
    // In a place that everybody can reach.
    let directory = tempfile::tempdir_in("/tmp").expect("a directory");
    std::fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).expect("rights");
    let copy = |from: &Path, name: &str| {
        let path = directory.path().join(name);
        std::fs::copy(from, &path).expect("a copy");
        path
    };
    let suite = copy(&std::env::current_exe().expect("a path"), "suite");
    let guard = copy(&guard_program(), "guard");
    let mut process = if rustix::process::geteuid().is_root() {
        let mut process = std::process::Command::new("setpriv");
        process.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(suite);
        process
    } else {
        std::process::Command::new(suite)
    };
    let output = process
        .args([test, "--exact", "--nocapture"])
        .current_dir("/")
        .env("POSSE_TEST_GUARD", guard)
        .env("POSSE_TEST_ALONE", "1")
        .env("TMPDIR", "/tmp")
        .env_remove("UPDATE_EXPECT")
        .output()
        .expect("it starts");
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
