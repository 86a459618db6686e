//! The program `posse`: who asks. Arguments in, one exit code out.

mod app;
mod cli;
mod error;
mod print;
mod service;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The one TLS provider of the process; a second call would find it installed, which is as good.
    drop(rustls::crypto::ring::default_provider().install_default());
    cli::main(std::env::args_os())
}
