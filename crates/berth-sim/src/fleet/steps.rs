//! What people do to machines, and what machines do when their time comes.

use serde_json::json;

use super::{Fleet, MachineStep, Phase};
use crate::{
    cluster::{DeleteOptions, Target, WriteOptions},
    failure::Failure,
    machine::{Disk, start},
    patch::PatchKind,
    storage::Place,
};

/// How long Ignition waits before it asks again.
const FETCH_AGAIN_AFTER: i64 = 5;

/// There is no machine of this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no machine {0}")]
pub struct UnknownMachine(pub String);

impl Fleet {
    fn index(&self, name: &str) -> Result<usize, UnknownMachine> {
        self.by_name
            .get(name)
            .copied()
            .ok_or_else(|| UnknownMachine(name.to_owned()))
    }

    /// Switches a machine on.
    pub fn power_on(&mut self, name: &str) -> Result<(), UnknownMachine> {
        let index = self.index(name)?;
        self.tell(name, "power on");
        self.boot(index, Phase::Booting);
        Ok(())
    }

    /// Starts a machine again, as its node daemon does.
    pub fn reboot(&mut self, name: &str) -> Result<(), UnknownMachine> {
        let index = self.index(name)?;
        self.tell(name, "reboots");
        self.boot(index, Phase::Rebooting);
        Ok(())
    }

    /// Takes a machine's power away, without a word to anybody.
    pub fn power_off(&mut self, name: &str) -> Result<(), UnknownMachine> {
        let index = self.index(name)?;
        if let Some(machine) = self.machines.get_mut(index) {
            machine.phase = Phase::Off;
            machine.life = machine.life.saturating_add(1);
        }
        self.tell(name, "power off");
        Ok(())
    }

    /// Gives a machine a new disk and takes its power away: at its next boot it is provisioned like one that never was.
    pub fn erase(&mut self, name: &str) -> Result<(), UnknownMachine> {
        let index = self.index(name)?;
        if let Some(machine) = self.machines.get_mut(index) {
            machine.disk = Disk::image();
            machine.credential = None;
            machine.configured = false;
        }
        self.tell(name, "gets a new disk");
        self.power_off(name)
    }

    /// Starts the kubelet again, with the flags that its unit has now.
    pub async fn restart_kubelet(&mut self, name: &str) -> Result<(), UnknownMachine> {
        let index = self.index(name)?;
        self.tell(name, "kubelet restarts");
        if let Some(machine) = self.machines.get_mut(index) {
            machine.life = machine.life.saturating_add(1);
        }
        self.step(index, MachineStep::Started).await;
        Ok(())
    }

    pub(super) fn boot(&mut self, index: usize, phase: Phase) {
        let chance = self.chance.next();
        let Some(machine) = self.machines.get_mut(index) else {
            return;
        };
        machine.phase = phase;
        machine.life = machine.life.saturating_add(1);
        machine.boots = machine.boots.saturating_add(1);
        let jitter = u64::try_from(machine.habits.boot_jitter).unwrap_or(0);
        let late = i64::try_from(chance % jitter.saturating_add(1)).unwrap_or(0);
        let after = machine.habits.boot_seconds.saturating_add(late);
        self.push(index, after, MachineStep::Started);
    }

    pub(super) async fn step(&mut self, index: usize, step: MachineStep) {
        match step {
            MachineStep::Started => self.start_kubelet(index).await,
            MachineStep::AskAgain => self.ask(index).await,
            MachineStep::Beat => self.beat(index).await,
        }
    }

    /// Fetches and writes the config of a machine that has none yet. The answer is whether the boot goes on.
    async fn configure(&mut self, index: usize) -> bool {
        let Some(machine) = self.machines.get(index) else {
            return false;
        };
        let (Some(source), false) = (self.ignition.clone(), machine.configured) else {
            return true;
        };
        let name = machine.name.clone();
        let written = match source.fetch(&name).await {
            Ok(bytes) => match self.machines.get_mut(index) {
                Some(machine) => machine.disk.write_ignition(&bytes).map_err(|error| error.to_string()),
                None => return false,
            },
            Err(error) => Err(error.to_string()),
        };
        match written {
            Ok(count) => {
                if let Some(machine) = self.machines.get_mut(index) {
                    machine.configured = true;
                }
                self.tell(&name, &format!("Ignition writes {count} files"));
                true
            }
            Err(why) => {
                self.wait(index, &format!("Ignition: {why}"));
                self.push(index, FETCH_AGAIN_AFTER, MachineStep::Started);
                false
            }
        }
    }

