//! Where the parts of a definition stand in its file, for messages that name a line.

use super::field::Field;

/// The lines of a definition's keys and rules, from 1. Few, and made for every file that is read: lists, no maps.
#[derive(Debug, Clone, Default)]
pub struct Lines {
    fields: Vec<(Field, usize)>,
    rules: Vec<(String, usize)>,
}

impl Lines {
    /// The line of the key that sets a part.
    pub fn of(&self, field: Field) -> Option<usize> {
        let exact = self.fields.iter().find(|(known, _)| *known == field);
        exact
            .or_else(|| self.fields.iter().find(|(known, _)| known.slot() == field.slot()))
            .map(|(_, line)| *line)
    }

    /// The line of a rule, in its canonical form; the first where it stands twice.
    pub fn of_rule(&self, rule: &str) -> Option<usize> {
        let exact = self.rules.iter().find(|(known, _)| known == rule).map(|(_, line)| *line);
        exact.or_else(|| self.of(Field::Permissions))
    }

    pub(super) fn note(&mut self, field: Field, line: usize) {
        self.fields.push((field, line));
    }

    pub(super) fn note_rule(&mut self, rule: &str, line: usize) {
        self.rules.push((rule.to_owned(), line));
    }
}

/// What a definition says does not depend on where it says it.
impl PartialEq for Lines {
    fn eq(&self, _other: &Lines) -> bool {
        true
    }
}
