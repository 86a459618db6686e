//! Carrying a run out in front of a person: what is shown while it goes on, Ctrl-C, and how it ended.

use posse_core::event::VERSION;
use posse_core::id::RunId;
use posse_core::outcome::{Outcome, StopReason};
use posse_core::plan::Plan;
use posse_core::report::ResultSize;
use posse_runtime::approver::Answer;
use posse_runtime::config::allow_always;
use posse_runtime::engine::Live;
use posse_runtime::provider::Delta;
use posse_runtime::store::StoreError;
use posse_runtime::supervisor::{RunView, Started, Supervisor};
use serde_json::{Value, json};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Duration, interval};

use super::Output;
use super::approve::{self, Asked, Questions};
use super::progress::Progress;
use crate::app::App;
use crate::error::{CommandError, Kind};
use crate::print::{DIM, YELLOW, styled};
use crate::service::{store_failed, supervise_failed};

/// How many live pieces may wait to be shown.
const LIVE_MAX: usize = 4096;
/// How often the progress line is drawn.
const DRAW_EVERY: Duration = Duration::from_millis(100);

/// What to begin with.
pub enum Begin {
    /// A new run.
    Start(Box<Plan>),
    /// A run whose process is gone.
    Resume(RunId),
}

/// In front of whom a run is carried out.
pub struct Front {
    /// What is printed.
    pub output: Output,
    /// What the person is asked.
    pub questions: Questions,
}

/// What a person can do to a run from outside.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
    hangup: Signal,
}

