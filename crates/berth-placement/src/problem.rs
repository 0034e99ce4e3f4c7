//! What is wrong with a placement, in words; callers know where it is written.

/// A kind of problem. Each is one code of `berth lint`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// The operator cannot convert the selector.
    IngressSelector,
    /// The selector selects no node.
    IngressNoNodes,
    /// The built-in affinity keeps the router off the nodes that are selected.
    IngressRemoteLabel,
    /// A router may run where the VIP cannot be.
    IngressOutsideVip,
    /// There are fewer nodes than replicas.
    IngressReplicas,
    /// Taints keep routers away.
    IngressTaint,
    /// Routers want the same port of one node.
    IngressPorts,
    /// Two controllers answer for one domain, or the wrong one is asked.
    IngressDomain,
    /// The domain is not one.
    IngressDomainName,
    /// Several controllers serve one route.
    IngressOverlap,
    /// No controller serves some routes.
    IngressUnserved,
    /// The load balancer in front knows other nodes, or does not ask for health.
    IngressBackends,
    /// The address cannot be an egress address.
    EgressAddress,
    /// Somebody else has the address.
    EgressConflict,
    /// No node of the cluster is in the address's network.
    EgressNoNode,
    /// Whether a node can host the address is not known: there are no nodes, or nothing is known of their networks.
    EgressUnknown,
    /// Nodes could host the address, but none has the label.
    EgressUnlabelled,
    /// The addresses of one object outnumber the nodes for them.
    EgressUnplaced,
    /// OVN would not find the placement that exists.
    EgressGreedy,
    /// One node alone can host the address.
    EgressSingleNode,
    /// Only remote nodes can host the address.
    EgressRemoteOnly,
    /// The object is for the pods of every namespace.
    EgressAllNamespaces,
    /// A label that serves no address.
    EgressUselessLabel,
    /// The smallest set of nodes to label was not searched to the end.
    EgressLabelSearch,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacementProblem {
    /// Its kind.
    pub kind: ProblemKind,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub help: Option<String>,
}

impl PlacementProblem {
    pub(crate) fn new(kind: ProblemKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}
