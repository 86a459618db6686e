//! Files on disk to a registry: which places are read, in which order, and what of them is trusted.

mod pair;
mod plugin;
mod schema;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use posse_core::definition::family::{FAMILIES, Family, Layout, clues, directory_of, in_family};
use posse_core::definition::read::{Clues, File, PlaceKind, Reading, read};
use posse_core::definition::{Dialect, Scope};
use posse_core::diagnostic::{Code, Diagnostic};
use posse_core::registry::{Duplicates, Found, Rank, Registry};

use crate::builtin::BUILTINS;
use crate::config::Config;
use crate::file::read_regular;
use crate::places::Places;
use crate::trust::{Item, Trust};
use crate::walk::{Depth, Walker};

/// What discovery goes by.
#[derive(Debug)]
pub struct Discovery<'a> {
    /// Where to look.
    pub places: &'a Places,
    /// What the configuration says about reading.
    pub config: &'a Config,
    /// What of a project may be used.
    pub trust: &'a Trust,
    /// Definitions given on the command line, and what to call their source.
    pub cli: Option<(String, Vec<u8>)>,
}

/// A registry, and what a project in it asks a person to trust.
#[derive(Debug)]
pub struct Discovered {
    /// Every definition that can be named.
    pub registry: Registry,
    /// What of the project needs trust, trusted or not.
    pub items: Vec<Item>,
    /// How many definitions each place gave, in the order read.
    pub counts: Vec<(Scope, String, usize)>,
}

/// Reads every place.
pub fn discover(discovery: &Discovery<'_>) -> Discovered {
    let mut reader = Reader {
        discovery,
        walker: Walker::default(),
        found: Vec::new(),
        items: Vec::new(),
        counts: Vec::new(),
    };
    reader.read_all();
    let Reader { walker, found, items, counts, .. } = reader;
    let mut registry = Registry::collect(found, discovery.config.duplicates());
    registry.problems.extend(walker.problems);
    Discovered { registry, items, counts }
}

/// Definitions read from files that a person named.
#[derive(Debug)]
pub struct Checked {
    /// What was read, each directory family by itself.
    pub registry: Registry,
    /// How many files were looked into.
    pub files: usize,
    /// The files that were named one by one, as their paths are shown.
    pub named: HashSet<String>,
}

/// Reads files and whole directories, wherever they are.
pub fn read_paths(paths: &[PathBuf]) -> Checked {
    let mut walker = Walker::skipping(&[".git", "node_modules", "target"]);
    let mut files: Vec<String> = Vec::new();
    let named: HashSet<String> = paths.iter().filter(|path| !path.is_dir()).map(|path| shown(path)).collect();
    for path in paths {
        let candidates = if path.is_dir() {
            walker.files(path, Depth::Tree, &may_hold_agents)
        } else {
            walker.new_ones(vec![path.clone()])
        };
        files.extend(candidates.iter().map(|file| shown(file)));
    }
    let read = in_parallel(&files, |file| {
        let clues = if named.contains(file) { clues_of_named(file) } else { clues(file) };
        (clues.place, load(Path::new(file), clues, None))
    });
    let mut found = Vec::new();
    let mut directories: HashMap<&str, usize> = HashMap::new();
    for (index, (file, (place, readings))) in files.iter().zip(read).enumerate() {
        let rank = match place {
            PlaceKind::Family => rank_in_family(file, index, &mut directories),
            PlaceKind::Likely | PlaceKind::Elsewhere | PlaceKind::Never => rank_alone(index),
        };
        match readings {
            Ok(readings) => found.extend(readings.into_iter().map(|reading| Found {
                reading,
                path: Some(file.clone()),
                scope: Scope::Project,
                rank,
                trusted: true,
            })),
            Err(problem) => walker.problems.push(problem),
        }
    }
    let mut registry = Registry::collect(found, Duplicates::Shadow);
    registry.problems.extend(walker.problems);
    Checked { registry, files: files.len(), named }
}

/// A file that a person names is likely an agent, wherever it is.
fn clues_of_named(path: &str) -> Clues {
    let clues = clues(path);
    let place = if clues.place == PlaceKind::Elsewhere { PlaceKind::Likely } else { clues.place };
    Clues { place, ..clues }
}

/// A path as it was given, without a leading `./`.
fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    text.strip_prefix("./").unwrap_or(&text).to_owned()
}

