//! What a change of the boot files costs on OpenShift: nothing, once it is told.

use berth_pools::{Action, FilePolicy, UserPolicy};
use serde_json::{Value, json};

use crate::boot_files::BootFiles;

/// The policies for these files, as an administrator would write them.
pub fn disruption_policy(files: &BootFiles) -> UserPolicy {
    UserPolicy {
        files: files
            .actions()
            .into_iter()
            .map(|(path, action)| FilePolicy {
                path: path.to_owned(),
                actions: vec![action.clone()],
            })
            .collect(),
        ..UserPolicy::default()
    }
}

/// The object that tells OpenShift these policies. Its lists merge by path, so it is for server-side apply: what others
/// put there stays.
pub fn machine_configuration(policy: &UserPolicy) -> Value {
    let files: Vec<Value> = policy
        .files
        .iter()
        .map(|file| {
            let actions: Vec<Value> = file.actions.iter().map(action).collect();
            json!({"path": file.path, "actions": actions})
        })
        .collect();
    json!({
        "apiVersion": "operator.openshift.io/v1",
        "kind": "MachineConfiguration",
        "metadata": {"name": "cluster"},
        "spec": {"nodeDisruptionPolicy": {"files": files}},
    })
}

fn action(action: &Action) -> Value {
    match action {
        Action::None => json!({"type": "None"}),
        Action::DaemonReload => json!({"type": "DaemonReload"}),
        Action::Reload(service) => json!({"type": "Reload", "reload": {"serviceName": service}}),
        Action::Restart(service) => json!({"type": "Restart", "restart": {"serviceName": service}}),
        Action::Drain => json!({"type": "Drain"}),
        Action::Reboot => json!({"type": "Reboot"}),
    }
}
