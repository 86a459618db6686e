//! Jarvis: `agents/<name>/agent.md`. The folder is the identity.

use super::{Defaults, Identity, Table};
use crate::definition::field::{Field, Unit};

pub(super) const TABLE: Table = Table {
    identity: Identity::Folder,
    description_required: true,
    colon_in_name: true,
    underscore_joins_server: false,
    defaults: Defaults::NONE,
    keys: &[
        ("name", Field::Name),
        ("description", Field::Description),
        ("session", Field::Session),
        ("allowed_callers", Field::Callers),
        ("timeout_ms", Field::Timeout(Unit::Milliseconds)),
        ("permissions", Field::Permissions),
        ("mcp_servers", Field::McpServers),
        ("output_format", Field::Unused),
        ("output_schema", Field::OutputSchema),
    ],
    signature: &["allowed_callers", "timeout_ms", "output_schema", "output_format"],
    tools: &[("Task", &["Agent"]), ("run_subagent", &["Agent"])],
    foreign_tools: &[],
};
