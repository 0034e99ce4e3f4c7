use std::collections::BTreeSet;

use super::{workloads::CLIENT_AUTHORITY, *};
use crate::admission::NOTES_POLICY;

fn options() -> InstallOptions {
    InstallOptions {
        mode: InstallMode::Labels,
        namespace: "berth-system".to_owned(),
        image: "example.com/berth:1".to_owned(),
        replicas: 2,
        approve: false,
        admission: Admission::Policy,
        certificate: Some(Box::new(ServingCertificate {
            certificate: "c".to_owned(),
            key: "k".to_owned(),
            authority: "a".to_owned(),
        })),
        client_authority: None,
        policies: true,
        failure: FailurePolicy::Ignore,
        flavour: None,
        pool_definitions: true,
        database_secret: None,
        daemon: true,
        drift: "report",
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
    assert!(!has(&options(), "tokenbindings/status") && !has(&options(), "pods"));
    let approving = InstallOptions {
        approve: true,
        ..options()
    };
    assert!(has(&approving, "tokenbindings/status") && has(&approving, "signers"));
    // Who may list Secrets of kube-system may as well be the administrator.
    for mode in [InstallMode::Labels, InstallMode::Full] {
        let most = InstallOptions {
            mode,
            ..approving.clone()
        };
        let secrets = rights(&most).into_iter().filter(|right| right.resource == "secrets");
        let named: Vec<_> = secrets.map(|right| (right.names, right.namespace)).collect();
        match mode {
            InstallMode::Labels => assert_eq!(named, []),
            InstallMode::Full => assert_eq!(named, [(&["pull-secret"] as &[&str], Some(most.namespace))]),
        }
    }
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
fn full_mode_brings_a_daemon_that_may_do_little() {
    let full = InstallOptions {
        mode: InstallMode::Full,
        ..options()
    };
    let is = |object: &Value, kind: &str| object["kind"] == kind && object["metadata"]["name"] == DAEMON;
    let objects = manifests(&full);
    let found = |kind: &str| objects.iter().find(|object| is(object, kind)).expect(kind);
    let pod = &found("DaemonSet")["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], DAEMON);
    let container = &pod["containers"][0];
    let host = &container["volumeMounts"][0];
    assert_eq!((&host["name"], &host["mountPath"]), (&json!("host"), &json!("/host")));
    let arguments: Vec<&str> = container["args"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    assert_eq!(
        arguments,
        ["daemon", "--root", "/host", "--drift", "report", "--log-format", "json"]
    );
    // Nothing but its Nodes' metadata can it write, and no Secret can it read.
    for rule in found("ClusterRole")["rules"].as_array().unwrap() {
        let writes = rule["verbs"]
            .as_array()
            .unwrap()
            .iter()
            .any(|verb| verb == "patch" || verb == "create");
        let resource = &rule["resources"][0];
        assert!(!writes || resource == "nodes" || resource == "events", "{rule}");
        assert_ne!(resource, "secrets");
    }
    let enforced = |objects: &[Value]| {
        let namespace = objects.iter().find(|object| object["kind"] == "Namespace").unwrap();
        namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"].clone()
    };
    assert_eq!(enforced(&objects), "privileged");
    // A daemon that runs on its host has the account and what limits it.
    for (without, has_account) in [(InstallOptions { daemon: false, ..full }, true), (options(), false)] {
        let objects = manifests(&without);
        let has = |kind: &str| objects.iter().any(|object| is(object, kind));
        assert_eq!((has("DaemonSet"), has("ServiceAccount")), (false, has_account));
        assert_eq!(enforced(&objects), "restricted");
    }
}

/// However Nodes are checked, kubelets do not write what Berth notes on them, and a daemon writes its own annotations alone.
#[test]
fn what_protects_annotations_is_there_in_every_mode() {
    let kinds = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"];
    for admission in [Admission::Policy, Admission::Webhook, Admission::Off] {
        for (mode, daemon) in [
            (InstallMode::Labels, true),
            (InstallMode::Full, true),
            (InstallMode::Full, false),
        ] {
            let objects = manifests(&InstallOptions {
                mode,
                admission,
                daemon,
                ..options()
            });
            let place = |kind: &str, name: &str| {
                let mut objects = objects.iter();
                objects.position(|object| object["kind"] == kind && object["metadata"]["name"] == name)
            };
            for kind in kinds {
                assert!(place(kind, NOTES_POLICY).is_some(), "{admission:?} {mode:?} {kind}");
                let policy = place(kind, DAEMON_POLICY);
                let rights = place("ClusterRoleBinding", DAEMON);
                assert_eq!(
                    policy.is_some(),
                    mode == InstallMode::Full,
                    "{admission:?} {mode:?} {kind}"
                );
                assert!(policy <= rights, "nobody has rights before what limits them");
            }
        }
    }
    // Before Kubernetes 1.30 there are none to be installed.
    let old = manifests(&InstallOptions {
        policies: false,
        ..options()
    });
    assert!(!names(&old).iter().any(|name| name.contains("AdmissionPolicy")));
}

#[test]
fn nobody_waits_for_a_silent_webhook_unless_asked_to() {
    for (admission, failure, nodes, others) in [
        (Admission::Policy, FailurePolicy::Ignore, "Ignore", "Ignore"),
        // The policies do not need the webhook, so Nodes are judged without it.
        (Admission::Policy, FailurePolicy::Fail, "Ignore", "Fail"),
        (Admission::Webhook, FailurePolicy::Ignore, "Ignore", "Ignore"),
        (Admission::Webhook, FailurePolicy::Fail, "Fail", "Fail"),
    ] {
        let objects = manifests(&InstallOptions {
            admission,
            failure,
            ..options()
        });
        let webhooks = objects
            .iter()
            .filter(|object| object["kind"].as_str().unwrap().ends_with("WebhookConfiguration"))
            .flat_map(|object| object["webhooks"].as_array().unwrap());
        let mut judged = Vec::new();
        for webhook in webhooks {
            for resource in webhook["rules"][0]["resources"].as_array().unwrap() {
                let is_node = resource.as_str().unwrap().starts_with("nodes");
                let wanted = if is_node { nodes } else { others };
                assert_eq!(webhook["failurePolicy"], wanted, "{admission:?} {failure:?}: {webhook}");
                judged.push(resource.as_str().unwrap().to_owned());
            }
        }
        judged.sort_unstable();
        judged.dedup();
        assert_eq!(
            judged,
            [
                "berths",
                "kubeletconfigs",
                "labelrules",
                "machineconfigpools",
                "machineconfigs",
                "nodes",
                "nodes/status"
            ]
        );
    }
    let off = manifests(&InstallOptions {
        admission: Admission::Off,
        ..options()
    });
    assert!(
        !names(&off)
            .iter()
            .any(|name| name.contains("Webhook") || name.contains("webhook"))
    );
}

#[test]
fn only_the_ports_that_somebody_needs_are_open() {
    let ports = |options: &InstallOptions| {
        let objects = manifests(options);
        let policy = objects.iter().find(|object| object["kind"] == "NetworkPolicy").unwrap();
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        assert_eq!(policy["spec"]["policyTypes"], json!(["Ingress"]));
        assert_eq!(
            policy["spec"]["podSelector"]["matchLabels"],
            deployment["spec"]["template"]["metadata"]["labels"]
        );
        let container = &deployment["spec"]["template"]["spec"]["containers"][0];
        let rules = policy["spec"]["ingress"].as_array().unwrap();
        let mut open: Vec<(String, bool)> = Vec::new();
        for rule in rules {
            let name = rule["ports"][0]["port"].as_str().unwrap();
            let known = container["ports"]
                .as_array()
                .unwrap()
                .iter()
                .any(|port| port["name"] == name);
            assert!(known, "{name} is a port of the container");
            open.push((name.to_owned(), rule.get("from").is_none()));
        }
        open
    };
    let (health, webhook) = (("health".to_owned(), false), ("webhook".to_owned(), true));
    assert_eq!(ports(&options()), [health.clone(), webhook]);
    let off = InstallOptions {
        admission: Admission::Off,
        ..options()
    };
    assert_eq!(ports(&off), [health]);
}

#[test]
fn the_webhook_asks_for_client_certificates_where_their_roots_are_given() {
    let parts = |options: &InstallOptions| {
        let objects = manifests(options);
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string();
        let secret = objects.iter().find(|object| object["kind"] == "Secret");
        let roots = secret.and_then(|secret| secret["data"].get(CLIENT_AUTHORITY).cloned());
        (arguments.contains("--admission-client-ca"), roots)
    };
    assert_eq!(parts(&options()), (false, None));
    let asking = InstallOptions {
        client_authority: Some("roots".to_owned()),
        ..options()
    };
    assert_eq!(parts(&asking), (true, Some(json!("cm9vdHM="))));
    let off = InstallOptions {
        admission: Admission::Off,
        ..asking
    };
    assert_eq!(parts(&off), (false, None));
}

#[test]
fn the_controllers_are_told_whose_kubelets_these_are() {
    let told = |flavour| {
        let objects = manifests(&InstallOptions { flavour, ..options() });
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        deployment["spec"]["template"]["spec"]["containers"][0]["args"].to_string()
    };
    assert!(told(Some(Flavour::Openshift)).contains(r#""--flavour","openshift""#));
    assert!(!told(None).contains("--flavour"));
}

/// Every combination of options that can change which objects there are.
fn all_options() -> Vec<InstallOptions> {
    let mut all = vec![options()];
    let mut vary = |change: &dyn Fn(&InstallOptions) -> InstallOptions| {
        let varied: Vec<InstallOptions> = all.iter().map(change).collect();
        all.extend(varied);
    };
    vary(&|options| InstallOptions {
        mode: InstallMode::Full,
        ..options.clone()
    });
    vary(&|options| InstallOptions {
        approve: true,
        ..options.clone()
    });
    for admission in [Admission::Webhook, Admission::Off] {
        vary(&|options| InstallOptions {
            admission,
            ..options.clone()
        });
    }
    vary(&|options| InstallOptions {
        certificate: None,
        ..options.clone()
    });
    vary(&|options| InstallOptions {
        client_authority: Some("roots".to_owned()),
        failure: FailurePolicy::Fail,
        flavour: Some(Flavour::Openshift),
        ..options.clone()
    });
    vary(&|options| InstallOptions {
        pool_definitions: false,
        ..options.clone()
    });
    vary(&|options| InstallOptions {
        database_secret: Some("database".to_owned()),
        replicas: 1,
        ..options.clone()
    });
    vary(&|options| InstallOptions {
        daemon: false,
        ..options.clone()
    });
    all
}

#[test]
fn what_install_brings_is_taken_away() {
    let gone = everything("berth-system");
    let removed: BTreeSet<String> = names(&gone).into_iter().collect();
    assert_eq!(removed.len(), gone.len(), "each goes once");
    // Definitions and the namespace go by rules of their own.
    let apart = ["CustomResourceDefinition ", "Namespace "];
    let mut brought = BTreeSet::new();
    let all = all_options();
    assert_eq!(all.len(), 512);
    for options in &all {
        for name in names(&manifests(options)) {
            let by_itself = apart.iter().any(|kind| name.starts_with(kind));
            assert!(by_itself || removed.contains(&name), "{name} stays: {options:?}");
            brought.insert(name);
        }
    }
    // The rest is what the controllers make, or earlier versions brought.
    let rest: Vec<&String> = removed.difference(&brought).collect();
    assert_eq!(
        rest,
        [
            "Lease berth-system/berth-controller",
            "MutatingAdmissionPolicy /berth-node-labels",
            "MutatingAdmissionPolicyBinding /berth-node-labels",
            "Role kube-system/berth-controller",
            "RoleBinding kube-system/berth-controller",
            "Roster /places",
            "ValidatingAdmissionPolicy /berth-pool-claims",
            "ValidatingAdmissionPolicyBinding /berth-pool-claims",
        ]
    );
    // Nothing is put back meanwhile, and what is asked goes before those who answer.
    let place = |name: &str| names(&gone).iter().position(|known| known == name).expect(name);
    for (first, then) in [
        (
            "Deployment berth-system/berth-controller",
            "Lease berth-system/berth-controller",
        ),
        (
            "DaemonSet berth-system/berth-daemon",
            "ServiceAccount berth-system/berth-daemon",
        ),
        (
            "ValidatingWebhookConfiguration /berth",
            "Service berth-system/berth-webhook",
        ),
        (
            "ValidatingAdmissionPolicyBinding /berth-pool-claims",
            "ValidatingAdmissionPolicy /berth-pool-claims",
        ),
        ("ClusterRoleBinding /berth-controller", "ClusterRole /berth-controller"),
    ] {
        assert!(place(first) < place(then), "{first} before {then}");
    }
}

/// Whatever the controllers and daemons may create is taken away, or it is known why not.
#[test]
fn what_the_controllers_may_create_is_taken_away() {
    let kinds: BTreeSet<String> = everything("berth-system")
        .iter()
        .filter_map(|object| object["kind"].as_str())
        .map(|kind| super::cluster::resource("v1", kind).plural)
        .collect();
    let known = [
        ("nodes", "they are the cluster's, and lose Berth's notes"),
        ("berths", "they go with their definition"),
        (
            "machineconfignodes",
            "they go with their definition or with their Nodes",
        ),
        ("events", "they expire"),
        ("pods/eviction", "an eviction is not stored"),
        (
            "machineconfigs",
            "pools and Nodes refer to them; they lose Berth's finalizer",
        ),
    ];
    for options in all_options() {
        for right in rights(&options).into_iter().chain(rbac::daemon_rights()) {
            let creates = right.verbs.iter().any(|verb| ["create", "update"].contains(verb));
            let is_known = known.iter().any(|(resource, _)| *resource == right.resource);
            // To update finalizers creates nothing.
            let is_object = !right.resource.ends_with("/finalizers");
            assert!(
                !creates || !is_object || is_known || kinds.contains(right.resource),
                "{right:?} is left behind"
            );
        }
    }
}
