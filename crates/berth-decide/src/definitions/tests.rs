use berth_site::Resolver;

use super::*;
use berth_resources::BerthSpec;

const SITE: &str = r#"
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata:
  name: infra
  annotations: {berth.dev/node-labels: "tier=infra"}
spec:
  nodeSelector: {matchLabels: {node-role.kubernetes.io/infra: ""}}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec:
  nodeSelector: {matchLabels: {node-role.kubernetes.io/worker: ""}}
---
apiVersion: berth.dev/v1alpha1
kind: LabelRule
metadata: {name: place}
spec:
  match: {namePatterns: ['(?<place>[a-z]{3})-w[0-9]+']}
  labels: {telco.example/place: "${place | upper}"}
---
apiVersion: berth.dev/v1alpha1
kind: LabelRule
metadata: {name: edge}
spec:
  match: {namePatterns: ['edg-.*']}
  pool: worker
---
apiVersion: berth.dev/v1alpha1
kind: Berth
metadata: {name: atl-w1}
spec: {pool: infra, labels: {telco.example/rack: r1}}
---
apiVersion: berth.dev/v1alpha1
kind: Berth
metadata: {name: edg-w2}
spec: {labels: {telco.example/place: HERE}}
---
apiVersion: berth.dev/v1alpha1
kind: Berth
metadata: {name: odd}
spec: {nodeName: atl-w3, pool: infar}
"#;

/// What the command line does with a file.
fn from_file() -> Vec<(String, Answer)> {
    let (sources, site, _) = site_of(DocumentSet::from_iter([("site.yaml", SITE)]));
    let resolver = Resolver::new(&site, Flavour::Upstream);
    let resolutions = resolver.resolve_all();
    resolutions
        .iter()
        .map(|resolution| (resolution.node.to_string(), answer(&sources, resolution)))
        .collect()
}

/// What the controllers do with the same objects.
fn from_cluster() -> Vec<(String, Answer)> {
    let set = DocumentSet::from_iter([("site.yaml", SITE)]);
    let objects: Vec<Value> = set.documents.iter().map(|document| document.root.to_json()).collect();
    let is_berth = |object: &&Value| object["kind"] == "Berth";
    let berths: Vec<Berth> = objects
        .iter()
        .filter(is_berth)
        .map(|object| {
            let spec: BerthSpec = serde_json::from_value(object["spec"].clone()).unwrap();
            let mut berth = Berth::new(object["metadata"]["name"].as_str().unwrap(), spec);
            berth.metadata.resource_version = Some("7".to_owned());
            berth
        })
        .collect();
    let mut definitions = Definitions::new(objects.iter().filter(|object| !is_berth(object)), Flavour::Upstream);
    let names: Vec<String> = berths.iter().map(Berth::node_name).collect();
    let questions: Vec<Question<'_>> = berths
        .iter()
        .zip(&names)
        .map(|(berth, node)| Question {
            node,
            berth: Some(berth),
            pin: None,
            live: None,
        })
        .collect();
    let answers = definitions.resolve(&questions);
    let mut answers: Vec<(String, Answer)> = names.into_iter().zip(answers).collect();
    answers.sort_by(|left, right| left.0.cmp(&right.0));
    answers
}

#[test]
fn the_cluster_gets_the_answers_that_files_get() {
    let places = |mut answers: Vec<(String, Answer)>| {
        for (_, answer) in &mut answers {
            // The place of a finding is a file there and an object here; its words are the same.
            for finding in &mut answer.findings {
                finding.object.clear();
                finding.field.clear();
            }
        }
        answers
    };
    let expected = places(from_file());
    assert_eq!(expected.len(), 3);
    assert_eq!(expected[0].1.labels.len(), 4);
    assert!(expected[1].1.error().is_some(), "there is no pool infar");
    assert_eq!(places(from_cluster()), expected);
}

#[test]
fn one_object_is_judged_as_lint_judges_it() {
    let object = |spec: Value| json!({"apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": "x"}, "spec": spec});
    let wrong = validate(&object(json!({"match": {"namePatterns": ["("]}, "labels": {"a": "b"}})));
    assert_eq!(wrong[0].code, "invalid-pattern");
    assert_eq!(wrong[0].place(), "LabelRule/x spec.match.namePatterns[0]");
    assert_eq!(
        validate(&object(
            json!({"match": {"namePatterns": [".*"]}, "labels": {"a": "b"}})
        )),
        []
    );
}

#[test]
fn a_rule_is_judged_with_the_patterns_of_all_rules() {
    let rule = |name: &str, pattern: &str| {
        json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": "LabelRule", "metadata": {"name": name},
            "spec": {"match": {"namePatterns": [pattern]}, "labels": {"a": "b"}},
        })
    };
    let large = "(a{40}){99}";
    let others: Vec<Value> = (0..24).map(|number| rule(&format!("r{number:02}"), large)).collect();
    assert_eq!(validate_rule(&others, &rule("plain", "n.*"), None), []);
    // Each is right alone, and one more is too much: for itself, or for another whose name comes later.
    for (name, refused) in [("r99", "LabelRule/r99"), ("a", "LabelRule/r23")] {
        let findings = validate_rule(&others, &rule(name, large), None);
        let found: Vec<_> = findings
            .iter()
            .map(|finding| (finding.object.as_str(), finding.code))
            .collect();
        assert_eq!(found, [(refused, "invalid-pattern")], "{findings:?}");
    }
    // What is too much already keeps nobody from changing something else.
    let mut more = others.clone();
    more.push(rule("r98", large));
    more.push(rule("plain", "n.*"));
    assert_eq!(validate_rule(&more, &rule("plain", "m.*"), more.last()), []);
}