/// The most threads that read files at once.
const READERS_MAX: usize = 8;
/// How many files a thread takes at a time.
const FILES_AT_A_TIME: usize = 64;

/// What `work` makes of each file, in their order.
fn in_parallel<F: Sync, T: Send>(files: &[F], work: impl Fn(&F) -> T + Sync) -> Vec<T> {
    let parts: Vec<&[F]> = files.chunks(FILES_AT_A_TIME).collect();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let readers = cores.min(READERS_MAX).min(parts.len());
    if readers <= 1 {
        return files.iter().map(work).collect();
    }
    // Taken one by one: files differ too much in size to be shared out beforehand.
    let next = AtomicUsize::new(0);
    let read_parts = || {
        let mut done: Vec<(usize, Vec<T>)> = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(index) else { return done };
            done.push((index, part.iter().map(&work).collect()));
        }
    };
    let mut done: Vec<(usize, Vec<T>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..readers).map(|_| scope.spawn(read_parts)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("reading never panics")).collect()
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().flat_map(|(_, part)| part).collect()
}

/// A file that shares its place with no other.
fn rank_alone(index: usize) -> Rank {
    Rank { distance: index, family: usize::MAX }
}

/// Files of one family directory are read together, so that a name twice in it is found.
fn rank_in_family<'a>(path: &'a str, index: usize, directories: &mut HashMap<&'a str, usize>) -> Rank {
    match directory_of(path) {
        None => rank_alone(index),
        Some(directory) => {
            let next = directories.len();
            Rank { distance: usize::MAX, family: *directories.entry(directory).or_insert(next) }
        }
    }
}

/// True for the names under which some tool keeps agents.
fn may_hold_agents(path: &Path) -> bool {
    let text = path.to_string_lossy();
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(extension) if extension.eq_ignore_ascii_case("md") => true,
        Some("toml") => text.contains("agents/"),
        Some("json") => {
            text.ends_with("/agents.json") || text == "agents.json" || text.contains(".netclaw/agents/")
        }
        _ => false,
    }
}

/// Reads a file, and the files beside it where a prompt or a schema is kept apart. Everything whose change asks
/// for trust again is added to `content`, where somebody wants it.
fn load(path: &Path, clues: Clues, content: Option<&mut Vec<u8>>) -> Result<Vec<Reading>, Diagnostic> {
    // What its name already tells apart need not be opened.
    let bytes = if clues.place == PlaceKind::Never { Vec::new() } else { read_regular(path)? };
    let prompt = pair::prompt_of(path, &bytes, &clues);
    let own = content.as_ref().map(|_| match &prompt {
        // The length between them: no other pair of files may add up to the same bytes.
        Some(Ok(prompt)) => [&(bytes.len() as u64).to_le_bytes()[..], &bytes, prompt].concat(),
        Some(Err(_)) | None => bytes.clone(),
    });
    let file = File { path: path.display().to_string(), bytes, clues };
    let mut readings = match prompt {
        Some(prompt) => pair::read_with_prompt(file, prompt),
        None => read(file),
    };
    if pair::is_only_a_prompt(path, &readings) {
        readings.clear();
    }
    let schemas = schema::load(path, &mut readings);
    if let (Some(content), Some(own)) = (content, own) {
        *content = schemas.into_iter().fold(own, |content, schema| {
            [&(content.len() as u64).to_le_bytes()[..], &content, &schema].concat()
        });
    }
    Ok(readings)
}

/// Reads content as if it were the file at `path`.
pub fn read_as(path: &str, bytes: Vec<u8>) -> Vec<Reading> {
    read(File { path: path.to_owned(), bytes, clues: clues(path) })
}

/// Reads the one file a person names, in the dialect they name, if they do.
pub fn read_one(path: &Path, dialect: Option<Dialect>) -> Result<Vec<Reading>, Diagnostic> {
    let mut clues = clues_of_named(&path.display().to_string());
    if dialect.is_some() {
        clues.dialect = dialect;
        clues.place = PlaceKind::Family;
    }
    load(path, clues, None)
}

struct Reader<'a> {
    discovery: &'a Discovery<'a>,
    walker: Walker,
    found: Vec<Found>,
    items: Vec<Item>,
    counts: Vec<(Scope, String, usize)>,
}

/// One directory or file to read, and how its content ranks.
struct Place<'a> {
    family: Option<&'a Family>,
    path: PathBuf,
    scope: Scope,
    rank: Rank,
}

