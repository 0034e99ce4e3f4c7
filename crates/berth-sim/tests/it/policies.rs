//! Admission policies: they are at work when they are there, and after a restart.

use berth_sim::Cluster;
use serde_json::{Value, json};

use crate::program::options;

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn configs() -> Value {
    json!({"resourceRules": [{
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"],
    }]})
}

fn config(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}})
}

fn labels(cluster: &Cluster, name: &str) -> Value {
    let all = cluster.objects("", "v1", "configmaps");
    let found = all.iter().find(|object| object["metadata"]["name"] == name);
    found.unwrap()["metadata"]["labels"].clone()
}

#[tokio::test]
async fn policies_are_at_work_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = Cluster::open(options(), folder.path()).await.unwrap();
    for policy in [
        object(
            "ValidatingAdmissionPolicy",
            "refuses",
            &json!({"matchConstraints": configs(), "validations": [{"expression": "object.metadata.name != 'bad'"}]}),
        ),
        object(
            "ValidatingAdmissionPolicyBinding",
            "refuses",
            &json!({"policyName": "refuses", "validationActions": ["Deny"]}),
        ),
        object(
            "MutatingAdmissionPolicy",
            "gives",
            &json!({
                "matchConstraints": configs(), "reinvocationPolicy": "Never",
                "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {
                    "expression": "Object{metadata: Object.metadata{labels: {'name': object.metadata.name}}}",
                }}],
            }),
        ),
        object(
            "MutatingAdmissionPolicyBinding",
            "gives",
            &json!({"policyName": "gives"}),
        ),
    ] {
        cluster.apply(&policy).await.unwrap();
    }
    cluster.apply(&config("one")).await.unwrap();
    assert_eq!(labels(&cluster, "one"), json!({"name": "one"}));
    drop(cluster);

    let cluster = Cluster::open(options(), folder.path()).await.unwrap();
    cluster.apply(&config("two")).await.unwrap();
    assert_eq!(labels(&cluster, "two"), json!({"name": "two"}));
    let refused = cluster.apply(&config("bad")).await.unwrap_err();
    assert_eq!(refused.code, 422);
    assert_eq!(
        refused.message,
        "configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy 'refuses' with binding 'refuses' denied request: failed \
         expression: object.metadata.name != 'bad'"
    );
}

#[tokio::test]
async fn a_policy_that_cannot_be_evaluated_does_as_its_failure_policy_says() {
    for (failure, taken) in [("Fail", false), ("Ignore", true)] {
        let cluster = Cluster::new(options());
        for policy in [
            object(
                "ValidatingAdmissionPolicy",
                "broken",
                &json!({
                    "matchConstraints": configs(), "failurePolicy": failure,
                    // A part of the language that is not evaluated here.
                    "validations": [{"expression": "authorizer.path('/healthz').check('get').allowed()"}],
                }),
            ),
            object(
                "ValidatingAdmissionPolicyBinding",
                "broken",
                &json!({"policyName": "broken", "validationActions": ["Deny"]}),
            ),
        ] {
            cluster.apply(&policy).await.unwrap();
        }
        let answer = cluster.apply(&config("one")).await;
        assert_eq!(answer.is_ok(), taken, "{failure}: {answer:?}");
    }
}

#[tokio::test]
async fn a_type_that_does_not_fit_and_a_list_that_is_one_value_are_not_applied() {
    for (expression, why) in [
        (
            "Object{metadata: Object.data{labels: {'a': 'b'}}}",
            "type mismatch: unexpected type name \"Object.data\", expected \"Object.metadata\", which matches field name \
             path from root Object type",
        ),
        (
            "Object{metadata: Object.metadata{managedFields: [Object.metadata.managedFields{manager: 'x'}]}}",
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: \
             .metadata.managedFields",
        ),
    ] {
        let cluster = Cluster::new(options());
        for policy in [
            object(
                "MutatingAdmissionPolicy",
                "gives",
                &json!({
                    "matchConstraints": configs(), "reinvocationPolicy": "Never",
                    "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}],
                }),
            ),
            object(
                "MutatingAdmissionPolicyBinding",
                "gives",
                &json!({"policyName": "gives"}),
            ),
        ] {
            cluster.apply(&policy).await.unwrap();
        }
        let refused = cluster.apply(&config("one")).await.unwrap_err();
        assert_eq!(
            refused.message,
            format!("policy 'gives' with binding 'gives' denied request: {why}")
        );
    }
}
