//! `posse init`: three agents to start from, and a commented configuration.

use std::path::{Path, PathBuf};

use posse_runtime::builtin::{BUILTINS, CONFIG};
use posse_runtime::trust::Item;
use posse_runtime::{Trust, write_atomically};
use serde_json::json;

use crate::app::App;
use crate::error::{CommandError, Kind};
use crate::print::{DIM, GREEN, styled};

/// Write three agents to start from and a commented configuration
///
/// Into `.posse` of the working directory, where they are trusted as written, or with --user into your own
/// configuration. Files that are already there are kept.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Write into your own configuration instead of the project
    #[arg(long)]
    user: bool,
    /// Overwrite files that are already there
    #[arg(long)]
    force: bool,
}

pub fn run(app: &App, options: &Options) -> Result<u8, CommandError> {
    let directory = target(app, options)?;
    let starters = BUILTINS.iter().filter(|builtin| builtin.starter);
    let files: Vec<(PathBuf, &str)> = starters
        .map(|builtin| (directory.join("agents").join(builtin.file), builtin.text))
        .chain(std::iter::once((directory.join("config.toml"), CONFIG)))
        .collect();
    let (kept, written): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|(path, _)| !options.force && path.symlink_metadata().is_ok());
    for (path, text) in &written {
        write_atomically(path, text.as_bytes())
            .map_err(|error| CommandError::new(Kind::Internal, format!("{}: {error}", path.display())))?;
    }
    if !options.user && !written.is_empty() {
        let items: Vec<Item> =
            written.iter().map(|(path, text)| Item::new(path, None, text.as_bytes())).collect();
        Trust::record(app.state()?, &items)?;
    }
    report(app, &written, &kept)
}

fn target(app: &App, options: &Options) -> Result<PathBuf, CommandError> {
    if !options.user {
        app.state()?;
        if app.places.home.as_deref() == Some(app.places.cwd.as_path()) {
            return Err(CommandError::new(Kind::Usage, "the home directory is not a project")
                .with_help("`posse init --user` writes agents that are yours in every project"));
        }
        return Ok(app.places.cwd.join(".posse"));
    }
    app.places.posse_config.clone().ok_or_else(|| {
        CommandError::new(Kind::Usage, "there is no home directory")
            .with_help("set HOME or POSSE_HOME to an absolute path")
    })
}

fn report(app: &App, written: &[(PathBuf, &str)], kept: &[(PathBuf, &str)]) -> Result<u8, CommandError> {
    if app.printer.json {
        let paths = |files: &[(PathBuf, &str)]| {
            files.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>()
        };
        app.printer.json(&json!({"written": paths(written), "kept": paths(kept)}))?;
        return Ok(0);
    }
    let shown = |path: &Path| app.places.shown(path);
    let mut text = String::new();
    for (path, _) in written {
        text += &format!("{} {}\n", styled(GREEN, "wrote"), shown(path));
    }
    for (path, _) in kept {
        text += &format!(
            "{} {} {}\n",
            styled(DIM, "kept "),
            shown(path),
            styled(DIM, "(already there; --force overwrites)")
        );
    }
    app.printer.text(&text)?;
    if written.is_empty() {
        return Ok(0);
    }
    app.printer.hint("next: `posse list` shows your agents, `posse show NAME` one of them; edit the files, then `posse check`")?;
    Ok(0)
}
