//! Certificate requests as Berth and Kubernetes read them. Berth approves, and Kubernetes signs: where the two read another name
//! in the same bytes, the token of one machine gets the certificate of another.

mod der;
mod mutate;
mod table;

use std::process::Command;

use berth_decide::{CertificateDecision, CertificateRequest, KUBELET_SIGNER, Places, decide_certificate};
use berth_resources::bootstrap::Binding;
use berth_testing::{Reading, RequestJudge};
use jiff::Timestamp;
use rcgen::{
    CertificateParams, DistinguishedName, DnType, DnValue, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384,
    PKCS_ED25519, PKCS_RSA_SHA256, PKCS_RSA_SHA512, RsaKeySize,
};
use serde_json::json;

use self::{
    mutate::Mutator,
    table::{Go, cases},
};
use crate::support::from_json;

const USAGES: [&str; 2] = ["digital signature", "client auth"];
const NAME: &str = "system:node:w1";

/// Two places, `w1` and `w2`. The token is that of `w1`.
struct Site(Binding);

impl Site {
    fn new() -> Self {
        Self(Binding {
            token: "aaaaaa".to_owned(),
            node: "w1".to_owned(),
            ..Binding::default()
        })
    }
}

impl Places for Site {
    fn is_reserved(&self, node: &str) -> bool {
        ["w1", "w2"].contains(&node)
    }

    fn is_alive(&self, _: &str) -> bool {
        false
    }

    fn binding(&self, token: &str) -> Option<&Binding> {
        (token == self.0.token).then_some(&self.0)
    }
}

/// Whether Berth approves a request that was made with the token of `w1`; else what it says.
fn decide(pem: &[u8]) -> Result<CertificateRequest, String> {
    let object = from_json(json!({
        "metadata": {"name": "csr"},
        "spec": {
            "request": k8s_openapi::ByteString(pem.to_vec()), "signerName": KUBELET_SIGNER, "usages": USAGES,
            "username": "system:bootstrap:aaaaaa", "groups": ["system:bootstrappers"],
        },
    }));
    let request = CertificateRequest::read(&object).expect("it is for this signer");
    match decide_certificate(&request, &Site::new(), Timestamp::UNIX_EPOCH) {
        CertificateDecision::Approve { node, .. } => {
            assert_eq!(node, "w1", "the token is for no other node");
            Ok(request)
        }
        CertificateDecision::Deny { message } => Err(message),
        CertificateDecision::Leave { why, .. } => Err(why.to_owned()),
    }
}

/// What Kubernetes would do with a request that is approved.
fn signs(reading: &Result<Reading, String>) -> Option<&str> {
    let reading = reading.as_ref().ok()?;
    (reading.signature.is_none() && reading.kubelet.is_none()).then_some(reading.common_name.as_str())
}

