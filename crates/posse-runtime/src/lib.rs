//! What happens: files found and read, configuration layered, trust recorded.
//!
//! The only room that touches the disk on behalf of the core. It never prints and never reads the
//! environment: places and settings come in as values.

pub mod builtin;
pub mod config;
pub mod discover;
mod file;
pub mod places;
pub mod trust;
mod walk;

pub use config::Config;
pub use discover::{Discovery, discover};
pub use file::{read_regular, write_atomically};
pub use places::Places;
pub use trust::Trust;
