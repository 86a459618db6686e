//! The outer guard of a sandbox: starts it once for a run, says why when that fails, and kills it when Posse is gone.
//! Commands never pass here; the guard inside takes them.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags};
use rustix::io::{FdFlags, fcntl_setfd};

use crate::child::platform;
use crate::guard::below::kill_below;
use crate::guard::keep::wait_on;
use crate::guard::line::{receive, send};
use crate::guard::wire::{Greeting, Hold};

/// As much of what the sandbox complains about as is told.
const COMPLAINT_BYTES_MAX: usize = 4 << 10;
/// How often the guard looks again although nothing happened.
const TICK: Duration = Duration::from_secs(1);

/// Holds the sandbox until it ends or the line is closed; then nothing below is alive.
pub fn hold(control: &UnixStream) -> io::Result<()> {
    platform::become_subreaper()?;
    let Some((wanted, _)) = receive::<Hold>(control)? else { return Ok(()) };
    let (complaints, theirs) = io::pipe()?;
    let sandbox = start(&wanted, theirs.into());
    let complaint = match sandbox {
        Ok(mut sandbox) => watch(control, &mut sandbox, complaints)?,
        Err(error) => format!("cannot start the sandbox: {error}"),
    };
    kill_below(None);
    // After a greeting nobody reads this: the line that ends says enough.
    drop(send(control, &Greeting::Failed(complaint), &[]));
    Ok(())
}

fn start(wanted: &Hold, complaints: OwnedFd) -> io::Result<Child> {
    let (program, arguments) = wanted.words.split_first().ok_or_else(|| io::Error::other("no sandbox"))?;
    let mut filters: Vec<OwnedFd> = Vec::new();
    let mut command = Command::new(program);
    for filter in &wanted.filters {
        let filter = readable(filter)?;
        command.arg("--add-seccomp-fd").arg(OsString::from(filter.as_raw_fd().to_string()));
        filters.push(filter);
    }
    // The line is its stdin: the guard inside answers Posse directly.
    command.args(arguments).env_clear().stdout(Stdio::null()).stderr(Stdio::from(complaints));
    let child = command.spawn();
    drop(filters);
    child
}

/// A descriptor that the sandbox inherits and reads to its end. A filter is far smaller than what a pipe holds.
fn readable(bytes: &[u8]) -> io::Result<OwnedFd> {
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(bytes)?;
    fcntl_setfd(&reader, FdFlags::empty())?;
    Ok(reader.into())
}

/// Returns what the sandbox complained about, once it or Posse is gone.
fn watch(control: &UnixStream, sandbox: &mut Child, mut complaints: io::PipeReader) -> io::Result<String> {
    let mut said = Vec::new();
    loop {
        let mut sources = [PollFd::new(control, PollFlags::empty()), PollFd::new(&complaints, PollFlags::IN)];
        wait_on(&mut sources, TICK)?;
        let [posse, sandbox_says] = sources.map(|source| source.revents());
        if posse.intersects(PollFlags::HUP | PollFlags::ERR) {
            sandbox.kill()?;
            return Ok(String::new());
        }
        if !sandbox_says.is_empty() {
            let mut bytes = [0; 1024];
            let read = complaints.read(&mut bytes)?;
            if read == 0 {
                // The sandbox had it open as long as it lived.
                let status = sandbox.wait()?;
                let said = String::from_utf8_lossy(&said).trim().to_owned();
                return Ok(if said.is_empty() { format!("the sandbox ended: {status}") } else { said });
            }
            said.extend_from_slice(
                &bytes[..read.min(COMPLAINT_BYTES_MAX - said.len().min(COMPLAINT_BYTES_MAX))],
            );
        }
    }
}
