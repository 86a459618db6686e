//! Keys and values of any dialect to the fields of a definition.
//!
//! Every value that is not taken leaves a diagnostic; a capability that is not taken refuses the file.

mod conflict;
mod rules;
mod settle;
mod tools;
mod words;

use std::collections::HashMap;

use serde_json::Value;

use super::dialect::{Dialect, closest_key, key_names, known_field};
use super::field::Field;
use super::node::{Entry, Node, NodeValue};
use super::source::Source;
use super::value::{amount, count, duration_ms, flag, names, text, word};
use super::{Budget, Definition, Model, PermissionMode, Visibility, server};
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::output::schema_problem;
use crate::text::{closest, first_hidden_character};
use words::{
    approval_mode, belongs_inside, env, expectation, mode, network, object, one_of, sandbox_mode, set,
    take_isolation, visibility,
};

/// The most diagnostics of one definition; further ones are counted.
pub(super) const DIAGNOSTICS_MAX: usize = 100;

/// A definition in the making.
pub(super) struct Normaliser<'a> {
    source: &'a Source,
    pub definition: Definition,
    pub diagnostics: Vec<Diagnostic>,
    /// True when the file must not be used.
    pub refused: bool,
    /// The prompt file that the keys name, for dialects that keep it apart.
    pub prompt_file: Option<(String, Span)>,
    /// The keys that mean nothing, in the author's order.
    unknown: Vec<String>,
    /// How many diagnostics were left out.
    pub unsaid: usize,
    said_error: bool,
    /// Where a missing prompt would belong.
    pub prompt_help: &'static str,
    /// Where the body begins, for pointing into the prompt.
    pub body: usize,
    /// Where the keys stand, for complaints about what is absent.
    pub head: Span,
}

