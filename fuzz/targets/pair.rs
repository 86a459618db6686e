//! Netclaw's JSON and its prompt file: no panic, never an agent without a prompt.
#![no_main]

use libfuzzer_sys::fuzz_target;
use posse_core::definition::family::clues;
use posse_core::definition::read::{File, prompt_file_of, read_pair};

fuzz_target!(|bytes: &[u8]| {
    let at = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (keys, prompt) = bytes.split_at(at);
    let _ = prompt_file_of(keys);
    let path = ".netclaw/agents/a.json";
    let file = File { path: path.into(), bytes: keys.to_vec(), clues: clues(path) };
    let reading = read_pair(file, Ok(prompt.iter().copied().skip(1).collect()));
    if let Some(definition) = reading.definition() {
        assert!(!definition.prompt.trim().is_empty());
    }
});
