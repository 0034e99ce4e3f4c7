//! Putting an installation into a cluster, and taking it away.

use k8s_openapi::{
    api::core::v1::{Node, Secret},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind, PartialObjectMeta},
    runtime::wait::{await_condition, conditions},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{PART_OF, ServingCertificate, everything, workloads::CERTIFICATE_SECRET};
use crate::missing::is_missing;
use berth_decide::{NodePatch, names};
use berth_nodes::{Hold, Nodes, WriteError};
use berth_resources::{Berth, CrdSet, MachineConfig, MachineConfigPool, bootstrap, crds};

/// Writes the definitions and everything else, one after the other. Fields that others manage stay theirs, unless both
/// want them: then they are taken over, because an installation is a whole.
pub async fn apply(client: &Client, object: &Value, dry_run: bool) -> kube::Result<()> {
    let (api, name) = api(client, object);
    let parameters = PatchParams {
        dry_run,
        ..PatchParams::apply(names::FIELD_MANAGER).force()
    };
    api.patch(&name, &parameters, &Patch::Apply(object)).await?;
    if object.get("kind") == Some(&json!("CustomResourceDefinition")) && !dry_run {
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        // The watch ends with the server; whoever comes next will find out then.
        let _ = await_condition(definitions, &name, conditions::is_crd_established()).await;
    }
    Ok(())
}

fn api(client: &Client, object: &Value) -> (Api<DynamicObject>, String) {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let resource = resource(text("/apiVersion"), text("/kind"));
    let api = match text("/metadata/namespace") {
        "" => Api::all_with(client.clone(), &resource),
        namespace => Api::namespaced_with(client.clone(), namespace, &resource),
    };
    (api, text("/metadata/name").to_owned())
}

/// An object as people are told of it: `Kind/name`, or `Kind/namespace/name` where another namespace can have the same name.
pub fn display_name(object: &Value) -> String {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    match text("/metadata/namespace") {
        "" => format!("{kind}/{name}"),
        namespace => format!("{kind}/{namespace}/{name}"),
    }
}

pub(super) fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let gvk = GroupVersionKind::gvk(group, version, kind);
    let lower = kind.to_lowercase();
    let plural = lower
        .strip_suffix('y')
        .map_or_else(|| format!("{lower}s"), |stem| format!("{stem}ies"));
    ApiResource::from_gvk_with_plural(&gvk, &plural)
}

/// Whose definitions of pools a cluster has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolDefinitions {
    /// None.
    None,
    /// Berth's.
    Berth,
    /// Somebody else's, such as OpenShift's own. They are not touched.
    Foreign,
}

/// Asks whose definitions of pools a cluster has.
pub async fn pool_definitions(client: &Client) -> kube::Result<PoolDefinitions> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let mut found = PoolDefinitions::None;
    for crd in crds(CrdSet::MachineConfig) {
        if let Some(existing) = definitions.get_opt(&crd.name_any()).await? {
            if existing.labels().get(PART_OF).map(String::as_str) != Some("berth") {
                return Ok(PoolDefinitions::Foreign);
            }
            found = PoolDefinitions::Berth;
        }
    }
    Ok(found)
}

/// Which admission policies an API server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PolicyKinds {
    /// Validating ones, which Kubernetes has since 1.30.
    pub validating: bool,
    /// Mutating ones, which it has since 1.36.
    pub mutating: bool,
}

/// Asks which admission policies the API server has.
pub async fn policy_kinds(client: &Client) -> kube::Result<PolicyKinds> {
    let known = client
        .list_api_group_resources("admissionregistration.k8s.io/v1")
        .await?;
    let has = |name: &str| known.resources.iter().any(|resource| resource.name == name);
    Ok(PolicyKinds {
        validating: has("validatingadmissionpolicies"),
        mutating: has("mutatingadmissionpolicies"),
    })
}

/// Reads the certificate that an installation has. A new one takes a while to reach every controller, so a good one stays.
pub async fn kept_certificate(client: &Client, namespace: &str) -> kube::Result<Option<ServingCertificate>> {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let data = secrets
        .get_opt(CERTIFICATE_SECRET)
        .await?
        .and_then(|secret| secret.data)
        .unwrap_or_default();
    let text = |name: &str| String::from_utf8(data.get(name)?.0.clone()).ok();
    let parts = (text("tls.crt"), text("tls.key"), text("ca.crt"));
    let (Some(certificate), Some(key), Some(authority)) = parts else {
        return Ok(None);
    };
    Ok(Some(ServingCertificate {
        certificate,
        key,
        authority,
    }))
}

/// What was taken away, and what stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Removal {
    /// What was taken away, as `Kind/name`, or `Kind/namespace/name` in a namespace.
    pub removed: Vec<String>,
    /// What stays, as sentences.
    pub left: Vec<String>,
}