impl<'a> Normaliser<'a> {
    pub(super) fn new(source: &'a Source, dialect: Dialect, head: Span) -> Normaliser<'a> {
        Normaliser {
            source,
            definition: Definition::new("", "", dialect),
            diagnostics: Vec::new(),
            refused: false,
            prompt_file: None,
            unknown: Vec::new(),
            unsaid: 0,
            said_error: false,
            prompt_help: "write the system prompt below the frontmatter",
            body: 0,
            head,
        }
    }

    /// Takes every entry; of keys that mean the same the dialect's own counts, then the last.
    pub(super) fn take(&mut self, entries: &[Entry]) {
        let dialect = self.definition.dialect;
        let fields: Vec<Option<Field>> = entries.iter().map(|entry| dialect.field(&entry.key)).collect();
        let rank = |index: usize| (dialect.own_field(&entries[index].key).is_some(), index);
        let mut winners: HashMap<Field, usize> = HashMap::new();
        for (index, field) in fields.iter().enumerate() {
            if let Some(field) = field {
                let winner = winners.entry(*field).or_insert(index);
                *winner = if rank(index) > rank(*winner) { index } else { *winner };
            }
        }
        let mut set_by: HashMap<Field, Field> = HashMap::new();
        self.unknown = entries
            .iter()
            .zip(&fields)
            .filter(|(_, field)| field.is_none())
            .map(|(entry, _)| entry.key.clone())
            .collect();
        for (index, entry) in entries.iter().enumerate() {
            match fields[index] {
                None => {}
                Some(Field::Unused | Field::UnusedText) => self.keep_unused(entry),
                Some(field) if winners[&field] != index => {
                    self.report_repeated(field, entry, &entries[winners[&field]]);
                }
                Some(field) => {
                    self.definition.lines.note(field, self.source.line(entry.key_span.start));
                    let before = self.slot_value(field);
                    self.take_field(field, entry);
                    let other = set_by.insert(field.slot(), field).is_some_and(|other| other != field);
                    if other && !before.is_null() && before != self.slot_value(field) {
                        self.report_conflict(field, entry);
                    }
                }
            }
        }
        // Last: whether a mistyped key matters depends on what the others set.
        for (entry, _) in entries.iter().zip(&fields).filter(|(_, field)| field.is_none()) {
            self.keep_unknown(entry);
        }
        self.judge_tools();
    }

    fn take_field(&mut self, field: Field, entry: &Entry) {
        let harmless = matches!(
            field,
            Field::PermissionMode
                | Field::Permissions
                | Field::OrderedPermissions
                | Field::Hooks
                | Field::McpServers
        );
        if entry.value.is_null()
            && harmless
            && self.unknown.iter().any(|key| belongs_inside(key, self.definition.dialect))
        {
            let message =
                format!("`{}` has no value, and keys that belong inside it stand beside it", entry.key);
            return self.refuse(Code::UnreadableCapability, message, entry.key_span);
        }
        if entry.value.is_null() && harmless {
            let message = format!("`{}` has no value", entry.key);
            let help = "remove the key or give it a value; without one nothing is granted by it";
            return self.say(Diagnostic::new(Code::BadValue, message).with_help(help), entry.key_span);
        }
        if field.is_capability() && entry.value.has_repeated_key() {
            let message = format!("`{}` has a key twice", entry.key);
            return self.refuse(Code::ConflictingKey, message, entry.value.span);
        }
        let taken = match field {
            Field::Name
            | Field::DisplayName
            | Field::Description
            | Field::Prompt
            | Field::Color
            | Field::InitialPrompt => self.take_text(field, entry),
            Field::SandboxMode
                if matches!(word(&entry.value).as_deref(), Some("dangerfullaccess" | "workspacewrite")) =>
            {
                self.keep_wider_sandbox(entry);
                true
            }
            Field::Tools | Field::DisallowedTools => self.take_tools(field, entry),
            Field::Permissions | Field::OrderedPermissions => self.take_permissions(field, entry),
            Field::PermissionMode
            | Field::ApprovalMode
            | Field::ReadOnly
            | Field::SandboxMode
            | Field::Isolation
            | Field::Sandbox
            | Field::Network
            | Field::Callers
            | Field::OnlyPerson
            | Field::Infer
            | Field::Delegates
            | Field::McpServers
            | Field::Hooks => self.take_grant(field, &entry.value),
            Field::Model | Field::ModelRole | Field::Effort => self.take_model(field, entry),
            Field::Timeout(_) | Field::MaxTurns | Field::Budget | Field::Output | Field::OutputSchema => {
                self.take_limit(field, &entry.value)
            }
            Field::Kind => self.take_kind(entry),
            Field::PromptFile => {
                self.prompt_file = text(&entry.value).map(|path| (path, entry.value.span));
                self.prompt_file.is_some()
            }
            other => self.take_setting(other, &entry.value),
        };
        if !taken {
            self.complain(field, entry);
        }
    }

    fn complain(&mut self, field: Field, entry: &Entry) {
        let found = match text(&entry.value) {
            Some(text) => format!("`{}`", crate::text::one_line(&text, 40)),
            None if entry.value.entries().is_some() => "this mapping".to_owned(),
            None => entry.value.kind_name().to_owned(),
        };
        let message = format!("`{}` takes {}, not {found}", entry.key, expectation(field));
        if field.is_capability() {
            self.refuse(Code::BadCapability, message, entry.value.span);
        } else if !entry.value.is_null() {
            let help = if field.is_text() {
                "write it as a text"
            } else {
                "correct it; until then the default counts"
            };
            self.say(Diagnostic::new(Code::BadValue, message).with_help(help), entry.value.span);
        }
    }

    fn take_text(&mut self, field: Field, entry: &Entry) -> bool {
        let Some(value) = text(&entry.value) else { return false };
        if let Some((_, character)) = first_hidden_character(&value) {
            let message = format!("`{}` has the hidden character U+{:04X}", entry.key, character as u32);
            self.say(
                Diagnostic::new(Code::HiddenCharacter, message).with_help("remove it"),
                entry.value.span,
            );
        }
        let slot = match field {
            Field::Name => {
                self.definition.name = value;
                return true;
            }
            Field::Prompt => {
                self.definition.prompt = super::read::prompt_text(&value);
                return true;
            }
            Field::DisplayName => &mut self.definition.display_name,
            Field::Description => &mut self.definition.description,
            Field::Color => &mut self.definition.color,
            _ => &mut self.definition.initial_prompt,
        };
        *slot = (!value.is_empty()).then_some(value);
        true
    }

    fn take_grant(&mut self, field: Field, node: &Node) -> bool {
        let definition = &mut self.definition;
        match field {
            Field::PermissionMode => set(&mut definition.permission_mode, word(node).and_then(|w| mode(&w))),
            Field::ApprovalMode => {
                set(&mut definition.permission_mode, word(node).and_then(|w| approval_mode(&w)))
            }
            Field::ReadOnly => match flag(node) {
                Some(true) => set(&mut definition.permission_mode, Some(PermissionMode::Plan)),
                other => other.is_some(),
            },
            Field::SandboxMode => {
                set(&mut definition.permission_mode, word(node).and_then(|w| sandbox_mode(&w)))
            }
            Field::Isolation | Field::Sandbox => take_isolation(definition, node),
            Field::Network => set(&mut definition.network, network(node)),
            Field::Callers => set(&mut definition.callers, names(node)),
            Field::OnlyPerson | Field::Infer => match flag(node) {
                Some(value) if value == (field == Field::OnlyPerson) => {
                    set(&mut definition.callers, Some(Vec::new()))
                }
                other => other.is_some(),
            },
            Field::Delegates => match flag(node) {
                Some(true) => set(&mut definition.delegates, Some(vec!["*".into()])),
                Some(false) => set(&mut definition.delegates, Some(Vec::new())),
                None => set(&mut definition.delegates, names(node)),
            },
            Field::McpServers => set(&mut definition.mcp_servers, server::servers(node)),
            Field::Hooks => set(&mut definition.hooks, server::hooks(node)),
            _ => false,
        }
    }

    fn take_model(&mut self, field: Field, entry: &Entry) -> bool {
        if field == Field::Effort {
            const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh", "max"];
            let effort = word(&entry.value)
                .filter(|word| EFFORTS.contains(&word.as_str()) || word.parse::<u32>().is_ok());
            return set(&mut self.definition.effort, effort);
        }
        let written = match &entry.value.value {
            NodeValue::List(models) => {
                if models.len() > 1 {
                    self.say(
                        Diagnostic::new(Code::ModelList, "the first of several models counts"),
                        entry.value.span,
                    );
                    self.definition.extra.insert("model".into(), entry.value.to_json());
                }
                models.first().and_then(text)
            }
            _ => text(&entry.value),
        };
        let Some(model) = written.as_deref().and_then(Model::parse) else { return false };
        // A role is only the default that a named model replaces.
        if field == Field::Model || self.definition.model.is_none() {
            self.definition.model = Some(model);
        }
        true
    }

    fn take_limit(&mut self, field: Field, node: &Node) -> bool {
        let definition = &mut self.definition;
        match field {
            Field::Timeout(unit) => set(&mut definition.timeout_ms, duration_ms(node, unit)),
            Field::MaxTurns => set(&mut definition.max_turns, count(node)),
            Field::Budget => match node.entries() {
                None => set(
                    &mut definition.budget,
                    amount(node).map(|usd| Budget { usd: Some(usd), tokens: None }),
                ),
                Some(entries) => {
                    let mut budget = Budget { usd: None, tokens: None };
                    let understood = entries.iter().all(|entry| match entry.key.as_str() {
                        "usd" => set(&mut budget.usd, amount(&entry.value)),
                        "tokens" => set(&mut budget.tokens, count(&entry.value)),
                        _ => false,
                    });
                    definition.budget = understood.then_some(budget);
                    understood
                }
            },
            Field::Output => node.entries().is_some_and(|entries| {
                entries.iter().all(|entry| match entry.key.as_str() {
                    "schema" => self.take_schema(&entry.value),
                    "retries" => {
                        let zero = entry.value.scalar().is_some_and(|scalar| scalar.text == "0");
                        let retries = if zero { Some(0) } else { count(&entry.value) };
                        set(&mut self.definition.output_retries, retries)
                    }
                    _ => false,
                })
            }),
            _ => self.take_schema(node),
        }
    }

    /// A schema, or the name of a file beside the definition that holds one.
    fn take_schema(&mut self, node: &Node) -> bool {
        let schema = object(node).or_else(|| text(node).filter(|file| !file.is_empty()).map(Value::from));
        if let Some(problem) = schema.as_ref().filter(|schema| schema.is_object()).and_then(schema_problem) {
            let message = format!("the output schema is not valid: {problem}");
            self.say(Diagnostic::new(Code::BadSchema, message), node.span);
        }
        set(&mut self.definition.output_schema, schema)
    }

    fn take_setting(&mut self, field: Field, node: &Node) -> bool {
        let definition = &mut self.definition;
        match field {
            Field::Skills => set(&mut definition.skills, names(node)),
            Field::Visibility => set(&mut definition.visibility, word(node).and_then(|w| visibility(&w))),
            Field::Hidden => match flag(node) {
                Some(true) => set(&mut definition.visibility, Some(Visibility::Internal)),
                other => other.is_some(),
            },
            Field::Enabled => set(&mut definition.enabled, flag(node)),
            Field::Disabled => set(&mut definition.enabled, flag(node).map(|disabled| !disabled)),
            Field::Session => set(&mut definition.session, flag(node)),
            Field::Memory => set(&mut definition.memory, one_of(node, &["user", "project", "local"])),
            Field::Findings => set(&mut definition.findings, flag(node)),
            Field::Engine => set(&mut definition.engine, text(node).filter(|engine| !engine.is_empty())),
            Field::Workspace => set(&mut definition.workspace, one_of(node, &["shared", "worktree"])),
            Field::Env => set(&mut definition.env, env(node)),
            Field::ContextFiles => match flag(node) {
                Some(value) => set(&mut definition.context_files, Some(value.into())),
                None => set(&mut definition.context_files, names(node).map(Into::into)),
            },
            Field::Background => set(&mut definition.background, flag(node)),
            Field::Environment => set(&mut definition.environment, flag(node)),
            _ => false,
        }
    }

    fn take_kind(&mut self, entry: &Entry) -> bool {
        match word(&entry.value).as_deref() {
            Some("local") => true,
            Some("remote") => {
                let help = "Posse runs agents itself; remove `kind: remote` and give the agent a prompt";
                self.say(
                    Diagnostic::new(Code::RemoteAgent, "the agent runs elsewhere").with_help(help),
                    entry.value.span,
                );
                true
            }
            _ => {
                self.keep_unused(entry);
                true
            }
        }
    }

    /// Codex itself lets a role only take rights away, so this is no grant.
    fn keep_wider_sandbox(&mut self, entry: &Entry) {
        self.definition.extra.insert(entry.key.clone(), entry.value.to_json());
        let message = format!("`{}` gives no rights here", entry.key);
        let help = "write `permissionMode` in a definition of your own if that is meant";
        self.say(Diagnostic::new(Code::BadValue, message).with_help(help), entry.value.span);
    }

    fn keep_unused(&mut self, entry: &Entry) {
        // A key that means something in Posse's own form must not come to mean it when the definition is written.
        let dialect = self.definition.dialect;
        let means_more =
            !matches!(Dialect::Posse.field(&entry.key), Some(Field::Unused | Field::UnusedText) | None);
        let key = if means_more { format!("{}.{}", dialect.as_str(), entry.key) } else { entry.key.clone() };
        self.definition.extra.insert(key, entry.value.to_json());
        let message = format!("`{}` is read by other tools and has no effect here", entry.key);
        self.say(Diagnostic::new(Code::UnusedKey, message), entry.key_span);
    }

    /// The key that was probably meant; the number of keys that are looked up is bounded.
    fn meant_by(&self, key: &str) -> Option<&'static str> {
        const LOOKED_UP_MAX: usize = 1000;
        let position = self.unknown.iter().position(|unknown| unknown == key).unwrap_or(0);
        if position >= LOOKED_UP_MAX || key.len() > 40 {
            return None;
        }
        // `1. tools` and `// tools` are that key with something before it.
        let bare = key.trim_matches(|c: char| !c.is_alphabetic());
        if bare != key && known_field(bare).is_some() {
            return closest_key(bare);
        }
        closest(key, key_names(self.definition.dialect)).or_else(|| closest_key(key))
    }

