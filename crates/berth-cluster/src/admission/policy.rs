//! The policies as objects.

use berth_labels::Flavour;
use berth_site::{Pool, Site};
use serde_json::{Value, json};

use super::{
    FailurePolicy, LeftOut,
    cel::{accepts, all, any, pointer, quote},
    rules::{Addition, RulesInCel, rules},
};
use crate::names;

/// The name of the policy that gives labels, and of its binding.
pub const LABELS_POLICY: &str = "berth-node-labels";
/// The name of the policy that refuses claims, and of its binding.
pub const CLAIMS_POLICY: &str = "berth-pool-claims";
/// The name of the roster.
pub const ROSTER: &str = "places";

const GROUP: &str = "admissionregistration.k8s.io/v1";
/// The pool that every OpenShift machine may be in: custom pools build on it, and nothing is gained by claiming it.
pub(super) const BASE_POOL: &str = "worker";

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
    objects.extend(claims_policy(site, &rules, failure).into_iter().flatten());
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

/// The kubelets' own requests, as far as they say something about labels: heartbeats need no answer.
pub(crate) fn labels_of_kubelets() -> Value {
    let labels = |object: &str| format!("(has({object}.metadata.labels) ? {object}.metadata.labels : {{}})");
    let changed = format!("{} != {}", labels("object"), labels("oldObject"));
    json!([
        {"name": "kubelet", "expression": "'system:nodes' in request.userInfo.groups"},
        {"name": "labels", "expression": format!("request.operation == 'CREATE' || {changed}")},
    ])
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

/// Refuses a kubelet that puts itself into a pool which is not its place. Labels that were there before it came are not
/// its claim.
fn claims_policy(site: &Site, rules: &RulesInCel, failure: FailurePolicy) -> Option<Vec<Value>> {
    let validations: Vec<Value> = site
        .pools
        .iter()
        .filter(|pool| !rules.vague_pools.iter().any(|vague| pool.name.value.as_ref() == vague))
        .filter_map(|pool| {
            let name = quote(&pool.name.value);
            let (now, before) = (claim(pool, "variables.labels")?, claim(pool, "variables.before")?);
            let message = format!(
                "'node ' + variables.name + ' claims the labels of pool ' + {name} + ', which is not reserved for it' + \
                 (variables.place == '' ? '' : ' (its place is in pool ' + variables.place + ')') + \
                 '; correct its --node-labels, or reserve the place with a Berth'"
            );
            let given = rules.given.iter().filter(|(given, _)| pool.name.value.as_ref() == given);
            let given: Vec<String> = given.map(|(_, condition)| condition.clone()).collect();
            let by_rules = format!("!variables.reserved && ({})", any(&given));
            Some(json!({
                "expression": format!("!({now}) || ({before}) || variables.place == {name} || ({by_rules})"),
                "messageExpression": message,
                "message": format!("the labels of pool {} are not for this node", pool.name.value),
                "reason": "Forbidden",
            }))
        })
        .collect();
    if validations.is_empty() {
        return None;
    }
    let mut variables = variables(rules);
    variables.extend(place());
    variables.push(json!({
        "name": "labels",
        "expression": "has(object.metadata.labels) ? object.metadata.labels : {}",
    }));
    variables.push(json!({
        "name": "before",
        "expression": "request.operation == 'UPDATE' && has(oldObject.metadata.labels) ? oldObject.metadata.labels : {}",
    }));
    Some(vec![
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
    ])
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

/// The roster as an object to apply.
pub fn roster<'a>(places: impl IntoIterator<Item = (&'a str, &'a str)>) -> Value {
    let places: serde_json::Map<String, Value> = places
        .into_iter()
        .map(|(node, pool)| (node.to_owned(), Value::from(pool)))
        .collect();
    json!({
        "apiVersion": "berth.dev/v1alpha1",
        "kind": "Roster",
        "metadata": {"name": ROSTER, "labels": {"app.kubernetes.io/part-of": "berth", names::MANAGED: "true"}},
        "spec": {"places": places},
    })
}
