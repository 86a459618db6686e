//! agents.json: no panic, and one bad entry spares the others.
#![no_main]

use libfuzzer_sys::fuzz_target;
use posse_core::definition::family::clues;
use posse_core::definition::read::{File, read};
use posse_core::definition::source::Source;

fuzz_target!(|bytes: &[u8]| {
    let readings = read(File { path: "agents.json".into(), bytes: bytes.to_vec(), clues: clues("agents.json") });
    let text_bytes = Source::decode(bytes.to_vec()).map_or(0, |source| source.text().len());
    for diagnostic in readings.iter().flat_map(|reading| &reading.diagnostics) {
        assert!(diagnostic.place.is_none_or(|place| place.span.end <= text_bytes));
    }
});
