//! Machine-config pools: which pool a node is in, what its machines run and when they get it.
//!
//! Everything here is a pure function of its arguments. Pools are wire-compatible with OpenShift's
//! `machineconfiguration.openshift.io/v1`; where Berth behaves better than the original the doc comment says so.

mod chart;
mod container_runtime;
mod controller_config;
mod disruption;
mod forecast;
mod generated;
mod kubelet_config;
mod machine_config;
mod membership;
mod pool;
mod protect;
mod reconcile;
mod rehearsal;
mod render;
mod rollout;
mod templates;

pub use container_runtime::{ContainerRuntimeConfig, STORAGE_CONFIGURATION};
pub use controller_config::{ControllerConfig, OsImageStreams};
pub use disruption::{
    Action, Change, ChangeKind, ChangedItem, DiffError, DisruptionPolicy, FilePolicy, NotAnAction, SpecDiff,
    UnitPolicy, UserPolicy, combine, diff_specs, diff_specs_with,
};
pub use forecast::{
    DurationError, Forecast, ForecastInput, ForecastPool, NewNode, NodeForecast, NodeKind, PoolForecast, Reboots, Wave,
    forecast, format_duration, parse_duration, svg,
};
pub use generated::{NAME_SUFFIX, Selecting, SuffixError, generated_name, suffixes};
pub use kubelet_config::{KUBELET_CONFIGURATION, KubeletBase, KubeletConfig, NODE_SIZING, TlsProfile, kubelet_fields};
pub use machine_config::{GENERATED_BY, MachineConfig, MachineConfigError, MachineConfigSpec, ROLE_LABEL, merge_order};
pub use membership::{Membership, MembershipError, NodeLabelView, Placement};
pub use pool::{BUILT_IN, MASTER, PoolClass, WORKER};
pub use protect::{KubeletLabels, OS_ID, ProtectFinding, ProtectKind, ProtectedLabels, protect, registered_labels};
pub use reconcile::{
    CORE, FORCE_FILE, Irreconcilable, IrreconcilableChange, IrreconcilableItem, ReconcileOverrides, reconcile,
    reconcile_specs, reconcile_with,
};
pub use rehearsal::{
    AtWindow, Consequences, Delayed, Ending, Happening, Mishap, Moment, Outage, OutageKind, Pause, PoolRehearsal,
    Rehearsal, Script, ScriptError, ScriptEvent, compare, rehearsal_svg, rehearse,
};
pub use render::{
    EXTENSIONS, OS_IMAGE_OVERRIDDEN, RELEASE_IMAGE_VERSION, RenderError, RenderOptions, RenderProblem, RenderWarning,
    Rendered, SIZE_LIMIT, SelectError, render, select, validate,
};
pub use rollout::{
    ConditionStatus, DaemonState, MaxUnavailable, MaxUnavailableError, NodeConditions, NodeState, NodeStateError,
    PoolCondition, PoolCounts, PoolRollout, RolloutPlan, Waiting, annotation, plan_pool, plan_pools,
};
pub use templates::{
    CONTROLLER_CONFIG, FROM_CONTROLLER_CONFIG, GENERATED_FROM, PULL_SECRET, TemplateFinding, TemplateInput,
    TemplateObject, TemplateReferences, controller_version, has_templates, pull_secret, template_references, templates,
};
