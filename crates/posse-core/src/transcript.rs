//! The events of a run, folded as they are appended: what the next step is decided from.
//!
//! The events themselves are the store's. Folding again from the first gives the same state; a step never
//! does that, so that a long run stays linear.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::event::{
    Answered, Attachment, Compacted, Event, Fact, Note, NoteKind, Permission, ToolFinished, ToolStarted,
};
use crate::message::{Finish, Media, Message, Part, Role, ToolCall, ToolResult, Usage};
use crate::outcome::{Outcome, StopReason};
use crate::plan::Plan;
use crate::time::Time;

/// Bytes of text that make about one token.
const BYTES_PER_TOKEN: u64 = 4;
/// The most denied calls that are kept for the report; the transcript has all.
const DENIED_MAX: usize = 200;

/// The state of a run after some of its events.
#[derive(Debug, Clone, PartialEq)]
pub struct Transcript {
    /// The place of the next event, from 1.
    pub next_seq: u64,
    /// When it started.
    pub started_at: Time,
    /// When the last event happened.
    pub last_at: Time,
    /// The conversation as it would be sent.
    pub messages: Vec<Arc<Message>>,
    /// The calls of the last answer, in order, until all of them are answered.
    pub open_calls: Vec<OpenCall>,
    /// The turn that is asked and not answered.
    pub asking: Option<u64>,
    /// Turns that were answered.
    pub turns: u64,
    /// Calls that were answered, whatever the answer.
    pub tool_calls: u64,
    /// The calls that were denied.
    pub denied: Vec<Denied>,
    /// The rules that a person allowed for the rest of the run.
    pub granted: Vec<String>,
    /// The files that the run hands over, each once.
    pub attachments: Vec<Attachment>,
    /// What was used.
    pub usage: Usage,
    /// What it cost; `None` where a price is not known.
    pub cost_usd: Option<f64>,
    /// About how many tokens the conversation has.
    pub context_tokens: u64,
    /// How the last answer ended.
    pub finish: Option<Finish>,
    /// True when the model refused the conversation as too long, until it is shortened.
    pub context_too_long: bool,
    /// True once the last turn was granted.
    pub last_turn: bool,
    /// True when the model has spoken, calls no tool, and nobody has said anything since.
    pub to_judge: bool,
    /// How many answers in a row were empty.
    pub empty_answers: u64,
    /// How many answers did not fit the schema.
    pub wrong_outputs: u64,
    /// Why it is to stop.
    pub stop: Option<StopReason>,
    /// How it ended.
    pub outcome: Option<Outcome>,
    /// What was said to the run and not yet passed on.
    said: Vec<String>,
    /// The message that holds the task; answers before it are those of earlier runs.
    task_at: usize,
}

/// A call that was denied.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Denied {
    /// The tool.
    pub tool: String,
    /// With what.
    pub input: Value,
    /// The rule that denies it, or one that would allow it.
    pub rule: Option<String>,
}

/// A call that waits for its result.
#[derive(Debug, Clone, PartialEq)]
pub struct OpenCall {
    /// The call.
    pub call: ToolCall,
    /// How far it is.
    pub state: CallState,
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub enum CallState {
    /// Not begun.
    Waiting,
    /// Begun, and not known to be done.
    Begun {
        /// True when it may have changed something.
        effectful: bool,
    },
    /// Done.
    Finished(ToolResult),
}

/// An event that cannot follow what came before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IllegalEvent {
    /// Its place.
    pub seq: u64,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for IllegalEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} cannot be there: {}", self.seq, self.message)
    }
}

impl Transcript {
    /// A run before its first event.
    pub fn new() -> Transcript {
        Transcript {
            next_seq: 1,
            started_at: Time(0),
            last_at: Time(0),
            messages: Vec::new(),
            open_calls: Vec::new(),
            asking: None,
            turns: 0,
            tool_calls: 0,
            denied: Vec::new(),
            granted: Vec::new(),
            attachments: Vec::new(),
            usage: Usage::default(),
            cost_usd: Some(0.0),
            context_tokens: 0,
            finish: None,
            context_too_long: false,
            last_turn: false,
            to_judge: false,
            empty_answers: 0,
            wrong_outputs: 0,
            stop: None,
            outcome: None,
            said: Vec::new(),
            task_at: 0,
        }
    }

