//! Rules and policies in CEL: what is refused by them, and what is refused of them.

use std::{fmt::Write as _, time::Duration};

use berth_testing::Identity;
use serde_json::{Value, json};

use super::{APPLY, MERGE, Talk};
use crate::support::Cluster;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(plural: &str, kind: &str, schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.example.dev")},
        "spec": {
            "group": "example.dev", "scope": "Cluster", "names": {"plural": plural, "kind": kind},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    })
}

/// Rules that cannot be read, and rules about what is not there.
pub(super) async fn definitions_with_wrong_rules_are_answered(cluster: &mut Cluster) {
    let mut talk = Talk::with(cluster.client_of(&Identity::admin()).await);
    for rule in [
        json!({"rule": "self.a =="}),
        json!({"rule": " "}),
        json!({"rule": "slef.a == 'x'"}),
        json!({"rule": "self.a.strartsWith('x')"}),
        json!({"rule": "foo(self.a) && self.l.all(x, y == 1)"}),
        json!({"rule": "self.l.all(x)"}),
        json!({"rule": "self.a == 'x' 1"}),
        json!({"rule": "(self.a == 'x'"}),
        json!({"rule": "self.a == 'x' && && true", "message": "m"}),
        json!({"rule": "self.a = 'x'"}),
        json!({"rule": "self.a == 'x"}),
        json!({"rule": "self."}),
        json!({"rule": "self.l[0"}),
        json!({"rule": "[1"}),
        json!({"rule": "{'a': 1"}),
        json!({"rule": "self.a == 'x' ? true"}),
        json!({"rule": "self.a.matches('(')"}),
        json!({"rule": "has(self)"}),
        json!({"rule": "for == 1"}),
        json!({"rule": "self.zz == 1 || self.l.all(x, x.y == 1)"}),
        json!({"rule": "self.a + 1 == '' && has(self.yy)"}),
        json!({"rule": "self.a"}),
        json!({"rule": "self.a.startsWith(1) || self.a > 1"}),
        json!({"rule": "oldSelf.l[0] == 1"}),
        json!({"rule": "true", "messageExpression": "1"}),
        json!({"rule": "true", "messageExpression": "self.b"}),
        json!({"rule": "true", "messageExpression": "self.a +"}),
        json!({"rule": "true", "reason": "Foo"}),
        json!({"rule": "true", "fieldPath": ".zz"}),
        json!({"rule": "true", "optionalOldSelf": true}),
        json!({"rule": "true", "message": " "}),
        json!({"rule": "true\n|| false"}),
    ] {
        let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
            "a": {"type": "string", "maxLength": 20},
            "l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 9}},
        }, "x-kubernetes-validations": [rule]}}});
        talk.create(DEFINITIONS, definition("wrongs", "Wrong", &schema)).await;
    }
    talk.end("wrong-rules");
}

