//! What the operator's daemon makes of a Node and its disk when it starts, as a model.
//!
//! Its rows are those of the daemon's start (`getStateAndConfigs`, `CheckStateOnFirstRun`):
//!
//! | the Node | the disk | the daemon |
//! |---|---|---|
//! | has no `currentConfig` | has the annotations that the config server handed over, not used yet | copies them to the Node |
//! | has no `currentConfig` | has been used before | notes the config of the disk, and nothing else |
//! | has no `desiredConfig` after that | any | is Degraded: the annotation is not found |
//! | names a config that the cluster does not have | any | is Degraded: not found |
//! | any | has noted another config than `currentConfig` | takes the disk's word |
//! | has `currentConfig` | has other contents | is Degraded: unexpected on-disk state |
//! | has another `desiredConfig` than that | as it should be | updates, which drains and reboots |
//! | has the same | as it should be | is Done |

use serde_json::{Map, Value, json};

use super::nodes::note;

const PREFIX: &str = "machineconfiguration.openshift.io/";

/// The disk of a machine, as far as the daemon looks at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Disk<'a> {
    /// The rendered config that its files are of.
    contents: &'a str,
    /// A daemon has run here: it noted the config, and has used up what the config server handed over.
    used: bool,
}

impl<'a> Disk<'a> {
    /// One that was installed with a config and whose daemon has not run yet.
    pub fn installed(config: &'a str) -> Self {
        Self {
            contents: config,
            used: false,
        }
    }

    /// One on which the daemon has run.
    pub fn used(config: &'a str) -> Self {
        Self {
            contents: config,
            used: true,
        }
    }
}

/// What the daemon does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonVerdict {
    /// Nothing is to be done.
    Done,
    /// It moves to another config, with a drain and a reboot.
    Updates {
        /// From this one.
        from: String,
        /// To this one.
        to: String,
    },
    /// It gives up, with this reason.
    Degraded(String),
}

/// What the daemon does when it starts, and the merge patch that it sends for the Node. Configs are objects of the cluster.
pub fn daemon_start(node: &Value, disk: Disk<'_>, configs: &[Value]) -> (DaemonVerdict, Value) {
    let mut notes = Map::new();
    let mut write = |key: &str, value: &str| notes.insert(format!("{PREFIX}{key}"), json!(value));
    let (mut current, mut desired) = (note(node, "currentConfig"), note(node, "desiredConfig"));
    if current.is_empty() {
        current = disk.contents;
        write("currentConfig", current);
        if !disk.used {
            desired = disk.contents;
            write("desiredConfig", desired);
            write("firstPivotConfig", desired);
        }
    }
    let verdict = judge(node, disk, configs, current, desired);
    let (state, reason) = match &verdict {
        DaemonVerdict::Done => ("Done", ""),
        DaemonVerdict::Updates { .. } => ("Working", ""),
        DaemonVerdict::Degraded(reason) => ("Degraded", reason.as_str()),
    };
    write("state", state);
    write("reason", reason);
    (verdict, json!({"metadata": {"annotations": notes}}))
}

fn judge(node: &Value, disk: Disk<'_>, configs: &[Value], current: &str, desired: &str) -> DaemonVerdict {
    let name = node["metadata"]["name"].as_str().unwrap_or_default();
    if desired.is_empty() {
        return DaemonVerdict::Degraded(format!("{PREFIX}desiredConfig annotation not found on node '{name}'"));
    }
    let is_known = |config: &str| configs.iter().any(|known| known["metadata"]["name"] == config);
    if let Some(missing) = [current, desired].into_iter().find(|config| !is_known(config)) {
        return DaemonVerdict::Degraded(format!(
            "machineconfig.machineconfiguration.openshift.io \"{missing}\" not found"
        ));
    }
    let current = if disk.used { disk.contents } else { current };
    if current != disk.contents {
        return DaemonVerdict::Degraded(format!("unexpected on-disk state validating against {current}"));
    }
    if current == desired {
        DaemonVerdict::Done
    } else {
        DaemonVerdict::Updates {
            from: current.to_owned(),
            to: desired.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_believes_the_node_before_a_new_disk_and_a_used_disk_before_the_node() {
        let configs = ["a", "b"].map(|name| json!({"metadata": {"name": name}}));
        let degraded = |reason: &str| DaemonVerdict::Degraded(reason.to_owned());
        let updates = |from: &str, to: &str| DaemonVerdict::Updates {
            from: from.to_owned(),
            to: to.to_owned(),
        };
        for (noted, disk, expected) in [
            (("", ""), Disk::installed("a"), DaemonVerdict::Done),
            (("a", "a"), Disk::installed("a"), DaemonVerdict::Done),
            (
                ("a", "a"),
                Disk::installed("b"),
                degraded("unexpected on-disk state validating against a"),
            ),
            (
                ("gone", "gone"),
                Disk::installed("b"),
                degraded("machineconfig.machineconfiguration.openshift.io \"gone\" not found"),
            ),
            (
                ("", ""),
                Disk::used("a"),
                degraded("machineconfiguration.openshift.io/desiredConfig annotation not found on node 'w1'"),
            ),
            (("a", "a"), Disk::used("a"), DaemonVerdict::Done),
            (("a", "b"), Disk::used("a"), updates("a", "b")),
            (("b", "b"), Disk::used("a"), updates("a", "b")),
            (("", "a"), Disk::used("a"), DaemonVerdict::Done),
        ] {
            let mut node = json!({"metadata": {"name": "w1", "annotations": {}}});
            for (key, value) in [("currentConfig", noted.0), ("desiredConfig", noted.1)] {
                if !value.is_empty() {
                    node["metadata"]["annotations"][format!("{PREFIX}{key}")] = json!(value);
                }
            }
            let (verdict, _) = daemon_start(&node, disk, &configs);
            assert_eq!(verdict, expected, "{noted:?} {disk:?}");
        }
    }

    #[test]
    fn a_new_machine_is_done_with_what_the_server_handed_over() {
        let configs = [json!({"metadata": {"name": "a"}})];
        let node = json!({"metadata": {"name": "w1"}});
        let (_, patch) = daemon_start(&node, Disk::installed("a"), &configs);
        let notes = &patch["metadata"]["annotations"];
        for (key, value) in [
            ("currentConfig", "a"),
            ("desiredConfig", "a"),
            ("firstPivotConfig", "a"),
            ("state", "Done"),
        ] {
            assert_eq!(notes[format!("{PREFIX}{key}")], value, "{key}");
        }
    }
}
