//! `berth serve`: the API, and the Ignition server beside it.

mod deckhand;
mod keystone;
mod outside;

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use berth_airship::{Api, ApiState, Auth, ClusterAccess, IdSource, KeystoneAccess, RolePolicy};
use berth_clock::Clock;
use berth_cluster::{admission::Webhook, connect};
use berth_decide::Strategy;
use berth_labels::Flavour;
use berth_listen::{Limits, ListenOptions, Server, TlsOptions};
use berth_repository::{Configdocs, DocumentRules, Repository, SiteRules};
use berth_site::LabelJoin;
use berth_store::Store;
use berth_tokens::TokenStore;
use berth_workflow::{DeploymentConfiguration, Engine, EngineOptions, Workflow, WorkflowOptions};
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::{
    controller::{
        documents::{self, Documents},
        webhook,
    },
    ignition_server::{self, Ready, stop_signal},
};
use crate::{
    args::{DeploymentConfigurationName, FlavourArg, RelabellingArgs, ServeArgs, StrategyName},
    database::{self, IfMissing},
    exit::Exit,
    failure::Failure,
    output::Printer,
    vital,
};

/// Runs the command.
pub(crate) fn run(args: &ServeArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let api = args
        .listen
        .map(|address| {
            let way = way(address, &args.auth)?;
            Ok::<_, Failure>((transport(address, args)?, address, way))
        })
        .transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let options = &args.ignition;
    let wants_ignition = options.ignition_listen.or(options.plain_listen).is_some();
    let repository = if api.is_some() || (wants_ignition && !options.has_source()) {
        let database = runtime.block_on(database::open(&args.database, IfMissing::Create))?;
        let store: Arc<dyn Store> = Arc::clone(&database) as _;
        Some((Arc::new(Repository::new(store)), database))
    } else {
        None
    };
    let cluster = if api.is_some() || (wants_ignition && !options.from_cluster) {
        runtime.block_on(cluster(args))?
    } else {
        Err("nothing asks for a cluster".to_owned())
    };
    let ignition = match (&repository, wants_ignition) {
        (_, false) => None,
        (Some((repository, _)), true) if !options.has_source() => {
            let repository = Arc::clone(repository);
            Some(ignition_server::of_revisions(options, repository, clock, printer)?)
        }
        (_, true) => match ignition_server::of_options(options, clock, printer)? {
            Some(ready) => Some(ready),
            None => return Ok(Exit::No),
        },
    };
    let ignition = ignition.map(|ready| ready.beside(cluster.as_ref().ok().cloned()));
    printer.flush()?;
    ignition_server::start_log(options);
    let revisions = repository.as_ref().map(|(repository, _)| Arc::clone(repository));
    let api = match api.zip(repository) {
        None => None,
        Some(((listen, address, way), (repository, database))) => {
            let auth = auth(way, cluster.as_ref().map_err(String::as_str), args)?;
            let rules: Arc<dyn DocumentRules> = Arc::new(SiteRules {
                flavour: args.ignition.flavour.typed(),
            });
            let stop = CancellationToken::new();
            let state = ApiState::new(Arc::clone(&repository), Arc::clone(&rules), auth, clock.clone(), ids())
                .with_design_hosts(args.design_host.iter().cloned())
                .with_deckhands(deckhand::others(&args.deckhand, args.deckhand_ca.as_deref())?)
                .ending_with(stop.clone());
            let engine = cluster.as_ref().ok().map(|client| {
                let options = engine_options(&args.relabelling, address, clock);
                Arc::new(Engine::new(Arc::clone(&database) as _, client.clone(), options))
            });
            let state = match (&engine, cluster) {
                (Some(engine), _) => {
                    let options = workflow_options(&args.relabelling, args.ignition.flavour.typed());
                    let configdocs = Arc::new(Configdocs::new(repository, rules));
                    let workflow = Workflow::new(configdocs, database, Arc::clone(engine), options);
                    state.with_workflow(Arc::new(workflow))
                }
                (None, Err(why)) => {
                    tracing::warn!(why, "no nodes can be labelled");
                    state.without_cluster(database, why)
                }
                (None, Ok(_)) => state,
            };
            Some(ServedApi {
                listen,
                api: Api::new(state),
                engine,
                stop,
            })
        }
    };
    let reviews = runtime.block_on(reviews(args, revisions))?;
    runtime.block_on(serve(api, ignition, reviews))?;
    Ok(Exit::Done)
}

