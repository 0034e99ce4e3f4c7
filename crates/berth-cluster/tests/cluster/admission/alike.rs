//! Policies and webhook are two ways to one answer: each request of a table is sent to the API server, which has the policies,
//! and put to the webhook.

use std::{collections::BTreeMap, time::Duration};

use berth_cluster::admission::{CLAIMS_POLICY, MUTATE_PATH, NOTES_POLICY, VALIDATE_PATH, Webhook};
use berth_labels::Flavour;
use berth_resources::{Berth, LabelRule, MachineConfigPool, Roster};
use berth_testing::Identity;
use k8s_openapi::{ByteString, api::core::v1::Node};
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::support::{Cluster, from_json};

type Labels = BTreeMap<String, String>;
/// The labels that come in, or the refusal.
type Verdict = Result<Labels, String>;

/// How labels reach a Node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Create,
    Update,
    Status,
}

fn labels_of(value: &Value) -> Labels {
    serde_json::from_value(value["metadata"]["labels"].clone()).unwrap_or_default()
}

fn verdict(answer: Result<Node, kube::Error>) -> Verdict {
    match answer {
        Ok(node) => Ok(node.metadata.labels.unwrap_or_default()),
        Err(kube::Error::Api(status)) => {
            // The API server says whose refusal it is before the refusal.
            let (whose, why) = status
                .message
                .split_once("denied request: ")
                .expect("a policy's refusal");
            let ours = [CLAIMS_POLICY, NOTES_POLICY];
            assert!(ours.iter().any(|policy| whose.contains(policy)), "{status:?}");
            Err(why.to_owned())
        }
        Err(error) => panic!("{error}"),
    }
}

/// What the API server says with the policies. Nothing is kept.
async fn by_policies(client: &Client, way: Way, node: &Value) -> Verdict {
    let api: Api<Node> = Api::all(client.clone());
    let name = node["metadata"]["name"].as_str().expect("a name");
    let parameters = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    let patch = Patch::Merge(json!({"metadata": {"labels": node["metadata"]["labels"]}}));
    verdict(match way {
        Way::Create => {
            let parameters = PostParams {
                dry_run: true,
                ..PostParams::default()
            };
            api.create(&parameters, &from_json(node.clone())).await
        }
        Way::Update => api.patch(name, &parameters, &patch).await,
        Way::Status => api.patch_status(name, &parameters, &patch).await,
    })
}

