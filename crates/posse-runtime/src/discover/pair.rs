//! Netclaw's older form: keys in a JSON file, the prompt in a Markdown file that it names or implies.

use std::path::Path;

use posse_core::definition::Dialect;
use posse_core::definition::read::{
    Clues, File, PromptFile, Reading, Verdict, prompt_file_of, read, read_pair,
};
use posse_core::diagnostic::{Code, Diagnostic, Severity};

use crate::file::read_regular;

/// Reads a file of `.netclaw/agents`; a Markdown file that only holds a prompt gives nothing.
pub(super) fn read_netclaw(path: &Path, clues: Clues) -> Result<Vec<Reading>, Diagnostic> {
    let bytes = read_regular(path)?;
    let shown = path.display().to_string();
    if path.extension().is_none_or(|extension| extension != "json") {
        let readings = read(File { path: shown, bytes, clues });
        let only_a_prompt = matches!(readings[..], [Reading { verdict: Verdict::NotAnAgent(_), .. }]);
        return Ok(if only_a_prompt && path.with_extension("json").exists() { Vec::new() } else { readings });
    }
    let implied = path.with_extension("md");
    let companion = match prompt_file_of(&bytes) {
        PromptFile::Inline => Ok(Vec::new()),
        PromptFile::Named(name) => named_prompt(path, &name),
        PromptFile::Implied if is_definition(&implied) => return Ok(vec![replaced(path, &clues)]),
        PromptFile::Implied if implied.exists() => read_regular(&implied),
        PromptFile::Implied => Err(missing(&implied)),
    };
    Ok(vec![read_pair(File { path: shown, bytes, clues }, companion)])
}

/// Everything whose change asks for trust again.
pub(super) fn content(path: &Path) -> Vec<u8> {
    let mut bytes = read_regular(path).unwrap_or_default();
    if path.extension().is_some_and(|extension| extension == "json") {
        let prompt = match prompt_file_of(&bytes) {
            PromptFile::Inline => None,
            PromptFile::Named(name) => named_prompt(path, &name).ok(),
            PromptFile::Implied => read_regular(&path.with_extension("md")).ok(),
        };
        bytes.extend(prompt.unwrap_or_default());
    }
    bytes
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

fn is_definition(path: &Path) -> bool {
    let Ok(bytes) = read_regular(path) else { return false };
    let clues = posse_core::definition::family::clues(&format!(
        ".netclaw/agents/{}",
        path.file_name().unwrap_or_default().to_string_lossy()
    ));
    let readings = read(File { path: path.display().to_string(), bytes, clues });
    !matches!(readings[..], [Reading { verdict: Verdict::NotAnAgent(_), .. }])
}

/// The older file of an agent that has a newer one beside it does not count, and says so.
fn replaced(path: &Path, clues: &Clues) -> Reading {
    let message = format!("`{}.md` beside it is a definition of its own, which counts", clues.stem);
    let diagnostic = Diagnostic::new(Code::Shadowed, message)
        .with_severity(Severity::Warning)
        .with_help("remove the JSON file")
        .at_path(path.display().to_string());
    Reading {
        verdict: Verdict::NotAnAgent("a newer definition stands beside it".into()),
        name: Some(clues.stem.clone()),
        dialect: Dialect::Netclaw,
        diagnostics: vec![diagnostic],
        entry: None,
    }
}
