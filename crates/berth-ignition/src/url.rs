//! Just enough of URLs to judge a source as Ignition does.
//!
//! Ignition parses with the URL library of its language, which is lenient in some
//! places (spaces in paths) and strict in others (escapes in host names). What it
//! rejects is rejected here, so that a config is not refused on the machine only.

use crate::data_url::hex;

/// A parsed URL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Url<'a> {
    /// In lower case.
    pub(crate) scheme: String,
    /// Without scheme, fragment and query.
    pub(crate) rest: &'a str,
    pub(crate) query: &'a str,
}

/// Parses a URL. `None` when it is malformed; a missing scheme is an empty one.
pub(crate) fn parse(text: &str) -> Option<Url<'_>> {
    if text.bytes().any(|byte| byte.is_ascii_control()) {
        return None;
    }
    let (text, fragment) = text.split_once('#').unwrap_or((text, ""));
    if !has_good_escapes(fragment) {
        return None;
    }
    let (scheme, rest) = split_scheme(text)?;
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let opaque = !rest.starts_with('/');
    if opaque && scheme.is_empty() {
        // Without a scheme, a colon before the first slash would look like one.
        let first = rest.split('/').next().unwrap_or_default();
        if first.contains(':') {
            return None;
        }
    }
    if !opaque || scheme.is_empty() {
        let path = match rest.strip_prefix("//") {
            Some(authority) => {
                let end = authority.find('/').unwrap_or(authority.len());
                let (authority, path) = authority.split_at(end);
                if !is_authority(authority) {
                    return None;
                }
                path
            }
            None => rest,
        };
        if !has_good_escapes(path) {
            return None;
        }
    }
    Some(Url {
        scheme: scheme.to_ascii_lowercase(),
        rest,
        query,
    })
}

impl Url<'_> {
    /// Whether the query has the parameter, with no value.
    pub(crate) fn has_empty_parameter(&self, name: &str) -> bool {
        self.query
            .split('&')
            // A semicolon makes a parameter malformed, and such are passed over.
            .filter(|pair| !pair.contains(';'))
            .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
            .find(|(key, _)| *key == name)
            .is_some_and(|(_, value)| value.is_empty())
    }
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {}
            b'0'..=b'9' | b'+' | b'-' | b'.' if at > 0 => {}
            b':' if at == 0 => return None,
            b':' => {
                let (scheme, rest) = text.split_at(at);
                return Some((scheme, rest.strip_prefix(':').unwrap_or(rest)));
            }
            _ => break,
        }
    }
    Some(("", text))
}

fn has_good_escapes(text: &str) -> bool {
    escapes(text).all(|escape| escape.is_some())
}

/// The byte of each percent escape, `None` for a malformed one.
fn escapes(text: &str) -> impl Iterator<Item = Option<u8>> {
    text.split('%').skip(1).map(|after| {
        let mut digits = after.bytes().map(hex);
        let high = digits.next()??;
        let low = digits.next()??;
        Some(high << 4 | low)
    })
}

fn is_authority(authority: &str) -> bool {
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    let user_allowed = |c: char| c.is_ascii_alphanumeric() || "-._:~!$&'()*+,;=%@".contains(c);
    user.chars().all(user_allowed) && has_good_escapes(user) && is_host(host)
}

fn is_host(host: &str) -> bool {
    let port = if host.starts_with('[') {
        match host.rsplit_once(']') {
            Some((_, port)) => port,
            None => return false,
        }
    } else {
        host.rfind(':').and_then(|at| host.get(at..)).unwrap_or("")
    };
    if !is_optional_port(port) {
        return false;
    }
    // The zone of an address may have escapes that the rest of a host may not.
    let zone = host.starts_with('[').then(|| host.find("%25")).flatten();
    let (name, zone) = host.split_at(zone.unwrap_or(host.len()));
    let allowed = |c: char| !c.is_ascii() || c.is_ascii_alphanumeric() || "-_.~!$&'()*+,;=:[]<>\"%".contains(c);
    name.chars().all(allowed)
        && escapes(name).all(|escape| escape.is_some_and(|byte| byte >= 0x80 || byte == b'%'))
        && has_good_escapes(zone)
}

fn is_optional_port(port: &str) -> bool {
    match port.strip_prefix(':') {
        None => port.is_empty(),
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn accepts_and_rejects_as_ignition_does() {
        let good = [
            "http://",
            "http://[::1]/",
            "http:foo",
            "HTTP://x",
            "http://ü/",
            "http://x/ü",
            "http://x/a b",
            "http://u:p@x/",
            "http://x?%zz",
            "http://x:/",
            "http://x:80:90/",
            "http://x<y/",
            "s3://b/k?versionId=",
            "foo",
            "//x/y",
        ];
        for text in good {
            assert!(parse(text).is_some(), "{text}");
        }
        let bad = [
            "http://x y",
            "http://x/%zz",
            "http://x:abc/",
            "http://[::1",
            ":x",
            "1http://x",
            "http://x/\u{1}",
            "http://a%20b/",
            "http://x%zz/",
            "http://x#%zz",
            "http://x\\y/",
        ];
        for text in bad {
            assert!(parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_version_of_an_object_must_not_be_empty() {
        let empty = |text| parse(text).unwrap().has_empty_parameter("versionId");
        assert!(empty("s3://b/k?versionId="));
        assert!(empty("s3://b/k?a=b&versionId"));
        assert!(!empty("s3://b/k?versionId=1"));
        assert!(!empty("s3://b/k?a;versionId="));
        assert!(!empty("s3://b/k"));
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,40}") {
            parse(&text);
        }
    }
}