    /// The state after all of these; what cannot follow is an error.
    pub fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Result<Transcript, IllegalEvent> {
        let mut transcript = Transcript::new();
        for event in events {
            transcript.append(event)?;
        }
        Ok(transcript)
    }

    /// Takes the next event in.
    pub fn append(&mut self, event: &Event) -> Result<(), IllegalEvent> {
        let illegal = |message: String| IllegalEvent { seq: event.seq, message };
        if event.seq != self.next_seq {
            return Err(illegal(format!("{} is the next place", self.next_seq)));
        }
        if self.outcome.is_some() {
            return Err(illegal("the run has ended".to_owned()));
        }
        if matches!(event.fact, Fact::Started(_)) != (event.seq == 1) {
            return Err(illegal("a run starts with `started`, once".to_owned()));
        }
        self.take(&event.fact, event.at).map_err(illegal)?;
        self.next_seq += 1;
        self.last_at = event.at;
        Ok(())
    }

    fn take(&mut self, fact: &Fact, at: Time) -> Result<(), String> {
        match fact {
            Fact::Started(plan) => self.started(plan, at),
            Fact::Asked(asked) => return self.asked(asked.turn, asked.note.as_ref()),
            Fact::Answered(answered) => return self.answered(answered),
            Fact::Retried(retried) => self.context_too_long = retried.context_too_long,
            Fact::Permission(permission) => return self.permission(permission),
            Fact::ToolStarted(started) => return self.tool_started(started),
            Fact::ToolFinished(finished) => return self.tool_finished(finished),
            Fact::Compacted(compacted) => self.compacted(compacted),
            Fact::Said(said) => {
                self.said.push(said.text.clone());
                if self.asking.is_none() && self.open_calls.is_empty() {
                    self.pass_on_said();
                }
            }
            Fact::StopAsked(stop) => self.stop = self.stop.max(Some(stop.reason)),
            Fact::Ended(outcome) => self.outcome = Some(outcome.clone()),
            Fact::Unknown { .. } => {}
        }
        Ok(())
    }

    fn started(&mut self, plan: &Plan, at: Time) {
        self.started_at = at;
        self.messages.clone_from(&plan.prior);
        if !plan.model.value.takes_media {
            self.messages.iter_mut().for_each(without_media);
        }
        self.add_user_part(Part::Text { text: plan.first_message() });
        self.task_at = self.messages.len() - 1;
    }

    fn asked(&mut self, turn: u64, note: Option<&Note>) -> Result<(), String> {
        if !self.open_calls.is_empty() {
            return Err("calls are not answered".to_owned());
        }
        // A question that was asked before a crash and not answered is void; what was said meanwhile goes first.
        self.pass_on_said();
        self.asking = Some(turn);
        self.to_judge = false;
        let Some(note) = note else { return Ok(()) };
        match note.why {
            NoteKind::LastTurn => self.last_turn = true,
            NoteKind::WrongOutput => self.wrong_outputs += 1,
            NoteKind::EmptyAnswer => {}
        }
        self.add_user_part(Part::Text { text: note.text.clone() });
        Ok(())
    }

    fn answered(&mut self, answered: &Answered) -> Result<(), String> {
        if self.asking != Some(answered.turn) {
            return Err(format!("turn {} was not asked", answered.turn));
        }
        self.asking = None;
        self.turns += 1;
        self.add_cost(&answered.usage, answered.cost_usd);
        self.context_tokens = match answered.usage.total() {
            // A server that does not count leaves it to us.
            0 => self.context_tokens.saturating_add(bytes(&answered.message) / BYTES_PER_TOKEN),
            counted => counted,
        };
        self.context_too_long = false;
        self.finish = Some(answered.finish);
        let message =
            if self.last_turn { without_calls(&answered.message) } else { answered.message.clone() };
        let waiting = |call: &ToolCall| OpenCall { call: call.clone(), state: CallState::Waiting };
        self.open_calls = message.calls().map(waiting).collect();
        self.to_judge = self.open_calls.is_empty();
        if self.to_judge && message.text().trim().is_empty() {
            // An API refuses an answer without words in the conversation.
            self.empty_answers += 1;
        } else {
            self.empty_answers = 0;
            self.messages.push(message);
        }
        if self.to_judge {
            self.pass_on_said();
        }
        Ok(())
    }

