//! Which addresses belong to the public internet.
//!
//! A list of what is allowed: an address that nobody thought of is refused.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// True for an address that anybody on the internet may reach.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    !match address.octets() {
        // "This" network, private, loopback, multicast and reserved with broadcast.
        [0 | 10 | 127 | 224..=255, ..] => true,
        // Shared between a carrier and its customers.
        [100, second, ..] => (64..128).contains(&second),
        [169, 254, ..] | [192, 168, ..] => true,
        [172, second, ..] => (16..32).contains(&second),
        // Protocols, documentation, 6to4 relays, benchmarks.
        [192, 0, 0 | 2, _] | [192, 88, 99, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] => {
            true
        }
        _ => false,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match segments {
        // What stands for an address of the older kind is judged as that: mapped, NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(v4(high, low))
        }
        [0x2002, high, low, ..] => is_public_v4(v4(high, low)),
        // Protocols (Teredo and others), documentation.
        [0x2001, 0..0x200 | 0xdb8, ..] | [0x3fff, 0..0x1000, ..] => false,
        // The only part that is given out.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::is_public;

    const NOT_PUBLIC: &str = "
        0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.0 100.127.255.255 127.0.0.1 127.255.255.254
        169.254.0.1 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1 192.0.2.1 192.88.99.1
        192.168.0.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255
        240.0.0.1 255.255.255.255 :: ::1 ::2 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
        ::ffff:169.254.169.254 ::ffff:0.0.0.0 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 100::1
        2001::1 2001:1ff::1 2001:db8::1 2002:7f00:1:: 2002:a00:1::1 3fff::1 4000::1 fc00::1
        fd12:3456::1 fe80::1 fec0::1 ff02::1 ff0e::1";

    const PUBLIC: &str = "
        1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.0.0.1 128.0.0.1
        172.15.0.1 172.32.0.1 192.0.1.1 192.167.0.1 198.17.0.1 198.20.0.1 223.255.255.255
        ::ffff:8.8.8.8 64:ff9b::808:808 2001:200::1 2002:808:808::1 2606:4700::1111 2a00:1450::1";

    #[test]
    fn only_public_addresses_are_public() {
        for (addresses, expected) in [(NOT_PUBLIC, false), (PUBLIC, true)] {
            for address in addresses.split_whitespace() {
                assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
            }
        }
    }
}
