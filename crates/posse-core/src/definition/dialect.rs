//! The dialects: which keys and tool names each tool's files use, as data.
//!
//! One file a dialect. Behaviour that differs is a field of [`Table`], or of a family where it is about places,
//! and never an `if` on the dialect.

mod claude;
mod codex;
mod copilot;
mod crush;
mod cursor;
mod factory;
mod gemini;
mod jarvis;
mod nanoclaw;
mod netclaw;
mod opencode;
mod posse;
mod qwen;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::field::Field;
use crate::text::closest;

/// One tool's way to write a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "each variant is the tool of that name")]
pub enum Dialect {
    Posse,
    Claude,
    OpenCode,
    Gemini,
    Qwen,
    Cursor,
    Copilot,
    Factory,
    Codex,
    Netclaw,
    NanoClaw,
    Jarvis,
    Crush,
}

/// Where an agent's name comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Identity {
    /// The key `name`, which must be there.
    Key,
    /// The key `name`, else the file's stem.
    KeyOrStem,
    /// The folder the file is in; a different key `name` is a warning.
    Folder,
}

/// What a dialect's own tool takes for keys that a file leaves out, where it differs from Posse's choice.
#[derive(Debug)]
pub struct Defaults {
    /// The model, as a definition would name it.
    pub model: Option<&'static str>,
    /// The wall clock, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Questions to the model.
    pub turns: Option<u64>,
}

impl Defaults {
    const NONE: Defaults = Defaults { model: None, timeout_ms: None, turns: None };
}

/// What one dialect's files look like.
#[derive(Debug)]
pub struct Table {
    /// Where the name comes from.
    pub identity: Identity,
    /// True when the tool itself refuses a file without a description.
    pub description_required: bool,
    /// False when the tool refuses a name with a colon in it.
    pub colon_in_name: bool,
    /// True when a tool of an MCP server is written `server_tool`.
    pub underscore_joins_server: bool,
    /// What the tool takes where its file says nothing.
    pub defaults: Defaults,
    /// Its keys, as its documentation spells them.
    pub keys: &'static [(&'static str, Field)],
    /// Keys that only this dialect uses.
    pub signature: &'static [&'static str],
    /// Its tool names and the canonical tools each stands for.
    pub tools: &'static [(&'static str, &'static [&'static str])],
    /// Its tools that have no counterpart here.
    pub foreign_tools: &'static [&'static str],
}

impl Dialect {
    /// Every dialect, in the order that decides between equals.
    pub const ALL: &[Dialect] = &[
        Dialect::Posse,
        Dialect::Claude,
        Dialect::OpenCode,
        Dialect::Gemini,
        Dialect::Qwen,
        Dialect::Cursor,
        Dialect::Copilot,
        Dialect::Factory,
        Dialect::Codex,
        Dialect::Netclaw,
        Dialect::NanoClaw,
        Dialect::Jarvis,
        Dialect::Crush,
    ];

    /// The name in text, JSON and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::Posse => "posse",
            Dialect::Claude => "claude",
            Dialect::OpenCode => "opencode",
            Dialect::Gemini => "gemini",
            Dialect::Qwen => "qwen",
            Dialect::Cursor => "cursor",
            Dialect::Copilot => "copilot",
            Dialect::Factory => "factory",
            Dialect::Codex => "codex",
            Dialect::Netclaw => "netclaw",
            Dialect::NanoClaw => "nanoclaw",
            Dialect::Jarvis => "jarvis",
            Dialect::Crush => "crush",
        }
    }

    /// The dialect of that name.
    pub fn parse(name: &str) -> Option<Dialect> {
        Dialect::ALL.iter().copied().find(|dialect| dialect.as_str() == name)
    }

    /// What its files look like.
    pub fn table(self) -> &'static Table {
        match self {
            Dialect::Posse => &posse::TABLE,
            Dialect::Claude => &claude::TABLE,
            Dialect::OpenCode => &opencode::TABLE,
            Dialect::Gemini => &gemini::TABLE,
            Dialect::Qwen => &qwen::TABLE,
            Dialect::Cursor => &cursor::TABLE,
            Dialect::Copilot => &copilot::TABLE,
            Dialect::Factory => &factory::TABLE,
            Dialect::Codex => &codex::TABLE,
            Dialect::Netclaw => &netclaw::TABLE,
            Dialect::NanoClaw => &nanoclaw::TABLE,
            Dialect::Jarvis => &jarvis::TABLE,
            Dialect::Crush => &crush::TABLE,
        }
    }

    /// What a key means in this dialect; keys of other dialects mean what they mean there.
    pub fn field(self, key: &str) -> Option<Field> {
        meanings(key).and_then(|meanings| meanings.own[self as usize].or(meanings.any))
    }

    /// What a key means if it is one of this dialect's own.
    pub fn own_field(self, key: &str) -> Option<Field> {
        meanings(key).and_then(|meanings| meanings.own[self as usize])
    }

    /// The dialect that the keys of a file belong to, judged by keys that only one dialect uses.
    pub fn guess(keys: &[&str]) -> Option<Dialect> {
        let mut hits = [0; Dialect::ALL.len()];
        for dialect in keys.iter().filter_map(|key| SIGNATURES.get(key)) {
            hits[*dialect as usize] += 1;
        }
        let counted = Dialect::ALL.iter().map(|dialect| (hits[*dialect as usize], *dialect));
        let known = counted.filter(|(count, _)| *count > 0);
        known.max_by_key(|(count, dialect)| (*count, std::cmp::Reverse(*dialect))).map(|(_, dialect)| dialect)
    }
}

