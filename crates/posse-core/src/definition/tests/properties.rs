//! What holds for any bytes at all.

use proptest::prelude::*;

use super::super::family::clues;
use super::super::read::{File, Verdict, read};
use super::super::source::Source;
use super::super::write::to_markdown;
use super::super::{Definition, Dialect};

const PATHS: &[&str] = &[
    ".claude/agents/a.md",
    ".opencode/agent/x/a.md",
    ".github/agents/a.agent.md",
    ".codex/agents/a.toml",
    "agents.json",
    "agents/b/agent.md",
    ".netclaw/agents/a.json",
    "docs/a.md",
];

/// Reads the bytes at every path; spans are inside the text, and what was written reads the same again.
fn hold(bytes: &[u8]) {
    let text_bytes = Source::decode(bytes.to_vec()).map_or(0, |source| source.text().len());
    for path in PATHS {
        for reading in read(File { path: (*path).into(), bytes: bytes.to_vec(), clues: clues(path) }) {
            for diagnostic in &reading.diagnostics {
                for fix in &diagnostic.fixes {
                    assert!(fix.span.end <= bytes.len(), "{fix:?}");
                }
                assert!(diagnostic.place.is_none_or(|place| place.span.end <= text_bytes), "{diagnostic:?}");
            }
            match reading.verdict {
                Verdict::Agent(definition) => same_again(&definition),
                Verdict::Rejected => {
                    assert!(reading.diagnostics.iter().any(crate::diagnostic::Diagnostic::is_error));
                }
                Verdict::NotAnAgent(_) => {}
            }
        }
    }
}

fn same_again(definition: &Definition) {
    let text = to_markdown(definition);
    let file =
        File { path: "a.md".into(), bytes: text.clone().into_bytes(), clues: clues(".posse/agents/a.md") };
    let reading = read(file).remove(0);
    let again = reading.definition().unwrap_or_else(|| panic!("{text}\n{:?}", reading.diagnostics));
    assert_eq!(definition.to_json(), again.to_json(), "{text}");
}

fn frontmatter() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        Just("name"),
        Just("description"),
        Just("tools"),
        Just("disallowedTools"),
        Just("model"),
        Just("permission"),
        Just("permissions"),
        Just("hooks"),
        Just("mcpServers"),
        Just("timeout"),
        Just("budget"),
        Just("color"),
        Just("callers"),
        Just("mode"),
        Just("x y"),
        Just("output"),
        Just("env"),
        Just("network"),
        Just("category"),
    ];
    let value = prop_oneof![
        "[ -~]{0,30}",
        "\\PC{0,20}",
        Just("Read, Bash(git *), Grep".to_owned()),
        Just("[Read, '*', x/y]".to_owned()),
        Just("{a: b, allow: [c], usd: 1}".to_owned()),
        Just("|\n  line: one\n  two".to_owned()),
        Just("5m".to_owned()),
        Just("\n  - a\n  - b: c".to_owned()),
        Just("\"q\\\"uo\\n\\u202ete: d\"".to_owned()),
        Just("1e3".to_owned()),
        Just("{\"*\": ask, bash: {\"*\": deny, 'git *': allow}}".to_owned()),
        Just("!!str yes".to_owned()),
    ];
    let lines =
        proptest::collection::vec((key, value).prop_map(|(key, value)| format!("{key}: {value}\n")), 0..8);
    (lines, "\\PC{0,40}").prop_map(|(lines, body)| {
        format!("---\nname: n\ndescription: d\n{}---\nDo it. {body}\n", lines.concat())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        hold(&bytes);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "(---\n)?[a-z:\\- \n\"'\\[\\]{}#|>&*!,\t\r]{0,200}") {
        hold(text.as_bytes());
    }

    #[test]
    fn any_frontmatter_reads_the_same_when_written_again(text in frontmatter()) {
        hold(text.as_bytes());
    }
}

#[test]
fn a_long_line_and_deep_nesting_are_read_in_bounded_time() {
    hold(format!("---\nname: a\ndescription: {}\n---\nx", "a: ".repeat(20_000)).as_bytes());
    hold(format!("---\nname: a\ndescription: d\nx: {}\n---\nx", "[".repeat(60_000)).as_bytes());
    hold(format!("---\nname: a\ndescription: d\n---\n{}", "x".repeat(1_000_000)).as_bytes());
    hold(format!("{{\"a\": {}", "[".repeat(100_000)).as_bytes());
    hold(format!("---\nname: a\ndescription: d\n{}---\nx", "tools: Read\n".repeat(5000)).as_bytes());
    hold(format!("---\nname: a\n{}---\nx", "description: d: e\n".repeat(3500)).as_bytes());
    hold(format!("{{\"a\": {{{}\"prompt\": \"p\"}}}}", "\"tools\": [\"Read\"], ".repeat(40_000)).as_bytes());
    hold(format!("name = \"a\"\ndescription = \"d\"\ntools = [{}]\n", "\"x\", ".repeat(80_000)).as_bytes());
    let keys: String = (0..60_000).map(|index| format!("k{index} = 1\n")).collect();
    hold(format!("description = \"d\"\n{keys}").as_bytes());
}

#[test]
fn every_dialect_has_a_name_that_leads_back_to_it() {
    for dialect in Dialect::ALL {
        assert_eq!(Dialect::parse(dialect.as_str()), Some(*dialect));
    }
}
