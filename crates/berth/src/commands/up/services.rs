//! What runs beside the cluster: the API of documents and actions on a database, and the Ignition server.

use std::{collections::BTreeMap, net::SocketAddr, path::Path, sync::Arc};

use berth_labels::Flavour;
use berth_listen::{ListenOptions, Server};
use berth_pools::Timestamp as Seconds;
use berth_repository::{BufferMode, CommitOptions, Configdocs, LoadOptions, Repository, SiteRules};
use berth_server::{Access, CatalogHandle, IgnitionService, NewToken, TokenScope, TokenStore};
use berth_sim::IgnitionSource;
use berth_store::{SealingKeys, SqliteStore};
use kube::Client;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::world::unusable;
use crate::{
    commands::{ignition_server, serve},
    documents,
    failure::Failure,
    io::microseconds,
};

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

/// Starts them on free ports. The database is in the folder that is kept, or is gone at the end.
pub(super) async fn start(
    kept: Option<&Path>,
    texts: &[(String, String)],
    names: &[String],
    folder: &Path,
    client: Client,
    flavour: Flavour,
) -> Result<(Services, IgnitionSource), Failure> {
    let database = kept.unwrap_or(folder).join("documents.sqlite");
    let store = Arc::new(SqliteStore::open(&database, SealingKeys::none()).await?);
    let repository = repository(Arc::clone(&store), texts, flavour).await?;
    let (api, engine) = serve::local_api(Arc::clone(&repository), store, client, flavour);
    let api = Server::bind(loopback(), api).await?;
    let documents = address(&api)?;
    let (server, source) = ignition(texts, names, folder).await?;
    let stop = CancellationToken::new();
    let services = Services {
        documents,
        repository,
        ignition: address(&server)?,
        tasks: vec![
            tokio::spawn(api.run(std::future::pending())),
            tokio::spawn(server.run(std::future::pending())),
            tokio::spawn(engine.run(stop.clone())),
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
    texts: &[(String, String)],
    names: &[String],
    folder: &Path,
) -> Result<(Server, IgnitionSource), Failure> {
    let catalog = ignition_server::catalog(texts.to_vec())?;
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
    let service = IgnitionService::new(
        CatalogHandle::new(catalog),
        Access::Tokens(Arc::new(tokens)),
        Arc::new(move || now),
    );
    let server = Server::bind(loopback(), service).await?;
    let source = IgnitionSource::new(address(&server)?, known);
    Ok((server, source))
}