/// What the webhook says to both questions of the API server.
async fn by_webhook(webhook: &Webhook, way: Way, node: &Value, before: Option<&Value>) -> Verdict {
    let name = node["metadata"]["name"].as_str().expect("a name");
    let mut node = node.clone();
    let mut reviews = Vec::new();
    for path in [MUTATE_PATH, VALIDATE_PATH] {
        let review = json!({"request": {
            "uid": "u", "dryRun": true, "kind": {"group": "", "version": "v1", "kind": "Node"},
            "operation": if way == Way::Create { "CREATE" } else { "UPDATE" },
            "userInfo": {"username": format!("system:node:{name}"), "groups": ["system:nodes"]},
            "object": node, "oldObject": before,
        }});
        let answer = webhook
            .answer(path, review.to_string().as_bytes())
            .await
            .expect("an answer");
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        if let Some(patch) = answer.pointer("/response/patch") {
            let encoded: ByteString = from_json(patch.clone());
            let steps: Vec<Value> = serde_json::from_slice(&encoded.0).expect("a patch");
            for step in steps {
                let target = step["path"].as_str().expect("a path");
                if let Some(key) = target.strip_prefix("/metadata/labels/") {
                    let key = key.replace("~1", "/").replace("~0", "~");
                    node["metadata"]["labels"][key] = step["value"].clone();
                }
            }
        }
        reviews.push(answer);
    }
    let last = reviews.pop().unwrap_or_default();
    if last["response"]["allowed"] == true {
        Ok(labels_of(&node))
    } else {
        Err(last["response"]["status"]["message"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    }
}

/// Asks both until they agree: the API server takes up policies and places a moment after they are written.
async fn agreed(cluster: &Cluster, webhook: &Webhook, way: Way, node: &Value, before: Option<&Value>) -> Verdict {
    let name = node["metadata"]["name"].as_str().expect("a name");
    let client = cluster.client_of(&Identity::kubelet(name)).await;
    let mut last = None;
    for _ in 0..100 {
        let policies = by_policies(&client, way, node).await;
        let hook = by_webhook(webhook, way, node, before).await;
        if policies == hook {
            return policies;
        }
        last = Some((policies, hook));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{way:?} {node} after {before:?}: (policies, webhook) {last:#?}")
}

async fn prepare(cluster: &Cluster) {
    let expressions = json!([
        {"key": "example.com/metal", "operator": "In", "values": ["bronze", "tin"]},
        {"key": "example.com/scrap", "operator": "DoesNotExist"},
        {"key": "example.com/melted", "operator": "Exists"},
        {"key": "example.com/grade", "operator": "NotIn", "values": ["low"]},
    ]);
    let pool: MachineConfigPool = from_json(json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
        "metadata": {"name": "bronze", "annotations": {"berth.dev/reserved-only": "true"}}, "spec": {"nodeSelector": {"matchExpressions": expressions}},
    }));
    let pools: Api<MachineConfigPool> = cluster.api();
    pools.create(&PostParams::default(), &pool).await.expect("a pool");
    // Rules that give the labels of a pool without naming it: one rule all of them, or each a part; as text or by template.
    let rules: Api<LabelRule> = cluster.api();
    for (name, spec) in [
        (
            "melts",
            json!({"match": {"namePatterns": ["melter-.*"]},
                "labels": {"example.com/metal": "tin", "example.com/melted": "yes"}}),
        ),
        (
            "silvers",
            json!({"match": {"namePatterns": ["(?<metal>silver|lead)-.*"]}, "labels": {"example.com/vein": "${metal}"}}),
        ),
        (
            "tins",
            json!({"match": {"namePatterns": [".*-tin"]}, "labels": {"example.com/metal": "tin"}}),
        ),
        (
            "grades",
            json!({"match": {"namePatterns": ["low-.*"]}, "labels": {"example.com/grade": "low"}}),
        ),
        (
            "heats",
            json!({"match": {"namePatterns": ["(hot|low)-.*"]}, "labels": {"example.com/melted": "yes"}}),
        ),
    ] {
        rules
            .create(&PostParams::default(), &super::rule(name, &spec))
            .await
            .expect("a rule");
    }
    cluster
        .reserved_pool_of("vein", json!({"example.com/vein": "silver"}), "")
        .await;
    cluster.pool_of("open", json!({"example.com/open": "yes"}), "").await;
    cluster
        .reserved_pool_of(
            "edge",
            json!({"example.com/edge": ""}),
            "example.com/zone=blue,example.com/fast=yes",
        )
        .await;
    // It had a place in the pool edge before.
    cluster.berth("moved", json!({"pool": "infra"})).await;
    cluster
        .seen::<Berth>("moved", "was reserved", |berth| berth.status.is_some())
        .await;
    let had = json!({"example.com/edge": "", "example.com/zone": "blue"});
    let had = Patch::Merge(json!({"status": {"retiredLabels": had}}));
    let berths: Api<Berth> = cluster.api();
    berths
        .patch_status("moved", &PatchParams::default(), &had)
        .await
        .expect("a memory");
    cluster
        .berth(
            "excepted",
            json!({"pool": "infra", "labels": {"example.com/zone": "blue"}}),
        )
        .await;
    cluster.berth("golden", json!({"pool": "gold"})).await;
    cluster.berth("placed", json!({"pool": "infra"})).await;
    cluster.berth("let-go", json!({"pool": "gold", "release": true})).await;
    cluster
        .berth("by-node-name", json!({"pool": "gold", "nodeName": "elsewhere"}))
        .await;
    cluster.berth("gold-77", json!({})).await;
    cluster
        .seen::<Roster>("places", "listed the Berths", |roster| {
            let places = &roster.spec.places;
            places.get("golden").is_some_and(|pool| pool == "gold")
                && places.contains_key("placed")
                && roster
                    .spec
                    .registrable
                    .get("moved")
                    .is_some_and(|labels| labels.len() == 2)
                && places.get("elsewhere").is_some_and(|pool| pool == "gold")
                && places.get("gold-77").is_some_and(|pool| pool == "gold")
                && roster
                    .spec
                    .labels
                    .get("excepted")
                    .is_some_and(|labels| labels == &["example.com/zone=blue"])
        })
        .await;
    cluster
        .seen::<Berth>("let-go", "was released", |berth| berth.status.is_some())
        .await;
}

pub(super) async fn policies_and_webhook_answer_alike(cluster: &Cluster) {
    prepare(cluster).await;
    let (webhook, watching) = Webhook::new(&cluster.client, || Flavour::Upstream);
    let _watching = AbortOnDropHandle::new(tokio::spawn(watching));
    let claims = [
        json!({}),
        json!({"example.com/tier": "gold"}),
        json!({"example.com/tier": "gold", "example.com/kind": "stale", "example.com/own": "1"}),
        json!({"example.com/tier": "tin"}),
        json!({"example.com/metal": "tin", "example.com/melted": ""}),
        json!({"example.com/metal": "tin", "example.com/melted": "", "example.com/scrap": ""}),
        json!({"example.com/metal": "tin", "example.com/melted": "", "example.com/grade": "low"}),
        json!({"example.com/metal": "tin", "example.com/melted": "", "example.com/tier": "gold"}),
        json!({"example.com/vein": "silver"}),
        json!({"example.com/open": "yes"}),
    ];
    let strangers = [
        "atl-w1001",
        "chi-x22",
        "nyc-w3",
        "atl-w4.example.com",
        "chi-x5.chi-w6",
        "smyrgaear01",
        "atlngamaw02",
        "xyz-i9",
        "gold-8",
        "gold-8.example.com",
        "goldfish",
        "melter-1",
        "silver-1",
        "lead-1",
        "hot-tin",
        "low-tin",
        "cold-tin",
        "let-go",
        "by-node-name",
        "9",
    ];
    let (mut taken, mut refused, mut changed) = (0, 0, 0);
    for name in strangers {
        for labels in &claims {
            let node = json!({"metadata": {"name": name, "labels": labels}});
            let anybodys = labels.get("example.com/open").is_some();
            match agreed(cluster, &webhook, Way::Create, &node, None).await {
                Err(refusal) if anybodys => panic!("{name}: {refusal}"),
                Ok(given) => {
                    taken += 1;
                    changed += usize::from(given != labels_of(&node));
                }
                Err(_) => refused += 1,
            }
        }
    }
    assert!(
        taken > 40 && refused > 20 && changed > 20,
        "{taken} {refused} {changed}"
    );

    machines_with_a_place(cluster, &webhook, &claims).await;
    single_labels_of_other_pools(cluster, &webhook).await;
    changes_of_nodes(cluster, &webhook, &claims).await;
    notes_of_berth(cluster, &webhook).await;
    a_node_that_exists_is_left_to_the_api_server(cluster, &webhook).await;
}

/// To create a Node that exists changes nothing, and older kubelets look for their Node only when they are told so. The webhook lets
/// their request through to that answer; where the policies judge, kubelets look for themselves.
async fn a_node_that_exists_is_left_to_the_api_server(cluster: &Cluster, webhook: &Webhook) {
    let node = json!({"metadata": {"name": "placed", "labels": {"example.com/tier": "gold"}}});
    let refused = by_webhook(webhook, Way::Create, &node, None).await;
    assert!(refused.is_err_and(|refusal| refusal.contains("its place is in pool infra")));
    cluster.node("placed", json!({})).await;
    by_webhook(webhook, Way::Create, &node, None)
        .await
        .expect("the API server says that it exists");
    let before = json!({"metadata": {"name": "placed", "labels": {}}});
    let changed = by_webhook(webhook, Way::Update, &node, Some(&before)).await;
    assert!(changed.is_err(), "a change is another matter: {changed:?}");
    cluster.delete_node("placed").await;
}

/// A machine with a place takes no single label of another pool, unless it was declared for it. One that nobody reserved is
/// not looked at so closely.
async fn single_labels_of_other_pools(cluster: &Cluster, webhook: &Webhook) {
    // Values of some keys, each with the pools that give it.
    let keys: [(&str, &[(&str, &str)]); 4] = [
        ("example.com/zone", &[("blue", "edge"), ("red", "")]),
        ("example.com/fast", &[("yes", "edge gold")]),
        ("example.com/edge", &[("", "edge")]),
        ("tier", &[("infra", "infra"), ("storage", "storage")]),
    ];
    let mut claims: Vec<Vec<(&str, &str, &str)>> = vec![Vec::new()];
    for (key, values) in keys {
        for claim in claims.clone() {
            claims.extend(values.iter().map(|(value, pools)| {
                let mut longer = claim.clone();
                longer.push((key, value, pools));
                longer
            }));
        }
    }
    let (mut taken, mut refused) = (0, 0);
    for (name, place, declared) in [
        ("placed", "infra", ""),
        ("golden", "gold", ""),
        ("excepted", "infra", "example.com/zone=blue"),
        ("moved", "infra", "example.com/zone=blue example.com/edge="),
        ("stranger-1", "", ""),
    ] {
        let client = cluster.client_of(&Identity::kubelet(name)).await;
        for claim in &claims {
            let labels: Value = claim
                .iter()
                .map(|(key, value, _)| ((*key).to_owned(), json!(value)))
                .collect();
            let wrong = claim.iter().any(|(key, value, pools)| {
                let elsewhere = !pools.is_empty() && pools.split(' ').all(|pool| pool != place);
                // Of a stranger only the claim of a whole pool is refused.
                elsewhere
                    && declared.split(' ').all(|label| label != format!("{key}={value}"))
                    && (!place.is_empty() || *key == "example.com/edge")
            });
            let node = json!({"metadata": {"name": name, "labels": labels}});
            let policies = by_policies(&client, Way::Create, &node).await;
            let hook = by_webhook(webhook, Way::Create, &node, None).await;
            assert_eq!(policies.is_err(), wrong, "{name} {labels}: {policies:?}");
            assert_eq!(policies.as_ref().err(), hook.as_ref().err(), "{name} {labels}");
            taken += usize::from(policies.is_ok());
            refused += usize::from(policies.is_err());
        }
    }
    assert!(taken > 30 && refused > 30, "{taken} {refused}");
}

/// What Berth notes on a Node is not the kubelet's to write, to change or to remove.
async fn notes_of_berth(cluster: &Cluster, webhook: &Webhook) {
    let create = |annotations: Value| json!({"metadata": {"name": "noted", "annotations": annotations}});
    for (annotations, refused) in [
        (json!({"berth.dev/owned-labels": "{}"}), true),
        (json!({"berth.dev/pool": "gold"}), true),
        (json!({"example.com/note": "1"}), false),
    ] {
        let node = create(annotations);
        let answer = agreed(cluster, webhook, Way::Create, &node, None).await;
        assert_eq!(answer.is_err(), refused, "{node}: {answer:?}");
    }
    cluster.node("noted", json!({})).await;
    let noted = json!({"berth.dev/owned-labels": "{}", "example.com/note": "1"});
    let patch = Patch::Merge(json!({"metadata": {"annotations": noted}}));
    let nodes: Api<Node> = cluster.api();
    nodes
        .patch("noted", &PatchParams::default(), &patch)
        .await
        .expect("an administrator may");
    let client = cluster.client_of(&Identity::kubelet("noted")).await;
    let nodes: Api<Node> = Api::all(client);
    let parameters = PatchParams {
        dry_run: true,
        ..PatchParams::default()
    };
    for (annotations, refused) in [
        (json!({"berth.dev/owned-labels": r#"{"a":"b"}"#}), true),
        (json!({"berth.dev/owned-labels": null}), true),
        (json!({"berth.dev/released": "now"}), true),
        (json!({"example.com/note": "2"}), false),
        (json!({"example.com/note": null}), false),
    ] {
        let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        for answer in [
            nodes.patch("noted", &parameters, &patch).await,
            nodes.patch_status("noted", &parameters, &patch).await,
        ] {
            assert_eq!(answer.is_err(), refused, "{annotations}: {answer:?}");
        }
    }
}

/// A machine with a place claims what is its own, and nothing else. What its Berth gives comes with the Node that is made for
/// it; the webhook gives it too, the policies do not know it.
async fn machines_with_a_place(cluster: &Cluster, webhook: &Webhook, claims: &[Value]) {
    for (name, own) in [
        ("golden", true),
        ("elsewhere", true),
        ("gold-77", true),
        ("placed", false),
    ] {
        for labels in claims {
            let node = json!({"metadata": {"name": name, "labels": labels}});
            let gold = labels.get("example.com/tier") == Some(&json!("gold"));
            let bronze = labels.get("example.com/melted").is_some()
                && labels.get("example.com/scrap").is_none()
                && labels.get("example.com/grade").is_none();
            let vein = labels.get("example.com/vein").is_some();
            let open = labels.get("example.com/open").is_some();
            let client = cluster.client_of(&Identity::kubelet(name)).await;
            let policies = by_policies(&client, Way::Create, &node).await;
            let hook = by_webhook(webhook, Way::Create, &node, None).await;
            assert_eq!(
                policies.is_err(),
                (gold && !own) || bronze || vein || open,
                "{name} {labels}: {policies:?}"
            );
            assert_eq!(policies.as_ref().err(), hook.as_ref().err(), "{name} {labels}");
        }
    }
}

/// Changes of a Node that exists, in both ways a kubelet has.
async fn changes_of_nodes(cluster: &Cluster, webhook: &Webhook, claims: &[Value]) {
    for (name, labels) in [
        ("plain", json!({})),
        ("gold-6", json!({})),
        ("in-gold", json!({"example.com/tier": "gold"})),
        (
            "in-bronze",
            json!({"example.com/metal": "bronze", "example.com/melted": ""}),
        ),
    ] {
        cluster.node(name, labels.clone()).await;
        // Somebody else may have labelled it by now.
        let live: Node = cluster.api().get(name).await.expect("the Node");
        let before = json!({"metadata": {"name": name, "labels": live.metadata.labels}});
        for claim in claims {
            let mut after = before.clone();
            for (key, value) in claim.as_object().expect("labels") {
                after["metadata"]["labels"][key] = value.clone();
            }
            for way in [Way::Update, Way::Status] {
                let answer = agreed(cluster, webhook, way, &after, Some(&before)).await;
                let thief = name == "plain" && claim.get("example.com/tier") == Some(&json!("gold"));
                assert!(answer.is_err() || !thief, "{way:?} {claim}: {answer:?}");
            }
        }
    }
}
