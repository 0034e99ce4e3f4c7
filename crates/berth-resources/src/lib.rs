//! The Kubernetes resources that Berth reads and writes, as types: its own, pools and machine configs.
//!
//! Their CRDs are made from these types and committed in `crds/`, so that what is installed is what is read.
//! [`bootstrap`] has the tokens of machines.

mod berth;
pub mod bootstrap;
mod controller_config;
mod crds;
mod label_rule;
mod machine_config;
mod machine_config_node;
mod roster;
mod schema;
mod settings;
mod token_binding;

pub use self::{
    berth::{
        Berth, BerthSpec, BerthStatus, Departure, Followed, Machine, MachineObject, Phase, PoolPolicy, Preregister,
        Recreations, Taint, TaintEffect,
    },
    controller_config::{ControllerConfig, ControllerConfigSpec, ControllerConfigStatus},
    crds::{CrdSet, crd_yaml, crds},
    label_rule::{AtAdmission, LabelRule, LabelRuleSpec, NameScope, RuleMatch},
    machine_config::{
        MachineConfig, MachineConfigPool, MachineConfigPoolSpec, MachineConfigPoolStatus, MachineConfigSpec,
        PoolCondition, PoolConfiguration,
    },
    machine_config_node::{
        ConfigVersion, DesiredVersion, MachineConfigNode, MachineConfigNodeSpec, MachineConfigNodeStatus,
        NameReference, NodeCondition,
    },
    roster::{Roster, RosterSpec},
    settings::{ContainerRuntimeConfig, ContainerRuntimeConfigSpec, KubeletConfig, KubeletConfigSpec, SettingStatus},
    token_binding::{TokenBinding, TokenBindingSpec, TokenBindingStatus, TokenUse},
};
