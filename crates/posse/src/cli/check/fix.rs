//! Applying the fixes that diagnostics carry: each file at once, every other byte kept, nothing changed in meaning.

use std::collections::BTreeMap;
use std::path::Path;

use posse_core::definition::read::Reading;
use posse_core::diagnostic::Fix;
use posse_core::registry::{Entry, Registry};
use posse_runtime::discover::read_as;
use posse_runtime::write_atomically;

use crate::error::CommandError;

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
    let mut by_file: BTreeMap<&str, (Vec<&Fix>, &Entry)> = BTreeMap::new();
    for entry in registry.entries() {
        for diagnostic in &entry.problems {
            if let (Some(path), Some(fix)) = (&diagnostic.path, &diagnostic.fix) {
                by_file.entry(path).or_insert_with(|| (Vec::new(), entry)).0.push(fix);
            }
        }
    }
    let mut fixed = Fixed::default();
    for (path, (fixes, entry)) in by_file {
        if entry.definition().is_none() {
            fixed.left.push((path.to_owned(), "correct its errors first"));
            continue;
        }
        let content = mended(std::fs::read(path)?, fixes);
        if reads_the_same(&entry.found.reading, path, &content) {
            write_atomically(Path::new(path), &content)?;
            fixed.mended.push(path.to_owned());
        } else {
            fixed.left.push((path.to_owned(), "mending it would change what it says"));
        }
    }
    Ok(fixed)
}

fn reads_the_same(before: &Reading, path: &str, content: &[u8]) -> bool {
    let after = read_as(path, content.to_vec());
    let json = |reading: &Reading| reading.definition().map(posse_core::definition::Definition::to_json);
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
