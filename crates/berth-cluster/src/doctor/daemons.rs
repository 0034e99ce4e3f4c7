//! Whether node daemons run where full mode needs them.

use k8s_openapi::api::{apps::v1::DaemonSet, core::v1::Node};
use kube::{Api, Client, ResourceExt, api::ListParams};

use super::{Checks, Expected, Health};
use crate::{
    inspect::{configs, membership, pool_of, pools},
    install::{DAEMON, InstallMode},
};
use berth_decide::{
    NodeView, PoolSummary,
    pools::{NodeCase, STEP_DAEMON, troubles},
};

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
pub(super) async fn stuck(client: &Client, checks: &mut Checks) -> kube::Result<()> {
    let pools = pools(client).await?;
    if pools.iter().all(|pool| pool.target.is_none()) {
        return Ok(());
    }
    let membership = membership(&pools);
    let all = ListParams::default();
    let configs = configs(client).list_metadata(&all).await?;
    let configs = configs.iter().map(ResourceExt::name_any).collect();
    let nodes = Api::<Node>::all(client.clone()).list_metadata(&all).await?;
    let mut stuck = 0_usize;
    for node in nodes {
        let node = NodeView {
            name: node.name_any(),
            labels: node.metadata.labels.unwrap_or_default(),
            annotations: node.metadata.annotations.unwrap_or_default(),
            ..NodeView::default()
        };
        let Some(pool) = pool_of(&membership, &pools, &node) else {
            continue;
        };
        let case = NodeCase {
            node: &node,
            pool: Some(pool),
            configs: &configs,
        };
        // Pools without daemons are named as a whole.
        let Some(trouble) = troubles(&case).into_iter().find(|trouble| trouble.step != STEP_DAEMON) else {
            continue;
        };
        stuck = stuck.saturating_add(1);
        if stuck <= NAMES {
            checks.add(
                "nodes",
                Health::Warning,
                format!(
                    "pool {}: {} stops at step {}: {}",
                    pool.name, node.name, trouble.step, trouble.message
                ),
                trouble.advice,
            );
        }
    }
    match stuck.saturating_sub(NAMES) {
        _ if stuck == 0 => checks.ok("nodes", "no node is kept from what its pool wants"),
        0 => {}
        more => checks.add(
            "nodes",
            Health::Warning,
            format!("{more} more nodes do not go on"),
            "`berth status` and `kubectl get mcp` show the pools, `berth node show NAME` one node",
        ),
    }
    Ok(())
}
