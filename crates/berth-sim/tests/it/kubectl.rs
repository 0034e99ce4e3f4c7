//! The verbs of kubectl, run by kubectl.

use std::{
    io::{BufRead as _, BufReader},
    process::Stdio,
};

use berth_labels::Flavour;
use berth_sim::{Cluster, ClusterOptions, Disk, Fleet, Habits, SimulatedTime};

use crate::program::{NOW, Served};

const NODE: &str = "
apiVersion: v1
kind: Node
metadata: {name: n1, labels: {site: paris}}
spec:
  taints: [{key: x, effect: NoSchedule}]
";

const DEFINITION: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: boats.example.dev}
spec:
  group: example.dev
  scope: Cluster
  names: {plural: boats, kind: Boat, shortNames: [bt]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Size, type: integer, jsonPath: .spec.size}
    - {name: Ready, type: string, jsonPath: '.status.conditions[?(@.type=="Ready")].status'}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            description: What the boat is like.
            required: [size]
            properties:
              size: {type: integer, minimum: 1, description: How long it is.}
              colour: {type: string, default: white, enum: [white, red]}
          status:
            type: object
            properties:
              conditions:
                type: array
                items: {type: object, properties: {type: {type: string}, status: {type: string}}}
"#;

const BOAT: &str = "{apiVersion: example.dev/v1, kind: Boat, metadata: {name: b1}, spec: {size: 3}}";

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_read_labelled_and_patched() {
    let Some(cluster) = Served::start().await else { return };
    assert_eq!(cluster.ok(&["apply", "-f", "-"], NODE).await, "node/n1 created\n");
    // A new Node is tainted as not ready, which the manifest does not say.
    assert_eq!(cluster.ok(&["apply", "-f", "-"], NODE).await, "node/n1 configured\n");
    assert_eq!(cluster.ok(&["apply", "-f", "-"], NODE).await, "node/n1 unchanged\n");
    let table = cluster.ok(&["get", "nodes"], "").await;
    let words: Vec<&str> = table.split_whitespace().collect();
    assert_eq!(words[..5], ["NAME", "STATUS", "ROLES", "AGE", "VERSION"]);
    assert_eq!(words[5..], ["n1", "Unknown", "<none>", "0s"]);
    assert_eq!(
        cluster.ok(&["label", "node", "n1", "role=a"], "").await,
        "node/n1 labeled\n"
    );
    let refused = cluster.refused(&["label", "node", "n1", "role=b"], "").await;
    assert!(refused.contains("already has a value (a)"), "{refused}");
    cluster.ok(&["label", "--overwrite", "node", "n1", "role=b"], "").await;
    cluster.ok(&["label", "node", "n1", "role-"], "").await;
    let illegal = cluster.refused(
        &[
            "patch",
            "node",
            "n1",
            "-p",
            r#"{"metadata":{"labels":{"a":"not legal"}}}"#,
        ],
        "",
    );
    assert!(illegal.await.contains("metadata.labels"));

    for (kind, patch) in [
        ("strategic", r#"{"spec":{"unschedulable":true}}"#),
        ("json", r#"[{"op":"add","path":"/metadata/labels/j","value":"1"}]"#),
        ("merge", r#"{"metadata":{"labels":{"j":null,"m":"2"}}}"#),
    ] {
        let said = cluster
            .ok(&["patch", "node", "n1", "--type", kind, "-p", patch], "")
            .await;
        assert_eq!(said, "node/n1 patched\n", "{kind}");
    }
    assert_eq!(
        cluster.value("node", "n1", ".metadata.labels").await,
        r#"{"m":"2","site":"paris"}"#
    );
    assert_eq!(cluster.value("node", "n1", ".spec.unschedulable").await, "true");
    cluster.ok(&["uncordon", "n1"], "").await;
    cluster.ok(&["taint", "node", "n1", "y=z:NoExecute"], "").await;
    assert_eq!(cluster.value("node", "n1", ".spec.taints[*].key").await, "y x");
    let described = cluster.ok(&["describe", "node", "n1"], "").await;
    assert!(
        described.contains("Taints:             y=z:NoExecute\n                    x:NoSchedule"),
        "{described}"
    );
    assert_eq!(
        cluster.ok(&["delete", "node", "n1"], "").await.trim_end(),
        "node \"n1\" deleted"
    );
    let gone = cluster.refused(&["get", "node", "n1"], "").await;
    assert_eq!(gone, "Error from server (NotFound): nodes \"n1\" not found\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_definition_brings_a_kind() {
    let Some(cluster) = Served::start().await else { return };
    cluster.ok(&["apply", "-f", "-"], DEFINITION).await;
    cluster
        .ok(
            &[
                "wait",
                "--for=condition=Established",
                "crd/boats.example.dev",
                "--timeout=10s",
            ],
            "",
        )
        .await;
    let resources = cluster
        .ok(&["api-resources", "--api-group=example.dev", "--no-headers"], "")
        .await;
    assert_eq!(
        resources.split_whitespace().collect::<Vec<_>>(),
        ["boats", "bt", "example.dev/v1", "false", "Boat"]
    );
    let explained = cluster.ok(&["explain", "boats.spec"], "").await;
    assert!(explained.contains("What the boat is like."), "{explained}");
    assert!(explained.contains("How long it is."), "{explained}");
    let builtin = cluster.ok(&["explain", "node.spec.taints.effect"], "").await;
    assert!(builtin.contains("NoExecute"), "{builtin}");

    cluster.ok(&["apply", "-f", "-"], BOAT).await;
    assert_eq!(cluster.value("boat", "b1", ".spec.colour").await, "white");
    let wrong = cluster
        .refused(&["apply", "-f", "-"], &BOAT.replace("size: 3", "size: 0, colour: blue"))
        .await;
    assert!(
        wrong.contains(r#"spec.colour: Unsupported value: "blue": supported values: "white", "red""#),
        "{wrong}"
    );
    assert!(
        wrong.contains("spec.size in body should be greater than or equal to 1"),
        "{wrong}"
    );
    let unknown = cluster
        .refused(&["apply", "-f", "-"], &BOAT.replace("size: 3", "size: 3, sails: 2"))
        .await;
    assert!(unknown.contains(r#"unknown field "spec.sails""#), "{unknown}");
    let pruned = BOAT.replace("size: 3", "size: 3, sails: 2");
    cluster.ok(&["apply", "--validate=ignore", "-f", "-"], &pruned).await;
    assert_eq!(cluster.value("boat", "b1", ".spec.sails").await, "");

    // The status is written by itself alone, and does not count as a change of what is asked for.
    assert_eq!(cluster.value("boat", "b1", ".metadata.generation").await, "1");
    let status = r#"{"spec":{"size":8},"status":{"conditions":[{"type":"Ready","status":"True"}]}}"#;
    cluster
        .ok(
            &[
                "patch",
                "boat",
                "b1",
                "--subresource=status",
                "--type=merge",
                "-p",
                status,
            ],
            "",
        )
        .await;
    cluster
        .ok(&["wait", "--for=condition=Ready", "boat/b1", "--timeout=10s"], "")
        .await;
    assert_eq!(
        cluster.ok(&["get", "bt"], "").await,
        "NAME   SIZE   READY\nb1     3      True\n"
    );
    assert_eq!(cluster.value("boat", "b1", ".metadata.generation").await, "1");
    cluster
        .ok(
            &["patch", "boat", "b1", "--type=merge", "-p", r#"{"spec":{"size":4}}"#],
            "",
        )
        .await;
    assert_eq!(cluster.value("boat", "b1", ".metadata.generation").await, "2");
    let strategic = cluster
        .refused(&["patch", "boat", "b1", "-p", r#"{"spec":{"size":4}}"#], "")
        .await;
    assert!(
        strategic.contains("application/strategic-merge-patch+json is not supported"),
        "{strategic}"
    );

    cluster.ok(&["delete", "crd", "boats.example.dev"], "").await;
    let gone = cluster
        .refused(&["get", "--raw", "/apis/example.dev/v1/boats"], "")
        .await;
    assert!(
        gone.contains("the server could not find the requested resource"),
        "{gone}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_on_both_sides() {
    let Some(cluster) = Served::start().await else { return };
    cluster.ok(&["apply", "-f", "-"], NODE).await;
    let changed = NODE.replace("site: paris", "site: lyon, more: x");
    assert_eq!(
        cluster.ok(&["apply", "-f", "-"], &changed).await,
        "node/n1 configured\n"
    );
    cluster.ok(&["apply", "-f", "-"], NODE).await;
    assert_eq!(
        cluster.value("node", "n1", ".metadata.labels").await,
        r#"{"site":"paris"}"#
    );

    // What kubectl applied itself it may change on the server.
    let more = NODE.replace("site: paris", "site: paris, row: r1");
    cluster.ok(&["apply", "-f", "-"], &more).await;
    let moved = more.replace("site: paris", "site: rome");
    assert_eq!(
        cluster.ok(&["apply", "--server-side", "-f", "-"], &moved).await,
        "node/n1 serverside-applied\n"
    );
    assert_eq!(cluster.value("node", "n1", ".metadata.labels.site").await, "rome");
    // It has moved what it managed before, so what it applied first it can also take away.
    let less = moved.replace(", row: r1", "");
    cluster.ok(&["apply", "--server-side", "-f", "-"], &less).await;
    assert_eq!(
        cluster.value("node", "n1", ".metadata.labels").await,
        r#"{"site":"rome"}"#
    );

    let apply = ["apply", "--server-side", "--field-manager=me", "-f", "-"];
    let fresh = "{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {a: '1', b: '1'}}}";
    assert_eq!(cluster.ok(&apply, fresh).await, "node/n2 serverside-applied\n");
    let other = ["apply", "--server-side", "--field-manager=other", "-f", "-"];
    let theirs = "{apiVersion: v1, kind: Node, metadata: {name: n2, labels: {a: '2'}}}";
    let refused = cluster.refused(&other, theirs).await;
    assert!(
        refused.contains("Apply failed with 1 conflict: conflict with \"me\": .metadata.labels.a"),
        "{refused}"
    );
    let forced = [
        "apply",
        "--server-side",
        "--field-manager=other",
        "--force-conflicts",
        "-f",
        "-",
    ];
    cluster.ok(&forced, theirs).await;
    // What one manager stops to apply goes, unless another has it.
    cluster
        .ok(&apply, "{apiVersion: v1, kind: Node, metadata: {name: n2}}")
        .await;
    assert_eq!(cluster.value("node", "n2", ".metadata.labels").await, r#"{"a":"2"}"#);
    let managers = cluster
        .ok(
            &[
                "get",
                "node",
                "n2",
                "--show-managed-fields",
                "-o",
                "jsonpath={.metadata.managedFields[*].manager}",
            ],
            "",
        )
        .await;
    assert_eq!(managers, "other");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_applied_whole() {
    let Some(cluster) = Served::start().await else { return };
    cluster.ok(&["apply", "-f", "-"], DEFINITION).await;
    let list = |more: &str| {
        format!(
            "{{apiVersion: v1, kind: List, items: [{BOAT}, {{apiVersion: v1, kind: ConfigMap, metadata: {{name: c}}}}, \
             {{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {{name: b}}, spec: {{minAvailable: 1{more}}}}}]}}"
        )
    };
    assert_eq!(
        cluster.ok(&["apply", "-f", "-"], &list("")).await,
        "boat.example.dev/b1 created\nconfigmap/c created\npoddisruptionbudget.policy/b created\n"
    );
    let unknown = cluster.refused(&["apply", "-f", "-"], &list(", sails: 2")).await;
    assert!(unknown.contains(r#"unknown field "spec.sails""#), "{unknown}");
    let no_kind = cluster
        .refused(
            &["apply", "-f", "-"],
            &list("").replace("kind: ConfigMap", "kind: Cnofig"),
        )
        .await;
    assert!(no_kind.contains("Cnofig"), "{no_kind}");
    // People read it as JSON.
    let json = cluster.ok(&["get", "--raw", "/openapi/v2"], "").await;
    assert!(
        json.contains(r#"{"group":"example.dev","kind":"Boat","version":"v1"}"#),
        "{json}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn objects_are_edited() {
    let Some(cluster) = Served::start().await else { return };
    cluster.ok(&["apply", "-f", "-"], NODE).await;
    let mut edit = cluster.command(&["edit", "node", "n1"]);
    edit.env("EDITOR", "sed -i s/paris/rome/");
    let (said, content) = cluster.run_with(edit, "").await;
    assert!(content, "{said}");
    assert_eq!(said, "node/n1 edited\n");
    assert_eq!(cluster.value("node", "n1", ".metadata.labels.site").await, "rome");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_shows_what_happens() {
    let Some(cluster) = Served::start().await else { return };
    cluster.ok(&["apply", "-f", "-"], NODE).await;
    let mut child = cluster
        .command(&[
            "get",
            "nodes",
            "-w",
            "--output-watch-events",
            "-L",
            "site",
            "--no-headers",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.starts_with("ADDED") && first.ends_with("paris"), "{first}");
    cluster
        .ok(&["label", "--overwrite", "node", "n1", "site=rome"], "")
        .await;
    let second = lines.next().unwrap().unwrap();
    assert!(second.starts_with("MODIFIED") && second.ends_with("rome"), "{second}");
    cluster.ok(&["delete", "node", "n1"], "").await;
    let third = lines.next().unwrap().unwrap();
    assert!(third.starts_with("DELETED"), "{third}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaces_hold_objects_and_end_with_them() {
    let Some(cluster) = Served::start().await else { return };
    let missing = cluster
        .refused(&["create", "configmap", "c", "-n", "shop", "--from-literal=a=b"], "")
        .await;
    assert!(missing.contains("namespaces \"shop\" not found"), "{missing}");
    cluster.ok(&["create", "namespace", "shop"], "").await;
    cluster
        .ok(&["create", "configmap", "c", "-n", "shop", "--from-literal=a=b"], "")
        .await;
    let table = cluster.ok(&["get", "cm", "-A", "--no-headers"], "").await;
    assert_eq!(table.split_whitespace().collect::<Vec<_>>(), ["shop", "c", "1", "0s"]);
    cluster.ok(&["delete", "namespace", "shop"], "").await;
    assert_eq!(cluster.ok(&["get", "cm", "-A"], "").await, "No resources found\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn selectors_and_pages() {
    let Some(cluster) = Served::start().await else { return };
    for index in 0..7 {
        let parity = index % 2;
        let node = format!("{{apiVersion: v1, kind: Node, metadata: {{name: n{index}, labels: {{p: 'v{parity}'}}}}}}");
        cluster.ok(&["create", "-f", "-"], &node).await;
    }
    cluster.ok(&["cordon", "n3"], "").await;
    let names = async |arguments: &[&str]| {
        let all = [&["get", "nodes", "-o", "name"], arguments].concat();
        cluster.ok(&all, "").await.replace("node/", "").replace('\n', " ")
    };
    assert_eq!(names(&["-l", "p=v1"]).await, "n1 n3 n5 ");
    assert_eq!(names(&["-l", "p in (v1),p!=v0"]).await, "n1 n3 n5 ");
    assert_eq!(names(&["--field-selector", "spec.unschedulable=true"]).await, "n3 ");
    assert_eq!(names(&["--field-selector", "metadata.name=n2"]).await, "n2 ");
    assert_eq!(names(&["--chunk-size=2"]).await, "n0 n1 n2 n3 n4 n5 n6 ");
    let refused = cluster
        .refused(&["get", "nodes", "--field-selector", "spec.nope=1"], "")
        .await;
    assert!(refused.contains("field label not supported"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_drained_as_far_as_budgets_allow() {
    let Some(cluster) = Served::start().await else { return };
    cluster.ok(&["apply", "-f", "-"], NODE).await;
    for name in ["p1", "p2"] {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: web}}}}, spec: {{nodeName: n1, \
             terminationGracePeriodSeconds: 0, containers: [{{name: c, image: i}}]}}}}"
        );
        cluster.ok(&["create", "-f", "-"], &pod).await;
        let ready = r#"{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}}"#;
        cluster
            .ok(&["patch", "pod", name, "--subresource=status", "-p", ready], "")
            .await;
    }
    cluster
        .ok(&["create", "pdb", "web", "--selector=app=web", "--min-available=1"], "")
        .await;
    assert_eq!(cluster.value("pdb", "web", ".status.disruptionsAllowed").await, "1");
    let drain = ["drain", "n1", "--force", "--timeout=2s", "--pod-selector=app=web"];
    let said = cluster.refused(&drain, "").await;
    assert!(
        said.contains("Cannot evict pod as it would violate the pod's disruption budget"),
        "{said}"
    );
    assert_eq!(cluster.ok(&["get", "pods", "-o", "name"], "").await.lines().count(), 1);
    cluster.ok(&["delete", "pdb", "web"], "").await;
    cluster.ok(&drain, "").await;
    assert_eq!(
        cluster.ok(&["get", "pods"], "").await,
        "No resources found in default namespace.\n"
    );
    assert_eq!(cluster.value("node", "n1", ".spec.unschedulable").await, "true");
}

#[tokio::test(flavor = "multi_thread")]
async fn kubelets_run_and_end_their_pods() {
    let time = SimulatedTime::starting_at(NOW.parse().unwrap());
    let mut fleet = Fleet::new(
        Cluster::new(ClusterOptions::new(time.clock(), 7)),
        time,
        Flavour::Upstream,
        7,
    );
    fleet.approve_all(true);
    for name in ["w1", "w2"] {
        fleet.add(name, Disk::image(), Habits::default());
    }
    fleet.power_on("w1").unwrap();
    fleet.run(200).await;
    let Some(cluster) = Served::serve(fleet.cluster().clone()).await else {
        return;
    };
    // The third has no machine yet.
    for (name, node) in [("p1", "w1"), ("p2", "w1"), ("p3", "w2")] {
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}}}, spec: {{nodeName: {node}, containers: [{{name: c, \
             image: i}}]}}}}"
        );
        cluster.ok(&["create", "-f", "-"], &pod).await;
    }
    fleet.take_transcript();
    fleet.run(5).await;
    let table = cluster.ok(&["get", "pods", "--no-headers"], "").await;
    let rows: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().take(3).collect())
        .collect();
    assert_eq!(
        rows,
        [
            ["p1", "1/1", "Running"],
            ["p2", "1/1", "Running"],
            ["p3", "0/1", "Pending"]
        ]
    );
    let ready = ["wait", "--for=condition=Ready", "pod/p1", "pod/p2", "--timeout=5s"];
    cluster.ok(&ready, "").await;

    // A Pod has its grace period to end.
    cluster
        .ok(&["delete", "pod", "p1", "--grace-period=60", "--wait=false"], "")
        .await;
    fleet.run(50).await;
    let left = ["get", "pods", "-o", "name"];
    assert_eq!(cluster.ok(&left, "").await, "pod/p1\npod/p2\npod/p3\n");
    fleet.run(15).await;
    assert_eq!(cluster.ok(&left, "").await, "pod/p2\npod/p3\n");

    let drained = async {
        tokio::select! {
            said = cluster.ok(&["drain", "w1", "--force", "--timeout=60s"], "") => said,
            () = async {
                loop {
                    fleet.run(1).await;
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            } => unreachable!("time goes on"),
        }
    };
    let said = drained.await;
    assert!(said.contains("node/w1 drained"), "{said}");
    assert_eq!(cluster.ok(&left, "").await, "pod/p3\n");
    // None of this is told: what machines tell is about themselves.
    assert_eq!(fleet.take_transcript(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn budgets_do_not_hold_what_does_no_work() {
    let Some(cluster) = Served::start().await else { return };
    let evict = async |name: &str| {
        let url = format!("/api/v1/namespaces/default/pods/{name}/eviction");
        let eviction =
            format!("{{\"apiVersion\":\"policy/v1\",\"kind\":\"Eviction\",\"metadata\":{{\"name\":\"{name}\"}}}}");
        cluster.run(&["create", "--raw", &url, "-f", "-"], &eviction).await
    };
    // Two budgets for a Pod that works are an error; for one that does not they are not even looked at.
    for budget in ["all", "web"] {
        let arguments = ["create", "pdb", budget, "--selector=app=web", "--min-available=100%"];
        cluster.ok(&arguments, "").await;
    }
    for phase in ["Pending", "Succeeded", "Failed", "Running"] {
        let name = phase.to_lowercase();
        let pod = format!(
            "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}, labels: {{app: web}}}}, spec: {{nodeName: n1, \
             containers: [{{name: c, image: i}}]}}}}"
        );
        cluster.ok(&["create", "-f", "-"], &pod).await;
        let status = format!(r#"{{"status":{{"phase":"{phase}"}}}}"#);
        cluster
            .ok(&["patch", "pod", &name, "--subresource=status", "-p", &status], "")
            .await;
        let (said, content) = evict(&name).await;
        assert_eq!(content, phase != "Running", "{phase}: {said}");
    }
    cluster.ok(&["delete", "pdb", "all"], "").await;
    let (said, content) = evict("running").await;
    assert!(!content && said.contains("disruption budget"), "{said}");
    cluster.ok(&["delete", "pod", "running", "--wait=false"], "").await;
    let (said, content) = evict("running").await;
    assert!(content, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_sorted_by_times_that_they_may_lack() {
    let Some(cluster) = Served::start().await else { return };
    for (name, more) in [("late", "lastTimestamp: '2026-03-01T09:00:00Z', "), ("never", "")] {
        let event = format!(
            "{{apiVersion: v1, kind: Event, metadata: {{name: {name}}}, {more}reason: Seen, message: m, type: Normal, \
             involvedObject: {{kind: Node, name: n1}}}}"
        );
        cluster.ok(&["create", "-f", "-"], &event).await;
    }
    let sorted = ["get", "events", "--sort-by=.lastTimestamp", "-o", "name"];
    assert_eq!(cluster.ok(&sorted, "").await, "event/never\nevent/late\n");
    let table = cluster.ok(&["get", "events", "--sort-by=.firstTimestamp"], "").await;
    assert_eq!(table.lines().count(), 3, "{table}");
    let raw = async |api: &str| {
        let text = cluster
            .ok(&["get", "--raw", &format!("{api}/namespaces/default/events/never")], "")
            .await;
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let event = raw("/api/v1").await;
    for time in ["firstTimestamp", "lastTimestamp", "eventTime"] {
        assert_eq!(event.get(time), Some(&serde_json::Value::Null), "{time}: {event}");
    }
    assert_eq!(event["source"], serde_json::json!({}));
    let fields = &event["metadata"]["managedFields"][0]["fieldsV1"];
    assert!(fields.get("f:reason").is_some(), "{fields}");
    assert!(
        fields.get("f:source").is_none() && fields.get("f:lastTimestamp").is_none(),
        "{fields}"
    );
    let own = raw("/apis/events.k8s.io/v1").await;
    assert_eq!(
        own.get("deprecatedLastTimestamp"),
        Some(&serde_json::Value::Null),
        "{own}"
    );
    // A change of something else leaves them.
    let label = ["label", "event", "never", "a=b"];
    cluster.ok(&label, "").await;
    assert_eq!(cluster.ok(&sorted, "").await, "event/never\nevent/late\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn certificate_requests_are_approved() {
    let Some(cluster) = Served::start().await else { return };
    let request = "
apiVersion: certificates.k8s.io/v1
kind: CertificateSigningRequest
metadata: {name: csr-1}
spec:
  request: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==
  signerName: kubernetes.io/kube-apiserver-client-kubelet
  usages: [client auth]
";
    let as_node = ["create", "--as=system:node:n1", "--as-group=system:nodes", "-f", "-"];
    cluster.ok(&as_node, request).await;
    assert_eq!(cluster.value("csr", "csr-1", ".spec.username").await, "system:node:n1");
    cluster.ok(&["certificate", "approve", "csr-1"], "").await;
    let table = cluster.ok(&["get", "csr", "--no-headers"], "").await;
    assert!(table.trim_end().ends_with("Approved,Issued"), "{table}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kubelet_may_not_set_what_node_restriction_forbids() {
    let Some(cluster) = Served::start().await else { return };
    let node = |labels: &str| format!("{{apiVersion: v1, kind: Node, metadata: {{name: n1, labels: {{{labels}}}}}}}");
    let create = ["create", "--as=system:node:n1", "--as-group=system:nodes", "-f", "-"];
    let refused = cluster
        .refused(&create, &node("node-role.kubernetes.io/worker: ''"))
        .await;
    assert!(
        refused.contains("is not allowed to set the following labels: node-role.kubernetes.io/worker"),
        "{refused}"
    );
    cluster
        .ok(&create, &node("kubernetes.io/hostname: n1, site: paris"))
        .await;
    let label = ["label", "node", "n1", "--as=system:node:n1", "--as-group=system:nodes"];
    let refused = cluster
        .refused(&[&label[..], &["node-role.kubernetes.io/infra="]].concat(), "")
        .await;
    assert!(
        refused.contains("is not allowed to modify labels: node-role.kubernetes.io/infra"),
        "{refused}"
    );
    cluster.ok(&[&label[..], &["rack=r1"]].concat(), "").await;
    let other = [
        "label",
        "node",
        "n1",
        "--as=system:node:n2",
        "--as-group=system:nodes",
        "rack=r2",
    ];
    assert!(cluster.refused(&other, "").await.contains("Forbidden"));
    let delete = ["delete", "node", "n1", "--as=system:node:n1", "--as-group=system:nodes"];
    assert!(cluster.refused(&delete, "").await.contains("Forbidden"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_changes_nothing() {
    let Some(cluster) = Served::start().await else { return };
    let said = cluster.ok(&["apply", "--dry-run=server", "-f", "-"], NODE).await;
    assert_eq!(said, "node/n1 created (server dry run)\n");
    assert_eq!(cluster.ok(&["get", "nodes"], "").await, "No resources found\n");
    cluster.ok(&["apply", "-f", "-"], NODE).await;
    cluster.ok(&["delete", "node", "n1", "--dry-run=server"], "").await;
    cluster
        .ok(&["label", "node", "n1", "a=b", "--dry-run=server"], "")
        .await;
    assert_eq!(
        cluster.value("node", "n1", ".metadata.labels").await,
        r#"{"site":"paris"}"#
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn finalizers_hold_an_object() {
    let Some(cluster) = Served::start().await else { return };
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: c, finalizers: [example.dev/wait]}}";
    cluster.ok(&["create", "-f", "-"], map).await;
    cluster.ok(&["delete", "cm", "c", "--wait=false"], "").await;
    assert_eq!(cluster.value("cm", "c", ".metadata.deletionTimestamp").await, NOW);
    let patch = [
        "patch",
        "cm",
        "c",
        "--type=json",
        "-p",
        r#"[{"op":"remove","path":"/metadata/finalizers"}]"#,
    ];
    cluster.ok(&patch, "").await;
    cluster.refused(&["get", "cm", "c"], "").await;
}
