//! What the API server does with Nodes that kubelets create: scenarios with real kubelet identities.

use std::time::Duration;

use berth_cluster::admission::{CLAIMS_POLICY, LABELS_POLICY};
use berth_resources::{LabelRule, Roster};
use berth_testing::{Credentials, Identity, Kubelet, KubeletOptions};
use k8s_openapi::api::{
    admissionregistration::v1::{ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding},
    core::v1::Node,
};
use kube::{
    Api, ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use crate::support::{Cluster, INFRA, Needs, from_json, has, is_filled, lacks, on_both};

mod alike;

on_both! {
    Needs::NOTHING;
    machines_without_a_berth_get_their_labels_and_nobody_claims_anothers_pool,
}

fn rule(name: &str, spec: &Value) -> LabelRule {
    from_json(json!({
        "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": name}, "spec": spec,
    }))
}

/// Creates a Node as the kubelet of that name, with NodeRestriction and the Node authorizer in the way.
async fn register(cluster: &Cluster, name: &str, labels: Value) -> Result<Node, kube::Error> {
    let client = cluster.client_of(&Identity::kubelet(name)).await;
    let node: Node = from_json(json!({"metadata": {"name": name, "labels": labels}}));
    Api::<Node>::all(client).create(&PostParams::default(), &node).await
}

/// Registers until the API server has taken up the policies, which it does a moment after they are created.
async fn register_until(
    cluster: &Cluster,
    prefix: &str,
    labels: Value,
    fits: impl Fn(&Result<Node, kube::Error>) -> bool,
) -> Result<Node, kube::Error> {
    let mut last = None;
    for attempt in 0..600 {
        let name = format!("{prefix}{attempt}");
        let result = register(cluster, &name, labels.clone()).await;
        if fits(&result) {
            return result;
        }
        last = Some(result);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("never as it should be; the last was {last:#?}")
}

fn refusal(result: Result<Node, kube::Error>) -> String {
    match result {
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 403, "{status:?}");
            status.message
        }
        other => panic!("refused: {other:?}"),
    }
}

async fn give_rules(cluster: &Cluster) {
    let rules: Api<LabelRule> = cluster.api();
    for (name, spec) in [
        (
            "site",
            json!({
                "match": {"namePatterns": ["(?<site>[a-z]+)-(?<kind>[a-z])(?<number>[0-9]+)"]},
                "tables": {"sites": {"atl": "atlanta", "chi": "chicago"}, "kinds": {"w": "worker", "*": "other"}},
                "labels": {
                    "example.com/site": "${site | sites}", "example.com/kind": "${kind | kinds}",
                    "example.com/number": "n${number}", "example.com/name": "${node.hostname | upper}",
                },
            }),
        ),
        (
            "clli",
            json!({
                "match": {"namePatterns": ["[a-z]{8}w[0-9]{2}"]}, "clli": "hostname",
                "labels": {"example.com/place": "${clli.place}", "example.com/building": "${clli.site}",
                    "example.com/entity": "${clli.entity}", "example.com/form": "${clli.form}"},
            }),
        ),
        // A role is nothing that a policy may add; the rest of the rule holds.
        (
            "roles",
            json!({"match": {"namePatterns": [".*-i[0-9]+"]}, "labels": {INFRA: "", "example.com/infra": "yes"}}),
        ),
        (
            "gold",
            json!({"match": {"namePatterns": ["gold-[0-9]+"]}, "pool": "gold"}),
        ),
        (
            "by-pool",
            json!({"match": {"pools": ["gold"]}, "labels": {"example.com/by-pool": "it's gold".replace(['\'', ' '], "-")}}),
        ),
        (
            "weak",
            json!({"priority": -1, "match": {"namePatterns": [".*"]}, "labels": {"example.com/kind": "any"}}),
        ),
    ] {
        rules
            .create(&PostParams::default(), &rule(name, &spec))
            .await
            .expect("a rule");
    }
}

