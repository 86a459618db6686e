//! Whether an isolation can be held here, found out by doing it. A refusal says why and what to do; never a weaker level.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::sync::OnceCell;

use super::{
    AsRoot, Command, Confinement, Exit, How, Input, Isolation, Network, Output, Processes, Program,
    environment, platform, sandbox,
};

/// How long the smallest command may take in a sandbox.
const TRIAL_LIMIT: Duration = Duration::from_secs(20);

/// An isolation that was seen to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proven {
    /// What is in force, for the plan and the events.
    pub in_force: String,
}

/// What was asked for is not to be had here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable {
    /// Why.
    pub reason: String,
    /// What to do.
    pub help: String,
}

impl Unavailable {
    pub(crate) fn new(reason: impl Into<String>, help: impl Into<String>) -> Unavailable {
        Unavailable { reason: reason.into(), help: help.into() }
    }
}

impl std::fmt::Display for Unavailable {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}; {}", self.reason, self.help)
    }
}

impl std::error::Error for Unavailable {}

/// What was found out about the isolations of this machine. One a process is enough: each is tried once.
#[derive(Debug)]
pub struct Probe {
    guard: PathBuf,
    online: OnceCell<Result<Proven, Unavailable>>,
    offline: OnceCell<Result<Proven, Unavailable>>,
}

impl Probe {
    /// Nothing is known yet. `guard` is the program that runs will have as their guard.
    pub fn new(guard: PathBuf) -> Probe {
        Probe { guard, online: OnceCell::new(), offline: OnceCell::new() }
    }

    /// Whether an isolation with a network can be held here.
    pub async fn prove(&self, isolation: Isolation, network: &Network) -> Result<Proven, Unavailable> {
        network_holdable(isolation, network)?;
        match isolation {
            Isolation::None => Ok(Proven { in_force: "none".to_owned() }),
            Isolation::Landlock(as_root) => landlock(as_root, network),
            // A list of hosts is the sandbox without a network: the proxy is outside.
            Isolation::Sandbox => match network {
                Network::Full => self.online.get_or_init(|| self.try_sandbox(Network::Full)).await.clone(),
                Network::None | Network::Hosts(_) => {
                    self.offline.get_or_init(|| self.try_sandbox(Network::None)).await.clone()
                }
            },
        }
    }

    /// The sandbox of a run, around a command that does nothing.
    async fn try_sandbox(&self, network: Network) -> Result<Proven, Unavailable> {
        platform::filters()
            .map_err(|reason| Unavailable::new(reason, "run Posse on Linux for `isolation: sandbox`"))?;
        if sandbox::program().is_none() {
            let help =
                "install it: `apt-get install bubblewrap`, `dnf install bubblewrap`, `pacman -S bubblewrap`";
            return Err(Unavailable::new("bubblewrap (`bwrap`) is not installed", help));
        }
        let failed = |error: std::io::Error| {
            Unavailable::new(format!("no directory to try in: {error}"), "free some space")
        };
        let directory = tempfile::tempdir().map_err(failed)?;
        let workspace = directory.path().canonicalize().map_err(failed)?;
        let in_force = match network {
            Network::Full => "bubblewrap, seccomp",
            Network::None | Network::Hosts(_) => "bubblewrap, seccomp, no network",
        };
        let tried = self.try_in(workspace, network).await;
        tried.map(|()| Proven { in_force: in_force.to_owned() }).map_err(|reason| {
            let help = what_to_do(&reason).to_owned();
            Unavailable { reason, help }
        })
    }

    async fn try_in(&self, workspace: PathBuf, network: Network) -> Result<(), String> {
        let confinement = Confinement {
            isolation: Isolation::Sandbox,
            network,
            scratch: workspace.clone(),
            workspace: workspace.clone(),
            readable: Vec::new(),
            writable: Vec::new(),
            variables: environment([], &[]),
        };
        let processes = Processes::new(confinement, self.guard.clone());
        let started = processes.start(Command {
            program: Program::Direct("true".into(), Vec::new()),
            cwd: workspace,
            variables: Vec::new(),
            input: Input::Empty,
            output: Output::Together,
            timeout: TRIAL_LIMIT,
            grace: Duration::ZERO,
        });
        let how = match started.await {
            Ok(mut running) => Ok(running.wait().await.how),
            Err(error) => Err(error.to_string()),
        };
        processes.close().await;
        match how? {
            How::Exited(Exit::Code(0)) => Ok(()),
            how => Err(format!("a command in the sandbox ends with {how:?}")),
        }
    }
}

