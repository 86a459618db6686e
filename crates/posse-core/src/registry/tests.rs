//! Who stands for a name.

use super::{Duplicates, Found, Rank, Registry};
use crate::definition::Scope;
use crate::definition::family::clues;
use crate::definition::read::{File, read};

/// Each row is `scope distance family path frontmatter`; the result is a line for each entry.
fn check(rows: &[(Scope, usize, usize, &str, &str)], duplicates: Duplicates, expected: &[&str]) {
    let mut found = Vec::new();
    for (scope, distance, family, path, keys) in rows {
        let bytes = format!("---\n{}\n---\nDo it.\n", keys.replace(';', "\n")).into_bytes();
        let mut clues = clues(".claude/agents/x.md");
        clues.stem = "x".into();
        let reading = read(File { path: (*path).into(), bytes, clues }).remove(0);
        let rank = Rank { distance: *distance, family: *family };
        found.push(Found { reading, path: Some((*path).into()), scope: *scope, rank, trusted: true });
    }
    let registry = Registry::collect(found, duplicates);
    let lines: Vec<String> = registry
        .entries()
        .iter()
        .map(|entry| {
            let path = entry.found.path.as_deref().unwrap_or("-");
            let codes: Vec<_> = entry
                .problems
                .iter()
                .map(|p| format!("{}:{}", p.severity.as_str(), p.code.as_str()))
                .collect();
            let absence = entry.absence().map_or("callable", super::Absence::as_str);
            format!("{path} {absence} runnable={} {}", entry.is_runnable(), codes.join(" "))
                .trim_end()
                .to_owned()
        })
        .collect();
    assert_eq!(lines, expected);
}

const A: &str = "name: a;description: d";

#[test]
fn the_project_comes_before_the_user() {
    check(
        &[(Scope::User, 0, 0, "u/a.md", A), (Scope::Project, 0, 0, "p/a.md", A)],
        Duplicates::Shadow,
        &["p/a.md callable runnable=true", "u/a.md shadowed runnable=true"],
    );
}

#[test]
fn the_nearest_directory_comes_first_then_the_family() {
    check(
        &[
            (Scope::Project, 1, 0, "far/a.md", A),
            (Scope::Project, 0, 2, "near/claude/a.md", A),
            (Scope::Project, 0, 0, "near/posse/a.md", A),
        ],
        Duplicates::Shadow,
        &[
            "near/posse/a.md callable runnable=true",
            "near/claude/a.md shadowed runnable=true",
            "far/a.md shadowed runnable=true",
        ],
    );
}

#[test]
fn twice_in_one_family_is_an_error_and_the_first_still_runs() {
    check(
        &[(Scope::Project, 0, 0, "p/b.md", "name: A;description: d"), (Scope::Project, 0, 0, "p/a.md", A)],
        Duplicates::Shadow,
        &[
            "p/a.md callable runnable=true warning:duplicate-name",
            "p/b.md shadowed runnable=false error:duplicate-name",
        ],
    );
}

#[test]
fn a_broken_file_still_shadows() {
    check(
        &[
            (Scope::Project, 0, 0, "p/a.md", "name: a;description: d;tools: {{{"),
            (Scope::User, 0, 0, "u/a.md", A),
        ],
        Duplicates::Shadow,
        &["p/a.md rejected runnable=false error:unreadable-capability", "u/a.md shadowed runnable=true"],
    );
}

#[test]
fn rejecting_duplicates_stops_all_of_them() {
    check(
        &[
            (Scope::User, 0, 0, "u/a.md", A),
            (Scope::Project, 0, 0, "p/a.md", A),
            (Scope::Builtin, 0, 0, "builtin", A),
        ],
        Duplicates::Reject,
        &[
            "p/a.md callable runnable=false error:shadow-rejected",
            "u/a.md shadowed runnable=false error:shadow-rejected",
            "builtin shadowed runnable=true",
        ],
    );
}

#[test]
fn a_name_is_found_by_slug_and_as_written_in_any_case() {
    let bytes = b"---\nname: Code Reviewer\ndescription: d\n---\nDo it.\n".to_vec();
    let reading = read(File { path: "a.md".into(), bytes, clues: clues(".claude/agents/a.md") }).remove(0);
    let rank = Rank { distance: 0, family: 0 };
    let found = Found { reading, path: None, scope: Scope::User, rank, trusted: true };
    let registry = Registry::collect(vec![found], Duplicates::Shadow);
    for name in ["code-reviewer", "Code Reviewer", "CODE REVIEWER", "Code-Reviewer"] {
        assert!(registry.find(name).is_some(), "{name}");
    }
    assert!(registry.find("coder").is_none());
    assert_eq!(registry.suggest("code-reviewr"), Some("code-reviewer"));
}

#[test]
fn twice_in_one_family_is_an_error_also_below_another_that_shadows_both() {
    check(
        &[
            (Scope::Project, 0, 0, "posse/a.md", A),
            (Scope::Project, 0, 2, "claude/a.md", A),
            (Scope::Project, 0, 2, "claude/b.md", A),
        ],
        Duplicates::Shadow,
        &[
            "posse/a.md callable runnable=true",
            "claude/a.md shadowed runnable=true warning:duplicate-name",
            "claude/b.md shadowed runnable=false error:duplicate-name",
        ],
    );
}
