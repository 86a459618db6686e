//! Tools a model may call: the seam, and the table of those there are.
//!
//! A tool that fails gives a result the model can act on; it never fails the run. Whether a call is
//! allowed is not decided here.

mod attach_file;
mod base64;
mod blocking;
mod bound;
mod change;
mod diff;
mod edit;
mod glob;
mod grep;
mod held;
mod input;
mod kind;
mod ls;
mod multi_edit;
mod near;
mod notebook_edit;
mod path;
mod read;
mod seen;
mod todo_write;
mod touch;
mod tree;
mod web_fetch;
mod web_search;
mod write;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use posse_core::event::Attachment;
use posse_core::message::{Media, ToolSpec};
use serde_json::Value;

pub use held::Held;
pub use near::is_near;
pub use seen::Seen;
pub use touch::Touch;
pub use web_search::{Endpoint, EngineKind, WebSearch};

/// The tools there are, in the order in which a model is told about them.
pub const AVAILABLE: &[&str] = &["Read", "Glob", "Grep", "LS", "TodoWrite", "AttachFile"];

/// The tools that change something, in the order in which a model is told about them. They are made and can be
/// found by name, and are offered to no run until rules are held call by call.
pub const EFFECTFUL: &[&str] = &["Write", "Edit", "MultiEdit", "NotebookEdit"];

/// The tools that reach out of this machine. Like the others, they wait for rules: one that allows a single host must
/// not become every host.
pub const REACHING: &[&str] = &["WebFetch"];

/// The most bytes of a result where nothing else is said.
pub const OUTPUT_BYTES_MAX_DEFAULT: usize = 30_000;

/// Every tool, in the order of [`AVAILABLE`], [`EFFECTFUL`] and [`REACHING`].
static BUILTIN: [&dyn Tool; 11] = [
    &read::TOOL,
    &glob::TOOL,
    &grep::TOOL,
    &ls::TOOL,
    &todo_write::TOOL,
    &attach_file::TOOL,
    &write::TOOL,
    &edit::TOOL,
    &multi_edit::TOOL,
    &notebook_edit::TOOL,
    &web_fetch::TOOL,
];

/// Whether a call changes anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only looks: it may run beside others, and again after a crash.
    ReadOnly,
    /// It may change something: never begun twice.
    Effectful,
}

/// What a tool answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolOutput {
    /// What the model reads.
    pub text: String,
    /// True when the call did not do what was asked.
    pub is_error: bool,
    /// What was changed in a file, as a unified diff within a limit.
    pub diff: Option<String>,
    /// Files for the caller of the run.
    pub attachments: Vec<Attachment>,
    /// What the model looks at besides.
    pub media: Vec<Media>,
}

/// Where a call happens and what bounds it.
#[derive(Debug, Clone)]
pub struct ToolContext {
    /// The directory that the run works in, without symbolic links.
    pub workspace: PathBuf,
    /// The same directory as the model knows it; it differs when a recorded run is replayed elsewhere.
    pub workspace_shown: PathBuf,
    /// True when the workspace is on a disk of this machine, so that a small file needs no thread of its own.
    pub is_near: bool,
    /// The most bytes of a result.
    pub output_bytes_max: usize,
    /// What rules keep from it.
    pub held: Arc<Held>,
    /// What this run has read and written, which is what it may replace.
    pub seen: Arc<Seen>,
    /// True when the model can be shown pictures and documents.
    pub takes_media: bool,
    /// Hosts that may be fetched from although they are not on the public internet, as they stand in a URL.
    pub private_hosts: Arc<[String]>,
}

/// A future that a tool is done with later.
pub type Calling<'a> = Pin<Box<dyn Future<Output = ToolOutput> + Send + 'a>>;

/// One tool.
pub trait Tool: Send + Sync {
    /// How a model is told about it.
    fn spec(&self) -> &ToolSpec;

    /// Whether a call changes anything.
    fn effect(&self) -> Effect;

    /// What a call would look at, change or fetch, for whoever decides whether it may.
    fn touches(&self, _input: &Value, _context: &ToolContext) -> Vec<Touch> {
        Vec::new()
    }

    /// Carries out a call whose input fits the schema.
    fn call<'a>(&'a self, input: &'a Value, context: &'a ToolContext) -> Calling<'a>;
}

/// The tool of that canonical name.
pub fn builtin(name: &str) -> Option<&'static dyn Tool> {
    BUILTIN.iter().copied().find(|tool| tool.spec().name == name)
}

impl ToolOutput {
    /// What was asked for.
    pub fn ok(text: impl Into<String>) -> ToolOutput {
        ToolOutput { text: text.into(), ..ToolOutput::default() }
    }

    /// Why it was not done, and what to do instead.
    pub fn error(text: impl Into<String>) -> ToolOutput {
        ToolOutput { text: text.into(), is_error: true, ..ToolOutput::default() }
    }
}
