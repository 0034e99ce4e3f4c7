//! Keys with which people log in, and proxies, as Assisted Service takes them.

use std::{collections::BTreeSet, net::Ipv6Addr};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use berth_documents::{Document, Node};
use ipnet::IpNet;

use super::{
    Findings,
    fields::unknown_field,
    model::{Text, text_at},
};
use crate::{lints, site_config::is_site_config};

/// Kinds with the field of their keys below `spec`.
const KEYS: &[(&str, &str)] = &[
    ("AgentClusterInstall", "sshPublicKey"),
    ("InfraEnv", "sshAuthorizedKey"),
    ("ClusterInstance", "sshPublicKey"),
    ("SiteConfig", "sshPublicKey"),
];

/// What a proxy is made of.
const PROXY_FIELDS: &[&str] = &["httpProxy", "httpsProxy", "noProxy"];

pub(super) fn check(document: &Document, findings: &mut Findings) {
    let Some((kind, field)) = KEYS.iter().find(|(kind, _)| *kind == document.kind()) else {
        return;
    };
    let of_clusters = is_site_config(document);
    if *kind == "SiteConfig" && !of_clusters {
        return;
    }
    let Some(spec) = document.body() else { return };
    keys(kind, spec, field, findings);
    if of_clusters {
        for cluster in spec.get("clusters").and_then(Node::as_seq).unwrap_or_default() {
            proxy(cluster, "spec.clusters[]", document.kind(), findings);
        }
    } else {
        proxy(spec, "spec", document.kind(), findings);
    }
}

fn keys(kind: &str, spec: &Node, field: &str, findings: &mut Findings) {
    let Some(node) = spec.get(field).filter(|node| !node.is_null()) else {
        return;
    };
    let Some(text) = node.as_str() else {
        let message = format!("`spec.{field}` is {} and must be a string", node.type_name());
        findings.add(&lints::VALUE, node.span, message);
        return;
    };
    // An empty text is the same as none.
    if text.is_empty() {
        return;
    }
    let text = match kind {
        "AgentClusterInstall" => text.trim().to_owned(),
        "ClusterInstance" => folded(text),
        // A new InfraEnv is checked before its key is trimmed.
        _ => text.to_owned(),
    };
    for (index, line) in text.split('\n').map(str::trim).enumerate() {
        // The key itself is not repeated: what stands there by mistake may be a private one.
        if let Some(problem) = key_problem(line) {
            findings.add_with_help(
                &lints::VALUE,
                node.span,
                format!(
                    "line {} of `spec.{field}` is not a public SSH key: {problem}",
                    index + 1
                ),
                "write one key per line, as in the file `~/.ssh/id_ed25519.pub`, and no line end after the last: `|-`, not `|`",
            );
        }
    }
}

/// What YAML makes of a text that a template puts between quotation marks: lines become one, and of several line ends one is lost.
fn folded(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(str::trim).collect();
    let mut out = String::new();
    let mut ends = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.is_empty() && index > 0 && index + 1 < lines.len() {
            ends += 1;
            continue;
        }
        if index > 0 {
            out.push_str(&if ends == 0 { " ".to_owned() } else { "\n".repeat(ends) });
            ends = 0;
        }
        out.push_str(line);
    }
    out
}

/// Why a line is not a public key that the service takes.
fn key_problem(line: &str) -> Option<String> {
    let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
    let parts: &[Part<'_>] = match kind {
        "ssh-rsa" => &[Part::Number, Part::Number],
        "ssh-dss" => &[Part::Number, Part::Number, Part::Number, Part::Number],
        "ssh-ed25519" => &[Part::Bytes(32)],
        "ecdsa-sha2-nistp256" => &[Part::Text("nistp256"), Part::Bytes(65)],
        "ecdsa-sha2-nistp384" => &[Part::Text("nistp384"), Part::Bytes(97)],
        "ecdsa-sha2-nistp521" => &[Part::Text("nistp521"), Part::Bytes(133)],
        "" => return Some("it is empty".to_owned()),
        _ => {
            return Some(
                "its type is not one of ssh-rsa, ssh-ed25519, ecdsa-sha2-nistp256, ecdsa-sha2-nistp384, ecdsa-sha2-nistp521 \
                 and ssh-dss"
                    .to_owned(),
            );
        }
    };
    let encoded = rest.split(' ').next().unwrap_or_default();
    let Ok(bytes) = STANDARD.decode(encoded) else {
        return Some("its second word is not Base64, so it was probably cut".to_owned());
    };
    let mut left = bytes.as_slice();
    let whole = std::iter::once(&Part::Text(kind))
        .chain(parts)
        .all(|part| part.take(&mut left));
    match (whole, left.is_empty()) {
        (true, true) => None,
        (true, false) => Some("there is more behind its end".to_owned()),
        (false, _) => Some(format!("its second word is not a key of type {kind}")),
    }
}

