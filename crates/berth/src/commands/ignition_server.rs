//! `berth ignition-server`, which `berth serve` runs too: a folder of documents, a committed revision or the objects of a
//! cluster, served to machines.

mod announce;
pub(super) mod log;
mod make;

use std::{
    future::Future,
    io,
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
};

use berth_clock::Clock;
use berth_ignition_server::{Access, Catalog, CatalogHandle, IgnitionService};
use berth_listen::{Limits, ListenOptions, Server, TlsOptions};
use berth_repository::Repository;
use berth_tokens::{TokenState, TokenStore};
use kube::Client;
use tokio::signal::unix::{SignalKind, signal};

use self::{
    announce::Announcements,
    make::{Broken, Content, Made, Maker},
};
use crate::{
    args::IgnitionServerOptions,
    exit::Exit,
    failure::{Chain, Failure},
    findings,
    output::Printer,
    sources::{Cluster, Committed, Declared, Files, Placed, Source},
    vital,
};

/// Runs the command.
pub(crate) fn run(args: &IgnitionServerOptions, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let Some(ready) = of_options(args, clock, printer)? else {
        return Ok(Exit::No);
    };
    printer.flush()?;
    start_log(args);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    runtime.block_on(serve(ready))?;
    Ok(Exit::Done)
}

/// An Ignition server that only has to listen.
pub(super) struct Ready {
    service: IgnitionService,
    handle: CatalogHandle,
    origin: Origin,
    maker: Maker,
    options: ListenOptions,
    is_anonymous: bool,
    announcements: Option<Announcements>,
    /// The cluster whose Berths say where machines are now, beside documents.
    cluster: Option<Client>,
}

/// Where what is served comes from.
enum Origin {
    Documents(Declared),
    /// A cluster that is not connected yet.
    Cluster {
        kubeconfig: Option<PathBuf>,
        context: Option<String>,
    },
}

/// The server of a folder of documents, or of a cluster.
pub(super) fn of_options(
    args: &IgnitionServerOptions,
    clock: &Clock,
    printer: &mut Printer<'_>,
) -> Result<Option<Ready>, Failure> {
    if !args.from_cluster {
        return of_folder(args, clock, printer);
    }
    let access = access(args, clock, printer)?;
    let origin = Origin::Cluster {
        kubeconfig: args.cluster_kubeconfig.clone(),
        context: args.cluster_context.clone(),
    };
    let catalog = Catalog::loading("the objects of the cluster are being read");
    Ok(Some(Ready::new(
        args,
        access,
        clock,
        catalog,
        origin,
        Maker::new(args)?,
    )))
}

/// The server of a folder of documents. Nothing when they have mistakes, which have been printed: whoever starts a
/// server looks at it, so better now than when the first machine asks.
fn of_folder(args: &IgnitionServerOptions, clock: &Clock, printer: &mut Printer<'_>) -> Result<Option<Ready>, Failure> {
    let access = access(args, clock, printer)?;
    let mut files = Files::new(&args.paths)?;
    let maker = Maker::new(args)?;
    match maker.make_here(files.read()?)? {
        Made::Catalog { catalog, notices } => {
            for notice in notices {
                printer.warning(&notice)?;
            }
            let origin = Origin::Documents(Box::new(files));
            Ok(Some(Ready::new(args, access, clock, *catalog, origin, maker)))
        }
        Made::Broken(Broken { sources, diagnostics }) => {
            findings::show_errors(printer, &sources, diagnostics)?;
            Ok(None)
        }
    }
}

/// The server of whatever revision is committed. One that has mistakes does not keep it from starting: the API beside it
/// is where they are mended.
pub(super) fn of_revisions(
    args: &IgnitionServerOptions,
    repository: Arc<Repository>,
    clock: &Clock,
    printer: &mut Printer<'_>,
) -> Result<Ready, Failure> {
    let access = access(args, clock, printer)?;
    let origin = Origin::Documents(Box::new(Committed::new(repository)));
    let catalog = Catalog::loading("the committed revision is being read");
    Ok(Ready::new(args, access, clock, catalog, origin, Maker::new(args)?))
}

