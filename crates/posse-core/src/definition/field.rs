//! What a key of a definition is about, whatever a dialect calls it.

/// The unit of a bare number in a duration.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Thousandths of a second.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Minutes.
    Minutes,
}

/// What a key is about, and in which shape a dialect writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each variant is the key of the same name")]
pub enum Field {
    Name,
    DisplayName,
    Description,
    Prompt,
    Tools,
    DisallowedTools,
    Model,
    ModelRole,
    Effort,
    PermissionMode,
    /// Qwen's `approvalMode`, with words of its own.
    ApprovalMode,
    /// Cursor's `readonly`: true is the mode `plan`.
    ReadOnly,
    /// Codex's `sandbox_mode`, as the permission mode that allows as much.
    SandboxMode,
    Permissions,
    /// OpenCode's `permission`: a map in which the last match wins.
    OrderedPermissions,
    Skills,
    Hooks,
    McpServers,
    Color,
    Visibility,
    /// True is the visibility `internal`.
    Hidden,
    Enabled,
    /// True is `enabled: false`.
    Disabled,
    Session,
    Memory,
    Callers,
    /// Copilot's `disable-model-invocation`: true lets only a person call the agent.
    OnlyPerson,
    /// Copilot's retired `infer`: false lets only a person call the agent.
    Infer,
    Delegates,
    MaxTurns,
    Timeout(Unit),
    Budget,
    Output,
    OutputSchema,
    Findings,
    Engine,
    Isolation,
    Sandbox,
    Workspace,
    Network,
    Env,
    ContextFiles,
    Background,
    Environment,
    InitialPrompt,
    /// Gemini's `kind`: `remote` cannot be run.
    Kind,
    /// Netclaw's name for the file that holds the prompt.
    PromptFile,
    /// Another tool's key that is free text; kept.
    UnusedText,
    /// Another tool's key; kept.
    Unused,
}

impl Field {
    /// True when leaving the key out could give the agent more than its author wrote.
    pub fn is_capability(self) -> bool {
        matches!(
            self,
            Field::Tools
                | Field::DisallowedTools
                | Field::PermissionMode
                | Field::ApprovalMode
                | Field::ReadOnly
                | Field::SandboxMode
                | Field::Permissions
                | Field::OrderedPermissions
                | Field::Hooks
                | Field::McpServers
                | Field::Callers
                | Field::OnlyPerson
                | Field::Infer
                | Field::Delegates
                | Field::Isolation
                | Field::Workspace
                | Field::Budget
                | Field::Sandbox
                | Field::Network
                | Field::Enabled
                | Field::Disabled
        )
    }

    /// The field that stands for all keys which set the same part of a definition.
    pub fn slot(self) -> Field {
        match self {
            Field::ApprovalMode | Field::ReadOnly | Field::SandboxMode => Field::PermissionMode,
            Field::OrderedPermissions => Field::Permissions,
            Field::Disabled => Field::Enabled,
            Field::OnlyPerson | Field::Infer => Field::Callers,
            Field::Hidden => Field::Visibility,
            Field::Sandbox | Field::Workspace => Field::Isolation,
            Field::Timeout(_) => Field::Timeout(Unit::Seconds),
            Field::OutputSchema => Field::Output,
            other => other,
        }
    }

    /// True when the value is one text, so that broken YAML can be taken literally.
    pub fn is_text(self) -> bool {
        matches!(
            self,
            Field::Name
                | Field::DisplayName
                | Field::Description
                | Field::Prompt
                | Field::Model
                | Field::Color
                | Field::InitialPrompt
                | Field::UnusedText
        )
    }

    /// True when ` #` in an unquoted value is far more likely text than a comment.
    pub fn keeps_hash(self) -> bool {
        matches!(self, Field::DisplayName | Field::Description | Field::InitialPrompt | Field::UnusedText)
    }
}
