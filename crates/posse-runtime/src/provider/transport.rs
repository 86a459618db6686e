//! How a request reaches a provider: over HTTP, over HTTP with a recording, or out of a recording.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::HeaderMap;

use super::ProviderError;
use crate::cassette::{Cassette, Exchange, Tape};

/// How long a connection may take to be made.
const CONNECT_MAX: Duration = Duration::from_secs(15);

/// A request, ready to be sent.
#[derive(Debug)]
pub(crate) struct WireRequest {
    pub url: reqwest::Url,
    /// What follows the base URL: what a recording is compared by.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// An answer whose body is still to come.
#[derive(Debug)]
pub(crate) struct WireResponse {
    pub status: u16,
    pub content_type: String,
    pub retry_after: Option<String>,
    body: Body,
}

#[derive(Debug)]
enum Body {
    Http(reqwest::Response),
    Recorded {
        response: reqwest::Response,
        tape: Arc<Mutex<Tape>>,
        exchange: Box<Exchange>,
        received: Vec<u8>,
    },
    Replayed {
        body: Option<Bytes>,
        error: Option<String>,
    },
}

/// Where requests go.
#[derive(Debug, Clone)]
pub enum Transport {
    /// To the provider.
    Http(reqwest::Client),
    /// To the provider, and what is said is kept.
    Recording {
        /// The way to it.
        client: reqwest::Client,
        /// What was said so far.
        // Held for a few instructions and never across an await.
        tape: Arc<Mutex<Tape>>,
    },
    /// Nowhere: what was said before is said again.
    Replay {
        /// What was said.
        cassette: Arc<Cassette>,
        /// How much of it has been said again, whoever asked: one run may open several providers.
        replayed: Arc<AtomicUsize>,
    },
}

impl Transport {
    /// A way to providers; `None` when no TLS configuration can be made.
    pub fn http() -> Result<Transport, String> {
        client().map(Transport::Http)
    }

    /// A way to providers that keeps what is said.
    pub fn recording(tape: Arc<Mutex<Tape>>) -> Result<Transport, String> {
        client().map(|client| Transport::Recording { client, tape })
    }

    /// A way that leads nowhere and answers from a recording.
    pub fn replay(cassette: Arc<Cassette>) -> Transport {
        Transport::Replay { cassette, replayed: Arc::default() }
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn send(&self, request: WireRequest) -> Result<WireResponse, ProviderError> {
        match self {
            Transport::Http(client) => {
                let response = post(client, request).await?;
                Ok(WireResponse::new(&response_head(&response), Body::Http(response)))
            }
            Transport::Recording { client, tape } => {
                let mut exchange = Box::new(Exchange::of_request(&request.path, &request.body));
                match post(client, request).await {
                    Ok(response) => {
                        let head = response_head(&response);
                        exchange.status = head.0;
                        exchange.content_type.clone_from(&head.1);
                        exchange.retry_after.clone_from(&head.2);
                        let tape = tape.clone();
                        let body = Body::Recorded { response, tape, exchange, received: Vec::new() };
                        Ok(WireResponse::new(&head, body))
                    }
                    Err(error) => {
                        exchange.error = Some(error.message.clone());
                        keep(tape, *exchange);
                        Err(error)
                    }
                }
            }
            Transport::Replay { cassette, replayed } => {
                replay(cassette, &request, replayed.fetch_add(1, Ordering::Relaxed))
            }
        }
    }
}

/// A client to be made, in a process that has its TLS provider.
pub(crate) fn client_builder() -> reqwest::ClientBuilder {
    // The one TLS provider of the process; another call, or the program itself, may have installed it before.
    drop(rustls::crypto::ring::default_provider().install_default());
    reqwest::Client::builder()
}

/// Makes the client that every request of a process shares.
fn client() -> Result<reqwest::Client, String> {
    let builder = client_builder()
        .connect_timeout(CONNECT_MAX)
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("posse/", env!("CARGO_PKG_VERSION")));
    builder.build().map_err(|error| format!("no way to reach a provider can be made: {error}"))
}

type Head = (u16, String, Option<String>);

fn response_head(response: &reqwest::Response) -> Head {
    let header =
        |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    (response.status().as_u16(), header("content-type").unwrap_or_default(), header("retry-after"))
}

async fn post(client: &reqwest::Client, request: WireRequest) -> Result<reqwest::Response, ProviderError> {
    let mut sent = reqwest::Request::new(reqwest::Method::POST, request.url);
    *sent.headers_mut() = request.headers;
    *sent.body_mut() = Some(request.body.into());
    client.execute(sent).await.map_err(|error| {
        if error.is_builder() {
            return ProviderError::lasting(format!("the request cannot be made: {}", chain(&error)));
        }
        ProviderError::passing(chain(&error))
    })
}

/// An error with what caused it, without the URL, which is said elsewhere.
fn chain(error: &reqwest::Error) -> String {
    let mut text =
        if error.is_connect() { "cannot connect".to_owned() } else { "the connection broke".to_owned() };
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let said = inner.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        cause = inner.source();
    }
    text
}

fn replay(cassette: &Cassette, request: &WireRequest, number: usize) -> Result<WireResponse, ProviderError> {
    let exchange = cassette.exchange(number, &request.path, &request.body).map_err(ProviderError::lasting)?;
    if exchange.status == 0 {
        return Err(ProviderError::passing(exchange.error.clone().unwrap_or_default()));
    }
    let head = (exchange.status, exchange.content_type.clone(), exchange.retry_after.clone());
    let body = Some(Bytes::from(exchange.body.clone()));
    Ok(WireResponse::new(&head, Body::Replayed { body, error: exchange.error.clone() }))
}

fn keep(tape: &Mutex<Tape>, exchange: Exchange) {
    tape.lock().expect("nobody panics while holding the lock").keep(exchange);
}

impl WireResponse {
    fn new(head: &Head, body: Body) -> WireResponse {
        let (status, content_type, retry_after) = head.clone();
        WireResponse { status, content_type, retry_after, body }
    }

    /// The next piece of the body; `None` at its end.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, ProviderError> {
        match &mut self.body {
            Body::Http(response) => {
                response.chunk().await.map_err(|error| ProviderError::passing(chain(&error)))
            }
            Body::Recorded { response, received, exchange, .. } => match response.chunk().await {
                Ok(chunk) => {
                    received.extend_from_slice(chunk.as_deref().unwrap_or_default());
                    Ok(chunk)
                }
                Err(error) => {
                    exchange.error = Some(chain(&error));
                    Err(ProviderError::passing(chain(&error)))
                }
            },
            Body::Replayed { body, error } => match (body.take(), error.take()) {
                (Some(bytes), error_later) => {
                    *error = error_later;
                    Ok(Some(bytes))
                }
                (None, Some(error)) => Err(ProviderError::passing(error)),
                (None, None) => Ok(None),
            },
        }
    }
}

impl Drop for Body {
    /// An exchange is kept when nobody reads on, however far it got.
    fn drop(&mut self) {
        if let Body::Recorded { tape, exchange, received, .. } = self {
            exchange.body = String::from_utf8_lossy(received).into_owned();
            keep(tape, exchange.as_ref().clone());
        }
    }
}
