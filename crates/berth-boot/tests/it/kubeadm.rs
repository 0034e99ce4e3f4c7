//! Config files for kubeadm.

use berth_boot::{KubeadmInput, KubeadmKind, Taint, TaintEffect, kubeadm};
use berth_labels::Label;
use serde_json::json;

use crate::{fixture::labels, yaml};

fn taint(label: &str, effect: TaintEffect) -> Taint {
    let Label { key, value } = label.parse().unwrap();
    Taint { key, value, effect }
}

#[test]
fn labels_and_taints_stand_in_the_registration() {
    let labels = labels("true=1,example.com/rack=r1,node-role.kubernetes.io/infra=");
    let taints = [
        taint("node-role.kubernetes.io/infra=", TaintEffect::NoSchedule),
        taint("example.com/no=true", TaintEffect::NoExecute),
    ];
    let text = kubeadm(&KubeadmInput {
        kind: KubeadmKind::Join,
        node: Some("rwn-1"),
        labels: &labels,
        taints: Some(&taints),
    });
    insta::assert_snapshot!(text);
    assert_eq!(
        yaml::read(&text),
        json!({
            "apiVersion": "kubeadm.k8s.io/v1beta4",
            "kind": "JoinConfiguration",
            "nodeRegistration": {
                "name": "rwn-1",
                "kubeletExtraArgs": [{"name": "node-labels", "value": "example.com/rack=r1,true=1"}],
                "taints": [
                    {"key": "node-role.kubernetes.io/infra", "value": "", "effect": "NoSchedule"},
                    {"key": "example.com/no", "value": "true", "effect": "NoExecute"},
                ],
            },
        })
    );
}

/// No list leaves kubeadm's own taints; an empty one takes them away.
#[test]
fn no_taints_and_an_empty_list_differ() {
    let labels = labels("node-role.kubernetes.io/infra=");
    let mut input = KubeadmInput {
        kind: KubeadmKind::Init,
        node: None,
        labels: &labels,
        taints: None,
    };
    let read = yaml::read(&kubeadm(&input));
    assert_eq!(
        (&read["kind"], &read["nodeRegistration"]),
        (&json!("InitConfiguration"), &json!({}))
    );
    input.taints = Some(&[]);
    let read = yaml::read(&kubeadm(&input));
    assert_eq!(read["nodeRegistration"], json!({"taints": []}));
}

#[test]
fn a_name_that_yaml_would_misread_stays_a_string() {
    for name in ["1", "true", "a: b", "x # y", "\"\n", "null"] {
        let text = kubeadm(&KubeadmInput {
            kind: KubeadmKind::Join,
            node: Some(name),
            labels: &labels(""),
            taints: None,
        });
        assert_eq!(yaml::read(&text)["nodeRegistration"]["name"], name, "{text}");
    }
}
