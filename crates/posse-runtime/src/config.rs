//! Configuration: files layered key by key, each value with the line it came from.
//!
//! Which keys exist, what they take and what a project may set is a table; nothing here acts on them.

mod keys;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use posse_core::definition::Scope;
use posse_core::definition::node::{Entry, Node};
use posse_core::definition::source::Source;
use posse_core::definition::toml;
use posse_core::diagnostic::{Code, Diagnostic, Severity, Span};
use posse_core::registry::Duplicates;
use posse_core::text::closest;
use serde_json::Value;

use crate::file::read_regular;
use crate::places::Places;
use crate::trust::{Item, Trust};
use keys::{InProject, KEYS, Key, accepts, is_higher};

/// Which file a value came from, the last having precedence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// The person's own file, or the one that `--config` names.
    User,
    /// The project's.
    Project,
    /// The operator's, which wins over all.
    Managed,
}

/// A value and where it was set.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The value.
    pub value: Value,
    /// Which file.
    pub layer: Layer,
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
}

/// Every value that is set, by its dotted key.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Config {
    settings: BTreeMap<String, Setting>,
    /// What is wrong with the files.
    pub problems: Vec<Diagnostic>,
    /// The project's file, for `trust`.
    pub project_item: Option<Item>,
    /// What the project's file would set and what is wrong with it, while it is not trusted.
    pub untrusted: Option<Box<Config>>,
}

impl Config {
    /// Reads and layers the files; `named` stands in for the user's own.
    pub fn load(places: &Places, trust: &Trust, named: Option<&Path>) -> Config {
        let mut config = Config::default();
        match (named, &places.posse_config) {
            (Some(path), _) if !path.exists() => {
                let diagnostic =
                    Diagnostic::new(Code::ConfigBroken, "the file named by --config is not there");
                config.problems.push(diagnostic.at_path(path.display().to_string()));
            }
            (Some(path), _) => config.add_file(path, Layer::User),
            (None, Some(directory)) => config.add_file(&directory.join("config.toml"), Layer::User),
            (None, None) => {}
        }
        config.add_project(places, trust);
        config.add_file(&places.managed.join("config.toml"), Layer::Managed);
        config
    }

    /// The value of a dotted key.
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.settings.get(key)
    }

    /// Every value that is set.
    pub fn settings(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.settings.iter().map(|(key, setting)| (key.as_str(), setting))
    }

    /// What several definitions of one name mean.
    pub fn duplicates(&self) -> Duplicates {
        match self.get("duplicates").and_then(|setting| setting.value.as_str()) {
            Some("reject") => Duplicates::Reject,
            _ => Duplicates::Shadow,
        }
    }

    /// Further directories to read, and the scope of what is in them.
    pub fn agents_dirs(&self) -> Vec<(PathBuf, Scope)> {
        let Some(setting) = self.get("agents_dirs") else { return Vec::new() };
        let scope = match setting.layer {
            Layer::User => Scope::User,
            Layer::Project => Scope::Project,
            Layer::Managed => Scope::Managed,
        };
        let names = setting.value.as_array().into_iter().flatten().filter_map(Value::as_str);
        let base = Path::new(&setting.path).parent().unwrap_or(Path::new("."));
        // A project names directories from its root, which is above `.posse`.
        let base = if setting.layer == Layer::Project { base.parent().unwrap_or(base) } else { base };
        names.map(|name| (base.join(name), scope)).collect()
    }

    /// A project's file counts only as it was trusted, and what it names is not touched before.
    fn add_project(&mut self, places: &Places, trust: &Trust) {
        let candidates =
            places.project_directories().into_iter().map(|directory| directory.join(".posse/config.toml"));
        let Some(path) = candidates.into_iter().find(|path| path.exists()) else { return };
        let bytes = match read_regular(&path) {
            Ok(bytes) => bytes,
            Err(problem) => return self.problems.push(problem),
        };
        let item = Item::new(&path, None, &bytes);
        let trusted = trust.holds(&item);
        self.project_item = Some(item);
        if trusted {
            self.add(&path, bytes, Layer::Project);
        } else {
            let message = "the project's configuration is not trusted and was not used";
            let diagnostic = Diagnostic::new(Code::ConfigUntrusted, message)
                .with_help("look at it, then run `posse trust`");
            self.problems.push(diagnostic.at_path(path.display().to_string()));
            let mut preview = Config { settings: self.settings.clone(), ..Config::default() };
            preview.add(&path, bytes, Layer::Project);
            preview.settings.retain(|_, setting| setting.layer == Layer::Project);
            self.untrusted = Some(Box::new(preview));
        }
    }

    fn add_file(&mut self, path: &Path, layer: Layer) {
        if !path.exists() {
            return;
        }
        match read_regular(path) {
            Ok(bytes) => self.add(path, bytes, layer),
            Err(problem) => self.problems.push(problem),
        }
    }

    fn add(&mut self, path: &Path, bytes: Vec<u8>, layer: Layer) {
        let shown = path.display().to_string();
        let source = match Source::decode(bytes) {
            Ok(source) => source,
            Err(diagnostic) => {
                return self
                    .problems
                    .push(Diagnostic { code: Code::ConfigBroken, ..diagnostic }.at_path(shown));
            }
        };
        let mut file = ConfigFile { source: &source, path: shown, layer, config: self };
        match toml::parse(source.text()) {
            Ok(node) => file.take("", node.entries().unwrap_or_default()),
            Err((message, span)) => {
                file.say(Code::ConfigBroken, format!("not valid TOML: {message}"), None, span);
            }
        }
    }
}

