//! File work off the async threads: one call, its stop flag, and a panic turned into a result.
//!
//! Knows nothing of what a tool does; never blocks the caller's thread.

use std::any::Any;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use posse_core::message::ToolSpec;
use serde_json::Value;

use super::bound::clip;
use super::{Calling, Effect, Tool, ToolContext, ToolOutput, Touch};

/// What a tool does with an input: what it has to show, or why it could not be done.
pub(super) type Work = fn(&Value, &ToolContext, &Stop) -> Result<ToolOutput, String>;

/// The same where it can be done without waiting for anybody; `None` leaves it to the other.
pub(super) type AtOnce = fn(&Value, &ToolContext) -> Option<Result<ToolOutput, String>>;

/// What a call with that input would touch.
pub(super) type Touches = fn(&Value, &ToolContext) -> Vec<Touch>;

/// A tool that works on files.
pub(super) struct FileTool {
    spec: LazyLock<ToolSpec>,
    effect: Effect,
    touches: Touches,
    work: Work,
    at_once: Option<AtOnce>,
}

/// Tells work that nobody waits for it any more.
#[derive(Debug, Clone, Default)]
pub(super) struct Stop(Arc<AtomicBool>);

/// A reader that ends with an error once nobody waits for what is read.
pub(super) struct Stoppable<R> {
    reader: R,
    stop: Stop,
}

/// Sets the flag when the future that owns it is dropped, done or not.
struct StopWhenDropped(Stop);

impl FileTool {
    /// A tool that only looks, and whose spec is made at its first use.
    pub(super) const fn read_only(spec: fn() -> ToolSpec, touches: Touches, work: Work) -> FileTool {
        FileTool { spec: LazyLock::new(spec), effect: Effect::ReadOnly, touches, work, at_once: None }
    }

    /// A tool that changes files.
    pub(super) const fn effectful(spec: fn() -> ToolSpec, touches: Touches, work: Work) -> FileTool {
        FileTool { spec: LazyLock::new(spec), effect: Effect::Effectful, touches, work, at_once: None }
    }

    /// The same with a short way for what needs no waiting.
    pub(super) const fn with_at_once(mut self, at_once: AtOnce) -> FileTool {
        self.at_once = Some(at_once);
        self
    }
}

impl Tool for FileTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn effect(&self) -> Effect {
        self.effect
    }

    fn touches(&self, input: &Value, context: &ToolContext) -> Vec<Touch> {
        (self.touches)(input, context)
    }

    fn call<'a>(&'a self, input: &'a Value, context: &'a ToolContext) -> Calling<'a> {
        let at_once = self.at_once.and_then(|at_once| {
            // What panics there is done again where a panic becomes a result.
            catch_unwind(AssertUnwindSafe(|| at_once(input, context))).ok().flatten()
        });
        match at_once {
            Some(done) => Box::pin(std::future::ready(output(done, context.output_bytes_max))),
            None => Box::pin(run(self.work, input.clone(), context.clone())),
        }
    }
}

impl Stop {
    /// True once nobody waits.
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

impl<R> Stoppable<R> {
    /// The reader, for as long as somebody waits.
    pub(super) fn new(reader: R, stop: &Stop) -> Stoppable<R> {
        Stoppable { reader, stop: stop.clone() }
    }
}

impl<R: Read> Read for Stoppable<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_set() {
            return Err(io::Error::other("the call was stopped"));
        }
        self.reader.read(buffer)
    }
}

/// Does the work on a thread that may block. Total: every end is a result within its limit.
pub(super) async fn run(work: Work, input: Value, context: ToolContext) -> ToolOutput {
    let bytes_max = context.output_bytes_max;
    let owner = StopWhenDropped(Stop::default());
    let stop = owner.0.clone();
    let done = tokio::task::spawn_blocking(move || work(&input, &context, &stop)).await;
    match done {
        Ok(done) => output(done, bytes_max),
        Err(failure) => {
            let cause = match failure.try_into_panic() {
                Ok(payload) => panic_message(payload.as_ref()),
                Err(_) => "it was stopped".to_owned(),
            };
            ToolOutput::error(clip(format!("the tool broke, which is not your mistake: {cause}"), bytes_max))
        }
    }
}

fn output(done: Result<ToolOutput, String>, bytes_max: usize) -> ToolOutput {
    match done {
        Ok(output) => ToolOutput { text: clip(output.text, bytes_max), ..output },
        Err(text) => ToolOutput::error(clip(text, bytes_max)),
    }
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("no reason given").to_owned()
}