async fn strangers_get_what_rules_give(cluster: &Cluster) {
    // Scenario 3: what the create answers is what the kubelet's own request carried.
    let node = register_until(cluster, "atl-w", json!({"example.com/kind": "stale"}), |result| {
        result
            .as_ref()
            .is_ok_and(|node| has(node, "example.com/site", "atlanta"))
    })
    .await
    .expect("a Node");
    let number = node.name_any().trim_start_matches("atl-w").to_owned();
    assert!(has(&node, "example.com/kind", "worker"), "{:?}", node.labels());
    assert!(
        has(&node, "example.com/number", &format!("n{number}")),
        "{:?}",
        node.labels()
    );
    assert!(
        has(&node, "example.com/name", &format!("ATL-W{number}")),
        "{:?}",
        node.labels()
    );
    let node = register(cluster, "atlngamaw01", Value::Null).await.expect("a Node");
    for (key, value) in [
        ("place", "atln"),
        ("building", "ma"),
        ("entity", "w01"),
        ("form", "building"),
        ("kind", "any"),
    ] {
        assert!(
            has(&node, &format!("example.com/{key}"), value),
            "{key}: {:?}",
            node.labels()
        );
    }
    let node = register(cluster, "xyz-i7", json!({}))
        .await
        .expect("a Node without the role");
    assert!(has(&node, "example.com/infra", "yes") && lacks(&node, INFRA));
    assert!(lacks(&node, "example.com/site"), "a code that no table has");
    let node = register(cluster, "gold-5", json!({"example.com/tier": "gold"}))
        .await
        .expect("its own pool");
    assert!(has(&node, "example.com/tier", "gold") && has(&node, "example.com/fast", "yes"));
    assert!(has(&node, "example.com/by-pool", "it-s-gold"));
    // A machine with a Berth gets its labels with its place, not by rules for strangers.
    cluster
        .seen::<Roster>("places", "listed the Berth", |roster| {
            roster.spec.places.contains_key("reserved")
        })
        .await;
    let mut seen = register(cluster, "reserved", json!({})).await.expect("a Node");
    for _ in 0..100 {
        if lacks(&seen, "example.com/kind") {
            break;
        }
        // The API server reads the roster a moment later.
        cluster.delete_node("reserved").await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        seen = register(cluster, "reserved", json!({})).await.expect("a Node");
    }
    assert!(lacks(&seen, "example.com/kind"), "{:?}", seen.labels());
}

async fn claims_are_refused(cluster: &Cluster) {
    // Scenario 4: another pool's labels are refused with a clear text, on create and on update.
    let text = refusal(register_until(cluster, "thief-", json!({"example.com/tier": "gold"}), Result::is_err).await);
    assert!(
        text.contains("claims the labels of pool gold, which is not reserved for it; correct its --node-labels"),
        "{text}"
    );
    let text = refusal(register(cluster, "reserved2", json!({"example.com/tier": "gold"})).await);
    assert!(text.contains("node reserved2 claims"), "{text}");
    let client = cluster.client_of(&Identity::kubelet("xyz-i7")).await;
    let patch = Patch::Merge(json!({"metadata": {"labels": {"example.com/tier": "gold"}}}));
    let updated = Api::<Node>::all(client)
        .patch("xyz-i7", &PatchParams::default(), &patch)
        .await;
    assert!(refusal(updated).contains("node xyz-i7 claims the labels of pool gold"));
    // What was there before the kubelet came is not its claim, and administrators may do as they like.
    cluster.label("xyz-i7", json!({"example.com/tier": "gold"})).await;
    let client = cluster.client_of(&Identity::kubelet("xyz-i7")).await;
    let patch = Patch::Merge(json!({"metadata": {"labels": {"example.com/other": "1"}}}));
    Api::<Node>::all(client)
        .patch("xyz-i7", &PatchParams::default(), &patch)
        .await
        .expect("its own business");
}

/// Evaluating what a kubelet sends would cost too much, and what cannot be evaluated is let in.
async fn a_kubelet_cannot_make_its_claim_too_costly_to_judge(cluster: &Cluster) {
    let many = |count: usize| -> serde_json::Map<String, Value> {
        (0..count)
            .map(|index| (format!("example.com/x{index}"), json!("")))
            .collect()
    };
    let mut labels = many(20_000);
    labels.insert("example.com/tier".to_owned(), json!("gold"));
    let text = refusal(register(cluster, "heavy", Value::Object(labels)).await);
    assert!(text.contains("more than 1000 labels"), "{text}");
    let mut labels = many(900);
    labels.insert("example.com/tier".to_owned(), json!("gold"));
    let text = refusal(register(cluster, "heavy", Value::Object(labels)).await);
    assert!(text.contains("claims the labels of pool gold"), "{text}");
    let client = cluster.client_of(&Identity::kubelet("heavy")).await;
    for (count, words) in [
        (9_000, "more than 1000 annotations"),
        (900, "annotations that begin with berth.dev/"),
    ] {
        let mut annotations = many(count);
        annotations.insert("berth.dev/pool".to_owned(), json!("gold"));
        let node: Node = from_json(json!({"metadata": {"name": "heavy", "annotations": annotations}}));
        let text = refusal(
            Api::<Node>::all(client.clone())
                .create(&PostParams::default(), &node)
                .await,
        );
        assert!(text.contains(words), "{text}");
    }
}

