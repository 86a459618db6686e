//! The head of a request to a proxy: where it wants to go, and what is sent there. No network, no decision.

use crate::child::hosts::split_port;

/// The longest head.
pub(super) const HEAD_BYTES_MAX: usize = 32 << 10;

/// Where a request wants to go.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Head {
    /// The name or address asked for.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// What happens once there is a connection.
    pub target: Target,
}

/// What happens once there is a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Bytes go through as they are.
    Tunnel,
    /// This head goes first, as the server itself wants it.
    Forward(Vec<u8>),
}

/// Reads a head that ends with an empty line; `None` when it is not meant for a proxy.
pub(super) fn read(bytes: &[u8]) -> Option<Head> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (first, fields) = text.split_once("\r\n")?;
    let [method, target, version] = <[&str; 3]>::try_from(first.split(' ').collect::<Vec<_>>()).ok()?;
    if method == "CONNECT" {
        let (host, port) = split_port(target)?;
        return Some(Head { host: host.to_owned(), port: port?, target: Target::Tunnel });
    }
    let rest = target.strip_prefix("http://")?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = split_port(authority)?;
    let slash = if path.starts_with('/') { "" } else { "/" };
    // One request a connection: the next one could be for another host.
    let mut head = format!("{method} {slash}{path} {version}\r\nHost: {authority}\r\nConnection: close\r\n");
    for field in fields.split("\r\n").filter(|field| !field.is_empty() && !is_replaced(field)) {
        head += field;
        head += "\r\n";
    }
    head += "\r\n";
    Some(Head { host: host.to_owned(), port: port.unwrap_or(80), target: Target::Forward(head.into_bytes()) })
}

/// Fields between the program and the proxy, and the host, which is the one that was decided on.
fn is_replaced(field: &str) -> bool {
    let name = field.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
    matches!(name.as_str(), "host" | "connection" | "keep-alive") || name.starts_with("proxy-")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Target, read};

    fn check(head: &str, expected: &Expect) {
        let shown = match read(head.as_bytes()) {
            None => "none".to_owned(),
            Some(head) => {
                let first = match head.target {
                    Target::Tunnel => "tunnel".to_owned(),
                    Target::Forward(bytes) => String::from_utf8_lossy(&bytes).replace("\r\n", "|"),
                };
                format!("{} {} {first}", head.host, head.port)
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn a_tunnel_names_host_and_port() {
        check("CONNECT a.com:443 HTTP/1.1\r\nHost: b.com\r\n\r\n", &expect!["a.com 443 tunnel"]);
        check("CONNECT [::1]:443 HTTP/1.1\r\n\r\n", &expect!["::1 443 tunnel"]);
        check("CONNECT a.com HTTP/1.1\r\n\r\n", &expect!["none"]);
    }

    #[test]
    fn a_plain_request_goes_on_with_the_host_that_was_decided_on() {
        check(
            "GET http://a.com:8080/x?y HTTP/1.1\r\nHost: b.com\r\nProxy-Connection: keep-alive\r\nAccept: */*\r\n\r\n",
            &expect!["a.com 8080 GET /x?y HTTP/1.1|Host: a.com:8080|Connection: close|Accept: */*||"],
        );
        check(
            "GET http://a.com HTTP/1.1\r\n\r\n",
            &expect!["a.com 80 GET / HTTP/1.1|Host: a.com|Connection: close||"],
        );
        check(
            "GET http://u@a.com/ HTTP/1.1\r\n\r\n",
            &expect!["u@a.com 80 GET / HTTP/1.1|Host: u@a.com|Connection: close||"],
        );
    }

    #[test]
    fn what_is_not_meant_for_a_proxy_is_not_read() {
        check("GET / HTTP/1.1\r\nHost: a.com\r\n\r\n", &expect!["none"]);
        check("GET https://a.com/ HTTP/1.1\r\n\r\n", &expect!["none"]);
        check("hello\r\n\r\n", &expect!["none"]);
    }
}