/// Starts the log of a server.
pub(super) fn start_log(args: &IgnitionServerOptions) {
    log::start(args.log_format, args.log_level);
}

impl Ready {
    fn new(
        args: &IgnitionServerOptions,
        access: Access,
        clock: &Clock,
        catalog: Catalog,
        origin: Origin,
        maker: Maker,
    ) -> Self {
        let handle = CatalogHandle::new(catalog);
        let (observer, announcements) = announce::channel(args.announce_to.clone(), clock);
        Self {
            service: IgnitionService::with_observer(handle.clone(), access, clock.clone(), observer),
            announcements,
            cluster: None,
            handle,
            origin,
            maker,
            options: ListenOptions {
                tls: tls(args),
                plain: args.plain_listen,
                limits: args.limits.over(Limits::default()),
            },
            is_anonymous: args.allow_anonymous,
        }
    }

    /// The same beside a cluster: a machine whose Berth is in another pool than the documents say is served that one.
    pub(super) fn beside(mut self, cluster: Option<Client>) -> Self {
        self.cluster = cluster;
        self
    }

    /// Opens the listeners, and gives the server with what keeps its catalog up to date.
    pub(super) async fn listen(self) -> Result<(Server, impl Future<Output = ()> + Send + 'static), Failure> {
        let Self {
            service,
            handle,
            origin,
            maker,
            options,
            is_anonymous,
            announcements,
            cluster,
        } = self;
        if let Some(announcements) = announcements {
            vital::spawn("announcements", announcements.connect().await?);
        }
        // Read before anybody can ask, so that nobody is sent away who need not be.
        let follow: Pin<Box<dyn Future<Output = ()> + Send>> = match origin {
            Origin::Documents(source) => match cluster {
                None => Box::pin(following(source, maker, handle).await),
                Some(client) => {
                    let placed = Placed::new(source, &client).await;
                    Box::pin(following(Box::new(placed), maker, handle).await)
                }
            },
            Origin::Cluster { kubeconfig, context } => {
                let cluster = Cluster::connect(kubeconfig.as_deref(), context.as_deref()).await?;
                Box::pin(following(Box::new(cluster), maker, handle).await)
            }
        };
        let server = Server::bind(options, service).await?;
        if is_anonymous {
            tracing::warn!(
                "ANYBODY who can reach this server gets every config and the secrets in it (--allow-anonymous)"
            );
        }
        if let Some(address) = server.tls_address() {
            tracing::info!(%address, tls = true, "listening");
        }
        if let Some(address) = server.plain_address() {
            tracing::warn!(%address, tls = false, "listening without TLS: tokens and configs can be read on the way");
        }
        Ok((server, follow))
    }
}

/// Who may fetch configs. A token file that is not there opens nothing to anybody, and is a mistake.
fn access(args: &IgnitionServerOptions, clock: &Clock, printer: &mut Printer<'_>) -> Result<Access, Failure> {
    let Some(path) = &args.tokens else {
        if args.announce_to.is_some() {
            return Err(Failure::Argument {
                message: "--announce-to needs --tokens: without tokens anybody could have Nodes created".to_owned(),
                hint: Some("make tokens with `berth token create --node NAME --token-file FILE`".to_owned()),
            });
        }
        return Ok(Access::Anonymous);
    };
    if !path.exists() {
        return Err(Failure::Argument {
            message: format!("there is no token file `{}`", path.display()),
            hint: Some(format!(
                "make a token with `berth token create --token-file {}`",
                path.display()
            )),
        });
    }
    let store = TokenStore::open(path)?;
    let now = clock.now();
    // No reason to refuse: tokens can be made while the server runs, and after a restart all may be used up.
    if !store.list()?.iter().any(|token| token.state(now) == TokenState::Valid) {
        printer.warning(&format!("no token in `{}` is valid yet", path.display()))?;
    }
    Ok(Access::Tokens(Arc::new(store)))
}

