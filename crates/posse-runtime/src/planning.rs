//! From an entry of the registry to a plan: everything the core needs to decide, looked up beforehand.

use std::path::{Path, PathBuf};

use posse_core::definition::Definition;
use posse_core::plan::{
    Choice, ContextFile, DefinitionSource, Plan, Refusal, RefusalKind, Request, Setting, Settings,
    Surroundings, resolve,
};
use posse_core::registry::Entry;
use posse_core::time::Time;
use serde_json::Value;

use crate::cassette::Frozen;
use crate::config::Config;
use crate::file::read_regular;
use crate::providers::Providers;

/// The most bytes of one context file.
const CONTEXT_FILE_BYTES_MAX: usize = 65_536;
/// The files that `context_files: true` means.
const CONTEXT_FILES: &[&str] = &["CLAUDE.md", "AGENTS.md"];

/// What a plan is made from.
pub struct Planning<'a> {
    /// The entry to run.
    pub entry: &'a Entry,
    /// What is asked.
    pub request: Request,
    /// What is configured.
    pub settings: &'a Settings,
    /// What models there are.
    pub providers: &'a Providers,
    /// The tools there are.
    pub tools: &'a [&'a str],
    /// The directory to work in.
    pub workspace: PathBuf,
    /// The project's directories, the nearest first: where context files are looked for.
    pub directories: Vec<PathBuf>,
    /// What time it is.
    pub now: Time,
    /// What was recorded, when a recorded run is replayed.
    pub frozen: Option<&'a Frozen>,
}

/// The configuration as the core takes it.
pub fn settings(config: &Config) -> Settings {
    let setting = |(key, setting): (&str, &crate::config::Setting)| {
        let from = format!("{}:{}", setting.path, setting.line);
        (key.to_owned(), Setting { value: setting.value.clone(), from })
    };
    Settings(config.settings().map(setting).collect())
}

impl Planning<'_> {
    /// Makes the plan. Servers of this machine are only looked for when nothing else names a model.
    pub async fn plan(&self) -> Result<Plan, Refusal> {
        let Some(definition) = self.entry.definition() else {
            return Err(Refusal::unplannable("the definition cannot be used", "`posse check` says why"));
        };
        self.refuse_changed_recording(definition)?;
        let mut models = self.providers.world();
        models.recorded = self.frozen.map(|frozen| frozen.model.clone());
        let frozen_workspace = self.frozen.map(|frozen| frozen.workspace.clone());
        let workspace = self.workspace.display().to_string();
        let mut surroundings = Surroundings {
            source: DefinitionSource {
                path: self.entry.found.path.clone(),
                scope: self.entry.found.scope.as_str().to_owned(),
                dialect: definition.dialect.as_str().to_owned(),
            },
            scope: self.entry.found.scope,
            settings: self.settings,
            models: &models.clone(),
            tools: self.tools,
            workspace_shown: frozen_workspace.filter(|shown| *shown != workspace),
            workspace,
            date: self.frozen.map_or_else(|| self.now.date(), |frozen| frozen.date.clone()),
            platform: self.frozen.map_or_else(platform, |frozen| frozen.platform.clone()),
            context_files: self.context_files(definition)?,
        };
        let decided = match resolve(definition, &self.request, &surroundings) {
            Err(Refusal { kind: RefusalKind::LookForServers, .. }) => {
                models.servers = Some(self.providers.find_servers().await);
                surroundings.models = &models;
                resolve(definition, &self.request, &surroundings)
            }
            decided => decided,
        };
        let mut plan = decided?;
        if let Some(frozen) = self.frozen {
            plan.compaction_model = Choice::new(frozen.compaction_model.clone(), "the recording");
        }
        Ok(plan)
    }

    fn refuse_changed_recording(&self, definition: &Definition) -> Result<(), Refusal> {
        let Some(frozen) = self.frozen else { return Ok(()) };
        let wanted = model_wanted(definition, &self.request);
        if wanted == frozen.model_wanted {
            return Ok(());
        }
        let name = |model: &Option<String>| model.clone().unwrap_or_else(|| "the default".to_owned());
        let message = format!(
            "the recording was made for the model `{}`, not `{}`",
            name(&frozen.model_wanted),
            name(&wanted)
        );
        Err(Refusal::unplannable(message, "record it again with --record"))
    }

    fn context_files(&self, definition: &Definition) -> Result<Vec<ContextFile>, Refusal> {
        let wanted = definition.context_files.clone();
        let wanted =
            wanted.or_else(|| self.settings.get("context_files").map(|setting| setting.value.clone()));
        let names: Vec<String> = match wanted {
            Some(Value::Bool(true)) => CONTEXT_FILES.iter().map(|name| (*name).to_owned()).collect(),
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => return Ok(Vec::new()),
        };
        let is_named = !matches!(definition.context_files, None | Some(Value::Bool(_)));
        let mut files = Vec::new();
        for name in names {
            match self.context_file(&name)? {
                Some(file) => files.push(file),
                None if is_named => {
                    let message = format!("the context file `{name}` is not in the workspace");
                    return Err(Refusal::unplannable(message, "correct `context_files`, or add the file"));
                }
                None => {}
            }
        }
        Ok(files)
    }

    /// The nearest file of that name, from the workspace up to the project's root.
    fn context_file(&self, name: &str) -> Result<Option<ContextFile>, Refusal> {
        let root = self.directories.last().cloned().unwrap_or_else(|| self.workspace.clone());
        let places = std::iter::once(&self.workspace).chain(&self.directories);
        let Some(path) = places.map(|directory| directory.join(name)).find(|path| path.is_file()) else {
            return Ok(None);
        };
        let refuse = |what: &str| {
            Refusal::unplannable(format!("the context file `{name}` {what}"), "correct `context_files`")
        };
        if !is_below(&path, &root) {
            return Err(refuse("leads out of the project"));
        }
        let bytes = read_regular(&path).map_err(|problem| refuse(&problem.message))?;
        if bytes.len() > CONTEXT_FILE_BYTES_MAX {
            return Err(refuse(&format!(
                "has {} bytes; {CONTEXT_FILE_BYTES_MAX} are the limit",
                bytes.len()
            )));
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        Ok(Some(ContextFile { path: name.to_owned(), text }))
    }
}

fn is_below(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

/// The model as it was asked for.
pub fn model_wanted(definition: &Definition, request: &Request) -> Option<String> {
    request.model.clone().or_else(|| definition.model.as_ref().map(|model| model.written.clone()))
}

fn platform() -> String {
    std::env::consts::OS.to_owned()
}
