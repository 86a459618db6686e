//! Factory droids: `.factory/droids`, close to Claude Code.

use super::{Defaults, Identity, Table};
use crate::definition::field::Field;

pub(super) const TABLE: Table = Table {
    identity: Identity::KeyOrStem,
    description_required: true,
    colon_in_name: true,
    underscore_joins_server: false,
    defaults: Defaults::NONE,
    keys: &[
        ("name", Field::Name),
        ("description", Field::Description),
        ("model", Field::Model),
        ("tools", Field::Tools),
        ("reasoningEffort", Field::Effort),
        ("version", Field::UnusedText),
        ("location", Field::Unused),
        ("createdAt", Field::Unused),
        ("updatedAt", Field::Unused),
    ],
    signature: &[],
    tools: &[
        ("ApplyPatch", &["Edit", "Write"]),
        ("Create", &["Write"]),
        ("Execute", &["Bash"]),
        ("FetchUrl", &["WebFetch"]),
        ("Task", &["Agent"]),
        ("edit", &["Edit", "MultiEdit", "Write"]),
        ("execute", &["Bash"]),
        ("read-only", &["Read", "LS", "Grep", "Glob"]),
        ("web", &["WebSearch", "WebFetch"]),
    ],
    foreign_tools: &["AskUser", "ExitSpecMode", "GenerateDroid", "mcp"],
};
