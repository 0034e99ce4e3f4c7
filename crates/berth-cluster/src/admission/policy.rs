//! The policies as objects.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::Flavour;
use berth_site::{Pool, Site};
use serde_json::{Value, json};

use super::{
    FailurePolicy, LeftOut,
    cel::{accepts, all, any, pointer, quote},
    rules::{Addition, RulesInCel, rules},
};
use berth_decide::names;

/// The name of the policy that gives labels, and of its binding.
pub const LABELS_POLICY: &str = "berth-node-labels";
/// The name of the policy that refuses claims, and of its binding.
pub const CLAIMS_POLICY: &str = "berth-pool-claims";
/// The name of the roster.
pub const ROSTER: &str = "places";

const GROUP: &str = "admissionregistration.k8s.io/v1";
/// The pool that every OpenShift machine may be in: custom pools build on it, and nothing is gained by claiming it.
pub(super) const BASE_POOL: &str = "worker";
/// Pools whose labels OpenShift's own units give to kubelets. A machine that nobody reserved may come with them: a new
/// control-plane machine could not join otherwise.
pub(super) const BUILT_IN_POOLS: [&str; 3] = ["master", "control-plane", "arbiter"];
/// What the annotations begin with that are not a kubelet's to write.
pub(super) const ANNOTATIONS: &str = "berth.dev/";

/// So many labels a Node of a kubelet may have. Real ones have some dozens; with more of them judging would cost more than
/// the API server allows.
pub(super) const MOST_LABELS: usize = 1000;

/// What a cluster's policies should be.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policies {
    /// The policies and their bindings.
    pub objects: Vec<Value>,
    /// Rules and labels that are not in them.
    pub left_out: Vec<LeftOut>,
}

/// Writes the policies of a site. The same site gives the same objects.
pub fn policies(site: &Site, flavour: Flavour, failure: FailurePolicy) -> Policies {
    let rules = rules(site, flavour);
    let mut objects = Vec::new();
    if !rules.additions.is_empty() {
        objects.extend(labels_policy(&rules, failure));
    }
    objects.extend(claims_policy(site, &rules, failure));
    Policies {
        objects,
        left_out: rules.left_out,
    }
}

fn metadata(name: &str) -> Value {
    json!({"name": name, "labels": {"app.kubernetes.io/part-of": "berth"}})
}

fn nodes(resources: &[&str], operations: &[&str]) -> Value {
    json!({"resourceRules": [{
        "apiGroups": [""], "apiVersions": ["v1"], "resources": resources, "operations": operations,
    }]})
}

fn kubelets() -> Value {
    json!([{"name": "kubelet", "expression": "'system:nodes' in request.userInfo.groups"}])
}

/// The kubelets' own requests, as far as they say something about labels and annotations: heartbeats need no answer.
pub(crate) fn labels_of_kubelets() -> Value {
    let changed = |field: &str| {
        let of = |object: &str| format!("(has({object}.metadata.{field}) ? {object}.metadata.{field} : {{}})");
        format!("{} != {}", of("object"), of("oldObject"))
    };
    let (labels, annotations) = (changed("labels"), changed("annotations"));
    json!([
        {"name": "kubelet", "expression": "'system:nodes' in request.userInfo.groups"},
        {"name": "labels", "expression": format!("request.operation == 'CREATE' || {labels} || {annotations}")},
    ])
}

/// The labels that pools give, as `key=value`, with the pools that give each of them. The labels of the kubelet itself are
/// nobody's claim, and neither is what the base pool demands.
pub(crate) fn labels_of_pools(site: &Site) -> BTreeMap<String, Vec<String>> {
    let mut labels: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for pool in &site.pools {
        let name = pool.name.value.as_ref();
        let explicit = pool.explicit.iter().filter_map(|declared| {
            let value = declared.value.as_ref()?;
            Some((declared.key.as_str(), value.as_str()))
        });
        let implicit = pool.implicit.iter().filter(|_| name != BASE_POOL);
        let implicit = implicit.flat_map(|implicit| implicit.labels.iter());
        let implicit = implicit.map(|(key, value)| (key.as_str(), value.as_str()));
        for (key, value) in explicit.chain(implicit) {
            if names::KUBELET_LABELS.contains(&key) {
                continue;
            }
            let pools = labels.entry(label_text(key, value)).or_default();
            if !pools.iter().any(|known| known == name) {
                pools.push(name.to_owned());
            }
        }
    }
    labels
}

