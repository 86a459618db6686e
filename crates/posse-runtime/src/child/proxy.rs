//! The proxy of a run that may reach only some hosts: takes connections from inside its sandbox and makes those that are
//! allowed. Decides by the name that is asked for, resolves it itself, and looks at nothing inside a connection.

mod head;

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::hosts::{Allowed, HostPattern, allowed, is_public};
use head::{HEAD_BYTES_MAX, Head, Target};

/// How many connections of one run are open at a time; more wait.
const CONNECTIONS_MAX: usize = 128;
/// How long a program may take to say where it wants to go, and the way there may take.
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// How long a connection may last.
const CONNECTION_LIMIT: Duration = Duration::from_hours(1);
/// How long to wait when no more connections can be accepted, for want of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A proxy that serves as long as this value lives.
#[derive(Debug)]
pub(super) struct Proxy {
    _tasks: JoinSet<()>,
}

impl Proxy {
    /// Serves what connects to the listener.
    pub fn start(listener: TcpListener, hosts: &[HostPattern]) -> io::Result<Proxy> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let hosts: Arc<[HostPattern]> = hosts.into();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, hosts));
        Ok(Proxy { _tasks: tasks })
    }
}

async fn accept(listener: tokio::net::TcpListener, hosts: Arc<[HostPattern]>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.len() >= CONNECTIONS_MAX {
            connections.join_next().await;
        }
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((client, _)) => {
                let hosts = Arc::clone(&hosts);
                connections.spawn(async move {
                    // A program whose connection breaks notices by itself.
                    drop(timeout(CONNECTION_LIMIT, serve(client, &hosts)).await);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn serve(mut client: TcpStream, hosts: &[HostPattern]) -> io::Result<()> {
    let opened = timeout(CONNECT_LIMIT, open(&mut client, hosts)).await;
    match opened.unwrap_or_else(|_| Err(Refused::new("504 Gateway Timeout", "the host takes too long"))) {
        Err(refused) => client.write_all(refused.answer().as_bytes()).await,
        Ok((mut server, head, rest)) => {
            match &head.target {
                Target::Tunnel => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
                Target::Forward(first) => server.write_all(first).await?,
            }
            server.write_all(&rest).await?;
            tokio::io::copy_bidirectional(&mut client, &mut server).await.map(|_| ())
        }
    }
}

/// Why a connection was not made.
struct Refused {
    status: &'static str,
    why: String,
}

impl Refused {
    fn new(status: &'static str, why: impl Into<String>) -> Refused {
        Refused { status, why: why.into() }
    }

    fn answer(&self) -> String {
        let (status, body) = (self.status, format!("posse: {}\n", self.why));
        let length = body.len();
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
    }
}

/// Reads what is asked for, and connects if it is allowed.
async fn open(client: &mut TcpStream, hosts: &[HostPattern]) -> Result<(TcpStream, Head, Vec<u8>), Refused> {
    let (head, rest) = read_head(client).await?;
    let Some(how) = allowed(hosts, &head.host, head.port) else {
        let why = format!("{}:{} is not among the hosts that this run may reach", head.host, head.port);
        return Err(Refused::new("403 Forbidden", why));
    };
    let failed = |error: io::Error| Refused::new("502 Bad Gateway", format!("{}: {error}", head.host));
    let found = tokio::net::lookup_host((head.host.as_str(), head.port)).await.map_err(failed)?;
    let addresses: Vec<SocketAddr> = found
        .filter(|address| match how {
            Allowed::Named => true,
            Allowed::Public => is_public(address.ip()),
        })
        .collect();
    if addresses.is_empty() {
        let why = format!("{} has no public address, and only a pattern with `*` allows it", head.host);
        return Err(Refused::new("403 Forbidden", why));
    }
    let server = TcpStream::connect(addresses.as_slice()).await.map_err(failed)?;
    Ok((server, head, rest))
}

/// The head of a request, and what was read beyond it.
async fn read_head(client: &mut TcpStream) -> Result<(Head, Vec<u8>), Refused> {
    let unread = |why: &str| Refused::new("400 Bad Request", why);
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Ok((head::read(&bytes).ok_or_else(|| unread("this is not a request to a proxy"))?, rest));
        }
        if bytes.len() >= HEAD_BYTES_MAX {
            return Err(unread("the head of the request is too long"));
        }
        if client.read_buf(&mut bytes).await.map_err(|error| unread(&error.to_string()))? == 0 {
            return Err(unread("the request is cut off"));
        }
    }
}
