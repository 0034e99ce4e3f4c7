//! Whether somebody else approves what Berth would deny.

use k8s_openapi::api::{
    authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec},
    rbac::v1::{ClusterRoleBinding, Subject},
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};

use super::{Checks, Health};
use crate::missing::is_missing;

/// Everybody with a bootstrap token of Berth is in these groups, and in no others.
const GROUPS: [&str; 2] = ["system:bootstrappers", "system:authenticated"];
/// The role by which kube-controller-manager knows whose requests to approve, for whatever node they are.
const NODE_CLIENT: &str = "system:certificates.k8s.io:certificatesigningrequests:nodeclient";

/// kube-controller-manager approves the request of a kubelet if the requester may create `nodeclient`. Were that so for bootstrap
/// tokens, each of them would get the certificate of every machine, whatever it is bound to.
pub(super) async fn approvers(client: &Client, checks: &mut Checks) -> kube::Result<()> {
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some("system:bootstrap:berth0".to_owned()),
            groups: Some(GROUPS.map(str::to_owned).to_vec()),
            resource_attributes: Some(ResourceAttributes {
                group: Some("certificates.k8s.io".to_owned()),
                resource: Some("certificatesigningrequests".to_owned()),
                subresource: Some("nodeclient".to_owned()),
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
    if !answer.status.is_some_and(|status| status.allowed) {
        checks.ok(
            "approvers",
            "nobody else approves requests that are made with bootstrap tokens",
        );
        return Ok(());
    }
    let found = bindings(client).await?;
    let advice = if found.is_empty() {
        format!(
            "take the right to create certificatesigningrequests/nodeclient from {}",
            GROUPS.join(" and ")
        )
    } else {
        format!("kubectl delete clusterrolebinding {}", found.join(" "))
    };
    checks.add(
        "approvers",
        Health::Warning,
        "kube-controller-manager approves every request that is made with a bootstrap token: a machine gets the certificate of \
         any other, whatever its token is bound to",
        advice,
    );
    Ok(())
}

/// The bindings that give the role to machines with bootstrap tokens.
async fn bindings(client: &Client) -> kube::Result<Vec<String>> {
    let api: Api<ClusterRoleBinding> = Api::all(client.clone());
    let all = match api.list(&ListParams::default()).await {
        Ok(all) => all,
        Err(kube::Error::Api(status)) if status.is_forbidden() || is_missing(&status) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names = all.iter().filter(|binding| gives(binding));
    Ok(names.map(kube::ResourceExt::name_any).collect())
}

fn gives(binding: &ClusterRoleBinding) -> bool {
    let is_meant = |subject: &Subject| subject.kind == "Group" && GROUPS.contains(&subject.name.as_str());
    binding.role_ref.name == NODE_CLIENT && binding.subjects.iter().flatten().any(is_meant)
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

    /// The checks where the API server gives these answers.
    async fn checked(allowed: bool) -> Vec<Check> {
        let service = tower::service_fn(move |request: Request<Body>| async move {
            let answer = if request.uri().path().ends_with("/subjectaccessreviews") {
                let sent: Value = serde_json::from_slice(&request.into_body().collect_bytes().await?)?;
                assert_eq!(sent["spec"]["resourceAttributes"]["subresource"], "nodeclient");
                assert_eq!(sent["spec"]["groups"], json!(GROUPS));
                json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": sent["spec"],
                       "status": {"allowed": allowed}})
            } else {
                json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBindingList", "metadata": {},
                "items": [
                    binding("all-tokens", NODE_CLIENT, "system:bootstrappers"),
                    binding("kubeadm-tokens", NODE_CLIENT, "system:bootstrappers:kubeadm:default-node-token"),
                    binding("asking", "system:node-bootstrapper", "system:bootstrappers"),
                ]})
            };
            Ok::<_, tower::BoxError>(Response::new(Body::from(answer.to_string().into_bytes())))
        });
        let mut checks = Checks::default();
        approvers(&Client::new(service, "default"), &mut checks).await.unwrap();
        checks.0
    }

    #[tokio::test]
    async fn an_approver_that_makes_bindings_worthless_is_named() {
        let [check] = checked(true).await.try_into().unwrap();
        assert_eq!((check.check.as_str(), check.health), ("approvers", Health::Warning));
        assert_eq!(check.advice, "kubectl delete clusterrolebinding all-tokens");
        let [check] = checked(false).await.try_into().unwrap();
        assert_eq!((check.health, check.advice.as_str()), (Health::Ok, ""));
    }
}
