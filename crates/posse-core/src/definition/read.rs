//! A file to a definition: which reader, which dialect, agent or not.
//!
//! Reading never fails as a whole: what is wrong becomes diagnostics and a verdict.

use std::collections::HashMap;

use super::dialect::{Dialect, Identity};
use super::field::Field;
use super::frontmatter::{self, Top};
use super::node::{Entry, Node};
use super::normalise::{DIAGNOSTICS_MAX, Normaliser};
use super::recover::read_keys;
use super::source::Source;
use super::{Definition, json, toml};
use crate::diagnostic::{Code, Diagnostic, Severity, Span};

/// A file to read: its bytes, what to call it, and what its place says about it.
#[derive(Debug)]
pub struct File {
    /// The path as the user would name it.
    pub path: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// What its place says about it.
    pub clues: Clues,
}

/// What the place of a file says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clues {
    /// The dialect of the directory family.
    pub dialect: Option<Dialect>,
    /// How sure the place makes us that this is a definition.
    pub place: PlaceKind,
    /// The name the path gives: the stem, below some families with the folders before it.
    pub stem: String,
    /// The name of the folder the file is in.
    pub folder: Option<String>,
}

/// How sure a place makes us that a file in it is a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// A directory that some tool reads agents from.
    Family,
    /// A directory called `agents`, `droids` or the like.
    Likely,
    /// Anywhere else.
    Elsewhere,
    /// A place or file name that holds something else: skills, commands, a README.
    Never,
}

/// What a file, or one entry of it, turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// A definition.
    Agent(Box<Definition>),
    /// A definition that cannot be used; the diagnostics say why.
    Rejected,
    /// Something else, and why.
    NotAnAgent(String),
}

/// The result of reading a file or one entry of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Reading {
    /// What it is.
    pub verdict: Verdict,
    /// The name, as far as it could be read.
    pub name: Option<String>,
    /// The dialect it was read in.
    pub dialect: Dialect,
    /// Everything that was noticed.
    pub diagnostics: Vec<Diagnostic>,
    /// The source of the entry, for files that hold several.
    pub entry: Option<String>,
}

impl Reading {
    /// The definition, if there is one.
    pub fn definition(&self) -> Option<&Definition> {
        match &self.verdict {
            Verdict::Agent(definition) => Some(definition),
            Verdict::Rejected | Verdict::NotAnAgent(_) => None,
        }
    }

    fn not_an_agent(dialect: Dialect, reason: impl Into<String>) -> Reading {
        let verdict = Verdict::NotAnAgent(reason.into());
        Reading { verdict, name: None, dialect, diagnostics: Vec::new(), entry: None }
    }

    fn rejected(name: Option<String>, dialect: Dialect, diagnostics: Vec<Diagnostic>) -> Reading {
        Reading { verdict: Verdict::Rejected, name, dialect, diagnostics, entry: None }
    }
}

/// Reads a file of any dialect; one that holds several definitions gives several readings.
pub fn read(file: File) -> Vec<Reading> {
    let path = file.path.clone();
    let mut readings = match extension(&file.path) {
        "toml" => vec![read_toml(file)],
        "json" => read_json(file),
        _ => vec![read_markdown(file)],
    };
    for diagnostic in readings.iter_mut().flat_map(|reading| &mut reading.diagnostics) {
        diagnostic.path.get_or_insert_with(|| path.clone());
    }
    readings
}

/// Reads a Netclaw definition in JSON with its prompt in `companion`, the file that it names or implies.
pub fn read_pair(file: File, companion: Result<Vec<u8>, Diagnostic>) -> Reading {
    let path = file.path.clone();
    let mut reading = pair(file, companion);
    for diagnostic in &mut reading.diagnostics {
        diagnostic.path.get_or_insert_with(|| path.clone());
    }
    reading
}