impl Signals {
    fn new() -> std::io::Result<Signals> {
        let (interrupt, terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        Ok(Signals { interrupt, terminate, hangup: signal(SignalKind::hangup())? })
    }

    async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

/// Runs to the end and gives the exit code.
pub async fn carry(
    app: &App,
    supervisor: &Supervisor,
    begin: Begin,
    front: Front,
) -> Result<u8, CommandError> {
    let Front { output, mut questions } = front;
    let mut signals = Signals::new()?;
    leave_when_asked_twice()?;
    let (follower, mut live) = mpsc::channel(LIVE_MAX);
    let started = match begin {
        Begin::Start(plan) => supervisor.start(*plan, Some(follower)).await,
        Begin::Resume(run_id) => supervisor.resume(run_id, Some(follower)).await,
    };
    let Started { run_id, mut done } = started.map_err(|error| supervise_failed(&error))?;
    let mut progress = Progress::new(app, output);
    let mut tick = interval(DRAW_EVERY);
    let mut stops = 0;
    let outcome = loop {
        tokio::select! {
            Some(piece) = live.recv() => show(app, &mut progress, &piece, output)?,
            ended = &mut done => {
                while let Ok(piece) = live.try_recv() {
                    show(app, &mut progress, &piece, output)?;
                }
                break ended;
            }
            () = signals.any() => {
                stops += 1;
                if stops > 1 {
                    progress.clear()?;
                    // The store or a tool may hold up the end for long; a person who asks twice does not wait.
                    std::process::exit(i32::from(crate::cli::fail(&app.printer, output, &left_behind(run_id))));
                }
                supervisor.stop_all(StopReason::Interrupted);
            }
            asked = approve::next(&mut questions) => {
                progress.clear()?;
                tokio::select! {
                    answered = answer(app, asked) => answered?,
                    () = signals.any() => {
                        stops += 1;
                        supervisor.stop_all(StopReason::Interrupted);
                    }
                }
            }
            _ = tick.tick() => progress.draw()?,
        }
    };
    progress.clear()?;
    match outcome {
        Ok(Ok(outcome)) => {
            let view = supervisor.look(run_id).await.map_err(|error| supervise_failed(&error))?;
            finish(app, &progress, &view, &outcome, output)?;
            Ok(outcome.exit_code())
        }
        Ok(Err(error)) => Err(lost_store(run_id, &error)),
        Err(_) => Err(CommandError::new(Kind::Internal, "the supervisor has ended before the run")),
    }
}

/// Asks the person; what they allow for always becomes one of their own rules.
async fn answer(app: &App, asked: Asked) -> Result<(), CommandError> {
    let (agent, rules) = (asked.question.agent.clone(), asked.question.rules.clone());
    if approve::ask(app, asked).await? != Some(Answer::Always) {
        return Ok(());
    }
    let Some(path) = app.config_file() else {
        return Ok(app
            .printer
            .warn("there is no configuration to write the rule to; it holds for this run")?);
    };
    match allow_always(&path, &agent, &rules) {
        Ok(()) => {
            let line = format!("  {} may: {} ({})", agent, rules.join(", "), path.display());
            Ok(app.printer.say(&styled(DIM, &line))?)
        }
        Err(error) => Ok(app.printer.warn(&format!("the rule holds for this run only: {error}"))?),
    }
}

/// A reader of our output that does not read holds up the thread that prints, and with it everything else: whoever
/// asks twice is let go from here, with the run where it is.
fn leave_when_asked_twice() -> Result<(), CommandError> {
    const OTHERS_FIRST: Duration = Duration::from_millis(500);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let wait = async {
        let mut signals = Signals::new()?;
        signals.any().await;
        signals.any().await;
        tokio::time::sleep(OTHERS_FIRST).await;
        Ok::<(), std::io::Error>(())
    };
    std::thread::Builder::new().name("second-signal".to_owned()).spawn(move || {
        if runtime.block_on(wait).is_ok() {
            std::process::exit(i32::from(Kind::Stopped.code()));
        }
    })?;
    Ok(())
}

fn left_behind(run_id: RunId) -> CommandError {
    let message = format!("run {run_id} was left where it was");
    CommandError::new(Kind::Stopped, message).with_help(format!("`posse resume {run_id}` goes on with it"))
}

fn lost_store(run_id: RunId, error: &StoreError) -> CommandError {
    let mut failed = store_failed(error);
    failed.message = format!("run {run_id} was stopped: {}", failed.message);
    failed.with_help(format!("mend the cause, then `posse resume {run_id}` goes on with it"))
}

fn show(app: &App, progress: &mut Progress<'_>, piece: &Live, output: Output) -> Result<(), CommandError> {
    if output == Output::StreamJson {
        let line = match piece {
            Live::Event(event) => event.to_line(),
            Live::Delta(run_id, delta) => delta_json(*run_id, delta).to_string(),
        };
        app.printer.raw(&format!("{line}\n"))?;
    }
    Ok(progress.take(piece)?)
}

fn delta_json(run_id: RunId, delta: &Delta) -> Value {
    let data = match delta {
        Delta::Text(text) => json!({"text": text}),
        Delta::Thinking(text) => json!({"thinking": text}),
        Delta::Call(tool) => json!({"call": tool}),
    };
    json!({"v": VERSION, "run_id": run_id, "type": "delta", "data": data})
}

/// Prints how a run ended: its answer on stdout, everything else on stderr.
fn finish(
    app: &App,
    progress: &Progress<'_>,
    view: &RunView,
    outcome: &Outcome,
    output: Output,
) -> Result<(), CommandError> {
    match output {
        Output::Json => app.printer.json(&view.report().to_json(ResultSize::Bounded))?,
        Output::StreamJson => {}
        Output::Text => {
            print_result(app, outcome)?;
        }
    }
    progress.summary(view)?;
    say_ending(app, view, outcome)
}

/// Says on stderr why a run did not end well, and what to do.
pub fn say_ending(app: &App, view: &RunView, outcome: &Outcome) -> Result<(), CommandError> {
    let Some(error) = outcome.error() else { return Ok(()) };
    let resumable = match view.is_replay() {
        true => "a replay cannot go on from here: only the recorded answers are there".to_owned(),
        false => format!("`posse resume {}` goes on from here", view.run_id),
    };
    match outcome {
        Outcome::Stopped { .. } => {
            app.printer.hint(&styled(YELLOW, &error.message))?;
            app.printer.hint(&styled(DIM, &resumable))?;
        }
        Outcome::Failed { .. } | Outcome::TimedOut { .. } | Outcome::Exhausted { .. } => {
            app.printer.error(&error.message, error.help.as_deref())?;
            app.printer.hint(&styled(DIM, &resumable))?;
        }
        Outcome::Done { .. } => {}
    }
    Ok(())
}

/// Prints what a run answered: the value where a schema was asked for, the words otherwise.
pub fn print_result(app: &App, outcome: &Outcome) -> Result<(), CommandError> {
    if let Outcome::Done { output: Some(value), .. } = outcome {
        return Ok(app.printer.raw(&format!("{value:#}\n"))?);
    }
    match outcome.text() {
        Some(text) => Ok(app.printer.file(&ended_by_newline(text))?),
        None => Ok(()),
    }
}

/// A text as a terminal wants it.
pub fn ended_by_newline(text: &str) -> String {
    if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}
