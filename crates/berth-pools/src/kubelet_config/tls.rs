//! TLS profiles as OpenShift has them, as the kubelet understands them.

use serde::{Deserialize, Deserializer, de::Error as _};

/// What a kubelet accepts from its clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsProfile {
    /// `VersionTLS12`; empty for the kubelet's own default.
    pub min_version: String,
    /// Cipher suites by their IANA names.
    pub cipher_suites: Vec<&'static str>,
}

/// The suites that the kubelet can offer, by their names in OpenSSL, with the weakest profile that still has them.
const SUITES: [(&str, &str, Kind); 21] = [
    ("TLS_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256", Kind::Modern),
    ("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384", Kind::Modern),
    (
        "TLS_CHACHA20_POLY1305_SHA256",
        "TLS_CHACHA20_POLY1305_SHA256",
        Kind::Modern,
    ),
    (
        "ECDHE-ECDSA-AES128-GCM-SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
        Kind::Intermediate,
    ),
    (
        "ECDHE-RSA-AES128-GCM-SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
        Kind::Intermediate,
    ),
    (
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        Kind::Intermediate,
    ),
    (
        "ECDHE-RSA-AES256-GCM-SHA384",
        "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
        Kind::Intermediate,
    ),
    (
        "ECDHE-ECDSA-CHACHA20-POLY1305",
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        Kind::Intermediate,
    ),
    (
        "ECDHE-RSA-CHACHA20-POLY1305",
        "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
        Kind::Intermediate,
    ),
    (
        "ECDHE-ECDSA-AES128-SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
        Kind::Old,
    ),
    (
        "ECDHE-RSA-AES128-SHA256",
        "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
        Kind::Old,
    ),
    (
        "ECDHE-ECDSA-AES128-SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
        Kind::Old,
    ),
    ("ECDHE-RSA-AES128-SHA", "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", Kind::Old),
    (
        "ECDHE-ECDSA-AES256-SHA",
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
        Kind::Old,
    ),
    ("ECDHE-RSA-AES256-SHA", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", Kind::Old),
    ("AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256", Kind::Old),
    ("AES256-GCM-SHA384", "TLS_RSA_WITH_AES_256_GCM_SHA384", Kind::Old),
    ("AES128-SHA256", "TLS_RSA_WITH_AES_128_CBC_SHA256", Kind::Old),
    ("AES128-SHA", "TLS_RSA_WITH_AES_128_CBC_SHA", Kind::Old),
    ("AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA", Kind::Old),
    ("DES-CBC3-SHA", "TLS_RSA_WITH_3DES_EDE_CBC_SHA", Kind::Old),
];

/// The profiles, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
enum Kind {
    Old,
    Intermediate,
    Modern,
    Custom,
}

#[derive(Deserialize)]
struct Wire {
    #[serde(rename = "type")]
    kind: Kind,
    custom: Option<Custom>,
}

#[derive(Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[derive(Default)]
struct Custom {
    ciphers: Vec<String>,
    #[serde(rename = "minTLSVersion")]
    min_tls_version: String,
}

impl TlsProfile {
    fn of(kind: Kind) -> Self {
        let min_version = match kind {
            Kind::Old => "VersionTLS10",
            Kind::Modern => "VersionTLS13",
            Kind::Intermediate | Kind::Custom => "VersionTLS12",
        };
        let suites = SUITES.into_iter().filter(|(_, _, weakest)| *weakest >= kind);
        Self {
            min_version: min_version.to_owned(),
            cipher_suites: suites.map(|(_, name, _)| name).collect(),
        }
    }
}

impl<'de> Deserialize<'de> for TlsProfile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = Wire::deserialize(deserializer)?;
        match (wire.kind, wire.custom) {
            // As in OpenShift, one that says nothing is the default.
            (Kind::Custom, None) => Ok(Self::of(Kind::Intermediate)),
            (Kind::Custom, Some(custom)) => {
                let versions = ["", "VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"];
                if !versions.contains(&custom.min_tls_version.as_str()) {
                    let message = format!("minTLSVersion `{}` is not a version of TLS", custom.min_tls_version);
                    return Err(D::Error::custom(message));
                }
                // What the kubelet cannot offer is left out, as in OpenShift: profiles are written for other programs, too.
                let known = |name: &String| SUITES.into_iter().find(|(openssl, ..)| openssl == name);
                Ok(Self {
                    cipher_suites: custom
                        .ciphers
                        .iter()
                        .filter_map(known)
                        .map(|(_, name, _)| name)
                        .collect(),
                    min_version: custom.min_tls_version,
                })
            }
            (kind, _) => Ok(Self::of(kind)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn profiles_are_openshifts() {
        for (kind, version, count) in [
            ("Old", "VersionTLS10", 21),
            ("Intermediate", "VersionTLS12", 9),
            ("Modern", "VersionTLS13", 3),
            ("Custom", "VersionTLS12", 9),
        ] {
            let profile: TlsProfile = serde_json::from_value(json!({"type": kind})).unwrap();
            assert_eq!(
                (profile.min_version.as_str(), profile.cipher_suites.len()),
                (version, count),
                "{kind}"
            );
        }
    }

    #[test]
    fn a_custom_profile_has_what_the_kubelet_can_offer() {
        let profile: TlsProfile = serde_json::from_value(json!({"type": "Custom", "custom": {
            "ciphers": ["ECDHE-RSA-AES128-GCM-SHA256", "DHE-RSA-AES128-GCM-SHA256"], "minTLSVersion": "VersionTLS11",
        }}))
        .unwrap();
        assert_eq!(profile.min_version, "VersionTLS11");
        assert_eq!(profile.cipher_suites, ["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
        for wrong in [
            json!({"type": "Strict"}),
            json!({"type": "Custom", "custom": {"minTLSVersion": "1.2"}}),
        ] {
            assert!(serde_json::from_value::<TlsProfile>(wrong).is_err());
        }
    }
}
