//! Applying the fixes that diagnostics carry: each file at once, every other byte kept, nothing changed in meaning.

use std::collections::BTreeSet;
use std::path::Path;

use posse_core::definition::Definition;
use posse_core::definition::read::Reading;
use posse_core::diagnostic::Fix;
use posse_core::registry::{Entry, Registry};
use posse_runtime::discover::read_as;
use posse_runtime::{read_regular, write_atomically};

use crate::error::{CommandError, Kind};

/// What came of the fixes, by path.
#[derive(Debug, Default)]
pub struct Fixed {
    /// Files that were rewritten.
    pub mended: Vec<String>,
    /// Files that were left alone, and why.
    pub left: Vec<(String, &'static str)>,
}

/// Rewrites the files that have something to mend.
pub fn apply(registry: &Registry) -> Result<Fixed, CommandError> {
    let with_fix = |entry: &&Entry| entry.problems.iter().any(|problem| !problem.fixes.is_empty());
    let paths: BTreeSet<&str> =
        registry.entries().iter().filter(with_fix).filter_map(|entry| entry.found.path.as_deref()).collect();
    let mut fixed = Fixed::default();
    for path in paths {
        match mend(path) {
            Ok(Mended::Written) => fixed.mended.push(path.to_owned()),
            Ok(Mended::Left(reason)) => fixed.left.push((path.to_owned(), reason)),
            Err(error) => return Err(CommandError::new(Kind::Internal, error)),
        }
    }
    Ok(fixed)
}

enum Mended {
    Written,
    Left(&'static str),
}

/// Reads the file once more, so that what is replaced is what was looked at.
fn mend(path: &str) -> Result<Mended, String> {
    let content = read_regular(Path::new(path)).map_err(|problem| format!("{path} {}", problem.message))?;
    let before = read_as(path, content.clone());
    let [before] = &before[..] else { return Ok(Mended::Left("it holds several agents")) };
    if before.definition().is_none() {
        return Ok(Mended::Left("correct its errors first"));
    }
    let fixes: Vec<&Fix> = before.diagnostics.iter().flat_map(|diagnostic| &diagnostic.fixes).collect();
    let after = mended(content, fixes);
    if !reads_the_same(before, path, &after) {
        return Ok(Mended::Left("mending it would change what it says"));
    }
    write_atomically(Path::new(path), &after).map_err(|error| error.to_string())?;
    Ok(Mended::Written)
}

fn reads_the_same(before: &Reading, path: &str, content: &[u8]) -> bool {
    let after = read_as(path, content.to_vec());
    let json = |reading: &Reading| reading.definition().map(Definition::to_json);
    matches!(&after[..], [after] if json(after).is_some() && json(after) == json(before))
}

/// Replaces from the end on, so that earlier places stay where they are; of two that overlap the outer goes first.
fn mended(mut content: Vec<u8>, mut fixes: Vec<&Fix>) -> Vec<u8> {
    fixes.sort_by_key(|fix| (fix.span.start, std::cmp::Reverse(fix.span.end)));
    let mut apart: Vec<&Fix> = Vec::new();
    for fix in fixes {
        if apart.last().is_none_or(|before| before.span.end <= fix.span.start) {
            apart.push(fix);
        }
    }
    for fix in apart.into_iter().rev() {
        if fix.span.end <= content.len() {
            content.splice(fix.span.start..fix.span.end, fix.replacement.bytes());
        }
    }
    content
}
