//! What runs beside the cluster: the API of documents and actions on a database, and the Ignition server.

use std::{
    collections::BTreeMap, fs, io::Write as _, net::SocketAddr, os::unix::fs::OpenOptionsExt as _, path::Path,
    sync::Arc, time::Duration,
};

use berth_airship::{Api, ApiState, Auth};
use berth_clock::Clock;
use berth_cluster::{DocumentKind, controller::Mode, follow_documents};
use berth_decide::{Definitions, Serving};
use berth_documents::{Document, DocumentSet};
use berth_ignition_server::{Access, Catalog, CatalogHandle, IgnitionService};
use berth_labels::Flavour;
use berth_listen::{ListenOptions, Server};
use berth_repository::{BufferMode, CommitOptions, Configdocs, DocumentRules, LoadOptions, Repository, SiteRules};
use berth_sim::{Cluster, IgnitionSource};
use berth_store::{ActionStore, SealingKey, SealingKeys, SqliteStore};
use berth_tokens::{NewToken, TokenScope, TokenStore};
use berth_workflow::{Engine, EngineOptions, Workflow, WorkflowOptions};
use kube::Client;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::{
    following::{Objects, catalog, follow_cluster, follow_rendered, follow_revisions},
    world::unusable,
};
use crate::{commands::serve::ids, documents, failure::Failure, files, sources::Committed, vital};

/// So long machines wait at the start for the configs of their pools.
const PATIENCE: Duration = Duration::from_secs(10);

const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// The collection that holds the site.
const COLLECTION: &str = "site";

/// Servers that are running.
pub(super) struct Services {
    /// Where the API of documents and actions is.
    pub(super) documents: SocketAddr,
    /// The committed documents.
    pub(super) repository: Arc<Repository>,
    /// Where machines fetch their Ignition.
    pub(super) ignition: SocketAddr,
    served: CatalogHandle,
    tasks: Vec<JoinHandle<Option<()>>>,
    stop: CancellationToken,
}

impl Services {
    /// The pool whose config a machine is served now.
    pub(super) fn pool_of(&self, node: &str) -> Option<String> {
        self.served.current().pool_of(node).map(str::to_owned)
    }

    /// Waits until every pool has a config to be served, so that machines that boot need not wait for it. A pool that cannot be
    /// rendered never has one.
    pub(super) async fn wait_for_configs(&self) {
        let rendered = async {
            loop {
                let served = self.served.current();
                if served.loading_reason().is_none() && served.pools_without_config().next().is_none() {
                    return;
                }
                tokio::time::sleep(LOOK_AGAIN_AFTER).await;
            }
        };
        let _ = tokio::time::timeout(PATIENCE, rendered).await;
    }

