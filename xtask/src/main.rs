//! Chores of the project: `cargo xtask check`, `bench`, `fuzz`.
//!
//! Plain processes, no dependencies: building this must never be what takes long.
#![expect(clippy::print_stderr, reason = "a chore talks to whoever started it")]

mod fuzz;

use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask <check | bench | fuzz>

  check                     fmt, clippy, tests, docs, dependencies
  bench                     speed, as ratios against a bare baseline of the same run
  fuzz [TARGET] [--seconds N]   feed the parsers mutated seeds; 10 seconds each unless told";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["check"] => check(),
        ["bench", rest @ ..] => {
            run("cargo", &[&["bench", "--package", "posse", "--package", "posse-runtime"], rest].concat())
        }
        ["fuzz", rest @ ..] => fuzz::run(rest),
        _ => Err(USAGE.to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Everything that must hold before a commit.
fn check() -> Result<(), String> {
    run("cargo", &["fmt", "--all", "--check"])?;
    run("cargo", &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])?;
    tool("nextest", "cargo install --locked cargo-nextest")?;
    run("cargo", &["nextest", "run", "--workspace"])?;
    run_with("cargo", &["doc", "--workspace", "--no-deps"], &[("RUSTDOCFLAGS", "-D warnings")])?;
    tool("deny", "cargo install --locked cargo-deny")?;
    // Advisories need a database that is fetched with git; `cargo deny check advisories` asks for it.
    run("cargo", &["deny", "check", "licenses", "bans", "sources"])
}

/// Fails with how to get a cargo subcommand that is not there.
fn tool(name: &str, install: &str) -> Result<(), String> {
    let found =
        Command::new("cargo").args([name, "--version"]).output().is_ok_and(|output| output.status.success());
    if found { Ok(()) } else { Err(format!("cargo-{name} is not installed; get it with `{install}`")) }
}

pub(crate) fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    run_with(program, arguments, &[])
}

pub(crate) fn run_with(program: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Result<(), String> {
    let shown = format!("{program} {}", arguments.join(" "));
    eprintln!("$ {shown}");
    let status = Command::new(program).args(arguments).envs(variables.iter().copied()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` failed: {status}")),
        Err(error) => Err(format!("`{shown}` did not start: {error}")),
    }
}
