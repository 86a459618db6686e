//! What a person sees of a run on stderr while it goes on: a line for what happened, a last line that moves.

use std::io;
use std::time::Instant;

use posse_core::event::{Event, Fact};
use posse_core::message::{ToolCall, Usage};
use posse_core::report::Report;
use posse_core::step::duration;
use posse_core::text::{one_line, visible_line};
use posse_runtime::engine::Live;
use posse_runtime::provider::Delta;
use posse_runtime::supervisor::RunView;
use serde_json::Value;

use super::Output;
use crate::app::App;
use crate::print::{BOLD, CYAN, DIM, GREEN, Level, RED, YELLOW, styled};

const FRAMES: &[&str] = &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// What is shown of one run.
pub struct Progress<'a> {
    app: &'a App,
    begun: Instant,
    /// True when a last line may be drawn and taken back.
    moves: bool,
    speaks: bool,
    frame: usize,
    turn: u64,
    usage: Usage,
    cost_usd: Option<f64>,
    doing: String,
    drawn: bool,
}

impl<'a> Progress<'a> {
    pub fn new(app: &'a App, output: Output) -> Progress<'a> {
        let speaks = app.printer.level >= Level::Normal && output != Output::StreamJson;
        Progress {
            app,
            begun: Instant::now(),
            moves: speaks && app.printer.stderr_moves(),
            speaks,
            frame: 0,
            turn: 0,
            usage: Usage::default(),
            cost_usd: Some(0.0),
            doing: "starting".to_owned(),
            drawn: false,
        }
    }

    /// Takes in what happened.
    pub fn take(&mut self, piece: &Live) -> io::Result<()> {
        match piece {
            Live::Event(event) => self.event(event),
            Live::Delta(_, delta) => {
                self.doing = match delta {
                    Delta::Text(_) => "answering".to_owned(),
                    Delta::Thinking(_) => "thinking".to_owned(),
                    Delta::Call(tool) => format!("calling {}", visible_line(tool)),
                };
                Ok(())
            }
        }
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        match &event.fact {
            Fact::Started(plan) => {
                let model = format!("{}/{}", plan.model.value.provider, plan.model.value.model);
                let line = format!(
                    "{} {} {}",
                    styled(BOLD, &plan.agent),
                    styled(CYAN, &visible_line(&model)),
                    event.run_id
                );
                self.line(&line)
            }
            Fact::Asked(asked) => {
                self.turn = asked.turn;
                "waiting for the model".clone_into(&mut self.doing);
                match &asked.note {
                    Some(note) => self.line(&styled(YELLOW, &format!("  {}", visible_line(&note.text)))),
                    None => Ok(()),
                }
            }
            Fact::Answered(answered) => {
                self.usage = self.usage.plus(&answered.usage);
                self.cost_usd = self.cost_usd.zip(answered.cost_usd).map(|(sum, cost)| sum + cost);
                for call in answered.message.calls() {
                    self.line(&format!(
                        "  {} {}",
                        styled(GREEN, &visible_line(&call.name)),
                        styled(DIM, &shown_input(call))
                    ))?;
                }
                Ok(())
            }
            Fact::Retried(retried) => {
                let next = if retried.context_too_long {
                    "shortening the conversation".to_owned()
                } else {
                    format!("asking again in {}", duration(rounded(retried.wait_ms)))
                };
                let message = visible_line(&retried.message);
                let text = format!("  {message} (try {}); {next}", retried.attempt);
                self.line(&styled(YELLOW, &text))
            }
            Fact::ToolStarted(started) => {
                self.doing = format!("running {}", visible_line(&started.tool));
                Ok(())
            }
            Fact::ToolFinished(finished) if finished.is_error => {
                let text = format!("  {}: {}", finished.tool, one_line(&finished.text, 160));
                let text = visible_line(&text);
                self.line(&styled(RED, &text))
            }
            Fact::Compacted(_) => self.line(&styled(YELLOW, "  the conversation was shortened")),
            Fact::Said(said) => {
                let text = format!("  {} says: {}", said.from, one_line(&said.text, 160));
                self.line(&visible_line(&text))
            }
            Fact::StopAsked(stop) => {
                self.line(&styled(YELLOW, &format!("  stopping: {}", stop.reason.describe())))
            }
            Fact::Permission(_) | Fact::ToolFinished(_) | Fact::Ended(_) | Fact::Unknown { .. } => Ok(()),
        }
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.clear()?;
        if self.speaks { self.app.printer.hint(text) } else { Ok(()) }
    }

    /// Draws the last line, on a terminal.
    pub fn draw(&mut self) -> io::Result<()> {
        if !self.moves {
            return Ok(());
        }
        self.clear()?;
        self.frame = (self.frame + 1) % FRAMES.len();
        let numbers = numbers(self.turn, &self.usage, self.cost_usd, self.elapsed_ms());
        let text = format!("{} {} · {numbers}", FRAMES[self.frame], self.doing);
        self.drawn = true;
        self.app.printer.moving_line(&styled(DIM, &text))
    }

    /// Takes the last line back.
    pub fn clear(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.drawn) { self.app.printer.clear_moving_line() } else { Ok(()) }
    }

    /// Says what the run came to.
    pub fn summary(&self, view: &RunView) -> io::Result<()> {
        if !self.speaks {
            return Ok(());
        }
        self.app.printer.hint(&styled(DIM, &summary(&view.report())))
    }

    fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// What a run came to, in one line.
pub fn summary(report: &Report<'_>) -> String {
    let transcript = report.transcript;
    let numbers = numbers(transcript.turns, &transcript.usage, transcript.cost_usd, report.duration_ms());
    format!("{} · {numbers} · {}", report.status(), report.run_id)
}

fn numbers(turns: u64, usage: &Usage, cost_usd: Option<f64>, ms: u64) -> String {
    let tokens = usage.total();
    let cost = cost_usd.map_or_else(|| "cost unknown".to_owned(), |cost| format!("${cost:.4}"));
    let plural = if turns == 1 { "" } else { "s" };
    format!("{turns} turn{plural} · {} tokens · {cost} · {}", thousands(tokens), duration(rounded(ms)))
}

/// Tenths of a second are enough for a person.
pub fn rounded(ms: u64) -> u64 {
    if ms < 1000 { ms } else { ms / 100 * 100 }
}

/// A number with its thousands apart.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).expect("digits are text"))
        .collect();
    groups.join(",")
}

fn shown_input(call: &ToolCall) -> String {
    let shown = match call.input.as_object() {
        Some(input) if input.len() == 1 => input.values().next().map(plain).unwrap_or_default(),
        Some(input) => {
            input.iter().map(|(key, value)| format!("{key}={}", plain(value))).collect::<Vec<_>>().join(" ")
        }
        None => call.input.to_string(),
    };
    visible_line(&one_line(&shown, 100))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
