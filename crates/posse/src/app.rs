//! What every command starts from: places, configuration, trust and the registry.

use std::path::{Path, PathBuf};

use posse_core::diagnostic::Diagnostic;
use posse_core::registry::Registry;
use posse_runtime::config::is_fatal;
use posse_runtime::discover::Discovered;
use posse_runtime::{Config, Discovery, Places, Trust, discover};

use crate::cli::Global;
use crate::error::{CommandError, Kind};
use crate::print::{DIM, Level, Printer, styled};

/// A command's surroundings.
#[derive(Debug)]
pub struct App {
    /// Where to look and write.
    pub places: Places,
    /// How to print.
    pub printer: Printer,
    /// What is configured.
    pub config: Config,
    /// The file that stands in for the person's own configuration.
    named_config: Option<PathBuf>,
    /// What is trusted.
    pub trust: Trust,
    /// Who asks.
    pub caller: String,
    agents: Option<String>,
}

impl App {
    /// Decides everything that the global options and the environment decide.
    pub fn new(global: &Global) -> Result<App, CommandError> {
        let cwd = working_directory(global.cwd.as_deref())?;
        App::at(Places::from_variables(cwd, |name| std::env::var_os(name)), global)
    }

    fn at(places: Places, global: &Global) -> Result<App, CommandError> {
        let printer = Printer { level: level(global), json: global.json, places: Some(places.clone()) };
        let trust = Trust::load(places.state.as_deref()).map_err(|error| {
            CommandError::new(Kind::Internal, format!("cannot read what is trusted: {error}"))
                .with_help("mend or remove the file; without it nothing of a project is trusted")
        })?;
        let named = global.config.as_deref().map(|file| places.cwd.join(file));
        let config = Config::load(&places, &trust, named.as_deref());
        let caller = global.caller.clone().unwrap_or_else(|| "cli".to_owned());
        let agents = global.agents.clone();
        Ok(App { places, printer, config, named_config: named, trust, caller, agents })
    }

    /// The same app for another directory.
    pub fn in_directory(&self, directory: &Path, global: &Global) -> Result<App, CommandError> {
        let cwd = std::path::absolute(self.places.cwd.join(directory))?;
        if !cwd.is_dir() {
            return Err(CommandError::new(
                Kind::Usage,
                format!("{} is not a directory", directory.display()),
            ));
        }
        App::at(Places { cwd: cwd.canonicalize()?, ..self.places.clone() }, global)
    }

    /// The person's own configuration, whether it is there or not.
    pub fn config_file(&self) -> Option<PathBuf> {
        let own = self.places.posse_config.as_ref().map(|directory| directory.join("config.toml"));
        self.named_config.clone().or(own)
    }

    /// Reads every place; a configuration with errors stops here, since it could have forbidden something.
    pub fn discover(&self) -> Result<Discovered, CommandError> {
        let fatal: Vec<Diagnostic> =
            self.config.problems.iter().filter(|problem| is_fatal(problem)).cloned().collect();
        if !fatal.is_empty() {
            let error = CommandError::new(Kind::Definition, "the configuration cannot be used");
            return Err(error
                .with_help("correct it as its lines say; `posse trust --revoke` puts a project's configuration out of use")
                .with_problems(fatal));
        }
        self.warn_about_config()?;
        self.discover_anyway()
    }

    /// Reads every place, whatever is wrong with the configuration.
    pub fn discover_anyway(&self) -> Result<Discovered, CommandError> {
        let cli = self.agents.as_deref().map(|agents| self.read_agents_option(agents)).transpose()?;
        let discovery = Discovery { places: &self.places, config: &self.config, trust: &self.trust, cli };
        let discovered = discover(&discovery);
        for (scope, place, count) in &discovered.counts {
            let line = format!("{count:>5} from {} ({})", self.printer.shown(place), scope.as_str());
            self.printer.detail(&styled(DIM, &line))?;
        }
        Ok(discovered)
    }

    fn warn_about_config(&self) -> Result<(), CommandError> {
        Ok(self.printer.diagnostics(&self.config.problems)?)
    }

    /// The bytes of `--agents`, given as JSON or as `@FILE`; anything but an object is an error.
    fn read_agents_option(&self, agents: &str) -> Result<(String, Vec<u8>), CommandError> {
        let (name, bytes) = match agents.strip_prefix('@') {
            None => ("--agents".to_owned(), agents.as_bytes().to_vec()),
            Some(file) => match std::fs::read(self.places.cwd.join(file)) {
                Ok(bytes) => (file.to_owned(), bytes),
                Err(error) => {
                    return Err(CommandError::new(Kind::Usage, format!("--agents: {file}: {error}")));
                }
            },
        };
        if name == "--agents" && self.places.cwd.join(agents).is_file() {
            let error = CommandError::new(Kind::Usage, "--agents takes JSON, or a file after an @");
            return Err(error.with_help(format!("did you mean `--agents @{agents}`?")));
        }
        match serde_json::from_slice::<serde_json::Value>(&bytes) {
            Ok(serde_json::Value::Object(_)) => Ok((name, bytes)),
            Ok(_) => Err(agents_error(&name, "not a JSON object")),
            Err(error) => Err(agents_error(&name, &format!("not valid JSON: {error}"))),
        }
    }

    /// Says what is wrong with things that are not definitions, so that nothing is skipped in silence.
    pub fn report(&self, registry: &Registry) -> Result<(), CommandError> {
        Ok(self.printer.diagnostics(&registry.problems)?)
    }

    /// The directory that remembers, which some commands cannot do without.
    pub fn state(&self) -> Result<&Path, CommandError> {
        self.places.state.as_deref().ok_or_else(|| {
            CommandError::new(Kind::Usage, "there is no home directory to remember trust in")
                .with_help("set HOME or POSSE_HOME to an absolute path")
        })
    }
}

fn agents_error(name: &str, what: &str) -> CommandError {
    let message =
        if name == "--agents" { format!("--agents: {what}") } else { format!("--agents: {name}: {what}") };
    CommandError::new(Kind::Definition, message)
        .with_help("write {\"name\": {\"description\": …, \"prompt\": …}}")
}

fn level(global: &Global) -> Level {
    match (global.quiet, global.verbose) {
        (true, _) => Level::Quiet,
        (false, 0) => Level::Normal,
        (false, _) => Level::Verbose,
    }
}

fn working_directory(wanted: Option<&Path>) -> Result<PathBuf, CommandError> {
    let current = std::env::current_dir()?;
    let Some(wanted) = wanted else { return Ok(current) };
    let directory = current.join(wanted);
    match directory.canonicalize() {
        Ok(directory) if directory.is_dir() => Ok(directory),
        _ => Err(CommandError::new(Kind::Usage, format!("-C: {} is not a directory", wanted.display()))),
    }
}
