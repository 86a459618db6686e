//! Applying the fixes that diagnostics carry, each file at once and every other byte kept.

use std::collections::BTreeMap;
use std::path::Path;

use posse_core::diagnostic::Fix;
use posse_core::registry::Registry;
use posse_runtime::write_atomically;

use crate::error::CommandError;

/// Rewrites the files that have something to mend; gives their paths.
pub fn apply(registry: &Registry) -> Result<Vec<String>, CommandError> {
    let mut by_file: BTreeMap<&str, Vec<&Fix>> = BTreeMap::new();
    for diagnostic in registry.entries().iter().flat_map(|entry| &entry.problems) {
        if let (Some(path), Some(fix)) = (&diagnostic.path, &diagnostic.fix) {
            by_file.entry(path).or_default().push(fix);
        }
    }
    let mut fixed = Vec::new();
    for (path, fixes) in by_file {
        let content = std::fs::read(path)?;
        write_atomically(Path::new(path), &mended(content, fixes))?;
        fixed.push(path.to_owned());
    }
    Ok(fixed)
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
