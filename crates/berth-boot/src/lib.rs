//! What a machine boots from, with its labels in it.
//!
//! ```text
//! labels ─► BootLabels ─┐              ┌─► machine_configs()   files, and the policy that makes them cost nothing
//! unit ─────────────────┼─► BootFiles ─┼─► ignition()          one config for a pool or a machine
//! executable ───────────┘   (a Way)    └─► cloud_init()        write_files
//! labels ─► BootLabels ──────────────────► kubeadm()           nodeRegistration
//! ```
//!
//! A label that would stop the kubelet, or that the API server would refuse from it, is in no artefact; each answer lists
//! those with the reason. Everything is pure: the executable's bytes and the unit are handed in.

mod boot_files;
mod boot_labels;
mod cloud_init;
mod error;
mod executable;
mod ignition;
mod kubeadm;
mod kubelet_unit;
mod machine_configs;
mod policy;
mod way;

pub use boot_files::{BootFile, BootFiles, BootInput, ExistingFile, FLAVOUR_PATH, GENERATOR_PATH, boot_files};
pub use boot_labels::BootLabels;
pub use cloud_init::cloud_init;
pub use error::BootError;
pub use executable::needs_loader;
pub use ignition::{IgnitionAnswer, IgnitionInput, ignition};
pub use kubeadm::{KubeadmInput, KubeadmKind, Taint, TaintEffect, UnknownEffect, kubeadm};
pub use kubelet_unit::kubelet_unit;
pub use machine_configs::{MachineConfigInput, MachineConfigs, is_own_machine_config, machine_configs};
pub use policy::{disruption_policy, machine_configuration};
pub use way::{UnknownWay, Way};
