//! What runs beside the cluster: the API of documents and actions on a database, and the Ignition server.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, sync::Arc, time::Duration};

use berth_cluster::{DocumentKind, Snapshot, follow_documents};
use berth_decide::Serving;
use berth_labels::Flavour;
use berth_listen::{ListenOptions, Server};
use berth_pools::Timestamp as Seconds;
use berth_repository::{BufferMode, CommitOptions, Configdocs, LoadOptions, Repository, SiteRules};
use berth_resources::Berth;
use berth_server::{
    Access, Catalog, CatalogError, CatalogHandle, CommonFiles, IgnitionService, NewToken, TokenScope, TokenStore,
};
use berth_sim::IgnitionSource;
use berth_store::{SealingKeys, SqliteStore};
use kube::Client;
use serde_json::Value;
use tokio::{sync::watch, task::JoinHandle};
use tokio_util::sync::CancellationToken;

use super::world::unusable;
use crate::{commands::serve, documents, failure::Failure, io::microseconds};

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
    tasks: Vec<JoinHandle<()>>,
    stop: CancellationToken,
}

impl Services {
    /// Ends them.
    pub(super) fn stop(&self) {
        self.stop.cancel();
        for task in &self.tasks {
            task.abort();
        }
    }
}

/// What everything is made from.
pub(super) struct Site<'a> {
    pub(super) texts: &'a [(String, String)],
    pub(super) objects: &'a [Value],
    /// What the documents say that machines are served.
    pub(super) serving: Serving,
}

/// Starts them on free ports. The database is in the folder that is kept, or is gone at the end.
pub(super) async fn start(
    kept: Option<&Path>,
    site: &Site<'_>,
    names: &[String],
    folder: &Path,
    client: Client,
) -> Result<(Services, IgnitionSource), Failure> {
    let flavour = site.serving.flavour;
    let database = kept.unwrap_or(folder).join("documents.sqlite");
    let store = Arc::new(SqliteStore::open(&database, SealingKeys::none()).await?);
    let repository = repository(Arc::clone(&store), site.texts, flavour).await?;
    let (api, engine) = serve::local_api(Arc::clone(&repository), store, client.clone(), flavour);
    let api = Server::bind(loopback(), api).await?;
    let documents = address(&api)?;
    let catalog = CatalogHandle::new(catalog(site.serving.clone()).map_err(unusable)?);
    let (server, source) = ignition(catalog.clone(), names, folder).await?;
    let (berths, watching) = follow_documents(&client, &[DocumentKind::Berth]);
    let stop = CancellationToken::new();
    let services = Services {
        documents,
        repository,
        ignition: address(&server)?,
        tasks: vec![
            tokio::spawn(api.run(std::future::pending())),
            tokio::spawn(server.run(std::future::pending())),
            tokio::spawn(engine.run(stop.clone())),
            tokio::spawn(watching),
            tokio::spawn(follow_places(
                berths,
                site.serving.clone(),
                site.objects.to_vec(),
                catalog,
            )),
        ],
        stop,
    };
    Ok((services, source))
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
    texts: &[(String, String)],
    flavour: Flavour,
) -> Result<Arc<Repository>, Failure> {
    let repository = Arc::new(Repository::new(store));
    let rules = SiteRules { flavour: Some(flavour) };
    let configdocs = Configdocs::new(Arc::clone(&repository), Arc::new(rules));
    if configdocs.staged().await.map_err(unusable)?.committed.is_some() {
        return Ok(repository);
    }
    let documents = documents::storable(texts.to_vec());
    if documents.is_empty() {
        return Ok(repository);
    }
    let now = microseconds();
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
) -> Result<(Server, IgnitionSource), Failure> {
    let tokens = TokenStore::open(folder.join("tokens.json"))?;
    let now = Seconds(jiff::Timestamp::now().as_second());
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
    let service = IgnitionService::new(catalog, Access::Tokens(Arc::new(tokens)), Arc::new(move || now));
    let server = Server::bind(loopback(), service).await?;
    let source = IgnitionSource::new(address(&server)?, known);
    Ok((server, source))
}

fn catalog(serving: Serving) -> Result<Catalog, CatalogError> {
    Ok(Catalog::make(serving, "up", CommonFiles::default())?.catalog)
}

/// How long to wait for changes that belong together.
const GATHER: Duration = Duration::from_millis(100);

/// A machine that moves to another pool is served that pool's config when it is provisioned again.
async fn follow_places(
    mut berths: watch::Receiver<Snapshot>,
    documented: Serving,
    objects: Vec<Value>,
    handle: CatalogHandle,
) {
    let mut served = documented.nodes.clone();
    while berths.changed().await.is_ok() {
        tokio::time::sleep(GATHER).await;
        let known: Vec<Berth> = {
            let snapshot = berths.borrow_and_update();
            let objects = snapshot.objects();
            objects
                .filter_map(|berth| serde_json::from_value(berth.clone()).ok())
                .collect()
        };
        let serving = documented.clone().with_places(&objects, &known);
        if serving.nodes == served {
            continue;
        }
        served.clone_from(&serving.nodes);
        match catalog(serving) {
            Ok(catalog) => handle.replace(catalog),
            Err(error) => tracing::error!("what machines are served stays as it is: {error}"),
        }
    }
}
