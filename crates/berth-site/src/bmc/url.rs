//! URLs as Go's `net/url` reads them, as far as Metal3 asks it for the address of a management controller.

use std::net::{IpAddr, Ipv6Addr};

/// What a URL says of its server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Url {
    /// In lower case; empty where none is written.
    pub(super) scheme: String,
    /// What follows the scheme where that is not a path: `10.0.0.1` of `ipmi:10.0.0.1`.
    pub(super) opaque: bool,
    /// Host and port, with the brackets of an IPv6 address.
    pub(super) authority: String,
    pub(super) has_credentials: bool,
}

/// Why a text is not a URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UrlError {
    /// Something that no URL has, such as a control character.
    Unreadable,
    /// A `%` that two hexadecimal digits do not follow.
    Escape(String),
    /// What follows the host is not a port.
    Port(String),
    /// Brackets around something that is not an IPv6 address.
    Host(String),
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Self, UrlError> {
        let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
        let mut url = Self::default();
        if text.chars().any(|c| c.is_ascii_control()) {
            return Err(UrlError::Unreadable);
        }
        if text == "*" {
            return Ok(url);
        }
        let (scheme, rest) = split_scheme(text)?;
        url.scheme = scheme.to_ascii_lowercase();
        let rest = rest.split_once('?').map_or(rest, |(rest, _)| rest);
        if !rest.starts_with('/') {
            if !scheme.is_empty() {
                url.opaque = !rest.is_empty();
                return check_escapes(fragment).map(|()| url);
            }
            if rest.split('/').next().is_some_and(|segment| segment.contains(':')) {
                return Err(UrlError::Unreadable);
            }
        }
        let has_authority = !scheme.is_empty() || !rest.starts_with("///");
        let authority = rest.strip_prefix("//").filter(|_| has_authority);
        let path = match authority {
            Some(authority) => {
                let end = authority.find('/').unwrap_or(authority.len());
                let (authority, path) = authority.split_at(end);
                let (user, host) = match authority.rsplit_once('@') {
                    Some((user, host)) => (Some(user), host),
                    None => (None, authority),
                };
                check_authority(host)?;
                user.map_or(Ok(()), check_user)?;
                url.has_credentials = user.is_some();
                host.clone_into(&mut url.authority);
                path
            }
            None => rest,
        };
        check_escapes(path)?;
        check_escapes(fragment)?;
        Ok(url)
    }

    /// The host without brackets, and the port.
    pub(super) fn host_and_port(&self) -> (&str, Option<&str>) {
        let (host, port) = match self.authority.rsplit_once(':') {
            Some((host, port)) if is_port(port) => (host, Some(port)),
            _ => (&*self.authority, None),
        };
        let inner = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        (inner.unwrap_or(host), port)
    }
}

/// The scheme, or an empty text, and what follows its colon.
fn split_scheme(text: &str) -> Result<(&str, &str), UrlError> {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
    let Some((scheme, rest)) = end.and_then(|end| text.split_at_checked(end)) else {
        return Ok(("", text));
    };
    match rest.strip_prefix(':') {
        Some(_) if scheme.is_empty() => Err(UrlError::Unreadable),
        Some(rest) if scheme.starts_with(|c: char| c.is_ascii_alphabetic()) => Ok((scheme, rest)),
        _ => Ok(("", text)),
    }
}

fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

fn check_authority(host: &str) -> Result<(), UrlError> {
    let port = |port: &str| {
        let wrong = || UrlError::Port(port.to_owned());
        is_port(port).then_some(()).ok_or_else(wrong)
    };
    let Some(open) = host.rfind('[') else {
        // Only a host that has something to say about its port; more colons are left to whoever reads the host.
        return host.rsplit_once(':').map_or(Ok(()), |(_, text)| port(text));
    };
    let wrong = || UrlError::Host(host.to_owned());
    let (inner, rest) = host
        .strip_prefix('[')
        .and_then(|host| host.rsplit_once(']'))
        .ok_or_else(wrong)?;
    match rest.strip_prefix(':') {
        Some(text) => port(text)?,
        None if rest.is_empty() => {}
        None => return Err(UrlError::Port(rest.to_owned())),
    }
    let is_address = open == 0 && inner.parse::<Ipv6Addr>().is_ok();
    is_address
        .then_some(())
        .ok_or_else(|| UrlError::Host(format!("[{inner}]")))
}

fn check_user(user: &str) -> Result<(), UrlError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    if !user.chars().all(legal) {
        return Err(UrlError::Unreadable);
    }
    // Name and password are read one by one: an escape does not reach over the colon.
    let (name, password) = user.split_once(':').unwrap_or((user, ""));
    check_escapes(name)?;
    check_escapes(password)
}

/// Two hexadecimal digits follow each `%`.
fn check_escapes(text: &str) -> Result<(), UrlError> {
    for (at, _) in text.match_indices('%') {
        let digits = text.as_bytes().get(at + 1..at + 3);
        if !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit)) {
            let rest = text.get(at..).unwrap_or_default();
            return Err(UrlError::Escape(rest.chars().take(3).collect()));
        }
    }
    Ok(())
}

/// `HOST:PORT`, as Go's `net.SplitHostPort` takes it: the port may be anything without a colon.
pub(super) fn is_host_with_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else {
        return false;
    };
    let brackets = |text: &str| text.contains(['[', ']']);
    match host.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']').is_some_and(|inner| !brackets(inner)) && !brackets(port),
        None => !host.contains(':') && !brackets(text),
    }
}

/// Whether a text is the name of a host in the DNS, or an IP address.
pub(super) fn is_host(text: &str) -> bool {
    /// How long a part of a host name may be.
    const LONGEST_LABEL: usize = 63;
    let legal = |part: &str| {
        let inner = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        !part.is_empty()
            && part.len() <= LONGEST_LABEL
            && part.bytes().all(inner)
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    text.parse::<IpAddr>().is_ok() || text.split('.').all(legal)
}
