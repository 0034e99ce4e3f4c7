//! Who may set which key, and which routes follow.

use berth_labels::{Flavour, Route, Writer, choose_route, permission, route_proof, routes};

use crate::support::key;

/// Keys that every writer may set with every flavour.
const ALLOWED: [&str; 26] = [
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
    "node.kubernetes.io/anything",
    "deep.sub.node.kubernetes.io/x",
    "kubelet.kubernetes.io/cpu",
    "sub.kubelet.kubernetes.io/cpu",
    "pool",
    "infra",
    "worker",
    "example.com/pool",
    "mykubernetes.io/x",
    "my-k8s.io/x",
    "kubernetes.io.example.com/x",
    "k8s.ovn.org/egress-assignable",
    "node.openshift.io/remote-worker",
    "machineconfiguration.openshift.io/role",
    "berth.dev/site",
];

/// Keys that no kubelet may set with any flavour.
const FORBIDDEN: [&str; 19] = [
    "node-role.kubernetes.io/infra",
    "node-role.kubernetes.io/Worker",
    "node-role.kubernetes.io/workers",
    "sub.node-role.kubernetes.io/worker",
    "kubernetes.io/role",
    "kubernetes.io/Hostname",
    "app.kubernetes.io/name",
    "beta.kubernetes.io/zone",
    "topology.kubernetes.io/rack",
    "sub.topology.kubernetes.io/zone",
    "xnode.kubernetes.io/x",
    "node-kubelet.kubernetes.io/x",
    "node.k8s.io/x",
    "k8s.io/x",
    "cluster.x-k8s.io.k8s.io/x",
    "topology.k8s.io/zone",
    "node-restriction.kubernetes.io/pool",
    "sub.node-restriction.kubernetes.io/pool",
    "node-restriction.kubernetes.io/worker",
];

const OPENSHIFT_ROLES: [&str; 5] = [
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
    "node-role.kubernetes.io/worker",
    "node-role.kubernetes.io/etcd",
    "node-role.kubernetes.io/arbiter",
];

const BY_KUBELET: [Writer; 3] = [Writer::Flag, Writer::Create, Writer::Update];

fn allowed(flavour: Flavour, writer: Writer, text: &str) -> bool {
    permission(flavour, writer, &key(text)).allowed
}

#[test]
fn keys_that_a_kubelet_may_set() {
    for flavour in Flavour::ALL {
        for writer in Writer::ALL {
            for text in ALLOWED {
                assert!(allowed(flavour, writer, text), "{flavour} {writer} {text}");
            }
        }
    }
}

#[test]
fn keys_that_a_kubelet_may_not_set() {
    for flavour in Flavour::ALL {
        for writer in BY_KUBELET {
            for text in FORBIDDEN {
                assert!(!allowed(flavour, writer, text), "{flavour} {writer} {text}");
            }
        }
    }
}

#[test]
fn openshift_lets_roles_through_at_registration_only() {
    for text in OPENSHIFT_ROLES {
        for writer in BY_KUBELET {
            assert!(!allowed(Flavour::Upstream, writer, text), "upstream {writer} {text}");
        }
        assert!(allowed(Flavour::Openshift, Writer::Flag, text), "{text}");
        assert!(allowed(Flavour::Openshift, Writer::Create, text), "{text}");
        assert!(!allowed(Flavour::Openshift, Writer::Update, text), "{text}");
    }
}

#[test]
fn a_controller_may_set_everything() {
    for flavour in Flavour::ALL {
        for text in ALLOWED.iter().chain(&FORBIDDEN).chain(&OPENSHIFT_ROLES) {
            assert!(allowed(flavour, Writer::Controller, text), "{flavour} {text}");
        }
    }
}

#[test]
fn a_refusal_says_who_refuses_and_what_follows() {
    for flavour in Flavour::ALL {
        for text in FORBIDDEN.iter().chain(&OPENSHIFT_ROLES) {
            for writer in BY_KUBELET {
                let permission = permission(flavour, writer, &key(text));
                if permission.allowed {
                    continue;
                }
                let reason = permission.reason;
                match writer {
                    Writer::Flag => assert!(
                        reason.contains("kubelet refuses") && reason.contains("does not start"),
                        "{reason}"
                    ),
                    _ => assert!(reason.contains("NodeRestriction") && reason.contains("403"), "{reason}"),
                }
                assert!(reason.ends_with('.'), "{reason}");
            }
        }
    }
    for text in [
        "node-restriction.kubernetes.io/x",
        "sub.node-restriction.kubernetes.io/x",
    ] {
        let reason = permission(Flavour::Upstream, Writer::Update, &key(text)).reason;
        assert!(reason.contains("administrators"), "{text}: {reason}");
    }
}

