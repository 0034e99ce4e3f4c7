//! Remote workers on the telco site: ingress and egress as a team met them.

use std::{collections::BTreeSet, path::Path, process::Command};

use serde_json::{Value, json};

use crate::run::{Folder, at_root};

const SITE: &str = "-f examples/telco-site";
const NODES: &str = "--nodes examples/telco-cluster/nodes.yaml";

fn fixture(name: &str) -> String {
    format!("{SITE} -f crates/berth/tests/fixtures/remote-workers/{name}.yaml")
}

fn fields(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

fn codes(findings: &Value) -> Vec<&str> {
    let list = findings.as_array().unwrap();
    list.iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect()
}

#[test]
fn the_example_has_no_findings() {
    insta::assert_snapshot!("ingress_check", at_root(&format!("ingress check {SITE} -o wide")));
    insta::assert_snapshot!("egress_plan", at_root(&format!("egress plan {SITE} -o wide")));
}

#[test]
fn the_two_selectors_that_failed_give_the_operators_texts() {
    let outcome = at_root(&format!("ingress check {} -o json", fixture("selectors")));
    assert_eq!(outcome.exit, 1, "{outcome}");
    let json = outcome.json();
    assert_eq!(
        fields(&json[1]),
        BTreeSet::from(["controller", "map", "error", "nodes", "findings"])
    );
    let prefix = |name: &str| {
        format!(
            "failed to ensure deployment: failed to build router deployment: ingresscontroller \"{name}\" has invalid \
             spec.nodePlacement.nodeSelector: "
        )
    };
    let old = "cannot be converted into the old label selector format";
    assert_eq!(json[1]["map"], Value::Null);
    assert_eq!(
        json[1]["error"],
        json!(format!(
            "{}operator \"In\" without a single value {old}",
            prefix("by-hostname")
        ))
    );
    assert_eq!(
        json[2]["error"],
        json!(format!("{}operator \"DoesNotExist\" {old}", prefix("not-remote")))
    );
    assert!(codes(&json[2]["findings"]).contains(&"ingress-selector"));
    // The same findings at lint time, with file and line.
    let lint = at_root(&format!("lint {}", fixture("selectors")));
    assert!(lint.stdout.contains("error[ingress-selector]"), "{lint}");
    assert!(lint.stdout.contains("remote-workers/selectors.yaml:12:7"), "{lint}");
}

#[test]
fn the_rewrite_works_and_selects_exactly_what_was_meant() {
    let words = format!("ingress rewrite {}", fixture("selectors"));
    let outcome = at_root(&words);
    insta::assert_snapshot!("ingress_rewrite", outcome);
    let rewrites = at_root(&format!("{words} -o json")).json();
    assert_eq!(
        fields(&rewrites[0]),
        BTreeSet::from(["controller", "label", "nodes", "rule", "ingress_controller"])
    );
    // The documents that were printed, in the place of those that were refused.
    let folder = Folder::new();
    folder.write("rewritten.yaml", &outcome.stdout);
    let check = at_root(&format!("ingress check {SITE} -f {} -o json", folder.path().display()));
    let json = check.json();
    for (index, name, meant) in [
        (1, "by-hostname", vec!["atlngamac01", "atlngamac02"]),
        (
            2,
            "not-remote",
            vec![
                "atlngamac01",
                "atlngamac02",
                "atlngamac03",
                "atlngamai01",
                "atlngamai02",
                "atlngamaw01",
                "atlngamaw02",
                "atlngamaw03",
                "atlngamaw04",
                "atlngamaw05",
            ],
        ),
    ] {
        assert_eq!(json[index]["controller"], json!(name));
        assert_eq!(json[index]["error"], Value::Null, "{check}");
        assert_eq!(names(&json[index]["nodes"]), meant, "{check}");
        assert_eq!(names(&rewrites[index - 1]["nodes"]), meant);
    }
}

#[test]
fn a_shard_on_the_remote_worker_stays_pending_until_its_label_has_a_value() {
    let outcome = at_root(&format!("ingress check {}", fixture("shard")));
    insta::assert_snapshot!("shard_pending", outcome);
    let folder = Folder::new();
    folder.write(
        "rule.yaml",
        "apiVersion: berth.dev/v1alpha1\nkind: LabelRule\nmetadata: {name: remote-value}\nspec:\n  match: {pools: [worker-rwn]}\n  \
         labels: {node.openshift.io/remote-worker: smyrna}\n",
    );
    let words = format!(
        "ingress check {} -f {} -o json",
        fixture("shard"),
        folder.path().display()
    );
    let json = at_root(&words).json();
    // Only what concerns routes is left: the default controller serves the shard's too.
    assert_eq!(codes(&json[1]["findings"]), ["ingress-overlap"]);
    assert_eq!(names(&json[1]["nodes"]), ["smyrgaear01"]);
}

#[test]
fn a_ready_shard_for_the_remote_site() {
    let words = format!("ingress shard {SITE} --remote smyrna --domain apps-smyrna.georgia.telco.example");
    let outcome = at_root(&words);
    insta::assert_snapshot!("ingress_shard", outcome);
    let json = at_root(&format!("{words} -o json")).json();
    assert_eq!(
        fields(&json),
        BTreeSet::from(["ingress_controller", "rule", "route_label", "nodes", "haproxy"])
    );
    assert_eq!(json["route_label"], json!("type=smyrna-route"));
    // Added to the site, it is placed on the site's machines and nowhere else.
    let folder = Folder::new();
    folder.write("shard.yaml", &outcome.stdout);
    let check = at_root(&format!("ingress check {SITE} -f {} -o json", folder.path().display())).json();
    assert_eq!(names(&check[1]["nodes"]), ["smyrgaear01", "smyrgaear02", "smyrgaear03"]);
    assert_eq!(codes(&check[1]["findings"]), ["ingress-overlap"]);
    let unknown = at_root(&format!("ingress shard {SITE} --remote smirna --domain x.example"));
    insta::assert_snapshot!("shard_unknown", unknown);
}

/// The path of `haproxy`. Without it the comparison does not run, which fails where the tools are required.
fn haproxy() -> Option<&'static str> {
    let path = "/usr/sbin/haproxy";
    let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
    if Path::new(path).exists() {
        return Some(path);
    }
    assert!(!required, "{path} is missing (Debian package `haproxy`)");
    None
}

