//! The site made from documents, and the resolution of every node in it.
//!
//! ```text
//! documents ── load ──► Site ── Resolver ──► Resolution per node
//!                        └───── check ─────► findings
//! ```
//!
//! Everything is pure: the same documents give the same site, the same resolutions and the same findings, whatever
//! their order. The command line, the API server and the controllers all call these functions.

mod airship;
mod bmc;
mod carried;
mod check;
mod clli;
mod configs;
mod fields;
mod filter;
mod generated;
mod lints;
mod load;
mod model;
mod names;
mod network;
mod networks;
mod owned;
mod pattern;
mod placement;
mod profiles;
mod resolve;
mod rule;
mod suggest;
mod template;
mod templated;

pub use airship::AirshipPlaces;
pub use berth_placement::{Hosting, LabelChanges, Moves};
pub use bmc::{BmcAddress, BmcAddressError, is_boot_mac, root_device_problem};
pub use check::check;
pub use clli::{Clli, ClliError, ClliForm, decode as decode_clli};
pub use configs::{
    NameDoubt, PoolRenderError, check_pools, machine_configs, name_doubts, name_notes, protected_labels, render_pool,
};
pub use filter::{FilterError, FilterItem, FilterJoin, FilterMistake, LabelJoin, NodeFilter};
pub use generated::{Generated, GeneratingKind, GeneratingPool, Made, Outcome, PoolOutcome, generate};
pub use lints::LINTS;
pub use load::{has_errors, load, name_problem, to_airship, to_kubernetes};
pub use model::{
    BaremetalNode, Berth, ContainerRuntimeConfig, Declared, HostData, HostProfile, IntOrString, KubeletConfig,
    MachineConfig, Name, ObservedNode, ObservedTaint, Pool, PoolPolicy, Preregister, Rack, Site, Spanned, Taint,
    WrittenLabels,
};
pub use names::{
    CLOUD_EGRESS, DYNAMIC_LABELS, EGRESS_ASSIGNABLE, FLAVOUR, IMPLICIT_VALUES, NODE_LABELS, OVN_HOST_CIDRS,
    OVN_PRIMARY, OWNED_LABELS, POOL, REMOTE_WORKER, RESERVED_ONLY, ROLE,
};
pub use network::{
    Address, AddressRange, Addressing, Bmc, CloudEgress, Cluster, ClusterNetwork, HostNetwork, Interface, LoadBalancer,
    MacAddress, MacAddressError, Machine, MachineAddress, Network, NetworkRoute, ObservedNetwork, Oob, Platform,
    RangeKind, Release, ReleaseError, RemoteSite,
};
pub use owned::{read_owned, write_owned};
pub use pattern::Pattern;
pub use placement::{
    EgressFindings, EgressIpDocument, IngressDocument, LiveTraffic, Placement, ROUTER_LABEL, egress_context, egress_ips,
};
pub use resolve::{
    Beaten, HostFacts, PoolSource, Removed, Resolution, ResolvedLabel, Resolver, SkippedFact, Source, Subject,
};
pub use rule::{AtAdmission, ClliInput, Match, NameScope, NodeFacts, Rule, RuleLabel, Table};
pub use suggest::{close_matches, nearest};
pub use template::{ClliPart, Expression, Filter, NodeFact, Piece, Template, TemplateError, Variable};
pub use templated::{Held, Templated, outdated_templates, templated};
