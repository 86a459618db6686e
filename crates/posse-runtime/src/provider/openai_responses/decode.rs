//! Reads the events of a streamed response.
//!
//! A finished item is believed over the response it is part of, and both over the deltas. Nothing is
//! written here.

use posse_core::message::{Answer, Finish, Message, Part, Role, Usage};
use serde::Deserialize;
use serde_json::Value;

use super::item::{Item, ItemSoFar, Kind};
use crate::provider::openai::{self, Loose};
use crate::provider::wire::{self, OnDelta};
use crate::provider::{Decoder, Delta, ProviderError};

/// What has come of one answer.
#[derive(Debug, Default)]
pub(super) struct ResponsesDecoder {
    response_id: String,
    slots: Vec<Slot>,
    end: Option<End>,
}

/// One item of the output.
#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    item_id: String,
    so_far: ItemSoFar,
    /// The item as the server finished it.
    finished: Option<Read>,
}

/// Which item an event belongs to, as far as it says.
#[derive(Clone, Copy)]
struct Place<'a> {
    index: Option<u64>,
    /// Empty where there is none.
    id: &'a str,
}

/// What items turned out to hold.
#[derive(Debug, Default)]
pub(super) struct Read {
    /// What goes into the message.
    pub(super) parts: Vec<Part>,
    /// True when one of them declines.
    pub(super) refuses: bool,
}