    async fn start_kubelet(&mut self, index: usize) {
        if !self.configure(index).await {
            return;
        }
        let flavour = self.flavour;
        let Some(machine) = self.machines.get_mut(index) else {
            return;
        };
        let started = start(&mut machine.disk, flavour);
        machine.flags = started.labels;
        machine.node_uid = None;
        machine.waits_for.clear();
        let (name, known) = (machine.name.clone(), machine.credential.is_some());
        for note in started.notes {
            self.tell(&name, &format!("generator: {note}"));
        }
        if let Some(why) = started.stopped {
            self.tell(&name, &format!("kubelet exits: {why}"));
            if let Some(machine) = self.machines.get_mut(index) {
                machine.phase = Phase::KubeletStopped;
            }
            return;
        }
        if known {
            self.register(index).await;
        } else {
            self.ask(index).await;
        }
    }

    /// Deletes the Node of a machine, as an administrator does.
    pub async fn delete_node(&mut self, name: &str) -> Result<(), Failure> {
        self.tell("admin", &format!("deletes Node {name}"));
        let hit = self.cluster.find("", "v1", "nodes")?;
        let options = DeleteOptions::default();
        self.cluster
            .delete(&hit, &Place::new("", name), &options, &Self::administrator())
            .await
            .map(|_| ())
    }

    /// Makes a Node before its kubelet does, with labels and taints.
    pub async fn preregister(&mut self, name: &str, labels: &[(String, String)]) -> Result<(), Failure> {
        let hit = self.cluster.find("", "v1", "nodes")?;
        let map: serde_json::Map<String, serde_json::Value> =
            labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        self.tell("admin", &format!("makes Node {name}{}", listed(labels)));
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": map}});
        self.cluster
            .create(&hit, "", node, &WriteOptions::default(), &Self::administrator())
            .await
            .map(|_| ())
    }

    /// Changes labels of a Node, as an administrator does. A label without a value to set is removed.
    pub async fn label_node(&mut self, name: &str, labels: &[(String, Option<String>)]) -> Result<(), Failure> {
        let map: serde_json::Map<String, serde_json::Value> =
            labels.iter().map(|(key, value)| (key.clone(), json!(value))).collect();
        self.patch_node(name, &json!({"metadata": {"labels": map}})).await
    }

    /// Says what config a machine came up with, as its daemon does at its first start.
    pub async fn has_config(&mut self, name: &str, config: &str) -> Result<(), Failure> {
        let annotations = super::daemon::first_annotations(config);
        self.patch_node(name, &json!({"metadata": {"annotations": annotations}}))
            .await
    }

    /// Asks for a config, as the controller of a pool does.
    pub async fn desire(&mut self, name: &str, config: &str) -> Result<(), Failure> {
        self.tell("pool", &format!("wants {config} on {name}"));
        let patch = json!({"metadata": {"annotations": {super::daemon::DESIRED: config}}});
        self.patch_node(name, &patch).await
    }

    pub(super) async fn patch_node(&mut self, name: &str, patch: &serde_json::Value) -> Result<(), Failure> {
        let hit = self.cluster.find("", "v1", "nodes")?;
        let place = Place::new("", name);
        let target = Target {
            hit: &hit,
            place: &place,
            subresource: "",
        };
        self.cluster
            .patch(
                target,
                PatchKind::Merge,
                patch,
                &WriteOptions::default(),
                &Self::administrator(),
            )
            .await
            .map(|_| ())
    }

    /// Approves the certificate request of a machine, as Berth or a person does.
    pub async fn approve(&mut self, name: &str) -> Result<(), Failure> {
        self.tell("admin", &format!("approves the request of {name}"));
        self.approve_request(name).await
    }
}

/// ` with a=b, c` or nothing.
pub(super) fn listed(labels: &[(String, String)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let all: Vec<String> = labels
        .iter()
        .map(|(key, value)| {
            if value.is_empty() {
                key.clone()
            } else {
                format!("{key}={value}")
            }
        })
        .collect();
    format!(" with {}", all.join(", "))
}
