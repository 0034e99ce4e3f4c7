//! What changes while everything runs, and what follows from it.
//!
//! ```text
//! committed documents ──► pools, rules, machine configs ─┐
//!                    └──► controllers ──► Berths ────────┴─► cluster ──► what machines are served
//! ```

use std::{collections::BTreeMap, time::Duration};

use berth_cluster::Snapshot;
use berth_decide::{Definitions, Serving};
use berth_documents::{Document, DocumentSet, object_name};
use berth_ignition_server::{Catalog, CatalogError, CatalogHandle, CommonFiles};
use berth_pools::RenderOptions;
use berth_repository::SiteDocuments;
use berth_resources::Berth;
use berth_sim::Cluster;
use berth_site::{Resolver, to_kubernetes};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject},
    core::{ApiResource, TypeMeta},
};
use serde_json::Value;
use tokio::sync::watch;

use super::world::{add_pool_if_none, unusable};
use crate::{
    args::FlavourArg,
    commands::controller::documents::sound,
    failure::Failure,
    site::Loaded,
    sources::{Declared, Reading},
};

/// The kinds of documents that are objects of the cluster as they are.
const DEFINITIONS: [&str; 5] = [
    "MachineConfigPool",
    "MachineConfig",
    "KubeletConfig",
    "ContainerRuntimeConfig",
    "LabelRule",
];

/// How long to wait for changes that belong together.
const GATHER: Duration = Duration::from_millis(100);

/// The objects that documents are in a cluster, by kind and name.
pub(super) type Objects = BTreeMap<String, Value>;

/// Puts the pools, rules and machine configs of documents into the cluster.
pub(super) async fn apply(cluster: &Cluster, documents: &[Document]) -> Result<Objects, Failure> {
    let objects: Objects = documents
        .iter()
        .filter_map(to_kubernetes)
        .filter(|object| DEFINITIONS.iter().any(|kind| object["kind"] == *kind))
        .map(|object| (object_name(&object), object))
        .collect();
    for (name, object) in &objects {
        cluster
            .apply(object)
            .await
            .map_err(|error| Failure::Unusable(format!("the embedded cluster refuses {name}: {error}")))?;
    }
    Ok(objects)
}

/// The documents of each further revision replace those of the one before. A revision with errors changes nothing.
pub(super) async fn follow_revisions(mut source: Declared, cluster: Cluster, client: Client, mut known: Objects) {
    loop {
        let renewed = match source.look().await {
            Ok(Some(Reading::Version { content, .. })) => renew(&cluster, &client, content, &known).await,
            Ok(Some(Reading::Nothing(_)) | None) => Ok(None),
            Err(failure) => Err(failure),
        };
        match renewed {
            Ok(objects) => known = objects.unwrap_or(known),
            Err(failure) => tracing::error!(
                "the cluster keeps what earlier documents say: {}",
                failure.messages().join("; ")
            ),
        }
        source.changed().await;
    }
}

async fn renew(
    cluster: &Cluster,
    client: &Client,
    content: SiteDocuments,
    known: &Objects,
) -> Result<Option<Objects>, Failure> {
    let mut set: DocumentSet = content.set.clone();
    // The controllers follow the same documents, and say what is wrong with them.
    if sound(content, FlavourArg::default()).is_err() {
        return Ok(None);
    }
    add_pool_if_none(&Loaded::new(set.clone()), &mut set);
    let objects = apply(cluster, &set.documents).await?;
    for (name, object) in known.iter().filter(|(name, _)| !objects.contains_key(*name)) {
        let types: TypeMeta = serde_json::from_value(object.clone()).map_err(unusable)?;
        let kind = ApiResource::from_gvk(&(&types).try_into().map_err(unusable)?);
        let all: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
        let name = name.split('/').next_back().unwrap_or_default();
        match all.delete(name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            deleted => drop(deleted.map_err(unusable)?),
        }
    }
    Ok(Some(objects))
}

/// The catalog of what is decided.
pub(super) fn catalog(serving: Serving) -> Result<Catalog, CatalogError> {
    Ok(Catalog::make(serving, "up", CommonFiles::default())?.catalog)
}

/// Machines are served what the cluster has, rendered here because nobody in it renders: the configs of its pools, and the place
/// where each Berth is now. A machine without a Berth has the place that the documents give it.
pub(super) async fn follow_cluster(
    mut defined: watch::Receiver<Snapshot>,
    mut berths: watch::Receiver<Snapshot>,
    (mut serving, mut definitions): (Serving, Definitions),
    handle: CatalogHandle,
) {
    let mut known = Snapshot::default();
    let mut served = serving.nodes.clone();
    loop {
        let changed = tokio::select! {
            changed = defined.changed() => changed,
            changed = berths.changed() => changed,
        };
        if changed.is_err() {
            return;
        }
        tokio::time::sleep(GATHER).await;
        let now = defined.borrow_and_update().clone();
        let redefined = now.is_complete() && !now.has_same_documents(&known);
        if redefined {
            definitions = Definitions::new(now.objects(), serving.flavour);
            let resolver = Resolver::new(definitions.site(), serving.flavour);
            serving = Serving {
                nodes: serving.nodes,
                controller_config: serving.controller_config,
                ..Serving::of_site(&resolver, &RenderOptions::default())
            };
            known = now;
        }
        let reserved: Vec<Berth> = berths
            .borrow_and_update()
            .objects()
            .filter_map(|berth| serde_json::from_value(berth.clone()).ok())
            .collect();
        let placed = serving.clone().with_places(&mut definitions, &reserved);
        if !redefined && placed.nodes == served {
            continue;
        }
        served.clone_from(&placed.nodes);
        serve(placed, &handle);
    }
}

