//! The task that campaigns for the Lease and publishes the claim.

use std::time::Duration;

use berth_clock::Clock;
use berth_nodes::Hold;
use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use kube::{Api, Client, api::PostParams};
use tokio::{sync::watch, time::Instant};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::{LeaseAction, Observed, Record, evaluate};
use crate::connect::Unreached;
use berth_decide::names;

/// How to campaign.
#[derive(Clone, Debug)]
pub struct LeaseOptions {
    /// The namespace of the Lease.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Who this replica is; unique among all.
    pub identity: String,
    /// How long a silent holder keeps it.
    pub duration: Duration,
    /// How often the holder renews it and others look.
    pub period: Duration,
}

impl Default for LeaseOptions {
    fn default() -> Self {
        Self {
            namespace: "berth-system".to_owned(),
            name: "berth-controller".to_owned(),
            identity: "berth".to_owned(),
            duration: Duration::from_secs(15),
            period: Duration::from_secs(2),
        }
    }
}

/// Whether this replica may write, and until when it may believe so without hearing more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Claim {
    until: Option<Instant>,
}

impl Claim {
    /// A claim that ends then.
    pub(crate) fn until(end: Instant) -> Self {
        Self { until: Some(end) }
    }

    /// Whether writes are allowed right now. A replica that could not renew in time stops by itself, before another
    /// one can have taken the lease.
    pub fn is_current(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() < until)
    }

    /// How long a request may take that is sent now: what is left of the claim, which ends before the lease does. Nothing
    /// when this replica may not write.
    pub fn left(&self) -> Option<Duration> {
        let left = self.until?.saturating_duration_since(Instant::now());
        (!left.is_zero()).then_some(left)
    }

    /// Whether this replica holds the lease, as far as it knows.
    pub fn is_held(&self) -> bool {
        self.until.is_some()
    }

    /// When the claim ends unless it is renewed.
    pub fn ends(&self) -> Option<Instant> {
        self.until
    }
}

/// How long a write may take that is sent now, at most `limit`; nothing when this replica may not write. Without an election it
/// always may.
pub(crate) fn time_to_write(claims: Option<&watch::Receiver<Claim>>, limit: Duration) -> Option<Duration> {
    match claims {
        None => Some(limit),
        Some(claims) => claims.borrow().left().map(|left| left.min(limit)),
    }
}

/// The right to write that a claim gives. Without an election it does not end.
pub(crate) fn hold(claims: Option<watch::Receiver<Claim>>) -> Hold {
    Hold::new(move || time_to_write(claims.as_ref(), Duration::MAX))
}

/// Campaigns until `shutdown`, and then gives the lease back so that the next replica need not wait.
pub async fn campaign(
    client: Client,
    options: LeaseOptions,
    clock: Clock,
    claims: watch::Sender<Claim>,
    shutdown: CancellationToken,
) {
    let api: Api<Lease> = Api::namespaced(client, &options.namespace);
    let start = Instant::now();
    let mut observed: Option<Observed> = None;
    let mut held = false;
    loop {
        let asked = Instant::now();
        let attempt = tokio::time::timeout(options.duration, round(&api, &options, &clock, &mut observed, start));
        match attempt.await.unwrap_or(Ok(None)) {
            Ok(Some(())) => {
                if !held {
                    info!(identity = options.identity, "this replica leads");
                }
                held = true;
                // Counted from before the request: nobody else can have counted from earlier. Writes end with the claim.
                // A quarter is kept in hand for those that the API server has taken by then.
                claims.send_replace(Claim::until(asked + options.duration * 3 / 4));
            }
            Ok(None) => {
                if held {
                    info!(identity = options.identity, "another replica leads");
                }
                held = false;
                claims.send_replace(Claim::default());
            }
            // A claim that cannot be renewed ends by itself. The client has logged that the API server does not answer.
            Err(error) if Unreached::among(&error).is_some() => {}
            Err(error) => warn!(
                error = &error as &dyn std::error::Error,
                "the lease cannot be read or renewed"
            ),
        }
        tokio::select! {
            () = shutdown.cancelled() => break,
            () = tokio::time::sleep(options.period) => {}
        }
    }
    claims.send_replace(Claim::default());
    if held {
        let end = tokio::time::timeout(options.period, give_back(&api, &options));
        if let Ok(Err(error)) = end.await {
            warn!(
                error = &error as &dyn std::error::Error,
                "the lease cannot be given back"
            );
        }
    }
}

