//! A command that runs: its pipes, its end. It does not know how the guard that keeps it was started.

use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout, timeout_at};

use super::line::Line;
use crate::guard::wire::{Exit, Report, Told};

/// How long a keeper may take to kill everything and say so; beyond this something hangs in the kernel.
const KILL_LIMIT: Duration = Duration::from_secs(15);

/// A command that runs. Dropping it kills the command and everything that came of it.
#[derive(Debug)]
pub struct Running {
    /// What it reads, if it was to have something to read.
    pub stdin: Option<pipe::Sender>,
    /// What it writes; to be taken out and read while waiting.
    pub stdout: Option<pipe::Receiver>,
    /// What it writes as errors, if that is apart.
    pub stderr: Option<pipe::Receiver>,
    pub(super) line: Line,
    pub(super) deadline: Instant,
    pub(super) grace: Duration,
    /// What its keeper said last, for whoever asks again.
    pub(super) ended: Option<Ended>,
}

/// How a command ended. Nothing that it started is alive then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: How,
    /// How many processes it had left behind when it ended by itself; they were killed.
    pub left: u32,
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum How {
    /// With a code or by a signal.
    Exited(Exit),
    /// Its time was over, and it was stopped.
    TimedOut(Exit),
    /// Its keeper or the guard ended before it, and it with them.
    Lost(String),
}

impl Running {
    /// Waits until the command has ended; past its timeout it is stopped. Total, and may be given up and called again.
    /// Its output must be read meanwhile: a full pipe holds it up.
    pub async fn wait(&mut self) -> Ended {
        match timeout_at(self.deadline, self.report()).await {
            Ok(ended) => ended,
            Err(_) => {
                let ended = self.stop(self.grace).await;
                match ended.how {
                    How::Exited(exit) => Ended { how: How::TimedOut(exit), ..ended },
                    How::TimedOut(_) | How::Lost(_) => ended,
                }
            }
        }
    }

    /// Asks the command, and everything that came of it, to end; kills what is left after the grace.
    pub async fn stop(&mut self, grace: Duration) -> Ended {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        // One that has ended cannot be told, and has already said how.
        drop(timeout(KILL_LIMIT, self.line.send(&Told::Stop { grace_ms }, &[])).await);
        let limit = grace.saturating_add(KILL_LIMIT);
        timeout(limit, self.report()).await.unwrap_or_else(|_| lost("it cannot be killed"))
    }

    async fn report(&mut self) -> Ended {
        if let Some(ended) = &self.ended {
            return ended.clone();
        }
        let ended = match self.line.receive::<Report>().await {
            Ok(Some(Report::Ended { exit, left })) => Ended { how: How::Exited(exit), left },
            Ok(Some(Report::Started | Report::NotStarted(_))) => lost("its keeper talks nonsense"),
            Ok(None) => lost("its keeper was killed"),
            Err(error) => lost(&format!("its keeper: {error}")),
        };
        self.ended.insert(ended).clone()
    }
}

fn lost(why: &str) -> Ended {
    Ended { how: How::Lost(why.to_owned()), left: 0 }
}
