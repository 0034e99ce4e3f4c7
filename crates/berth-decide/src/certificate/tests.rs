use std::collections::HashMap;

use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use serde_json::json;

use super::*;
use berth_resources::TokenUse;

const BOOTSTRAPPER: &str = "system:bootstrappers";

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

fn object(pem: &[u8], username: &str, group: &str) -> CertificateSigningRequest {
    serde_json::from_value(json!({
        "metadata": {"name": "csr-1", "uid": "u1", "resourceVersion": "7"},
        "spec": {
            "request": k8s_openapi::ByteString(pem.to_vec()), "signerName": KUBELET_SIGNER,
            "username": username, "groups": [group, "system:authenticated"],
            "usages": ["digital signature", "client auth"],
        },
    }))
    .unwrap()
}

fn request(common_name: &str, username: &str, group: &str) -> CertificateRequest {
    CertificateRequest::read(&object(&pem(common_name, &["system:nodes"], &[]), username, group)).unwrap()
}

fn of_machine(common_name: &str, token: &str) -> CertificateRequest {
    request(common_name, &format!("system:bootstrap:{token}"), BOOTSTRAPPER)
}

/// `w1` and `w2` are reserved, with a token each; `w3` has a token and no Berth.
struct Site {
    bindings: HashMap<String, Binding>,
    alive: Vec<&'static str>,
}

impl Site {
    fn new() -> Self {
        let binding = |token: &str, node: &str| Binding {
            token: token.to_owned(),
            node: node.to_owned(),
            expires: Some(Timestamp::from_second(1000).unwrap()),
            ..Binding::default()
        };
        let all = [("aaaaaa", "w1"), ("bbbbbb", "w2"), ("cccccc", "w3")];
        Self {
            bindings: all
                .iter()
                .map(|(token, node)| ((*token).to_owned(), binding(token, node)))
                .collect(),
            alive: Vec::new(),
        }
    }

    fn decide(&self, request: &CertificateRequest) -> CertificateDecision {
        decide_certificate(request, self, Timestamp::from_second(10).unwrap())
    }

    fn denied(&self, request: &CertificateRequest) -> String {
        match self.decide(request) {
            CertificateDecision::Deny { message } => message,
            other => panic!("{other:?}"),
        }
    }
}

impl Places for Site {
    fn is_reserved(&self, node: &str) -> bool {
        ["w1", "w2"].contains(&node)
    }

    fn is_alive(&self, node: &str) -> bool {
        self.alive.contains(&node)
    }

    fn binding(&self, token: &str) -> Option<&Binding> {
        self.bindings.get(token)
    }
}

#[test]
fn the_machine_with_its_own_token_is_let_in_and_the_token_is_spent() {
    let site = Site::new();
    let asked = of_machine("system:node:w1", "aaaaaa");
    let key = asked.wanted.clone().unwrap().key;
    let CertificateDecision::Approve {
        node,
        token: Some(spent),
    } = site.decide(&asked)
    else {
        panic!("it is not approved");
    };
    assert_eq!((node.as_str(), spent.binding.token.as_str()), ("w1", "aaaaaa"));
    assert_eq!(spent.key, key);
    let renewed = request("system:node:w1", "system:node:w1", NODES_GROUP);
    assert_eq!(
        site.decide(&renewed),
        CertificateDecision::Approve {
            node: "w1".to_owned(),
            token: None
        }
    );
}

#[test]
fn another_machines_token_and_another_node_are_refused() {
    let site = Site::new();
    for (name, token, expected) in [
        (
            "w1",
            "bbbbbb",
            "bootstrap token bbbbbb was issued for node w2, not for node w1",
        ),
        // A token of Berth is for one name, whoever else may have the other one.
        (
            "w9",
            "bbbbbb",
            "bootstrap token bbbbbb was issued for node w2, not for node w9",
        ),
    ] {
        let asked = of_machine(&format!("system:node:{name}"), token);
        assert_eq!(site.denied(&asked), expected);
    }
    assert_eq!(
        site.denied(&request("system:node:w1", "system:node:w2", NODES_GROUP)),
        "node w2 may not ask for the certificate of node w1"
    );
}