/// One look at the lease; `Some` when it is ours now.
async fn round(
    api: &Api<Lease>,
    options: &LeaseOptions,
    clock: &Clock,
    observed: &mut Option<Observed>,
    start: Instant,
) -> kube::Result<Option<()>> {
    let lease = api.get_opt(&options.name).await?;
    let now = Instant::now().duration_since(start);
    *observed = lease
        .as_ref()
        .map(|lease| Observed::note(observed.as_ref(), read(lease), now));
    let step = evaluate(observed.as_ref(), &options.identity, now);
    let result = match (step, lease) {
        (LeaseAction::Yield(_), _) => return Ok(None),
        (_, None) => {
            api.create(&PostParams::default(), &written(options, clock.now(), None))
                .await
        }
        // The resource version in the object makes this fail when somebody else was faster.
        (_, Some(lease)) => {
            api.replace(
                &options.name,
                &PostParams::default(),
                &written(options, clock.now(), Some(lease)),
            )
            .await
        }
    };
    match result {
        Ok(lease) => {
            *observed = Some(Observed::note(observed.as_ref(), read(&lease), now));
            Ok(Some(()))
        }
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => Ok(None),
        Err(error) => Err(error),
    }
}

fn read(lease: &Lease) -> Record {
    let spec = lease.spec.clone().unwrap_or_default();
    Record {
        holder: spec.holder_identity.unwrap_or_default(),
        renewed: spec.renew_time.map(|time| time.0.to_string()).unwrap_or_default(),
        duration: Duration::from_secs(
            spec.lease_duration_seconds
                .and_then(|s| u64::try_from(s).ok())
                .unwrap_or_default(),
        ),
        transitions: spec.lease_transitions.unwrap_or_default(),
    }
}

fn written(options: &LeaseOptions, now: Timestamp, before: Option<Lease>) -> Lease {
    let (metadata, spec) = before.map_or_else(
        || {
            let metadata = ObjectMeta {
                name: Some(options.name.clone()),
                namespace: Some(options.namespace.clone()),
                ..ObjectMeta::default()
            };
            (metadata, LeaseSpec::default())
        },
        |lease| (lease.metadata, lease.spec.unwrap_or_default()),
    );
    let ours = spec.holder_identity.as_deref() == Some(options.identity.as_str());
    let seconds = i32::try_from(options.duration.as_secs()).unwrap_or(i32::MAX).max(1);
    Lease {
        metadata,
        spec: Some(LeaseSpec {
            holder_identity: Some(options.identity.clone()),
            lease_duration_seconds: Some(seconds),
            acquire_time: if ours { spec.acquire_time } else { Some(MicroTime(now)) },
            renew_time: Some(MicroTime(now)),
            lease_transitions: Some(
                spec.lease_transitions
                    .unwrap_or_default()
                    .saturating_add(i32::from(!ours)),
            ),
            ..spec
        }),
    }
}

async fn give_back(api: &Api<Lease>, options: &LeaseOptions) -> kube::Result<()> {
    let Some(mut lease) = api.get_opt(&options.name).await? else {
        return Ok(());
    };
    let spec = lease.spec.get_or_insert_default();
    if spec.holder_identity.as_deref() != Some(options.identity.as_str()) {
        return Ok(());
    }
    spec.holder_identity = None;
    let parameters = PostParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    };
    api.replace(&options.name, &parameters, &lease).await.map(|_| ())
}