impl Reader<'_> {
    /// In order of precedence: a file that two places of one scope share counts for the first.
    fn read_all(&mut self) {
        let places = self.discovery.places;
        let managed = places.managed.join("agents");
        self.read_place(&Place {
            family: Some(&FAMILIES[0]),
            path: managed,
            scope: Scope::Managed,
            rank: Rank { distance: 0, family: 0 },
        });
        self.read_extra_directories(Scope::Managed);
        self.read_cli();
        self.walker.enter_scope();
        for (distance, directory) in places.project_directories().into_iter().enumerate() {
            for (index, family) in FAMILIES.iter().enumerate() {
                let rank = Rank { distance, family: index };
                self.read_place(&Place {
                    family: Some(family),
                    path: directory.join(family.project),
                    scope: Scope::Project,
                    rank,
                });
            }
        }
        self.read_extra_directories(Scope::Project);
        self.walker.enter_scope();
        for (index, family) in FAMILIES.iter().enumerate() {
            for path in user_directories(places, family) {
                self.read_place(&Place {
                    family: Some(family),
                    path,
                    scope: Scope::User,
                    rank: Rank { distance: 0, family: index },
                });
            }
        }
        self.read_extra_directories(Scope::User);
        self.walker.enter_scope();
        self.read_plugins();
        self.read_builtins();
    }

    fn read_cli(&mut self) {
        let Some((path, bytes)) = self.discovery.cli.clone() else { return };
        let clues = Clues {
            dialect: Some(Dialect::Claude),
            place: PlaceKind::Family,
            stem: "agents".into(),
            folder: None,
        };
        let before = self.found.len();
        let name = if path.ends_with(".json") { path.clone() } else { format!("{path}.json") };
        for mut reading in read(File { path: name, bytes, clues }) {
            for diagnostic in &mut reading.diagnostics {
                diagnostic.path = Some(path.clone());
            }
            let rank = Rank { distance: 0, family: 0 };
            self.found.push(Found {
                reading,
                path: Some(path.clone()),
                scope: Scope::Cli,
                rank,
                trusted: true,
            });
        }
        self.counts.push((Scope::Cli, path, self.found.len() - before));
    }

    fn read_extra_directories(&mut self, scope: Scope) {
        let directories = self.discovery.config.agents_dirs().iter().filter(|(_, of)| *of == scope);
        for (index, (directory, _)) in directories.enumerate() {
            let path = self.discovery.places.cwd.join(directory);
            if !path.is_dir() {
                let message = "named by `agents_dirs` and not a directory";
                let problem = Diagnostic::new(Code::Unreadable, message)
                    .with_help("make it one, or take it out of `agents_dirs`");
                self.walker.problems.push(problem.at_path(path.display().to_string()));
                continue;
            }
            let rank = Rank { distance: usize::MAX, family: index };
            self.read_place(&Place { family: None, path, scope, rank });
        }
    }

    fn read_place(&mut self, place: &Place<'_>) {
        let before = self.found.len();
        let files = match place.family.map(|family| family.layout) {
            None => self.walker.files(&place.path, Depth::Tree, &may_hold_agents),
            Some(Layout::Tree(extensions)) => {
                self.walker.files(&place.path, Depth::Tree, &|path| has_extension(path, extensions))
            }
            Some(Layout::Flat(extensions)) => {
                self.walker.files(&place.path, Depth::Flat, &|path| has_extension(path, extensions))
            }
            Some(Layout::Folders) => {
                let files = self.agent_folders(&place.path);
                self.walker.new_ones(files)
            }
            Some(Layout::OneFile) => {
                let there = std::fs::symlink_metadata(&place.path).is_ok();
                self.walker.new_ones(there.then(|| place.path.clone()).into_iter().collect())
            }
        };
        let trust = self.discovery.trust;
        for (file, read) in files.iter().zip(in_parallel(&files, |file| read_found(file, place, trust))) {
            match read {
                Ok(read) => self.keep(file, place, read),
                Err(problem) => self.walker.problems.push(problem),
            }
        }
        let count = self.found.len() - before;
        if count > 0 {
            self.counts.push((place.scope, place.path.display().to_string(), count));
        }
    }

    /// The file `agent.md` of each folder; `main` is the frontline agent's.
    fn agent_folders(&mut self, directory: &Path) -> Vec<PathBuf> {
        let folders = self.walker.folders(directory);
        let files =
            folders.into_iter().filter(|folder| folder.file_name().is_some_and(|name| name != "main"));
        files
            .map(|folder| folder.join("agent.md"))
            .filter(|file| std::fs::symlink_metadata(file).is_ok())
            .collect()
    }

    fn keep(&mut self, file: &Path, place: &Place<'_>, read: Vec<(Reading, Option<Trusted>)>) {
        for (reading, trusted) in read {
            let holds = trusted.as_ref().is_none_or(|trusted| trusted.holds);
            if reading.definition().is_some() {
                self.items.extend(trusted.map(|trusted| trusted.item));
            }
            let path = Some(file.display().to_string());
            self.found.push(Found { reading, path, scope: place.scope, rank: place.rank, trusted: holds });
        }
    }

    /// Claude plugins that are installed and not switched off.
    fn read_plugins(&mut self) {
        let Some(claude) = self.discovery.places.home.as_ref().map(|home| home.join(".claude")) else {
            return;
        };
        let project = self.discovery.places.project_directories();
        let directories = match plugin::directories(&claude, &project) {
            Ok(directories) => directories,
            Err(problem) => return self.walker.problems.push(problem),
        };
        for (index, path) in directories.into_iter().enumerate() {
            let family = FAMILIES.iter().find(|family| family.dialect == Dialect::Claude);
            let rank = Rank { distance: 0, family: index };
            self.read_place(&Place { family, path: path.join("agents"), scope: Scope::Plugin, rank });
        }
    }

    fn read_builtins(&mut self) {
        for builtin in BUILTINS {
            let clues = clues(&format!(".posse/agents/{}", builtin.file));
            let path = format!("builtin:{}", builtin.file);
            for reading in read(File { path, bytes: builtin.text.as_bytes().to_vec(), clues }) {
                let rank = Rank { distance: 0, family: 0 };
                self.found.push(Found { reading, path: None, scope: Scope::Builtin, rank, trusted: true });
            }
        }
        self.counts.push((Scope::Builtin, "builtin".to_owned(), BUILTINS.len()));
    }
}

