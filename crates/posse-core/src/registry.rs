//! Every definition that can be named, who shadows whom, and what was rejected and why.
//!
//! An immutable value: made once from what discovery found, then only asked.

mod json;

use std::collections::BTreeMap;

use crate::definition::read::{Reading, Verdict};
use crate::definition::{Definition, Dialect, Scope, Visibility, slug};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::text::closest;

pub use json::show_json;

/// One reading and where it was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// What was read.
    pub reading: Reading,
    /// The file, as the user would name it; `None` for what has no file.
    pub path: Option<String>,
    /// Where it came from.
    pub scope: Scope,
    /// Rank of the directory within the scope: the nearest first, then the family.
    pub rank: Rank,
    /// True when its content may be used.
    pub trusted: bool,
}

/// Where within a scope a definition was found, the least having precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    /// How many directories above the working directory.
    pub distance: usize,
    /// Which family within the directory.
    pub family: usize,
}

/// What several definitions of one name mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Duplicates {
    /// The first in precedence counts.
    #[default]
    Shadow,
    /// None of them runs.
    Reject,
}

/// Whether and why an entry can be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is the one that its name stands for.
    Current,
    /// Another one of its name comes first.
    Shadowed,
}

/// Why an entry is not offered to callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absence {
    /// Its file cannot be used.
    Rejected,
    /// Another one of its name comes first.
    Shadowed,
    /// It is switched off.
    Disabled,
    /// Only callers that name it may see it.
    Internal,
}

impl Absence {
    /// The word in text and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Absence::Rejected => "rejected",
            Absence::Shadowed => "shadowed",
            Absence::Disabled => "disabled",
            Absence::Internal => "internal",
        }
    }
}

/// One definition or rejected file in the registry.
#[derive(Debug, Clone)]
pub struct Entry {
    /// What was read and where.
    pub found: Found,
    /// The name by which it is run.
    pub slug: Option<String>,
    /// Whether it is what its name stands for.
    pub state: State,
    /// The entries of the same name that it shadows, by index.
    pub shadows: Vec<usize>,
    /// What is wrong with it, its reading and its standing taken together.
    pub problems: Vec<Diagnostic>,
}

/// Every definition that can be named.
#[derive(Debug, Clone, Default)]
pub struct Registry {
    entries: Vec<Entry>,
    by_slug: BTreeMap<String, usize>,
    by_place: BTreeMap<(String, Scope, Rank), usize>,
    /// What discovery could not read at all.
    pub problems: Vec<Diagnostic>,
    /// Files that turned out to be something else: path and reason.
    pub not_agents: Vec<(String, String)>,
}

impl Entry {
    /// The definition, unless the file was rejected.
    pub fn definition(&self) -> Option<&Definition> {
        self.found.reading.definition()
    }

    /// The dialect it was read in.
    pub fn dialect(&self) -> Dialect {
        self.found.reading.dialect
    }

    /// True when nothing is wrong with the definition itself.
    pub fn is_runnable(&self) -> bool {
        self.definition().is_some_and(|definition| definition.enabled != Some(false))
            && !self.problems.iter().any(Diagnostic::is_error)
    }

    /// True when the agent is offered to callers: current, enabled, user-facing.
    pub fn is_callable(&self) -> bool {
        self.absence().is_none()
    }

    /// True when the definition lets this caller start it; a person at a shell always may.
    pub fn admits(&self, caller: &str) -> bool {
        let callers = self.definition().and_then(|definition| definition.callers.as_deref());
        caller == "cli"
            || callers.is_none_or(|callers| callers.iter().any(|known| known == "*" || known == caller))
    }

    /// Why the agent is not offered to callers.
    pub fn absence(&self) -> Option<Absence> {
        match (self.state, self.definition()) {
            (_, None) => Some(Absence::Rejected),
            (State::Shadowed, _) => Some(Absence::Shadowed),
            (_, Some(definition)) if definition.enabled == Some(false) => Some(Absence::Disabled),
            (_, Some(definition)) if definition.visibility == Some(Visibility::Internal) => {
                Some(Absence::Internal)
            }
            (State::Current, Some(_)) => None,
        }
    }
}

impl Registry {
    /// Settles who stands for which name.
    pub fn collect(mut found: Vec<Found>, duplicates: Duplicates) -> Registry {
        found.sort_by(|a, b| (a.scope, a.rank, &a.path).cmp(&(b.scope, b.rank, &b.path)));
        let mut registry = Registry::default();
        for found in found {
            if let Verdict::NotAnAgent(reason) = &found.reading.verdict {
                registry.not_agents.push((found.path.unwrap_or_default(), reason.clone()));
                registry.problems.extend(found.reading.diagnostics);
                continue;
            }
            registry.add(found);
        }
        if duplicates == Duplicates::Reject {
            registry.reject_duplicates();
        }
        registry
    }