static SIGNATURES: LazyLock<HashMap<&'static str, Dialect>> = LazyLock::new(|| {
    let keys =
        |dialect: &Dialect| dialect.table().signature.iter().map(|key| (*key, *dialect)).collect::<Vec<_>>();
    Dialect::ALL.iter().flat_map(keys).collect()
});

/// What a key means in any dialect, the first in the order of [`Dialect::ALL`] deciding.
pub fn known_field(key: &str) -> Option<Field> {
    meanings(key).and_then(|meanings| meanings.any)
}

/// The keys a person may have meant, for suggestions: Posse's own and the dialect's.
pub fn key_names(dialect: Dialect) -> impl Iterator<Item = &'static str> {
    let own = dialect.table().keys.iter();
    Dialect::Posse.table().keys.iter().chain(own).map(|(name, _)| *name)
}

/// The key of any dialect that `written` is, or was probably meant to be; of equals a capability.
pub fn closest_key(written: &str) -> Option<&'static str> {
    let written = squashed(written);
    let exact = SQUASHED.iter().find(|(known, _)| *known == written);
    let name = |wanted: &str| SQUASHED.iter().find(|(known, _)| known == wanted).map(|(_, name)| *name);
    exact
        .map(|(_, name)| *name)
        .or_else(|| name(closest(&written, SQUASHED.iter().map(|(known, _)| known.as_str()))?))
}

/// The keys of every dialect, squashed and as they are spelled, capabilities first.
static SQUASHED: LazyLock<Vec<(String, &'static str)>> = LazyLock::new(|| {
    let keys = || Dialect::ALL.iter().flat_map(|dialect| dialect.table().keys);
    let capabilities = keys().filter(|(_, field)| field.is_capability());
    let others = keys().filter(|(_, field)| !field.is_capability());
    let mut squashed_keys: Vec<(String, &'static str)> = Vec::new();
    for (name, _) in capabilities.chain(others) {
        if !squashed_keys.iter().any(|(known, _)| *known == squashed(name)) {
            squashed_keys.push((squashed(name).into_owned(), *name));
        }
    }
    squashed_keys
});

/// `maxTurns`, `max_turns` and `Max-Turns` are one key.
pub fn squashed(key: &str) -> Cow<'_, str> {
    if key.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return Cow::Borrowed(key);
    }
    key.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// What one key means, in each dialect and in any.
#[derive(Debug, Default)]
struct Meanings {
    own: [Option<Field>; Dialect::ALL.len()],
    any: Option<Field>,
}

fn meanings(key: &str) -> Option<&'static Meanings> {
    MEANINGS.get(squashed(key).as_ref())
}

static MEANINGS: LazyLock<HashMap<String, Meanings>> = LazyLock::new(|| {
    let mut map: HashMap<String, Meanings> = HashMap::new();
    for dialect in Dialect::ALL {
        for (key, field) in dialect.table().keys {
            let meanings = map.entry(squashed(key).into_owned()).or_default();
            meanings.own[*dialect as usize].get_or_insert(*field);
            meanings.any.get_or_insert(*field);
        }
    }
    map
});

#[cfg(test)]
mod tests {
    use super::{Dialect, Field, known_field};

    #[test]
    fn spellings_of_one_key_are_one_key() {
        for key in ["maxTurns", "max_turns", "max-turns", "MAX_TURNS"] {
            assert_eq!(known_field(key), Some(Field::MaxTurns), "{key}");
        }
    }

    #[test]
    fn a_key_means_what_its_own_dialect_says() {
        assert_eq!(Dialect::OpenCode.field("permission"), Some(Field::OrderedPermissions));
        assert_eq!(
            Dialect::Claude.field("timeout_ms"),
            Some(Field::Timeout(crate::definition::field::Unit::Milliseconds))
        );
    }

    #[test]
    fn keys_give_a_dialect_away() {
        assert_eq!(Dialect::guess(&["mode", "permission"]), Some(Dialect::OpenCode));
        assert_eq!(Dialect::guess(&["name", "description"]), None);
    }

    #[test]
    fn every_signature_is_a_key_of_its_dialect_and_of_no_other() {
        for dialect in Dialect::ALL {
            for key in dialect.table().signature {
                let owners: Vec<_> = Dialect::ALL
                    .iter()
                    .filter(|other| other.table().keys.iter().any(|(k, _)| k == key))
                    .collect();
                assert_eq!(owners, [dialect], "{key}");
            }
        }
    }

    #[test]
    fn every_table_maps_to_canonical_tools() {
        for dialect in Dialect::ALL {
            for (name, canonical) in dialect.table().tools {
                assert!(!canonical.is_empty(), "{name}");
                for tool in *canonical {
                    assert!(crate::definition::tool::CANONICAL.contains(tool), "{name} {tool}");
                }
            }
        }
    }
}
