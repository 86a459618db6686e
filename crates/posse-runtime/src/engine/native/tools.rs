//! Carrying out the calls of one answer: those that only look beside each other, the others one by one.

use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt};
use posse_core::event::{Fact, StopAsked, ToolFinished, ToolStarted};
use posse_core::message::ToolCall;

use super::permit::Permit;
use super::{NativeRun, milliseconds};
use crate::store::{Durability, StoreError};
use crate::tool::{Effect, Tool, ToolContext, ToolOutput};

/// The most calls that run beside each other.
const CALLS_AT_ONCE_MAX: usize = 16;

/// One call, and how long it took.
async fn call_one<'a>(
    call: &'a ToolCall,
    tool: &dyn Tool,
    context: &ToolContext,
) -> (&'a ToolCall, ToolOutput, u64) {
    let begun = Instant::now();
    let output = tool.call(&call.input, context).await;
    (call, output, milliseconds(begun))
}

impl NativeRun<'_> {
    /// Answers every call, unless the run is to stop meanwhile, which is recorded.
    pub(super) async fn call_tools(&mut self, calls: Vec<ToolCall>) -> Result<(), StoreError> {
        let engine = self.engine;
        let mut beside: Vec<(ToolCall, &dyn Tool)> = Vec::new();
        for call in calls {
            match engine.toolbox.check(&call, &self.offered) {
                Err(text) => self.finished(&call, ToolOutput::error(text), 0),
                Ok(tool) => match self.permit(&call, tool).await? {
                    Permit::Answered => {}
                    Permit::Stop => return Ok(()),
                    Permit::Run if tool.effect() == Effect::ReadOnly => {
                        beside.push((call, tool));
                        if beside.len() == CALLS_AT_ONCE_MAX && !self.call_beside(&mut beside).await? {
                            return Ok(());
                        }
                    }
                    Permit::Run => {
                        let alone = &mut vec![(call, tool)];
                        if !self.call_beside(&mut beside).await? || !self.call_beside(alone).await? {
                            return Ok(());
                        }
                    }
                },
            }
        }
        self.call_beside(&mut beside).await.map(drop)
    }

    /// Runs some calls beside each other; false when the run is to stop.
    async fn call_beside(&mut self, calls: &mut Vec<(ToolCall, &dyn Tool)>) -> Result<bool, StoreError> {
        if calls.is_empty() {
            return Ok(true);
        }
        let calls = std::mem::take(calls);
        let mut durability = Durability::Process;
        for (call, tool) in &calls {
            let effectful = tool.effect() == Effect::Effectful;
            if effectful {
                // Written before the tool runs: a crash must leave a trace of a call that may have had its effect.
                durability = Durability::Machine;
            }
            let (call_id, input) = (call.id.clone(), call.input.clone());
            self.note(Fact::ToolStarted(ToolStarted { call_id, tool: call.name.clone(), input, effectful }));
        }
        self.recorder.flush(durability).await?;
        let context = self.context.clone();
        let mut running: FuturesUnordered<_> =
            calls.iter().map(|(call, tool)| call_one(call, *tool, &context)).collect();
        loop {
            let next = tokio::select! {
                biased;
                reason = self.stop.asked() => Err(reason),
                done = running.next() => Ok(done),
            };
            match next {
                Ok(None) => return Ok(true),
                Ok(Some((call, output, duration_ms))) => {
                    self.finished(call, output, duration_ms);
                    // The last one is stored together with what follows it.
                    if !running.is_empty() || durability == Durability::Machine {
                        self.recorder.flush(Durability::Process).await?;
                    }
                }
                Err(reason) => {
                    self.note(Fact::StopAsked(StopAsked { reason }));
                    return Ok(false);
                }
            }
        }
    }

    pub(super) fn finished(&mut self, call: &ToolCall, output: ToolOutput, duration_ms: u64) {
        let ToolOutput { text, is_error, diff, attachments, media } = output;
        // A key that a tool came upon goes neither into the log nor to the model.
        let text = self.engine.without_secrets(text);
        let diff = diff.map(|diff| self.engine.without_secrets(diff));
        let (call_id, tool) = (call.id.clone(), call.name.clone());
        self.note(Fact::ToolFinished(ToolFinished {
            call_id,
            tool,
            text,
            is_error,
            duration_ms,
            diff,
            attachments,
            media,
        }));
    }
}
