//! Which spec version a client of the Ignition server gets.
//!
//! Ignition names the version it wants in its Accept header, as
//! `application/vnd.coreos.ignition+json;version=3.4.0, */*;q=0.1`. Clients that
//! do not are taken for the oldest kind, so a plain download gets spec 2.2.

use crate::{SpecVersion, translate::reachable};

const SUBTYPE: &str = "vnd.coreos.ignition+json";

/// What a client that names no version is served.
const DEFAULT: SpecVersion = SpecVersion::V2_2;

/// The client wants a version that cannot be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the client asks for Ignition spec {requested}, which cannot be served; supported: {}",
    .supported.iter().map(|version| version.as_str()).collect::<Vec<_>>().join(", ")
)]
pub struct NegotiateError {
    /// The version in the Accept header.
    pub requested: String,
    /// What could have been asked for.
    pub supported: Vec<SpecVersion>,
}

/// Chooses the version to serve from an Accept header.
///
/// The first item by quality that is an Ignition config with a readable
/// version decides; a header without one gets 2.2.0. A 2.x client from 2.2 on
/// gets 2.2.0, a 3.x client its own version or, when it is newer than ours, the
/// newest.
pub fn negotiate(accept: Option<&str>) -> Result<SpecVersion, NegotiateError> {
    let mut items: Vec<Item> = accept.unwrap_or_default().split(',').filter_map(Item::parse).collect();
    // Stable: of two items with equal quality the first stays first.
    items.sort_by(|a, b| b.quality.total_cmp(&a.quality));
    items
        .iter()
        .filter(|item| item.is_ignition)
        .find_map(|item| item.version.as_ref())
        .map_or(Ok(DEFAULT), Semver::serve)
}

struct Item {
    is_ignition: bool,
    quality: f64,
    version: Option<Semver>,
}

impl Item {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let (_, subtype) = parts.next()?.split_once('/')?;
        let mut item = Self {
            is_ignition: subtype.trim() == SUBTYPE,
            quality: 1.0,
            version: None,
        };
        for part in parts {
            let Some((name, value)) = part.split_once('=') else {
                continue;
            };
            match name.trim() {
                "q" => {
                    if let Ok(quality) = value.trim().parse::<f64>()
                        && quality.is_finite()
                    {
                        item.quality = quality;
                    }
                }
                "version" => item.version = Semver::parse(value.trim().trim_matches('"')),
                _ => {}
            }
        }
        Some(item)
    }
}

struct Semver {
    text: String,
    major: u64,
    minor: u64,
}

impl Semver {
    /// Reads `MAJOR.MINOR.PATCH` with optional pre-release and build parts.
    fn parse(text: &str) -> Option<Self> {
        let core = text.split(['-', '+']).next()?;
        let mut numbers = core.split('.').map(|number| {
            let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            if digits { number.parse().ok() } else { None }
        });
        let major = numbers.next()??;
        let minor = numbers.next()??;
        let _patch: u64 = numbers.next()??;
        numbers.next().is_none().then(|| Self {
            text: text.to_owned(),
            major,
            minor,
        })
    }

    fn serve(&self) -> Result<SpecVersion, NegotiateError> {
        // Only what can be written is offered: a version in the list that no
        // translation reaches would fail after the client was told yes.
        let supported = reachable(SpecVersion::LATEST);
        let found = match (self.major, self.minor) {
            (2, 2..) => Some(SpecVersion::V2_2),
            (3, minor) => {
                let exact = format!("3.{minor}.0").parse::<SpecVersion>();
                Some(exact.unwrap_or(SpecVersion::LATEST))
            }
            _ => None,
        };
        found
            .filter(|version| supported.contains(version))
            .ok_or_else(|| NegotiateError {
                requested: self.text.clone(),
                supported,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_headers() {
        let table = [
            (None, "2.2.0"),
            (Some(""), "2.2.0"),
            (Some("*/*"), "2.2.0"),
            (Some("garbage;;;,=,/"), "2.2.0"),
            (Some("application/json"), "2.2.0"),
            (Some("application/vnd.coreos.ignition+json"), "2.2.0"),
            (Some("application/vnd.coreos.ignition+json;version=x.y.z"), "2.2.0"),
            (Some("application/vnd.coreos.ignition+json;version=2.2.0"), "2.2.0"),
            (
                Some("application/vnd.coreos.ignition+json;version=2.4.0, */*;q=0.1"),
                "2.2.0",
            ),
            (
                Some(
                    "application/vnd.coreos.ignition+json; version=2.4.0; q=1, application/vnd.coreos.ignition+json; version=1; q=0.5, */*; q=0.1",
                ),
                "2.2.0",
            ),
            (
                Some("application/vnd.coreos.ignition+json;version=3.0.0, */*;q=0.1"),
                "3.0.0",
            ),
            (
                Some("application/vnd.coreos.ignition+json;version=3.1.0, */*;q=0.1"),
                "3.1.0",
            ),
            (Some("application/vnd.coreos.ignition+json; version=3.4.0"), "3.4.0"),
            (Some("application/vnd.coreos.ignition+json;version=3.99.0"), "3.5.0"),
            // Quality decides, whatever the order.
            (
                Some(
                    "application/vnd.coreos.ignition+json;version=3.1.0;q=0.3, application/vnd.coreos.ignition+json;version=3.2.0;q=0.8",
                ),
                "3.2.0",
            ),
            // Equal quality: the first.
            (
                Some(
                    "application/vnd.coreos.ignition+json;version=3.1.0, application/vnd.coreos.ignition+json;version=3.2.0",
                ),
                "3.1.0",
            ),
            // A better item of another type does not hide the Ignition one.
            (
                Some("*/*, application/vnd.coreos.ignition+json;version=3.2.0;q=0.2"),
                "3.2.0",
            ),
            // An unreadable version gives way to the next item.
            (
                Some(
                    "application/vnd.coreos.ignition+json;version=abc, application/vnd.coreos.ignition+json;version=3.3.0;q=0.2",
                ),
                "3.3.0",
            ),
        ];
        for (accept, want) in table {
            let got = negotiate(accept).map(|version| version.to_string());
            assert_eq!(got.as_deref(), Ok(want), "{accept:?}");
        }
    }

    #[test]
    fn impossible_versions_are_refused_with_the_possible_ones() {
        for version in ["1.0.0", "2.0.0", "2.1.0", "4.0.0", "0.1.0"] {
            let accept = format!("application/vnd.coreos.ignition+json;version={version}");
            let error = negotiate(Some(&accept)).unwrap_err();
            assert_eq!(error.requested, version);
            assert!(error.to_string().contains("2.2.0, 3.0.0, 3.1.0"), "{error}");
        }
    }
}
