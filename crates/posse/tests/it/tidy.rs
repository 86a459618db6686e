//! Style that a machine can hold: file length, opening lines, the core's purity, documented commands.

use std::path::{Path, PathBuf};

use crate::{project, repository};

const LINES_MAX: usize = 800;
/// Flat tables, which may be as long as they are.
const TABLES: &[&str] = &["crates/posse-core/src/diagnostic/codes.rs"];

fn rust_files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut open = vec![repository().join("crates"), repository().join("xtask"), repository().join("fuzz")];
    while let Some(directory) = open.pop() {
        let Ok(entries) = std::fs::read_dir(directory) else { continue };
        for path in entries.filter_map(|entry| entry.ok().map(|entry| entry.path())) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" {
                open.push(path);
            } else if name.ends_with(".rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 40, "the walk finds the sources");
    files
}

fn shown(path: &Path) -> String {
    path.strip_prefix(repository()).unwrap_or(path).display().to_string()
}

#[test]
fn every_file_says_what_it_is_for_and_ends_before_it_is_too_long() {
    let mut wrong = Vec::new();
    for path in rust_files() {
        let text = std::fs::read_to_string(&path).expect("a source file is text");
        if !text.starts_with("//!") {
            wrong.push(format!("{}: does not open with `//!`", shown(&path)));
        }
        if text.lines().count() > LINES_MAX && !TABLES.contains(&shown(&path).as_str()) {
            wrong.push(format!("{}: more than {LINES_MAX} lines", shown(&path)));
        }
        if path.file_name().is_some_and(|name| name == "mod.rs") {
            wrong.push(format!("{}: write foo.rs beside foo/", shown(&path)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_core_does_no_io() {
    const FORBIDDEN: &[&str] =
        &["tokio", "std::fs", "std::env", "std::net", "std::process", "std::time", "std::thread", "rand::"];
    let core = repository().join("crates/posse-core/src");
    let mut wrong = Vec::new();
    for path in rust_files().into_iter().filter(|path| path.starts_with(&core)) {
        let text = std::fs::read_to_string(&path).expect("a source file is text");
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for (word, line) in code.flat_map(|line| FORBIDDEN.iter().map(move |word| (word, line))) {
            if line.contains(word) {
                wrong.push(format!("{}: {word}: {line}", shown(&path)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_command_is_documented() {
    let help = project().run(&["--help"]).stdout;
    let commands = help
        .lines()
        .skip_while(|line| !line.starts_with("Commands:"))
        .skip(1)
        .take_while(|line| !line.is_empty());
    let reference = std::fs::read_to_string(repository().join("docs/reference/commands.md"))
        .expect("the reference is there");
    let mut seen = 0;
    for command in
        commands.filter_map(|line| line.split_whitespace().next()).filter(|command| *command != "help")
    {
        seen += 1;
        assert!(
            reference.contains(&format!("## `posse {command}")),
            "docs/reference/commands.md has no `posse {command}`"
        );
    }
    assert!(seen >= 8, "{help}");
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = std::fs::read_to_string(repository().join("Cargo.toml")).expect("a manifest");
    let architecture =
        std::fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md is there");
    let table = manifest
        .split("[workspace.dependencies]")
        .nth(1)
        .and_then(|rest| rest.split("\n[").next())
        .expect("a table");
    for name in table
        .lines()
        .filter_map(|line| line.split(" = ").next())
        .filter(|name| !name.is_empty() && !name.starts_with("posse"))
    {
        assert!(
            architecture.contains(&format!("`{name}`")),
            "ARCHITECTURE.md does not say why there is `{name}`"
        );
    }
    assert!(architecture.lines().count() <= 150, "ARCHITECTURE.md has grown past 150 lines");
}
