//! Which pool a node gets, and what is wrong when the labels disagree.

use berth_labels::{Flavour, Route};
use berth_site::PoolSource;

use super::{berth, node, pinned, pool, read, role_pool, rule};

#[test]
fn pinned_beats_rule_beats_selector() {
    let pools = role_pool("worker") + &role_pool("infra") + &pool("edge", "{matchLabels: {edge: ''}}");
    let by_rule = rule("to-infra", "{match: {namePatterns: ['w.*']}, pool: infra}");

    let selected = read(&(pools.clone() + &node("w1", "{metadata: {owner_data: {edge: ''}}}")));
    assert_eq!(selected.pool("w1").as_deref(), Some("edge"));
    assert_eq!(selected.resolve("w1").pool.unwrap().1, PoolSource::Selector);

    let ruled = read(&(pools.clone() + &by_rule + &node("w1", "{}")));
    assert_eq!(ruled.pool("w1").as_deref(), Some("infra"));
    assert_eq!(ruled.labels("w1"), ["node-role.kubernetes.io/infra="]);

    let pinned_node = read(&(pools.clone() + &by_rule + &pinned("w1", "worker", "{}")));
    assert_eq!(pinned_node.pool("w1").as_deref(), Some("worker"));

    let by_berth = read(&(pools + &by_rule + &berth("w1", "{pool: edge}")));
    assert_eq!(by_berth.pool("w1").as_deref(), Some("edge"));
    for site in [&selected, &ruled, &pinned_node, &by_berth] {
        assert_eq!(site.codes(), Vec::<String>::new());
    }
}

#[test]
fn document_and_berth_must_pin_the_same_pool() {
    let text = role_pool("worker") + &role_pool("infra") + &pinned("w1", "worker", "{}");
    assert_eq!(
        read(&(text.clone() + &berth("w1", "{pool: worker}"))).codes(),
        Vec::<String>::new()
    );
    let site = read(&(text + &berth("w1", "{pool: infra}")));
    assert!(
        site.message("equal-rank-conflict")
            .contains("pool `worker` by its document and to pool `infra`")
    );
}

#[test]
fn the_final_labels_must_give_that_very_pool() {
    let pools = role_pool("master") + &role_pool("worker") + &role_pool("infra") + &role_pool("storage");
    for (labels, message) in [
        (
            "{node-role.kubernetes.io/storage: ''}",
            "node `w1` should be in pool `infra`, but the label `node-role.kubernetes.io/storage=` from node document `w1` also \
             puts it in pool `storage`",
        ),
        (
            "{node-role.kubernetes.io/master: ''}",
            "node `w1` should be in pool `infra`, but the label `node-role.kubernetes.io/master=` from node document `w1` also \
             puts it in pool `master`",
        ),
        // worker beside a custom pool is OpenShift's normal case.
        ("{node-role.kubernetes.io/worker: ''}", ""),
    ] {
        let data = format!("{{metadata: {{owner_data: {labels}}}}}");
        let site = read(&(pools.clone() + &pinned("w1", "infra", &data)));
        assert_eq!(site.message("pool-mismatch"), message);
    }
    let windows = "{metadata: {owner_data: {kubernetes.io/os: windows}}}";
    let site = read(&(pools + &pinned("w1", "infra", windows)));
    assert_eq!(
        site.message("pool-mismatch"),
        "node `w1` should be in pool `infra`, but its labels put it in no pool"
    );
}

/// The kubelet says its host name and operating system itself, so a selector on them holds for a declared machine too.
#[test]
fn what_the_kubelet_says_itself_counts() {
    let by_name = "{matchLabels: {kubernetes.io/hostname: w2.lab.example, kubernetes.io/os: linux}}";
    let pools = role_pool("worker") + &pool("remote", by_name);
    let found = read(&(pools.clone() + &node("w2.lab.example", "{}")));
    assert_eq!(found.pool("w2.lab.example").as_deref(), Some("remote"));

    let text = pools + &pinned("w1.lab.example", "worker", "{}") + &pinned("w2.lab.example", "worker", "{}");
    assert_eq!(
        read(&text).message("pool-mismatch"),
        "node `w2.lab.example` should be in pool `worker`, but the label `kubernetes.io/hostname=w2.lab.example`, which its kubelet \
         sets, also puts it in pool `remote`"
    );

    let elsewhere = pool(
        "p",
        "{matchLabels: {a: x}, matchExpressions: [{key: kubernetes.io/hostname, operator: NotIn, values: [w1]}]}",
    );
    assert_eq!(
        read(&(elsewhere.clone() + &pinned("w2", "p", "{}"))).codes(),
        Vec::<String>::new()
    );
    assert_eq!(
        read(&(elsewhere + &pinned("w1", "p", "{}"))).message("pool-constraint"),
        "node `w1` does not meet `kubernetes.io/hostname notin (w1)` of its pool `p`"
    );
}

