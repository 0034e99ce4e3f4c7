//! Where routers and egress addresses can be.
//!
//! ```text
//! nodes (labels, taints, networks) ──► egress: feasible, greedy, best, nodes to label
//! IngressControllers, VIPs         ──► ingress: selector, nodes, problems ──► rewrite, shard, HAProxy
//! ```
//!
//! Everything is pure, and knows nothing of documents: who calls it says what the nodes are, and turns a [`PlacementProblem`] into a
//! finding with a place.

mod egress;
mod flow;
mod ingress;
mod moves;
mod node;
mod problem;

pub use egress::{
    AddressPlan, EGRESS_ASSIGNABLE, EgressContext, EgressIp, EgressPlan, Refusal, plan_egress, reason as refusal_reason,
};
pub use ingress::{
    DEFAULT_CONTROLLER, HELPER_PREFIX, IngressAnswer, IngressContext, IngressController, Ports, Publishing,
    REMOTE_WORKER, Rewrite, Server, Shard, Toleration, check_backends, check_ingress, default_replicas, haproxy_config,
    host_ports, names_rule, rewrite, shard, stray_backends,
};
pub use moves::{
    AddressMove, ControllerMove, HostedAddress, Hosting, LabelChanges, Moves, RouterMove, RunningRouter, Traffic,
    moves, relabelled,
};
pub use node::{Capacity, PlacementNode, Taint};
pub use problem::{PlacementProblem, ProblemKind};
