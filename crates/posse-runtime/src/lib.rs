//! What happens: files found and read, configuration layered, trust recorded, runs carried out and kept.
//!
//! The only room that touches the disk, the network and the clock on behalf of the core. It never prints and
//! never reads the environment: places and settings come in as values.

pub mod approver;
pub mod builtin;
pub mod cassette;
pub mod child;
mod clock;
pub mod config;
pub mod discover;
pub mod engine;
mod file;
pub mod guard;
pub mod owner;
pub mod places;
pub mod planning;
pub mod provider;
pub mod providers;
pub mod store;
pub mod supervisor;
pub mod tool;
pub mod toolbox;
pub mod trust;
mod walk;
pub mod workspace;

pub use clock::now;
pub use config::Config;
pub use discover::{Discovery, discover};
pub use file::{read_regular, write_atomically};
pub use places::Places;
pub use trust::Trust;
