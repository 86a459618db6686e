//! Keys that stand twice, under two spellings, or against each other.

use serde_json::Value;

use super::Normaliser;
use crate::definition::field::Field;
use crate::definition::node::Entry;
use crate::definition::{PermissionMode, Visibility, permissions_json};
use crate::diagnostic::{Code, Diagnostic};

impl Normaliser<'_> {
    pub(super) fn report_repeated(&mut self, field: Field, entry: &Entry, winner: &Entry) {
        if field.is_capability() && winner.value.to_json() != entry.value.to_json() {
            let message = if entry.key == winner.key {
                format!("`{}` stands twice with different values", entry.key)
            } else {
                format!("`{}` and `{}` mean the same and have different values", entry.key, winner.key)
            };
            self.refuse(Code::ConflictingKey, message, winner.key_span);
        } else {
            let message = if entry.key == winner.key {
                format!("`{}` stands twice; this one does not count", entry.key)
            } else {
                format!("`{}` means the same as `{}`, which counts", entry.key, winner.key)
            };
            self.say(
                Diagnostic::new(Code::DuplicateKey, message).with_help("remove one of the two"),
                entry.key_span,
            );
        }
    }

    /// Two keys that set the same thing must not disagree about it.
    pub(super) fn report_conflict(&mut self, field: Field, entry: &Entry) {
        let message = format!("`{}` contradicts another key that sets the same", entry.key);
        if field.is_capability() {
            self.refuse(Code::ConflictingKey, message, entry.key_span);
        } else {
            let help = "remove one of the two; this one counts";
            self.say(Diagnostic::new(Code::DuplicateKey, message).with_help(help), entry.key_span);
        }
    }

    /// True when something has set what this field is about.
    pub(super) fn is_set(&self, field: Field) -> bool {
        let definition = &self.definition;
        match field.slot() {
            Field::Tools => definition.tools.is_some(),
            Field::DisallowedTools => definition.disallowed_tools.is_some(),
            Field::Hooks => definition.hooks.is_some(),
            Field::McpServers => definition.mcp_servers.is_some(),
            Field::Delegates => definition.delegates.is_some(),
            Field::Network => definition.network.is_some(),
            Field::Budget => definition.budget.is_some(),
            Field::Isolation => definition.isolation.is_some(),
            _ => !self.slot_value(field).is_null(),
        }
    }

    /// What a field's slot holds, for telling whether two keys disagree.
    pub(super) fn slot_value(&self, field: Field) -> Value {
        let definition = &self.definition;
        match field.slot() {
            Field::PermissionMode => definition.permission_mode.map(PermissionMode::as_str).into(),
            Field::Permissions => definition.permissions.as_ref().map_or(Value::Null, permissions_json),
            Field::Enabled => definition.enabled.into(),
            Field::Callers => definition.callers.clone().into(),
            Field::Visibility => definition.visibility.map(Visibility::as_str).into(),
            // `isolation: worktree` names a workspace; the other levels say nothing about it.
            Field::Isolation => definition.workspace.clone().into(),
            Field::Timeout(_) => definition.timeout_ms.into(),
            Field::Output => definition.output_schema.clone().into(),
            _ => Value::Null,
        }
    }
}
