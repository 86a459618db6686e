//! What arrived and what was wrong with it, written by the server's thread and read by the test's.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Received;

const PROBLEMS_MAX: usize = 1_000;

/// The record of a server.
///
/// Behind a lock because the test's thread reads and waits while the server's thread writes; it is held
/// only for the moment of a push or a copy, never while a request is judged or answered.
pub(super) struct Log {
    state: Mutex<State>,
    request_came: Condvar,
    quit_came: Condvar,
    kept_max: usize,
}

#[derive(Default)]
struct State {
    arrived: usize,
    kept: Vec<Arc<Received>>,
    problems: Vec<String>,
    /// How many threads wait for requests: to wake nobody would still cost a system call for each request.
    waiting: usize,
    quit: bool,
}

impl Log {
    pub(super) fn new(kept_max: usize) -> Log {
        let (request_came, quit_came) = (Condvar::new(), Condvar::new());
        Log { state: Mutex::default(), request_came, quit_came, kept_max }
    }

    /// Records a request and gives it its number, from 1.
    pub(super) fn arrived(&self, request: &Arc<Received>) -> usize {
        let mut state = self.state();
        state.arrived += 1;
        if state.kept.len() < self.kept_max {
            state.kept.push(Arc::clone(request));
        }
        if state.waiting > 0 {
            self.request_came.notify_all();
        }
        state.arrived
    }

    pub(super) fn problem(&self, text: String) {
        let mut state = self.state();
        if state.problems.len() < PROBLEMS_MAX {
            state.problems.push(text);
        }
    }

    pub(super) fn count(&self) -> usize {
        self.state().arrived
    }

    pub(super) fn requests(&self) -> Vec<Received> {
        let kept = self.state().kept.clone();
        kept.iter().map(|request| Received::clone(request)).collect()
    }

    pub(super) fn problems(&self) -> Vec<String> {
        self.state().problems.clone()
    }

    pub(super) fn take_problems(&self) -> Vec<String> {
        std::mem::take(&mut self.state().problems)
    }

    /// Waits for so many requests and says how many there are.
    pub(super) fn wait_for_requests(&self, count: usize, longest: Duration) -> usize {
        let mut state = self.state();
        state.waiting += 1;
        let few = |state: &mut State| state.arrived < count;
        let waited = self.request_came.wait_timeout_while(state, longest, few);
        let mut state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.waiting -= 1;
        state.arrived
    }

    pub(super) fn quit(&self) {
        self.state().quit = true;
        self.quit_came.notify_all();
    }

    pub(super) fn wait_for_quit(&self) {
        let waited = self.quit_came.wait_while(self.state(), |state| !state.quit);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every change is a single push or store, so a panic elsewhere leaves nothing half done.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
