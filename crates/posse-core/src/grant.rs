//! What a run may do: the ceiling over its definition, and what is done about each call.

mod ceiling;
mod decide;

pub use ceiling::{Ceiling, PRESETS, SCOPES};
pub use decide::{Verdict, Why, decide};

#[cfg(test)]
mod tests;