#[test]
fn a_token_is_good_for_one_machine_until_it_expires() {
    let mut site = Site::new();
    let asked = of_machine("system:node:w1", "aaaaaa");
    let used = TokenUse {
        request: "csr-0".to_owned(),
        request_uid: "u0".to_owned(),
        key: "of another machine".to_owned(),
        time: Timestamp::UNIX_EPOCH,
    };
    site.bindings.get_mut("aaaaaa").unwrap().used_by = Some(used.clone());
    assert!(
        site.denied(&asked)
            .starts_with("bootstrap token aaaaaa was used at 1970-01-01T00:00:00Z by certificate request csr-0;")
    );
    // The same key is the same machine, whose first request went under.
    site.bindings.get_mut("aaaaaa").unwrap().used_by = Some(TokenUse {
        key: asked.wanted.clone().unwrap().key,
        ..used
    });
    assert!(matches!(site.decide(&asked), CertificateDecision::Approve { .. }));
    let late = decide_certificate(&asked, &site, Timestamp::from_second(1000).unwrap());
    assert!(matches!(late, CertificateDecision::Deny { message } if message.contains("has expired")));
}

#[test]
fn nobody_joins_in_the_place_of_a_machine_that_is_alive() {
    let mut site = Site::new();
    site.alive.push("w1");
    assert!(
        site.denied(&of_machine("system:node:w1", "aaaaaa"))
            .contains("the kubelet of node w1 is alive")
    );
    let renewed = request("system:node:w1", "system:node:w1", NODES_GROUP);
    assert!(matches!(site.decide(&renewed), CertificateDecision::Approve { .. }));
}

#[test]
fn what_is_not_reserved_is_left_alone() {
    let site = Site::new();
    for asked in [
        of_machine("system:node:w3", "cccccc"),
        of_machine("system:node:w9", "dddddd"),
        request("system:node:w9", "system:node:w9", NODES_GROUP),
    ] {
        let decision = site.decide(&asked);
        assert!(
            matches!(decision, CertificateDecision::Leave { node: None, .. }),
            "{decision:?}"
        );
    }
    let mut other = object(&pem("system:node:w1", &["system:nodes"], &[]), "u", "g");
    other.spec.signer_name = "kubernetes.io/kubelet-serving".to_owned();
    assert_eq!(CertificateRequest::read(&other), None);
}

#[test]
fn for_those_who_bring_up_nodes_the_node_comes_first_and_for_others_nothing_does() {
    let site = Site::new();
    let openshift = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper";
    for (username, group, expected) in [
        ("system:bootstrap:dddddd", BOOTSTRAPPER, Some("w1")),
        ("somebody", BOOTSTRAPPER, Some("w1")),
        (openshift, "system:serviceaccounts", Some("w1")),
        // Names alone make nobody a bootstrapper or a node.
        ("system:bootstrap:dddddd", "system:authenticated", None),
        ("system:bootstrap:aaaaaa", "system:authenticated", None),
        ("system:node:w1", "system:authenticated", None),
        (
            "system:serviceaccount:default:node-bootstrapper",
            "system:serviceaccounts",
            None,
        ),
        ("kubernetes-admin", "system:masters", None),
    ] {
        let asked = request("system:node:w1", username, group);
        let CertificateDecision::Leave { node, .. } = site.decide(&asked) else {
            panic!("{username} was decided about");
        };
        assert_eq!(node.as_deref(), expected, "{username} in {group}");
    }
}

