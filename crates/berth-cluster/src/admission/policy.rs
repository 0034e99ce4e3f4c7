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
/// The name of the policy that needs no roster, and of its binding: it keeps kubelets from what Berth notes on Nodes.
pub const NOTES_POLICY: &str = "berth-node-notes";
/// The name of the roster.
pub const ROSTER: &str = "places";

const GROUP: &str = "admissionregistration.k8s.io/v1";
/// The pool that every OpenShift machine may be in: custom pools build on it, and nothing is gained by claiming it.
pub(super) const BASE_POOL: &str = berth_pools::WORKER;
/// What the annotations begin with that are not a kubelet's to write.
pub(super) const ANNOTATIONS: &str = names::PREFIX;

/// So many labels, and so many annotations, a Node of a kubelet may have. Real ones have some dozens. Judging more of them
/// would cost more than the API server allows, and then it would let the Node in unjudged.
pub(super) const MOST_ENTRIES: usize = 1000;

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
    objects.extend(notes_policy(failure));
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

/// Who is in the roster: `reserved` and, if so, the pool `place`, which may not be known. Without that, what the rules say.
fn place() -> Vec<Value> {
    let reserved = "has(params.spec) && has(params.spec.places) && variables.name in params.spec.places";
    vec![
        json!({"name": "reserved", "expression": reserved}),
        json!({"name": "place", "expression": "variables.reserved ? params.spec.places[variables.name] : variables.pool"}),
        json!({"name": "registrable", "expression": listed("registrable", "request.operation == 'CREATE' && ")}),
        // A reservation without a pool says nothing about pools.
        json!({"name": "placed", "expression": "variables.reserved && variables.place != ''"}),
    ]
}