/// What of an installation goes.
#[derive(Clone, Debug)]
pub struct RemovalOptions {
    /// The namespace of the workloads.
    pub namespace: String,
    /// Leave the definitions, and with them Berths, rules and pools.
    pub keep_definitions: bool,
    /// Take away definitions of pools that are in use, and with them the pools.
    pub pools_too: bool,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// Takes an installation away: the workloads first, so that nothing is put back. Berths and rendered configs lose their
/// finalizers, because nobody is left to serve them. Nodes keep their labels and taints, and lose Berth's notes.
pub async fn remove(client: &Client, options: &RemovalOptions) -> kube::Result<Removal> {
    let mut removal = Removal::default();
    for object in everything(&options.namespace) {
        delete(client, &object, options.dry_run, &mut removal).await?;
    }
    if options.keep_definitions {
        removal
            .left
            .push("the definitions, and all Berths, label rules and pools (--keep-definitions)".to_owned());
    } else {
        remove_definitions(client, options, &mut removal).await?;
    }
    let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": options.namespace}});
    // A namespace that was there before, or holds other things, is not ours to delete.
    let (namespaces, name) = api(client, &object);
    match namespaces.get_opt(&name).await? {
        Some(existing) if existing.labels().get(PART_OF).map(String::as_str) == Some("berth") => {
            delete(client, &object, options.dry_run, &mut removal).await?;
        }
        Some(_) => removal.left.push(format!("namespace {name}, which Berth did not make")),
        None => {}
    }
    // At the end: the controllers have lost their rights by now and write no more notes.
    if options.keep_definitions {
        removal
            .left
            .push("every Node with its labels and annotations".to_owned());
    } else {
        clear_nodes(client, options.dry_run, &mut removal).await?;
        removal.left.push("every Node with its labels and taints".to_owned());
    }
    let secrets: Api<Secret> = Api::namespaced(client.clone(), bootstrap::NAMESPACE);
    let tokens = secrets
        .list_metadata(&ListParams::default().labels(bootstrap::SELECTOR))
        .await?;
    if !tokens.items.is_empty() {
        removal.left.push(format!(
            "{} bootstrap tokens; kubectl -n {} delete secret -l {} removes them",
            tokens.items.len(),
            bootstrap::NAMESPACE,
            bootstrap::SELECTOR
        ));
    }
    Ok(removal)
}

async fn remove_definitions(client: &Client, options: &RemovalOptions, removal: &mut Removal) -> kube::Result<()> {
    release_berths(client, options.dry_run, removal).await?;
    release_configs(client, options.dry_run, removal).await?;
    for crd in crds(CrdSet::Berth) {
        delete_definition(client, &crd.name_any(), options.dry_run, removal).await?;
    }
    match pool_definitions(client).await? {
        PoolDefinitions::None => return Ok(()),
        PoolDefinitions::Foreign => {
            removal
                .left
                .push("the definitions of pools and machine configs, which are not Berth's".to_owned());
            return Ok(());
        }
        PoolDefinitions::Berth => {}
    }
    let pools: Api<DynamicObject> = Api::all_with(client.clone(), &ApiResource::erase::<MachineConfigPool>(&()));
    let count = match pools.list_metadata(&ListParams::default()).await {
        Ok(pools) => pools.items.len(),
        Err(kube::Error::Api(status)) if is_missing(&status) => 0,
        Err(error) => return Err(error),
    };
    if count > 0 && !options.pools_too {
        removal.left.push(format!(
            "the definitions of pools and machine configs, because there are {count} pools (--pools removes them too)"
        ));
        return Ok(());
    }
    for crd in crds(CrdSet::MachineConfig) {
        delete_definition(client, &crd.name_any(), options.dry_run, removal).await?;
    }
    Ok(())
}

async fn release_berths(client: &Client, dry_run: bool, removal: &mut Removal) -> kube::Result<()> {
    let berths: Api<Berth> = Api::all(client.clone());
    for berth in of_kind(&berths).await? {
        release(&berths, &berth, names::FINALIZER, dry_run).await?;
        removal.removed.push(format!("Berth/{}", berth.name_any()));
    }
    Ok(())
}

/// Rendered configs that the controllers kept for those who refer to them.
async fn release_configs(client: &Client, dry_run: bool, removal: &mut Removal) -> kube::Result<()> {
    let configs: Api<MachineConfig> = Api::all(client.clone());
    for config in of_kind(&configs).await? {
        if release(&configs, &config, names::IN_USE, dry_run).await? {
            let name = config.name_any();
            removal
                .removed
                .push(format!("finalizer {} of MachineConfig/{name}", names::IN_USE));
        }
    }
    Ok(())
}

/// All objects of a kind, which the cluster may not have.
async fn of_kind<K>(api: &Api<K>) -> kube::Result<Vec<PartialObjectMeta<K>>>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    match api.list_metadata(&ListParams::default()).await {
        Ok(all) => Ok(all.items),
        Err(kube::Error::Api(status)) if is_missing(&status) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Takes one finalizer off an object, and says whether it was there.
async fn release<K>(api: &Api<K>, object: &PartialObjectMeta<K>, finalizer: &str, dry_run: bool) -> kube::Result<bool>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let finalizers = object.metadata.finalizers.as_deref().unwrap_or_default();
    let others: Vec<&String> = finalizers.iter().filter(|other| *other != finalizer).collect();
    if others.len() == finalizers.len() {
        return Ok(false);
    }
    if !dry_run {
        patch_metadata(api, object, json!({"finalizers": others})).await?;
    }
    Ok(true)
}

/// How often a Node is looked at again that somebody else writes to at the same time.
const ATTEMPTS: usize = 8;

/// Takes Berth's notes off the Nodes.
async fn clear_nodes(client: &Client, dry_run: bool, removal: &mut Removal) -> kube::Result<()> {
    let seen_nodes: Api<Node> = Api::all(client.clone());
    let nodes = Nodes::new(client.clone(), Hold::endless());
    for node in of_kind(&seen_nodes).await? {
        let name = node.name_any();
        let mut seen = Some(node);
        for attempt in 1.. {
            let Some(node) = seen.take() else { break };
            let annotations = node.metadata.annotations.iter().flatten();
            let own: Vec<&String> = annotations
                .map(|(key, _)| key)
                .filter(|key| key.starts_with(names::PREFIX))
                .collect();
            if own.is_empty() {
                break;
            }
            let patch = NodePatch {
                uid: node.metadata.uid.clone(),
                resource_version: node.metadata.resource_version.clone(),
                annotations: own.iter().map(|key| ((*key).clone(), None)).collect(),
                ..NodePatch::default()
            };
            if !dry_run && let Err(error) = nodes.patch_metadata(&name, &patch, false).await {
                if !error.is_outdated() || attempt == ATTEMPTS {
                    return Err(refused(error));
                }
                seen = seen_nodes.get_metadata_opt(&name).await?;
                continue;
            }
            let told = own.iter().map(|key| format!("annotation {key} of Node/{name}"));
            removal.removed.extend(told);
        }
    }
    Ok(())
}

fn refused(error: WriteError) -> kube::Error {
    match error {
        WriteError::Refused(error) => error,
        error => kube::Error::Service(error.into()),
    }
}

/// Changes the metadata of an object that may be gone.
async fn patch_metadata<K>(api: &Api<K>, object: &PartialObjectMeta<K>, metadata: Value) -> kube::Result<()>
where
    K: Clone + std::fmt::Debug + DeserializeOwned,
{
    let name = object.metadata.name.as_deref().unwrap_or_default();
    let patch = Patch::Merge(json!({"metadata": metadata}));
    match api.patch_metadata(name, &PatchParams::default(), &patch).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if is_missing(&status) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn delete_definition(client: &Client, name: &str, dry_run: bool, removal: &mut Removal) -> kube::Result<()> {
    let object = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": name},
    });
    delete(client, &object, dry_run, removal).await
}

