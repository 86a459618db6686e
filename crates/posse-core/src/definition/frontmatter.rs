//! Where the frontmatter of a Markdown file is: its block of keys and its body.
//!
//! Only lines are looked at; what the block says is read elsewhere.

use super::recover::cut::looks_like_capability;
use super::source::Source;
use crate::diagnostic::{Code, Diagnostic, Span};

/// The largest block that is parsed.
pub const FRONTMATTER_BYTES_MAX: usize = 64 * 1024;

/// How far down the closing line of a block without an opening line is looked for.
const MISSING_OPENER_LINES_MAX: usize = 60;

/// What the top of a file is.
#[derive(Debug)]
pub enum Top {
    /// A block of keys and the body below it.
    Block(Block),
    /// Prose: the file is not a definition.
    NotAnAgent(&'static str),
    /// Frontmatter that cannot be told apart from the body.
    Refused(Diagnostic),
}

/// A block of keys and the body below it, as spans of the text.
#[derive(Debug)]
pub struct Block {
    /// The lines between the dashes.
    pub yaml: Span,
    /// What follows.
    pub body: Span,
    /// What had to be assumed.
    pub repairs: Vec<Diagnostic>,
}

/// Finds the frontmatter of a file.
pub fn find(source: &Source) -> Top {
    let text = source.text();
    let start = after_blank_lines_and_comments(text);
    let first = line(text, start);
    let first_text = &text[first.start..first.end];
    let top = if is_dashes(first_text) {
        closed_or_not(source, first)
    } else if first_text.starts_with("```") || first_text.starts_with("~~~") {
        fenced(source, first)
    } else if key_of(first_text).is_some_and(|key| key.name == "name" || key.name == "description") {
        missing_opener(source, first)
    } else {
        Top::NotAnAgent("it has no frontmatter")
    };
    match top {
        Top::Block(block) if block.yaml.end - block.yaml.start > FRONTMATTER_BYTES_MAX => {
            let message = format!("the frontmatter has more than {FRONTMATTER_BYTES_MAX} bytes");
            Top::Refused(placed(source, Diagnostic::new(Code::FileTooLarge, message), first))
        }
        top => top,
    }
}

fn closed_or_not(source: &Source, opener: Span) -> Top {
    let text = source.text();
    let start = next_line(text, opener);
    for candidate in lines(text, start) {
        if is_dashes(&text[candidate.start..candidate.end]) {
            let yaml = Span::new(start, candidate.start);
            let body = Span::new(next_line(text, candidate), text.len());
            return Top::Block(Block { yaml, body, repairs: Vec::new() });
        }
    }
    missing_closer(source, opener, start)
}

/// Without a closing line the block is the longest run of lines that look like keys.
fn missing_closer(source: &Source, opener: Span, start: usize) -> Top {
    let text = source.text();
    let mut end = start;
    let mut recognised = false;
    for candidate in lines(text, start) {
        let content = &text[candidate.start..candidate.end];
        if !looks_like_frontmatter(content) {
            break;
        }
        recognised |= key_of(content).is_some_and(|key| key.name == "name" || key.name == "description");
        end = next_line(text, candidate);
    }
    if !recognised {
        let message = "the frontmatter is opened and never closed";
        let help = "put a line of three dashes between the keys and the prompt";
        let diagnostic = Diagnostic::new(Code::MangledFrontmatter, message).with_help(help);
        return Top::Refused(placed(source, diagnostic, opener));
    }
    const LOOK_AHEAD: usize = 15;
    let mut next = text[end..].lines().take_while(|line| !line.trim().is_empty());
    let is_key = |line: &str| key_of(line).is_some_and(|_| looks_like_capability(line));
    if next.any(looks_like_capability) || text[end..].lines().take(LOOK_AHEAD).any(is_key) {
        let message = "the frontmatter is not closed, and a key that says what the agent may do follows";
        let help = "put a line of three dashes below the last key";
        let diagnostic = Diagnostic::new(Code::MangledFrontmatter, message).with_help(help);
        return Top::Refused(placed(source, diagnostic, opener));
    }
    let yaml = Span::new(start, start + text[start..end].trim_end().len());
    let mut repair = Diagnostic::new(Code::MissingCloser, "the frontmatter has no closing `---`")
        .with_help("put a line of three dashes below the last key");
    repair.fixes.extend(source.fix(Span::new(yaml.end, yaml.end), "\n---"));
    let repairs = vec![placed(source, repair, opener)];
    Top::Block(Block { yaml, body: Span::new(end, text.len()), repairs })
}

fn missing_opener(source: &Source, first: Span) -> Top {
    let text = source.text();
    for candidate in lines(text, first.start).take(MISSING_OPENER_LINES_MAX) {
        let content = &text[candidate.start..candidate.end];
        if is_dashes(content) {
            let mut repair = Diagnostic::new(Code::MissingOpener, "the frontmatter has no opening `---`")
                .with_help("put a line of three dashes above the first key");
            repair.fixes.extend(source.fix(Span::new(first.start, first.start), "---\n"));
            return Top::Block(Block {
                yaml: Span::new(first.start, candidate.start),
                body: Span::new(next_line(text, candidate), text.len()),
                repairs: vec![placed(source, repair, first)],
            });
        }
        if !looks_like_frontmatter(content) {
            break;
        }
    }
    Top::NotAnAgent("it has no frontmatter")
}

/// A file wrapped in one fence is unwrapped if frontmatter is what the fence holds.
fn fenced(source: &Source, fence: Span) -> Top {
    let text = source.text();
    let mark: String = text[fence.start..fence.end].chars().take_while(|c| matches!(c, '`' | '~')).collect();
    let language = text[fence.start + mark.len()..fence.end].trim();
    let inner = after_blank_lines_and_comments_from(text, next_line(text, fence));
    let opener = line(text, inner);
    if !is_dashes(&text[opener.start..opener.end]) {
        let keys = lines(text, inner)
            .take(5)
            .any(|l| key_of(&text[l.start..l.end]).is_some_and(|key| key.name == "name"));
        if matches!(language, "yaml" | "yml") && keys {
            let diagnostic = Diagnostic::new(Code::YamlFence, "the file is a fenced block of YAML")
                .with_help("write the keys between two lines of three dashes and the prompt below them");
            return Top::Refused(placed(source, diagnostic, fence));
        }
        return Top::NotAnAgent("it has no frontmatter");
    }
    let Top::Block(mut block) = closed_or_not(source, opener) else {
        return Top::NotAnAgent("its fence holds no frontmatter");
    };
    let body = &text[block.body.start..block.body.end];
    let kept = body.trim_end();
    let mut repair = Diagnostic::new(Code::FencedFile, "the whole file is inside a code fence")
        .with_help("remove the first and the last line");
    // An even number of fences below belongs to the body: the outer one was never closed.
    let fences = body.lines().filter(|line| line.starts_with(&mark)).count();
    if fences % 2 == 1 && kept.ends_with(&format!("\n{mark}")) {
        let closing = block.body.start + kept.len() - mark.len();
        repair.fixes.extend(source.fix(Span::new(fence.start, inner), ""));
        repair.fixes.extend(source.fix(Span::new(closing, text.len()), ""));
        block.body.end = closing;
    }
    block.repairs.push(placed(source, repair, fence));
    Top::Block(block)
}

fn placed(source: &Source, mut diagnostic: Diagnostic, span: Span) -> Diagnostic {
    diagnostic.place = Some(source.place(span));
    diagnostic
}

fn after_blank_lines_and_comments(text: &str) -> usize {
    after_blank_lines_and_comments_from(text, 0)
}

fn after_blank_lines_and_comments_from(text: &str, start: usize) -> usize {
    let mut at = start;
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start();
        let skipped = at + rest.len() - trimmed.len();
        // The indentation of the first line with text belongs to that line.
        at = text[at..skipped].rfind('\n').map_or(at, |newline| at + newline + 1);
        match trimmed.strip_prefix("<!--").and_then(|comment| comment.find("-->")) {
            Some(end) => at = skipped + "<!--".len() + end + "-->".len(),
            None => return at.min(text.len()),
        }
    }
}