/// A part of a key, each with its length before it.
#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Text(&'a str),
    Bytes(usize),
    Number,
}

impl Part<'_> {
    /// Takes the part from the beginning.
    fn take(self, left: &mut &[u8]) -> bool {
        let Some((length, rest)) = left.split_first_chunk::<4>() else {
            return false;
        };
        let length = u32::from_be_bytes(*length) as usize;
        let Some((part, rest)) = rest.split_at_checked(length) else {
            return false;
        };
        *left = rest;
        match self {
            Self::Text(text) => part == text.as_bytes(),
            Self::Bytes(count) => part.len() == count,
            Self::Number => !part.is_empty(),
        }
    }
}

fn proxy(spec: &Node, place: &str, kind: &str, findings: &mut Findings) {
    let Some(proxy) = spec.get("proxy").filter(|node| !node.is_null()) else {
        return;
    };
    let Some(map) = proxy.as_map() else {
        let message = format!("`{place}.proxy` is {} and must be a mapping", proxy.type_name());
        findings.add(&lints::VALUE, proxy.span, message);
        return;
    };
    for (key, value) in map {
        let name = key.as_str();
        if !PROXY_FIELDS.contains(&name) {
            unknown_field(kind, &format!("{place}.proxy."), key, PROXY_FIELDS, findings);
            continue;
        }
        if value.is_null() {
            continue;
        }
        let Some(Text { text, span }) = text_at(proxy, &[name]) else {
            let message = format!("`{place}.proxy.{name}` is {} and must be a string", value.type_name());
            findings.add(&lints::VALUE, value.span, message);
            continue;
        };
        let (problem, help) = match name {
            _ if text.is_empty() => continue,
            "httpProxy" => (url_problem(text, &["http"]), "write `http://HOST:PORT`"),
            "httpsProxy" => (
                url_problem(text, &["http", "https"]),
                "write `http://HOST:PORT` or `https://HOST:PORT`",
            ),
            _ => (
                exceptions_problem(text),
                "write a comma-separated list of domains, addresses and networks without blanks, or `*`",
            ),
        };
        if let Some(problem) = problem {
            let message = format!("`{place}.proxy.{name}` is rejected: {problem}");
            findings.add_with_help(&lints::VALUE, span, message, help);
        }
    }
}

/// Why the address of a proxy is rejected. The address is not repeated, because it may hold a password.
fn url_problem(url: &str, schemes: &[&str]) -> Option<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Some(format!("the scheme must be {} and specified", schemes.join(" or ")));
    };
    if !schemes.contains(&scheme) {
        return Some(format!(
            "the scheme must be {} and not `{scheme}`",
            schemes.join(" or ")
        ));
    }
    if url.chars().any(char::is_whitespace) {
        return Some("there is a blank in it".to_owned());
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, after)) => {
            let plain = address.split('%').next().unwrap_or_default();
            if plain.parse::<Ipv6Addr>().is_err() {
                return Some("what is in brackets is not an IPv6 address".to_owned());
            }
            match after.strip_prefix(':') {
                None if after.is_empty() => return None,
                port => (address, port.or(Some(after))),
            }
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') || c >= '\u{a1}';
    let is_address = place.starts_with('[');
    if !is_address && (host.is_empty() || host.starts_with(['.', '-']) || !host.chars().all(legal)) {
        return Some("it has no host, or one that is not a name or an address".to_owned());
    }
    let is_port = |port: &str| (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    port.filter(|port| !is_port(port))
        .map(|_| "its port is not a number".to_owned())
}

/// Why a list of what is reached without the proxy is rejected.
fn exceptions_problem(text: &str) -> Option<String> {
    // With an asterisk anywhere the service looks no further.
    if text.contains('*') {
        return None;
    }
    let mut seen = BTreeSet::new();
    text.split(',').find_map(|entry| {
        if !seen.insert(entry) {
            return Some(format!("the entry `{entry}` is there twice"));
        }
        let name = entry.strip_prefix('.').unwrap_or(entry);
        let is_address = name.parse::<std::net::IpAddr>().is_ok() || name.parse::<IpNet>().is_ok();
        (!is_address && !is_dns_name(name))
            .then(|| format!("the entry `{entry}` is not a domain, an address or a network"))
    })
}

/// What the service takes for a name: underscores too, and a dot or underscore at the end.
fn is_dns_name(name: &str) -> bool {
    let name = name.strip_suffix(['.', '_']).unwrap_or(name);
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    name.len() <= 255
        && name
            .split('.')
            .all(|part| (1..=63).contains(&part.len()) && !part.starts_with('-') && part.bytes().all(legal))
}
