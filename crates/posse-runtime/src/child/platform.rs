//! What differs between systems, behind functions that are the same on all of them. Everything else in this crate is
//! written once; no other file asks which system it is.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod other;

#[cfg(target_os = "linux")]
pub use linux::{
    RECEIVE_FLAGS, become_subreaper, end_of, fence_in, filters, landlock_in_force, make_undumpable,
    own_program, processes,
};
#[cfg(not(target_os = "linux"))]
pub use other::{
    RECEIVE_FLAGS, become_subreaper, end_of, fence_in, filters, landlock_in_force, make_undumpable,
    own_program, processes,
};

/// A process that lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub pid: i32,
    /// The number of its parent.
    pub parent: i32,
    /// The number of its group.
    pub group: i32,
}