fn tls(args: &IgnitionServerOptions) -> Option<TlsOptions> {
    // clap has made sure that all three are there, or none.
    let paths = args.tls_cert.as_deref().zip(args.tls_key.as_deref());
    let (address, (certificate, key)): (_, (&Path, &Path)) = args.ignition_listen.zip(paths)?;
    Some(TlsOptions::new(address, certificate, key))
}

async fn serve(ready: Ready) -> Result<(), Failure> {
    // Before the listeners, so that nobody can tell a server to stop before it would hear it.
    let stop = stop_signal().map_err(Failure::Runtime)?;
    let (server, follow) = ready.listen().await?;
    let follow = vital::spawn("documents", follow);
    server.run(stop).await;
    follow.abort();
    tracing::info!("stopped");
    Ok(())
}

/// Done when somebody asks the program to end.
pub(super) fn stop_signal() -> io::Result<impl Future<Output = ()> + Send> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Serves what a source has, and gives what goes on with that whenever it changes.
async fn following<T: Content + Send + 'static>(
    mut source: Box<dyn Source<Content = T>>,
    maker: Maker,
    handle: CatalogHandle,
) -> impl Future<Output = ()> + Send {
    if !look(&mut *source, &maker, &handle, "serving the site").await {
        say_what_is_served(&handle, "serving the site");
    }
    async move {
        loop {
            source.changed().await;
            let changed = look(&mut *source, &maker, &handle, "the site changed").await;
            let interrupted = handle
                .stale_reason()
                .is_some_and(|reason| reason.starts_with(INTERRUPTED));
            match source.interruption() {
                Some(why) if handle.stale_reason().is_none() => handle.set_stale(format!("{INTERRUPTED}: {why}")),
                None if interrupted && !changed => handle.set_fresh(),
                Some(_) | None => {}
            }
        }
    }
}

/// How the reason begins when the source cannot be followed.
const INTERRUPTED: &str = "the cluster cannot be followed";

/// Serves what a source has now; says whether there was anything new.
async fn look<T: Content + Send + 'static>(
    source: &mut dyn Source<Content = T>,
    maker: &Maker,
    handle: &CatalogHandle,
    what: &str,
) -> bool {
    let made = match source.look().await {
        Ok(None) => return false,
        Ok(Some(reading)) => maker.make(reading).await,
        Err(failure) => Err(failure),
    };
    take(handle, made, what);
    true
}

/// Serves what was read, or says why it stays as it was.
fn take(handle: &CatalogHandle, made: Result<Made, Failure>, what: &str) {
    match made {
        Ok(Made::Catalog { catalog, notices }) => {
            for notice in notices {
                tracing::warn!("{notice}");
            }
            handle.replace(*catalog);
            say_what_is_served(handle, what);
        }
        Ok(Made::Broken(broken)) => {
            broken.log();
            keep(handle, broken.in_words());
            let revision = handle.current().revision().to_owned();
            tracing::error!(revision, "the site has errors; the last good state is still served");
        }
        Err(failure) => {
            let messages = failure.messages();
            for message in &messages {
                tracing::error!("{message}");
            }
            keep(handle, messages.join("; "));
            tracing::error!("the site cannot be read; the last good state is still served");
        }
    }
}

/// What is served stays. Where nothing was served yet, machines and people are told what it waits for.
fn keep(handle: &CatalogHandle, reason: String) {
    if handle.current().loading_reason().is_some() {
        handle.replace(Catalog::loading(reason.clone()));
    }
    handle.set_stale(reason);
}

fn say_what_is_served(handle: &CatalogHandle, what: &str) {
    let catalog = handle.current();
    let (pools, nodes) = (catalog.pools().count(), catalog.nodes().count());
    tracing::info!(revision = catalog.revision(), pools, nodes, "{what}");
}

/// An error in one line of a log.
fn in_one_line(error: &dyn std::error::Error) -> String {
    Chain(error).to_string()
}
