//! The fuzzers' seeds, read once by every test run: what a fuzzer found stays found.

use posse_core::definition::family::clues;
use posse_core::definition::read::{File, Reading, read, read_pair};
use posse_core::definition::write::to_markdown;
use posse_core::definition::yaml;

use crate::repository;

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let directory = repository().join("fuzz/seeds").join(target);
    let entries = std::fs::read_dir(directory).expect("the seeds are there");
    let seeds: Vec<_> =
        entries.filter_map(Result::ok).map(|entry| std::fs::read(entry.path()).expect("a file")).collect();
    assert!(!seeds.is_empty(), "{target} has seeds");
    seeds
}

fn read_at(path: &str, bytes: Vec<u8>) -> Vec<Reading> {
    read(File { path: path.into(), bytes, clues: clues(path) })
}

#[test]
fn markdown_reads_the_same_when_written_again() {
    let mut agents = 0;
    for seed in seeds("markdown") {
        for path in [".claude/agents/a.md", ".opencode/agent/a.md", "agents/b/agent.md", "docs/a.md"] {
            for reading in read_at(path, seed.clone()) {
                let Some(definition) = reading.definition() else { continue };
                let again = read_at(".posse/agents/a.md", to_markdown(definition).into_bytes());
                let again = again[0].definition().expect("what was written can be read");
                assert_eq!(definition.to_json(), again.to_json());
                agents += 1;
            }
        }
    }
    assert!(agents >= 20, "the seeds are agents: {agents}");
}

#[test]
fn the_other_parsers_take_their_seeds() {
    for seed in seeds("yaml") {
        let text = String::from_utf8(seed).expect("text");
        match yaml::parse(&text, 0) {
            Ok(node) => assert!(node.span.end <= text.len()),
            Err(error) => assert!(error.offset <= text.len()),
        }
    }
    let json: usize = seeds("json").into_iter().map(|seed| read_at("agents.json", seed).len()).sum();
    assert!(json >= 3, "{json}");
    for seed in seeds("toml") {
        assert_eq!(read_at(".codex/agents/a.toml", seed).len(), 1);
    }
    for seed in seeds("pair") {
        let at = seed.iter().position(|byte| *byte == 0).unwrap_or(seed.len());
        let prompt = seed[at..].iter().copied().skip(1).collect();
        let path = ".netclaw/agents/a.json";
        let reading =
            read_pair(File { path: path.into(), bytes: seed[..at].to_vec(), clues: clues(path) }, Ok(prompt));
        assert!(reading.definition().is_some(), "{reading:?}");
    }
}