/// What of a project needs trust, and whether it has it.
struct Trusted {
    item: Item,
    holds: bool,
}

/// Reads one file of a place; only what a project holds needs trust.
fn read_found(
    file: &Path,
    place: &Place<'_>,
    trust: &Trust,
) -> Result<Vec<(Reading, Option<Trusted>)>, Diagnostic> {
    // What is hashed is exactly what is used.
    let mut content = (place.scope == Scope::Project).then(Vec::new);
    let readings = load(file, clues_in(file, place), content.as_mut())?;
    let whole = content.map(|content| Item::new(file, None, &content));
    let with_trust = |reading: Reading| {
        let trusted = whole.as_ref().map(|whole| {
            let item = match (&reading.entry, &reading.name) {
                (Some(entry), Some(name)) => Item::new(file, Some(name), entry.as_bytes()),
                _ => whole.clone(),
            };
            Trusted { holds: trust.holds(&item), item }
        });
        (reading, trusted)
    };
    Ok(readings.into_iter().map(with_trust).collect())
}

fn clues_in(file: &Path, place: &Place<'_>) -> Clues {
    let Some(family) = place.family else { return clues(&file.display().to_string()) };
    let folder = file.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let below = file.strip_prefix(&place.path).ok().and_then(Path::parent);
    let below: Vec<String> =
        below.into_iter().flat_map(Path::iter).map(|part| part.to_string_lossy().into_owned()).collect();
    let below: Vec<&str> = below.iter().map(String::as_str).collect();
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    in_family(family, &name, &below, folder)
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    // Markdown is Markdown in any case; the other readers go by the exact ending.
    extensions.contains(&extension) || (extension.eq_ignore_ascii_case("md") && extensions.contains(&"md"))
}

fn user_directories(places: &Places, family: &Family) -> Vec<PathBuf> {
    let own = (family.dialect == Dialect::Posse && family.home.is_none())
        .then(|| places.posse_config.as_ref().map(|config| config.join("agents")));
    let config = match own {
        Some(own) => own,
        None => family.config.and_then(|below| places.config.as_ref().map(|config| config.join(below))),
    };
    let home = family.home.and_then(|below| places.home.as_ref().map(|home| home.join(below)));
    config.into_iter().chain(home).collect()
}