/// How the server ended the response.
#[derive(Debug)]
struct End {
    finish: Finish,
    usage: Usage,
    output: Read,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Event<'a> {
    #[serde(borrow, rename = "type")]
    kind: Loose<'a>,
    #[serde(deserialize_with = "openai::index")]
    output_index: Option<u64>,
    #[serde(borrow)]
    item_id: Loose<'a>,
    #[serde(borrow)]
    item: Option<Item<'a>>,
    #[serde(borrow)]
    delta: Loose<'a>,
    #[serde(borrow)]
    arguments: Loose<'a>,
    #[serde(borrow)]
    error: Loose<'a>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Response<'a> {
    #[serde(borrow)]
    id: Loose<'a>,
    #[serde(borrow)]
    status: Loose<'a>,
    error: Option<Value>,
    #[serde(borrow)]
    incomplete_details: Option<IncompleteDetails<'a>>,
    #[serde(borrow)]
    output: Option<Vec<Item<'a>>>,
    usage: Option<ResponseUsage>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct IncompleteDetails<'a> {
    #[serde(borrow)]
    reason: Loose<'a>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ResponseUsage {
    #[serde(deserialize_with = "openai::count")]
    input_tokens: u64,
    #[serde(deserialize_with = "openai::count")]
    output_tokens: u64,
    input_tokens_details: Option<InputDetails>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct InputDetails {
    #[serde(deserialize_with = "openai::count")]
    cached_tokens: u64,
}

impl Decoder for ResponsesDecoder {
    fn event(
        &mut self,
        name: &str,
        data: &str,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<(), ProviderError> {
        let data = data.trim();
        // `[DONE]` is not of this API, but some servers send it out of habit.
        if self.end.is_some() || data.is_empty() || data == "[DONE]" {
            return Ok(());
        }
        let mut event: Event<'_> =
            serde_json::from_str(data).map_err(|error| wire::unreadable("the server", &error, data))?;
        let kind = std::mem::take(&mut event.kind);
        // A proxy's complaint has no type.
        let kind = match (kind.as_str(), &event.error) {
            ("", Loose::Other(_)) => "error",
            ("", Loose::Missing | Loose::Text(_)) => name,
            (kind, _) => kind,
        };
        match kind {
            "error" => {
                let complaint: Value = serde_json::from_str(data)
                    .map_err(|error| wire::unreadable("the server", &error, data))?;
                Err(openai::complaint_in_stream(&complaint))
            }
            "response.created" | "response.in_progress" => {
                self.take_response_id(&event.response.unwrap_or_default());
                Ok(())
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                self.take_end(kind, event.response.unwrap_or_default())
            }
            _ => {
                self.take_output(kind, event, on_delta);
                Ok(())
            }
        }
    }

    fn is_complete(&self) -> bool {
        self.end.is_some()
    }

    fn finish(self: Box<Self>) -> Result<Answer, ProviderError> {
        let decoder = *self;
        let end = decoder.end.ok_or_else(wire::cut_short)?;
        let any_finished = decoder.slots.iter().any(|slot| slot.finished.is_some());
        let Read { mut parts, refuses } =
            if any_finished || end.output.parts.is_empty() { read_slots(decoder.slots) } else { end.output };
        wire::name_calls("call_", &decoder.response_id, &end.usage, &mut parts);
        let message = Message { role: Role::Assistant, parts };
        let finish = match end.finish {
            Finish::Refusal => Finish::Refusal,
            Finish::MaxTokens => Finish::MaxTokens,
            Finish::Complete | Finish::Calls if refuses => Finish::Refusal,
            Finish::Complete | Finish::Calls => wire::finish_of(&message.parts),
        };
        Ok(Answer { message, finish, usage: end.usage })
    }
}

impl ResponsesDecoder {
    fn take_response_id(&mut self, response: &Response<'_>) {
        if self.response_id.is_empty() {
            response.id.as_str().clone_into(&mut self.response_id);
        }
    }

    fn take_end(&mut self, kind: &str, response: Response<'_>) -> Result<(), ProviderError> {
        self.take_response_id(&response);
        let status = response.status.as_str();
        if kind == "response.failed" || status == "failed" {
            return Err(openai::complaint_in_stream(&response.error.unwrap_or_default()));
        }
        let reason = response.incomplete_details.unwrap_or_default().reason;
        let finish = match (kind == "response.incomplete" || status == "incomplete", reason.as_str()) {
            (false, _) => Finish::Complete,
            (true, "content_filter") => Finish::Refusal,
            (true, _) => Finish::MaxTokens,
        };
        let mut output = Read::default();
        for item in response.output.unwrap_or_default() {
            item.read_into(&mut output);
        }
        let usage = response.usage.unwrap_or_default().counted();
        self.end = Some(End { finish, usage, output });
        Ok(())
    }

    /// Takes what belongs to one item; events that nothing here needs fall through.
    fn take_output(&mut self, event_kind: &str, event: Event<'_>, on_delta: OnDelta<'_>) {
        let place = Place { index: event.output_index, id: event.item_id.as_str() };
        match event_kind {
            "response.output_item.added" => {
                let item = event.item.unwrap_or_default();
                self.begin_item(place.index, &item, on_delta);
            }
            "response.output_item.done" => {
                self.finish_item(place.index, event.item.unwrap_or_default(), on_delta);
            }
            "response.output_text.delta" => {
                let words = event.delta.into_words();
                self.item(place, Kind::Message).text.push_str(&words);
                wire::tell(Delta::Text(words.into_owned()), on_delta);
            }
            "response.refusal.delta" => {
                let words = event.delta.into_words();
                self.item(place, Kind::Message).refusal.push_str(&words);
                wire::tell(Delta::Text(words.into_owned()), on_delta);
            }
            "response.reasoning_summary_part.added" => {
                let thoughts = &mut self.item(place, Kind::Reasoning).text;
                if !thoughts.is_empty() {
                    thoughts.push_str("\n\n");
                    wire::tell(Delta::Thinking("\n\n".to_owned()), on_delta);
                }
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                let words = event.delta.into_words();
                self.item(place, Kind::Reasoning).text.push_str(&words);
                wire::tell(Delta::Thinking(words.into_owned()), on_delta);
            }
            "response.function_call_arguments.delta" => {
                self.item(place, Kind::Call).arguments.push_str(&event.delta.into_json());
            }
            "response.function_call_arguments.done" => {
                let arguments = event.arguments.into_json();
                if !arguments.is_empty() {
                    self.item(place, Kind::Call).arguments = arguments.into_owned();
                }
            }
            _ => {}
        }
    }

    fn begin_item(&mut self, index: Option<u64>, item: &Item<'_>, on_delta: OnDelta<'_>) -> usize {
        let so_far = ItemSoFar::of(item);
        if so_far.kind == Kind::Call {
            wire::tell(Delta::Call(so_far.name.clone()), on_delta);
        }
        let item_id = item.id.as_str().to_owned();
        self.slots.push(Slot { index, item_id, so_far, finished: None });
        self.slots.len() - 1
    }

    fn finish_item(&mut self, index: Option<u64>, item: Item<'_>, on_delta: OnDelta<'_>) {
        let place = Place { index, id: item.id.as_str() };
        let known = self.position(place, item.kind());
        let position = known.unwrap_or_else(|| self.begin_item(index, &item, on_delta));
        let mut read = Read::default();
        item.read_into(&mut read);
        self.slots[position].finished = Some(read);
    }

    /// The item that a delta goes on with, begun where it is not known yet.
    fn item(&mut self, place: Place<'_>, kind: Kind) -> &mut ItemSoFar {
        let position = self.position(place, kind).unwrap_or_else(|| {
            let item_id = place.id.to_owned();
            let so_far = ItemSoFar::empty(kind);
            self.slots.push(Slot { index: place.index, item_id, so_far, finished: None });
            self.slots.len() - 1
        });
        &mut self.slots[position].so_far
    }

    /// The slot at a place. Where an event names none, it is the last one, if that is open and of its kind.
    fn position(&self, place: Place<'_>, kind: Kind) -> Option<usize> {
        match place {
            Place { index: None, id: "" } => {
                let last = self.slots.last()?;
                let goes_on = last.so_far.kind == kind && last.finished.is_none();
                goes_on.then_some(self.slots.len() - 1)
            }
            Place { index: None, id } => self.slots.iter().rposition(|slot| slot.item_id == id),
            Place { index, .. } => self.slots.iter().rposition(|slot| slot.index == index),
        }
    }
}

/// What all items hold, in the order of the output.
fn read_slots(mut slots: Vec<Slot>) -> Read {
    // Items may finish out of order; where they carry no index they stay as they came.
    slots.sort_by_key(|slot| slot.index);
    let mut all = Read::default();
    for slot in slots {
        let read = slot.finished.unwrap_or_else(|| slot.so_far.read());
        all.parts.extend(read.parts);
        all.refuses |= read.refuses;
    }
    all
}

impl ResponseUsage {
    fn counted(&self) -> Usage {
        let read = self.input_tokens_details.as_ref().map_or(0, |details| details.cached_tokens);
        Usage {
            input_tokens: self.input_tokens.saturating_sub(read),
            output_tokens: self.output_tokens,
            cache_read_tokens: read,
            cache_write_tokens: 0,
        }
    }
}
