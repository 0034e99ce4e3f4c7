//! Whether somebody else approves what Berth would deny.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
    rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule},
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, PostParams},
};

use super::{Checks, Health};
use crate::missing::is_missing;

/// Everybody with a bootstrap token of Berth is in these groups, and in no others.
const GROUPS: [&str; 2] = ["system:bootstrappers", "system:authenticated"];
/// The groups of tokens that others make begin so, such as kubeadm's.
const OTHER_TOKENS: &str = "system:bootstrappers:";
/// Whoever may create this gets requests approved by kube-controller-manager, for whatever node they are.
const NODE_CLIENT: (&str, &str, &str) = ("certificates.k8s.io", "certificatesigningrequests", "nodeclient");

/// kube-controller-manager approves the request of a kubelet if the requester may create `nodeclient`. Were that so for bootstrap
/// tokens, each of them would get the certificate of every machine, whatever it is bound to. The tokens of others count too: a
/// name that is bound to a token of Berth must not be had with a token that is bound to nothing.
pub(super) async fn approvers(client: &Client, checks: &mut Checks) -> kube::Result<()> {
    let (group, resource, subresource) = NODE_CLIENT;
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some("system:bootstrap:berth0".to_owned()),
            groups: Some(GROUPS.map(str::to_owned).to_vec()),
            resource_attributes: Some(ResourceAttributes {
                group: Some(group.to_owned()),
                resource: Some(resource.to_owned()),
                subresource: Some(subresource.to_owned()),
                verb: Some("create".to_owned()),
                version: Some("*".to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = match reviews.create(&PostParams::default(), &review).await {
        Ok(answer) => answer,
        Err(kube::Error::Api(status)) if status.is_forbidden() => {
            checks.add(
                "approvers",
                Health::Note,
                "you may not ask what machines with bootstrap tokens may do",
                "run `berth doctor` as an administrator",
            );
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let is_allowed = answer.status.is_some_and(|status| status.allowed);
    let found = bindings(client).await?;
    let (bindings, groups) = match &found {
        Some(found) if found.is_empty() && !is_allowed => {
            checks.ok(
                "approvers",
                "nobody else approves requests that are made with bootstrap tokens",
            );
            return Ok(());
        }
        None if !is_allowed => {
            checks.add(
                "approvers",
                Health::Note,
                "you may not see which groups of bootstrap tokens kube-controller-manager approves requests of",
                "run `berth doctor` as an administrator",
            );
            return Ok(());
        }
        Some(found) if !found.is_empty() => {
            let names: Vec<&str> = found.keys().map(String::as_str).collect();
            let groups: BTreeSet<&str> = found.values().flatten().map(String::as_str).collect();
            (names.join(" "), groups.into_iter().collect::<Vec<_>>().join(" and "))
        }
        _ => (String::new(), GROUPS.join(" and ")),
    };
    let advice = if bindings.is_empty() {
        format!("take the right to create {resource}/{subresource} from {groups}")
    } else {
        format!("kubectl delete clusterrolebinding {bindings}")
    };
    checks.add(
        "approvers",
        Health::Warning,
        format!(
            "kube-controller-manager approves every request that is made with a bootstrap token of {groups}: a machine gets the \
             certificate of any other, whatever its token is bound to"
        ),
        advice,
    );
    Ok(())
}

/// The bindings that give bootstrap tokens the right, and to which groups; nothing where that may not be seen.
async fn bindings(client: &Client) -> kube::Result<Option<BTreeMap<String, Vec<String>>>> {
    let roles: Api<ClusterRole> = Api::all(client.clone());
    let bindings: Api<ClusterRoleBinding> = Api::all(client.clone());
    let all = ListParams::default();
    let (roles, bindings) = match tokio::try_join!(roles.list(&all), bindings.list(&all)) {
        Ok(lists) => lists,
        // An API server without RBAC has no bindings.
        Err(kube::Error::Api(status)) if is_missing(&status) => return Ok(Some(BTreeMap::new())),
        Err(kube::Error::Api(status)) if status.is_forbidden() => return Ok(None),
        Err(error) => return Err(error),
    };
    let giving: BTreeSet<String> = roles
        .items
        .iter()
        .filter(|role| role.rules.iter().flatten().any(gives))
        .map(ClusterRole::name_any)
        .collect();
    let found = bindings.items.iter().filter(|it| giving.contains(&it.role_ref.name));
    let found = found.map(|binding| (binding.name_any(), groups(binding)));
    Ok(Some(found.filter(|(_, groups)| !groups.is_empty()).collect()))
}

/// The groups of bootstrap tokens among those that a binding is for.
fn groups(binding: &ClusterRoleBinding) -> Vec<String> {
    let subjects = binding.subjects.iter().flatten();
    let names = subjects.filter(|subject| subject.kind == "Group").map(|it| &it.name);
    names
        .filter(|name| GROUPS.contains(&name.as_str()) || name.starts_with(OTHER_TOKENS))
        .cloned()
        .collect()
}

/// Whether a rule gives the right. kube-controller-manager asks for no single name.
fn gives(rule: &PolicyRule) -> bool {
    let (group, resource, subresource) = NODE_CLIENT;
    let has = |list: Option<&Vec<String>>, wanted: &[&str]| {
        list.is_some_and(|list| list.iter().any(|it| it == "*" || wanted.contains(&it.as_str())))
    };
    let resources = [format!("{resource}/{subresource}"), format!("*/{subresource}")];
    has(Some(&rule.verbs), &["create"])
        && has(rule.api_groups.as_ref(), &[group])
        && has(rule.resources.as_ref(), &resources.each_ref().map(String::as_str))
        && rule.resource_names.as_ref().is_none_or(Vec::is_empty)
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;
    use crate::doctor::Check;

    fn binding(name: &str, role: &str, group: &str) -> Value {
        json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
        })
    }

    fn role(name: &str, verbs: &[&str], groups: &[&str], resources: &[&str]) -> Value {
        json!({"metadata": {"name": name}, "rules": [{"verbs": verbs, "apiGroups": groups, "resources": resources}]})
    }

    const ROLE: &str = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";

    /// The checks where the API server has these bindings.
    async fn checked(allowed: bool, bindings: Vec<Value>) -> Vec<Check> {
        let service = tower::service_fn(move |request: Request<Body>| {
            let bindings = bindings.clone();
            async move {
                let path = request.uri().path().to_owned();
                let list = |kind: &str, items: Vec<Value>| json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": {}, "items": items});
                let answer = if path.ends_with("/subjectaccessreviews") {
                    let sent: Value = serde_json::from_slice(&request.into_body().collect_bytes().await?)?;
                    assert_eq!(sent["spec"]["resourceAttributes"]["subresource"], "nodeclient");
                    assert_eq!(sent["spec"]["groups"], json!(GROUPS));
                    json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": sent["spec"],
                           "status": {"allowed": allowed}})
                } else if path.ends_with("/clusterroles") {
                    let (certificates, requests) = (&["certificates.k8s.io"], "certificatesigningrequests");
                    let roles = vec![
                        role(
                            ROLE,
                            &["create"],
                            certificates,
                            &["certificatesigningrequests/nodeclient"],
                        ),
                        role("everything", &["*"], &["*"], &["*"]),
                        role("approved-clients", &["get", "create"], certificates, &["*/nodeclient"]),
                        role(
                            "system:node-bootstrapper",
                            &["create", "get"],
                            certificates,
                            &[requests],
                        ),
                        role("watching", &["get"], &["*"], &["*"]),
                    ];
                    list("ClusterRoleList", roles)
                } else {
                    list("ClusterRoleBindingList", bindings)
                };
                Ok::<_, tower::BoxError>(Response::new(Body::from(answer.to_string().into_bytes())))
            }
        });
        let mut checks = Checks::default();
        approvers(&Client::new(service, "default"), &mut checks).await.unwrap();
        checks.0
    }

    #[tokio::test]
    async fn an_approver_that_makes_bindings_worthless_is_named() {
        let kubeadm = "system:bootstrappers:kubeadm:default-node-token";
        for (group, role) in [
            ("system:bootstrappers", ROLE),
            (kubeadm, ROLE),
            (kubeadm, "approved-clients"),
            ("system:authenticated", "everything"),
        ] {
            // What the API server says of Berth's own tokens is not all.
            let harmless = binding("asking", "system:node-bootstrapper", kubeadm);
            let [check] = checked(false, vec![harmless, binding("all-tokens", role, group)])
                .await
                .try_into()
                .unwrap();
            assert_eq!((check.check.as_str(), check.health), ("approvers", Health::Warning));
            assert_eq!(check.advice, "kubectl delete clusterrolebinding all-tokens");
            assert!(check.message.contains(group), "{}", check.message);
        }
        let [check] = checked(true, Vec::new()).await.try_into().unwrap();
        assert_eq!(check.health, Health::Warning);
        assert!(check.advice.starts_with("take the right"), "{}", check.advice);
        let harmless = vec![
            binding("asking", "system:node-bootstrapper", "system:bootstrappers"),
            binding("watching", "watching", "system:authenticated"),
            binding("administrators", "everything", "system:masters"),
            binding("lookalike", ROLE, "system:bootstrappers-of-another-kind"),
        ];
        let [check] = checked(false, harmless).await.try_into().unwrap();
        assert_eq!((check.health, check.advice.as_str()), (Health::Ok, ""));
    }
}
