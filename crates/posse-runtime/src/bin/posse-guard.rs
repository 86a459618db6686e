//! The guard as a program of its own, for programs that use the library and do not want to start themselves again. It
//! does nothing but what `guard::main` does.

use std::process::ExitCode;

fn main() -> ExitCode {
    posse_runtime::guard::main(std::env::args_os()).unwrap_or(ExitCode::FAILURE)
}
