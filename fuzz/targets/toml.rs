//! Codex's TOML files: no panic, spans inside the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use posse_core::definition::family::clues;
use posse_core::definition::read::{File, read};
use posse_core::definition::source::Source;

fuzz_target!(|bytes: &[u8]| {
    let path = ".codex/agents/a.toml";
    let readings = read(File { path: path.into(), bytes: bytes.to_vec(), clues: clues(path) });
    let text_bytes = Source::decode(bytes.to_vec()).map_or(0, |source| source.text().len());
    for diagnostic in readings.iter().flat_map(|reading| &reading.diagnostics) {
        assert!(diagnostic.place.is_none_or(|place| place.span.end <= text_bytes));
    }
});
