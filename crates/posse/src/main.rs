//! The program `posse`: who asks. Arguments in, one exit code out.

mod app;
mod cli;
mod error;
mod print;
mod service;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = posse_runtime::guard::main(std::env::args_os()) {
        return code;
    }
    // Keys are among our variables, and what we start must not read them. A system that cannot do this has no
    // isolation either, and says so when one is asked for.
    posse_runtime::child::make_undumpable().ok();
    cli::main(std::env::args_os())
}
