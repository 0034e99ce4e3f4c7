//! Whether node daemons run where full mode needs them.

use k8s_openapi::api::apps::v1::DaemonSet;
use kube::{Api, Client};

use super::{Checks, Expected, Health};
use crate::install::{DAEMON, InstallMode};
use berth_decide::{PoolSummary, Summary, TroubledNode};

/// What helps where no node daemon answers.
pub const NO_DAEMON: &str =
    "`berth install --mode full` brings the daemon, and `berth node show NAME` says how far a node is";

/// So many names are spelled out; the rest is counted.
const NAMES: usize = 5;

/// Names of nodes for a sentence; nothing for none.
pub fn few_names(names: &[String]) -> Option<String> {
    let (few, more) = names.split_at(names.len().min(NAMES));
    let few = few.join(", ");
    match (names.len(), more.len()) {
        (0, _) => None,
        (_, 0) => Some(few),
        (_, more) => Some(format!("{few} and {more} more")),
    }
}

/// The workload, where full mode is expected.
pub(super) async fn workload(client: &Client, expected: &Expected, checks: &mut Checks) -> kube::Result<()> {
    if expected.mode != InstallMode::Full {
        return Ok(());
    }
    let api: Api<DaemonSet> = Api::namespaced(client.clone(), &expected.namespace);
    let Some(found) = api.get_opt(DAEMON).await? else {
        checks.add(
            "daemons",
            Health::Note,
            format!("there is no DaemonSet {DAEMON} in namespace {}", expected.namespace),
            "run `berth install --mode full`, unless `berth daemon` runs on the hosts themselves",
        );
        return Ok(());
    };
    let status = found.status.unwrap_or_default();
    let (wanted, ready) = (status.desired_number_scheduled, status.number_ready);
    let message = format!("{ready} of {wanted} node daemons are ready");
    if ready < wanted {
        let advice = format!(
            "`kubectl -n {} get pods -o wide -l app.kubernetes.io/name={DAEMON}` shows where one is not",
            expected.namespace
        );
        checks.add("daemons", Health::Warning, message, advice);
    } else {
        checks.ok("daemons", message);
    }
    Ok(())
}

/// Pools whose nodes nobody changes.
pub(super) fn silent(pools: &[PoolSummary], checks: &mut Checks) {
    for pool in pools {
        if let Some(nodes) = few_names(&pool.silent) {
            checks.add(
                "daemons",
                Health::Error,
                format!(
                    "pool {}: no node daemon answers on {nodes}, so nothing changes there",
                    pool.name
                ),
                NO_DAEMON,
            );
        }
    }
}

/// Nodes that do not get to what their pool wants, each with the step and what helps.
pub(super) fn stuck(summary: &Summary, checks: &mut Checks) {
    if summary.pools.is_empty() {
        return;
    }
    let mut nodes: Vec<&TroubledNode> = summary.troubled.iter().collect();
    // What keeps it at the first step keeps it from the others.
    nodes.dedup_by(|next, before| next.node == before.node);
    for TroubledNode { node, pool, trouble } in nodes.iter().take(NAMES) {
        checks.add(
            "nodes",
            Health::Warning,
            format!(
                "pool {pool}: {node} stops at step {}: {}",
                trouble.step, trouble.message
            ),
            &trouble.advice,
        );
    }
    match nodes.len().saturating_sub(NAMES) {
        _ if nodes.is_empty() => checks.ok("nodes", "no node is kept from what its pool wants"),
        0 => {}
        more => checks.add(
            "nodes",
            Health::Warning,
            format!("{more} more nodes do not go on"),
            "`berth status` names them, `berth node show NAME` shows one node",
        ),
    }
}
