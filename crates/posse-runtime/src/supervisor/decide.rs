//! What the owning task does about what happened: plain values, no tokio.

use std::collections::BTreeSet;

use posse_core::id::RunId;
use posse_core::outcome::StopReason;

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input {
    /// A run is stored and may begin.
    Registered(RunId),
    /// Somebody asks a run to stop.
    StopAsked(RunId, StopReason),
    /// Somebody asks every run to stop.
    StopAllAsked(StopReason),
    /// There may be letters.
    Woken,
    /// A run is over and nothing of it is alive.
    Ended(RunId),
    /// Nobody can ask for anything any more.
    Closed,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Begin with a run, and with the letters there are for it.
    Launch(RunId),
    /// Tell a run to stop.
    Stop(RunId, StopReason),
    /// Look for letters in the store.
    TakeLetters,
    /// Let go of what belongs to a run.
    Forget(RunId),
}

/// The runs that are alive.
#[derive(Debug, Default)]
pub(super) struct Runs {
    live: BTreeSet<RunId>,
}

impl Runs {
    /// Decides.
    pub(super) fn on_input(&mut self, input: Input) -> Vec<Effect> {
        match input {
            Input::Registered(run_id) => {
                let is_new = self.live.insert(run_id);
                assert!(is_new, "a run is registered once");
                vec![Effect::Launch(run_id)]
            }
            Input::StopAsked(run_id, reason) => {
                self.live.get(&run_id).map(|run_id| Effect::Stop(*run_id, reason)).into_iter().collect()
            }
            Input::StopAllAsked(reason) => {
                self.live.iter().map(|run_id| Effect::Stop(*run_id, reason)).collect()
            }
            Input::Woken => vec![Effect::TakeLetters],
            Input::Ended(run_id) => {
                self.live.remove(&run_id);
                vec![Effect::Forget(run_id)]
            }
            Input::Closed => {
                self.live.iter().map(|run_id| Effect::Stop(*run_id, StopReason::Interrupted)).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Effect, Input, Runs};
    use posse_core::id::RunId;
    use posse_core::outcome::StopReason;
    use uuid::Uuid;

    fn run(number: u128) -> RunId {
        RunId(Uuid::from_u128(number))
    }

    #[test]
    fn a_run_is_launched_once_and_forgotten_when_it_ended() {
        let mut runs = Runs::default();
        assert_eq!(runs.on_input(Input::Registered(run(1))), [Effect::Launch(run(1))]);
        assert_eq!(runs.on_input(Input::Ended(run(1))), [Effect::Forget(run(1))]);
        assert_eq!(runs.on_input(Input::StopAsked(run(1), StopReason::Asked)), []);
    }

    #[test]
    fn closing_stops_what_is_alive() {
        let mut runs = Runs::default();
        runs.on_input(Input::Registered(run(1)));
        runs.on_input(Input::Registered(run(2)));
        runs.on_input(Input::Ended(run(1)));
        assert_eq!(runs.on_input(Input::Closed), [Effect::Stop(run(2), StopReason::Interrupted)]);
    }
}
