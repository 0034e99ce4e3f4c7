use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

use super::*;

fn pem(common_name: &str, organizations: &[&str], names: &[&str]) -> Vec<u8> {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, common_name);
    for organization in organizations {
        subject.push(DnType::OrganizationName, *organization);
    }
    params.distinguished_name = subject;
    params.serialize_request(&key).unwrap().pem().unwrap().into_bytes()
}

fn request(common_name: &str, username: &str) -> CertificateRequest {
    CertificateRequest {
        name: "csr-1".to_owned(),
        signer: KUBELET_SIGNER.to_owned(),
        username: username.to_owned(),
        groups: vec![NODES_GROUP.to_owned(), "system:authenticated".to_owned()],
        usages: vec!["digital signature".to_owned(), "client auth".to_owned()],
        request: pem(common_name, &["system:nodes"], &[]),
        decided: false,
        denied: false,
    }
}

fn decision(request: &CertificateRequest) -> CertificateDecision {
    let machine_of = |token: &str| match token {
        "aaaaaa" => Some("w1".to_owned()),
        "bbbbbb" => Some("w2".to_owned()),
        _ => None,
    };
    decide_certificate(request, |node| ["w1", "w2"].contains(&node), machine_of)
}

fn denied(request: &CertificateRequest) -> String {
    match decision(request) {
        CertificateDecision::Deny { message } => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_machine_with_its_own_token_is_let_in() {
    let approve = CertificateDecision::Approve { node: "w1".to_owned() };
    assert_eq!(decision(&request("system:node:w1", "system:bootstrap:aaaaaa")), approve);
    assert_eq!(decision(&request("system:node:w1", "system:node:w1")), approve);
    let mut with_encipherment = request("system:node:w1", "system:node:w1");
    with_encipherment.usages.push("key encipherment".to_owned());
    assert_eq!(decision(&with_encipherment), approve);
}

#[test]
fn another_machines_token_and_another_node_are_refused() {
    assert_eq!(
        denied(&request("system:node:w1", "system:bootstrap:bbbbbb")),
        "bootstrap token bbbbbb was issued for node w2, not for node w1"
    );
    assert_eq!(
        denied(&request("system:node:w1", "system:node:w2")),
        "node w2 may not ask for the certificate of node w1"
    );
}

#[test]
fn what_is_not_reserved_is_left_alone() {
    for (common_name, username) in [
        ("system:node:w9", "system:bootstrap:aaaaaa"),
        ("somebody", "system:bootstrap:aaaaaa"),
    ] {
        let decision = decision(&request(common_name, username));
        assert!(
            matches!(decision, CertificateDecision::Leave { node: None, .. }),
            "{decision:?}"
        );
    }
    let mut other = request("system:node:w1", "system:bootstrap:aaaaaa");
    other.signer = "kubernetes.io/kubelet-serving".to_owned();
    assert!(matches!(
        decision(&other),
        CertificateDecision::Leave { node: None, .. }
    ));
    assert_eq!(other.node(), None);
}

#[test]
fn an_unbound_requester_is_not_approved_but_the_node_comes_first() {
    for username in [
        "system:bootstrap:cccccc",
        "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper",
    ] {
        let decision = decision(&request("system:node:w1", username));
        assert!(
            matches!(&decision, CertificateDecision::Leave { node: Some(node), .. } if node == "w1"),
            "{decision:?}"
        );
    }
}

#[test]
fn subjects_and_usages_are_what_the_api_requires() {
    let with = |organizations: &[&str], names: &[&str]| CertificateRequest {
        request: pem("system:node:w1", organizations, names),
        ..request("system:node:w1", "system:bootstrap:aaaaaa")
    };
    assert!(denied(&with(&["system:masters"], &[])).ends_with("system:nodes and no other"));
    assert!(denied(&with(&[], &[])).ends_with("system:nodes and no other"));
    assert!(denied(&with(&["system:nodes"], &["w1.example"])).ends_with("no subject alternative names"));
    let mut usages = request("system:node:w1", "system:bootstrap:aaaaaa");
    usages.usages.push("server auth".to_owned());
    assert!(denied(&usages).contains("usages"));
    usages.usages = vec!["client auth".to_owned()];
    assert!(denied(&usages).contains("usages"));
}

#[test]
fn garbage_is_left_alone() {
    for garbage in [
        "",
        "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
        "x",
    ] {
        let request = CertificateRequest {
            request: garbage.as_bytes().to_vec(),
            ..request("system:node:w1", "system:bootstrap:aaaaaa")
        };
        assert!(matches!(
            decision(&request),
            CertificateDecision::Leave { node: None, .. }
        ));
    }
}