/// A label as one text.
pub(crate) fn label_text(key: &str, value: &str) -> String {
    format!("{key}={value}")
}

fn roster_kind() -> Value {
    json!({"apiVersion": "berth.dev/v1alpha1", "kind": "Roster"})
}

fn roster_reference() -> Value {
    json!({"name": ROSTER, "parameterNotFoundAction": "Allow"})
}

/// Who is in the roster: `reserved` and, if so, the pool `place`. Without that, what the rules say.
fn place() -> Vec<Value> {
    let reserved = "has(params.spec) && has(params.spec.places) && variables.name in params.spec.places";
    vec![
        json!({"name": "reserved", "expression": reserved}),
        json!({"name": "place", "expression": "variables.reserved ? params.spec.places[variables.name] : variables.pool"}),
    ]
}

fn variables(rules: &RulesInCel) -> Vec<Value> {
    let all = rules.variables.iter();
    all.map(|variable| json!({"name": variable.name, "expression": variable.expression}))
        .collect()
}

fn labels_policy(rules: &RulesInCel, failure: FailurePolicy) -> Vec<Value> {
    let mut variables = variables(rules);
    variables.extend(place());
    let mutations: Vec<Value> = rules
        .additions
        .iter()
        .map(|addition| patch(&expression(addition)))
        .collect();
    vec![
        json!({
            "apiVersion": GROUP,
            "kind": "MutatingAdmissionPolicy",
            "metadata": metadata(LABELS_POLICY),
            "spec": {
                "failurePolicy": failure.as_str(),
                "reinvocationPolicy": "Never",
                "paramKind": roster_kind(),
                "matchConstraints": nodes(&["nodes"], &["CREATE"]),
                "matchConditions": kubelets(),
                "variables": variables,
                "mutations": mutations,
            },
        }),
        json!({
            "apiVersion": GROUP,
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": metadata(LABELS_POLICY),
            "spec": {"policyName": LABELS_POLICY, "paramRef": roster_reference()},
        }),
    ]
}

fn patch(expression: &str) -> Value {
    json!({"patchType": "JSONPatch", "jsonPatch": {"expression": expression}})
}

fn expression(addition: &Addition) -> String {
    let add = |key: &str, value: &str| {
        let path = quote(&format!("/metadata/labels/{}", pointer(key)));
        format!("JSONPatch{{op: 'add', path: {path}, value: {value}}}")
    };
    let when = format!("!variables.reserved && {}", addition.when);
    let certain: Vec<String> = addition
        .labels
        .iter()
        .filter(|(_, guard, _)| guard.is_none())
        .map(|(key, _, value)| add(key.as_str(), value))
        .collect();
    // Every step makes sure of the map: one that is empty does not survive between two of them.
    let mut terms = vec![format!(
        "({when} && !has(object.metadata.labels) ? [JSONPatch{{op: 'add', path: '/metadata/labels', value: {{}}}}] : [])"
    )];
    if !certain.is_empty() {
        terms.push(format!("({when} ? [{}] : [])", certain.join(", ")));
    }
    for (key, guard, value) in &addition.labels {
        if let Some(guard) = guard {
            terms.push(format!("({when} && {guard} ? [{}] : [])", add(key.as_str(), value)));
        }
    }
    terms.join(" + ")
}