fn ships() -> Value {
    json!({"type": "object", "x-kubernetes-validations": [{"rule": "self.metadata.name != 'wrong'", "message": "wrong name"}], "properties": {
        "status": {"type": "object", "properties": {"phase": {"type": "string", "maxLength": 9,
            "x-kubernetes-validations": [{"rule": "self != 'Bad'", "message": "no such phase"}]}}},
        "spec": {"type": "object", "properties": {
            "a": {"type": "string", "maxLength": 20, "x-kubernetes-validations": [{"rule": "self != 'own'", "message": "own"}]},
            "n": {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 100", "messageExpression": "'n is %d'.format([self])"}]},
            "b": {"type": "boolean", "x-kubernetes-validations": [{"rule": "self"}]},
            "l": {"type": "array", "maxItems": 5, "x-kubernetes-validations": [{"rule": "self.all(i, i != 'z')", "message": "no z"}],
                "items": {"type": "string", "maxLength": 9, "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "no x"}]}},
            "m": {"type": "object", "maxProperties": 5, "additionalProperties": {"type": "string", "maxLength": 5,
                "x-kubernetes-validations": [{"rule": "self != 'q'", "message": "no q"}]}},
            "either": {"x-kubernetes-int-or-string": true},
            "dash-ed": {"type": "string", "maxLength": 3},
            "since": {"type": "string", "format": "date-time"},
            "num": {"type": "number", "x-kubernetes-validations": [{"rule": "self < 100.0"}]},
            "set": {"type": "array", "x-kubernetes-list-type": "set", "maxItems": 4, "items": {"type": "string", "maxLength": 3}},
            "decks": {"type": "array", "maxItems": 4, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "required": ["k"], "properties": {"k": {"type": "string", "maxLength": 4},
                    "v": {"type": "integer", "x-kubernetes-validations": [{"rule": "self >= oldSelf", "message": "v only grows"}]}}}},
        }, "x-kubernetes-validations": [
            {"rule": "!has(self.a) || self.a != 'bad'", "message": "a is bad"},
            {"rule": "!has(self.a) || self.a != 'bad2'"},
            {"rule": "!has(self.a) || self.a != 'forbidden'", "messageExpression": "'a is ' + self.a", "fieldPath": ".a",
                "reason": "FieldValueForbidden"},
            {"rule": "!has(self.a) || self.a != 'required'", "message": "m", "reason": "FieldValueRequired", "fieldPath": ".a"},
            {"rule": "!has(self.a) || self.a != 'twice'", "message": "m", "reason": "FieldValueDuplicate", "fieldPath": ".a"},
            {"rule": "!has(self.a) || self.a != 'silent'", "messageExpression": "self.l[7]"},
            {"rule": "!has(self.a) || self.a != 'key' || self.m['zz'] == 'x'"},
            {"rule": "!has(self.a) || self.a != 'key2' || self.m['zz'] == 'x'", "message": "a message"},
            {"rule": "!has(self.a) || self.a != 'index' || self.l[9] == 'x'"},
            {"rule": "!has(self.a) || self.a != 'zero' || 1 / self.n == 1"},
            {"rule": "!has(self.a) || self.a != 'optional' || self.?m['a'].orValue('') == 'b'", "message": "optional"},
            {"rule": "!has(self.either) || self.either > 3", "message": "more than 3"},
            {"rule": "!has(oldSelf.n) || self.n == oldSelf.n", "message": "n cannot change"},
            {"rule": "oldSelf.hasValue() || !has(self.a) || self.a != 'new'", "optionalOldSelf": true, "message": "not for new ones"},
            {"rule": "!has(self.dash__dash__ed) || self.dash__dash__ed != 'x'"},
            {"rule": "!has(self.since) || self.since > timestamp('2020-01-01T00:00:00Z')", "message": "too old"},
            {"rule": "!has(self.num) || self.num > 1.5", "message": "more than 1.5"},
            {"rule": "!has(self.set) || self.set == ['a', 'b'] || size(self.set) != 2", "message": "a and b"},
        ]},
    }})
}

fn ship(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "example.dev/v1", "kind": "Ship", "metadata": {"name": name}, "spec": spec})
}

