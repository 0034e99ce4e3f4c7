//! Which addresses count as one.

use std::net::{IpAddr, Ipv6Addr};

/// The address that one machine is counted under: it has a whole IPv6 network to choose addresses from, so the network counts.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = u128::from(address) & (u128::MAX << 64);
            IpAddr::V6(Ipv6Addr::from(network))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_ipv6_network_count_together_and_mapped_ones_as_ipv4() {
        for (a, b, same) in [
            ("2001:db8::1", "2001:db8::ffff:1", true),
            ("2001:db8::1", "2001:db8:0:1::1", false),
            ("::ffff:192.0.2.1", "192.0.2.1", true),
            ("127.0.0.1", "127.0.0.2", false),
        ] {
            let network = |text: &str| network_of(text.parse().unwrap());
            assert_eq!(network(a) == network(b), same, "{a} {b}");
        }
    }
}