/// The admission webhook, listening. Whose kubelets join is what documents say that are served here, unless it was typed.
async fn reviews(args: &ServeArgs, revisions: Option<Arc<Repository>>) -> Result<Option<Server>, Failure> {
    let (Some(address), Some(certificate), Some(key)) =
        (args.admission_listen, &args.admission_cert, &args.admission_key)
    else {
        return Ok(None);
    };
    let client = connect(
        args.ignition.cluster_kubeconfig.as_deref(),
        args.ignition.cluster_context.as_deref(),
    )
    .await?;
    let options = &args.ignition;
    let documents = match revisions {
        _ if !options.paths.is_empty() => Some(documents::of_folder(&options.paths, options.flavour)?),
        Some(revisions) => Some(documents::of_repository(Arc::default(), revisions, options.flavour)),
        None => None,
    };
    let tls = TlsOptions {
        client_ca: args.admission_client_ca.clone(),
        ..TlsOptions::new(address, certificate, key)
    };
    let (reviewer, watching) = Webhook::new(&client, flavour_of(documents, options.flavour));
    let server = webhook(reviewer, tls, &options.limits).await?;
    vital::spawn("webhook watches", watching);
    Ok(Some(server))
}

/// Whose rules hold: what was typed, else what the documents say now.
fn flavour_of(documents: Option<Documents>, typed: FlavourArg) -> impl Fn() -> Flavour {
    move || match &documents {
        Some(documents) => typed.of(&documents.borrow()),
        None => typed.or_upstream(),
    }
}

/// With TLS wherever there is a certificate. Without one nobody else may see the traffic, unless somebody says so.
fn transport(address: SocketAddr, args: &ServeArgs) -> Result<ListenOptions, Failure> {
    let options = &args.ignition;
    let certificate = options.tls_cert.as_ref().zip(options.tls_key.as_ref());
    let tls = certificate
        .filter(|_| !args.plain_http)
        .map(|(certificate, key)| TlsOptions::new(address, certificate, key));
    if tls.is_none() && !args.plain_http && !address.ip().is_loopback() {
        return Err(Failure::Argument {
            message: format!("the API on {address} can be reached from elsewhere, and there is no certificate for TLS"),
            hint: Some(
                "add `--tls-cert FILE --tls-key FILE`; or `--plain-http`, where a proxy in front of it does TLS"
                    .to_owned(),
            ),
        });
    }
    Ok(ListenOptions {
        plain: tls.is_none().then_some(address),
        tls,
        limits: options.limits.over(Limits::default()),
    })
}

/// How callers of the API are known.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    None,
    Tokens(PathBuf),
    Kubernetes,
    Keystone(reqwest::Url),
}

/// Reads `--auth`. Without it nobody is asked who they are, so nobody else may reach the API.
fn way(address: SocketAddr, given: &[String]) -> Result<Way, Failure> {
    let wrong = |message: String, hint: &str| {
        Err(Failure::Argument {
            message,
            hint: Some(hint.to_owned()),
        })
    };
    let words: Vec<&str> = given.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] | ["none"] if address.ip().is_loopback() => Ok(Way::None),
        [] => wrong(
            format!("the API does not ask callers who they are, and {address} can be reached from elsewhere"),
            "listen on 127.0.0.1 or [::1], or add `--auth tokens FILE` or `--auth kubernetes`",
        ),
        ["none"] => wrong(
            format!("`--auth none` is for loopback addresses, and {address} is none"),
            "listen on 127.0.0.1 or [::1], or write `--auth tokens FILE` or `--auth kubernetes`",
        ),
        ["tokens", file] => Ok(Way::Tokens(PathBuf::from(file))),
        ["tokens"] => wrong(
            "`--auth tokens` needs the file with the tokens".to_owned(),
            "make it with `berth token create --role operator --token-file FILE`",
        ),
        ["kubernetes"] => Ok(Way::Kubernetes),
        ["keystone", url] => keystone::address(url).map(Way::Keystone),
        ["keystone"] => wrong(
            "`--auth keystone` needs the address of Keystone".to_owned(),
            "write it as clients have it in OS_AUTH_URL, such as `--auth keystone https://keystone.example/v3`",
        ),
        ["none" | "kubernetes", file] => wrong(
            format!(
                "`{file}` after `--auth {}` has no meaning",
                words.first().unwrap_or(&"")
            ),
            "only `--auth tokens` takes a file, and `--auth keystone` an address",
        ),
        [way, ..] => wrong(
            format!("`--auth {way}` is not known"),
            "write `--auth none`, `--auth tokens FILE`, `--auth kubernetes` or `--auth keystone URL`",
        ),
    }
}

