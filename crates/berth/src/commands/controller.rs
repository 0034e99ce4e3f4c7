//! `berth controller`: the controllers in a cluster.

pub(super) mod documents;
mod webhook;

use std::{io, time::Duration};

use berth_clock::Clock;
use berth_cluster::{
    admission::Webhook,
    controller::{self, Mode, Options},
    lease::LeaseOptions,
};
use berth_labels::ConflictPolicy;
use berth_listen::TlsOptions;
use berth_repository::Repository;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

pub(super) use self::webhook::webhook;
use super::{ignition_server::log, install::failure};
use crate::{
    args::{AdmissionName, ControllerArgs, ModeName, address_in},
    cluster::connect,
    exit::Exit,
    failure::Failure,
    vital,
};

/// How often the leader renews its lease, as a share of the lease's duration.
const RENEWALS: u32 = 6;

/// Runs the command.
pub(crate) fn run(args: &ControllerArgs, clock: &Clock) -> Result<Exit, Failure> {
    log::start(args.log_format, args.log_level);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    runtime.block_on(async {
        let shutdown = CancellationToken::new();
        end_on_signal(&shutdown).map_err(Failure::Runtime)?;
        let client = connect(&args.cluster).await?;
        let mut options = options(args, clock);
        options.documents = documents(args).await?;
        let serving = match (args.admission_listen, &args.tls_cert, &args.tls_key) {
            (Some(address), Some(certificate), Some(key)) => {
                let rules = options.clone();
                let (reviewer, watching) = Webhook::new(&client, move || rules.flavour());
                let tls = TlsOptions {
                    client_ca: args.admission_client_ca.clone(),
                    ..TlsOptions::new(address, certificate, key)
                };
                let server = webhook(reviewer, tls, &args.limits).await?;
                vital::spawn("webhook watches", watching);
                Some(vital::spawn("webhook", server.run(shutdown.clone().cancelled_owned())))
            }
            _ => None,
        };
        Box::pin(controller::run(client, options, shutdown)).await?;
        if let Some(serving) = serving {
            let _ = serving.await;
        }
        Ok(Exit::Done)
    })
}

/// Where to read which machines there are, besides the cluster itself.
async fn documents(args: &ControllerArgs) -> Result<Option<documents::Documents>, Failure> {
    if !args.paths.is_empty() {
        return documents::of_folder(&args.paths, args.flavour).map(Some);
    }
    let address = match (&args.database_file, &args.database) {
        (Some(file), _) => address_in(file)?,
        (None, Some(address)) => address.clone(),
        (None, None) => return Ok(None),
    };
    let store = berth_store::open(&address, args.sealing.keys()?).await?;
    Ok(Some(documents::of_database(Repository::new(store), args.flavour)))
}

/// What the controllers do.
pub(super) fn mode(name: ModeName) -> Mode {
    match name {
        ModeName::Labels => Mode::Labels,
        ModeName::Full => Mode::Full,
    }
}

fn options(args: &ControllerArgs, clock: &Clock) -> Options {
    let mut options = Options::new(clock.clone());
    options.mode = mode(args.mode);
    options.approve = args.approve;
    options.adopt = !args.no_adoption;
    options.allow_mass_removal = args.allow_mass_removal;
    options.listen = args.health_listen;
    options.admission = (args.admission == AdmissionName::Policy).then(|| failure(args.admission_failure));
    if args.take_over {
        options.conflicts = ConflictPolicy::TakeOver;
    }
    options.flavour = args.flavour.typed();
    if !args.no_leader_election {
        options.lease = Some(LeaseOptions {
            namespace: args.lease_namespace.clone(),
            identity: args.identity.clone().unwrap_or_else(|| made_up_identity(clock)),
            duration: args.lease_duration,
            period: (args.lease_duration / RENEWALS).max(Duration::from_millis(100)),
            ..LeaseOptions::default()
        });
    }
    options
}

/// The host's name tells people which replica it is; process and time tell two on one host apart.
fn made_up_identity(clock: &Clock) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let started = clock.now().as_millisecond();
    format!("{}-{}-{started}", host.trim(), std::process::id())
}

pub(super) fn end_on_signal(shutdown: &CancellationToken) -> io::Result<()> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let shutdown = shutdown.clone();
    vital::spawn("signals", async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        shutdown.cancel();
    });
    Ok(())
}