/// A key at the start of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KeyOfLine<'a> {
    /// Without quotes.
    pub name: &'a str,
    /// Bytes of the key, quotes included.
    pub width: usize,
    /// Bytes up to and with the colon.
    pub colon_end: usize,
}

/// The key of a line of the form `key: value`, `"key": value` or `<<: value` at the first column.
pub(super) fn key_of(content: &str) -> Option<KeyOfLine<'_>> {
    let (name, width) = match content.chars().next()? {
        quote @ ('"' | '\'') => {
            let name = content[1..].split_once(quote)?.0;
            (name, name.len() + 2)
        }
        '<' => content.starts_with("<<").then_some(("<<", 2))?,
        first if first.is_ascii_alphabetic() || first == '_' => {
            let name = content.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).next()?;
            (name, name.len())
        }
        _ => return None,
    };
    let after = &content[width..];
    let rest = after.trim_start().strip_prefix(':')?;
    let colon_end = content.len() - rest.len();
    (rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(KeyOfLine { name, width, colon_end })
}

fn looks_like_frontmatter(content: &str) -> bool {
    content.trim().is_empty()
        || content.starts_with([' ', '\t'])
        || content.starts_with("- ")
        || (content.starts_with('#') && !content.starts_with("##") && !content.starts_with("# "))
        || key_of(content).is_some()
}

