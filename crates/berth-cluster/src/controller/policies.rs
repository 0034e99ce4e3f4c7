//! Keeps the admission policies and the roster as the pools, rules and Berths say. Only the leader writes.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use berth_nodes::{Hold, Nodes, WriteError};
use kube::{
    Api, Client,
    api::{DeleteParams, DynamicObject, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::Value;
use tokio::{sync::watch, time::timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, info, warn};

use crate::{
    admission::{Policies, all_names, is_named},
    lease::{Claim, time_to_write},
    missing::is_missing,
};
use berth_decide::names;

/// Changes come in bursts; the API server compiles a policy anew for every one.
const SETTLE: Duration = Duration::from_millis(300);
/// After this time everything is applied once more, whatever somebody did to it.
const AGAIN: Duration = Duration::from_mins(10);
/// How long to wait after a failure.
const RETRY: Duration = Duration::from_secs(5);

/// What should be in the cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Wanted {
    pub(super) policies: Policies,
    pub(super) roster: Value,
}

/// What is wanted, shared without copying ten thousand names.
pub(super) type WantedReceiver = watch::Receiver<Option<Arc<Wanted>>>;

/// Runs until the sender is gone, or nothing more is to be written. A write that has begun is ended.
pub(super) async fn keep(
    client: Client,
    mut wanted: WantedReceiver,
    claims: Option<watch::Receiver<Claim>>,
    shutdown: CancellationToken,
) {
    let over = shutdown.clone();
    let lease = claims.clone();
    // Nothing is begun any more once the lease is about to be given back.
    let hold = Hold::new(move || {
        let left = time_to_write(lease.as_ref(), Duration::MAX);
        left.filter(|_| !over.is_cancelled())
    });
    let nodes = Nodes::new(client, hold);
    let mut applied: BTreeMap<String, Value> = BTreeMap::new();
    let mut wait = AGAIN;
    loop {
        let current = wanted.borrow_and_update().clone();
        let leads = claims.as_ref().is_none_or(|claims| claims.borrow().is_current());
        match current {
            Some(current) if leads => {
                wait = if apply(&nodes, &current, &mut applied).await {
                    AGAIN
                } else {
                    RETRY
                };
            }
            // Another replica may change everything.
            Some(_) => {
                applied.clear();
                wait = RETRY;
            }
            None => {}
        }
        let changed = tokio::select! {
            () = shutdown.cancelled() => return,
            changed = timeout(wait, wanted.changed()) => changed,
        };
        match changed {
            Ok(Ok(())) => tokio::time::sleep(SETTLE).await,
            Ok(Err(_)) => return,
            Err(_) if wait == AGAIN => applied.clear(),
            Err(_) => {}
        }
    }
}

/// Whether all is well.
async fn apply(nodes: &Nodes, wanted: &Wanted, applied: &mut BTreeMap<String, Value>) -> bool {
    let client = nodes.client();
    let mut well = true;
    let objects = [&wanted.roster].into_iter().chain(&wanted.policies.objects);
    for object in objects {
        let Some((id, api)) = api(client, object) else { continue };
        if applied.get(&id) == Some(object) {
            continue;
        }
        let parameters = PatchParams::apply(names::FIELD_MANAGER).force();
        let name = object
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match nodes.send(api.patch(name, &parameters, &Patch::Apply(object))).await {
            Ok(_) => {
                debug!(object = id, "applied");
                applied.insert(id, object.clone());
            }
            Err(WriteError::NotHeld) => return false,
            Err(WriteError::Refused(kube::Error::Api(status))) if is_missing(&status) => {
                // A cluster without this kind of policy: the webhook does the same.
                debug!(object = id, "the cluster does not have this kind");
                applied.insert(id, object.clone());
            }
            Err(error) => {
                warn!(
                    object = id,
                    error = &error as &dyn std::error::Error,
                    "it cannot be applied"
                );
                well = false;
            }
        }
    }
    for left in &wanted.policies.left_out {
        let key = format!("left out: {} {:?}", left.rule, left.key);
        if applied.insert(key, Value::Null).is_none() {
            let label = left.key.as_deref().unwrap_or("all labels");
            if left.required {
                warn!(
                    rule = left.rule,
                    label, "not in the admission policy, although required: {}", left.why
                );
            } else {
                debug!(rule = left.rule, label, "not in the admission policy: {}", left.why);
            }
        }
    }
    for (kind, plural, name) in all_names() {
        let id = format!("{kind}/{name}");
        let mut objects = wanted.policies.objects.iter();
        let unwanted = !objects.any(|object| is_named(object, kind, name));
        let gone = Value::Null;
        if !unwanted || applied.get(&id) == Some(&gone) {
            continue;
        }
        let api = Api::<DynamicObject>::all_with(client.clone(), &resource(kind, plural));
        match nodes.send(api.delete(name, &DeleteParams::default())).await {
            Ok(_) => {
                info!(object = id, "no rule or pool needs it any more");
                applied.insert(id, gone);
            }
            Err(WriteError::NotHeld) => return false,
            Err(WriteError::Refused(kube::Error::Api(status))) if is_missing(&status) => {
                applied.insert(id, gone);
            }
            Err(error) => {
                warn!(
                    object = id,
                    error = &error as &dyn std::error::Error,
                    "it cannot be deleted"
                );
                well = false;
            }
        }
    }
    well
}

fn resource(kind: &str, plural: &str) -> ApiResource {
    let gvk = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind);
    ApiResource::from_gvk_with_plural(&gvk, plural)
}

fn api(client: &Client, object: &Value) -> Option<(String, Api<DynamicObject>)> {
    let kind = object.get("kind").and_then(Value::as_str)?;
    let name = object.pointer("/metadata/name").and_then(Value::as_str)?;
    let resource = if kind == "Roster" {
        ApiResource::erase::<berth_resources::Roster>(&())
    } else {
        let (_, plural, _) = all_names().into_iter().find(|(known, ..)| *known == kind)?;
        resource(kind, plural)
    };
    Some((format!("{kind}/{name}"), Api::all_with(client.clone(), &resource)))
}