#[test]
fn haproxy_accepts_the_configuration() {
    let Some(haproxy) = haproxy() else { return };
    let folder = Folder::new();
    let file = folder.path().join("haproxy.cfg");
    let outcome = at_root(&format!(
        "ingress shard {SITE} --remote smyrna --domain apps-smyrna.georgia.telco.example --haproxy {}",
        file.display()
    ));
    assert_eq!(outcome.exit, 0, "{outcome}");
    let verdict = Command::new(haproxy).args(["-c", "-f"]).arg(&file).output().unwrap();
    let said = String::from_utf8_lossy(&verdict.stderr).into_owned() + &String::from_utf8_lossy(&verdict.stdout);
    assert!(verdict.status.success(), "{said}");
    assert!(!said.contains("WARNING"), "{said}");
    // What is broken is refused, so the verdict means something.
    let text = std::fs::read_to_string(&file)
        .unwrap()
        .replace("\nbackend routers-https\n", "\nbackend elsewhere\n");
    std::fs::write(&file, text).unwrap();
    assert!(
        !Command::new(haproxy)
            .args(["-c", "-f"])
            .arg(&file)
            .output()
            .unwrap()
            .status
            .success()
    );
}

#[test]
fn an_address_of_the_central_network_is_refused_on_the_remote_worker() {
    let outcome = at_root(&format!("egress plan {} -o json", fixture("egress")));
    assert_eq!(outcome.exit, 1, "{outcome}");
    let json = outcome.json();
    assert_eq!(fields(&json), BTreeSet::from(["addresses", "label", "findings"]));
    let central = &json["addresses"][1];
    assert_eq!(
        fields(central),
        BTreeSet::from([
            "egressip", "address", "feasible", "refused", "greedy", "best", "findings"
        ])
    );
    assert_eq!(
        (&central["address"], &central["best"]),
        (&json!("10.19.3.50"), &Value::Null)
    );
    let reason = |node: &str| {
        let refused = central["refused"].as_array().unwrap();
        refused.iter().find(|entry| entry["node"] == node).unwrap()["reason"].clone()
    };
    assert_eq!(
        reason("smyrgaear01"),
        json!("no network of the node contains 10.19.3.50: it is in 10.19.142.0/24")
    );
    assert_eq!(
        reason("atlngamaw01"),
        json!("it is not labelled k8s.ovn.org/egress-assignable")
    );
    assert_eq!(codes(&central["findings"]), ["egress-unlabelled"]);
    // The proposal: a machine of the network, beside the one that is labelled already.
    let label = names(&json["label"]);
    assert_eq!(label, ["atlngamai01", "smyrgaear01"]);
    assert!(
        central["findings"][0]["help"]
            .as_str()
            .unwrap()
            .starts_with("label atlngamai01")
    );
    // Followed, it works.
    let folder = Folder::new();
    let rule = at_root(&format!("egress plan {} --write", fixture("egress"))).stdout;
    folder.write("rule.yaml", &rule);
    let after = at_root(&format!(
        "egress plan {} -f {} -o json",
        fixture("egress"),
        folder.path().display()
    ))
    .json();
    assert_eq!(after["addresses"][1]["best"], json!("atlngamai01"));
    assert_eq!(after["addresses"][1]["greedy"], json!("atlngamai01"));
    // A second run proposes the same.
    assert_eq!(after["label"], json["label"]);
}