/// The labels that the roster lists for the node.
fn listed(field: &str, when: &str) -> String {
    let map = format!("params.spec.{field}");
    format!("{when}has(params.spec) && has({map}) && variables.name in {map} ? {map}[variables.name] : []")
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

/// Refuses a kubelet with a place that puts itself into another pool or takes single labels of one, and one without a place that
/// puts itself into a pool which is reserved-only. Everything else is the platform's business. What was there before it came is not its
/// claim.
fn claims_policy(site: &Site, rules: &RulesInCel, failure: FailurePolicy) -> [Value; 2] {
    let mut validations = vec![few("labels")];
    validations.extend(site.pools.iter().filter_map(|pool| pool_claim(pool, rules)));
    let pools = labels_of_pools(site);
    if !pools.is_empty() {
        validations.push(label_claim());
    }
    let mut variables = variables(rules);
    variables.extend(place());
    variables.extend(before_and_after("labels", "labels", "before"));
    if !pools.is_empty() {
        variables.extend(labels_of_others(&pools));
    }
    let mut objects = validating(CLAIMS_POLICY, failure, &variables, &validations);
    objects[0]["spec"]["paramKind"] = roster_kind();
    objects[1]["spec"]["paramRef"] = roster_reference();
    objects
}

/// Refuses a kubelet that writes what Berth notes on its Node. A policy of its own, because one with a parameter says nothing
/// when the parameter is missing. It is the same for every site, and protects whatever else admits Nodes.
pub(crate) fn notes_policy(failure: FailurePolicy) -> [Value; 2] {
    let mut variables = vec![json!({"name": "name", "expression": "object.metadata.name"})];
    variables.extend(before_and_after("annotations", "notes", "notesBefore"));
    let validations = [few("labels"), few("annotations"), annotation_claim()];
    validating(NOTES_POLICY, failure, &variables, &validations)
}

/// A policy about kubelets' Nodes, and its binding.
fn validating(name: &str, failure: FailurePolicy, variables: &[Value], validations: &[Value]) -> [Value; 2] {
    [
        json!({
            "apiVersion": GROUP,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata(name),
            "spec": {
                "failurePolicy": failure.as_str(),
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
            "metadata": metadata(name),
            "spec": {"policyName": name, "validationActions": ["Deny"]},
        }),
    ]
}

/// The validation of one pool: who has all that it demands and has no place there.
fn pool_claim(pool: &Pool, rules: &RulesInCel) -> Option<Value> {
    let name = quote(&pool.name.value);
    let (now, before) = (claim(pool, "variables.labels")?, claim(pool, "variables.before")?);
    let vague = rules.vague_pools.iter().any(|vague| pool.name.value.as_ref() == vague);
    let given = if vague || !pool.reserved_only {
        // Of machines without a place nothing is known here, or anybody may register in the pool.
        "true".to_owned()
    } else {
        let given = rules
            .given
            .iter()
            .filter(|(given, _)| pool.name.value.as_ref() == given);
        any(&given.map(|(_, condition)| condition.clone()).collect::<Vec<_>>())
    };
    let by_rules = format!("!variables.placed && ({given})");
    // Such a Node is put right when it is there.
    let demanded = pool.implicit.iter().flat_map(|implicit| implicit.labels.iter());
    let free: Vec<String> = demanded
        .map(|(key, value)| {
            format!(
                "{} in variables.registrable",
                quote(&label_text(key.as_str(), value.as_str()))
            )
        })
        .collect();
    let free = if free.is_empty() {
        "false".to_owned()
    } else {
        all(&free)
    };
    let message = format!(
        "'node ' + variables.name + ' claims the labels of pool ' + {name} + ', which is not reserved for it' + \
         {PLACE_TEXT} + '; correct its --node-labels, or reserve the place with a Berth'"
    );
    Some(json!({
        "expression": format!("!({now}) || ({before}) || variables.place == {name} || ({by_rules}) || ({free})"),
        "messageExpression": message,
        "message": format!("the labels of pool {} are not for this node", pool.name.value),
        "reason": "Forbidden",
    }))
}

/// Where the place is, as far as that is known.
const PLACE_TEXT: &str = "(variables.place == '' ? '' : ' (its place is in pool ' + variables.place + ')')";

/// The first label that is taken, as one text.
const TAKEN: &str = "variables.taken[0][0] + '=' + variables.taken[0][1]";

/// A reserved machine takes no single label of another pool either, unless it was declared for it.
fn label_claim() -> Value {
    json!({
        "expression": "!variables.placed || size(variables.taken) == 0",
        "messageExpression": format!(
            "'node ' + variables.name + ' claims the label ' + {TAKEN} + ' of pool ' + variables.owners[{TAKEN}][0] + \
             ', which is not reserved for it' + {PLACE_TEXT} + \
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

/// Refuses a Node with too many labels or annotations. All other expressions see none of them then: their cost does not
/// depend on what a kubelet sends.
fn few(field: &str) -> Value {
    json!({
        "expression": few_in("object", field),
        "message": format!("the node has more than {MOST_ENTRIES} {field}"),
        "reason": "Forbidden",
    })
}

fn few_in(object: &str, field: &str) -> String {
    format!("!has({object}.metadata.{field}) || size({object}.metadata.{field}) <= {MOST_ENTRIES}")
}

/// Variables for a map of the Node as it is to be and as it was.
fn before_and_after(field: &str, now: &str, before: &str) -> [Value; 2] {
    let map = |object: &str| {
        let few = few_in(object, field);
        format!("has({object}.metadata.{field}) && ({few}) ? {object}.metadata.{field} : {{}}")
    };
    [
        json!({"name": now, "expression": map("object")}),
        json!({"name": before, "expression": format!("request.operation == 'UPDATE' && {}", map("oldObject"))}),
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
    // Each label is looked up in the maps of the Node: a list would be searched, and a kubelet decides how long it is.
    let taken = "variables.given.filter(l, l[0] in variables.labels && variables.labels[l[0]] == l[1] && \
                 !(l[0] in variables.before && variables.before[l[0]] == l[1]) && \
                 !(variables.place in variables.owners[l[0] + '=' + l[1]]) && !(l[0] + '=' + l[1] in variables.own) && !(l[0] + '=' + l[1] in variables.registrable))";
    let given = pools.keys().filter_map(|label| label.split_once('='));
    let given: Vec<String> = given
        .map(|(key, value)| format!("[{}, {}]", quote(key), quote(value)))
        .collect();
    vec![
        // In a fixed order, which a map has not.
        json!({"name": "given", "expression": format!("[{}]", given.join(", "))}),
        json!({"name": "owners", "expression": format!("{{{}}}", owners.join(", "))}),
        json!({"name": "own", "expression": listed("labels", "")}),
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
pub fn all_names() -> [(&'static str, &'static str, &'static str); 6] {
    let (binding, bindings) = ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings");
    let (policy, policies) = ("ValidatingAdmissionPolicy", "validatingadmissionpolicies");
    [
        (
            "MutatingAdmissionPolicyBinding",
            "mutatingadmissionpolicybindings",
            LABELS_POLICY,
        ),
        (binding, bindings, CLAIMS_POLICY),
        (binding, bindings, NOTES_POLICY),
        ("MutatingAdmissionPolicy", "mutatingadmissionpolicies", LABELS_POLICY),
        (policy, policies, CLAIMS_POLICY),
        (policy, policies, NOTES_POLICY),
    ]
}

/// Whether an object is the one of this kind and name.
pub(crate) fn is_named(object: &Value, kind: &str, name: &str) -> bool {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    text("/kind") == Some(kind) && text("/metadata/name") == Some(name)
}

/// The roster as an object to apply: the pools of nodes, labels of other pools that are declared for nodes all the same, and those
/// with which kubelets may create Nodes.
pub fn roster<'a>(
    places: impl IntoIterator<Item = (&'a str, &'a str)>,
    labels: impl IntoIterator<Item = (&'a str, &'a BTreeSet<String>)>,
    registrable: impl IntoIterator<Item = (&'a str, &'a BTreeSet<String>)>,
) -> Value {
    let places: serde_json::Map<String, Value> = places
        .into_iter()
        .map(|(node, pool)| (node.to_owned(), Value::from(pool)))
        .collect();
    let mut spec = json!({"places": places});
    let by_node =
        |labels: &mut dyn Iterator<Item = (&'a str, &'a BTreeSet<String>)>| -> serde_json::Map<String, Value> {
            labels.map(|(node, labels)| (node.to_owned(), json!(labels))).collect()
        };
    let (labels, registrable) = (by_node(&mut labels.into_iter()), by_node(&mut registrable.into_iter()));
    for (field, lists) in [("labels", labels), ("registrable", registrable)] {
        if !lists.is_empty() {
            spec[field] = Value::Object(lists);
        }
    }
    json!({
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "Roster",
        "metadata": {"name": ROSTER, "labels": {"app.kubernetes.io/part-of": "berth", names::MANAGED: "true"}},
        "spec": spec,
    })
}
