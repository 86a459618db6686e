//! A program that Posse itself needs the answer of, such as git: started directly, with limits, and not confined. Nothing
//! that an agent chose comes here but names of branches and directories.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};

use super::Variable;

/// As much of a program's output as is kept.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// What a program answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Captured {
    /// True when it ended with code 0.
    pub succeeded: bool,
    /// What it wrote, without the space around it.
    pub stdout: String,
    /// What it complained about, without the space around it.
    pub stderr: String,
}

/// Runs a program to its end; it is killed when that takes too long.
pub(crate) async fn capture(
    words: &[&OsStr],
    cwd: &Path,
    variables: &[Variable],
    limit: Duration,
) -> Result<Captured, String> {
    let (program, arguments) = words.split_first().expect("a program is named");
    let failed = |error: std::io::Error| format!("cannot run {}: {error}", program.display());
    let mut child = tokio::process::Command::new(program)
        .args(arguments)
        .current_dir(cwd)
        .env_clear()
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let all = async { tokio::join!(read(stdout), read(stderr), child.wait()) };
    let Ok((stdout, stderr, status)) = tokio::time::timeout(limit, all).await else {
        return Err(format!("{} took longer than {} s", program.display(), limit.as_secs()));
    };
    Ok(Captured { succeeded: status.map_err(failed)?.success(), stdout, stderr })
}

/// Reads to the end and keeps what fits: a program whose pipe is full would never end.
async fn read(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut pipe) = pipe else { return String::new() };
    let mut bytes = Vec::new();
    // What was read before an error is what there is.
    drop((&mut pipe).take(OUTPUT_BYTES_MAX).read_to_end(&mut bytes).await);
    drop(tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await);
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
