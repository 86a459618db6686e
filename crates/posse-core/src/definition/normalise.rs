//! Keys and values of any dialect to the fields of a definition.
//!
//! Every value that is not taken leaves a diagnostic; a capability that is not taken refuses the file.

use super::dialect::{Dialect, Identity, key_names};
use super::field::Field;
use super::node::{Entry, Node, NodeValue, ScalarKind};
use super::source::Source;
use super::tool::{Resolved, ToolClass, ToolName, resolve, suggest};
use super::value::{amount, count, duration_ms, flag, names, split_names, text, word};
use super::{Budget, Definition, Model, PermissionMode, Permissions, Visibility, permission, server};
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::text::{closest, first_hidden_character};

/// A definition in the making.
pub(super) struct Normaliser<'a> {
    source: &'a Source,
    pub definition: Definition,
    pub diagnostics: Vec<Diagnostic>,
    /// True when the file must not be used.
    pub refused: bool,
    /// The prompt file that the keys name, for dialects that keep it apart.
    pub prompt_file: Option<(String, Span)>,
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
            head,
        }
    }

    /// Takes every entry; of keys that mean the same the dialect's own counts, then the last.
    pub(super) fn take(&mut self, entries: &[Entry]) {
        for (index, entry) in entries.iter().enumerate() {
            let Some(field) = self.definition.dialect.field(&entry.key) else {
                self.keep_unknown(entry);
                continue;
            };
            if !self.is_repeated(entries, index, field) {
                self.take_field(field, entry);
            }
        }
        self.judge_tools();
    }

    /// True when a later or better entry stands for the same field; says so.
    fn is_repeated(&mut self, entries: &[Entry], index: usize, field: Field) -> bool {
        let dialect = self.definition.dialect;
        let entry = &entries[index];
        if matches!(field, Field::Unused | Field::UnusedText) {
            return false;
        }
        let own = |entry: &Entry| dialect.own_field(&entry.key).is_some();
        let rank = |index: usize| (own(&entries[index]), index);
        let rival = entries
            .iter()
            .enumerate()
            .filter(|(other, _)| rank(*other) > rank(index))
            .find(|(_, other)| dialect.field(&other.key) == Some(field));
        let Some((_, rival)) = rival else { return false };
        let same_value = rival.value.to_json() == entry.value.to_json();
        if field.is_capability() && own(rival) == own(entry) && !same_value {
            let message = format!("`{}` stands twice with different values", entry.key);
            self.refuse(Code::ConflictingKey, message, rival.key_span);
        } else {
            let message = format!("`{}` stands twice; this one does not count", entry.key);
            self.say(
                Diagnostic::new(Code::DuplicateKey, message).with_help("remove one of the two"),
                entry.key_span,
            );
        }
        true
    }

    fn take_field(&mut self, field: Field, entry: &Entry) {
        let taken = match field {
            Field::Name
            | Field::DisplayName
            | Field::Description
            | Field::Prompt
            | Field::Color
            | Field::InitialPrompt => self.take_text(field, entry),
            Field::Tools | Field::DisallowedTools => self.take_tools(field, entry),
            Field::Permissions | Field::OrderedPermissions => self.take_permissions(field, entry),
            Field::PermissionMode
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
            Field::Unused | Field::UnusedText => {
                self.keep_unused(entry);
                true
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
            None => entry.value.kind_name().to_owned(),
        };
        let message = format!("`{}` takes {}, not {found}", entry.key, expectation(field));
        if field.is_capability() {
            self.refuse(Code::BadCapability, message, entry.value.span);
        } else if !entry.value.is_null() {
            let help = "correct it; until then the default counts";
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
                self.definition.prompt = value;
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

    fn take_tools(&mut self, field: Field, entry: &Entry) -> bool {
        let mut list = Vec::new();
        match &entry.value.value {
            NodeValue::Scalar(scalar) => match scalar.kind {
                ScalarKind::Null => {
                    if field == Field::Tools {
                        let message = format!("`{}` has no value; it was read as no tools", entry.key);
                        let help = "write `tools: []`, or remove the key to leave the tools unrestricted";
                        self.say(Diagnostic::new(Code::EmptyTools, message).with_help(help), entry.key_span);
                    }
                }
                ScalarKind::Bool(false) => {}
                ScalarKind::Bool(true) | ScalarKind::Number => return false,
                ScalarKind::Text => {
                    let base = self.text_start(&entry.value);
                    for (at, name) in split_names(&scalar.text) {
                        let span = base
                            .map_or(entry.value.span, |base| Span::new(base + at, base + at + name.len()));
                        self.add_tool(name, span, field, &mut list);
                    }
                }
            },
            NodeValue::List(elements) => {
                for element in elements {
                    let Some(name) = text(element) else { return false };
                    self.add_tool(&name, element.span, field, &mut list);
                }
            }
            NodeValue::Map(entries) => return field == Field::Tools && self.take_tool_map(entries),
        }
        self.set_tools(field, list);
        true
    }

    /// Where a one-line text begins in the source, so that its parts can be pointed at.
    fn text_start(&self, node: &Node) -> Option<usize> {
        let scalar = node.scalar()?;
        let written = &self.source.text()[node.span.start..node.span.end];
        written.find(&scalar.text).map(|at| node.span.start + at)
    }

    /// OpenCode's map: what is true is offered, what is false is not.
    fn take_tool_map(&mut self, entries: &[Entry]) -> bool {
        let mut offered = Vec::new();
        let mut withheld = Vec::new();
        let mut closed = false;
        for entry in entries {
            let allowed = match text(&entry.value).map(|word| word.to_lowercase()).as_deref() {
                Some("true" | "allow" | "ask") => true,
                Some("false" | "deny") => false,
                _ => return false,
            };
            match (entry.key.as_str(), allowed) {
                ("*", false) => closed = true,
                (name, true) => self.add_tool(name, entry.key_span, Field::Tools, &mut offered),
                (name, false) => self.add_tool(name, entry.key_span, Field::DisallowedTools, &mut withheld),
            }
        }
        if closed || !offered.is_empty() {
            self.set_tools(Field::Tools, offered);
        }
        if !withheld.is_empty() {
            self.set_tools(Field::DisallowedTools, withheld);
        }
        true
    }

    fn set_tools(&mut self, field: Field, list: Vec<ToolName>) {
        match field {
            Field::Tools => self.definition.tools = Some(list),
            _ => self.definition.disallowed_tools = Some(list),
        }
    }

    /// Adds what one written name stands for; a pattern becomes a rule.
    fn add_tool(&mut self, written: &str, span: Span, field: Field, list: &mut Vec<ToolName>) {
        let written = written.trim_matches(['"', '\'', '`', ' ']);
        let (name, pattern) = match written.split_once('(') {
            Some((name, rest)) if rest.ends_with(')') => (name.trim(), Some(&rest[..rest.len() - 1])),
            _ => (written, None),
        };
        let dialect = self.definition.dialect;
        let resolved = resolve(name, dialect);
        if let (Some(pattern), Resolved::Known([tool, ..])) = (pattern, &resolved) {
            let rules = self.definition.permissions.get_or_insert_default();
            let rule = format!("{tool}({pattern})");
            if field == Field::DisallowedTools {
                rules.deny.push(rule);
                return;
            }
            rules.allow.push(rule);
        }
        let found: Vec<(String, ToolClass)> = match resolved {
            Resolved::Known(canonical) => {
                canonical.iter().map(|tool| ((*tool).to_owned(), ToolClass::Known)).collect()
            }
            Resolved::Other(class, name) => vec![(name, class)],
        };
        for (name, class) in found {
            self.report_tool(&name, class, span, field);
            if !list.iter().any(|tool| tool.name == name) {
                list.push(ToolName { name, class, span });
            }
        }
    }

    fn report_tool(&mut self, name: &str, class: ToolClass, span: Span, field: Field) {
        let diagnostic = match class {
            ToolClass::Known | ToolClass::Mcp | ToolClass::Wildcard => return,
            ToolClass::Foreign if field == Field::DisallowedTools => return,
            ToolClass::Foreign => Diagnostic::new(
                Code::ForeignTool,
                format!("tool `{name}` does not exist here; the agent runs without it"),
            ),
            ToolClass::Unknown => {
                let help = match suggest(name, self.definition.dialect) {
                    Some(suggestion) => format!("did you mean `{suggestion}`?"),
                    None => "remove it, or write `mcp__SERVER__TOOL` for a tool of an MCP server".to_owned(),
                };
                Diagnostic::new(Code::UnknownTool, format!("tool `{name}` is not known")).with_help(help)
            }
        };
        self.say(diagnostic, span);
    }

    /// A list of tools none of which exists must not run as an agent without tools.
    fn judge_tools(&mut self) {
        let Some(tools) = self.definition.tools.as_ref().filter(|tools| !tools.is_empty()) else { return };
        let usable =
            |tool: &ToolName| matches!(tool.class, ToolClass::Known | ToolClass::Mcp | ToolClass::Wildcard);
        if !tools.iter().any(usable) {
            let span = tools[0].span;
            let help = "list tools that exist here, or write `tools: []` for an agent without tools";
            self.say(
                Diagnostic::new(Code::NoUsableTool, "none of the listed tools exists here").with_help(help),
                span,
            );
        }
    }

    fn take_permissions(&mut self, field: Field, entry: &Entry) -> bool {
        let read = if field == Field::Permissions { permission::lists(&entry.value) } else { None };
        let permissions = match read {
            Some(permissions) => permissions,
            None => {
                let Some(ordered) = permission::ordered(&entry.value) else { return false };
                if ordered.order_lost {
                    let message = format!("`{}` depends on the order of its rules", entry.key);
                    let help = "the stricter reading was taken; write the rules as allow, ask and deny";
                    self.say(Diagnostic::new(Code::OrderedRules, message).with_help(help), entry.key_span);
                }
                ordered.permissions
            }
        };
        let rules = self.definition.permissions.get_or_insert_default();
        let Permissions { allow, ask, deny, otherwise } = permissions;
        rules.allow.extend(allow);
        rules.ask.extend(ask);
        rules.deny.extend(deny);
        rules.otherwise.extend(otherwise);
        true
    }

    fn take_grant(&mut self, field: Field, node: &Node) -> bool {
        let definition = &mut self.definition;
        match field {
            Field::PermissionMode => set(&mut definition.permission_mode, word(node).and_then(|w| mode(&w))),
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
            Field::Delegates => match node.scalar().map(|scalar| scalar.kind) {
                Some(ScalarKind::Bool(true)) => set(&mut definition.delegates, Some(vec!["*".into()])),
                Some(ScalarKind::Bool(false)) => set(&mut definition.delegates, Some(Vec::new())),
                _ => set(&mut definition.delegates, names(node)),
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
                    self.definition.extra.insert(entry.key.clone(), entry.value.to_json());
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
                    definition.budget = (budget.usd.is_some() || budget.tokens.is_some()).then_some(budget);
                    understood
                }
            },
            Field::Output => node.entries().is_some_and(|entries| {
                entries.iter().all(|entry| match entry.key.as_str() {
                    "schema" => set(&mut definition.output_schema, object(&entry.value)),
                    "retries" => {
                        let zero = entry.value.scalar().is_some_and(|scalar| scalar.text == "0");
                        set(&mut definition.output_retries, if zero { Some(0) } else { count(&entry.value) })
                    }
                    _ => false,
                })
            }),
            _ => set(&mut definition.output_schema, object(node)),
        }
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

    fn keep_unused(&mut self, entry: &Entry) {
        self.definition.extra.insert(entry.key.clone(), entry.value.to_json());
        let message = format!("`{}` is read by other tools and has no effect here", entry.key);
        self.say(Diagnostic::new(Code::UnusedKey, message), entry.key_span);
    }

    fn keep_unknown(&mut self, entry: &Entry) {
        self.definition.extra.insert(entry.key.clone(), entry.value.to_json());
        let dialect = self.definition.dialect;
        let mut diagnostic = Diagnostic::new(Code::UnknownKey, format!("unknown key `{}`", entry.key));
        if let Some(meant) = closest(&entry.key, key_names(dialect)) {
            diagnostic = diagnostic.with_help(format!("did you mean `{meant}`?"));
            if dialect.field(meant).is_some_and(Field::is_capability) {
                diagnostic.severity = Severity::Warning;
            }
        }
        self.say(diagnostic, entry.key_span);
    }

    /// Settles the name, description and prompt once every key is known.
    pub(super) fn settle(&mut self, stem: &str, folder: Option<&str>) {
        let table = self.definition.dialect.table();
        match table.identity {
            Identity::Folder => self.settle_folder(folder.unwrap_or(stem)),
            Identity::KeyOrStem if self.definition.name.is_empty() => {
                stem.clone_into(&mut self.definition.name)
            }
            Identity::Key | Identity::KeyOrStem => {}
        }
        self.judge_name(stem);
        if self.definition.description.is_none() {
            let help = "say in `description` when to delegate to this agent";
            let mut diagnostic =
                Diagnostic::new(Code::MissingDescription, "the agent has no description").with_help(help);
            if table.description_required {
                self.refused = true;
            } else {
                diagnostic.severity = Severity::Warning;
            }
            self.say(diagnostic, self.head);
        }
        self.judge_prompt();
    }

    fn settle_folder(&mut self, folder: &str) {
        let written = std::mem::replace(&mut self.definition.name, folder.to_owned());
        if !written.is_empty() && super::slug(&written) != super::slug(folder) {
            let message = format!("the name `{written}` differs from the folder `{folder}`, which counts");
            self.say(
                Diagnostic::new(Code::NameMismatch, message).with_help(format!("write `name: {folder}`")),
                self.head,
            );
        }
    }

    fn judge_name(&mut self, stem: &str) {
        let name = &self.definition.name;
        let slug = super::slug(name);
        if name.is_empty() {
            let help = format!("add `name: {}`", super::slug(stem));
            let message = "the agent has no name";
            self.refused = true;
            self.say(Diagnostic::new(Code::MissingName, message).with_help(help), self.head);
            return;
        }
        let wrong = if slug == "main" || slug == "cli" {
            "is reserved"
        } else if name.starts_with('-') {
            "starts with a dash"
        } else if name.contains(':') && self.definition.dialect == Dialect::Claude {
            "contains a colon"
        } else if !slug.contains(|c: char| c.is_ascii_alphanumeric()) {
            "has no letter or digit of a-z, 0-9"
        } else {
            return;
        };
        let message = format!("the name `{}` {wrong}", crate::text::visible(name));
        self.refuse_with(Diagnostic::new(Code::BadName, message).with_help("choose another name"), self.head);
    }

    fn judge_prompt(&mut self) {
        let prompt = &self.definition.prompt;
        if prompt.is_empty() {
            let help = "write the system prompt below the frontmatter";
            let diagnostic = Diagnostic::new(Code::EmptyPrompt, "the agent has no prompt").with_help(help);
            return self.refuse_with(diagnostic, self.head);
        }
        if let Some((_, character)) = first_hidden_character(prompt) {
            let message = format!("the prompt has the hidden character U+{:04X}", character as u32);
            let span = self
                .source
                .text()
                .find(character)
                .map_or(self.head, |at| Span::new(at, at + character.len_utf8()));
            self.say(
                Diagnostic::new(Code::HiddenCharacter, message)
                    .with_help("remove it, if the language does not need it"),
                span,
            );
        }
    }

    pub(super) fn say(&mut self, mut diagnostic: Diagnostic, span: Span) {
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

/// Stores a value that was understood; false when there is none.
fn set<T>(slot: &mut Option<T>, value: Option<T>) -> bool {
    let understood = value.is_some();
    if understood {
        *slot = value;
    }
    understood
}

fn take_isolation(definition: &mut Definition, node: &Node) -> bool {
    match word(node).as_deref() {
        Some("worktree") => set(&mut definition.workspace, Some("worktree".to_owned())),
        Some(level @ ("none" | "landlock" | "sandbox" | "container")) => {
            set(&mut definition.isolation, Some(level.to_owned()))
        }
        Some("true") => set(&mut definition.isolation, Some("sandbox".to_owned())),
        Some("false") => set(&mut definition.isolation, Some("none".to_owned())),
        _ => false,
    }
}

fn mode(word: &str) -> Option<PermissionMode> {
    Some(match word {
        "default" | "manual" | "bubble" => PermissionMode::Default,
        "acceptedits" | "autoedit" => PermissionMode::AcceptEdits,
        "auto" => PermissionMode::Auto,
        "dontask" => PermissionMode::DontAsk,
        "bypasspermissions" | "yolo" => PermissionMode::BypassPermissions,
        "plan" | "readonly" => PermissionMode::Plan,
        _ => return None,
    })
}

fn sandbox_mode(word: &str) -> Option<PermissionMode> {
    Some(match word {
        "readonly" => PermissionMode::Plan,
        "workspacewrite" => PermissionMode::AcceptEdits,
        "dangerfullaccess" => PermissionMode::BypassPermissions,
        _ => return None,
    })
}

fn visibility(word: &str) -> Option<Visibility> {
    match word {
        "userfacing" | "public" => Some(Visibility::UserFacing),
        "internal" | "hidden" => Some(Visibility::Internal),
        _ => None,
    }
}

fn network(node: &Node) -> Option<serde_json::Value> {
    match word(node).as_deref() {
        Some("full" | "true") => Some("full".into()),
        Some("none" | "false") => Some("none".into()),
        _ => names(node).filter(|hosts| !node.is_null() && !hosts.is_empty()).map(Into::into),
    }
}

fn env(node: &Node) -> Option<serde_json::Value> {
    match &node.value {
        NodeValue::Map(entries) => {
            entries.iter().all(|entry| entry.value.scalar().is_some()).then(|| node.to_json())
        }
        _ => names(node).map(Into::into),
    }
}

fn object(node: &Node) -> Option<serde_json::Value> {
    node.entries().map(|_| node.to_json())
}

fn one_of(node: &Node, known: &[&str]) -> Option<String> {
    word(node).filter(|word| known.contains(&word.as_str()))
}

/// What a key takes, for a message.
fn expectation(field: Field) -> &'static str {
    match field {
        Field::Tools => "names of tools as a list or between commas",
        Field::DisallowedTools | Field::Skills | Field::Callers => "names as a list or between commas",
        Field::Delegates => "names of agents, `*` or a list",
        Field::PermissionMode => "default, acceptEdits, dontAsk, bypassPermissions or plan",
        Field::SandboxMode => "read-only, workspace-write or danger-full-access",
        Field::Permissions => "lists under allow, ask and deny",
        Field::OrderedPermissions => "allow, ask or deny, for each tool or pattern",
        Field::Hooks => "lists of hooks by event",
        Field::McpServers => "servers by name",
        Field::Isolation | Field::Sandbox => "none, landlock, sandbox, container or worktree",
        Field::Workspace => "shared or worktree",
        Field::Network => "full, none or a list of hosts",
        Field::Visibility => "user-facing or internal",
        Field::Memory => "user, project or local",
        Field::Effort => "low, medium, high, xhigh or max",
        Field::Timeout(_) => "a duration such as 30s, 5m or 1h",
        Field::MaxTurns => "a whole number above zero",
        Field::Budget => "`usd` and `tokens`",
        Field::Output => "`schema` and `retries`",
        Field::OutputSchema => "a JSON Schema",
        Field::Env => "names, or a mapping from names to values",
        Field::ReadOnly
        | Field::OnlyPerson
        | Field::Infer
        | Field::Hidden
        | Field::Enabled
        | Field::Disabled
        | Field::Session
        | Field::Findings
        | Field::Background
        | Field::Environment => "true or false",
        Field::ContextFiles => "true, false or a list of files",
        _ => "a text",
    }
}