/// The prompt file that a Netclaw definition in JSON names, if it names one and needs one.
pub fn prompt_file_of(bytes: &[u8]) -> PromptFile {
    let entries = Source::decode(bytes.to_vec()).ok().and_then(|source| json::parse(source.text()).ok());
    let Some(entries) = entries.as_ref().and_then(Node::entries) else { return PromptFile::Inline };
    let value = |wanted: Field| {
        let entry = entries.iter().find(|entry| Dialect::Netclaw.field(&entry.key) == Some(wanted));
        entry.and_then(|entry| super::value::text(&entry.value)).filter(|text| !text.is_empty())
    };
    match (value(Field::Prompt), value(Field::PromptFile)) {
        (Some(_), _) => PromptFile::Inline,
        (None, Some(path)) => PromptFile::Named(path),
        (None, None) => PromptFile::Implied,
    }
}

/// Where the prompt of a Netclaw definition in JSON is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptFile {
    /// In the JSON itself.
    Inline,
    /// In a file that it names.
    Named(String),
    /// In the Markdown file of the same stem.
    Implied,
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, extension)| extension)
}

fn read_markdown(file: File) -> Reading {
    let clues = &file.clues;
    let assumed = clues.dialect.unwrap_or(Dialect::Claude);
    if clues.place == PlaceKind::Never {
        return Reading::not_an_agent(assumed, "its name or folder says that it is something else");
    }
    let opens = file.bytes.trim_ascii_start().starts_with(b"---");
    let source = match Source::decode(file.bytes) {
        Ok(source) => source,
        Err(_) if !opens => return Reading::not_an_agent(assumed, "it has no frontmatter"),
        Err(diagnostic) => return Reading::rejected(Some(clues.stem.clone()), assumed, vec![diagnostic]),
    };
    let block = match frontmatter::find(&source) {
        Top::Block(block) => block,
        Top::NotAnAgent(reason) => return Reading::not_an_agent(assumed, reason),
        Top::Refused(_) if clues.place == PlaceKind::Elsewhere => {
            return Reading::not_an_agent(assumed, "it has no frontmatter");
        }
        Top::Refused(diagnostic) => {
            return Reading::rejected(Some(clues.stem.clone()), assumed, vec![diagnostic]);
        }
    };
    let keys = read_keys(&source, block.yaml);
    let dialect = dialect_of(&keys.entries, clues);
    if keys.refused && keys.entries.is_empty() && clues.place == PlaceKind::Family {
        return Reading::rejected(Some(clues.stem.clone()), dialect, keys.diagnostics);
    }
    if let Some(reason) = reason_against(&keys.entries, keys.refused, dialect, clues) {
        return Reading::not_an_agent(dialect, reason);
    }
    let head = source.line_at(block.yaml.start.saturating_sub(1));
    let mut normaliser = Normaliser::new(&source, dialect, head);
    normaliser.refused = keys.refused;
    normaliser.diagnostics =
        source.notes().iter().cloned().chain(block.repairs).chain(keys.diagnostics).collect();
    if clues.dialect.is_some_and(|hinted| hinted != dialect) {
        let message = format!("the keys are those of {}", dialect.as_str());
        normaliser.say(Diagnostic::new(Code::DialectGuessed, message), head);
    }
    normaliser.take(&keys.entries);
    judge_bytes(&source, block.body.start, &mut normaliser);
    let body = prompt_text(&source.text()[block.body.start..block.body.end]);
    normaliser.body = block.body.start;
    if !body.is_empty() {
        if !normaliser.definition.prompt.is_empty() {
            let message = "the prompt is written as a key and below the frontmatter; what is below counts";
            normaliser
                .say(Diagnostic::new(Code::DuplicateKey, message).with_help("remove one of the two"), head);
        }
        normaliser.definition.prompt = body;
    }
    finish(normaliser, clues)
}

/// Bytes that are not UTF-8 are mended in a prompt and refused in the keys.
fn judge_bytes(source: &Source, body: usize, normaliser: &mut Normaliser<'_>) {
    let Some(bad) = source.first_bad_byte() else { return };
    if bad < source.file_offset(body) {
        let diagnostic = Diagnostic::new(Code::NotText, "the keys are not valid UTF-8");
        normaliser.refuse_with(diagnostic.with_help("save the file as UTF-8"), normaliser.head);
    } else {
        let replaced = source.text()[body..].find(char::REPLACEMENT_CHARACTER).map_or(body, |at| body + at);
        let span = Span::new(replaced, replaced);
        normaliser.say(
            Diagnostic::new(Code::BadBytes, "the prompt is not valid UTF-8")
                .with_help("save the file as UTF-8"),
            span,
        );
    }
}