#[test]
fn routes_follow_from_permissions() {
    use Route::{Admission, Boot, Live, Preregister};
    let all = [Boot, Preregister, Admission, Live];
    let rows: [(Flavour, &str, &[Route]); 8] = [
        (Flavour::Upstream, "example.com/pool", &all),
        (Flavour::Openshift, "node.openshift.io/remote-worker", &all),
        (Flavour::Upstream, "topology.kubernetes.io/zone", &all),
        (
            Flavour::Upstream,
            "node-role.kubernetes.io/worker",
            &[Preregister, Live],
        ),
        (
            Flavour::Openshift,
            "node-role.kubernetes.io/worker",
            &[Boot, Preregister, Live],
        ),
        (
            Flavour::Openshift,
            "node-role.kubernetes.io/infra",
            &[Preregister, Live],
        ),
        (
            Flavour::Upstream,
            "node-restriction.kubernetes.io/pool",
            &[Preregister, Live],
        ),
        (Flavour::Upstream, "app.kubernetes.io/name", &[Preregister, Live]),
    ];
    for (flavour, text, expected) in rows {
        assert_eq!(routes(flavour, &key(text)), expected, "{flavour} {text}");
        assert_eq!(choose_route(flavour, &key(text)), expected[0], "{flavour} {text}");
    }
}

#[test]
fn no_forbidden_key_is_ever_sent_at_boot() {
    for flavour in Flavour::ALL {
        for text in ALLOWED.iter().chain(&FORBIDDEN).chain(&OPENSHIFT_ROLES) {
            let key = key(text);
            if choose_route(flavour, &key) == Route::Boot {
                assert!(permission(flavour, Writer::Flag, &key).allowed, "{flavour} {text}");
                assert!(permission(flavour, Writer::Create, &key).allowed, "{flavour} {text}");
            } else {
                assert_eq!(choose_route(flavour, &key), Route::Preregister);
            }
        }
    }
}

#[test]
fn proofs() {
    let rows: [(Flavour, &str, Route, &[&str]); 5] = [
        (
            Flavour::Upstream,
            "example.com/pool",
            Route::Boot,
            &[
                "Keys outside kubernetes.io, k8s.io and their sub-domains are free: kubelet and NodeRestriction let a \
                 node set them.",
                "So example.com/pool can go by the route boot with the flavour upstream.",
            ],
        ),
        (
            Flavour::Openshift,
            "node-role.kubernetes.io/worker",
            Route::Boot,
            &[
                "OpenShift's kubelet accepts this role in --node-labels.",
                "OpenShift's NodeRestriction lets a kubelet set this role when it creates its Node.",
                "So node-role.kubernetes.io/worker can go by the route boot with the flavour openshift.",
            ],
        ),
        (
            Flavour::Openshift,
            "node-role.kubernetes.io/infra",
            Route::Preregister,
            &[
                "The kubelet refuses this node-role.kubernetes.io key in --node-labels and does not start.",
                "NodeRestriction refuses this node-role.kubernetes.io key from a kubelet; creating the Node with it is \
                 answered with 403 and the node never registers.",
                "A controller is bound neither by the kubelet's rules nor by NodeRestriction and may set any key.",
                "A Node that exists before its kubelet registers keeps the labels the controller gave it.",
                "So node-role.kubernetes.io/infra can go by the route preregister with the flavour openshift.",
            ],
        ),
        (
            Flavour::Openshift,
            "node-role.kubernetes.io/worker",
            Route::Admission,
            &[
                "OpenShift's NodeRestriction lets a kubelet set this role when it creates its Node.",
                "The API server runs NodeRestriction again after a mutating policy, so role keys are never added there.",
                "So node-role.kubernetes.io/worker cannot go by the route admission with the flavour openshift.",
            ],
        ),
        (
            Flavour::Upstream,
            "app.kubernetes.io/name",
            Route::Live,
            &[
                "A controller is bound neither by the kubelet's rules nor by NodeRestriction and may set any key.",
                "So app.kubernetes.io/name can go by the route live with the flavour upstream.",
            ],
        ),
    ];
    for (flavour, text, route, expected) in rows {
        assert_eq!(
            route_proof(flavour, &key(text), route),
            expected,
            "{flavour} {text} {route}"
        );
    }
}

#[test]
fn a_proof_ends_with_what_the_routes_say() {
    for flavour in Flavour::ALL {
        for text in ALLOWED.iter().chain(&FORBIDDEN).chain(&OPENSHIFT_ROLES) {
            let key = key(text);
            for route in Route::ALL {
                let proof = route_proof(flavour, &key, route);
                let possible = routes(flavour, &key).contains(&route);
                let verdict = if possible { " can go " } else { " cannot go " };
                assert!(proof.last().is_some_and(|last| last.contains(verdict)), "{proof:?}");
            }
        }
    }
}

#[test]
fn names_round_trip() {
    for flavour in Flavour::ALL {
        assert_eq!(flavour.to_string().parse(), Ok(flavour));
    }
    for writer in Writer::ALL {
        assert_eq!(writer.to_string().parse(), Ok(writer));
    }
    for route in Route::ALL {
        assert_eq!(route.to_string().parse(), Ok(route));
    }
    assert_eq!(Flavour::default(), Flavour::Upstream);
    let error = "okd".parse::<Flavour>().unwrap_err();
    assert_eq!(error.to_string(), "unknown flavour \"okd\": use upstream or openshift");
    assert!("Flag".parse::<Writer>().is_err());
    assert!("".parse::<Route>().is_err());
}
