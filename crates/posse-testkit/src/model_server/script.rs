//! Which reply a request gets: the next one, the one for its turn, or what a function says.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::{Api, Received, Reply};

const REQUESTS_KEPT_MAX: usize = 10_000;

type Router = Arc<dyn Fn(&Received) -> Reply + Send + Sync>;

/// What the model will say, and which models there are.
pub struct Script {
    choice: Choice,
    pub(super) models: Vec<String>,
    pub(super) requests_kept_max: usize,
    pub(super) keyless: bool,
}

enum Choice {
    InOrder { replies: Vec<Reply>, next: AtomicUsize },
    ByTurn(Vec<Reply>),
    Route(Router),
}

impl Script {
    /// Each request takes the next reply.
    pub fn in_order(replies: Vec<Reply>) -> Script {
        Script::of(Choice::InOrder { replies, next: AtomicUsize::new(0) })
    }

    /// A request with so many model turns in it gets that reply, so any number of runs can go on at once.
    pub fn by_turn(replies: Vec<Reply>) -> Script {
        Script::of(Choice::ByTurn(replies))
    }

    /// A function decides.
    pub fn route(route: impl Fn(&Received) -> Reply + Send + Sync + 'static) -> Script {
        Script::of(Choice::Route(Arc::new(route)))
    }

    /// Sets the models that the lists of models name.
    pub fn models(mut self, models: Vec<&str>) -> Script {
        self.models = models.into_iter().map(str::to_owned).collect();
        self
    }

    /// Sets how many requests are kept to be looked at; later ones are counted only.
    pub fn keep_requests(mut self, requests: usize) -> Script {
        self.requests_kept_max = requests;
        self
    }

    /// Lets requests come without a key, as a server on one's own machine does.
    pub fn keyless(mut self) -> Script {
        self.keyless = true;
        self
    }

    fn of(choice: Choice) -> Script {
        let models = vec!["scripted-large".to_owned(), "scripted-small".to_owned()];
        Script { choice, models, requests_kept_max: REQUESTS_KEPT_MAX, keyless: false }
    }

    /// The reply to a request; none when the script is at its end.
    pub(super) fn reply(&self, request: &Received) -> Option<Reply> {
        match &self.choice {
            Choice::InOrder { replies, next } => replies.get(next.fetch_add(1, Ordering::Relaxed)).cloned(),
            Choice::ByTurn(replies) => replies.get(turns(request)).cloned(),
            Choice::Route(route) => Some(route(request)),
        }
    }
}

/// How many turns of the model are in a request.
pub(super) fn turns(request: &Received) -> usize {
    let with_role = |field: &str, role: &str| {
        let messages = request.body[field].as_array();
        messages.map_or(0, |messages| messages.iter().filter(|message| message["role"] == role).count())
    };
    match request.api {
        Api::Anthropic | Api::OpenAiChat => with_role("messages", "assistant"),
        Api::OpenAiResponses => output_runs(request.body["input"].as_array().map_or(&[], Vec::as_slice)),
        Api::Gemini => with_role("contents", "model"),
        Api::Other => 0,
    }
}

/// One turn is a run of output items with nothing of the client's between them.
fn output_runs(items: &[Value]) -> usize {
    let is_output = |item: &Value| match item["type"].as_str() {
        Some("function_call" | "reasoning") => true,
        Some("message") | None => item["role"] == "assistant",
        Some(_) => false,
    };
    let starts = |(index, item): &(usize, &Value)| {
        is_output(item) && !index.checked_sub(1).is_some_and(|before| is_output(&items[before]))
    };
    items.iter().enumerate().filter(starts).count()
}
