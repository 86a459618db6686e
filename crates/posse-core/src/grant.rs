//! What a run may do: the ceiling over its definition.

mod ceiling;

pub use ceiling::{Ceiling, PRESETS, SCOPES};

#[cfg(test)]
mod tests;
