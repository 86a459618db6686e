//! The server's thread: accepts connections, and decides the answer to each request.
//!
//! `answer` decides and does no I/O; `converse` does the I/O and decides nothing.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use std::{io, mem};

use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::deliver::{After, Answer};
use super::http::{Connection, Request};
use super::log::Log;
use super::render::{self, Asked, error_body, json_answer};
use super::reply::Failure;
use super::{Api, Received, Script, rules, script};

/// How many clients may wait to be accepted; the system may allow fewer.
const BACKLOG: u32 = 16_384;
/// The pause before accepting again when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A script being served.
pub(super) struct Service {
    script: Script,
    pub log: Log,
    replies: AtomicU64,
    connections: AtomicU64,
}

/// Serves until `stopped` resolves; says on which address over `ready`.
pub(super) fn run(service: &Arc<Service>, ready: &mpsc::Sender<SocketAddr>, stopped: oneshot::Receiver<()>) {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_io().enable_time().build().expect("a runtime can be made");
    runtime.block_on(async {
        let listener = listen().expect("the loopback address has a free port");
        let address = listener.local_addr().expect("a bound socket has an address");
        if ready.send(address).is_ok() {
            serve(&listener, service, stopped).await;
        }
    });
}

fn listen() -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
    socket.listen(BACKLOG)
}

async fn serve(listener: &TcpListener, service: &Arc<Service>, mut stopped: oneshot::Receiver<()>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((socket, _)) => {
                    service.connections.fetch_add(1, Ordering::Relaxed);
                    connections.spawn(converse(socket, Arc::clone(service)));
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            Some(ended) = connections.join_next(), if !connections.is_empty() => {
                // A connection that panicked means a route did: the test is to hear of it.
                if let Err(cause) = ended {
                    service.log.problem(format!("answering a request failed: {cause}"));
                }
            }
            _ = &mut stopped => break,
        }
    }
}

async fn converse(socket: TcpStream, service: Arc<Service>) {
    // Without it the pieces of an answer wait for one another.
    if socket.set_nodelay(true).is_err() {
        return;
    }
    let mut connection = Connection::new(socket);
    loop {
        let (answer, keep_alive) = match connection.next().await {
            Ok(Some(request)) if is_quit(&request) => {
                // The process may end as soon as it is told to, so the answer goes first.
                let answered = json_answer(200, &json!({})).deliver(&mut connection, false).await;
                service.log.quit();
                return drop(answered);
            }
            Ok(Some(request)) => {
                let keep_alive = request.keep_alive;
                (service.answer(request), keep_alive)
            }
            Err(cause) if cause.kind() == io::ErrorKind::InvalidData => {
                service.log.problem(format!("a request was not HTTP: {cause}"));
                (refusal(Api::Other, 400, "bad_request", &cause.to_string()), false)
            }
            Ok(None) | Err(_) => return,
        };
        match answer.deliver(&mut connection, keep_alive).await {
            Ok(After::Open) => {}
            // A client may go away at any moment; that is its right.
            Ok(After::Closed) | Err(_) => return,
        }
    }
}

impl Service {
    pub(super) fn new(script: Script) -> Service {
        let log = Log::new(script.requests_kept_max);
        Service { script, log, replies: AtomicU64::new(0), connections: AtomicU64::new(0) }
    }

    fn answer(&self, mut request: Request) -> Answer {
        let path = request.target.split('?').next().unwrap_or_default();
        if request.method == "GET" && path == "/__stats" {
            return json_answer(200, &self.stats());
        }
        let received = Arc::new(Received {
            api: Api::of(&request.method, &request.target),
            body: serde_json::from_slice(&request.body).unwrap_or_default(),
            path: mem::take(&mut request.target),
            headers: request.headers,
            raw: request.body,
        });
        let place =
            Place { number: self.log.arrived(&received), method: &request.method, path: &received.path };
        match received.api {
            Api::Other => self.listing(&received, &place),
            Api::Anthropic | Api::OpenAiChat | Api::OpenAiResponses | Api::Gemini => {
                self.generate(&received, &place)
            }
        }
    }

    fn generate(&self, received: &Received, place: &Place) -> Answer {
        let mut broken = rules::check(received);
        // Only a missing key is refused with another status than 400.
        broken.retain(|rule| rule.status == 400 || !self.script.keyless);
        for rule in &broken {
            self.log.problem(place.say(&rule.text));
        }
        if let Some(first) = broken.first() {
            return refusal(received.api, first.status, rules::kind(received.api, first.status), &first.text);
        }
        let Some(reply) = self.script.reply(received) else {
            let text = "the script has no reply left";
            self.log.problem(place.say(text));
            return refusal(received.api, 500, rules::kind(received.api, 500), text);
        };
        let number = self.replies.fetch_add(1, Ordering::Relaxed) + 1;
        render::answer(reply, &Asked { request: received, number, turns: script::turns(received) })
    }

    /// The lists of models; each service has its own form.
    fn listing(&self, received: &Received, place: &Place) -> Answer {
        let path = received.path.split('?').next().unwrap_or_default();
        let models = |form: &dyn Fn(&str) -> Value| -> Value {
            self.script.models.iter().map(|name| form(name)).collect()
        };
        let list = match (place.method, path) {
            ("GET", "/v1/models") if received.header("anthropic-version").is_some() => {
                json!({ "data": models(&anthropic_model), "has_more": false,
                    "first_id": self.script.models.first(), "last_id": self.script.models.last() })
            }
            ("GET", "/v1/models") => json!({ "object": "list", "data": models(&openai_model) }),
            ("GET", "/v1beta/models") => json!({ "models": models(&gemini_model) }),
            ("GET", "/api/tags") => json!({ "models": models(&ollama_model) }),
            (method, _) => {
                let text = format!("there is no {method} {path}");
                self.log.problem(place.say(&text));
                return refusal(Api::Other, 404, "not_found_error", &text);
            }
        };
        json_answer(200, &list)
    }

    fn stats(&self) -> Value {
        json!({
            "requests": self.log.count(),
            "problems": self.log.problems(),
            "connections": self.connections.load(Ordering::Relaxed),
        })
    }
}

fn is_quit(request: &Request) -> bool {
    request.method == "POST" && request.target == "/__quit"
}

/// Which request a problem is about.
struct Place<'a> {
    number: usize,
    method: &'a str,
    path: &'a str,
}

impl Place<'_> {
    fn say(&self, text: &str) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        format!("request {} ({} {path}): {text}", self.number, self.method)
    }
}

fn refusal(api: Api, status: u16, kind: &str, message: &str) -> Answer {
    json_answer(status, &error_body(api, &Failure { status, kind: kind.into(), message: message.into() }))
}

fn anthropic_model(name: &str) -> Value {
    json!({ "type": "model", "id": name, "display_name": name, "created_at": "2025-10-01T00:00:00Z" })
}

fn openai_model(name: &str) -> Value {
    json!({ "id": name, "object": "model", "created": 1_760_000_000, "owned_by": "scripted" })
}

fn gemini_model(name: &str) -> Value {
    let methods = ["generateContent", "streamGenerateContent"];
    json!({ "name": format!("models/{name}"), "displayName": name, "inputTokenLimit": 1_000_000,
        "outputTokenLimit": 65_536, "supportedGenerationMethods": methods })
}

fn ollama_model(name: &str) -> Value {
    let details = json!({ "format": "gguf", "family": "scripted", "parameter_size": "8B",
        "quantization_level": "Q4_K_M" });
    json!({ "name": name, "model": name, "modified_at": "2025-10-01T00:00:00Z", "size": 1_000_000,
        "digest": "0000", "details": details })
}