/// What rules refuse, when something is made, changed, applied, and in its status.
pub(super) async fn rules_are_answered(cluster: &mut Cluster) {
    cluster.define(definition("ships", "Ship", &ships())).await;
    let mut talk = Talk::with(cluster.client_of(&Identity::admin()).await);
    let path = "/apis/example.dev/v1/ships";
    for spec in [
        json!({"a": "bad"}),
        json!({"a": "bad2"}),
        json!({"a": "forbidden"}),
        json!({"a": "required"}),
        json!({"a": "twice"}),
        json!({"a": "silent"}),
        json!({"a": "key", "m": {}}),
        json!({"a": "key2", "m": {}}),
        json!({"a": "index", "l": []}),
        json!({"a": "zero", "n": 0}),
        json!({"a": "optional", "m": {"a": "c"}}),
        json!({"either": "x"}),
        json!({"either": 2}),
        json!({"a": "new"}),
        json!({"dash-ed": "x"}),
        json!({"since": "2019-01-01T00:00:00Z"}),
        json!({"num": 1}),
        json!({"num": 200}),
        json!({"num": 200.5}),
        json!({"set": ["b", "c"]}),
        json!({"a": "own"}),
        json!({"n": 100}),
        json!({"b": false}),
        json!({"l": ["x", "z"]}),
        json!({"m": {"k/l.m": "q"}}),
        json!({"n": "x", "a": "bad"}),
    ] {
        talk.create(path, ship("s1", &spec)).await;
    }
    talk.create(path, ship("wrong", &json!({}))).await;
    let fine = json!({"n": 1, "l": ["a"], "set": ["b", "a"], "decks": [{"k": "x", "v": 3}]});
    talk.create(path, ship("s1", &fine)).await;
    let s1 = format!("{path}/s1");
    for spec in [
        json!({"n": 2}),
        json!({"decks": [{"k": "y", "v": 1}, {"k": "x", "v": 2}]}),
        json!({"decks": [{"k": "y", "v": 1}, {"k": "x", "v": 4}]}),
        json!({"a": "new"}),
        json!({"a": "bad"}),
    ] {
        talk.patch(&s1, MERGE, json!({"spec": spec})).await;
    }
    talk.patch(
        &format!("{s1}?fieldManager=one"),
        APPLY,
        ship("s1", &json!({"m": {"a": "q"}})),
    )
    .await;
    talk.patch(
        &format!("{path}/s2?fieldManager=one"),
        APPLY,
        ship("s2", &json!({"a": "own"})),
    )
    .await;
    talk.patch(&format!("{s1}/status"), MERGE, json!({"status": {"phase": "Bad"}}))
        .await;
    talk.patch(&format!("{s1}/status"), MERGE, json!({"status": {"phase": "Good"}}))
        .await;

    // A rule that came later does not hold for what was there before and stays as it is.
    let mut stricter = ships();
    stricter["properties"]["spec"]["properties"]["l"]["x-kubernetes-validations"] =
        json!([{"rule": "self.all(i, i != 'a')", "message": "no a"}]);
    let versions = definition("ships", "Ship", &stricter)["spec"]["versions"].clone();
    let change = json!({"spec": {"versions": versions}});
    talk.patch(&format!("{DEFINITIONS}/ships.example.dev"), MERGE, change)
        .await;
    let end = talk.text.trim_end().rfind("\nPATCH").expect("lines");
    talk.text.truncate(end + 1);
    for _ in 0..600 {
        let mut aside = Talk::with(talk.client.clone());
        let probe = ship("s3", &json!({"l": ["a"]}));
        if aside.create(&format!("{path}?dryRun=All"), probe).await.is_null() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    writeln!(talk.text, "with a stricter rule").expect("text");
    talk.warned("PATCH", &s1, MERGE, json!({"spec": {"b": true}})).await;
    talk.patch(&s1, MERGE, json!({"spec": {"l": ["a", "b"]}})).await;
    talk.delete(&s1).await;
    talk.end("rules");
}

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";

fn policy(kind: &str, name: &str, spec: &Value) -> Value {
    let mut whole = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"],
        }]}},
    });
    for (key, value) in spec.as_object().expect("a spec") {
        whole["spec"][key] = value.clone();
    }
    whole
}

fn binding(kind: &str, name: &str, spec: &Value) -> Value {
    let mut whole = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
        "spec": {"policyName": name},
    });
    for (key, value) in spec.as_object().expect("a spec") {
        whole["spec"][key] = value.clone();
    }
    whole
}

/// Policies that cannot be read, and those with parts missing.
pub(super) async fn wrong_policies_are_answered(cluster: &mut Cluster) {
    let mut talk = Talk::with(cluster.client_of(&Identity::admin()).await);
    let validating = format!("{GROUP}/validatingadmissionpolicies");
    for spec in [
        json!({}),
        json!({"validations": [{"expression": "object.a =="}]}),
        json!({"validations": [{"expression": " "}]}),
        json!({"validations": [{"expression": "objekt.a == 1 && params.x == 1", "reason": "Foo"}]}),
        json!({"validations": [{"expression": "true", "messageExpression": "'a' +", "message": " "}]}),
        json!({"validations": [{"expression": "true", "message": "a\nb"}]}),
        json!({"validations": [{"expression": "variables.x"}]}),
        json!({"validations": [{"expression": "object.a"}, {"expression": "'x'"}]}),
        json!({"validations": [{"expression": "request.zz == 1 || request.userInfo.groups == 'x'", "messageExpression": "1"}]}),
        json!({"variables": [{"name": "s", "expression": "'x'"}],
            "validations": [{"expression": "variables.s == 1"}, {"expression": "variables.zz == 1"}]}),
        json!({"validations": [{"expression": "true"}], "matchConditions": [{"name": "", "expression": "request.foo("}]}),
        json!({"validations": [{"expression": "true"}], "variables": [{"name": "not-a-name", "expression": "nope"}]}),
        json!({"validations": [{"expression": "true"}], "matchConstraints": {}}),
        json!({"validations": [{"expression": "true"}], "paramKind": {"apiVersion": "", "kind": ""}}),
    ] {
        talk.create(&validating, policy("ValidatingAdmissionPolicy", "wrong", &spec))
            .await;
    }
    let mutating = format!("{GROUP}/mutatingadmissionpolicies");
    for spec in [
        json!({}),
        json!({"reinvocationPolicy": "Never", "mutations": [{}]}),
        json!({"reinvocationPolicy": "Never", "mutations": [{"patchType": "JSONPatch"}]}),
        json!({"reinvocationPolicy": "Never", "mutations": [{"patchType": "Other"}]}),
        json!({"reinvocationPolicy": "Never", "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{"}}]}),
        json!({"reinvocationPolicy": "Never", "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": " "}}]}),
    ] {
        talk.create(&mutating, policy("MutatingAdmissionPolicy", "wrong", &spec))
            .await;
    }
    let bindings = format!("{GROUP}/validatingadmissionpolicybindings");
    for spec in [
        json!({}),
        json!({"policyName": "", "validationActions": ["Deny"]}),
        json!({"validationActions": ["Deny", "Warn"]}),
        json!({"validationActions": ["Refuse", "Audit"]}),
        json!({"validationActions": ["Deny"], "paramRef": {"parameterNotFoundAction": "Deny"}}),
        json!({"validationActions": ["Deny"], "paramRef": {"name": "a"}}),
    ] {
        talk.create(&bindings, binding("ValidatingAdmissionPolicyBinding", "wrong", &spec))
            .await;
    }
    talk.end("wrong-policies");
}

