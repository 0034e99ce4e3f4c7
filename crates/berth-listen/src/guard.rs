//! Pages of other sites: a browser can be made to send their requests to a server that only its own machine reaches.
//!
//! Such a request is found by what browsers say of it, and one of a page whose name was pointed at this machine (DNS rebinding)
//! by the name that it asks for.

use std::net::IpAddr;

use http::{
    HeaderMap, HeaderName, Uri,
    header::{HOST, ORIGIN},
};

use crate::refusal::Refusal;

/// What a browser says of the page that asks.
const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The rules for one connection to a server that does not authenticate callers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guard {
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// The hosts that may be asked for.
    pub(crate) hosts: Hosts,
}

/// Which hosts may be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    /// This machine, under a name that nobody else can give it.
    Local,
    /// The same, or any address: no page has one whose name was pointed here.
    Addresses,
    /// All.
    All,
}

impl Hosts {
    fn allow(self, host: &str) -> bool {
        match self {
            Self::All => true,
            Self::Local => name_of(host).is_some_and(is_local),
            Self::Addresses => name_of(host).is_some_and(|name| is_local(name) || name.parse::<IpAddr>().is_ok()),
        }
    }
}

impl Guard {
    pub(crate) fn check(self, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => Some(host.to_str().map_err(|_| Refusal::NoHost)?),
            // Health checks of proxies may have none, and browsers always have one.
            (None, _) if self.hosts != Hosts::Local => None,
            _ => return Err(Refusal::NoHost),
        };
        let authority = uri.authority().map(http::uri::Authority::as_str);
        if !host.into_iter().chain(authority).all(|host| self.hosts.allow(host)) {
            return Err(Refusal::ForeignHost);
        }
        let is_own_page = headers
            .get_all(SEC_FETCH_SITE)
            .iter()
            .all(|site| site == "same-origin" || site == "none");
        let is_own_origin = headers.get_all(ORIGIN).iter().all(|origin| {
            let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
            let is_own = |of: &str| host.is_some_and(|host| host.eq_ignore_ascii_case(of));
            origin.is_some_and(|(scheme, of)| scheme == self.scheme && is_own(of))
        });
        if is_own_page && is_own_origin {
            Ok(())
        } else {
            Err(Refusal::ForeignSite)
        }
    }
}

/// The name or address of a host, without its port and brackets.
fn name_of(host: &str) -> Option<&str> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']')?;
            (
                name,
                if port.is_empty() {
                    None
                } else {
                    Some(port.strip_prefix(':')?)
                },
            )
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, None),
        },
    };
    port.is_none_or(|port| port.parse::<u16>().is_ok()).then_some(name)
}

/// Whether a name is this machine's, and nobody else can give it to theirs.
fn is_local(name: &str) -> bool {
    let is_loopback = |address: IpAddr| address.to_canonical().is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_names_that_nobody_else_can_give_are_local() {
        for host in [
            "localhost",
            "LocalHost:80",
            "127.0.0.1",
            "127.0.0.1:8080",
            "127.9.9.9:1",
            "[::1]",
            "[::1]:8080",
            "[0::1]",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(Hosts::Local.allow(host) && Hosts::Addresses.allow(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "example.com",
            "localhost.example.com",
            "evil.localhost",
            "localhost.",
            "127.0.0.1.example.com",
            "127.1",
            "[::1",
            "[::1]x",
            "::1",
            "localhost:x",
            "localhost:80:80",
            "user@localhost",
            "localhost/",
            "localhost ",
            "[localhost].example.com",
        ] {
            assert!(!Hosts::Local.allow(host) && !Hosts::Addresses.allow(host), "{host}");
        }
        for host in ["0.0.0.0", "192.0.2.1:8080", "[2001:db8::1]:80", "10.0.2.2"] {
            assert!(!Hosts::Local.allow(host) && Hosts::Addresses.allow(host), "{host}");
        }
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn requests_of_other_sites_are_refused() {
        let local = Guard {
            scheme: "http",
            hosts: Hosts::Local,
        };
        let own = (HOST, "localhost:8080");
        let here: Uri = "/x".parse().unwrap();
        for (pairs, expected) in [
            (vec![own.clone()], Ok(())),
            (vec![], Err(Refusal::NoHost)),
            (vec![own.clone(), own.clone()], Err(Refusal::NoHost)),
            (vec![(HOST, "evil.example:8080")], Err(Refusal::ForeignHost)),
            (vec![own.clone(), (ORIGIN, "http://localhost:8080")], Ok(())),
            (
                vec![own.clone(), (ORIGIN, "https://localhost:8080")],
                Err(Refusal::ForeignSite),
            ),
            (
                vec![own.clone(), (ORIGIN, "http://localhost:3000")],
                Err(Refusal::ForeignSite),
            ),
            (
                vec![own.clone(), (ORIGIN, "http://localhost")],
                Err(Refusal::ForeignSite),
            ),
            (
                vec![own.clone(), (ORIGIN, "https://evil.example")],
                Err(Refusal::ForeignSite),
            ),
            (vec![own.clone(), (ORIGIN, "null")], Err(Refusal::ForeignSite)),
            (vec![own.clone(), (ORIGIN, "")], Err(Refusal::ForeignSite)),
            (vec![own.clone(), (SEC_FETCH_SITE, "same-origin")], Ok(())),
            (vec![own.clone(), (SEC_FETCH_SITE, "none")], Ok(())),
            (
                vec![own.clone(), (SEC_FETCH_SITE, "same-site")],
                Err(Refusal::ForeignSite),
            ),
            (
                vec![own.clone(), (SEC_FETCH_SITE, "cross-site")],
                Err(Refusal::ForeignSite),
            ),
            (
                vec![own.clone(), (SEC_FETCH_SITE, "none"), (SEC_FETCH_SITE, "cross-site")],
                Err(Refusal::ForeignSite),
            ),
        ] {
            assert_eq!(local.check(&here, &headers(&pairs)), expected, "{pairs:?}");
        }
        let elsewhere: Uri = "http://evil.example/x".parse().unwrap();
        assert_eq!(local.check(&elsewhere, &headers(&[own])), Err(Refusal::ForeignHost));
        // Machines come by any name; only browsers are looked at.
        let remote = Guard {
            hosts: Hosts::All,
            ..local
        };
        assert_eq!(remote.check(&here, &headers(&[])), Ok(()));
        assert_eq!(
            remote.check(&here, &headers(&[(ORIGIN, "http://x")])),
            Err(Refusal::ForeignSite)
        );
        let by_name = (HOST, "berth.example.com");
        assert_eq!(remote.check(&here, &headers(std::slice::from_ref(&by_name))), Ok(()));
        let foreign = [by_name, (ORIGIN, "http://evil.example")];
        assert_eq!(remote.check(&here, &headers(&foreign)), Err(Refusal::ForeignSite));
    }

    proptest! {
        /// What a browser would look up by name is never taken for an address or for this machine.
        #[test]
        fn a_host_is_read_as_browsers_read_it(host in "[\\[\\]:a-z0-9.@/ ]{0,24}|(localhost|127\\.0\\.0\\.1|\\[::1\\])[:.a-z0-9]{0,8}") {
            if Hosts::Addresses.allow(&host) {
                let uri: Uri = format!("http://{host}/").parse().unwrap();
                let name = uri.host().unwrap().trim_matches(['[', ']']);
                let address = name.parse::<IpAddr>().ok();
                prop_assert!(name == "localhost" || address.is_some());
                let is_here = address.is_none_or(|address| address.to_canonical().is_loopback());
                prop_assert_eq!(Hosts::Local.allow(&host), is_here);
            }
        }
    }
}
