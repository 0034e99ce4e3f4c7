//! Plans: declared against observed.

use berth_decide::{LabelPolicy, NodePlan, Plan, Presence, Strategy, plan};
use berth_documents::Sources;
use berth_labels::{ConflictPolicy, Flavour};
use berth_site::{Resolver, load};

fn node(name: &str, data: &str) -> String {
    format!(
        "---\nschema: drydock/BaremetalNode/v1\nmetadata: {{schema: metadata/Document/v1, name: {name}, storagePolicy: cleartext}}\ndata: {data}\n"
    )
}

fn pinned(name: &str, pool: &str, labels: &str) -> String {
    format!(
        "---\napiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {{name: {name}}}\nspec: {{pool: {pool}, labels: {labels}}}\n"
    )
}

fn role_pool(name: &str) -> String {
    format!(
        "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {{name: {name}}}\nspec: {{nodeSelector: {{matchLabels: {{node-role.kubernetes.io/{name}: ''}}}}}}\n"
    )
}

fn observed(name: &str, labels: &str, owned: &str) -> String {
    format!(
        "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels: {labels}\n  annotations: {{berth.dev/owned-labels: '{owned}'}}\n"
    )
}

fn plan_of(text: &str, strategy: Strategy) -> Plan {
    plan_with(text, strategy, &LabelPolicy::default())
}

fn plan_with(text: &str, strategy: Strategy, policy: &LabelPolicy) -> Plan {
    let mut sources = Sources::new();
    let id = sources.add("site.yaml", text);
    let parsed = berth_documents::parse(&sources, id);
    let (site, _) = load(&sources, &parsed.documents);
    let resolver = Resolver::new(&site, Flavour::Upstream);
    plan(&resolver, &resolver.resolve_all(), strategy, policy)
}

const OWNED: Strategy = Strategy::Owned;

fn only(plan: &Plan) -> &NodePlan {
    assert_eq!(plan.nodes.len(), 1);
    &plan.nodes[0]
}

#[test]
fn only_what_berth_set_is_changed_or_removed() {
    let text = node(
        "w1",
        "{metadata: {owner_data: {new: a, same: b, moved: c, foreign: d}}}",
    ) + &observed(
        "w1",
        "{same: b, moved: old, foreign: theirs, gone: x, taken: theirs, other: o}",
        r#"{"moved":"old","gone":"x","taken":"ours"}"#,
    );
    let plan = plan_of(&text, OWNED);
    let node = only(&plan);
    let set: Vec<String> = node.set.iter().map(|(key, value)| format!("{key}={value}")).collect();
    assert_eq!(set, ["moved=c", "new=a"]);
    assert_eq!(node.changed.iter().collect::<Vec<_>>(), ["moved"]);
    assert_eq!(node.remove.iter().collect::<Vec<_>>(), ["gone"]);
    assert_eq!(node.keep.iter().collect::<Vec<_>>(), ["other", "same"]);
    let conflicts: Vec<&str> = node.conflicts.iter().map(|conflict| conflict.key.as_str()).collect();
    assert_eq!(conflicts, ["foreign", "taken"]);
    assert_eq!(
        (
            plan.totals.set,
            plan.totals.changed,
            plan.totals.removed,
            plan.totals.conflicts
        ),
        (1, 1, 1, 2)
    );
    assert_eq!(plan.totals.owned, 3);
    assert!(plan.totals.is_mass_removal(), "one of three owned labels");

    let policy = LabelPolicy {
        conflicts: ConflictPolicy::TakeOver,
        ..LabelPolicy::default()
    };
    let takeover = plan_with(&text, OWNED, &policy);
    assert_eq!(only(&takeover).set.get("foreign").map(String::as_str), Some("d"));
}

#[test]
fn promenade_removes_what_is_not_declared() {
    let text = node("w1", "{metadata: {owner_data: {x: '2'}}}")
        + &observed(
            "w1",
            "{x: '1', old: gone, kubernetes.io/hostname: w1, machineconfiguration.openshift.io/role: w}",
            "{}",
        )
        + &observed("stranger", "{a: b}", "{}");
    let plan = plan_of(&text, Strategy::Promenade);
    let [stranger, node] = plan.nodes.as_slice() else {
        panic!("{:?}", plan.nodes)
    };
    assert_eq!(node.set.get("x").map(String::as_str), Some("2"));
    assert_eq!(node.remove.iter().collect::<Vec<_>>(), ["old"]);
    let known = ["kubernetes.io/hostname", "machineconfiguration.openshift.io/role"];
    assert_eq!(node.keep.iter().collect::<Vec<_>>(), known);
    assert!(
        stranger.set.is_empty() && stranger.remove.is_empty(),
        "a node that nobody declared is left alone"
    );
}