    fn add(&mut self, mut found: Found) {
        let index = self.entries.len();
        let slug = found.reading.name.as_deref().map(slug);
        let problems = std::mem::take(&mut found.reading.diagnostics);
        let mut entry =
            Entry { found, slug: slug.clone(), state: State::Current, shadows: Vec::new(), problems };
        if let Some(slug) = &slug {
            let place = (slug.clone(), entry.found.scope, entry.found.rank);
            match self.by_place.get(&place).copied() {
                Some(rival) => self.report_duplicate(rival, &mut entry),
                None => drop(self.by_place.insert(place, index)),
            }
        }
        if let Some(first) = slug.as_ref().and_then(|slug| self.by_slug.get(slug).copied()) {
            entry.state = State::Shadowed;
            self.entries[first].shadows.push(index);
        } else if let Some(slug) = slug {
            self.by_slug.insert(slug, index);
        }
        self.entries.push(entry);
    }

    /// Two of one name in one directory family: the first counts and both are told.
    fn report_duplicate(&mut self, first: usize, second: &mut Entry) {
        let winner = &mut self.entries[first];
        let (kept, dropped) = (place(&winner.found), place(&second.found));
        let name = second.slug.clone().unwrap_or_default();
        let message = format!("`{name}` is defined twice in one place: {kept} comes before {dropped}");
        let diagnostic =
            Diagnostic::new(Code::DuplicateName, message).with_help("rename or remove one of the two");
        second.problems.push(Diagnostic { path: second.found.path.clone(), ..diagnostic.clone() });
        // The first one still runs: it is told, but its own definition is not at fault.
        let told = diagnostic.with_severity(Severity::Warning);
        winner.problems.push(Diagnostic { path: winner.found.path.clone(), ..told });
    }

    fn reject_duplicates(&mut self) {
        for index in 0..self.entries.len() {
            let rivals: Vec<usize> = self.entries[index]
                .shadows
                .iter()
                .copied()
                .filter(|other| !self.is_builtin(*other))
                .collect();
            if rivals.is_empty() {
                continue;
            }
            let all: Vec<usize> = std::iter::once(index).chain(rivals).collect();
            const SHOWN_MAX: usize = 5;
            let mut places: Vec<String> =
                all.iter().take(SHOWN_MAX).map(|one| place(&self.entries[*one].found)).collect();
            if all.len() > SHOWN_MAX {
                places.push(format!("and {} more", all.len() - SHOWN_MAX));
            }
            let name = self.entries[index].slug.clone().unwrap_or_default();
            let message = format!("`{name}` is defined in {} places: {}", all.len(), places.join(", "));
            for one in all {
                let path = self.entries[one].found.path.clone();
                let diagnostic =
                    Diagnostic::new(Code::ShadowRejected, message.clone()).with_help("keep one of them");
                self.entries[one].problems.push(Diagnostic { path, ..diagnostic });
            }
        }
    }

    fn is_builtin(&self, index: usize) -> bool {
        self.entries[index].found.scope == Scope::Builtin
    }

    /// Everything in order of precedence, rejected and shadowed ones included.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry at an index that an entry of this registry names.
    pub fn entry(&self, index: usize) -> &Entry {
        &self.entries[index]
    }

    /// The agents offered to callers, by name.
    pub fn callable(&self) -> impl Iterator<Item = &Entry> {
        self.by_slug.values().map(|index| &self.entries[*index]).filter(|entry| entry.is_callable())
    }

    /// The entry that `name` stands for: a slug, or the name as written in any case.
    pub fn find(&self, name: &str) -> Option<&Entry> {
        if let Some(index) = self.by_slug.get(&slug(name)) {
            return Some(&self.entries[*index]);
        }
        let wanted = name.trim().to_lowercase();
        self.by_slug.values().map(|index| &self.entries[*index]).find(|entry| {
            entry.definition().is_some_and(|definition| definition.shown_name().to_lowercase() == wanted)
        })
    }

    /// The name that was probably meant.
    pub fn suggest(&self, name: &str) -> Option<&str> {
        closest(name, self.by_slug.keys().map(String::as_str))
    }
}

fn place(found: &Found) -> String {
    found.path.clone().unwrap_or_else(|| found.scope.as_str().to_owned())
}

#[cfg(test)]
mod tests;
