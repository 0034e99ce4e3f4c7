use std::collections::BTreeSet;

use super::*;

fn options() -> InstallOptions {
    InstallOptions {
        mode: InstallMode::Labels,
        namespace: "berth-system".to_owned(),
        image: "example.com/berth:1".to_owned(),
        replicas: 2,
        approve: false,
        admission: Admission::Policy,
        failure: FailurePolicy::Ignore,
        pool_definitions: true,
        database_secret: None,
    }
}

fn names(objects: &[Value]) -> Vec<String> {
    let name = |object: &Value| {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        format!(
            "{} {}/{}",
            text("/kind"),
            text("/metadata/namespace"),
            text("/metadata/name")
        )
    };
    objects.iter().map(name).collect()
}

#[test]
fn every_object_is_known_by_its_label_and_comes_once() {
    let objects = manifests(&options());
    for object in &objects {
        assert_eq!(
            object.pointer("/metadata/labels/app.kubernetes.io~1part-of"),
            Some(&json!("berth")),
            "{object}"
        );
        assert!(
            object["apiVersion"].is_string() && object["kind"].is_string(),
            "{object}"
        );
    }
    let names = names(&objects);
    let unique: BTreeSet<&String> = names.iter().collect();
    assert_eq!(unique.len(), names.len(), "{names:?}");
}

#[test]
fn definitions_of_pools_are_left_to_openshift_where_it_has_them() {
    let without = manifests(&InstallOptions {
        pool_definitions: false,
        ..options()
    });
    assert!(!names(&without).iter().any(|name| name.contains("machineconfiguration")));
}

#[test]
fn more_rights_come_only_with_more_duties() {
    let has = |options: &InstallOptions, resource: &str| rights(options).iter().any(|right| right.resource == resource);
    assert!(!has(&options(), "secrets") && !has(&options(), "pods"));
    let approving = InstallOptions {
        approve: true,
        ..options()
    };
    assert!(has(&approving, "secrets") && has(&approving, "signers"));
    let off = InstallOptions {
        admission: Admission::Off,
        ..options()
    };
    assert!(!has(&off, "validatingadmissionpolicies") && !has(&off, "rosters"));
    for right in rights(&approving) {
        assert!(!right.verbs.contains(&"*") && right.resource != "*" && right.group != "*");
        assert!(
            right.resource != "nodes" || !right.verbs.contains(&"delete"),
            "Nodes are never deleted"
        );
    }
}

#[test]
fn the_webhook_lets_nodes_join_when_it_is_silent_unless_asked_otherwise() {
    let certificate = ServingCertificate {
        certificate: "c".to_owned(),
        key: "k".to_owned(),
        authority: "a".to_owned(),
    };
    for (failure, wanted) in [(FailurePolicy::Ignore, "Ignore"), (FailurePolicy::Fail, "Fail")] {
        let objects = manifests(&InstallOptions {
            admission: Admission::Webhook(Box::new(certificate.clone())),
            failure,
            ..options()
        });
        let mutating = objects
            .iter()
            .find(|object| object["kind"] == "MutatingWebhookConfiguration")
            .unwrap();
        assert_eq!(mutating["webhooks"][0]["failurePolicy"], wanted);
    }
}
