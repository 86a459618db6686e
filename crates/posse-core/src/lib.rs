//! What is true: definitions, plans, and what a run is, as plain values.
//!
//! Nothing here reads a file, the environment, a clock or randomness: bytes and paths come in as
//! values, and values go out.

pub mod definition;
pub mod diagnostic;
pub mod event;
pub mod grant;
pub mod id;
pub mod message;
pub mod model;
pub mod outcome;
pub mod output;
pub mod plan;
pub mod registry;
pub mod report;
pub mod rule;
pub mod schema;
pub mod step;
pub mod text;
pub mod time;
pub mod transcript;
