//! Names that the hub's operators read, spelled once.

/// Prefix of the annotations by which a `BareMetalHost` speaks to Assisted Service.
pub(crate) const BMAC: &str = "bmac.agent-install.openshift.io";

/// What stands before a label's key in the annotation that asks for it.
pub(crate) const NODE_LABEL: &str = "bmac.agent-install.openshift.io.node-label.";

/// What stands before a label's key in the annotation that asks for a label of the Agent.
pub(crate) const AGENT_LABEL: &str = "bmac.agent-install.openshift.io.agent-label.";

/// Label of a `BareMetalHost`: the `InfraEnv` whose image it boots.
pub(crate) const INFRA_ENV: &str = "infraenvs.agent-install.openshift.io";

/// Annotation of an `AgentClusterInstall`: host validations that do not block.
pub(crate) const IGNORED_HOST: &str = "agent-install.openshift.io/ignored-host-validations";

/// The same for validations of the cluster.
pub(crate) const IGNORED_CLUSTER: &str = "agent-install.openshift.io/ignored-cluster-validations";

/// Annotation of the `AgentServiceConfig`: a `ConfigMap` with settings of the service, which is not supported.
pub(crate) const SERVICE_CONFIG: &str = "unsupported.agent-install.openshift.io/assisted-service-configmap";

/// The label by which an `InfraEnv` finds its `NMStateConfig`s. The service looks in all namespaces, so the value has to be
/// the cluster's alone.
pub(crate) const NMSTATE_CLUSTER: &str = "berth.dev/nmstate-of-cluster";

/// The static pod that moves the VIPs.
pub(crate) const KEEPALIVED: &str = "/etc/kubernetes/manifests/keepalived.yaml";

/// The static pod that answers DNS on each node.
pub(crate) const COREDNS: &str = "/etc/kubernetes/manifests/coredns.yaml";
