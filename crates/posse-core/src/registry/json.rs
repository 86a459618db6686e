//! The registry as the JSON that programs rely on.

use serde_json::{Map, Value, json};

use super::{Absence, Entry, Registry};
use crate::definition::{Definition, Visibility};
use crate::diagnostic::Diagnostic;

impl Registry {
    /// One element of `list --json`.
    pub fn list_json(&self, entry: &Entry) -> Value {
        let problems: Vec<Value> = entry.problems.iter().map(Diagnostic::to_json).collect();
        let Some(definition) = entry.definition() else {
            return json!({
                "name": entry.slug,
                "path": entry.found.path,
                "scope": entry.found.scope.as_str(),
                "dialect": entry.dialect().as_str(),
                "runnable": false,
                "trusted": entry.found.trusted,
                "state": entry.absence().map(Absence::as_str),
                "problems": problems,
            });
        };
        let shadows: Vec<Value> = entry.shadows.iter().map(|index| shadowed(self.entry(*index))).collect();
        let tools = definition
            .tools
            .as_ref()
            .map(|tools| tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>());
        json!({
            "name": entry.slug,
            "display_name": definition.shown_name(),
            "description": definition.description,
            "scope": entry.found.scope.as_str(),
            "dialect": definition.dialect.as_str(),
            "path": entry.found.path,
            "model": definition.model.as_ref().map(|model| &model.written),
            "engine": definition.engine,
            "tools": tools,
            "visibility": definition.visibility.unwrap_or(Visibility::UserFacing).as_str(),
            "enabled": definition.enabled.unwrap_or(true),
            "runnable": entry.is_runnable(),
            "trusted": entry.found.trusted,
            "state": entry.absence().map_or("current", Absence::as_str),
            "shadows": shadows,
            "problems": problems,
        })
    }
}

fn shadowed(entry: &Entry) -> Value {
    json!({ "scope": entry.found.scope.as_str(), "path": entry.found.path })
}

impl Entry {
    /// What `show --json` prints of it, if it was loaded.
    pub fn show_json(&self) -> Option<Value> {
        let mut json = show_json(self.definition()?, self.found.path.as_deref(), &self.problems);
        json.insert("scope".into(), self.found.scope.as_str().into());
        json.insert("runnable".into(), self.is_runnable().into());
        json.insert("trusted".into(), self.found.trusted.into());
        Some(Value::Object(json))
    }
}

/// What `show --json` prints of a definition that is in no registry; its scope is null.
pub fn show_json(definition: &Definition, path: Option<&str>, problems: &[Diagnostic]) -> Map<String, Value> {
    let Value::Object(mut json) = definition.to_json() else { unreachable!("a definition is an object") };
    json.insert("scope".into(), Value::Null);
    json.insert("dialect".into(), definition.dialect.as_str().into());
    json.insert("path".into(), path.into());
    json.insert("problems".into(), problems.iter().map(Diagnostic::to_json).collect());
    json
}