/// Machines are served the rendered configs that the cluster has, where its controllers render them. A machine without a Berth has
/// the place that the documents give it.
pub(super) async fn follow_rendered(mut objects: watch::Receiver<Snapshot>, documents: Serving, handle: CatalogHandle) {
    let mut known = Snapshot::default();
    while objects.changed().await.is_ok() {
        tokio::time::sleep(GATHER).await;
        let now = objects.borrow_and_update().clone();
        if !now.is_complete() || now.has_same_documents(&known) {
            continue;
        }
        let mut serving = Serving::of_cluster(now.objects(), documents.flavour);
        known = now;
        let of_documents = documents.clone();
        serving.controller_config = serving.controller_config.or(of_documents.controller_config);
        for (name, place) in of_documents.nodes {
            serving.nodes.entry(name).or_insert(place);
        }
        serve(serving, &handle);
    }
}

fn serve(serving: Serving, handle: &CatalogHandle) {
    match catalog(serving) {
        Ok(catalog) => handle.replace(catalog),
        Err(error) => tracing::error!("what machines are served stays as it is: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use berth_clock::Clock;
    use berth_cluster::{DocumentKind, follow_documents};
    use berth_labels::Flavour;
    use berth_repository::Repository;
    use berth_sim::{ApiServer, ClusterOptions};
    use berth_store::{SealingKeys, SqliteStore, Write};
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::{commands::up::world::define, sources::Committed};

    fn pool(name: &str) -> String {
        format!(
            "---\nschema: berth/MachineConfigPool/v1\nmetadata: {{schema: metadata/Control/v1, name: {name}}}\ndata:\n  \
             nodeSelector: {{matchLabels: {{node-role.kubernetes.io/{name}: ''}}}}\n  \
             machineConfigSelector: {{matchLabels: {{machineconfiguration.openshift.io/role: worker}}}}\n"
        )
    }

    async fn serves(handle: &CatalogHandle, pools: &[&str]) {
        let served = || handle.current().pools().map(str::to_owned).collect::<Vec<_>>();
        for _ in 0..3_000 {
            if served() == pools {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("{:?} are served, not {pools:?}", served());
    }

    #[tokio::test]
    async fn documents_that_are_committed_and_objects_that_people_change_are_served() {
        let cluster = Cluster::new(ClusterOptions::new(Clock::stopped(Timestamp::UNIX_EPOCH), 1));
        define(&cluster).await.unwrap();
        let server = ApiServer::start(cluster.clone(), "127.0.0.1:0".parse().unwrap())
            .await
            .unwrap();
        let client = Client::try_from(kube::Config::new(server.url().parse().unwrap())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("documents.sqlite");
        let store = SqliteStore::open(&database, SealingKeys::none());
        let repository = Arc::new(Repository::new(Arc::new(store.await.unwrap())));
        let commit = async |text: String, now: i64| {
            let documents = repository.read_documents(text).await.unwrap();
            let put = repository.put_bucket("site", &documents, Write::at(now)).await.unwrap();
            let revision = put.revision.unwrap().id;
            repository.put_tag(revision, "committed", None).await.unwrap();
        };
        let revisions = Box::new(Committed::new(Arc::clone(&repository)));
        let following = follow_revisions(revisions, cluster.clone(), client.clone(), Objects::new());
        tokio::spawn(following);
        let (defined, watching) = follow_documents(&client, DocumentKind::DEFINITIONS);
        tokio::spawn(watching);
        let (berths, watching) = follow_documents(&client, &[DocumentKind::Berth]);
        tokio::spawn(watching);
        let handle = CatalogHandle::new(Catalog::loading("nothing was read yet"));
        let known = (Serving::default(), Definitions::new([], Flavour::Upstream));
        tokio::spawn(follow_cluster(defined, berths, known, handle.clone()));

        commit(pool("worker"), 1).await;
        serves(&handle, &["worker"]).await;
        commit(format!("{}{}", pool("worker"), pool("edge")), 2).await;
        serves(&handle, &["edge", "worker"]).await;
        let of_people = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool", "metadata": {"name": "lab"},
            "spec": {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/lab": ""}}, "machineConfigSelector": {}},
        });
        cluster.apply(&of_people).await.unwrap();
        serves(&handle, &["edge", "lab", "worker"]).await;
        // What a revision does not have any more goes; what people made stays.
        commit(pool("worker"), 3).await;
        serves(&handle, &["lab", "worker"]).await;
        server.stop().await;
    }
}