#[test]
fn an_address_of_the_remote_network_is_placed_on_the_remote_worker() {
    for words in [
        format!("egress plan {SITE} -o json"),
        format!("egress plan {SITE} {NODES} -o json"),
    ] {
        let json = at_root(&words).json();
        let remote = &json["addresses"][0];
        assert_eq!(remote["address"], json!("10.19.142.253"));
        assert_eq!(remote["best"], json!("smyrgaear01"), "{words}");
        assert_eq!(remote["greedy"], json!("smyrgaear01"), "{words}");
        assert_eq!(names(&remote["feasible"]), ["smyrgaear01", "smyrgaear02"]);
    }
}

#[test]
fn verify_says_what_would_move() {
    let words =
        format!("egress verify {SITE} {NODES} --observed crates/berth/tests/fixtures/remote-workers/observed.yaml");
    insta::assert_snapshot!("egress_verify", at_root(&words));
    let json = at_root(&format!("{words} -o json")).json();
    assert_eq!(
        fields(&json["addresses"][0]),
        BTreeSet::from(["egressip", "address", "node", "best", "stays", "to", "reason"])
    );
    assert_eq!(
        fields(&json),
        BTreeSet::from(["addresses", "routers", "controllers", "reboots"])
    );
    assert_eq!(json["addresses"][0]["to"], json!("smyrgaear01"));
    assert_eq!(json["routers"][0]["stays"], json!(true));
    assert_eq!(
        json["routers"][1]["reason"],
        json!("its controller does not select the node; it runs on until it is started again")
    );
}

/// Before a relabelling: which addresses and connections would move.
#[test]
fn verify_says_what_a_relabelling_would_move() {
    let observed = "--observed crates/berth/tests/fixtures/remote-workers/hosted.yaml";
    let nodes = "--nodes crates/berth/tests/fixtures/remote-workers/live.yaml";
    let words = |relabel: &str| format!("egress verify {SITE} {nodes} {observed} {relabel}");
    // As it is, everything stays: the labels that would change are not those that carry traffic.
    let quiet = at_root(&words("--relabel atlngamai01=telco.example/note=x"));
    assert_eq!(quiet.exit, 0, "{quiet}");
    insta::assert_snapshot!(
        "relabel_egress",
        at_root(&words("--relabel smyrgaear01=k8s.ovn.org/egress-assignable-"))
    );
    // Into another pool: the node reboots, and what is on it moves whatever its labels.
    let pool = at_root(&words(
        "--relabel atlngamai01=node-role.kubernetes.io/infra- --relabel atlngamai01=node-role.kubernetes.io/worker= -o json",
    ))
    .json();
    assert_eq!(pool["reboots"], json!(["atlngamai01"]));
    assert_eq!(pool["routers"][0]["stays"], json!(false));
    for (relabel, message) in [
        ("--relabel atlngami01=a=b", "is not known"),
        ("--relabel atlngamai01", "write NODE=KEY=VALUE"),
        ("--relabel atlngamai01=", "write NODE=KEY=VALUE"),
        ("--relabel =a=b", "write NODE=KEY=VALUE"),
        ("--relabel atlngamai01=a=b/c", "a valid label must be"),
        ("--relabel atlngamai01=a/b/c=d", "a valid label key must"),
    ] {
        let outcome = at_root(&words(relabel));
        assert_eq!(outcome.exit, 2, "{outcome}");
        assert!(outcome.stderr.contains(message), "{outcome}");
    }
}

