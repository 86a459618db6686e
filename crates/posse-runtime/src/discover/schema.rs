//! Output schemas that a definition keeps in a file beside it.

use std::path::{Component, Path};

use posse_core::definition::read::{Reading, Verdict};
use posse_core::diagnostic::{Code, Diagnostic};
use posse_core::output::schema_problem;
use serde_json::Value;

use crate::file::read_regular;

/// Puts the schemas that are named by a file in the place of their names; gives the bytes that were read.
pub(super) fn load(path: &Path, readings: &mut [Reading]) -> Vec<Vec<u8>> {
    let mut read = Vec::new();
    for reading in readings {
        let Verdict::Agent(definition) = &mut reading.verdict else { continue };
        let Some(Value::String(name)) = &definition.output_schema else { continue };
        match schema_beside(path, name) {
            Ok((bytes, schema)) => {
                // An entry is trusted by its own text: what it takes from elsewhere belongs to it.
                if let Some(entry) = &mut reading.entry {
                    entry.push_str(&schema.to_string());
                }
                read.push(bytes);
                definition.output_schema = Some(schema);
            }
            Err(problem) => {
                let message = format!("the output schema `{name}` {problem}");
                let help = "name a JSON file beside the definition, or write the schema in its place";
                let diagnostic = Diagnostic::new(Code::BadSchema, message).with_help(help);
                reading.diagnostics.push(diagnostic.at_path(path.display().to_string()));
            }
        }
    }
    read
}

fn schema_beside(path: &Path, name: &str) -> Result<(Vec<u8>, Value), String> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let is_below =
        Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let file = directory.join(name);
    let real = file.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    let home = directory.canonicalize().map_err(|error| format!("cannot be read: {error}"))?;
    if !is_below || !real.starts_with(home) {
        return Err("lies outside the directory of the definition".to_owned());
    }
    let bytes = read_regular(&real).map_err(|problem| problem.message)?;
    let schema: Value = serde_json::from_slice(&bytes).map_err(|error| format!("is not JSON: {error}"))?;
    match schema_problem(&schema) {
        Some(problem) => Err(format!("is not valid: {problem}")),
        None => Ok((bytes, schema)),
    }
}
