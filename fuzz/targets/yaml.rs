//! The strict YAML reader: no panic, spans inside the block.
#![no_main]

use libfuzzer_sys::fuzz_target;
use posse_core::definition::node::Node;
use posse_core::definition::yaml::parse;

fn spans_are_inside(node: &Node, end: usize) {
    assert!(node.span.start <= node.span.end && node.span.end <= end);
    node.elements().into_iter().flatten().for_each(|element| spans_are_inside(element, end));
    node.entries().into_iter().flatten().for_each(|entry| spans_are_inside(&entry.value, end));
}

fuzz_target!(|text: &str| {
    match parse(text, 0) {
        Ok(node) => spans_are_inside(&node, text.len()),
        Err(error) => assert!(error.offset <= text.len()),
    }
});