#[test]
fn moves_between_pools_and_their_cost() {
    let pools = role_pool("worker") + &role_pool("infra");
    let role = |role: &str| format!("node-role.kubernetes.io/{role}");
    let move_it = |owned: &str| {
        plan_of(
            &(pools.clone()
                + &pinned("w1", "infra", "{}")
                + &observed("w1", &format!("{{{}: ''}}", role("worker")), owned)),
            OWNED,
        )
    };
    let moved = move_it(&format!(r#"{{"{}":""}}"#, role("worker")));
    let node = only(&moved);
    assert_eq!(
        (node.pool_before.as_deref(), node.pool_after.as_deref()),
        (Some("worker"), Some("infra"))
    );
    assert!(node.reboot.needed);
    assert_eq!(node.reboot.reason, "moves from pool worker to pool infra");
    assert_eq!((moved.totals.moves, moved.totals.reboots), (1, 1));
    assert!(node.remove.contains(&role("worker")));

    let config = "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata: {name: c, labels: {role: any}}\nspec: {}\n";
    let same: String = ["worker", "infra"]
        .iter()
        .map(|name| role_pool(name).replace("spec: {", "spec: {machineConfigSelector: {matchLabels: {role: any}}, "))
        .collect();
    let free = plan_of(
        &(same + config + &pinned("w1", "infra", "{}") + &observed("w1", &format!("{{{}: ''}}", role("worker")), "{}")),
        OWNED,
    );
    assert!(!only(&free).reboot.needed, "{:?}", only(&free).reboot);
    assert_eq!(
        only(&free).reboot.reason,
        "moves from pool worker to pool infra: nothing in their configurations differs that needs a reboot"
    );

    let awaited = plan_of(&(pools.clone() + &pinned("w1", "infra", "{}")), OWNED);
    assert_eq!(only(&awaited).presence, Presence::Awaited);
    assert_eq!(
        only(&awaited).reboot.reason,
        "not registered yet: it boots straight into pool infra"
    );
    assert_eq!(awaited.totals.moves, 0);

    let stuck = plan_of(
        &(pools
            + &role_pool("storage")
            + &pinned("w1", "infra", "{}")
            + &observed("w1", &format!("{{{}: ''}}", role("storage")), "{}")),
        OWNED,
    );
    assert_eq!(
        only(&stuck).reboot.reason,
        "node w1 belongs to 2 custom roles, cannot proceed with this Node"
    );
}

#[test]
fn what_the_berth_did_not_write_is_not_berths_whatever_the_node_says() {
    let berth = |status: &str| {
        format!(
            "---\napiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {{name: b1}}\nspec: {{nodeName: w1, labels: {{new: a}}}}\n{status}"
        )
    };
    let node = observed(
        "w1",
        "{mine: x, moved: old, forged: q}",
        r#"{"mine":"x","moved":"old","forged":"q"}"#,
    );
    let removed = |status: &str| {
        let plan = plan_of(&(berth(status) + &node), OWNED);
        let removed: Vec<String> = only(&plan).remove.iter().cloned().collect();
        (removed, plan.totals.owned)
    };
    let status = "status: {labels: {mine: x, moved: newer, other: z}, earlierLabels: {moved: [older, old]}}\n";
    assert_eq!(removed(status), (vec!["mine".to_owned(), "moved".to_owned()], 2));
    assert_eq!(removed("status: {phase: Occupied}\n"), (Vec::new(), 0));
    // What an administrator removed on purpose is not set again.
    let plan = plan_of(&(berth("status: {removedLabels: {new: a}}\n") + &node), OWNED);
    assert!(only(&plan).set.is_empty(), "{:?}", only(&plan).set);
    // Without a status nobody can tell.
    assert_eq!(removed("").1, 3);
}

#[test]
fn what_the_new_pools_kubelet_registers_too_is_not_removed() {
    let unit = "[Service]\\nExecStart=/usr/bin/kubelet --node-labels=node-role.kubernetes.io/worker,zone=a\\n";
    let config = |role: &str, unit: &str| {
        format!(
            "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 01-{role}\n  labels: {{machineconfiguration.openshift.io/role: {role}}}\nspec:\n  config:\n    ignition: {{version: 3.4.0}}\n    systemd:\n      units: [{{name: kubelet.service, contents: \"{unit}\"}}]\n"
        )
    };
    let role = "node-role.kubernetes.io";
    let plan_of = |extra: &str| {
        let text = pinned("w1", "infra", "{}")
            + &role_pool("worker")
            + "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {name: infra}\nspec:\n  machineConfigSelector: {matchExpressions: [{key: machineconfiguration.openshift.io/role, operator: In, values: [worker, infra]}]}\n  nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ''}}\n"
            + extra
            + &observed(
                "w1",
                &format!("{{{role}/worker: '', zone: a, tier: gold}}"),
                &format!(r#"{{"{role}/worker":"","zone":"a","tier":"gold"}}"#),
            );
        let mut sources = Sources::new();
        let id = sources.add("site.yaml", &*text);
        let parsed = berth_documents::parse(&sources, id);
        let (site, _) = load(&sources, &parsed.documents);
        let resolver = Resolver::new(&site, Flavour::Openshift);
        let plan = plan(&resolver, &resolver.resolve_all(), OWNED, &LabelPolicy::default());
        let node = only(&plan);
        assert_eq!(node.pool_after.as_deref(), Some("infra"), "{extra}");
        node.remove.iter().cloned().collect::<Vec<_>>()
    };
    let worker = format!("{role}/worker");
    assert_eq!(plan_of(&config("worker", unit)), ["tier"]);
    assert_eq!(plan_of(""), [&worker, "tier", "zone"], "nothing is known of its unit");
    let other = "[Service]\\nExecStart=/usr/bin/kubelet --node-labels=zone=b\\n";
    assert_eq!(
        plan_of(&(config("worker", unit) + &config("infra", other))),
        [&worker, "tier", "zone"],
        "the new pool's kubelet registers others"
    );
}