/// What the API knows callers by. The cluster must be there if it is to say who they are.
fn auth(way: Way, cluster: Result<&Client, &str>, args: &ServeArgs) -> Result<Auth, Failure> {
    let (roles, keystone_ca) = (&args.keystone_role, args.keystone_ca.as_deref());
    match way {
        Way::None => Ok(Auth::None),
        Way::Tokens(path) => {
            let tokens = TokenStore::open(path)?;
            if tokens.list()?.is_empty() {
                tracing::warn!(file = %tokens.path().display(), "there are no tokens yet, so nobody can use the API");
            }
            Ok(Auth::Tokens(Arc::new(tokens)))
        }
        Way::Kubernetes => match cluster {
            Ok(client) => Ok(Auth::Kubernetes(Arc::new(ClusterAccess::new(client.clone())))),
            Err(why) => Err(Failure::Argument {
                message: format!("`--auth kubernetes` needs a cluster: {why}"),
                hint: Some("name one with `--cluster-kubeconfig FILE`".to_owned()),
            }),
        },
        Way::Keystone(url) => {
            let policy = if roles.is_empty() {
                RolePolicy::default()
            } else {
                RolePolicy::new(roles.iter().map(|given| (given.name.clone(), given.role)))
            };
            let access = KeystoneAccess::new(keystone::ask(&url, keystone_ca)?, policy);
            Ok(Auth::Keystone(Arc::new(access)))
        }
    }
}

/// The cluster whose Nodes are labelled, or why there is none. A server without one serves documents.
async fn cluster(args: &ServeArgs) -> Result<Result<Client, String>, Failure> {
    if args.no_cluster {
        return Ok(Err("the server was started with --no-cluster".to_owned()));
    }
    let (kubeconfig, context) = (&args.ignition.cluster_kubeconfig, &args.ignition.cluster_context);
    let is_named = kubeconfig.is_some() || context.is_some();
    match connect(kubeconfig.as_deref(), context.as_deref()).await {
        Ok(client) => Ok(Ok(client)),
        // Who names a cluster means it.
        Err(error) if is_named => Err(error.into()),
        Err(error) => Ok(Err(error.to_string())),
    }
}

/// The API with what works behind it.
struct ServedApi {
    listen: ListenOptions,
    api: Api,
    engine: Option<Arc<Engine>>,
    stop: CancellationToken,
}

fn engine_options(args: &RelabellingArgs, address: SocketAddr, clock: &Clock) -> EngineOptions {
    let identity = args.identity.clone().unwrap_or_else(|| made_up_identity(address));
    let mut options = EngineOptions::new(identity, clock.clone());
    options.concurrency = args.concurrency;
    options.lease = args.lease_duration;
    options.policy.foreign.extend(args.protected.iter().cloned());
    options
}

/// The same when the server starts again, and another one for every server on the database.
fn made_up_identity(address: SocketAddr) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    if address.port() == 0 {
        return format!("{host}-{}", std::process::id());
    }
    format!("{host}-{address}")
}

fn workflow_options(args: &RelabellingArgs, flavour: Option<Flavour>) -> WorkflowOptions {
    WorkflowOptions {
        strategy: match args.strategy {
            StrategyName::Mirror => Strategy::Mirror,
            StrategyName::Owned => Strategy::Owned,
            StrategyName::Promenade => Strategy::Promenade,
        },
        require_site_action: !args.no_site_action_needed,
        deployment_configuration: match args.deployment_configuration {
            DeploymentConfigurationName::Airship => DeploymentConfiguration::Airship,
            DeploymentConfigurationName::Always => DeploymentConfiguration::Always,
            DeploymentConfigurationName::Never => DeploymentConfiguration::Never,
        },
        all_or_nothing: args.all_or_nothing,
        label_join: if args.any_filter_label {
            LabelJoin::Any
        } else {
            LabelJoin::All
        },
        flavour,
    }
}