#[test]
fn requests_made_by_hand_are_judged_as_the_table_says() {
    let cases = cases();
    assert!(cases.len() >= 30, "{}", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let decision = decide(&case.request);
        let right = match (&decision, case.problem) {
            (Ok(_), None) => true,
            (Err(message), Some(problem)) => message.contains(problem),
            _ => false,
        };
        if !right {
            wrong.push(format!(
                "{}: {:?}, and Berth says {decision:?}",
                case.name, case.problem
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let Some(judge) = RequestJudge::for_test() else {
        return;
    };
    let requests: Vec<Vec<u8>> = cases.iter().map(|case| case.request.clone()).collect();
    for (case, reading) in cases.iter().zip(judge.read(&requests, &USAGES)) {
        let found = signs(&reading).map(|name| name.strip_prefix("system:node:").expect("a node").to_owned());
        let expected = match case.go {
            Go::Signs(node) => Some(node.to_owned()),
            Go::Refuses => None,
        };
        if found != expected {
            wrong.push(format!(
                "{}: {:?}, and Kubernetes reads {reading:?}",
                case.name, case.go
            ));
        }
        if case.problem.is_none() && found.as_deref() != Some("w1") {
            wrong.push(format!("{}: approved, and Kubernetes reads {reading:?}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn by_rcgen(key: &KeyPair, value: fn(&str) -> DnValue) -> Vec<u8> {
    let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
    let mut subject = DistinguishedName::new();
    subject.push(DnType::OrganizationName, value("system:nodes"));
    subject.push(DnType::CommonName, value(NAME));
    parameters.distinguished_name = subject;
    let request = parameters.serialize_request(key).expect("a request");
    request.pem().expect("PEM").into_bytes()
}

/// What OpenSSL writes, where it is installed.
fn by_openssl(key: &[&str]) -> Option<Vec<u8>> {
    let made = Command::new("openssl")
        .args(["req", "-new", "-nodes", "-keyout", "/dev/null", "-batch", "-newkey"])
        .args(key)
        .args(["-subj", "/O=system:nodes/CN=system:node:w1", "-config", "/dev/null"])
        .output()
        .ok()?;
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    Some(made.stdout)
}

#[test]
fn every_honest_request_is_approved() {
    let judge = RequestJudge::for_test();
    let mut honest: Vec<(String, Vec<u8>)> = Vec::new();
    let utf8: fn(&str) -> DnValue = |text| DnValue::Utf8String(text.to_owned());
    let printable: fn(&str) -> DnValue = |text| DnValue::PrintableString(text.try_into().expect("printable"));
    for (name, algorithm) in [
        ("P-256", &PKCS_ECDSA_P256_SHA256),
        ("P-384", &PKCS_ECDSA_P384_SHA384),
        ("Ed25519", &PKCS_ED25519),
    ] {
        let key = KeyPair::generate_for(algorithm).expect("a key");
        honest.push((format!("rcgen {name}"), by_rcgen(&key, utf8)));
        honest.push((format!("rcgen {name}, printable"), by_rcgen(&key, printable)));
    }
    for (algorithm, size) in [
        (&PKCS_RSA_SHA256, RsaKeySize::_2048),
        (&PKCS_RSA_SHA512, RsaKeySize::_4096),
    ] {
        let key = KeyPair::generate_rsa_for(algorithm, size).expect("a key");
        honest.push((format!("rcgen {algorithm:?}"), by_rcgen(&key, utf8)));
    }
    for key in [
        ["rsa:2048"].as_slice(),
        &["rsa:3072", "-sha512"],
        &["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
        &["ec", "-pkeyopt", "ec_paramgen_curve:P-384", "-sha384"],
        &["ed25519"],
    ] {
        honest.extend(by_openssl(key).map(|request| (format!("openssl {key:?}"), request)));
    }
    if let Some(judge) = &judge {
        let made = judge.requests_for("w1");
        assert_eq!(made.len(), 5, "{made:?}");
        honest.extend(made.into_iter().map(|(key, request)| (format!("Go {key}"), request)));
    }
    for (maker, request) in &honest {
        let decision = decide(request);
        assert!(
            decision.is_ok(),
            "{maker}: {decision:?}\n{}",
            String::from_utf8_lossy(request)
        );
    }
    let Some(judge) = judge else {
        return;
    };
    let requests: Vec<Vec<u8>> = honest.iter().map(|(_, request)| request.clone()).collect();
    for ((maker, _), reading) in honest.iter().zip(judge.read(&requests, &USAGES)) {
        assert_eq!(signs(&reading), Some(NAME), "{maker}: {reading:?}");
    }
}

/// How many requests are changed at random. A longer search is a fuzz campaign.
const CHANGED: usize = 6000;

/// What Berth approves, Kubernetes reads as the same name and as nothing more. Only a key or a signature may be wrong: then the
/// API server does not take the request in the first place.
#[test]
fn no_changed_request_is_approved_that_kubernetes_reads_otherwise() {
    let Some(judge) = RequestJudge::for_test() else {
        return;
    };
    let mut mutator = Mutator::new(0x5EED);
    let key = decide(mutator.honest().as_bytes())
        .expect("approved")
        .wanted
        .expect("read")
        .key;
    let changed: Vec<(String, Vec<u8>)> = (0..CHANGED).map(|_| mutator.next()).collect();
    let requests: Vec<Vec<u8>> = changed.iter().map(|(_, request)| request.clone()).collect();
    let (mut approved, mut forgiven, mut attacks) = (0, 0, 0);
    for ((how, request), reading) in changed.iter().zip(judge.read(&requests, &USAGES)) {
        let signed = signs(&reading);
        match decide(request) {
            Ok(judged) => {
                approved += 1;
                let text = String::from_utf8_lossy(request);
                match &reading {
                    Ok(reading) => {
                        let read = (reading.common_name.as_str(), reading.organizations.as_slice());
                        assert_eq!(read, (NAME, ["system:nodes".to_owned()].as_slice()), "{how}\n{text}");
                        let more = (reading.names, reading.extensions, reading.subject);
                        assert_eq!(more, (0, 0, 2), "{how}\n{text}");
                        assert_eq!(reading.kubelet, None, "{how}\n{text}");
                    }
                    Err(problem) => {
                        let other = judged.wanted.expect("read").key;
                        assert_ne!(other, key, "{how}: Kubernetes says {problem}\n{text}");
                    }
                }
            }
            Err(_) if signed == Some(NAME) => forgiven += 1,
            Err(_) if signed.is_some() => attacks += 1,
            Err(_) => {}
        }
    }
    // The search is worth something only if it reaches all of these.
    assert!(
        approved > CHANGED / 100 && forgiven > CHANGED / 100 && attacks > CHANGED / 100,
        "{approved} approved, {forgiven} that Kubernetes forgives, {attacks} attacks"
    );
}
