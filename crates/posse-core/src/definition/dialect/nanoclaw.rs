//! NanoClaw: `agents.json`, an object from names to definitions, for a group and for all groups.

use super::{Defaults, Identity, Table};
use crate::definition::field::Field;

pub(super) const TABLE: Table = Table {
    identity: Identity::Key,
    description_required: true,
    colon_in_name: true,
    underscore_joins_server: false,
    defaults: Defaults::NONE,
    keys: &[
        ("description", Field::Description),
        ("prompt", Field::Prompt),
        ("tools", Field::Tools),
        ("model", Field::Model),
    ],
    signature: &[],
    tools: &[("Task", &["Agent"]), ("TaskOutput", &["BashOutput"]), ("TaskStop", &["KillShell"])],
    foreign_tools: &[
        "SendMessage",
        "TeamCreate",
        "TeamDelete",
        "ToolSearch",
        "cancel_task",
        "define_agent",
        "list_agents",
        "list_tasks",
        "pause_task",
        "register_group",
        "remove_agent",
        "resume_task",
        "schedule_task",
        "send_message",
        "update_task",
    ],
};
