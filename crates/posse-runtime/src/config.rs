//! Configuration: files layered key by key, each value with the line it came from.
//!
//! Which keys exist, what they take and what a project may set is a table; nothing here acts on them.

mod keys;
mod remember;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use posse_core::definition::Scope;
use posse_core::definition::node::{Entry, Node};
use posse_core::definition::source::Source;
use posse_core::definition::toml;
use posse_core::diagnostic::{Code, Diagnostic, Severity, Span};
use posse_core::grant::SCOPES;
use posse_core::registry::Duplicates;
use posse_core::text::closest;
use serde_json::Value;

use crate::file::read_regular;
use crate::places::Places;
use crate::trust::{Item, Trust};
pub use remember::allow_always;

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
    agents_dirs: Vec<(PathBuf, Scope)>,
    /// What is wrong with the files.
    pub problems: Vec<Diagnostic>,
    /// The project's files, the nearest first, for `trust`.
    pub project_items: Vec<Item>,
    /// What each file that is not trusted would set, and what is wrong with it.
    pub untrusted: Vec<(Item, Config)>,
}

impl Config {
    /// Reads and layers the files; `named` stands in for the user's own.
    pub fn load(places: &Places, trust: &Trust, named: Option<&Path>) -> Config {
        let mut config = Config::default();
        match (named, &places.posse_config) {
            (Some(path), _) if !path.try_exists().unwrap_or(true) => {
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

    /// Further directories to read, and the scope of what is in them; every layer may name some.
    pub fn agents_dirs(&self) -> &[(PathBuf, Scope)] {
        &self.agents_dirs
    }

    /// The nearest trusted file of a project counts; what is not trusted switches nothing off and is not used.
    fn add_project(&mut self, places: &Places, trust: &Trust) {
        let mut used = false;
        for directory in places.project_directories() {
            let path = directory.join(".posse/config.toml");
            if std::fs::symlink_metadata(&path).is_err() {
                continue;
            }
            let bytes = match read_regular(&path) {
                Ok(bytes) => bytes,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let item = Item::new(&path, None, &bytes);
            self.project_items.push(item.clone());
            if !trust.holds(&item) {
                self.add_untrusted(&path, bytes, item);
            } else if !used {
                used = true;
                self.add(&path, bytes, Layer::Project);
            }
        }
    }

    fn add_untrusted(&mut self, path: &Path, bytes: Vec<u8>, item: Item) {
        let message = "the project's configuration is not trusted and was not used";
        let diagnostic =
            Diagnostic::new(Code::ConfigUntrusted, message).with_help("look at it, then run `posse trust`");
        self.problems.push(diagnostic.at_path(path.display().to_string()));
        let mut preview = Config { settings: self.settings.clone(), ..Config::default() };
        preview.add(path, bytes, Layer::Project);
        preview.settings.retain(|_, setting| setting.path == path.display().to_string());
        self.untrusted.push((item, preview));
    }

    fn add_file(&mut self, path: &Path, layer: Layer) {
        // A file that is there and cannot be looked at is an error: it could have forbidden something.
        if std::fs::symlink_metadata(path).is_err_and(|error| is_absent(&error)) {
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
        if source.first_bad_byte().is_some() {
            let diagnostic = Diagnostic::new(Code::ConfigBroken, "the file is not valid UTF-8");
            return self.problems.push(diagnostic.with_help("save it as UTF-8").at_path(shown));
        }
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
            // A scope that does not exist would restrict nothing.
            if prefix == "ceilings" && !SCOPES.contains(&entry.key.as_str()) {
                self.unknown(&key, entry);
                continue;
            }
            let is_table = KEYS.iter().any(|known| known.is_below(&key));
            match (KEYS.iter().find(|known| known.matches(&key)), entry.value.entries()) {
                (_, Some(entries)) if is_table => self.take(&key, entries),
                (Some(known), _) => self.set(known, &key, entry),
                (None, _) if is_table => self.wrong_kind(&key, "a table", &entry.value),
                (None, _) => self.unknown(&key, entry),
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
            return self.wrong_kind(key, &known.takes.describe(), &entry.value);
        };
        if self.layer == Layer::Project && known.in_project == InProject::MayLower {
            let current = self.config.get(key).map(|setting| &setting.value);
            if is_higher(known, &value, current) {
                let help = "a project may only lower a limit";
                let message = format!("`{key}` is above the limit in force");
                return self.say(Code::ConfigForbidden, message, Some(help.into()), entry.value.span);
            }
        }
        if key == "agents_dirs" {
            self.add_agents_dirs(&value);
        }
        let line = self.source.place(entry.key_span).line;
        let setting = Setting { value, layer: self.layer, path: self.path.clone(), line };
        self.config.settings.insert(key.to_owned(), setting);
    }

    fn add_agents_dirs(&mut self, names: &Value) {
        let directory = Path::new(&self.path).parent().unwrap_or(Path::new("."));
        let (base, scope) = match self.layer {
            Layer::User => (directory, Scope::User),
            // A project names directories from its root, which is above `.posse`.
            Layer::Project => (directory.parent().unwrap_or(directory), Scope::Project),
            Layer::Managed => (directory, Scope::Managed),
        };
        let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
        self.config.agents_dirs.extend(names.map(|name| (base.join(name), scope)));
    }

    fn wrong_kind(&mut self, key: &str, expected: &str, found: &Node) {
        let found_text = found
            .scalar()
            .map_or_else(|| found.kind_name().to_owned(), |scalar| format!("`{}`", scalar.text));
        self.say(Code::ConfigValue, format!("`{key}` takes {expected}, not {found_text}"), None, found.span);
    }

    /// A key that means nothing; where it could have forbidden something, that is an error.
    fn unknown(&mut self, key: &str, entry: &Entry) {
        let tables =
            KEYS.iter().filter_map(|known| known.name.split_once('.')).map(|(table, _)| table.to_owned());
        let scopes = SCOPES.iter().map(|scope| format!("ceilings.{scope}"));
        let names: Vec<String> =
            KEYS.iter().map(|known| known.name_like(key)).chain(tables).chain(scopes).collect();
        let meant = closest(key, names.iter().map(String::as_str).filter(|name| *name != key));
        let help = meant.map(|meant| format!("did you mean `{meant}`?"));
        let operators = |name: &str| {
            KEYS.iter().any(|known| {
                (known.matches(name) || known.is_below(name)) && known.in_project == InProject::Never
            })
        };
        let restricts = self.layer == Layer::Managed || meant.is_some_and(operators);
        self.say(Code::ConfigUnknown, format!("unknown key `{key}`"), help, entry.key_span);
        if let Some(said) = self.config.problems.last_mut().filter(|_| restricts) {
            said.severity = Severity::Error;
        }
    }

    fn say(&mut self, code: Code, message: String, help: Option<String>, span: Span) {
        let mut diagnostic = Diagnostic::new(code, message).at_path(self.path.clone());
        diagnostic.help = help;
        diagnostic.place = Some(self.source.place(span));
        self.config.problems.push(diagnostic);
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// True when a problem means that the configuration must not be used as it is.
pub fn is_fatal(problem: &Diagnostic) -> bool {
    problem.severity == Severity::Error
}

#[cfg(test)]
mod tests;