async fn serve(api: Option<ServedApi>, ignition: Option<Ready>, reviews: Option<Server>) -> Result<(), Failure> {
    // Before the listeners, so that nobody can tell a server to stop before it would hear it.
    let stop = stop_signal().map_err(Failure::Runtime)?;
    let mut servers: Vec<Server> = reviews.into_iter().collect();
    let mut working = None;
    let mut ending = CancellationToken::new();
    if let Some(ServedApi {
        listen,
        api,
        engine,
        stop,
    }) = api
    {
        ending = stop.clone();
        let server = Server::bind(listen, api).await?;
        if let Some(address) = server.tls_address() {
            tracing::info!(%address, tls = true, "the API is listening");
        }
        if let Some(address) = server.plain_address() {
            tracing::info!(%address, tls = false, "the API is listening");
            if !address.ip().is_loopback() {
                tracing::warn!("tokens and documents can be read on the way to the API (--plain-http)");
            }
        }
        servers.push(server);
        working = engine.map(|engine| vital::spawn("actions", engine.run(stop)));
    }
    let follow = match ignition {
        None => None,
        Some(ready) => {
            let (server, follow) = ready.listen().await?;
            servers.push(server);
            Some(vital::spawn("documents", follow))
        }
    };
    let (tell, told) = watch::channel(false);
    let running: Vec<_> = servers
        .into_iter()
        .map(|server| {
            let mut told = told.clone();
            vital::spawn(
                "server",
                server.run(async move {
                    let _ = told.wait_for(|stopped| *stopped).await;
                }),
            )
        })
        .collect();
    stop.await;
    // Streams end, and the engine finishes the nodes that it has begun.
    ending.cancel();
    let _ = tell.send(true);
    for server in running {
        let _ = server.await;
    }
    if let Some(working) = working {
        let _ = working.await;
    }
    if let Some(follow) = follow {
        follow.abort();
    }
    tracing::info!("stopped");
    Ok(())
}

/// Random names in the form of UUIDs, as clients expect them.
pub(super) fn ids() -> IdSource {
    Arc::new(|| {
        let mut bytes = [0; 16];
        // A system without randomness would have refused to start long before.
        let _ = getrandom::fill(&mut bytes);
        uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
    })
}

#[cfg(test)]
mod tests {
    use berth_documents::DocumentSet;

    use super::*;

    #[test]
    fn without_authentication_only_loopback_is_served() {
        let none = ["none".to_owned()];
        for address in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80"] {
            let address = address.parse().unwrap();
            assert_eq!(way(address, &[]).unwrap(), Way::None);
            assert_eq!(way(address, &none).unwrap(), Way::None);
        }
        for address in ["0.0.0.0:80", "192.0.2.1:80", "[::]:80", "[::ffff:127.0.0.1]:80"] {
            let address = address.parse().unwrap();
            assert!(way(address, &[]).is_err());
            assert!(way(address, &none).is_err());
        }
    }

    #[test]
    fn reviews_follow_the_flavour_of_the_documents() {
        let site = |flavour: &str| {
            let mut set = DocumentSet::default();
            let region = format!(
                "schema: drydock/Region/v1\nmetadata: {{schema: metadata/Document/v1, name: r, labels: {{berth.dev/flavour: \
                 {flavour}}}}}\ndata: {{}}\n"
            );
            set.add_text("region.yaml", region);
            Arc::new(crate::site::Loaded::new(set).site)
        };
        let (changes, documents) = watch::channel(site("openshift"));
        let flavour = flavour_of(Some(documents), FlavourArg::default());
        assert_eq!(flavour(), Flavour::Openshift);
        changes.send_replace(site("upstream"));
        assert_eq!(flavour(), Flavour::Upstream);
        assert_eq!(flavour_of(None, FlavourArg::default())(), Flavour::Upstream);
    }

    #[test]
    fn ways_are_read_or_explained() {
        let address = "0.0.0.0:80".parse().unwrap();
        let read = |words: &[&str]| way(address, &words.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(read(&["tokens", "f.json"]).unwrap(), Way::Tokens("f.json".into()));
        assert_eq!(read(&["kubernetes"]).unwrap(), Way::Kubernetes);
        for wrong in [&["tokens"][..], &["kubernetes", "x"], &["keystone"], &["basic", "x"]] {
            assert!(
                matches!(read(wrong), Err(Failure::Argument { hint: Some(_), .. })),
                "{wrong:?}"
            );
        }
    }
}
