//! `posse completions`: words a shell can complete.

use clap_complete::Shell;

use crate::error::CommandError;
use crate::print::{Level, Printer};

/// Print a completion script for a shell
///
/// Write it where your shell looks: for bash `~/.local/share/bash-completion/completions/posse`, for fish
/// `~/.config/fish/completions/posse.fish`, for zsh a file `_posse` in a directory of `$fpath`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

pub fn run(options: &Options) -> Result<u8, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut super::command(), "posse", &mut script);
    Printer { level: Level::Normal, json: false, places: None }.raw(&String::from_utf8_lossy(&script))?;
    Ok(0)
}
