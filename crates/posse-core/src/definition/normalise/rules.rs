//! Rules of every shape, under the canonical names of their tools.

use super::Normaliser;
use super::words::tools_of_rule;
use crate::definition::field::Field;
use crate::definition::node::Entry;
use crate::definition::tool::{Resolved, ToolClass};
use crate::definition::{Permissions, add_rules, permission};
use crate::diagnostic::{Code, Diagnostic};

impl Normaliser<'_> {
    pub(super) fn take_permissions(&mut self, field: Field, entry: &Entry) -> bool {
        let permissions = if field == Field::Permissions && permission::is_lists(&entry.value) {
            let Some(permissions) = permission::lists(&entry.value) else { return false };
            permissions
        } else {
            let Some(ordered) = permission::ordered(&entry.value) else { return false };
            if ordered.order_lost {
                let message = format!("`{}` depends on the order of its rules", entry.key);
                let help = "the stricter reading was taken; write the rules as allow, ask and deny";
                self.say(Diagnostic::new(Code::OrderedRules, message).with_help(help), entry.key_span);
            }
            ordered.permissions
        };
        let Permissions { allow, ask, deny, otherwise } = permissions;
        let allow = self.canonical_rules(allow, entry);
        let ask = self.canonical_rules(ask, entry);
        let deny = self.canonical_rules(deny, entry);
        let mut defaults: Vec<(String, String)> = Vec::new();
        for (tool, action) in otherwise {
            let names = self.canonical_rules(vec![tool], entry);
            defaults.extend(names.into_iter().map(|name| (name, action.clone())));
        }
        let rules = self.definition.permissions.get_or_insert_default();
        add_rules(&mut rules.allow, allow);
        add_rules(&mut rules.ask, ask);
        add_rules(&mut rules.deny, deny);
        for (tool, action) in defaults {
            let known = rules.otherwise.entry(tool).or_insert_with(|| action.clone());
            if permission::rank(&action) > permission::rank(known) {
                *known = action;
            }
        }
        true
    }

    /// A rule under the canonical names of its tools; about a tool that does not exist it would decide nothing,
    /// which a mistyped `deny` must not.
    fn canonical_rules(&mut self, rules: Vec<String>, entry: &Entry) -> Vec<String> {
        let mut out = Vec::new();
        for rule in rules {
            let line = self.source.line(self.place_of(&rule, entry.value.span).start);
            let (name, pattern) = match rule.split_once('(') {
                Some((name, rest)) => (name.trim(), format!("({rest}")),
                None => (rule.trim(), String::new()),
            };
            let pattern = if pattern == "()" { "" } else { pattern.as_str() };
            let tools = tools_of_rule(name, self.definition.dialect);
            if let [Resolved::Other(ToolClass::Unknown, unknown)] = &tools[..] {
                self.report_tool(
                    unknown,
                    ToolClass::Unknown,
                    self.place_of(unknown, entry.value.span),
                    Field::Permissions,
                );
            }
            for tool in &tools {
                let names: Vec<&str> = match tool {
                    Resolved::Known(names) => names.to_vec(),
                    Resolved::Other(_, name) => vec![name],
                };
                for name in names {
                    let rule = format!("{name}{pattern}");
                    self.definition.lines.note_rule(&rule, line);
                    out.push(rule);
                }
            }
        }
        out
    }
}
