//! The text an author meant by a value that YAML cannot read.

/// Takes off quotes and block indentation, and leaves the rest as it stands.
pub(super) fn literal_text(raw: &str) -> String {
    let trimmed = raw.trim();
    let (first, rest) = trimmed.split_once('\n').unwrap_or((trimmed, ""));
    if first.starts_with(['|', '>']) && first[1..].trim().chars().all(|c| matches!(c, '+' | '-' | '0'..='9'))
    {
        let lines = dedented(rest);
        return if first.starts_with('>') { folded(&lines) } else { lines.join("\n").trim().to_owned() };
    }
    for quote in ['"', '\''] {
        if trimmed.len() >= 2 && trimmed.starts_with(quote) && trimmed.ends_with(quote) {
            return unquoted(&trimmed[1..trimmed.len() - 1], quote);
        }
    }
    let unclosed = first.chars().next().filter(|quote| matches!(quote, '"' | '\''));
    if let Some(text) = unclosed
        .filter(|quote| trimmed.matches(*quote).count() == 1)
        .and_then(|quote| trimmed.strip_prefix(quote))
    {
        return literal_text(text);
    }
    if rest.is_empty() {
        return trimmed.to_owned();
    }
    let mut lines = vec![first.trim_end().to_owned()];
    lines.extend(dedented(rest));
    lines.join("\n").trim().to_owned()
}

fn dedented(text: &str) -> Vec<String> {
    let indent = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start_matches([' ', '\t']).len())
        .min()
        .unwrap_or(0);
    text.lines().map(|line| line.get(indent..).unwrap_or("").trim_end().to_owned()).collect()
}

fn folded(lines: &[String]) -> String {
    let mut out = String::new();
    for line in lines {
        if line.is_empty() {
            out.push('\n');
        } else {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push(' ');
            }
            out.push_str(line);
        }
    }
    out.trim().to_owned()
}

fn unquoted(inner: &str, quote: char) -> String {
    if quote == '\'' {
        return inner.replace("''", "'");
    }
    let mut out = String::with_capacity(inner.len());
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some(escaped @ ('"' | '\\')) => out.push(escaped),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}
