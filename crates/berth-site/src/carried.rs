//! Labels that the platform gives machines itself, and that a file of ours would hide.

use berth_labels::LabelSet;

use crate::{model::Site, names};

impl Site {
    /// What the platform puts into the kubelet's label variable on all of these machines: the empty remote-worker label,
    /// where every one of them will call itself remote. An environment file with labels hides it, so the file has to have it.
    pub fn carried_labels(&self, is_one: impl Fn(&str) -> bool) -> LabelSet {
        let mut machines = self.machines();
        machines.retain(|machine| is_one(&machine.name.value));
        let mut carried = LabelSet::new();
        if !machines.is_empty()
            && machines.iter().all(|machine| self.predicts_remote(machine))
            && let (Ok(key), Ok(value)) = (names::REMOTE_WORKER.parse(), "".parse())
        {
            carried.insert(key, value);
        }
        carried
    }
}
