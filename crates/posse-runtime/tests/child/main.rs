//! Processes as they are: guards, sandboxes and repositories of this machine. What cannot be had here is skipped with its
//! reason, or fails with `POSSE_NO_SKIP=1`.

mod escape;
mod guard;
mod hosts;
mod lab;
mod worktree;

/// Not a test: what an owner does that is killed. Without an order it does nothing.
#[test]
fn owner() {
    guard::be_owner();
}
