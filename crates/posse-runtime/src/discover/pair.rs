//! Netclaw's older form: keys in a JSON file, the prompt in a Markdown file that it names or implies.

use std::path::Path;

use posse_core::definition::Dialect;
use posse_core::definition::read::{
    Clues, File, PlaceKind, PromptFile, Reading, Verdict, prompt_file_of, read, read_pair,
};
use posse_core::diagnostic::{Code, Diagnostic, Severity};

use crate::file::read_regular;

/// The prompt of a Netclaw definition in JSON; `None` for every other file.
pub(super) fn prompt_of(path: &Path, bytes: &[u8], clues: &Clues) -> Option<Result<Vec<u8>, Diagnostic>> {
    let is_netclaw = clues.dialect == Some(Dialect::Netclaw) && clues.place == PlaceKind::Family;
    if !is_netclaw || path.extension().is_none_or(|extension| extension != "json") {
        return None;
    }
    let implied = path.with_extension("md");
    Some(match prompt_file_of(bytes) {
        PromptFile::Inline => Ok(Vec::new()),
        PromptFile::Named(name) => named_prompt(path, &name),
        PromptFile::Implied if implied.exists() => {
            named_prompt(path, &implied.file_name().unwrap_or_default().to_string_lossy())
        }
        PromptFile::Implied => Err(missing(&implied)),
    })
}

/// Reads the JSON with its prompt, unless that prompt is a definition of its own.
pub(super) fn read_with_prompt(file: File, prompt: Result<Vec<u8>, Diagnostic>) -> Vec<Reading> {
    let implied = prompt_file_of(&file.bytes) == PromptFile::Implied;
    match &prompt {
        Ok(bytes) if implied && is_definition(&file.clues.stem, bytes) => vec![replaced(&file)],
        Ok(_) | Err(_) => vec![read_pair(file, prompt)],
    }
}

/// True for a Markdown file without frontmatter that only holds the prompt of the JSON file beside it.
pub(super) fn is_only_a_prompt(path: &Path, readings: &[Reading]) -> bool {
    let prose = matches!(readings, [Reading { verdict: Verdict::NotAnAgent(_), .. }]);
    let netclaw = readings.first().is_some_and(|reading| reading.dialect == Dialect::Netclaw);
    prose
        && netclaw
        && path.extension().is_some_and(|extension| extension == "md")
        && path.with_extension("json").exists()
}

fn named_prompt(path: &Path, name: &str) -> Result<Vec<u8>, Diagnostic> {
    let directory = path.parent().unwrap_or(Path::new("."));
    let file = directory.join(name);
    let outside = || {
        Diagnostic::new(
            Code::PromptOutside,
            format!("the prompt file `{name}` is outside the directory of the definition"),
        )
        .with_help("move the prompt beside the definition")
    };
    if Path::new(name).is_absolute() || Path::new(name).components().any(|part| part.as_os_str() == "..") {
        return Err(outside());
    }
    let (Ok(real), Ok(directory)) = (file.canonicalize(), directory.canonicalize()) else {
        return Err(missing(&file));
    };
    if !real.starts_with(directory) {
        return Err(outside());
    }
    read_regular(&real)
}

fn missing(file: &Path) -> Diagnostic {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    Diagnostic::new(Code::MissingPromptFile, format!("the prompt file `{name}` is not there"))
        .with_help(format!("write the prompt into `{name}`, or into the key `prompt`"))
}

fn is_definition(stem: &str, bytes: &[u8]) -> bool {
    let path = format!(".netclaw/agents/{stem}.md");
    let clues = posse_core::definition::family::clues(&path);
    let readings = read(File { path, bytes: bytes.to_vec(), clues });
    !matches!(readings[..], [Reading { verdict: Verdict::NotAnAgent(_), .. }])
}

/// The older file of an agent that has a newer one beside it does not count, and says so.
fn replaced(file: &File) -> Reading {
    let message = format!("`{}.md` beside it is a definition of its own, which counts", file.clues.stem);
    let diagnostic = Diagnostic::new(Code::Shadowed, message)
        .with_severity(Severity::Error)
        .with_help("remove the JSON file")
        .at_path(file.path.clone());
    Reading {
        verdict: Verdict::NotAnAgent("a newer definition stands beside it".into()),
        name: Some(file.clues.stem.clone()),
        dialect: Dialect::Netclaw,
        diagnostics: vec![diagnostic],
        entry: None,
    }
}