fn finish(mut normaliser: Normaliser<'_>, clues: &Clues) -> Reading {
    normaliser.settle(&clues.stem, clues.folder.as_deref());
    let Normaliser { definition, mut diagnostics, refused, mut unsaid, .. } = normaliser;
    diagnostics.sort_by_key(|diagnostic| diagnostic.place.map(|place| place.span));
    unsaid += cut_to_limit(&mut diagnostics);
    if unsaid > 0 {
        let message = format!("{unsaid} further problems are not shown");
        diagnostics.push(Diagnostic::new(Code::TooMany, message).with_severity(Severity::Warning));
    }
    let name = if definition.name.is_empty() { clues.stem.clone() } else { definition.name.clone() };
    let dialect = definition.dialect;
    if refused {
        debug_assert!(diagnostics.iter().any(Diagnostic::is_error), "a refusal says why");
        return Reading::rejected(Some(name), dialect, diagnostics);
    }
    let verdict = Verdict::Agent(Box::new(definition));
    Reading { verdict, name: Some(name), dialect, diagnostics, entry: None }
}

/// Leaves out what a hostile file could add without end, errors last; gives how many that were.
fn cut_to_limit(diagnostics: &mut Vec<Diagnostic>) -> usize {
    let before = diagnostics.len();
    if before > DIAGNOSTICS_MAX {
        let mut kept = 0;
        diagnostics.retain(|diagnostic| {
            let keep = kept < DIAGNOSTICS_MAX || (diagnostic.is_error() && kept < 2 * DIAGNOSTICS_MAX);
            kept += usize::from(keep);
            keep
        });
    }
    before - diagnostics.len()
}

/// The directory's dialect, unless the file lacks a name and is plainly of one that takes it from the path.
fn dialect_of(entries: &[Entry], clues: &Clues) -> Dialect {
    let keys: Vec<&str> = entries.iter().map(|entry| entry.key.as_str()).collect();
    let guessed = Dialect::guess(&keys);
    match (clues.dialect, guessed) {
        (None, guessed) => guessed.unwrap_or(Dialect::Claude),
        (Some(hinted), Some(guessed)) => {
            let named = entries.iter().any(|entry| hinted.field(&entry.key) == Some(Field::Name));
            let nameless = hinted.table().identity == Identity::Key && !named;
            if nameless && guessed.table().identity == Identity::KeyOrStem { guessed } else { hinted }
        }
        (Some(hinted), None) => hinted,
    }
}

/// Why a file with frontmatter is no definition, if it is none.
fn reason_against(entries: &[Entry], refused: bool, dialect: Dialect, clues: &Clues) -> Option<&'static str> {
    let has = |wanted: Field| entries.iter().any(|entry| dialect.field(&entry.key) == Some(wanted));
    let (named, described) = (has(Field::Name), has(Field::Description));
    let from_path = dialect.table().identity != Identity::Key && clues.dialect.is_some();
    match clues.place {
        PlaceKind::Family if from_path => {
            let known = entries.iter().any(|entry| dialect.field(&entry.key).is_some());
            (!known && !refused).then_some("its frontmatter has no key of an agent")
        }
        PlaceKind::Family => {
            (!named && !described && !refused).then_some("its frontmatter has neither name nor description")
        }
        PlaceKind::Likely => {
            let from_stem = dialect.table().identity == Identity::KeyOrStem && described;
            (!named && !from_stem).then_some("its frontmatter has no name")
        }
        PlaceKind::Elsewhere => {
            (!named || !described).then_some("its frontmatter has no name and description")
        }
        PlaceKind::Never => Some("its name or folder says that it is something else"),
    }
}

