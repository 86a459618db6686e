//! The way to the web: names are looked up here, and a connection goes only to an address that was checked.
//!
//! One client refuses every address that is not public; the other is for hosts that an operator named. No proxy is used:
//! behind one, nobody here could tell which address is reached.

use std::fmt;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use super::address::is_public;
use crate::provider::transport::client_builder;

/// How long a connection may take.
const CONNECT_MAX: Duration = Duration::from_secs(10);

/// Addresses that are looked up.
pub(in crate::tool) type LookingUp<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// What knows the addresses of a name.
pub(in crate::tool) trait Lookup: Send + Sync {
    /// All of them.
    fn lookup(&self, host: String) -> LookingUp<'static>;
}

/// The resolver of this machine.
pub(super) struct SystemLookup;

/// The clients.
pub(super) struct Clients {
    public: reqwest::Client,
    any: reqwest::Client,
}

/// An address that is not to be reached.
#[derive(Debug)]
struct NotPublic {
    host: String,
    address: IpAddr,
}

/// Looks names up for a client, and checks what it finds where it must.
struct Checked {
    lookup: Arc<dyn Lookup>,
    must_be_public: bool,
}

impl Lookup for SystemLookup {
    fn lookup(&self, host: String) -> LookingUp<'static> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((host, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

impl fmt::Display for NotPublic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}, which is not an address of the public internet", self.host, self.address)
    }
}

impl std::error::Error for NotPublic {}

impl Resolve for Checked {
    fn resolve(&self, name: Name) -> Resolving {
        let (host, must_be_public) = (name.as_str().to_owned(), self.must_be_public);
        let looking = self.lookup.lookup(host.clone());
        Box::pin(async move {
            let addresses = looking.await?;
            // One that is not public is enough: which of them is used is not up to us.
            if let Some(address) =
                addresses.iter().copied().find(|address| must_be_public && !is_public(*address))
            {
                return Err(NotPublic { host, address }.into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter().map(|address| SocketAddr::new(address, 0)));
            Ok(addresses)
        })
    }
}

impl Clients {
    /// Clients that look names up so.
    pub(super) fn new(lookup: &Arc<dyn Lookup>) -> Result<Clients, String> {
        let client = |must_be_public| {
            let builder = client_builder()
                .connect_timeout(CONNECT_MAX)
                .redirect(reqwest::redirect::Policy::none())
                .no_proxy()
                // Fetches are rare, and a connection that waits belongs to the async runtime that made it.
                .pool_max_idle_per_host(0)
                .user_agent(concat!("posse/", env!("CARGO_PKG_VERSION")))
                .dns_resolver(Arc::new(Checked { lookup: lookup.clone(), must_be_public }));
            builder.build().map_err(|error| format!("no way to the web can be made: {error}"))
        };
        Ok(Clients { public: client(true)?, any: client(false)? })
    }

    /// Asks for a page, which an address in the URL itself may also forbid.
    pub(super) async fn get(&self, url: &Url, private_hosts: &[String]) -> Result<reqwest::Response, String> {
        let host = url.host_str().unwrap_or_default();
        let is_named = private_hosts.iter().any(|named| named.eq_ignore_ascii_case(host));
        let literal = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().ok();
        if let Some(address) = literal.filter(|address| !is_named && !is_public(*address)) {
            return Err(NotPublic { host: "the host".to_owned(), address }.to_string());
        }
        let client = if is_named { &self.any } else { &self.public };
        let asked = client.get(url.clone()).header("accept", ACCEPT).send().await;
        asked.map_err(|error| explained(&error))
    }
}

/// What is understood, the best first.
const ACCEPT: &str = "text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1";

/// What went wrong, without the URL, which the model knows.
pub(in crate::tool) fn explained(error: &reqwest::Error) -> String {
    let mut causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
    if let Some(refused) = causes.find_map(|cause| cause.downcast_ref::<NotPublic>()) {
        return refused.to_string();
    }
    let last = std::iter::successors(std::error::Error::source(error), |cause| cause.source()).last();
    let what = if error.is_connect() { "cannot connect" } else { "the connection broke" };
    last.map_or_else(|| what.to_owned(), |last| format!("{what}: {last}"))
}
