//! Why a text was not found, so that the model can act on it: numbers, white space, or the nearest line.

use std::collections::HashSet;

use super::super::bound::counted;
use super::super::diff::numbered;

/// How many lines of a file are compared.
const LINES_MAX: usize = 50_000;
/// Lines that are shown around the nearest.
const AROUND: usize = 2;

/// What to do about `old`, which is not in `text`.
pub(super) fn hint(text: &str, old: &str) -> String {
    if old.lines().filter(|line| !line.is_empty()).all(has_number) {
        return "its lines begin with the numbers that Read shows; leave them out".to_owned();
    }
    let lines: Vec<&str> = text.lines().take(LINES_MAX).collect();
    if let Some((first, last)) = alike_but_for_blanks(&lines, old) {
        let indent = indent_difference(&lines[first..=last], old);
        return format!(
            "these lines differ from it only in white space{indent}:\n{}",
            numbered(text, first, last)
        );
    }
    match nearest(&lines, old) {
        Some(at) => {
            let shown = numbered(text, at.saturating_sub(AROUND), at + AROUND);
            format!("the nearest line is {}:\n{shown}", at + 1)
        }
        None => "nothing in the file is like it; Read the file again".to_owned(),
    }
}

fn has_number(line: &str) -> bool {
    let number = line.trim_start().split_once('\t').map_or("", |(number, _)| number);
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// The first lines that are those of `old` when nobody minds white space at their ends.
fn alike_but_for_blanks(lines: &[&str], old: &str) -> Option<(usize, usize)> {
    let wanted: Vec<&str> = old.trim_matches('\n').lines().map(str::trim).collect();
    if wanted.iter().all(|line| line.is_empty()) {
        return None;
    }
    let is_alike = |window: &[&str]| window.iter().zip(&wanted).all(|(line, wanted)| line.trim() == *wanted);
    let first = lines.windows(wanted.len()).position(is_alike)?;
    Some((first, first + wanted.len() - 1))
}

/// How the indentation of the first line that differs is written in the file and in `old`.
fn indent_difference(lines: &[&str], old: &str) -> String {
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let pairs = lines.iter().zip(old.trim_matches('\n').lines());
    let differ = pairs.map(|(file, old)| (indent(file), indent(old))).find(|(file, old)| file != old);
    differ.map_or_else(String::new, |(file, old)| {
        format!("; where the file has {}, it has {}", named(&file), named(&old))
    })
}

fn named(indent: &str) -> String {
    let tabs = indent.matches('\t').count();
    let blanks = indent.chars().count() - tabs;
    let (tabs_shown, blanks_shown) = (counted(tabs as u64, "tab"), counted(blanks as u64, "blank"));
    match (tabs, blanks) {
        (0, 0) => "no indentation".to_owned(),
        (0, _) => blanks_shown,
        (_, 0) => tabs_shown,
        (_, _) => format!("{tabs_shown} and {blanks_shown}"),
    }
}

/// The line with the most words of the longest line of `old`, if it has half of them.
fn nearest(lines: &[&str], old: &str) -> Option<usize> {
    let longest = old.lines().max_by_key(|line| line.trim().len())?;
    let wanted: HashSet<&str> = words(longest).collect();
    let shared = |line: &str| words(line).collect::<HashSet<_>>().intersection(&wanted).count();
    // The first of several.
    let (at, most) =
        lines.iter().enumerate().map(|(at, line)| (at, shared(line))).rev().max_by_key(|(_, n)| *n)?;
    (most > 0 && most * 2 >= wanted.len()).then_some(at)
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}
