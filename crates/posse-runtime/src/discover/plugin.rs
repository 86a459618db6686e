//! Where the plugins of Claude Code are.

use std::path::{Path, PathBuf};

use posse_core::diagnostic::{Code, Diagnostic};

use crate::file::read_regular;

/// The directories of the plugins that Claude Code has installed, as its own record lists them.
///
/// Without readable settings nobody can say which plugins are switched off, so none is read.
pub(super) fn directories(claude: &Path, project: &[&Path]) -> Result<Vec<PathBuf>, Diagnostic> {
    let installed = read_json(&claude.join("plugins/installed_plugins.json"))?;
    let Some(plugins) = installed["plugins"].as_object() else { return Ok(Vec::new()) };
    let settings = read_json(&claude.join("settings.json"))?;
    let mut directories = Vec::new();
    for (name, record) in plugins {
        if settings["enabledPlugins"][name] == false {
            continue;
        }
        let records = record.as_array().cloned().unwrap_or_else(|| vec![record.clone()]);
        // A plugin that was installed for one project is nobody else's.
        let is_here = |record: &&serde_json::Value| {
            record["projectPath"].as_str().is_none_or(|path| project.contains(&Path::new(path)))
        };
        let here = records.iter().filter(is_here);
        directories.extend(here.filter_map(|record| record["installPath"].as_str()).map(PathBuf::from));
    }
    Ok(directories)
}

/// A JSON file of another tool; one that is not there is null.
fn read_json(path: &Path) -> Result<serde_json::Value, Diagnostic> {
    if std::fs::symlink_metadata(path).is_err() {
        return Ok(serde_json::Value::Null);
    }
    serde_json::from_slice(&read_regular(path)?).map_err(|error| {
        let message = format!("not valid JSON: {error}; no plugin was read");
        Diagnostic::new(Code::BrokenJson, message).at_path(path.display().to_string())
    })
}
