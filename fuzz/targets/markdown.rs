//! Markdown files of every family: no panic, and what is written reads the same again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use posse_core::definition::family::clues;
use posse_core::definition::read::{File, read};
use posse_core::definition::write::to_markdown;

const PATHS: &[&str] = &[".claude/agents/a.md", ".opencode/agent/a.md", "agents/b/agent.md", "docs/a.md"];

fuzz_target!(|bytes: &[u8]| {
    for path in PATHS {
        for reading in read(File { path: (*path).into(), bytes: bytes.to_vec(), clues: clues(path) }) {
            let Some(definition) = reading.definition() else { continue };
            let text = to_markdown(definition);
            let again = read(File { path: "a.md".into(), bytes: text.into_bytes(), clues: clues(".posse/agents/a.md") });
            let again = again[0].definition().expect("what was written can be read");
            assert_eq!(definition.to_json(), again.to_json());
        }
    }
});
