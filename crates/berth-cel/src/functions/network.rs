//! URLs, IP addresses and networks.

use std::net::IpAddr;

use super::{Outcome, count, multimap};
use crate::{error::EvalError, value::Value};

/// A URL in its parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Url {
    pub(crate) text: String,
    scheme: String,
    host: String,
    path: String,
    query: String,
}

pub(super) fn global(name: &str, value: &Value) -> Outcome {
    let text = match value {
        Value::Text(text) => text,
        Value::Url(_) if name == "url" => return Ok(value.clone()),
        _ => return Err(EvalError::no_overload()),
    };
    match name {
        "url" => Url::read(text).map(|url| Value::Url(url.into())),
        "isURL" => Ok(Value::Bool(Url::read(text).is_ok())),
        "ip" => address(text).map(Value::Ip),
        "isIP" => Ok(Value::Bool(address(text).is_ok())),
        "ip.isCanonical" => address(text).map(|found| Value::Bool(found.to_string() == **text)),
        "cidr" => network(text).map(|(address, length)| Value::Cidr(address, length)),
        "isCIDR" => Ok(Value::Bool(network(text).is_ok())),
        _ => Err(EvalError::no_overload()),
    }
}

pub(super) fn member(name: &str, target: &Value, arguments: &[Value]) -> Outcome {
    match (target, name, arguments) {
        (Value::Url(url), _, []) => url.part(name),
        (Value::Ip(address), _, []) => of_address(name, *address),
        (Value::Cidr(address, _), "ip", []) => Ok(Value::Ip(*address)),
        (Value::Cidr(_, length), "prefixLength", []) => Ok(Value::Int(i64::from(*length))),
        (Value::Cidr(address, length), "masked", []) => Ok(Value::Cidr(masked(*address, *length), *length)),
        (Value::Cidr(base, length), "containsIP", [other]) => {
            let other = match other {
                Value::Ip(other) => *other,
                Value::Text(text) => address(text)?,
                _ => return Err(EvalError::no_overload()),
            };
            Ok(Value::Bool(holds(*base, *length, other)))
        }
        (Value::Cidr(base, length), "containsCIDR", [other]) => {
            let (other, narrow) = match other {
                Value::Cidr(other, narrow) => (*other, *narrow),
                Value::Text(text) => network(text)?,
                _ => return Err(EvalError::no_overload()),
            };
            Ok(Value::Bool(narrow >= *length && holds(*base, *length, other)))
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn address(text: &str) -> Result<IpAddr, EvalError> {
    let refuse = |why: &str| {
        EvalError::new(format!(
            "IP Address \"{text}\" parse error during conversion from string: {why}"
        ))
    };
    let found: IpAddr = text
        .parse()
        .map_err(|_| refuse(&format!("ParseAddr(\"{text}\"): unable to parse IP")))?;
    match found {
        IpAddr::V6(six) if six.to_ipv4_mapped().is_some() => Err(EvalError::new(format!(
            "IPv4-mapped IPv6 address \"{text}\" is not allowed"
        ))),
        found => Ok(found),
    }
}

fn network(text: &str) -> Result<(IpAddr, u8), EvalError> {
    let refuse = |why: &str| {
        EvalError::new(format!(
            "network address parse error during conversion from string: netip.ParsePrefix(\"{text}\"): {why}"
        ))
    };
    let (base, bits) = text.split_once('/').ok_or_else(|| refuse("no '/'"))?;
    let base = address(base)?;
    let most = if base.is_ipv4() { 32 } else { 128 };
    let plain = bits.bytes().all(|digit| digit.is_ascii_digit()) && (bits == "0" || !bits.starts_with('0'));
    let length: u8 = bits
        .parse()
        .ok()
        .filter(|_| plain)
        .ok_or_else(|| refuse(&format!("bad bits after slash: \"{bits}\"")))?;
    if length > most {
        return Err(refuse("prefix length out of range"));
    }
    Ok((base, length))
}

/// The bits of an address, and how many it has.
fn bits(address: IpAddr) -> (u128, u32) {
    match address {
        IpAddr::V4(four) => (u128::from(u32::from(four)), 32),
        IpAddr::V6(six) => (u128::from(six), 128),
    }
}

fn shift(length: u8, all: u32) -> u32 {
    all.saturating_sub(u32::from(length))
}

fn masked(address: IpAddr, length: u8) -> IpAddr {
    let (value, all) = bits(address);
    let by = shift(length, all);
    let value = value.checked_shr(by).unwrap_or(0).checked_shl(by).unwrap_or(0);
    match address {
        IpAddr::V4(_) => IpAddr::V4(u32::try_from(value).unwrap_or_default().into()),
        IpAddr::V6(_) => IpAddr::V6(value.into()),
    }
}

fn holds(base: IpAddr, length: u8, other: IpAddr) -> bool {
    base.is_ipv4() == other.is_ipv4() && masked(base, length) == masked(other, length)
}

fn of_address(name: &str, address: IpAddr) -> Outcome {
    let unicast_local = match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.is_unicast_link_local(),
    };
    Ok(match name {
        "family" => count(if address.is_ipv4() { 4 } else { 6 }),
        "isUnspecified" => Value::Bool(address.is_unspecified()),
        "isLoopback" => Value::Bool(address.is_loopback()),
        "isLinkLocalUnicast" => Value::Bool(unicast_local),
        "isLinkLocalMulticast" => Value::Bool(match address {
            IpAddr::V4(four) => four.octets().starts_with(&[224, 0, 0]),
            IpAddr::V6(six) => six.segments().first().is_some_and(|first| first & 0xff0f == 0xff02),
        }),
        "isGlobalUnicast" => {
            let broadcast = matches!(address, IpAddr::V4(four) if four.is_broadcast());
            let special = address.is_unspecified() || address.is_loopback() || address.is_multicast();
            Value::Bool(!special && !broadcast && !unicast_local)
        }
        _ => return Err(EvalError::no_overload()),
    })
}

impl Url {
    /// Reads an absolute URL or an absolute path, as requests have them.
    fn read(text: &str) -> Result<Self, EvalError> {
        let refuse = |why: &str| {
            EvalError::new(format!(
                "URL parse error during conversion from string: parse \"{text}\": {why}"
            ))
        };
        if text.is_empty() {
            return Err(refuse("empty url"));
        }
        if text.bytes().any(|byte| byte < 0x20 || byte == 0x7f) {
            return Err(refuse("net/url: invalid control character in URL"));
        }
        let mut url = Self {
            text: text.to_owned(),
            ..Self::default()
        };
        let (before, _) = text.split_once('#').unwrap_or((text, ""));
        let (before, query) = before.split_once('?').unwrap_or((before, ""));
        query.clone_into(&mut url.query);
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|first: char| first.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        let rest = match before.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => {
                url.scheme = scheme.to_ascii_lowercase();
                rest
            }
            Some(("", _)) => return Err(refuse("missing protocol scheme")),
            _ => before,
        };
        if !rest.starts_with('/') {
            if url.scheme.is_empty() {
                return Err(refuse("invalid URI for request"));
            }
            // What has a scheme and no path is opaque.
            return Ok(url);
        }
        if let Some(authority) = rest.strip_prefix("//").filter(|_| !url.scheme.is_empty()) {
            let end = authority.find('/').unwrap_or(authority.len());
            let (authority, path) = authority.split_at_checked(end).unwrap_or((authority, ""));
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            let port = host
                .rsplit_once(':')
                .map(|(_, port)| port)
                .filter(|port| !port.contains(']'));
            if let Some(port) = port.filter(|port| !port.bytes().all(|digit| digit.is_ascii_digit())) {
                return Err(refuse(&format!("invalid port \":{port}\" after host")));
            }
            if host.contains([' ', '<', '>', '"']) {
                return Err(refuse("invalid character \" \" in host name"));
            }
            host.clone_into(&mut url.host);
            url.path = escaped(path).ok_or_else(|| refuse("invalid URL escape"))?;
        } else {
            url.path = escaped(rest).ok_or_else(|| refuse("invalid URL escape"))?;
        }
        Ok(url)
    }

    fn part(&self, name: &str) -> Outcome {
        let port = self.host.rsplit_once(':').filter(|(_, port)| !port.contains(']'));
        Ok(match name {
            "getScheme" => Value::text(&self.scheme),
            "getHost" => Value::text(&self.host),
            "getHostname" => {
                let name = port.map_or(self.host.as_str(), |(name, _)| name);
                Value::text(name.trim_start_matches('[').trim_end_matches(']'))
            }
            "getPort" => Value::text(port.map_or("", |(_, port)| port)),
            "getEscapedPath" => Value::text(&self.path),
            "getQuery" => {
                let mut found: Vec<(String, Vec<String>)> = Vec::new();
                for pair in self.query.split('&').filter(|pair| !pair.is_empty()) {
                    let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                    let (key, value) = (unescaped(key), unescaped(value));
                    match found.iter_mut().find(|(known, _)| *known == key) {
                        Some((_, values)) => values.push(value),
                        None => found.push((key, vec![value])),
                    }
                }
                multimap(found)
            }
            _ => return Err(EvalError::no_overload()),
        })
    }
}

/// A path with everything escaped that has to be; `None` if an escape is wrong.
fn escaped(path: &str) -> Option<String> {
    let mut out = String::with_capacity(path.len());
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let (high, low) = (bytes.next()?, bytes.next()?);
            if !(high.is_ascii_hexdigit() && low.is_ascii_hexdigit()) {
                return None;
            }
            out.extend(['%', char::from(high), char::from(low)]);
        } else if byte.is_ascii_alphanumeric() || b"-_.~$&+,/:;=@!'()*[]".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.extend(char::from_digit(u32::from(byte >> 4), 16).map(|digit| digit.to_ascii_uppercase()));
            out.extend(char::from_digit(u32::from(byte & 15), 16).map(|digit| digit.to_ascii_uppercase()));
        }
    }
    Some(out)
}

fn unescaped(text: &str) -> String {
    let mut out = Vec::new();
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        let pair = (byte == b'%').then(|| (bytes.clone().next(), bytes.clone().nth(1)));
        if let Some((Some(high), Some(low))) = pair
            && let Ok(code) = u8::from_str_radix(&format!("{}{}", char::from(high), char::from(low)), 16)
        {
            out.push(code);
            bytes.next();
            bytes.next();
        } else {
            out.push(if byte == b'+' { b' ' } else { byte });
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
