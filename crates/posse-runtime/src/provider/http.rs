//! A provider over HTTP: one protocol, one endpoint, and what of a conversation is already written.
//!
//! A conversation only grows, so its messages are written once; each request puts the few that are new after them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use posse_core::message::{Answer, Message, Role};
use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio::time::timeout;

use super::sse::{Sse, SseError};
use super::transport::{Transport, WireRequest, WireResponse};
use super::{Answering, Ask, Delta, Fault, Protocol, Provider, ProviderError};

/// The most bytes of one answer.
const RESPONSE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// The most bytes of an error's body that are read.
const ERROR_BYTES_MAX: usize = 64 * 1024;
/// The longest `retry-after` that is believed.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 3600);
/// What is shorter is no secret, and would be found in the middle of words.
const SECRET_BYTES_MIN: usize = 8;
/// Room for a usual first request.
const REQUEST_BYTES: usize = 8 * 1024;
/// How many of the last messages are written anew each time: those whose end may be marked for caching.
const MARKED_MESSAGES: usize = 3;

/// One endpoint, for one run.
pub struct HttpProvider {
    protocol: &'static dyn Protocol,
    transport: Transport,
    base_url: String,
    /// The address that was asked last, by its path.
    address: Option<(String, Url)>,
    headers: HeaderMap,
    /// Values that a provider may repeat and nobody is to see.
    secrets: Vec<String>,
    written: Written,
}

/// The last request, most of which is also in the next: a long conversation is neither written nor copied again.
#[derive(Default)]
struct Written {
    request: Bytes,
    /// For which questions its head is right.
    edition: Option<(u32, bool)>,
    /// How much of it is the head.
    head_bytes: usize,
    /// How much of it stays as it is.
    settled_bytes: usize,
    /// The messages in that, to notice when a conversation was shortened.
    settled: Vec<Arc<Message>>,
}

impl HttpProvider {
    /// An endpoint that is asked with these headers besides the protocol's own.
    pub(crate) fn new(
        protocol: &'static dyn Protocol,
        transport: Transport,
        base_url: &str,
        key: Option<&str>,
        more_headers: Vec<(String, String)>,
    ) -> Result<HttpProvider, String> {
        let hidden = key.into_iter().chain(more_headers.iter().map(|(_, value)| value.as_str()));
        let secrets = hidden.filter(|value| value.len() >= SECRET_BYTES_MIN).map(str::to_owned).collect();
        let own = protocol.headers(key).into_iter().map(|(name, value)| (name.to_owned(), value));
        let mut headers = HeaderMap::new();
        for (name, value) in own.chain(more_headers) {
            // Of a secret only the name may be told.
            let refused = || format!("the header `{name}` has a name or value that HTTP does not allow");
            let mut value = HeaderValue::from_str(&value).map_err(|_| refused())?;
            value.set_sensitive(true);
            headers.insert(HeaderName::try_from(&name).map_err(|_| refused())?, value);
        }
        Ok(HttpProvider {
            protocol,
            transport,
            base_url: base_url.trim_end_matches('/').to_owned(),
            address: None,
            headers,
            secrets,
            written: Written::default(),
        })
    }

    fn request(&mut self, ask: &Ask<'_>) -> Result<WireRequest, ProviderError> {
        let path = self.protocol.path(ask.model);
        let body = self.written.request(self.protocol, ask);
        Ok(WireRequest { url: self.url(&path)?, path, headers: self.headers.clone(), body })
    }

    /// The address of a path, which is the same for every question of a run.
    fn url(&mut self, path: &str) -> Result<Url, ProviderError> {
        if let Some((_, url)) = self.address.as_ref().filter(|(known, _)| known == path) {
            return Ok(url.clone());
        }
        let written = format!("{}{path}", self.base_url);
        let url = Url::parse(&written)
            .map_err(|error| ProviderError::lasting(format!("`{written}` is no URL: {error}")))?;
        self.address = Some((path.to_owned(), url.clone()));
        Ok(url)
    }

    async fn ask(
        &mut self,
        ask: &Ask<'_>,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ProviderError> {
        let request = self.request(ask)?;
        let mut response = patient(ask.stall, self.transport.send(request)).await?;
        if !(200..300).contains(&response.status) {
            return Err(self.refusal(ask, &mut response).await);
        }
        if !response.content_type.starts_with("text/event-stream") {
            return Err(not_a_stream(ask, &mut response).await);
        }
        self.read(ask, &mut response, on_delta).await
    }