fn is_dashes(content: &str) -> bool {
    let trimmed = content.trim_end_matches([' ', '\t']);
    trimmed.len() >= 3 && trimmed.bytes().all(|byte| byte == b'-')
}

fn line(text: &str, start: usize) -> Span {
    let end = text[start..].find('\n').map_or(text.len(), |length| start + length);
    Span::new(start, end)
}

fn next_line(text: &str, line: Span) -> usize {
    (line.end + 1).min(text.len())
}

/// The lines from `start` on, without their line feeds.
pub(super) fn lines(text: &str, start: usize) -> impl Iterator<Item = Span> + '_ {
    let mut at = start;
    std::iter::from_fn(move || {
        if at >= text.len() {
            return None;
        }
        let found = line(text, at);
        at = found.end + 1;
        Some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::{Top, find};
    use crate::definition::source::Source;

    fn check(text: &str, expected: Result<(&str, &str, &str), &str>) {
        let source = Source::decode(text.as_bytes().to_vec()).expect("text");
        let text = source.text();
        let found = match find(&source) {
            Top::Block(block) => {
                let codes: Vec<_> = block.repairs.iter().map(|repair| repair.code.as_str()).collect();
                Ok((
                    text[block.yaml.start..block.yaml.end].trim_end().to_owned(),
                    text[block.body.start..block.body.end].trim().to_owned(),
                    codes.join(" "),
                ))
            }
            Top::NotAnAgent(_) => Err("not an agent".to_owned()),
            Top::Refused(diagnostic) => Err(diagnostic.code.as_str().to_owned()),
        };
        let expected = match expected {
            Ok((yaml, body, repairs)) => Ok((yaml.to_owned(), body.to_owned(), repairs.to_owned())),
            Err(error) => Err(error.to_owned()),
        };
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_plain_block_is_found() {
        check("---\nname: a\n---\nbody\n", Ok(("name: a", "body", "")));
    }

    #[test]
    fn blank_lines_comments_and_a_mark_may_come_first() {
        check("\u{feff}\n\n<!-- x\n---\n-->\n---\nname: a\n---\nb", Ok(("name: a", "b", "")));
    }

    #[test]
    fn a_closer_may_be_longer_and_a_rule_in_the_body_is_body() {
        check("---\nname: a\n-----\nb\n---\nc\n", Ok(("name: a", "b\n---\nc", "")));
    }

    #[test]
    fn prose_is_not_an_agent() {
        check("# Title\n\n---\nname: a\n---\n", Err("not an agent"));
        check("", Err("not an agent"));
        check("\n\n", Err("not an agent"));
    }

    #[test]
    fn a_missing_opener_is_assumed() {
        check(
            "name: a\ndescription: b\n---\nbody",
            Ok(("name: a\ndescription: b", "body", "missing-opener")),
        );
        check("name: a\nprose without a colon\n---\nbody", Err("not an agent"));
    }

    #[test]
    fn a_missing_closer_ends_the_block_at_the_first_line_of_prose() {
        check(
            "---\nname: a\ntools: Read\n\nYou are a.\n",
            Ok(("name: a\ntools: Read", "You are a.", "missing-closer")),
        );
    }

    #[test]
    fn a_mangled_block_is_refused() {
        check("---\n\n## name: a\n\ntext\n", Err("mangled-frontmatter"));
    }

    #[test]
    fn a_fenced_file_is_unwrapped() {
        check("```markdown\n---\nname: a\n---\nbody\n```\n", Ok(("name: a", "body", "fenced-file")));
        check("```yaml\nagent:\n  name: x\nname: a\n```\n", Err("yaml-fence"));
        check("```sh\nls\n```\n", Err("not an agent"));
    }
}
