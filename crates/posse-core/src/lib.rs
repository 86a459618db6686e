//! What is true: definitions, diagnostics and the registry as plain values.
//!
//! Nothing here reads a file, the environment, a clock or randomness: bytes and paths come in as
//! values, and values go out.

pub mod definition;
pub mod diagnostic;
pub mod registry;
pub mod schema;
pub mod text;
