//! A run as it is stored, folded to be looked at.

use std::sync::Arc;

use posse_core::event::{Event, Fact};
use posse_core::id::RunId;
use posse_core::plan::{Plan, RECORDING};
use posse_core::report::Report;
use posse_core::transcript::Transcript;

/// How a run stands.
#[derive(Debug, Clone)]
pub struct RunView {
    /// The run.
    pub run_id: RunId,
    /// What was decided for it.
    pub plan: Arc<Plan>,
    /// What happened.
    pub transcript: Transcript,
    /// True while the process that runs it lives.
    pub is_owned: bool,
}

impl RunView {
    /// True when its answers came out of a recording.
    pub fn is_replay(&self) -> bool {
        self.plan.model.from == RECORDING
    }

    /// The report that callers are given.
    pub fn report(&self) -> Report<'_> {
        let RunView { run_id, plan, transcript, is_owned } = self;
        Report { run_id: *run_id, plan, transcript, is_owned: *is_owned }
    }
}

/// The plan and the state that some events amount to; what is wrong with them otherwise.
pub fn fold(events: &[Event]) -> Result<(Arc<Plan>, Transcript), String> {
    let Some(Fact::Started(plan)) = events.first().map(|event| &event.fact) else {
        return Err("it does not begin with `started`".to_owned());
    };
    let transcript = Transcript::fold(events).map_err(|error| error.to_string())?;
    Ok((plan.clone(), transcript))
}