/// A Node as `oc get nodes -o yaml` prints it, with the label that the platform gave it at registration.
fn installed(name: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Node\nmetadata:\n  name: {name}\n  labels: {{kubernetes.io/hostname: {name}, \
         node.openshift.io/remote-worker: \"\", telco.example/pool: worker-rwn}}\nstatus:\n  conditions: [{{type: Ready, status: \"True\"}}]\n"
    )
}

/// The platform owns the empty label of an installed node: the shard says what to run.
#[test]
fn a_shard_on_installed_nodes_says_how_their_label_gets_its_value() {
    let folder = Folder::new();
    folder.write(
        "nodes.yaml",
        ["smyrgaear01", "smyrgaear02", "smyrgaear03"]
            .map(installed)
            .join("---\n"),
    );
    let words = format!(
        "ingress shard {SITE} --nodes {}/nodes.yaml --remote smyrna --domain apps-smyrna.georgia.telco.example",
        folder.path().display()
    );
    let outcome = at_root(&words);
    let command = "oc label node smyrgaear02 node.openshift.io/remote-worker=smyrna --overwrite";
    assert!(outcome.stdout.contains(&format!("#   {command}\n")), "{outcome}");
    assert!(outcome.stderr.contains("3 installed nodes"), "{outcome}");
    let json = at_root(&format!("{words} -o json")).json();
    assert_eq!(json["commands"][1], json!(command));
    // Run, there is nothing left to say.
    folder.write(
        "nodes.yaml",
        ["smyrgaear01", "smyrgaear02", "smyrgaear03"]
            .map(|name| installed(name).replace("remote-worker: \"\"", "remote-worker: smyrna"))
            .join("---\n"),
    );
    let after = at_root(&words);
    assert!(!after.stdout.contains("oc label"), "{after}");
}

fn node_document(name: &str) -> String {
    format!("apiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {{name: {name}}}\nspec: {{}}\n---\n")
}

fn controller_by_names(names: &str) -> String {
    format!(
        "apiVersion: operator.openshift.io/v1\nkind: IngressController\nmetadata: {{name: central, namespace: \
         openshift-ingress-operator}}\nspec:\n  nodePlacement:\n    nodeSelector:\n      matchExpressions:\n      - {{key: \
         kubernetes.io/hostname, operator: In, values: [{names}]}}\n"
    )
}

/// Short names where the nodes have long ones.
#[test]
fn a_rewrite_never_prints_a_rule_for_no_node() {
    let folder = Folder::new();
    let nodes = ["w0.telco.example", "w1.telco.example"].map(node_document).concat();
    // A list of one name can be converted, and selects as little.
    for names in ["w0, w1", "w0"] {
        folder.write("site.yaml", nodes.clone() + &controller_by_names(names));
        let made = folder.line("ingress rewrite -f site.yaml");
        assert_eq!(made.exit, 0, "{made}");
        assert!(made.stdout.contains("w0\\.telco\\.example"), "{made}");
        assert!(made.stderr.contains("`w0`, which no node has"), "{made}");
    }
    for names in ["x0, x1", "x0"] {
        folder.write("site.yaml", nodes.clone() + &controller_by_names(names));
        let refused = folder.line("ingress rewrite -f site.yaml");
        assert_eq!(refused.exit, 1, "{refused}");
        assert!(!refused.stdout.contains("namePatterns"), "{refused}");
        assert!(refused.stderr.contains("selects no node"), "{refused}");
    }
    folder.write("site.yaml", nodes + &controller_by_names("w0.telco.example"));
    let fine = folder.line("ingress rewrite -f site.yaml");
    assert_eq!(fine.exit, 0, "{fine}");
    assert!(fine.stderr.contains("nothing to rewrite"), "{fine}");
}

/// Where no node is known that could host an address, the plan says so.
#[test]
fn a_plan_without_a_node_that_fits_is_not_silent() {
    let folder = Folder::new();
    let egress = "apiVersion: k8s.ovn.org/v1\nkind: EgressIP\nmetadata: {name: shop}\nspec:\n  egressIPs: [10.19.3.50]\n  \
                  namespaceSelector: {matchLabels: {team: shop}}\n";
    for (site, words) in [
        (egress.to_owned(), "there are no nodes"),
        (node_document("w0") + egress, "no network of any node is known"),
    ] {
        folder.write("site.yaml", site);
        let plan = folder.line("egress plan -f site.yaml");
        assert_eq!(plan.exit, 1, "{plan}");
        assert!(plan.stderr.contains(words), "{plan}");
        let rule = folder.line("egress plan -f site.yaml --write");
        assert_eq!((rule.exit, rule.stdout.as_str()), (1, ""), "{rule}");
    }
}