/// One file while it is taken in.
struct ConfigFile<'a> {
    source: &'a Source,
    path: String,
    layer: Layer,
    config: &'a mut Config,
}

impl ConfigFile<'_> {
    fn take(&mut self, prefix: &str, entries: &[Entry]) {
        for entry in entries {
            let key = if prefix.is_empty() { entry.key.clone() } else { format!("{prefix}.{}", entry.key) };
            match KEYS.iter().find(|known| known.matches(&key)) {
                Some(known) => self.set(known, &key, entry),
                None if KEYS.iter().any(|known| known.is_below(&key)) => match entry.value.entries() {
                    Some(entries) => self.take(&key, entries),
                    None => self.wrong_kind(&key, "a table", &entry.value),
                },
                None => self.unknown(&key, entry),
            }
        }
    }

    fn set(&mut self, known: &Key, key: &str, entry: &Entry) {
        if self.layer == Layer::Project && known.in_project == InProject::Never {
            let help = "set it in your own configuration; a project may not";
            return self.say(
                Code::ConfigForbidden,
                format!("`{key}` may not be set by a project"),
                Some(help.into()),
                entry.key_span,
            );
        }
        let Some(value) = accepts(known.takes, &entry.value) else {
            return self.wrong_kind(key, known.takes.describe(), &entry.value);
        };
        if self.layer == Layer::Project && known.in_project == InProject::MayLower {
            let current = self.config.get(key).map(|setting| &setting.value);
            if is_higher(known, &value, current) {
                let help = "a project may only lower a limit";
                let message = format!("`{key}` is above the limit in force");
                return self.say(Code::ConfigForbidden, message, Some(help.into()), entry.value.span);
            }
        }
        let line = self.source.place(entry.key_span).line;
        let setting = Setting { value, layer: self.layer, path: self.path.clone(), line };
        self.config.settings.insert(key.to_owned(), setting);
    }

    fn wrong_kind(&mut self, key: &str, expected: &str, found: &Node) {
        let found_text = found
            .scalar()
            .map_or_else(|| found.kind_name().to_owned(), |scalar| format!("`{}`", scalar.text));
        self.say(Code::ConfigValue, format!("`{key}` takes {expected}, not {found_text}"), None, found.span);
    }

    fn unknown(&mut self, key: &str, entry: &Entry) {
        let help =
            closest(key, KEYS.iter().map(|known| known.name)).map(|meant| format!("did you mean `{meant}`?"));
        self.say(Code::ConfigUnknown, format!("unknown key `{key}`"), help, entry.key_span);
    }

    fn say(&mut self, code: Code, message: String, help: Option<String>, span: Span) {
        let mut diagnostic = Diagnostic::new(code, message).at_path(self.path.clone());
        diagnostic.help = help;
        diagnostic.place = Some(self.source.place(span));
        self.config.problems.push(diagnostic);
    }
}

/// True when a problem means that the configuration must not be used as it is.
pub fn is_fatal(problem: &Diagnostic) -> bool {
    problem.severity == Severity::Error
}

#[cfg(test)]
mod tests;
