//! The system prompt: the definition's own text verbatim, then marked blocks of their own.

use super::resolve::Surroundings;
use super::{Block, OutputContract};
use crate::definition::Definition;

/// A file that goes into the system prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path, as the model is told.
    pub path: String,
    /// Its text.
    pub text: String,
}

/// The blocks in the order in which they are sent.
pub(super) fn blocks(
    definition: &Definition,
    surroundings: &Surroundings<'_>,
    output: Option<&OutputContract>,
) -> Vec<Block> {
    let block = |name: &str, text: String| Block { name: name.to_owned(), text };
    let mut blocks = Vec::new();
    if !definition.prompt.trim().is_empty() {
        blocks.push(block("prompt", definition.prompt.clone()));
    }
    for file in &surroundings.context_files {
        let text =
            format!("<context-file path=\"{}\">\n{}\n</context-file>", file.path, file.text.trim_end());
        blocks.push(block("context-file", text));
    }
    if definition.environment != Some(false) {
        let directory = surroundings.workspace_shown.as_ref().unwrap_or(&surroundings.workspace);
        let text = format!(
            "<environment>\ndate: {}\nworking directory: {directory}\nplatform: {}\n</environment>",
            surroundings.date, surroundings.platform
        );
        blocks.push(block("environment", text));
    }
    if let Some(output) = output {
        let text = include_str!("output.md").trim_end().replace("{schema}", &output.schema.to_string());
        blocks.push(block("output", text));
    }
    blocks
}