/// The policies of [`policies_are_answered`]: their plural, and what is made.
fn policies() -> Vec<(&'static str, Value)> {
    let refuses = json!({
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "matchConstraints": {
            "objectSelector": {"matchExpressions": [{"key": "spared", "operator": "DoesNotExist"}]},
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
            "resourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
                "operations": ["CREATE", "UPDATE", "DELETE"],
            }],
            "excludeResourceRules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"],
                "resourceNames": ["excluded", "talk-params"],
            }],
        },
        "matchConditions": [{"name": "not-meant", "expression": "!has(request.name) || request.name != 'not-meant'"}],
        "variables": [
            {"name": "data", "expression": "object != null && has(object.data) ? object.data : {}"},
            {"name": "broken", "expression": "variables.data['none']"},
        ],
        "validations": [
            {"expression": "!('bad' in variables.data)"},
            {"expression": "!('said' in variables.data)", "message": "said so"},
            {"expression": "!('who' in variables.data)", "message": "nobody", "reason": "Forbidden",
                "messageExpression": "request.operation + ' of ' + object.metadata.name + ' by ' + request.userInfo.username"},
            {"expression": "!('key' in variables.data) || object.data.none == 'x'"},
            {"expression": "!('variable' in variables.data) || variables.broken == 'x'"},
            {"expression": "!('large' in variables.data)", "reason": "RequestEntityTooLarge", "message": "too large"},
            {"expression": "!('limit' in variables.data) || int(variables.data.limit) <= int(params.data.limit)",
                "messageExpression": "'more than ' + params.data.limit"},
            {"expression": "request.operation != 'UPDATE' || !has(oldObject.data) || !('fixed' in oldObject.data) || \
                'fixed' in variables.data && variables.data.fixed == oldObject.data.fixed", "message": "it is fixed"},
            {"expression": "request.operation != 'DELETE' || !has(oldObject.data) || !('kept' in oldObject.data)",
                "message": "it is kept"},
            {"expression": "namespaceObject.metadata.name == 'default'"},
        ],
    });
    let gives = json!({
        "reinvocationPolicy": "Never",
        "matchConditions": [{"name": "meant", "expression": "object.metadata.name.startsWith('given')"}],
        "variables": [{"name": "size", "expression": "has(object.data) ? string(object.data.size()) : '0'"}],
        "mutations": [
            {"patchType": "JSONPatch", "jsonPatch": {"expression": "has(object.metadata.labels) ? [] : \
                [JSONPatch{op: 'add', path: '/metadata/labels', value: {'first': 'yes'}}]"}},
            {"patchType": "JSONPatch", "jsonPatch": {"expression":
                "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('example.com/size'), value: variables.size}]"}},
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression":
                "Object{metadata: Object.metadata{annotations: {'by': request.userInfo.username}}}"}},
            {"patchType": "JSONPatch", "jsonPatch": {"expression": "has(object.data) && 'wrong' in object.data ? \
                [JSONPatch{op: 'test', path: '/data/wrong', value: object.data.nothing}] : []"}},
        ],
    });
    let bound = json!({
        "validationActions": ["Deny"],
        "paramRef": {"name": "talk-params", "namespace": "default", "parameterNotFoundAction": "Deny"},
    });
    let warns =
        json!({"validations": [{"expression": "!object.metadata.name.startsWith('warn')", "message": "a warning"}]});
    vec![
        (
            "validatingadmissionpolicies",
            policy("ValidatingAdmissionPolicy", "talk-refuses", &refuses),
        ),
        (
            "validatingadmissionpolicybindings",
            binding("ValidatingAdmissionPolicyBinding", "talk-refuses", &bound),
        ),
        (
            "validatingadmissionpolicies",
            policy("ValidatingAdmissionPolicy", "talk-warns", &warns),
        ),
        (
            "validatingadmissionpolicybindings",
            binding(
                "ValidatingAdmissionPolicyBinding",
                "talk-warns",
                &json!({"validationActions": ["Warn", "Audit"]}),
            ),
        ),
        (
            "mutatingadmissionpolicies",
            policy("MutatingAdmissionPolicy", "talk-gives", &gives),
        ),
        (
            "mutatingadmissionpolicybindings",
            binding("MutatingAdmissionPolicyBinding", "talk-gives", &json!({})),
        ),
    ]
}

