//! `posse man`: manual pages.

use crate::error::{CommandError, Kind};
use crate::print::{Level, Printer};

/// Print a manual page
///
/// For example: `posse man | man -l -`, or `posse man check > posse-check.1`
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The command; without one, the page of the program
    command: Option<String>,
}

pub fn run(options: &Options) -> Result<u8, CommandError> {
    let mut program = super::command();
    program.build();
    let page = match &options.command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            CommandError::new(Kind::Usage, format!("there is no command `{name}`"))
                .with_help("`posse --help` lists the commands")
        })?,
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page).render(&mut text)?;
    Printer { level: Level::Normal, json: false, places: None }.raw(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