/// A prompt as it is sent: line feeds only, no blank lines around it.
pub fn prompt_text(text: &str) -> String {
    if text.contains('\r') {
        return prompt_text(&text.replace("\r\n", "\n").replace('\r', "\n"));
    }
    let text = text.trim_end();
    let first = text.find(|c: char| !c.is_whitespace()).unwrap_or(text.len());
    let start = text[..first].rfind('\n').map_or(0, |newline| newline + 1);
    text[start..].to_owned()
}

fn read_toml(file: File) -> Reading {
    let clues = file.clues;
    let dialect = clues.dialect.unwrap_or(Dialect::Codex);
    let source = match Source::decode(file.bytes) {
        Ok(source) => source,
        Err(diagnostic) => return Reading::rejected(Some(clues.stem), dialect, vec![diagnostic]),
    };
    let node = match toml::parse(source.text()) {
        Ok(node) => node,
        Err((message, span)) => {
            let mut diagnostic = Diagnostic::new(Code::BrokenToml, format!("not valid TOML: {message}"));
            diagnostic.place = Some(source.place(span));
            return Reading::rejected(Some(clues.stem), dialect, vec![diagnostic]);
        }
    };
    let entries = node.entries().unwrap_or_default();
    let has = |wanted: Field| entries.iter().any(|entry| dialect.field(&entry.key) == Some(wanted));
    if !has(Field::Description) && !has(Field::Prompt) {
        return Reading::not_an_agent(dialect, "it has neither description nor developer_instructions");
    }
    let mut normaliser = Normaliser::new(&source, dialect, source.line_at(0));
    normaliser.prompt_help = "write the system prompt into `developer_instructions`";
    judge_bytes(&source, source.text().len(), &mut normaliser);
    normaliser.diagnostics.extend(source.notes().iter().cloned());
    normaliser.take(entries);
    finish(normaliser, &clues)
}

fn read_json(file: File) -> Vec<Reading> {
    let is_netclaw = file.clues.dialect == Some(Dialect::Netclaw);
    if is_netclaw {
        return vec![pair(file, Ok(Vec::new()))];
    }
    let dialect = file.clues.dialect.unwrap_or(Dialect::NanoClaw);
    let rejected = |diagnostic| vec![Reading::rejected(None, dialect, vec![diagnostic])];
    let (source, node) = match parse_json(file.bytes) {
        Ok(parsed) => parsed,
        Err(diagnostic) => return rejected(diagnostic),
    };
    let Some(entries) = node.entries() else {
        let message = format!("expected an object from names to agents, not {}", node.kind_name());
        let mut diagnostic = Diagnostic::new(Code::BrokenJson, message)
            .with_help("write {\"name\": {\"description\": …, \"prompt\": …}}");
        diagnostic.place = Some(source.place(node.span));
        return rejected(diagnostic);
    };
    if entries.is_empty() {
        return Vec::new();
    }
    let like_an_agent = |entry: &Entry| {
        let keys = entry.value.entries().unwrap_or_default();
        keys.iter().any(|key| key.key == "prompt" || key.key == "description")
    };
    if file.clues.place != PlaceKind::Family && !entries.iter().any(like_an_agent) {
        return vec![Reading::not_an_agent(dialect, "it is not an object from names to agents")];
    }
    if entries.len() > AGENTS_MAX {
        return rejected(Diagnostic::new(
            Code::TooMany,
            format!("the file holds more than {AGENTS_MAX} agents"),
        ));
    }
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for entry in entries {
        *seen.entry(&entry.key).or_default() += 1;
    }
    let read = |entry: &Entry| {
        let reading = read_entry(&source, entry, dialect);
        if seen[entry.key.as_str()] == 1 { reading } else { twice(reading, &source, entry) }
    };
    entries.iter().map(read).collect()
}

/// An entry whose name stands twice in one file: readers of JSON differ in which of them counts.
fn twice(reading: Reading, source: &Source, entry: &Entry) -> Reading {
    let message = format!("`{}` stands twice in this file", entry.key);
    let mut diagnostic = Diagnostic::new(Code::ConflictingKey, message).with_help("remove one of the two");
    diagnostic.place = Some(source.place(entry.key_span));
    let mut diagnostics = reading.diagnostics;
    diagnostics.push(diagnostic);
    Reading { verdict: Verdict::Rejected, diagnostics, ..reading }
}