    async fn read(
        &self,
        ask: &Ask<'_>,
        response: &mut WireResponse,
        on_delta: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Answer, ProviderError> {
        let mut decoder = self.protocol.decoder();
        let mut events = Sse::default();
        let mut received = 0;
        let broken = |error: SseError| match error {
            SseError::TooLong => ProviderError::lasting(error.to_string()),
            SseError::NotUtf8 => ProviderError::passing(error.to_string()),
        };
        while !decoder.is_complete() {
            let Some(chunk) = patient(ask.stall, response.chunk()).await? else {
                if let Some((name, data)) = events.finish().map_err(broken)? {
                    decoder.event(name, data, on_delta)?;
                }
                break;
            };
            received += chunk.len();
            if received > RESPONSE_BYTES_MAX {
                let message = format!("the answer has more than {RESPONSE_BYTES_MAX} bytes");
                return Err(ProviderError::lasting(message));
            }
            events.feed(&chunk);
            while let Some((name, data)) = events.next().map_err(broken)? {
                decoder.event(name, data, on_delta)?;
            }
        }
        self.drain(ask, response).await;
        decoder.finish()
    }

    /// Reads what follows a complete answer, so that the connection can be used again.
    async fn drain(&self, ask: &Ask<'_>, response: &mut WireResponse) {
        const PIECES_MAX: usize = 16;
        for _ in 0..PIECES_MAX {
            let patience = ask.stall.min(Duration::from_millis(200));
            match timeout(patience, response.chunk()).await {
                Ok(Ok(Some(_))) => {}
                // The answer is complete; how its connection ends does not matter to it.
                Ok(Ok(None) | Err(_)) | Err(_) => return,
            }
        }
    }

    /// Some providers repeat the key that they refuse; what they say is stored and shown.
    fn without_secrets(&self, message: String) -> String {
        self.secrets.iter().fold(message, |message, secret| message.replace(secret, "[key]"))
    }

    async fn refusal(&self, ask: &Ask<'_>, response: &mut WireResponse) -> ProviderError {
        let body = excerpt(ask, response).await;
        let mut error = self.protocol.refusal(response.status, &body);
        error.status = Some(response.status);
        // Some say it in the body.
        error.retry_after = response.retry_after.as_deref().and_then(retry_after).or(error.retry_after);
        error
    }
}

impl Provider for HttpProvider {
    fn answer<'a>(
        &'a mut self,
        ask: &'a Ask<'a>,
        on_delta: &'a mut (dyn FnMut(Delta) + Send),
    ) -> Answering<'a> {
        Box::pin(async move {
            let answer = self.ask(ask, on_delta).await;
            answer.map_err(|error| ProviderError { message: self.without_secrets(error.message), ..error })
        })
    }
}

impl Written {
    /// A whole request: what stays of the last one, and what is new.
    fn request(&mut self, protocol: &dyn Protocol, ask: &Ask<'_>) -> Bytes {
        // The last one is not copied unless somebody still sends it.
        let mut out = Vec::from(std::mem::take(&mut self.request));
        if !self.fits(ask) {
            *self = Written::default();
            out.clear();
            out.reserve(REQUEST_BYTES);
            protocol.head(ask, &mut out);
            self.edition = Some((ask.edition, ask.tools_allowed));
            self.head_bytes = out.len();
            self.settled_bytes = out.len();
        }
        out.truncate(self.settled_bytes);
        let (settled, marked) = ask.messages.split_at(ask.messages.len().saturating_sub(MARKED_MESSAGES));
        for message in &settled[self.settled.len()..] {
            append(protocol, message, false, self.head_bytes, &mut out);
            self.settled.push(message.clone());
        }
        self.settled_bytes = out.len();
        for message in marked {
            // The ends of the last two messages of the caller's side: the second finds what the first stored.
            append(protocol, message, message.role == Role::User, self.head_bytes, &mut out);
        }
        out.extend_from_slice(b"]}");
        self.request = Bytes::from(out);
        self.request.clone()
    }

    /// True when what is settled is the beginning of the next request too.
    fn fits(&self, ask: &Ask<'_>) -> bool {
        self.edition == Some((ask.edition, ask.tools_allowed))
            && self.settled.len() <= ask.messages.len().saturating_sub(MARKED_MESSAGES)
            && self.settled.iter().zip(ask.messages).all(|(mine, theirs)| Arc::ptr_eq(mine, theirs))
    }
}

/// Writes a message after those that begin at `start`.
fn append(protocol: &dyn Protocol, message: &Message, cached: bool, start: usize, out: &mut Vec<u8>) {
    let end = out.len();
    if end > start {
        out.push(b',');
    }
    let before = out.len();
    protocol.message(message, cached, out);
    if out.len() == before {
        // Nothing of it can be sent.
        out.truncate(end);
    }
}

/// Waits no longer than the silence that a run allows.
async fn patient<T>(
    stall: Duration,
    work: impl Future<Output = Result<T, ProviderError>>,
) -> Result<T, ProviderError> {
    match timeout(stall, work).await {
        Ok(done) => done,
        Err(_) => Err(ProviderError::passing(format!("no byte came for {} s", stall.as_secs_f64()))),
    }
}

async fn excerpt(ask: &Ask<'_>, response: &mut WireResponse) -> String {
    let mut body = Vec::new();
    while body.len() < ERROR_BYTES_MAX {
        match patient(ask.stall, response.chunk()).await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            // What came is enough to say what is wrong.
            Ok(None) | Err(_) => break,
        }
    }
    String::from_utf8_lossy(&body).into_owned()
}

async fn not_a_stream(ask: &Ask<'_>, response: &mut WireResponse) -> ProviderError {
    let body = excerpt(ask, response).await;
    let kind = if response.content_type.is_empty() { "nothing it names" } else { &response.content_type };
    let said = posse_core::text::one_line(&body, 200);
    let message =
        format!("the endpoint answered with {kind}, not an event stream; is the base URL right? {said}");
    ProviderError { fault: Fault::Lasting, status: Some(response.status), message, retry_after: None }
}

/// Seconds, or the time to come back at.
fn retry_after(value: &str) -> Option<Duration> {
    let value = value.trim();
    let wait = match value.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        Err(_) => {
            httpdate::parse_http_date(value).ok()?.duration_since(SystemTime::now()).unwrap_or_default()
        }
    };
    Some(wait.min(RETRY_AFTER_MAX))
}
