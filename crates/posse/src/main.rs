//! The program `posse`: who asks. Arguments in, one exit code out.

mod app;
mod cli;
mod error;
mod print;
mod service;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(std::env::args_os())
}