/// Whoever deletes the roster takes away what is known about places, and nothing else.
async fn notes_are_berths_without_a_roster(cluster: &Cluster) {
    let rosters: Api<Roster> = cluster.api();
    rosters
        .delete("places", &DeleteParams::default())
        .await
        .expect("deleted");
    let client = cluster.client_of(&Identity::kubelet("unlisted")).await;
    let node: Node = from_json(json!({"metadata": {"name": "unlisted", "annotations": {"berth.dev/pool": "gold"}}}));
    for _ in 0..20 {
        let text = refusal(
            Api::<Node>::all(client.clone())
                .create(&PostParams::default(), &node)
                .await,
        );
        assert!(text.contains("annotations that begin with berth.dev/"), "{text}");
        // The API server takes a moment to see that the roster is gone.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

async fn a_real_kubelet_has_them_at_once(cluster: &Cluster) {
    // A real kubelet: its first version already has the rule's labels.
    if let Some((programs, plane)) = cluster.real()
        && Kubelet::possible_for_test()
    {
        let history = cluster.history().await;
        let options = KubeletOptions {
            node: "chi-w900".to_owned(),
            credentials: Credentials::Certificate,
            node_labels: "example.com/kind=stale".to_owned(),
            arguments: Vec::new(),
        };
        let _kubelet = Kubelet::start(programs, plane, options).await.expect("a kubelet");
        cluster
            .node_with("chi-w900", "was filled by its kubelet", is_filled)
            .await;
        for node in history.of("chi-w900") {
            assert!(
                has(&node, "example.com/site", "chicago") && has(&node, "example.com/kind", "worker"),
                "{:?}",
                node.labels()
            );
        }
    }
}

async fn machines_without_a_berth_get_their_labels_and_nobody_claims_anothers_pool(cluster: &mut Cluster) {
    let rules: Api<LabelRule> = cluster.api();
    cluster
        .reserved_pool_of("gold", json!({"example.com/tier": "gold"}), "example.com/fast=yes")
        .await;

    // A rule that promises a role to strangers is not taken at all.
    let promise = json!({"match": {"namePatterns": [".*"]}, "admission": "required", "labels": {INFRA: ""}});
    let error = rules
        .create(&PostParams::default(), &rule("promise", &promise))
        .await
        .expect_err("refused");
    assert!(error.to_string().contains("not-at-admission"), "{error}");

    give_rules(cluster).await;
    // Adoption is off, so that only admission can have set what is on a Node when its create returns.
    let controllers = cluster.controllers(|options| options.adopt = false);
    cluster.berth("reserved", json!({"pool": "infra"})).await;

    strangers_get_what_rules_give(cluster).await;
    claims_are_refused(cluster).await;
    a_kubelet_cannot_make_its_claim_too_costly_to_judge(cluster).await;
    alike::policies_and_webhook_answer_alike(cluster).await;

    // The policies follow the rules and pools.
    let claims: Api<ValidatingAdmissionPolicy> = cluster.api();
    let before = claims.get(CLAIMS_POLICY).await.expect("a policy").metadata.generation;
    cluster
        .pool_of("silver", json!({"example.com/tier": "silver"}), "")
        .await;
    cluster
        .seen::<ValidatingAdmissionPolicy>(CLAIMS_POLICY, "followed", |policy| policy.metadata.generation > before)
        .await;
    let bindings: Api<ValidatingAdmissionPolicyBinding> = cluster.api();
    assert!(bindings.get_opt(CLAIMS_POLICY).await.expect("an answer").is_some());

    a_real_kubelet_has_them_at_once(cluster).await;
    notes_are_berths_without_a_roster(cluster).await;

    // Without rules there is nothing to add.
    for rule in rules.list(&kube::api::ListParams::default()).await.expect("rules") {
        rules
            .delete(&rule.name_any(), &DeleteParams::default())
            .await
            .expect("deleted");
    }
    let policy = format!("/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies/{LABELS_POLICY}");
    for attempt in 0.. {
        let request = http::Request::get(&policy).body(Vec::new()).expect("a request");
        match cluster.client.request_text(request).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => break,
            found => assert!(attempt < 600, "the policy of no rules stays: {found:?}"),
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    controllers.stop().await;
}
