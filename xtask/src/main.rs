//! Chores of the project: `cargo xtask check`, `bench`, `fuzz`.