    /// Ends them.
    pub(super) fn stop(&self) {
        self.stop.cancel();
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// What everything is made from.
pub(super) struct Site {
    pub(super) documents: DocumentSet,
    /// What the documents say that machines are served.
    pub(super) serving: Serving,
    /// What of the documents is in the cluster.
    pub(super) objects: Objects,
}

/// Starts them on free ports. The database is in the folder that is kept, or is gone at the end.
pub(super) async fn start(
    kept: Option<&Path>,
    site: Site,
    names: &[String],
    folder: &Path,
    (cluster, client): (Cluster, Client),
    mode: Mode,
    clock: &Clock,
) -> Result<(Services, IgnitionSource), Failure> {
    let flavour = site.serving.flavour;
    let database = kept.unwrap_or(folder).join("documents.sqlite");
    let keys = sealing_keys(kept.unwrap_or(folder))?;
    let store = Arc::new(SqliteStore::open(&database, keys).await?);
    let repository = repository(Arc::clone(&store), &site.documents.documents, flavour, clock).await?;
    let (api, engine) = local_api(Arc::clone(&repository), store, client.clone(), flavour, clock);
    let api = Server::bind(loopback(), api).await?;
    let documents = address(&api)?;
    let Site {
        documents: set,
        serving,
        objects,
    } = site;
    let handle = CatalogHandle::new(match mode {
        Mode::Full => Catalog::loading("the controllers have not rendered the configs of the pools yet"),
        Mode::Labels => catalog(serving.clone()).map_err(unusable)?,
    });
    let (server, source) = ignition(handle.clone(), names, folder, clock).await?;
    let address_of_ignition = address(&server)?;
    let stop = CancellationToken::new();
    let mut tasks = vec![
        vital::spawn("api", api.run(std::future::pending())),
        vital::spawn("ignition", server.run(std::future::pending())),
        vital::spawn("actions", engine.run(stop.clone())),
    ];
    let revisions = Box::new(Committed::new(Arc::clone(&repository)));
    let following = follow_revisions(revisions, cluster, client.clone(), objects);
    tasks.push(vital::spawn("revisions", following));
    match mode {
        Mode::Full => {
            let (objects, watching) = follow_documents(&client, DocumentKind::SITE);
            tasks.push(vital::spawn("watch of the cluster", watching));
            tasks.push(vital::spawn(
                "catalog",
                follow_rendered(objects, serving, handle.clone()),
            ));
        }
        Mode::Labels => {
            let (berths, watching_berths) = follow_documents(&client, &[DocumentKind::Berth]);
            let (defined, watching_definitions) = follow_documents(&client, DocumentKind::DEFINITIONS);
            tasks.push(vital::spawn("watch of Berths", watching_berths));
            tasks.push(vital::spawn("watch of definitions", watching_definitions));
            let known = (serving, Definitions::of_documents(set, flavour));
            tasks.push(vital::spawn(
                "catalog",
                follow_cluster(defined, berths, known, handle.clone()),
            ));
        }
    }
    let services = Services {
        documents,
        repository,
        ignition: address_of_ignition,
        served: handle,
        tasks,
        stop,
    };
    Ok((services, source))
}

/// The key for documents that are to be encrypted, in a file beside the database that `--sealing-key-file` takes: sites have
/// passphrases, and trying one should need no set-up.
fn sealing_keys(folder: &Path) -> Result<SealingKeys, Failure> {
    let path = folder.join("sealing-key");
    if !path.exists() {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(unusable)?;
        let written = fs::create_dir_all(folder).and_then(|()| {
            let mut file = fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            secret.iter().try_for_each(|byte| write!(file, "{byte:02x}"))
        });
        written.map_err(|source| Failure::WriteFile {
            path: path.clone(),
            source,
        })?;
    }
    let text = files::read(&path)?;
    let key = match text.as_slice() {
        // As earlier versions wrote it.
        raw if raw.len() == 32 => SealingKey::new(raw),
        text => SealingKey::from_hexadecimal(&String::from_utf8_lossy(text)),
    };
    Ok(SealingKeys::new(vec![key.map_err(unusable)?]))
}

/// The API, and the engine that does its actions.
fn local_api(
    repository: Arc<Repository>,
    store: Arc<dyn ActionStore>,
    client: Client,
    flavour: Flavour,
    clock: &Clock,
) -> (Api, Arc<Engine>) {
    let rules: Arc<dyn DocumentRules> = Arc::new(SiteRules { flavour: Some(flavour) });
    let options = EngineOptions::new("local", clock.clone());
    let engine = Arc::new(Engine::new(Arc::clone(&store), client, options));
    let options = WorkflowOptions {
        // The site is what is tried here; nobody deployed it.
        require_site_action: false,
        flavour: Some(flavour),
        ..WorkflowOptions::default()
    };
    let configdocs = Arc::new(Configdocs::new(Arc::clone(&repository), Arc::clone(&rules)));
    let workflow = Workflow::new(configdocs, store, Arc::clone(&engine), options);
    let state = ApiState::new(repository, rules, Auth::None, clock.clone(), ids());
    (Api::new(state.with_workflow(Arc::new(workflow))), engine)
}

fn loopback() -> ListenOptions {
    ListenOptions {
        plain: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        ..ListenOptions::default()
    }
}

fn address(server: &Server) -> Result<SocketAddr, Failure> {
    server
        .plain_address()
        .ok_or_else(|| Failure::Unusable("a server has no address".to_owned()))
}

/// The site as the first committed revision, unless there is one from an earlier time.
async fn repository(
    store: Arc<SqliteStore>,
    documents: &[Document],
    flavour: Flavour,
    clock: &Clock,
) -> Result<Arc<Repository>, Failure> {
    let repository = Arc::new(Repository::new(store));
    let rules = SiteRules { flavour: Some(flavour) };
    let configdocs = Configdocs::new(Arc::clone(&repository), Arc::new(rules));
    if configdocs.staged().await.map_err(unusable)?.committed.is_some() {
        return Ok(repository);
    }
    let documents = documents::storable(documents);
    if documents.is_empty() {
        return Ok(repository);
    }
    let now = clock.microseconds();
    let options = LoadOptions {
        mode: BufferMode::Replace,
        ..LoadOptions::default()
    };
    configdocs
        .load(COLLECTION, &documents, options, now, "berth-up")
        .await
        .map_err(unusable)?;
    // What is wrong with the site was said when it was read, and this is for trying.
    let options = CommitOptions {
        force: true,
        ..CommitOptions::default()
    };
    configdocs.commit(options, now, "berth-up").await.map_err(unusable)?;
    Ok(repository)
}

/// The Ignition server, with a token for each machine.
async fn ignition(
    catalog: CatalogHandle,
    names: &[String],
    folder: &Path,
    clock: &Clock,
) -> Result<(Server, IgnitionSource), Failure> {
    let tokens = TokenStore::open(folder.join("tokens.json"))?;
    let now = clock.now();
    let mut known = BTreeMap::new();
    for name in names {
        let new = NewToken {
            scope: TokenScope::Node(name.clone()),
            expires: None,
            single_use: false,
            comment: String::new(),
        };
        known.insert(name.clone(), tokens.create(new, now)?.secret.reveal().to_owned());
    }
    let service = IgnitionService::new(catalog, Access::Tokens(Arc::new(tokens)), clock.clone());
    let server = Server::bind(loopback(), service).await?;
    let source = IgnitionSource::new(address(&server)?, known).map_err(unusable)?;
    Ok((server, source))
}
