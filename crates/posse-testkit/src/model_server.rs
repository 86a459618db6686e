//! A scripted model server: Anthropic Messages, `OpenAI` Chat, `OpenAI` Responses and Gemini over real HTTP.
//!
//! It answers as the services do and refuses what they refuse, by their public rules and not by what any
//! client happens to send. A request that breaks a rule gets that API's 400 and fails the test.
//!
//! ```
//! use posse_testkit::{ModelServer, Reply, Script};
//! use serde_json::json;
//!
//! let server = ModelServer::start(Script::by_turn(vec![
//!     Reply::calls(&[("read", json!({ "path": "a.txt" }))]),
//!     Reply::text("a.txt is empty"),
//! ]));
//! let base_url = server.url(); // Give this to the program under test, then look at what it sent.
//! assert!(base_url.starts_with("http://127.0.0.1:"));
//! assert_eq!(server.requests().len(), 0);
//! ```
//!
//! The parts: `script` picks a reply, `rules` judge a request, `render` and one file for each API turn a
//! reply into bytes, `http` and `deliver` move them. `issued` makes the ids that rules recognise.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;

pub use reply::{Reply, Stop, Usage};
pub use script::Script;

mod anthropic;
mod deliver;
mod gemini;
mod http;
mod issued;
mod log;
mod openai_chat;
mod openai_responses;
mod render;
mod reply;
mod rules;
mod script;
mod script_json;
mod service;
mod stream;
#[cfg(test)]
mod tests;

const WAIT_MAX: Duration = Duration::from_secs(30);

/// A server on a thread and a port of its own; it stops when dropped.
///
/// Dropping it panics if a request broke a rule and nobody took the problems.
pub struct ModelServer {
    address: SocketAddr,
    service: Arc<service::Service>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// One request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// The API that the path belongs to.
    pub api: Api,
    /// The request target with its query.
    pub path: String,
    /// The headers in order, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub raw: Vec<u8>,
    /// The body as JSON, null if it is not JSON.
    pub body: Value,
}

/// The API that a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Api {
    /// `POST /v1/messages`.
    Anthropic,
    /// `POST /v1/chat/completions`.
    OpenAiChat,
    /// `POST /v1/responses`.
    OpenAiResponses,
    /// `POST /v1beta/models/{model}:streamGenerateContent` and `:generateContent`.
    Gemini,
    /// Anything else, such as a list of models.
    Other,
}

impl ModelServer {
    /// Starts a server on a free port of the loopback address.
    pub fn start(script: Script) -> ModelServer {
        let service = Arc::new(service::Service::new(script));
        let (stop, stopped) = oneshot::channel();
        let (ready, address) = mpsc::channel();
        let serving = Arc::clone(&service);
        let thread = thread::Builder::new()
            .name("scripted-model".into())
            .spawn(move || service::run(&serving, &ready, stopped))
            .expect("a thread can be started");
        let address = address.recv().expect("the loopback address has a free port");
        ModelServer { address, service, stop: Some(stop), thread: Some(thread) }
    }

    /// The base URL, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests in order of arrival, as many as the script keeps.
    pub fn requests(&self) -> Vec<Received> {
        self.service.log.requests()
    }

    /// Every rule that a request broke, with the number of the request.
    pub fn problems(&self) -> Vec<String> {
        self.service.log.problems()
    }

    /// The problems so far, which no longer fail the test.
    pub fn take_problems(&self) -> Vec<String> {
        self.service.log.take_problems()
    }

    /// Waits until that many requests have arrived; panics after 30 seconds.
    pub fn wait_for_requests(&self, count: usize) {
        let arrived = self.service.log.wait_for_requests(count, WAIT_MAX);
        assert!(arrived >= count, "{arrived} requests arrived in {WAIT_MAX:?}, not {count}");
    }

    /// Waits until a client posts to `/__quit` or [`ModelServer::quit`] is called.
    pub fn wait_for_quit(&self) {
        self.service.log.wait_for_quit();
    }

    /// Ends the wait of [`ModelServer::wait_for_quit`].
    pub fn quit(&self) {
        self.service.log.quit();
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        if thread::panicking() {
            return;
        }
        assert!(!matches!(ended, Some(Err(_))), "the thread of the model server panicked");
        let problems = self.take_problems();
        assert!(problems.is_empty(), "requests broke rules of their API:\n{}", problems.join("\n"));
    }
}

impl Received {
    /// The value of a header; the name is in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(have, _)| have == name).map(|(_, value)| value.as_str())
    }
}

impl Api {
    /// The API of a request.
    fn of(method: &str, target: &str) -> Api {
        let path = target.split('?').next().unwrap_or_default();
        let generates = path.starts_with("/v1beta/models/") || path.starts_with("/v1/models/");
        match (method, path) {
            ("POST", "/v1/messages") => Api::Anthropic,
            ("POST", "/v1/chat/completions") => Api::OpenAiChat,
            ("POST", "/v1/responses") => Api::OpenAiResponses,
            ("POST", _) if generates && path.ends_with("enerateContent") => Api::Gemini,
            (_, _) => Api::Other,
        }
    }
}
