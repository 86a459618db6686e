//! Name, description and prompt, judged once every key is known.

use super::Normaliser;
use crate::definition::dialect::Identity;
use crate::definition::slug;
use crate::diagnostic::{Code, Diagnostic, Severity, Span};
use crate::text::{closest, first_hidden_character};

impl Normaliser<'_> {
    /// Settles the name, description and prompt once every key is known.
    pub(in crate::definition) fn settle(&mut self, stem: &str, folder: Option<&str>) {
        let table = self.definition.dialect.table();
        match table.identity {
            Identity::Folder => self.settle_folder(folder.unwrap_or(stem)),
            Identity::KeyOrStem if self.definition.name.is_empty() => {
                stem.clone_into(&mut self.definition.name);
            }
            Identity::Key | Identity::KeyOrStem => {}
        }
        self.judge_name(stem);
        if self.definition.description.is_none() {
            let meant = self.definition.extra.keys().find(|key| closest(key, ["description"]).is_some());
            let help = match meant {
                Some(key) => format!("did you mean `description` by `{key}`?"),
                None => "say in `description` when to delegate to this agent".to_owned(),
            };
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
        if !written.is_empty() && slug(&written) != slug(folder) {
            let message = format!("the name `{written}` differs from the folder `{folder}`, which counts");
            self.say(
                Diagnostic::new(Code::NameMismatch, message).with_help(format!("write `name: {folder}`")),
                self.head,
            );
        }
    }

    fn judge_name(&mut self, stem: &str) {
        let name = &self.definition.name;
        let own_slug = slug(name);
        if name.is_empty() {
            let help = format!("add `name: {}`", slug(stem));
            let message = "the agent has no name";
            self.refused = true;
            self.say(Diagnostic::new(Code::MissingName, message).with_help(help), self.head);
            return;
        }
        let wrong = if own_slug == "main" || own_slug == "cli" {
            "is reserved"
        } else if name.contains(char::is_control) {
            "has a line break or control character"
        } else if name.starts_with('-') {
            "starts with a dash"
        } else if name.contains(':') && !self.definition.dialect.table().colon_in_name {
            "contains a colon"
        } else if !own_slug.contains(|c: char| c.is_ascii_alphanumeric()) {
            "has no letter or digit of a-z, 0-9"
        } else {
            return;
        };
        let message = format!("the name `{}` {wrong}", crate::text::visible_line(name));
        self.refuse_with(Diagnostic::new(Code::BadName, message).with_help("choose another name"), self.head);
    }

    fn judge_prompt(&mut self) {
        let prompt = &self.definition.prompt;
        // An empty prompt follows from a prompt file that was refused, which has been said.
        let no_file = |diagnostic: &Diagnostic| {
            matches!(diagnostic.code, Code::MissingPromptFile | Code::PromptOutside | Code::Unreadable)
        };
        if prompt.is_empty() && self.diagnostics.iter().any(no_file) {
            return;
        }
        if prompt.is_empty() {
            let diagnostic =
                Diagnostic::new(Code::EmptyPrompt, "the agent has no prompt").with_help(self.prompt_help);
            return self.refuse_with(diagnostic, self.head);
        }
        if prompt.contains('\0') {
            let diagnostic = Diagnostic::new(Code::NotText, "the prompt has a NUL character");
            return self.refuse_with(diagnostic.with_help("remove it"), self.head);
        }
        if let Some((_, character)) = first_hidden_character(prompt) {
            let message = format!("the prompt has the hidden character U+{:04X}", character as u32);
            let span = self.source.text()[self.body..].find(character).map_or(self.head, |at| {
                let at = self.body + at;
                Span::new(at, at + character.len_utf8())
            });
            self.say(
                Diagnostic::new(Code::HiddenCharacter, message)
                    .with_help("remove it, if the language does not need it"),
                span,
            );
        }
    }
}