/// Refuses a kubelet that puts itself into a pool which is not its place, that takes single labels of another pool than the
/// one its place is in, or that writes what Berth notes on its Node. What was there before it came is not its claim.
fn claims_policy(site: &Site, rules: &RulesInCel, failure: FailurePolicy) -> [Value; 2] {
    let mut validations: Vec<Value> = site.pools.iter().filter_map(|pool| pool_claim(pool, rules)).collect();
    let pools = labels_of_pools(site);
    if !pools.is_empty() {
        validations.push(label_claim());
    }
    validations.push(annotation_claim());
    let mut variables = variables(rules);
    variables.extend(place());
    variables.extend(labels_before_and_after());
    if !pools.is_empty() {
        variables.extend(labels_of_others(&pools));
    }
    [
        json!({
            "apiVersion": GROUP,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata(CLAIMS_POLICY),
            "spec": {
                "failurePolicy": failure.as_str(),
                "paramKind": roster_kind(),
                // A kubelet changes its labels through the status, too.
                "matchConstraints": nodes(&["nodes", "nodes/status"], &["CREATE", "UPDATE"]),
                "matchConditions": labels_of_kubelets(),
                "variables": variables,
                "validations": validations,
            },
        }),
        json!({
            "apiVersion": GROUP,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata(CLAIMS_POLICY),
            "spec": {
                "policyName": CLAIMS_POLICY,
                "validationActions": ["Deny"],
                "paramRef": roster_reference(),
            },
        }),
    ]
}

/// The validation of one pool: who has all that it demands and has no place there.
fn pool_claim(pool: &Pool, rules: &RulesInCel) -> Option<Value> {
    let name = quote(&pool.name.value);
    let (now, before) = (claim(pool, "variables.labels")?, claim(pool, "variables.before")?);
    let vague = rules.vague_pools.iter().any(|vague| pool.name.value.as_ref() == vague);
    let given = if vague || BUILT_IN_POOLS.contains(&pool.name.value.as_ref()) {
        // Of machines that nobody reserved nothing is known here, or it is not Berth's business.
        "true".to_owned()
    } else {
        let given = rules
            .given
            .iter()
            .filter(|(given, _)| pool.name.value.as_ref() == given);
        any(&given.map(|(_, condition)| condition.clone()).collect::<Vec<_>>())
    };
    let by_rules = format!("!variables.reserved && ({given})");
    let message = format!(
        "'node ' + variables.name + ' claims the labels of pool ' + {name} + ', which is not reserved for it' + \
         {PLACE_TEXT} + '; correct its --node-labels, or reserve the place with a Berth'"
    );
    Some(json!({
        "expression": format!("!({now}) || ({before}) || variables.place == {name} || ({by_rules})"),
        "messageExpression": message,
        "message": format!("the labels of pool {} are not for this node", pool.name.value),
        "reason": "Forbidden",
    }))
}

/// Where the place is, as far as that is known.
const PLACE_TEXT: &str = "(variables.place == '' ? '' : ' (its place is in pool ' + variables.place + ')')";

/// A reserved machine takes no single label of another pool either, unless it was declared for it.
fn label_claim() -> Value {
    json!({
        "expression": "!variables.reserved || size(variables.taken) == 0",
        "messageExpression": format!(
            "'node ' + variables.name + ' claims the label ' + variables.taken[0] + ' of pool ' + \
             variables.owners[variables.taken[0]][0] + ', which is not reserved for it' + {PLACE_TEXT} + \
             '; correct its --node-labels, or declare the label in its Berth'"
        ),
        "message": "a label of another pool is not for this node",
        "reason": "Forbidden",
    })
}

/// What Berth notes on a Node is evidence of what Berth did, and not the kubelet's to write.
fn annotation_claim() -> Value {
    let ours = format!("k.startsWith({})", quote(ANNOTATIONS));
    json!({
        "expression": format!(
            "variables.notes.all(k, !{ours} || (k in variables.notesBefore && \
             variables.notesBefore[k] == variables.notes[k])) && \
             variables.notesBefore.all(k, !{ours} || k in variables.notes)"
        ),
        "messageExpression": format!("'node ' + variables.name + {}", quote(ANNOTATION_REFUSAL)),
        "message": "annotations of berth.dev are not the kubelet's to write",
        "reason": "Forbidden",
    })
}

/// The end of the sentence that refuses an annotation; it begins with the node.
pub(super) const ANNOTATION_REFUSAL: &str =
    " writes annotations that begin with berth.dev/; only Berth and administrators may do that";

