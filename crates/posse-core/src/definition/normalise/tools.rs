//! Lists of tools in every shape they are written in.

use super::Normaliser;
use crate::definition::add_rules;
use crate::definition::field::Field;
use crate::definition::node::{Entry, Node, NodeValue, ScalarKind};
use crate::definition::tool::{Purpose, Resolved, ToolClass, ToolName, resolve, suggest};
use crate::definition::value::{is_closed, split_names, text, whole_names};
use crate::diagnostic::{Code, Diagnostic, Span};

/// The most names in one list of tools.
const TOOLS_MAX: usize = 1000;

impl Normaliser<'_> {
    pub(super) fn take_tools(&mut self, field: Field, entry: &Entry) -> bool {
        let mut list = Vec::new();
        match &entry.value.value {
            NodeValue::Scalar(scalar) => match scalar.kind {
                ScalarKind::Text if !scalar.text.trim().is_empty() => {
                    let written = split_names(&scalar.text);
                    if !written.iter().all(|(_, name)| is_closed(name)) {
                        self.refuse_open(entry);
                        return true;
                    }
                    if written.len() > TOOLS_MAX {
                        self.refuse_many(entry);
                        return true;
                    }
                    let base = self.text_start(&entry.value);
                    for (at, name) in written {
                        let span = match base {
                            Some(base) => Span::new(base + at, base + at + name.len()),
                            None => self.place_of(name, entry.value.span),
                        };
                        self.add_tool(name, span, field, &mut list);
                    }
                }
                ScalarKind::Null | ScalarKind::Text => {
                    if field == Field::Tools {
                        let message = format!("`{}` has no value; it was read as no tools", entry.key);
                        let help = "write `tools: []`, or remove the key to leave the tools unrestricted";
                        self.say(Diagnostic::new(Code::EmptyTools, message).with_help(help), entry.key_span);
                    }
                }
                ScalarKind::Bool(false) => {}
                ScalarKind::Bool(true) | ScalarKind::Number => return false,
            },
            NodeValue::List(elements) => {
                if elements.len() > TOOLS_MAX {
                    self.refuse_many(entry);
                    return true;
                }
                if elements.iter().any(|element| text(element).is_none()) {
                    return false;
                }
                let Some(names) = whole_names(elements) else {
                    self.refuse_open(entry);
                    return true;
                };
                for (name, span) in names {
                    self.add_tool(&name, span, field, &mut list);
                }
            }
            NodeValue::Map(entries) if entries.len() > TOOLS_MAX => {
                self.refuse_many(entry);
                return true;
            }
            NodeValue::Map(entries) => return field == Field::Tools && self.take_tool_map(entries),
        }
        self.set_tools(field, list);
        true
    }

    fn refuse_open(&mut self, entry: &Entry) {
        let message = format!("`{}` has a pattern that is opened with `(` and never closed", entry.key);
        self.refuse(Code::BadCapability, message, entry.value.span);
    }

    fn refuse_many(&mut self, entry: &Entry) {
        let message = format!("`{}` has more than {TOOLS_MAX} names", entry.key);
        self.refuse(Code::BadCapability, message, entry.key_span);
    }

    /// Where a one-line text begins in the source, so that its parts can be pointed at.
    fn text_start(&self, node: &Node) -> Option<usize> {
        let scalar = node.scalar()?;
        let written = &self.source.text()[node.span.start..node.span.end];
        written.find(&scalar.text).map(|at| node.span.start + at)
    }

    /// Where a name stands in a text that is not written as it reads: quoted over several lines.
    pub(super) fn place_of(&self, name: &str, span: Span) -> Span {
        let found = self.source.text()[span.start..span.end].find(name);
        found.map_or(span, |at| Span::new(span.start + at, span.start + at + name.len()))
    }

    /// OpenCode's map: what is true is offered, what is false is not.
    fn take_tool_map(&mut self, entries: &[Entry]) -> bool {
        let mut offered = Vec::new();
        let mut withheld = Vec::new();
        let mut closed = false;
        let mut edits: Option<bool> = None;
        for entry in entries {
            let word = text(&entry.value).map(|word| word.to_lowercase());
            let allowed = match word.as_deref() {
                Some("true" | "allow" | "ask") => true,
                Some("false" | "deny") => false,
                _ => return false,
            };
            if !is_closed(&entry.key) {
                self.refuse_open(entry);
                return true;
            }
            if matches!(entry.key.to_lowercase().as_str(), "write" | "edit" | "patch" | "multiedit") {
                edits = Some(allowed);
            }
            if word.as_deref() == Some("ask") {
                self.ask_about(&entry.key);
            }
            match (entry.key.as_str(), allowed) {
                ("*", false) => {
                    // The last match wins: what was offered before is closed with the rest.
                    closed = true;
                    offered.clear();
                }
                (name, true) => self.add_tool(name, entry.key_span, Field::Tools, &mut offered),
                (name, false) => {
                    self.add_tool(name, entry.key_span, Field::DisallowedTools, &mut withheld);
                }
            }
        }
        if edits == Some(false) {
            // In OpenCode the last of these names decides for every way to change a file, as the rule `Edit` does here.
            add_rules(&mut self.definition.permissions.get_or_insert_default().deny, ["Edit".to_owned()]);
        }
        if closed || !offered.is_empty() {
            self.set_tools(Field::Tools, offered);
        }
        if !withheld.is_empty() {
            self.set_tools(Field::DisallowedTools, withheld);
        }
        true
    }

    /// A tool that is offered on the condition that a person agrees to each call.
    fn ask_about(&mut self, name: &str) {
        let rules: Vec<String> = match resolve(name, self.definition.dialect, Purpose::Offer) {
            Resolved::Known(canonical) => canonical.iter().map(|tool| (*tool).to_owned()).collect(),
            Resolved::Other(_, name) => vec![name],
        };
        add_rules(&mut self.definition.permissions.get_or_insert_default().ask, rules);
    }

    fn set_tools(&mut self, field: Field, list: Vec<ToolName>) {
        match field {
            Field::Tools => self.definition.tools = Some(list),
            // A map and a list may both withhold; neither takes back what the other withholds.
            _ => self.definition.disallowed_tools.get_or_insert_default().extend(list),
        }
    }

    /// Adds what one written name stands for; a pattern becomes a rule.
    fn add_tool(&mut self, written: &str, span: Span, field: Field, list: &mut Vec<ToolName>) {
        let written = written.trim_matches(['"', '\'', '`', ' ']);
        let (name, pattern) = match written.split_once('(') {
            Some((name, rest)) if rest.ends_with(')') => {
                // Nothing between the brackets is no pattern.
                (name.trim(), Some(&rest[..rest.len() - 1]).filter(|pattern| !pattern.trim().is_empty()))
            }
            _ => (written, None),
        };
        let purpose = if field == Field::DisallowedTools { Purpose::Withhold } else { Purpose::Offer };
        let mut resolved = resolve(name, self.definition.dialect, purpose);
        if let Some(pattern) = pattern {
            let rules: Vec<String> = match &resolved {
                Resolved::Known(tools) => tools.iter().map(|tool| format!("{tool}({pattern})")).collect(),
                Resolved::Other(ToolClass::Mcp, tool) => vec![format!("{tool}({pattern})")],
                Resolved::Other(..) => {
                    resolved = Resolved::Other(unmatched_class(&resolved), written.to_owned());
                    Vec::new()
                }
            };
            let line = self.source.line(span.start);
            rules.iter().for_each(|rule| self.definition.lines.note_rule(rule, line));
            let permissions = self.definition.permissions.get_or_insert_default();
            if field == Field::DisallowedTools && !rules.is_empty() {
                return add_rules(&mut permissions.deny, rules);
            }
            add_rules(&mut permissions.allow, rules);
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
                list.push(ToolName { name, class, span, line: self.source.line(span.start) });
            }
        }
    }

    pub(super) fn report_tool(&mut self, name: &str, class: ToolClass, span: Span, field: Field) {
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
    pub(super) fn judge_tools(&mut self) {
        let Some(tools) = self.definition.tools.as_ref().filter(|tools| !tools.is_empty()) else { return };
        let usable =
            |tool: &ToolName| matches!(tool.class, ToolClass::Known | ToolClass::Mcp | ToolClass::Wildcard);
        // An unknown tool has been reported already, and keeps the agent from running by itself.
        let reported = tools.iter().any(|tool| tool.class == ToolClass::Unknown);
        if !reported && !tools.iter().any(usable) {
            let span = tools[0].span;
            let help = "list tools that exist here, or write `tools: []` for an agent without tools";
            self.say(
                Diagnostic::new(Code::NoUsableTool, "none of the listed tools exists here").with_help(help),
                span,
            );
        }
    }
}

/// A pattern on anything but a tool of ours has no meaning: `*(x)` is not every tool.
fn unmatched_class(resolved: &Resolved) -> ToolClass {
    match resolved {
        Resolved::Other(ToolClass::Foreign, _) => ToolClass::Foreign,
        _ => ToolClass::Unknown,
    }
}