    fn permission(&mut self, permission: &Permission) -> Result<(), String> {
        self.open_call(&permission.call_id)?;
        let Permission { tool, input, rule, .. } = permission.clone();
        if !permission.allowed && self.denied.len() < DENIED_MAX {
            self.denied.push(Denied { tool, input, rule });
        }
        for rule in &permission.granted {
            if !self.granted.contains(rule) {
                self.granted.push(rule.clone());
            }
        }
        Ok(())
    }

    fn tool_started(&mut self, started: &ToolStarted) -> Result<(), String> {
        let open = self.open_call(&started.call_id)?;
        if open.state == (CallState::Begun { effectful: true }) {
            return Err(format!("call {} has begun and may have taken effect", started.call_id));
        }
        open.state = CallState::Begun { effectful: started.effectful };
        Ok(())
    }

    fn tool_finished(&mut self, finished: &ToolFinished) -> Result<(), String> {
        let open = self.open_call(&finished.call_id)?;
        open.state = CallState::Finished(ToolResult {
            call_id: finished.call_id.clone(),
            name: open.call.name.clone(),
            text: finished.text.clone(),
            is_error: finished.is_error,
            media: finished.media.clone(),
        });
        self.tool_calls += 1;
        for attachment in &finished.attachments {
            // A file that was attached again may have changed meanwhile.
            self.attachments.retain(|earlier| earlier.path != attachment.path);
            self.attachments.push(attachment.clone());
        }
        let media = finished.media.iter().map(media_bytes).sum::<u64>();
        let tokens = (finished.text.len() as u64 + media) / BYTES_PER_TOKEN;
        self.context_tokens = self.context_tokens.saturating_add(tokens);
        if self.open_calls.iter().all(|open| matches!(open.state, CallState::Finished(_))) {
            for open in std::mem::take(&mut self.open_calls) {
                if let CallState::Finished(result) = open.state {
                    self.add_user_part(Part::ToolResult(result));
                }
            }
            self.pass_on_said();
        }
        Ok(())
    }

    fn open_call(&mut self, call_id: &str) -> Result<&mut OpenCall, String> {
        let is_open =
            |open: &&mut OpenCall| open.call.id == call_id && !matches!(open.state, CallState::Finished(_));
        self.open_calls.iter_mut().find(is_open).ok_or_else(|| format!("call {call_id} is not open"))
    }

    /// The task stays; the summary stands for what followed, up to the last answer and its results.
    fn compacted(&mut self, compacted: &Compacted) {
        self.add_cost(&compacted.usage, compacted.cost_usd);
        let kept = self.kept_when_compacted();
        // Before the run's own first answer the task is among what is kept, and the opening stays instead.
        let (opening, task_at) =
            if kept > self.task_at { (self.task_at, 0) } else { (0, self.task_at - kept + 1) };
        self.task_at = task_at;
        let mut first = self.messages[opening].as_ref().clone();
        // What an earlier run's calls gave is in the message of the task, if that run was stopped.
        first.parts.retain(|part| !matches!(part, Part::ToolResult(_)));
        if let Some(earlier) = first.parts.iter().position(is_summary) {
            first.parts.truncate(earlier);
        }
        first.parts.push(Part::Text { text: format!("{SUMMARY_OPENS}\n{}\n</summary>", compacted.summary) });
        let mut messages = vec![Arc::new(first)];
        messages.extend(self.messages.drain(kept..));
        self.messages = messages;
        self.context_tokens =
            self.messages.iter().map(|message| bytes(message)).sum::<u64>() / BYTES_PER_TOKEN;
        self.context_too_long = false;
    }

    /// The first message that a summary does not replace: the last answer of the model.
    pub fn kept_when_compacted(&self) -> usize {
        let last = self.messages.iter().rposition(|message| message.role == Role::Assistant);
        last.unwrap_or(self.messages.len())
    }

    /// True when a summary would replace something; not twice without an answer between.
    pub fn can_compact(&self) -> bool {
        self.kept_when_compacted() > 1
    }

