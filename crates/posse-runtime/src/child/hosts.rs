//! Which hosts a run may reach: patterns, and whether one allows a host. No network.

use std::net::IpAddr;

/// Ports of a pattern that names none.
const PORTS_DEFAULT: [u16; 2] = [80, 443];

/// A host that may be reached: `example.com`, `*.example.com`, either with `:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    /// Lower case, without `*.` and without a dot at the end.
    host: String,
    below: bool,
    port: Option<u16>,
}

/// A pattern that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPatternError(String);

impl std::fmt::Display for HostPatternError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "`{}` is not a host; write `example.com`, `*.example.com` or `example.com:8080`",
            self.0
        )
    }
}

impl std::error::Error for HostPatternError {}

impl std::str::FromStr for HostPattern {
    type Err = HostPatternError;

    fn from_str(text: &str) -> Result<HostPattern, HostPatternError> {
        let wrong = || HostPatternError(text.to_owned());
        let (host, port) = split_port(text).ok_or_else(wrong)?;
        let (host, below) = host.strip_prefix("*.").map_or((host, false), |host| (host, true));
        let host = normal(host);
        let is_name = !host.is_empty() && host.split('.').all(is_label);
        let is_address = !below && host.parse::<IpAddr>().is_ok();
        if is_name || is_address { Ok(HostPattern { host, below, port }) } else { Err(wrong()) }
    }
}

/// What a pattern says about a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Allowed {
    /// It is named, and may be anywhere, this machine included.
    Named,
    /// It is below a name that is allowed. Whoever runs that domain chooses its address, so it must be a public one.
    Public,
}

/// Whether one of the patterns allows a host and port; the exact one counts most.
pub(super) fn allowed(patterns: &[HostPattern], host: &str, port: u16) -> Option<Allowed> {
    let host = normal(host);
    let fits = |pattern: &&HostPattern| {
        let port_fits = pattern.port.map_or(PORTS_DEFAULT.contains(&port), |wanted| wanted == port);
        let host_fits = if pattern.below {
            host.strip_suffix(&pattern.host).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
        } else {
            host == pattern.host
        };
        port_fits && host_fits
    };
    let fitting: Vec<&HostPattern> = patterns.iter().filter(fits).collect();
    let named = fitting.iter().any(|pattern| !pattern.below);
    (!fitting.is_empty()).then_some(if named { Allowed::Named } else { Allowed::Public })
}

/// True for an address out on the internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            let [first, second, ..] = v4.octets();
            let shared = first == 100 && (64..128).contains(&second);
            let special = v4.is_loopback() || v4.is_private() || v4.is_link_local() || v4.is_multicast();
            !(special || shared || first == 0 || first >= 240)
        }
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(
            !(v6.is_loopback()
                || v6.is_unspecified()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
                || v6.is_multicast()),
            |v4| is_public(IpAddr::V4(v4)),
        ),
    }
}

/// A host and the port behind it, which an address of IP 6 has only in brackets.
pub(super) fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return match rest.strip_prefix(':') {
            None => rest.is_empty().then_some((host, None)),
            Some(port) => Some((host, Some(port.parse().ok()?))),
        };
    }
    match text.split_once(':') {
        None => Some((text, None)),
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
    }
}

fn normal(host: &str) -> String {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase()
}

fn is_label(label: &str) -> bool {
    let letters = label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    !label.is_empty() && label.len() <= 63 && letters
}

#[cfg(test)]
mod tests {
    use super::{Allowed, HostPattern, allowed, is_public};

    fn check(patterns: &[&str], asked: &[(&str, u16, Option<Allowed>)]) {
        let patterns: Vec<HostPattern> =
            patterns.iter().map(|pattern| pattern.parse().expect("a pattern")).collect();
        for (host, port, expected) in asked {
            assert_eq!(allowed(&patterns, host, *port), *expected, "{host}:{port}");
        }
    }

    #[test]
    fn a_name_allows_itself_on_the_ports_of_the_web() {
        let named = Some(Allowed::Named);
        check(
            &["Example.com"],
            &[
                ("example.com", 443, named),
                ("EXAMPLE.COM.", 80, named),
                ("example.com", 22, None),
                ("www.example.com", 443, None),
                ("notexample.com", 443, None),
                ("example.com.evil.org", 443, None),
            ],
        );
    }

    #[test]
    fn a_star_allows_what_is_below_and_not_the_name_itself() {
        let public = Some(Allowed::Public);
        check(
            &["*.example.com"],
            &[
                ("a.example.com", 443, public),
                ("a.b.example.com", 80, public),
                ("example.com", 443, None),
                (".example.com", 443, None),
                ("aexample.com", 443, None),
            ],
        );
        check(&["*.example.com", "a.example.com"], &[("a.example.com", 443, Some(Allowed::Named))]);
    }

    #[test]
    fn a_port_allows_only_itself() {
        let named = Some(Allowed::Named);
        check(&["h:8080", "[::1]:1"], &[("h", 8080, named), ("h", 443, None), ("::1", 1, named)]);
    }

    #[test]
    fn what_is_not_a_host_is_refused() {
        for pattern in ["", "*", "*.", "a*.com", "http://a.com", "a..b", "a b", "a:x", "a:70000", "*.*.com"] {
            assert!(pattern.parse::<HostPattern>().is_err(), "{pattern}");
        }
    }

    #[test]
    fn addresses_of_this_machine_and_its_networks_are_not_public() {
        for (address, expected) in [
            ("93.184.216.34", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("::1", false),
            ("fd00::1", false),
            ("::ffff:127.0.0.1", false),
            ("2606:2800:220:1::1", true),
        ] {
            assert_eq!(is_public(address.parse().expect("an address")), expected, "{address}");
        }
    }
}
