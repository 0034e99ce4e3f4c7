//! The objects that stand for a machine, read when its Node is gone: one that is being deleted takes its machine along.

use berth_decide::MachineState;
use berth_resources::MachineObject;
use kube::{
    Api, Client,
    api::DynamicObject,
    core::{ApiResource, GroupVersionKind},
};
use tokio::time::timeout;
use tracing::debug;

use super::writer::REQUEST_TIMEOUT;
use crate::missing::{is_missing, is_missing_kind};

/// Groups, the versions that they may be served in, and the plurals of their kinds.
pub(crate) const MACHINE_KINDS: [(&str, &[&str], &str); 3] = [
    ("machine.openshift.io", &["v1beta1"], "machines"),
    ("cluster.x-k8s.io", &["v1beta2", "v1beta1"], "machines"),
    ("metal3.io", &["v1alpha1"], "baremetalhosts"),
];

/// Asks for the objects of a machine. What cannot be read says nothing.
pub(super) async fn state(client: &Client, objects: &[MachineObject]) -> MachineState {
    let mut found = MachineState::Unknown;
    for object in objects {
        match one(client, object).await {
            MachineState::Unknown => {}
            MachineState::Present => found = MachineState::Present,
            leaving @ MachineState::Leaving(_) => return leaving,
        }
    }
    found
}

async fn one(client: &Client, object: &MachineObject) -> MachineState {
    let MachineObject {
        group,
        kind,
        namespace,
        name,
    } = object;
    let Some((_, versions, plural)) = MACHINE_KINDS.iter().find(|(known, ..)| known == group) else {
        return MachineState::Unknown;
    };
    let said = |what: &str| MachineState::Leaving(format!("{kind} {namespace}/{name} {what}"));
    for version in *versions {
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural);
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
        match timeout(REQUEST_TIMEOUT, api.get_metadata(name)).await {
            Ok(Ok(object)) if object.metadata.deletion_timestamp.is_some() => return said("is being deleted"),
            Ok(Ok(_)) => return MachineState::Present,
            // Another version may be there.
            Ok(Err(kube::Error::Api(status))) if is_missing_kind(&status) => {}
            Ok(Err(kube::Error::Api(status))) if is_missing(&status) => return said("is gone"),
            Ok(Err(error)) => {
                debug!(
                    kind,
                    namespace,
                    name,
                    error = &error as &dyn std::error::Error,
                    "the machine's object cannot be read"
                );
                return MachineState::Unknown;
            }
            Err(_) => return MachineState::Unknown,
        }
    }
    MachineState::Unknown
}

#[cfg(test)]
mod tests {
    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    fn client(answer: impl Fn(&str) -> (u16, Value) + Clone + Send + Sync + 'static) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| {
            let (code, body) = answer(request.uri().path());
            async move {
                let response = Response::builder()
                    .status(code)
                    .body(Body::from(body.to_string().into_bytes()));
                response.map_err(tower::BoxError::from)
            }
        });
        Client::new(service, "default")
    }

    fn object(group: &str, kind: &str) -> MachineObject {
        MachineObject {
            group: group.to_owned(),
            kind: kind.to_owned(),
            namespace: "site".to_owned(),
            name: "w1".to_owned(),
        }
    }

    fn missing(name: &str) -> (u16, Value) {
        let details = json!({"name": name, "kind": "machines"});
        (
            404,
            json!({"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "not found", "details": details}),
        )
    }

    fn here(deleted: bool) -> (u16, Value) {
        let time = deleted.then_some("2026-01-01T00:00:00Z");
        let metadata = json!({"name": "w1", "namespace": "site", "deletionTimestamp": time});
        (
            200,
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata}),
        )
    }

    #[tokio::test]
    async fn what_is_being_deleted_or_gone_leaves_and_what_cannot_be_read_says_nothing() {
        let machine = object("machine.openshift.io", "Machine");
        let leaving = |text: &str| MachineState::Leaving(text.to_owned());
        for (answer, expected) in [
            (here(false), MachineState::Present),
            (here(true), leaving("Machine site/w1 is being deleted")),
            (missing("w1"), leaving("Machine site/w1 is gone")),
            (missing(""), MachineState::Unknown),
            (
                (
                    403,
                    json!({"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no"}),
                ),
                MachineState::Unknown,
            ),
            (
                (
                    500,
                    json!({"kind": "Status", "status": "Failure", "reason": "InternalError", "code": 500, "message": "no"}),
                ),
                MachineState::Unknown,
            ),
        ] {
            let shown = answer.clone();
            let client = client(move |_| answer.clone());
            assert_eq!(
                state(&client, std::slice::from_ref(&machine)).await,
                expected,
                "{shown:?}"
            );
        }
    }

    #[tokio::test]
    async fn an_older_version_is_asked_too_and_one_that_leaves_decides() {
        let client = client(|path| match path {
            "/apis/cluster.x-k8s.io/v1beta1/namespaces/site/machines/w1" => here(false),
            "/apis/metal3.io/v1alpha1/namespaces/site/baremetalhosts/w1" => here(true),
            _ => missing(""),
        });
        let machine = object("cluster.x-k8s.io", "Machine");
        assert_eq!(
            state(&client, std::slice::from_ref(&machine)).await,
            MachineState::Present
        );
        let both = [machine, object("metal3.io", "BareMetalHost")];
        let expected = MachineState::Leaving("BareMetalHost site/w1 is being deleted".to_owned());
        assert_eq!(state(&client, &both).await, expected);
        assert_eq!(state(&client, &[]).await, MachineState::Unknown);
    }
}