    fn add_cost(&mut self, usage: &Usage, cost_usd: Option<f64>) {
        self.usage = self.usage.plus(usage);
        self.cost_usd = self.cost_usd.zip(cost_usd).map(|(sum, cost)| sum + cost);
    }

    fn pass_on_said(&mut self) {
        for text in std::mem::take(&mut self.said) {
            self.to_judge = false;
            self.add_user_part(Part::Text { text });
        }
    }

    /// Roles alternate: what follows a message of the caller's side becomes part of it.
    fn add_user_part(&mut self, part: Part) {
        match self.messages.last_mut().filter(|last| last.role == Role::User) {
            Some(last) => Arc::make_mut(last).parts.push(part),
            None => self.messages.push(Arc::new(Message { role: Role::User, parts: vec![part] })),
        }
    }

    /// The answers of the model in this run that are still in the conversation.
    pub fn answers(&self) -> impl DoubleEndedIterator<Item = &Message> {
        let own = self.messages.iter().skip(self.task_at);
        own.filter(|message| message.role == Role::Assistant).map(Arc::as_ref)
    }

    /// The last answer of the model in this run.
    pub fn last_answer(&self) -> Option<&Message> {
        self.answers().next_back()
    }

    /// The conversation with every call answered, for a run that goes on where this one ended.
    pub fn settled_messages(&self) -> Vec<Arc<Message>> {
        let mut settled = self.clone();
        for open in std::mem::take(&mut settled.open_calls) {
            let result = match open.state {
                CallState::Finished(result) => result,
                CallState::Waiting => not_done(&open.call, "The run was stopped before this call was begun."),
                CallState::Begun { .. } => not_done(
                    &open.call,
                    "The run was stopped before this call was done; it may or may not have taken effect.",
                ),
            };
            settled.add_user_part(Part::ToolResult(result));
        }
        // What was said and not passed on is heard by the run that follows.
        settled.pass_on_said();
        settled.messages
    }
}

fn not_done(call: &ToolCall, text: &str) -> ToolResult {
    let (call_id, name) = (call.id.clone(), call.name.clone());
    ToolResult { call_id, name, text: text.to_owned(), is_error: true, media: Vec::new() }
}

/// In the last turn no tool may be called, whatever the model asks for.
fn without_calls(message: &Message) -> Arc<Message> {
    let mut message = message.clone();
    message.parts.retain(|part| !matches!(part, Part::ToolCall(_)));
    Arc::new(message)
}

/// What an earlier run showed to its model is no use to one that cannot look.
fn without_media(message: &mut Arc<Message>) {
    let has_media = |part: &Part| matches!(part, Part::ToolResult(result) if !result.media.is_empty());
    if !message.parts.iter().any(has_media) {
        return;
    }
    for part in &mut Arc::make_mut(message).parts {
        if let Part::ToolResult(result) = part
            && !result.media.is_empty()
        {
            result.media.clear();
            result.text.push_str("\n[this model cannot see it]");
        }
    }
}

const SUMMARY_OPENS: &str = "<summary of the work so far>";

fn is_summary(part: &Part) -> bool {
    matches!(part, Part::Text { text } if text.starts_with(SUMMARY_OPENS))
}

fn bytes(message: &Message) -> u64 {
    let part_bytes = |part: &Part| match part {
        Part::Text { text } | Part::Thinking { text, .. } => text.len() as u64,
        Part::ToolCall(call) => call.input.to_string().len() as u64,
        Part::ToolResult(result) => {
            result.text.len() as u64 + result.media.iter().map(media_bytes).sum::<u64>()
        }
    };
    message.parts.iter().map(part_bytes).sum()
}

/// The bytes of text that cost a model about as much: a picture is scaled down to some 1,500 tokens, and a
/// document has about as many for each page of some 40 KB.
fn media_bytes(media: &Media) -> u64 {
    const IMAGE: u64 = 1_500 * BYTES_PER_TOKEN;
    const DOCUMENT_BYTES_PER_TOKEN: u64 = 25;
    if media.is_image() {
        return IMAGE;
    }
    IMAGE.max(media.base64.len() as u64 / DOCUMENT_BYTES_PER_TOKEN * BYTES_PER_TOKEN)
}

impl Default for Transcript {
    fn default() -> Transcript {
        Transcript::new()
    }
}

#[cfg(test)]
mod tests;