fn config(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
}

/// Waits until the policies are at work, which they are a moment after they were made.
async fn at_work(talk: &Talk) {
    let dry = format!("{CONFIGS}?dryRun=All");
    for _ in 0..600 {
        let mut aside = Talk::with(talk.client.clone());
        let refused = aside
            .create(&dry, config("probe", &json!({"limit": "7"})))
            .await
            .is_null()
            && aside.text.contains("more than 5");
        let given = aside.create(&dry, config("given-probe", &json!({}))).await;
        let mut warned = Talk::with(talk.client.clone());
        warned
            .warned("POST", &dry, super::PLAIN, config("warn-probe", &json!({})))
            .await;
        if refused && given["metadata"]["labels"]["first"] == "yes" && warned.text.contains("299") {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the policies never came to work");
}

/// What policies refuse, change and warn of.
pub(super) async fn policies_are_answered(cluster: &mut Cluster) {
    let mut talk = Talk::with(cluster.client_of(&Identity::admin()).await);
    talk.create(CONFIGS, config("talk-params", &json!({"limit": "5"})))
        .await;
    for (plural, object) in policies() {
        talk.create(&format!("{GROUP}/{plural}"), object).await;
    }
    at_work(&talk).await;
    for data in [
        json!({"bad": ""}),
        json!({"said": ""}),
        json!({"who": ""}),
        json!({"key": ""}),
        json!({"variable": ""}),
        json!({"large": ""}),
        json!({"limit": "6"}),
        json!({"limit": "x"}),
        json!({"said": "", "bad": ""}),
    ] {
        talk.create(CONFIGS, config("c1", &data)).await;
    }
    talk.create(CONFIGS, config("c1", &json!({"fixed": "1", "kept": "", "limit": "5"})))
        .await;
    let c1 = format!("{CONFIGS}/c1");
    talk.patch(&c1, MERGE, json!({"data": {"fixed": "2"}})).await;
    talk.patch(
        &format!("{c1}?fieldManager=one"),
        APPLY,
        config("c1", &json!({"bad": ""})),
    )
    .await;
    talk.delete(&c1).await;
    talk.create(CONFIGS, config("excluded", &json!({"bad": ""}))).await;
    talk.create(CONFIGS, config("not-meant", &json!({"bad": ""}))).await;
    let mut spared = config("spared", &json!({"bad": ""}));
    spared["metadata"]["labels"] = json!({"spared": ""});
    talk.create(CONFIGS, spared).await;
    talk.create(
        "/api/v1/namespaces/kube-public/configmaps",
        config("elsewhere", &json!({"bad": ""})),
    )
    .await;
    talk.warned("POST", CONFIGS, super::PLAIN, config("warned", &json!({})))
        .await;

    talk.create(CONFIGS, config("given", &json!({"a": "1", "b": "2"})))
        .await;
    talk.create(CONFIGS, config("given-wrong", &json!({"wrong": ""}))).await;
    talk.patch(&format!("{CONFIGS}/given"), MERGE, json!({"data": {"c": "3"}}))
        .await;

    for (plural, object) in policies().iter().rev() {
        let name = object["metadata"]["name"].as_str().expect("a name");
        let mut aside = Talk::with(talk.client.clone());
        aside.delete(&format!("{GROUP}/{plural}/{name}")).await;
    }
    talk.end("policies");
}
