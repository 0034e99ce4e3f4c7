//! `berth ignition-server`, which `berth serve` runs too: a folder of documents, a committed revision or the objects of a
//! cluster, served to machines.

mod announce;
mod committed;
mod in_cluster;
pub(super) mod log;
mod source;

use std::{future::Future, io, path::Path, sync::Arc, time::Duration};

use berth_listen::{Limits, ListenOptions, Server, TlsOptions};
use berth_repository::Repository;
use berth_server::{Access, Catalog, CatalogHandle, Clock, IgnitionService, TokenState, TokenStore};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Interval, MissedTickBehavior, interval},
};

use self::{
    announce::Announcements,
    committed::CommittedSource,
    in_cluster::ClusterSource,
    source::{Broken, Maker, Reading, SiteSource},
};
use crate::{
    args::IgnitionServerOptions,
    exit::Exit,
    failure::{Chain, Failure},
    findings,
    output::Printer,
    vital,
};

/// How often to look whether a file of the site changed. Looking is cheap: nothing is read unless one did.
const LOOK_EVERY: Duration = Duration::from_secs(1);

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
    source: Source,
    options: ListenOptions,
    is_anonymous: bool,
    announcements: Option<Announcements>,
}

/// Where the documents come from.
enum Source {
    Folder(SiteSource),
    Committed(CommittedSource),
    Cluster(ClusterSource),
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
    let source = Source::Cluster(ClusterSource::new(args, Maker::new(args)?));
    let catalog = Catalog::loading("the objects of the cluster are being read");
    Ok(Some(Ready::new(args, access, clock, catalog, source)))
}

/// The server of a folder of documents. Nothing when they have mistakes, which have been printed: whoever starts a
/// server looks at it, so better now than when the first machine asks.
fn of_folder(args: &IgnitionServerOptions, clock: &Clock, printer: &mut Printer<'_>) -> Result<Option<Ready>, Failure> {
    let access = access(args, clock, printer)?;
    let mut source = SiteSource::new(args, Maker::new(args)?)?;
    match source.read()? {
        Reading::Catalog { catalog, notices } => {
            for notice in notices {
                printer.warning(&notice)?;
            }
            let source = Source::Folder(source);
            Ok(Some(Ready::new(args, access, clock, *catalog, source)))
        }
        Reading::Broken(Broken { sources, diagnostics }) => {
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
    let source = Source::Committed(CommittedSource::new(repository, Maker::new(args)?));
    let catalog = Catalog::loading("the committed revision is being read");
    Ok(Ready::new(args, access, clock, catalog, source))
}

/// Starts the log of a server.
pub(super) fn start_log(args: &IgnitionServerOptions) {
    log::start(args.log_format, args.log_level);
}

impl Ready {
    fn new(args: &IgnitionServerOptions, access: Access, clock: &Clock, catalog: Catalog, source: Source) -> Self {
        let handle = CatalogHandle::new(catalog);
        let (observer, announcements) = announce::channel(args.announce_to.clone());
        Self {
            service: IgnitionService::with_observer(handle.clone(), access, Arc::clone(clock), observer),
            announcements,
            handle,
            source,
            options: ListenOptions {
                tls: tls(args),
                plain: args.plain_listen,
                limits: args.limits.over(Limits::default()),
            },
            is_anonymous: args.allow_anonymous,
        }
    }

    /// Opens the listeners, and gives the server with what keeps its catalog up to date.
    pub(super) async fn listen(self) -> Result<(Server, impl Future<Output = ()> + Send + 'static), Failure> {
        let Self {
            service,
            handle,
            mut source,
            options,
            is_anonymous,
            announcements,
        } = self;
        if let Some(announcements) = announcements {
            vital::spawn("announcements", announcements.connect().await?);
        }
        match &mut source {
            Source::Folder(_) => say_what_is_served(&handle, "serving the site"),
            // Before anybody can ask, so that nobody is sent away who need not be.
            Source::Committed(source) => {
                if let Some(read) = source.look().await {
                    take(&handle, read, "serving the committed revision");
                }
            }
            // A cluster that cannot be reached at the start is a slip of the pen; one that goes away later comes back.
            Source::Cluster(source) => {
                let read = source.start().await?;
                take(&handle, read, "serving the cluster's objects");
            }
        }
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
        Ok((server, follow(source, handle)))
    }
}

/// Who may fetch configs. A token file that is not there opens nothing to anybody, and is a slip of the pen.
fn access(args: &IgnitionServerOptions, clock: &Clock, printer: &mut Printer<'_>) -> Result<Access, Failure> {
    let Some(path) = &args.tokens else {
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
    let now = clock();
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

/// Reads the documents again whenever they changed, and serves them when they are sound.
async fn follow(source: Source, handle: CatalogHandle) {
    match source {
        Source::Folder(source) => follow_folder(source, handle).await,
        Source::Committed(source) => follow_revisions(source, handle).await,
        Source::Cluster(source) => source.follow(handle).await,
    }
}

async fn follow_folder(mut source: SiteSource, handle: CatalogHandle) {
    let mut ticks = ticks();
    loop {
        ticks.tick().await;
        // Files are read on a thread where waiting for the disk holds up nobody.
        let looked = tokio::task::spawn_blocking(move || {
            let read = source.has_changed().then(|| source.read());
            (source, read)
        });
        let Ok((back, read)) = looked.await else {
            tracing::error!("reading the site failed; it is not followed any more");
            return;
        };
        source = back;
        if let Some(read) = read {
            take(&handle, read, "the site changed");
        }
    }
}

async fn follow_revisions(mut source: CommittedSource, handle: CatalogHandle) {
    let mut ticks = ticks();
    loop {
        ticks.tick().await;
        if let Some(read) = source.look().await {
            take(&handle, read, "another revision is committed");
        }
    }
}

fn ticks() -> Interval {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

/// Serves what was read, or says why it stays as it was.
fn take(handle: &CatalogHandle, read: Result<Reading, Failure>, what: &str) {
    match read {
        Ok(Reading::Catalog { catalog, notices }) => {
            for notice in notices {
                tracing::warn!("{notice}");
            }
            handle.replace(*catalog);
            say_what_is_served(handle, what);
        }
        Ok(Reading::Broken(broken)) => {
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
