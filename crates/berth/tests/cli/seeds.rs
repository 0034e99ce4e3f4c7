//! Five procedures that people follow today, step by step: the manifests, units, commands and requests that they type are
//! given to `berth` in the same shape, field for field and flag for flag, and the outcome is what each procedure promises.
//!
//! | procedure | here |
//! |---|---|
//! | labels at first boot by drop-ins of the kubelet | [`auto_labelling`] |
//! | nodes that are assigned to their pool before they boot | [`pre_assignment`] |
//! | workers that become infrastructure nodes | [`infra_pool`] |
//! | remote workers at day 0 | [`hub`], [`remote_worker`] |
//! | node labels by an Airship workflow | [`update_labels`] |
//!
//! Somebody else's part, and not here: kcli, which downloads images and makes virtual machines; the operators of OpenShift and
//! the Assisted Service, whose verdicts are foretold; `oc get pod` and `oc rsh`, which look into pods; traffic through routers
//! and egress addresses; the load balancer in front of a shard.

use serde_json::Value;

use crate::run::{Folder, Outcome};

mod auto_labelling;
mod hub;
mod infra_pool;
mod pre_assignment;
mod remote_worker;
mod update_labels;

/// Types a command line in the folder; it must succeed.
fn done(folder: &Folder, words: &str) -> Outcome {
    let outcome = folder.line(words);
    assert_eq!(outcome.exit, 0, "{words}\n{outcome}");
    outcome
}

/// The item of a list whose field has this value.
fn item<'a>(list: &'a Value, field: &str, value: &str) -> &'a Value {
    let found = list
        .as_array()
        .and_then(|list| list.iter().find(|item| item[field] == value));
    found.unwrap_or_else(|| panic!("no {field} {value} in {list:#}"))
}

fn strings(list: &Value) -> Vec<&str> {
    let list = list.as_array().unwrap_or_else(|| panic!("not a list: {list:#}"));
    list.iter().map(|item| item.as_str().unwrap()).collect()
}

/// Pool and node pairs of `berth pools -o json`.
fn pool_of<'a>(pools: &'a Value, node: &str) -> Option<&'a str> {
    item(pools, "node", node)["pool"].as_str()
}