#[test]
fn selectors_become_labels() {
    for (selector, annotations, expected) in [
        ("{matchLabels: {a: x}}", "{}", Ok(&["a=x"][..])),
        (
            "{matchExpressions: [{key: a, operator: In, values: [x]}]}",
            "{}",
            Ok(&["a=x"]),
        ),
        ("{matchExpressions: [{key: a, operator: Exists}]}", "{}", Ok(&["a="])),
        (
            "{matchExpressions: [{key: a, operator: In, values: [x, v]}]}",
            "{berth.dev/implicit-values: a=v}",
            Ok(&["a=v"]),
        ),
        (
            "{matchExpressions: [{key: a, operator: In, values: [x, v]}]}",
            "{}",
            Err("ambiguous-selector 5"),
        ),
        (
            "{matchExpressions: [{key: a, operator: In, values: [x, v]}]}",
            "{berth.dev/implicit-values: a=z}",
            Err("ambiguous-selector 5"),
        ),
        (
            "{matchLabels: {a: x}, matchExpressions: [{key: a, operator: DoesNotExist}]}",
            "{}",
            Err("unsatisfiable-selector 5"),
        ),
        (
            "{matchExpressions: [{key: a, operator: Near}]}",
            "{}",
            Err("invalid-selector 5"),
        ),
        ("{}", "{}", Err("empty-selector 5")),
    ] {
        let text = format!(
            "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {{name: p, annotations: {annotations}}}\n\
             spec: {{nodeSelector: {selector}}}\n"
        );
        let site = read(&(text + &pinned("w1", "p", "{}")));
        match expected {
            Ok(labels) => {
                assert_eq!(site.codes(), Vec::<String>::new(), "{selector}");
                assert_eq!(site.labels("w1"), labels, "{selector}");
            }
            Err(code) => assert_eq!(site.codes()[0], code, "{selector} {:?}", site.codes()),
        }
    }
}

#[test]
fn constraints_must_hold() {
    let text = pool(
        "p",
        "{matchLabels: {a: x}, matchExpressions: [{key: gpu, operator: DoesNotExist}, {key: tier, operator: NotIn, values: [gold]}]}",
    );
    assert_eq!(
        read(&(text.clone() + &pinned("w1", "p", "{metadata: {owner_data: {tier: silver}}}"))).codes(),
        Vec::<String>::new()
    );
    for (label, requirement) in [("{gpu: ''}", "!gpu"), ("{tier: gold}", "tier notin (gold)")] {
        let site = read(&(text.clone() + &pinned("w1", "p", &format!("{{metadata: {{owner_data: {label}}}}}"))));
        let message = site.message("pool-constraint");
        assert!(
            message.starts_with("node document `w1` gives node `w1` the label") && message.contains(requirement),
            "{message}"
        );
        assert_eq!(site.codes().len(), 1, "no second finding: {:?}", site.codes());
    }
}

#[test]
fn an_invalid_selector_does_not_blind_the_others() {
    let broken = pool("broken", "{matchExpressions: [{key: a, operator: Near}]}");
    let site = read(
        &(broken + &role_pool("infra") + &node("w1", "{metadata: {owner_data: {node-role.kubernetes.io/infra: ''}}}")),
    );
    assert_eq!(site.pool("w1").as_deref(), Some("infra"));
    assert_eq!(site.codes(), ["invalid-selector 5"]);
}

#[test]
fn nodes_without_a_pool_are_named_unless_windows_or_without_pools() {
    assert_eq!(read(&(role_pool("infra") + &node("w1", "{}"))).codes(), ["no-pool 8"]);
    assert_eq!(read(&node("w1", "{}")).codes(), Vec::<String>::new());
    let windows = node("w1", "{metadata: {owner_data: {kubernetes.io/os: windows}}}");
    assert_eq!(read(&(role_pool("infra") + &windows)).codes(), ["kubelet-label 9"]);
}

#[test]
fn unknown_names_are_reported_with_the_nearest() {
    let site = read(&(role_pool("infra") + &pinned("w1", "infr", "{host_profile: gone, metadata: {rack: r9}}")));
    assert_eq!(site.codes(), ["unknown-pool 8", "unknown-profile 9", "unknown-rack 9"]);
}

#[test]
fn the_route_follows_the_flavour() {
    let site = read(&(role_pool("worker") + &pinned("w1", "worker", "{metadata: {owner_data: {example.com/a: b}}}")));
    for (flavour, key, route) in [
        (Flavour::Upstream, "node-role.kubernetes.io/worker", Route::Preregister),
        (Flavour::Openshift, "node-role.kubernetes.io/worker", Route::Boot),
        (Flavour::Upstream, "example.com/a", Route::Boot),
    ] {
        assert_eq!(
            site.resolve_as("w1", flavour).label(key).unwrap().route,
            route,
            "{flavour} {key}"
        );
    }
}