/// Whether a confinement can be what it says, as far as that is known without trying.
pub(super) fn holdable(confinement: &Confinement) -> Result<(), Unavailable> {
    network_holdable(confinement.isolation, &confinement.network)?;
    match confinement.isolation {
        Isolation::None => return Ok(()),
        Isolation::Landlock(as_root) => landlock(as_root, &confinement.network).map(|_| ())?,
        Isolation::Sandbox => {}
    }
    let home =
        confinement.variables.iter().find(|(name, _)| name == "HOME").map(|(_, value)| Path::new(value));
    let workspace = &confinement.workspace;
    if workspace.parent().is_none() || home.is_some_and(|home| home.starts_with(workspace)) {
        let reason =
            format!("the workspace {} has the home directory in it, with its keys", workspace.display());
        return Err(Unavailable::new(reason, "run Posse in a directory of the project"));
    }
    Ok(())
}

fn network_holdable(isolation: Isolation, network: &Network) -> Result<(), Unavailable> {
    match (isolation, network) {
        (Isolation::None, Network::None | Network::Hosts(_)) => Err(Unavailable::new(
            "without an isolation the network cannot be held",
            "write `isolation: sandbox`, or `network: full`",
        )),
        (Isolation::Landlock(_), Network::Hosts(_)) => Err(Unavailable::new(
            "landlock cannot hold a list of hosts",
            "write `isolation: sandbox`, or `network: none`",
        )),
        (Isolation::None | Isolation::Landlock(_), Network::Full)
        | (Isolation::Landlock(_), Network::None)
        | (Isolation::Sandbox, _) => Ok(()),
    }
}

fn landlock(as_root: AsRoot, network: &Network) -> Result<Proven, Unavailable> {
    if rustix::process::geteuid().is_root() && as_root == AsRoot::Refused {
        return Err(Unavailable::new(
            "landlock does not hold root",
            "run Posse as another user, or write `isolation: sandbox`",
        ));
    }
    let level = platform::landlock_in_force().map_err(|reason| {
        Unavailable::new(reason, "write `isolation: sandbox`, or use Linux 6.2 or newer")
    })?;
    let sockets = if *network == Network::Full { "" } else { ", local sockets only" };
    Ok(Proven { in_force: format!("landlock {level}{sockets}") })
}

/// What bubblewrap complains about, and what helps.
fn what_to_do(reason: &str) -> &'static str {
    const HELP: &[(&str, &str)] = &[
        ("Unknown option", "install bubblewrap 0.8 or newer"),
        (
            "RTM_NEWADDR",
            "allow user namespaces for bwrap: an AppArmor profile (Ubuntu 24.04 and newer), or the seccomp profile of the container around Posse",
        ),
        (
            "namespace",
            "allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1`, an AppArmor profile for bwrap, or the seccomp profile of the container around Posse",
        ),
        ("uid map", "allow user namespaces for bwrap, for example with an AppArmor profile"),
        ("mount proc", "a container around Posse hides parts of /proc; run it with an unmasked one"),
    ];
    let known = HELP.iter().find(|(complaint, _)| reason.contains(complaint));
    known.map_or("`bwrap` must work for this user; see docs/isolation.md", |(_, help)| help)
}

#[cfg(test)]
mod tests {
    use super::what_to_do;

    #[test]
    fn what_bubblewrap_says_leads_to_what_helps() {
        for (said, helps) in [
            ("bwrap: Unknown option --disable-userns", "0.8"),
            ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"),
            ("bwrap: No permissions to create new namespace", "sysctl"),
            ("bwrap: setting up uid map: Permission denied", "AppArmor"),
            ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "unmasked"),
            ("anything else", "docs/isolation.md"),
        ] {
            assert!(what_to_do(said).contains(helps), "{said}: {}", what_to_do(said));
        }
    }
}