async fn delete(client: &Client, object: &Value, dry_run: bool, removal: &mut Removal) -> kube::Result<()> {
    let (api, name) = api(client, object);
    let parameters = DeleteParams {
        dry_run,
        ..DeleteParams::background()
    };
    match api.delete(&name, &parameters).await {
        Ok(_) => removal.removed.push(display_name(object)),
        Err(kube::Error::Api(status)) if is_missing(&status) => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use http::{Method, Request, Response};
    use kube::client::Body;

    use super::*;

    /// A kubelet writes to its Node while Berth's notes are taken off, and what it wrote is looked at.
    #[tokio::test]
    async fn notes_are_taken_off_the_very_node_that_was_seen() {
        let state = Arc::new(Mutex::new((7, Vec::new())));
        let shared = Arc::clone(&state);
        let service = tower::service_fn(move |request: Request<Body>| {
            let shared = Arc::clone(&shared);
            async move {
                let (method, path) = (request.method().clone(), request.uri().path().to_owned());
                let body = request.into_body().collect_bytes().await?;
                let mut state = shared.lock().unwrap();
                let (version, patches) = &mut *state;
                let node = |version: u32| {
                    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {
                        "name": "w1", "uid": "u1", "resourceVersion": version.to_string(),
                        "annotations": {"berth.dev/pool": "infra", "other": "stays"},
                    }})
                };
                let (code, answer) = if method == Method::PATCH {
                    patches.push(serde_json::from_slice::<Value>(&body)?);
                    let conflict = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                        "code": 409, "reason": "Conflict", "message": "the object has been modified"});
                    if *version == 7 {
                        *version = 8;
                        (409, conflict)
                    } else {
                        (200, node(9))
                    }
                } else if path.ends_with("/nodes") {
                    let list = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                        "metadata": {}, "items": [node(*version)]});
                    (200, list)
                } else {
                    (200, node(*version))
                };
                let answer = Body::from(answer.to_string().into_bytes());
                Ok::<_, tower::BoxError>(Response::builder().status(code).body(answer)?)
            }
        });
        let mut removal = Removal::default();
        clear_nodes(&Client::new(service, "default"), false, &mut removal)
            .await
            .unwrap();
        let patch = |version: &str| json!({"metadata": {"uid": "u1", "resourceVersion": version, "annotations": {"berth.dev/pool": null}}});
        assert_eq!(state.lock().unwrap().1, [patch("7"), patch("8")]);
        assert_eq!(removal.removed, ["annotation berth.dev/pool of Node/w1"]);
    }
}
