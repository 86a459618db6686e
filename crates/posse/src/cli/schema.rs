//! `posse schema`: JSON Schemas for editors.

use clap::ValueEnum;
use posse_core::schema;

use crate::error::CommandError;
use crate::print::{Level, Printer};

/// Print the JSON Schema of what people write, for their editors
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Which schema
    #[arg(value_enum, default_value = "frontmatter")]
    of: Subject,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Subject {
    /// The keys of an agent's Markdown file
    Frontmatter,
    /// The file `agents.json`, and `--agents`
    #[value(name = "agents.json", alias = "agents")]
    AgentsJson,
}

pub fn run(options: &Options) -> Result<u8, CommandError> {
    let schema = match options.of {
        Subject::Frontmatter => schema::frontmatter(),
        Subject::AgentsJson => schema::agents_json(),
    };
    Printer { level: Level::Normal, json: true, places: None }.json(&schema)?;
    Ok(0)
}