fn labels_before_and_after() -> Vec<Value> {
    let now = |field: &str| format!("has(object.metadata.{field}) ? object.metadata.{field} : {{}}");
    let before = |field: &str| {
        format!("request.operation == 'UPDATE' && has(oldObject.metadata.{field}) ? oldObject.metadata.{field} : {{}}")
    };
    vec![
        json!({"name": "labels", "expression": now("labels")}),
        json!({"name": "before", "expression": before("labels")}),
        json!({"name": "notes", "expression": now("annotations")}),
        json!({"name": "notesBefore", "expression": before("annotations")}),
    ]
}

/// `taken`: the labels of other pools that the kubelet adds and that nobody declared for it.
fn labels_of_others(pools: &BTreeMap<String, Vec<String>>) -> Vec<Value> {
    let list = |texts: &mut dyn Iterator<Item = &String>| {
        let quoted: Vec<String> = texts.map(|text| quote(text)).collect();
        format!("[{}]", quoted.join(", "))
    };
    let owners: Vec<String> = pools
        .iter()
        .map(|(label, pools)| format!("{}: {}", quote(label), list(&mut pools.iter())))
        .collect();
    let own = "has(params.spec) && has(params.spec.labels) && variables.name in params.spec.labels ? \
               params.spec.labels[variables.name] : []";
    let taken = "variables.given.filter(l, l in variables.claims && !(l in variables.claimsBefore) && \
                 !(variables.place in variables.owners[l]) && !(l in variables.own))";
    vec![
        // In a fixed order, which a map has not.
        json!({"name": "given", "expression": list(&mut pools.keys())}),
        json!({"name": "owners", "expression": format!("{{{}}}", owners.join(", "))}),
        json!({"name": "claims", "expression": "variables.labels.map(k, k + '=' + variables.labels[k])"}),
        json!({"name": "claimsBefore", "expression": "variables.before.map(k, k + '=' + variables.before[k])"}),
        json!({"name": "own", "expression": own}),
        json!({"name": "taken", "expression": taken}),
    ]
}

/// Whether labels satisfy a pool; `None` where that says nothing, because every Node without labels would.
fn claim(pool: &Pool, labels: &str) -> Option<String> {
    if pool.name.value.as_ref() == BASE_POOL {
        return None;
    }
    let selector = pool.node_selector.as_ref()?.value.compile().ok()?;
    if selector.matches_with(|_| None) || selector.requirements().is_empty() {
        return None;
    }
    let requirements: Vec<String> = selector
        .requirements()
        .iter()
        .map(|requirement| accepts(requirement, labels))
        .collect();
    Some(all(&requirements))
}

/// Every object that a cluster may have of this, so that those which are not wanted any more can go.
pub fn all_names() -> [(&'static str, &'static str, &'static str); 4] {
    [
        (
            "MutatingAdmissionPolicyBinding",
            "mutatingadmissionpolicybindings",
            LABELS_POLICY,
        ),
        (
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
            CLAIMS_POLICY,
        ),
        ("MutatingAdmissionPolicy", "mutatingadmissionpolicies", LABELS_POLICY),
        (
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
            CLAIMS_POLICY,
        ),
    ]
}

/// The roster as an object to apply: the pools of nodes, and labels of other pools that are declared for nodes all the same.
pub fn roster<'a>(
    places: impl IntoIterator<Item = (&'a str, &'a str)>,
    labels: impl IntoIterator<Item = (&'a str, &'a BTreeSet<String>)>,
) -> Value {
    let places: serde_json::Map<String, Value> = places
        .into_iter()
        .map(|(node, pool)| (node.to_owned(), Value::from(pool)))
        .collect();
    let labels: serde_json::Map<String, Value> = labels
        .into_iter()
        .map(|(node, labels)| (node.to_owned(), json!(labels)))
        .collect();
    let mut spec = json!({"places": places});
    if !labels.is_empty() {
        spec["labels"] = Value::Object(labels);
    }
    json!({
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "Roster",
        "metadata": {"name": ROSTER, "labels": {"app.kubernetes.io/part-of": "berth", names::MANAGED: "true"}},
        "spec": spec,
    })
}
