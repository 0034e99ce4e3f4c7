//! Ingress controllers: the operator's table of selectors, and the rewrite's promise.

use std::collections::BTreeMap;

use berth_labels::{LabelSelector, LabelSelectorRequirement};
use berth_placement::{
    IngressContext, IngressController, PlacementNode, Ports, ProblemKind, Publishing, REMOTE_WORKER, Server, Taint,
    Toleration, check_backends, check_ingress, default_replicas, haproxy_config, rewrite, shard,
};
use proptest::prelude::*;
use serde_json::json;

fn labels(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect()
}

fn node(name: &str, pairs: &[(&str, &str)]) -> PlacementNode {
    let mut labels = labels(pairs);
    labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
    labels.insert("kubernetes.io/os".to_owned(), "linux".to_owned());
    PlacementNode {
        name: name.to_owned(),
        labels,
        ..PlacementNode::default()
    }
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> LabelSelectorRequirement {
    LabelSelectorRequirement {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values: values.iter().map(|&value| value.to_owned()).collect(),
    }
}

fn selector(pairs: &[(&str, &str)], expressions: &[LabelSelectorRequirement]) -> LabelSelector {
    LabelSelector {
        match_labels: labels(pairs),
        match_expressions: expressions.to_vec(),
    }
}

fn controller(name: &str, node_selector: Option<LabelSelector>) -> IngressController {
    IngressController {
        name: name.to_owned(),
        replicas: Some(1),
        node_selector,
        ..IngressController::default()
    }
}

fn kinds(
    nodes: &[PlacementNode],
    controllers: &[IngressController],
    context: &IngressContext,
) -> Vec<Vec<ProblemKind>> {
    check_ingress(nodes, controllers, context)
        .iter()
        .map(|answer| answer.problems.iter().map(|problem| problem.kind).collect())
        .collect()
}

#[test]
fn selectors_convert_as_the_operator_converts_them() {
    let refused = |text: &str| {
        Err(format!(
            "failed to ensure deployment: failed to build router deployment: ingresscontroller \"default\" has invalid \
             spec.nodePlacement.nodeSelector: {text}"
        ))
    };
    let single = "operator \"In\" without a single value cannot be converted into the old label selector format";
    let operator = |name: &str| format!("operator \"{name}\" cannot be converted into the old label selector format");
    for (given, expected) in [
        (selector(&[("foo", "bar")], &[]), Ok(labels(&[("foo", "bar")]))),
        (
            selector(&[("foo", "bar")], &[requirement("baz", "In", &["a"])]),
            Ok(labels(&[("foo", "bar"), ("baz", "a")])),
        ),
        (
            selector(&[("foo", "bar")], &[requirement("foo", "In", &["a"])]),
            Ok(labels(&[("foo", "a")])),
        ),
        (selector(&[], &[requirement("foo", "In", &[])]), refused(single)),
        (selector(&[], &[requirement("foo", "In", &["a", "b"])]), refused(single)),
        (
            selector(&[], &[requirement("foo", "NotIn", &["a"])]),
            refused(&operator("NotIn")),
        ),
        (
            selector(&[], &[requirement("foo", "Exists", &[])]),
            refused(&operator("Exists")),
        ),
        (
            selector(&[], &[requirement("foo", "DoesNotExist", &[])]),
            refused(&operator("DoesNotExist")),
        ),
        (
            selector(&[], &[requirement("foo", "Near", &["a"])]),
            refused("\"Near\" is not a valid selector operator"),
        ),
    ] {
        let answers = check_ingress(&[], &[controller("default", Some(given))], &IngressContext::default());
        let answer = answers.into_iter().next().unwrap();
        assert_eq!(answer.map.ok_or_else(|| answer.error.unwrap_or_default()), expected);
    }
}

#[test]
fn without_a_selector_routers_run_on_workers() {
    let nodes = [
        node("m", &[("node-role.kubernetes.io/master", "")]),
        node("w", &[("node-role.kubernetes.io/worker", "")]),
    ];
    let answers = check_ingress(&nodes, &[controller("default", None)], &IngressContext::default());
    assert_eq!(answers[0].nodes, [1]);
}

#[test]
fn an_empty_remote_worker_label_keeps_a_shard_pending_and_another_value_does_not() {
    for (value, expected) in [("", vec![ProblemKind::IngressRemoteLabel]), ("smyrna", vec![])] {
        let nodes = [node("r1", &[(REMOTE_WORKER, value), ("site", "b")])];
        let shard = controller("rwn", Some(selector(&[("site", "b")], &[])));
        assert_eq!(kinds(&nodes, &[shard], &IngressContext::default()), [expected]);
    }
    // Where there are others, that is what the affinity is for.
    let nodes = [
        node("r1", &[(REMOTE_WORKER, ""), ("site", "b")]),
        node("w1", &[("site", "b")]),
    ];
    let shard = controller("rwn", Some(selector(&[("site", "b")], &[])));
    let answers = check_ingress(&nodes, &[shard], &IngressContext::default());
    assert_eq!(
        (answers[0].nodes.as_slice(), answers[0].usable.as_slice()),
        (&[0, 1][..], &[1][..])
    );
    assert_eq!(answers[0].problems, []);
}

#[test]
fn the_default_router_belongs_beside_the_vip() {
    let mut central = node("c", &[("run", "")]);
    central.primary = vec!["10.19.3.21/24".parse().unwrap()];
    let mut remote = node("r", &[("run", "")]);
    remote.primary = vec!["10.19.142.21/24".parse().unwrap()];
    let context = IngressContext {
        vips: vec!["10.19.3.3".parse().unwrap()],
        moves_vips: true,
        ..IngressContext::default()
    };
    let default = controller("default", Some(selector(&[("run", "")], &[])));
    let both = [central, remote];
    assert_eq!(
        kinds(&both, std::slice::from_ref(&default), &context),
        [[ProblemKind::IngressOutsideVip]]
    );
    let answers = check_ingress(&both[1..], std::slice::from_ref(&default), &context);
    assert!(
        answers[0].problems[0].message.starts_with("ingress is down"),
        "{:?}",
        answers[0].problems
    );
    // Who manages the VIP outside of the cluster may send traffic anywhere; a shard has its own address.
    let outside = IngressContext {
        moves_vips: false,
        ..context.clone()
    };
    assert_eq!(kinds(&both, &[default], &outside), [[]]);
    let shard = controller("shard", Some(selector(&[("run", "")], &[])));
    assert_eq!(kinds(&both, &[shard], &context), [[]]);
}

#[test]
fn taints_replicas_and_hostnames() {
    let mut master = node("m1.example.com", &[("node-role.kubernetes.io/master", "")]);
    master.taints = vec![Taint {
        key: "node-role.kubernetes.io/master".to_owned(),
        value: String::new(),
        effect: "NoSchedule".to_owned(),
    }];
    let nodes = [master];
    let context = IngressContext::default();
    let mut default = controller(
        "default",
        Some(selector(&[("node-role.kubernetes.io/master", "")], &[])),
    );
    assert_eq!(
        kinds(&nodes, std::slice::from_ref(&default), &context),
        [[ProblemKind::IngressTaint]]
    );
    // Without an operator a toleration is Equal, and its missing value is the empty one.
    default.tolerations = vec![Toleration {
        key: Some("node-role.kubernetes.io/master".to_owned()),
        effect: Some("NoSchedule".to_owned()),
        ..Toleration::default()
    }];
    assert_eq!(kinds(&nodes, std::slice::from_ref(&default), &context), [[]]);
    default.replicas = None;
    assert_eq!(kinds(&nodes, &[default], &context), [[ProblemKind::IngressReplicas]]);
    let short = controller("default", Some(selector(&[("kubernetes.io/hostname", "m1")], &[])));
    let answers = check_ingress(&nodes, &[short], &context);
    assert_eq!(
        answers[0].problems[0].help.as_deref(),
        Some("kubernetes.io/hostname has to be the node's whole name: write m1.example.com")
    );
}

#[test]
fn ports_and_domains_of_two_controllers() {
    let nodes = [node("a", &[("run", "")])];
    let context = IngressContext {
        apps_domain: Some("apps.georgia.example".to_owned()),
        host_network: true,
        ..IngressContext::default()
    };
    let run = || Some(selector(&[("run", "")], &[]));
    let routes = |value: &str| Some(selector(&[("type", value)], &[]));
    let mut default = controller("default", run());
    default.route_selector = Some(selector(&[], &[requirement("type", "NotIn", &["s"])]));
    let mut shard = controller("s", run());
    shard.domain = Some("s.apps.georgia.example".to_owned());
    shard.route_selector = routes("s");
    assert_eq!(
        kinds(&nodes, &[default.clone(), shard.clone()], &context),
        [vec![], vec![ProblemKind::IngressDomain, ProblemKind::IngressPorts]]
    );
    shard.domain = Some("apps-s.georgia.example".to_owned());
    shard.publishing = Some(Publishing::HostNetwork(Ports {
        http: 8080,
        https: 8443,
        stats: 1937,
    }));
    assert_eq!(kinds(&nodes, &[default.clone(), shard.clone()], &context), [[], []]);
    shard.publishing = Some(Publishing::HostNetwork(Ports {
        http: 8080,
        https: 8080,
        stats: 1937,
    }));
    assert_eq!(
        kinds(&nodes, &[default, shard], &context),
        [vec![], vec![ProblemKind::IngressPorts]]
    );
}

#[test]
fn routes_that_two_serve_and_routes_that_none_serves() {
    let with = |name: &str, routes: Option<LabelSelector>| IngressController {
        route_selector: routes,
        domain: Some(format!("{name}.example")),
        ..controller(name, None)
    };
    let context = IngressContext::default();
    let shard = || with("s", Some(selector(&[("type", "s")], &[])));
    let not_s = || Some(selector(&[], &[requirement("type", "NotIn", &["s"])]));
    let is_t = || Some(selector(&[("type", "t")], &[]));
    assert_eq!(
        kinds(&[], &[with("default", None), shard()], &context),
        [vec![], vec![ProblemKind::IngressOverlap]]
    );
    assert_eq!(kinds(&[], &[with("default", not_s()), shard()], &context), [[], []]);
    let answers = check_ingress(&[], &[with("default", is_t()), shard()], &context);
    assert_eq!(answers[0].problems[0].kind, ProblemKind::IngressUnserved);
    assert_eq!(
        answers[0].problems[0].message,
        "no ingress controller serves a route with no type"
    );
    // Namespaces count beside routes.
    let mut by_namespace = with("n", None);
    by_namespace.namespace_selector = Some(selector(&[("team", "x")], &[]));
    assert_eq!(
        kinds(&[], &[shard(), by_namespace], &context),
        [vec![ProblemKind::IngressUnserved], vec![ProblemKind::IngressOverlap]]
    );
}

#[test]
fn a_shard_for_a_site() {
    let mut remote = node("r1", &[(REMOTE_WORKER, "")]);
    remote.remote_site = Some("smyrna".to_owned());
    remote.primary = vec!["10.19.142.21/24".parse().unwrap()];
    let nodes = [node("w1", &[]), remote];
    let pools = [Some("worker".to_owned()), Some("rwn".to_owned())];
    let made = shard(&nodes, &pools, "smyrna", "apps-smyrna.example").unwrap();
    assert_eq!(made.nodes, [1]);
    assert_eq!(
        made.rule["spec"],
        json!({"match": {"pools": ["rwn"]}, "labels": {REMOTE_WORKER: "smyrna"}})
    );
    assert!(shard(&nodes, &pools, "macon", "x.example").is_none());
    insta::assert_snapshot!(haproxy_config("apps-smyrna.example", &made.servers, Ports::default()));
    let six = [Server {
        name: "r1".to_owned(),
        address: "fd00::1".parse().unwrap(),
    }];
    assert!(haproxy_config("x.example", &six, Ports::default()).contains("server r1 [fd00::1]:443\n"));
}

fn any_requirement() -> impl Strategy<Value = LabelSelectorRequirement> {
    let key = prop::sample::select(vec!["a", "b", "kubernetes.io/hostname"]);
    let values = prop::collection::vec(prop::sample::select(vec!["", "x", "y", "n0", "n1"]), 1..3);
    (key, 0..4, values).prop_map(|(key, operator, values)| match operator {
        0 => requirement(key, "In", &values),
        1 => requirement(key, "NotIn", &values),
        2 => requirement(key, "Exists", &[]),
        _ => requirement(key, "DoesNotExist", &[]),
    })
}

proptest! {
    /// What the new selector selects, once the rule has given its label, is what the old one meant.
    #[test]
    fn the_rewrite_selects_exactly_what_was_meant(
        sets in prop::collection::vec(prop::collection::btree_map("[ab]", "[xy]?", 0..3), 0..6),
        expressions in prop::collection::vec(any_requirement(), 1..4),
        pools in prop::collection::vec(prop::sample::select(vec![None, Some("p"), Some("q")]), 6),
    ) {
        let nodes: Vec<PlacementNode> = sets
            .iter()
            .enumerate()
            .map(|(index, set)| {
                let pairs: Vec<(&str, &str)> = set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
                node(&format!("n{index}"), &pairs)
            })
            .collect();
        let pools: Vec<Option<String>> = pools.into_iter().map(|pool| pool.map(str::to_owned)).collect();
        let old = controller("default", Some(selector(&[], &expressions)));
        let manifest = json!({"spec": {"replicas": 1}});
        let Some(made) = rewrite(&nodes, &old, &manifest, &pools) else {
            prop_assert!(old.node_selector.as_ref().unwrap().to_map().is_ok());
            return Ok(());
        };
        // Matched again by hand, with Kubernetes' meaning of each operator.
        let means = |node: &PlacementNode| expressions.iter().all(|expression| {
            let value = node.labels.get(&expression.key);
            match expression.operator.as_str() {
                "In" => value.is_some_and(|value| expression.values.contains(value)),
                "NotIn" => value.is_none_or(|value| !expression.values.contains(value)),
                "Exists" => value.is_some(),
                _ => value.is_none(),
            }
        });
        let meant: Vec<usize> = (0..nodes.len()).filter(|index| means(&nodes[*index])).collect();
        prop_assert_eq!(&made.nodes, &meant);

        let rule = &made.rule["spec"]["match"];
        let takes = |index: usize| match rule.get("pools") {
            Some(list) => list.as_array().unwrap().iter().any(|pool| pool.as_str() == pools[index].as_deref()),
            None => {
                let list = rule["namePatterns"].as_array().unwrap();
                list.iter().any(|name| name.as_str() == Some(nodes[index].name.as_str()))
            }
        };
        let mut after = nodes.clone();
        for (index, node) in after.iter_mut().enumerate().filter(|(index, _)| takes(*index)) {
            prop_assert!(meant.contains(&index));
            node.labels.insert(made.label.clone(), String::new());
        }
        let new: LabelSelector =
            serde_json::from_value(made.ingress_controller["spec"]["nodePlacement"]["nodeSelector"].clone()).unwrap();
        let answers = check_ingress(&after, &[controller("default", Some(new))], &IngressContext::default());
        prop_assert_eq!(&answers[0].nodes, &meant);
    }
}

#[test]
fn a_load_balancer_is_compared_with_the_nodes_behind_it() {
    let node = |name: &str, address: &str, labels: &[(&str, &str)]| PlacementNode {
        name: name.to_owned(),
        primary: vec![address.parse().unwrap()],
        labels: labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect(),
        ..PlacementNode::default()
    };
    let nodes = [
        node("a", "10.0.0.1/24", &[("r", "y")]),
        node("b", "fd00::2/64", &[("r", "y")]),
        node("c", "10.0.0.3/24", &[]),
    ];
    let controllers = [IngressController {
        name: "default".to_owned(),
        node_selector: Some(LabelSelector {
            match_labels: [("r".to_owned(), "y".to_owned())].into(),
            ..LabelSelector::default()
        }),
        ..IngressController::default()
    }];
    let context = IngressContext {
        host_network: true,
        ..IngressContext::default()
    };
    let answers = check_ingress(&nodes, &controllers, &context);
    let found = |config: &str| -> Vec<String> {
        let problems = check_backends(config, &nodes, &controllers[0], &answers[0], &context);
        problems
            .into_iter()
            .map(|(range, problem)| {
                assert_eq!(problem.kind, ProblemKind::IngressBackends);
                format!("{} | {}", config.get(range).unwrap().trim(), problem.message)
            })
            .collect()
    };
    let servers = [
        Server {
            name: "a".to_owned(),
            address: "10.0.0.1".parse().unwrap(),
        },
        Server {
            name: "b".to_owned(),
            address: "fd00::2".parse().unwrap(),
        },
    ];
    // What Berth writes fits.
    let good = haproxy_config("apps.example", &servers, Ports::default());
    assert_eq!(found(&good), Vec::<String>::new());
    // Each mistake, at its line.
    let without = good.replacen("    server b [fd00::2]:443\n", "", 1);
    assert_eq!(
        found(&without),
        [
            "backend routers-https | `routers-https` has no server for b, where routers of ingress controller `default` may run: \
             connections do not reach them"
        ]
    );
    let more = good.replacen(
        "    server b [fd00::2]:80\n",
        "    server b [fd00::2]:80\n    server c 10.0.0.3:80 # old\n",
        1,
    );
    assert_eq!(
        found(&more),
        [
            "server c 10.0.0.3:80 # old | server `c` of `routers-http` never has a router of ingress controller `default`: `c` runs \
             none"
        ]
    );
    for (from, to, message) in [
        ("check port 1936", "check port 80", "are not checked on port 1936"),
        ("default-server check", "default-server", "are not checked on port 1936"),
        ("    option httpchk\n", "", "no `option httpchk`"),
        ("/healthz/ready", "/", "does not ask for /healthz/ready"),
    ] {
        let found = found(&good.replacen(from, to, 1));
        assert!(found.len() == 1 && found[0].contains(message), "{found:?}");
    }
    // Other services of the machine are nobody's business.
    assert_eq!(
        found("listen api\n  bind :6443\n  server m0 10.0.0.1:6443 check\n"),
        Vec::<String>::new()
    );
    // A check in `defaults` counts for what follows.
    let listen = "defaults\n  option httpchk GET /healthz/ready\n  default-server check port 1936\nlisten http\n  server a 10.0.0.1:80\n  \
                  server b fd00::2:80\n";
    assert_eq!(found(listen), Vec::<String>::new());
}

/// One worker, or a single node, has one router where nobody says how many.
#[test]
fn the_default_number_of_routers_follows_the_topology() {
    for (masters, workers, replicas) in [
        (3, 2, 2),
        (3, 1, 1),
        (3, 0, 2),
        (1, 0, 1),
        (1, 1, 1),
        (1, 2, 2),
        (5, 7, 2),
    ] {
        assert_eq!(
            default_replicas(masters, workers),
            replicas,
            "{masters} masters, {workers} workers"
        );
    }
    let nodes = [node(
        "w0",
        &[("node-role.kubernetes.io/worker", ""), ("kubernetes.io/os", "linux")],
    )];
    let mut default = [controller("default", None)];
    default[0].replicas = None;
    let one = IngressContext {
        default_replicas: Some(1),
        ..IngressContext::default()
    };
    assert_eq!(kinds(&nodes, &default, &one), [Vec::new()]);
    assert_eq!(
        kinds(&nodes, &default, &IngressContext::default()),
        [[ProblemKind::IngressReplicas]]
    );
}

/// Before 4.13 the operator gives routers no affinity against remote workers.
#[test]
fn the_affinity_is_the_releases() {
    let nodes = [node("r0", &[(REMOTE_WORKER, "")])];
    let shards = [controller("shard", Some(selector(&[(REMOTE_WORKER, "")], &[])))];
    let old = IngressContext {
        no_remote_affinity: true,
        ..IngressContext::default()
    };
    assert_eq!(
        kinds(&nodes, &shards, &IngressContext::default()),
        [[ProblemKind::IngressRemoteLabel]]
    );
    assert_eq!(kinds(&nodes, &shards, &old), [Vec::new()]);
}

/// Short host names where nodes have long ones: the rewrite is for the nodes that are called so.
#[test]
fn a_rewrite_takes_short_host_names_for_the_nodes_that_begin_with_them() {
    let nodes = ["w0.example", "w1.example", "w2.example", "w2.other"].map(|name| node(name, &[]));
    let names = |values: &[&str]| {
        let selector = selector(&[], &[requirement("kubernetes.io/hostname", "In", values)]);
        rewrite(
            &nodes,
            &controller("c", Some(selector)),
            &json!({"spec": {}}),
            &[None, None, None, None],
        )
        .unwrap()
    };
    let made = names(&["w0", "w1.example"]);
    assert_eq!(made.nodes, [0, 1]);
    assert_eq!(made.whole_names, [("w0".to_owned(), "w0.example".to_owned())]);
    assert_eq!(
        made.rule["spec"]["match"]["namePatterns"],
        json!(["w0\\.example", "w1\\.example"])
    );
    // One name can be converted, and selects nobody as it is.
    assert_eq!(names(&["w0"]).nodes, [0]);
    // Two nodes begin with it, and no node does.
    assert_eq!(names(&["w2"]).nodes, Vec::<usize>::new());
    assert_eq!(names(&["w2", "w9"]).nodes, Vec::<usize>::new());
}