#[test]
fn observed_nodes_without_a_document_get_what_rules_say() {
    let text = role_pool("infra")
        + &rule("r", "{match: {namePatterns: ['seen']}, labels: {example.com/a: b}}")
        + "---\napiVersion: v1\nkind: Node\nmetadata: {name: seen, labels: {node-role.kubernetes.io/infra: '', odd key: x}}\n";
    let site = read(&text);
    assert_eq!(site.pool("seen").as_deref(), Some("infra"), "the live labels decide");
    let label = site.resolve("seen").label("example.com/a").unwrap().clone();
    assert_eq!(label.route, Route::Live);
    assert_eq!(site.codes(), Vec::<String>::new());
}

#[test]
fn one_machine_has_one_berth_and_a_released_one_none() {
    assert_eq!(
        read(&(berth("a", "{nodeName: w1}") + &berth("b", "{nodeName: w1}"))).codes(),
        ["duplicate-berth 10"]
    );
    let released = read(&(berth("a", "{nodeName: w1, labels: {k: a}, release: true}") + &berth("b", "{nodeName: w1}")));
    assert_eq!(released.codes(), Vec::<String>::new());
    assert_eq!(released.labels("w1"), Vec::<String>::new());
}

#[test]
fn a_selector_that_cannot_be_read_whole_selects_nothing() {
    let gpu = pool("gpu", "{matchLabels: {gpu: true, role: compute}}");
    let site = read(&(gpu + &node("w1", "{metadata: {owner_data: {role: compute}}}")));
    assert_eq!(
        site.pool("w1"),
        None,
        "without the part that is wrong it would select more"
    );
    assert_eq!(site.codes(), ["wrong-type 5", "no-pool 8"]);
}

#[test]
fn a_max_unavailable_must_mean_something() {
    for (value, code) in [
        ("1", None),
        ("10", None),
        ("10%", None),
        ("'100%'", None),
        ("0", Some("zero-max-unavailable 5")),
        ("0%", Some("zero-max-unavailable 5")),
        ("-1", Some("invalid-max-unavailable 5")),
        ("'5'", Some("invalid-max-unavailable 5")),
        ("'5 %'", Some("invalid-max-unavailable 5")),
        ("101%", Some("invalid-max-unavailable 5")),
        ("1.5", Some("invalid-max-unavailable 5")),
        ("[1]", Some("invalid-max-unavailable 5")),
    ] {
        let text = role_pool("worker").replace("spec: {", &format!("spec: {{maxUnavailable: {value}, "));
        assert_eq!(read(&text).codes().first().map(String::as_str), code, "{value}");
    }
}

#[test]
fn nobody_can_be_pinned_to_a_pool_that_selects_no_node() {
    let site = read(&(pool("cc", "{}") + &pinned("w1", "cc", "{}")));
    assert_eq!(site.codes(), ["empty-selector 5", "pool-mismatch 8"]);
    assert_eq!(
        site.message("pool-mismatch"),
        "node `w1` should be in pool `cc`, but that pool selects no node"
    );
}

#[test]
fn a_record_of_owned_labels_that_cannot_be_read_is_said() {
    for (text, codes) in [("{}", 0), ("[\"a\"]", 0), ("not json", 1), ("{\"a\": 1}", 1)] {
        let node = format!(
            "apiVersion: v1\nkind: Node\nmetadata: {{name: w1, annotations: {{berth.dev/owned-labels: '{text}'}}}}\n"
        );
        assert_eq!(read(&node).codes().len(), codes, "{text}");
    }
}

#[test]
fn a_custom_pool_can_be_closed_and_a_built_in_one_cannot() {
    let closed = |name: &str, value: &str| {
        role_pool(name).replacen(
            &format!("name: {name}"),
            &format!("name: {name}, annotations: {{berth.dev/reserved-only: {value}}}"),
            1,
        )
    };
    let text = [
        ("infra", "'true'"),
        ("edge", "'false'"),
        ("vault", "'yes'"),
        ("worker", "'true'"),
    ];
    let site = read(&text.map(|(name, value)| closed(name, value)).concat());
    let found: Vec<bool> = site.site.pools.iter().map(|pool| pool.reserved_only).collect();
    assert_eq!(found, [true, false, false, false]);
    let messages: Vec<&str> = site.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`berth.dev/reserved-only` cannot be `yes`",
            "the built-in pool `worker` cannot be reserved-only: any machine may register in it",
        ]
    );
    assert!(site.findings.iter().all(|finding| finding.code() == "invalid-value"));
}
