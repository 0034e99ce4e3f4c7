//! `berth ignition-server`, which `berth serve` runs too: a folder of documents, served to machines.

mod log;
mod source;

use std::{future::Future, io, path::Path, sync::Arc, time::Duration};

use berth_server::{
    Access, CatalogHandle, Clock, IgnitionService, ListenOptions, Server, TlsOptions, TokenState, TokenStore,
};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{MissedTickBehavior, interval},
};

use self::source::{Broken, Reading, SiteSource};
use crate::{
    args::IgnitionServerOptions,
    exit::Exit,
    failure::{Chain, Failure},
    files, findings,
    output::Printer,
};

/// How often to look whether a file of the site changed. Looking is cheap: nothing is read unless one did.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Runs the command.
pub(crate) fn run(args: &IgnitionServerOptions, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    let access = access(args, clock, printer)?;
    let kubeconfig = args.kubeconfig.as_deref().map(files::read).transpose()?;
    let mut source = SiteSource::new(args, kubeconfig)?;
    let catalog = match source.read()? {
        Reading::Catalog { catalog, notices } => {
            for notice in notices {
                printer.warning(&notice)?;
            }
            *catalog
        }
        // Whoever starts a server looks at it: better now than when the first machine asks.
        Reading::Broken(Broken { sources, diagnostics }) => {
            findings::show_errors(printer, &sources, diagnostics)?;
            return Ok(Exit::No);
        }
    };
    printer.flush()?;
    log::start(args.log_format, args.log_level);
    let handle = CatalogHandle::new(catalog);
    say_what_is_served(&handle, "serving the site");
    let service = IgnitionService::new(handle.clone(), access, Arc::clone(clock));
    let listen = ListenOptions {
        tls: tls(args),
        plain: args.plain_listen,
        ..ListenOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    runtime.block_on(serve(listen, service, args.allow_anonymous, follow(source, handle)))?;
    Ok(Exit::Done)
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

async fn serve(
    listen: ListenOptions,
    service: IgnitionService,
    is_anonymous: bool,
    follow: impl Future<Output = ()> + Send + 'static,
) -> Result<(), Failure> {
    // Before the listeners, so that nobody can tell a server to stop before it would hear it.
    let stop = stop_signal().map_err(Failure::Runtime)?;
    let server = Server::bind(listen, service).await?;
    if is_anonymous {
        tracing::warn!("ANYBODY who can reach this server gets every config and the secrets in it (--allow-anonymous)");
    }
    if let Some(address) = server.tls_address() {
        tracing::info!(%address, tls = true, "listening");
    }
    if let Some(address) = server.plain_address() {
        tracing::warn!(%address, tls = false, "listening without TLS: tokens and configs can be read on the way");
    }
    let follow = tokio::spawn(follow);
    server.run(stop).await;
    follow.abort();
    tracing::info!("stopped");
    Ok(())
}

/// Done when somebody asks the program to end.
fn stop_signal() -> io::Result<impl Future<Output = ()> + Send> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Reads the site again whenever a file changed, and serves it when it is sound.
async fn follow(mut source: SiteSource, handle: CatalogHandle) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
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
        match read {
            None => {}
            Some(Ok(Reading::Catalog { catalog, notices })) => {
                for notice in notices {
                    tracing::warn!("{notice}");
                }
                handle.replace(*catalog);
                say_what_is_served(&handle, "the site changed");
            }
            Some(Ok(Reading::Broken(broken))) => {
                broken.log();
                let revision = handle.current().revision().to_owned();
                tracing::error!(revision, "the site has errors; the last good state is still served");
            }
            Some(Err(failure)) => {
                for message in failure.messages() {
                    tracing::error!("{message}");
                }
                tracing::error!("the site cannot be read; the last good state is still served");
            }
        }
    }
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