/// JSON is keys from end to end, so that a byte which is not text refuses it.
fn parse_json(bytes: Vec<u8>) -> Result<(Source, Node), Diagnostic> {
    let source = Source::decode(bytes)?;
    if source.first_bad_byte().is_some() {
        return Err(
            Diagnostic::new(Code::NotText, "the file is not valid UTF-8").with_help("save it as UTF-8")
        );
    }
    match json::parse(source.text()) {
        Ok(node) => Ok((source, node)),
        Err((mut diagnostic, span)) => {
            diagnostic.place = Some(source.place(span));
            Err(diagnostic)
        }
    }
}

/// The most agents that one file may hold.
const AGENTS_MAX: usize = 5_000;

/// One `"name": {…}` of an agents.json.
fn read_entry(source: &Source, entry: &Entry, dialect: Dialect) -> Reading {
    let mut normaliser = Normaliser::new(source, dialect, entry.key_span);
    normaliser.prompt_help = "write the system prompt into `prompt`";
    let text = Some(source.text()[entry.key_span.start..entry.value.span.end].to_owned());
    let Some(keys) = entry.value.entries() else {
        let message = format!("`{}` is {}, not an object", entry.key, entry.value.kind_name());
        let help = "write {\"description\": …, \"prompt\": …}";
        normaliser.refuse_with(Diagnostic::new(Code::BadEntry, message).with_help(help), entry.value.span);
        let reading = Reading::rejected(Some(entry.key.clone()), dialect, normaliser.diagnostics);
        return Reading { entry: text, ..reading };
    };
    normaliser.diagnostics.extend(source.notes().iter().cloned());
    normaliser.take(keys);
    let written = std::mem::replace(&mut normaliser.definition.name, entry.key.clone());
    if !written.is_empty() && written != entry.key {
        let message = format!("the name `{written}` differs from the key `{}`, which counts", entry.key);
        normaliser
            .say(Diagnostic::new(Code::NameMismatch, message).with_help("remove `name`"), entry.key_span);
    }
    let clues =
        Clues { dialect: Some(dialect), place: PlaceKind::Family, stem: entry.key.clone(), folder: None };
    Reading { entry: text, ..finish(normaliser, &clues) }
}

fn pair(file: File, companion: Result<Vec<u8>, Diagnostic>) -> Reading {
    let clues = file.clues;
    let reject = |diagnostic| Reading::rejected(Some(clues.stem.clone()), Dialect::Netclaw, vec![diagnostic]);
    let (source, node) = match parse_json(file.bytes) {
        Ok(parsed) => parsed,
        Err(diagnostic) => return reject(diagnostic),
    };
    let Some(entries) = node.entries() else {
        let mut diagnostic =
            Diagnostic::new(Code::BrokenJson, "expected an object with the keys of an agent");
        diagnostic.place = Some(source.place(node.span));
        return reject(diagnostic);
    };
    let mut normaliser = Normaliser::new(&source, Dialect::Netclaw, source.line_at(0));
    normaliser.diagnostics.extend(source.notes().iter().cloned());
    normaliser.take(entries);
    if normaliser.definition.prompt.is_empty() {
        let span = normaliser.prompt_file.as_ref().map_or(normaliser.head, |(_, span)| *span);
        match companion.and_then(Source::decode) {
            Ok(prompt) => {
                normaliser.diagnostics.extend(prompt.notes().iter().cloned());
                if prompt.first_bad_byte().is_some() {
                    let message = "the prompt file is not valid UTF-8";
                    normaliser
                        .say(Diagnostic::new(Code::BadBytes, message).with_help("save it as UTF-8"), span);
                }
                normaliser.definition.prompt = prompt_text(prompt.text());
            }
            // It is said where the keys name the file: the place belongs to this file, not to that one.
            Err(diagnostic) => normaliser.refuse_with(Diagnostic { path: None, ..diagnostic }, span),
        }
    }
    finish(normaliser, &clues)
}
