//! Tokens with which a new machine asks for its first certificate.

use k8s_openapi::{
    api::{
        core::v1::Secret,
        rbac::v1::{ClusterRoleBinding, RoleRef, Subject},
    },
    apimachinery::pkg::apis::meta::v1::ObjectMeta,
};
use kube::{Api, api::PostParams};

use crate::{certificates::Identity, control_plane::ControlPlane, error::TestingError};

/// The group of everyone who comes with a bootstrap token.
const BOOTSTRAPPERS: &str = "system:bootstrappers";

/// A bootstrap token. The API server knows its user as `system:bootstrap:ID`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapToken {
    id: String,
    secret: String,
}

impl BootstrapToken {
    /// A token from its two parts: six and sixteen lower-case letters or digits.
    pub fn new(id: &str, secret: &str) -> Self {
        Self {
            id: id.to_owned(),
            secret: secret.to_owned(),
        }
    }

    /// The part that is not a secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// What the machine sends.
    pub fn bearer(&self) -> String {
        format!("{}.{}", self.id, self.secret)
    }
}

impl ControlPlane {
    /// Lets the API server accept the token. Its user is also in `groups`, which must begin with
    /// `system:bootstrappers:`.
    pub async fn create_bootstrap_token(&self, token: &BootstrapToken, groups: &[&str]) -> Result<(), TestingError> {
        let mut data = vec![
            ("token-id", token.id.clone()),
            ("token-secret", token.secret.clone()),
            ("usage-bootstrap-authentication", "true".to_owned()),
        ];
        if !groups.is_empty() {
            data.push(("auth-extra-groups", groups.join(",")));
        }
        let secret = Secret {
            metadata: named(&format!("bootstrap-token-{}", token.id)),
            type_: Some("bootstrap.kubernetes.io/token".to_owned()),
            string_data: Some(data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            ..Secret::default()
        };
        let secrets: Api<Secret> = Api::namespaced(self.client(&Identity::admin()).await?, "kube-system");
        let created = secrets.create(&PostParams::default(), &secret).await;
        created.map_err(|source| refused("create a bootstrap token", source))?;
        Ok(())
    }

    /// Lets everyone with a bootstrap token ask for a kubelet's certificate. With `approve` the controller manager grants
    /// each of these requests.
    pub async fn allow_bootstrap(&self, approve: bool) -> Result<(), TestingError> {
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client(&Identity::admin()).await?);
        let mut roles = vec!["system:node-bootstrapper"];
        if approve {
            roles.push("system:certificates.k8s.io:certificatesigningrequests:nodeclient");
        }
        for role in roles {
            let binding = ClusterRoleBinding {
                metadata: named(&format!("berth-test:{role}")),
                role_ref: RoleRef {
                    api_group: "rbac.authorization.k8s.io".to_owned(),
                    kind: "ClusterRole".to_owned(),
                    name: role.to_owned(),
                },
                subjects: Some(vec![Subject {
                    api_group: Some("rbac.authorization.k8s.io".to_owned()),
                    kind: "Group".to_owned(),
                    name: BOOTSTRAPPERS.to_owned(),
                    namespace: None,
                }]),
            };
            let created = bindings.create(&PostParams::default(), &binding).await;
            created.map_err(|source| refused("bind a role", source))?;
        }
        Ok(())
    }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    }
}

fn refused(what: &str, source: kube::Error) -> TestingError {
    TestingError::Api {
        what: what.to_owned(),
        source: Box::new(source),
    }
}