    fn keep_unknown(&mut self, entry: &Entry) {
        if entry.key == "<<" {
            return self.refuse(
                Code::UnreadableCapability,
                "merged keys are not read".into(),
                entry.key_span,
            );
        }
        self.definition.extra.insert(entry.key.clone(), entry.value.to_json());
        let dialect = self.definition.dialect;
        let mut diagnostic = Diagnostic::new(Code::UnknownKey, format!("unknown key `{}`", entry.key));
        if let Some(meant) = self.meant_by(&entry.key) {
            diagnostic = diagnostic.with_help(format!("did you mean `{meant}`?"));
            if let Some(field) = dialect.field(meant).filter(|field| field.is_capability()) {
                // Without the key that was meant the agent would have more than its author wrote.
                diagnostic.severity = if self.is_set(field) { Severity::Warning } else { Severity::Error };
            }
        }
        self.say(diagnostic, entry.key_span);
    }

    pub(super) fn say(&mut self, mut diagnostic: Diagnostic, span: Span) {
        // What a hostile file can make us say is bounded; that it was refused is always said.
        let can_wait = self.said_error || !diagnostic.is_error();
        if can_wait && self.diagnostics.len() >= DIAGNOSTICS_MAX {
            self.unsaid += 1;
            return;
        }
        self.said_error |= diagnostic.is_error();
        diagnostic.place = Some(self.source.place(span));
        self.diagnostics.push(diagnostic);
    }

    fn refuse(&mut self, code: Code, message: String, span: Span) {
        let help = "correct it; guessing could give the agent more than its author wrote";
        self.refuse_with(Diagnostic::new(code, message).with_help(help), span);
    }

    pub(super) fn refuse_with(&mut self, diagnostic: Diagnostic, span: Span) {
        self.refused = true;
        self.say(diagnostic.with_severity(Severity::Error), span);
    }
}