#[test]
fn subjects_and_usages_are_what_the_api_requires() {
    let site = Site::new();
    let read = |object: &CertificateSigningRequest| CertificateRequest::read(object).unwrap();
    let with = |organizations: &[&str], names: &[&str]| {
        let pem = pem("system:node:w1", organizations, names);
        site.denied(&read(&object(&pem, "system:bootstrap:aaaaaa", BOOTSTRAPPER)))
    };
    assert!(with(&["system:masters"], &[]).ends_with("must have the organization system:nodes"));
    assert!(with(&[], &[]).ends_with("must have the organization system:nodes"));
    assert!(with(&["system:nodes"], &["w1.example"]).contains("no subject alternative names"));
    let good = object(
        &pem("system:node:w1", &["system:nodes"], &[]),
        "system:bootstrap:aaaaaa",
        BOOTSTRAPPER,
    );
    let both = ["digital signature", "client auth"];
    for (usages, fit) in [
        (both.to_vec(), true),
        (["key encipherment"].iter().chain(&both).copied().collect(), true),
        (["client auth"].iter().chain(&both).copied().collect(), true),
        (["server auth"].iter().chain(&both).copied().collect(), false),
        (["any"].iter().chain(&both).copied().collect(), false),
        (vec!["client auth"], false),
        (vec!["key encipherment", "client auth"], false),
        (vec![], false),
    ] {
        let mut asked = good.clone();
        asked.spec.usages = Some(usages.iter().map(|usage| (*usage).to_owned()).collect());
        match site.decide(&read(&asked)) {
            CertificateDecision::Approve { .. } => assert!(fit, "{usages:?}"),
            CertificateDecision::Deny { message } => assert!(!fit && message.contains("usages"), "{usages:?}"),
            CertificateDecision::Leave { why, .. } => panic!("{usages:?}: {why}"),
        }
    }
}

#[test]
fn what_cannot_be_read_is_denied_to_tokens_of_berth_and_left_alone_otherwise() {
    let site = Site::new();
    let long = "A".repeat(pkcs10::LONGEST + 1);
    for (garbage, problem) in [
        ("", "must begin with"),
        ("x", "must begin with"),
        (
            "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
            "is not DER",
        ),
        (&long, "is too long"),
    ] {
        let by = |username: &str, group: &str| {
            CertificateRequest::read(&object(garbage.as_bytes(), username, group)).unwrap()
        };
        let message = site.denied(&by("system:bootstrap:aaaaaa", BOOTSTRAPPER));
        assert!(message.contains(problem), "{message}");
        for asked in [
            by("system:bootstrap:dddddd", BOOTSTRAPPER),
            by("system:node:w1", NODES_GROUP),
            by("somebody", "system:authenticated"),
        ] {
            assert_eq!(asked.node(), None);
            assert!(matches!(
                site.decide(&asked),
                CertificateDecision::Leave { node: None, .. }
            ));
        }
    }
}

#[test]
fn a_request_that_is_decided_stays_so() {
    let site = Site::new();
    for (type_, state) in [
        ("Approved", RequestState::Approved),
        ("Denied", RequestState::Denied),
        ("Failed", RequestState::Denied),
    ] {
        let mut decided = object(
            &pem("system:node:w1", &["system:nodes"], &[]),
            "system:bootstrap:bbbbbb",
            BOOTSTRAPPER,
        );
        decided.status = serde_json::from_value(json!({"conditions": [{"type": type_, "status": "True"}]})).unwrap();
        let decided = CertificateRequest::read(&decided).unwrap();
        assert_eq!(decided.state, state);
        assert!(matches!(site.decide(&decided), CertificateDecision::Leave { .. }));
    }
}

#[test]
fn node_names_are_those_that_a_node_can_have() {
    let longest = ["a".repeat(63).as_str(); 3].join(".") + &format!(".{}", "a".repeat(61));
    for (name, legal) in [
        ("w1", true),
        ("1", true),
        ("a-b.c-d.example", true),
        (longest.as_str(), true),
        ("", false),
        ("W1", false),
        ("w1.", false),
        (".w1", false),
        ("w1..x", false),
        ("-w1", false),
        ("w1-", false),
        ("w_1", false),
        ("w1/x", false),
        ("w1 ", false),
        ("w\u{e9}", false),
        ("w\0", false),
        ("w1:x", false),
        ("*", false),
        (&format!("{longest}a"), false),
    ] {
        assert_eq!(is_node_name(name), legal, "{name}");
        let asked = pkcs10::read(&pem(&format!("system:node:{name}"), &["system:nodes"], &[]));
        assert_eq!(
            asked.ok().map(|asked| asked.node).as_deref(),
            Some(name).filter(|_| legal)
        );
    }
}
