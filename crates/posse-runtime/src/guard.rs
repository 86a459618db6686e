//! The guard: the small process between Posse and a run's processes. It reaps, confines, and kills everything when it is
//! told to or when Posse is gone, however Posse went.
//!
//! A guard is this program again, with [`WORD`] as its first argument: a thread, no runtime, no settings. Its parts:
//! *serve* starts a keeper for every command; *keep* has one command and everything that comes of it; *hold* stands
//! outside a sandbox while *serve* or *listen* is the first process inside; *confine* becomes a command under Landlock.
//! Every part ends when its line, a socket that it has as stdin, is closed. What a command may do is decided in `child`.

mod below;
mod confine;
mod hold;
mod keep;
pub(crate) mod line;
mod serve;
pub(crate) mod wire;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::child::platform;

/// The first argument that makes a program a guard.
pub const WORD: &str = "__guard";

/// Where the proxy listens inside a sandbox. Nothing else is in that network.
pub(crate) const PROXY_PORT: u16 = 3128;

/// What a shell returns for a program that it could not start.
const CANNOT_START: u8 = 127;

/// What a guard process does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    Serve,
    Listen,
    Hold,
    Keep,
    Confine,
}

impl Part {
    const ALL: [Part; 5] = [Part::Serve, Part::Listen, Part::Hold, Part::Keep, Part::Confine];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Part::Serve => "serve",
            Part::Listen => "listen",
            Part::Hold => "hold",
            Part::Keep => "keep",
            Part::Confine => "confine",
        }
    }
}

/// Is the guard, if the arguments (the program's name first) say so. A program that starts commands calls this before
/// anything else, and ends with the code it gets.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Option<ExitCode> {
    let mut words = arguments.into_iter().skip(1);
    if words.next()? != WORD {
        return None;
    }
    let part = words.next().and_then(|word| Part::ALL.into_iter().find(|part| word == part.as_str()));
    Some(match part {
        Some(Part::Confine) => complain(&confine::confine(words), CANNOT_START),
        Some(part) => be(part),
        None => ExitCode::FAILURE,
    })
}

fn be(part: Part) -> ExitCode {
    let done = platform::make_undumpable().and_then(|()| keep::line_at_stdin()).and_then(|line| match part {
        Part::Serve => serve::serve(&line),
        Part::Listen => serve::listen(&line),
        Part::Hold => hold::hold(&line),
        Part::Keep => keep::keep(line),
        Part::Confine => Ok(()),
    });
    done.map_or_else(|error| complain(&error, 1), |()| ExitCode::SUCCESS)
}

/// On the stderr of the command, for whoever reads its output; inside a sandbox, for the guard outside.
#[expect(clippy::print_stderr, reason = "this process has no other way to say it")]
fn complain(error: &std::io::Error, code: u8) -> ExitCode {
    eprintln!("posse: {error}");
    ExitCode::from(code)
}
