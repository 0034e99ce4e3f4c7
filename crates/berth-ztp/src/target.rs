//! What the release and the cluster's settings allow for machines outside the VIPs' network.

use std::net::IpAddr;

use berth_documents::Diagnostic;
use berth_site::{Cluster, LoadBalancer, Machine, Network, Platform, Release, Site};

use crate::{host::Role, lints, ztp::ZtpOptions};

/// The first release whose nodes find out by themselves that they are remote.
pub(crate) const DETECTS_REMOTE: Release = Release::DETECTS_REMOTE;

/// The first release whose kubelet units read the label variable on all machines but arbiters. Those of bare-metal workers got it with
/// the detection of remote workers. No release note says it: the change was made while 4.19 was written (decision 0017).
pub(crate) const LABEL_VARIABLE: Release = Release { major: 4, minor: 19 };

/// The first release that Assisted Service installs behind a user-managed load balancer.
pub(crate) const USER_MANAGED_LB: Release = Release { major: 4, minor: 16 };

/// How machines outside the VIPs' network join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteWay {
    /// With the others: nothing moves a VIP, or the user's load balancer does.
    Day0,
    /// With the others, by validations that do not block.
    Unsupported,
    /// When the cluster is installed.
    Day2,
}

/// The cluster that is to be installed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) site: &'a Site,
    pub(crate) cluster: &'a Cluster,
    pub(crate) base_domain: &'a str,
    pub(crate) release: Release,
    pub(crate) remote_way: RemoteWay,
}

impl<'a> Target<'a> {
    /// Reads the settings. Without a target, the findings say why.
    pub(crate) fn of(site: &'a Site, options: &ZtpOptions, findings: &mut Vec<Diagnostic>) -> Option<Self> {
        let Some(cluster) = site.cluster() else {
            findings.push(
                Diagnostic::new(&lints::NO_CLUSTER, None, "the documents describe no cluster").with_help(
                    "add a document of kind Cluster (berth.dev/v1alpha1) with baseDomain, VIPs and networks",
                ),
            );
            return None;
        };
        let mut missing = |what: &str, help: &str| {
            let message = format!("cluster `{}` does not say its {what}", cluster.name.value);
            findings.push(Diagnostic::new(&lints::NO_CLUSTER, cluster.name.span, message).with_help(help));
        };
        let base_domain = cluster.base_domain.as_ref().map(|domain| domain.value.as_str());
        if base_domain.is_none() {
            missing("base domain", "add `baseDomain`");
        }
        let release = options
            .release
            .or_else(|| cluster.release.as_ref().map(|release| release.value));
        if release.is_none() {
            missing("release", "add `release`, or say it with `--release 4.NN`");
        }
        let (base_domain, release) = (base_domain?, release?);
        let remote_way = match (cluster.platform, cluster.load_balancer) {
            (Platform::None, _) | (_, LoadBalancer::UserManaged) => RemoteWay::Day0,
            _ if options.unsupported => RemoteWay::Unsupported,
            _ => RemoteWay::Day2,
        };
        let target = Self {
            site,
            cluster,
            base_domain,
            release,
            remote_way,
        };
        target.load_balancer(findings);
        Some(target)
    }

    fn load_balancer(&self, findings: &mut Vec<Diagnostic>) {
        let cluster = self.cluster;
        if cluster.load_balancer != LoadBalancer::UserManaged || self.user_managed_networking() {
            return;
        }
        let mut refuse = |message: String, help: &str| {
            findings.push(Diagnostic::new(&lints::LOAD_BALANCER, cluster.name.span, message).with_help(help));
        };
        if self.release < USER_MANAGED_LB {
            refuse(
                format!(
                    "Assisted Service installs behind a user-managed load balancer from {USER_MANAGED_LB} on, not {}",
                    self.release
                ),
                "take a newer release, `platform: None` (user-managed networking), or `loadBalancer: ClusterManaged` with the \
                 remote machines at day 2",
            );
        }
        if cluster.api_vips.is_empty() || cluster.ingress_vips.is_empty() {
            refuse(
                "a user-managed load balancer needs `apiVIPs` and `ingressVIPs` too: Assisted Service asks for them"
                    .to_owned(),
                "give the load balancer's address, which may be the same for both",
            );
        }
        if self.is_dual_stack() {
            refuse(
                "Assisted Service takes no dual stack with a user-managed load balancer".to_owned(),
                "use one family of addresses, or `platform: None`",
            );
        }
    }

    fn is_dual_stack(&self) -> bool {
        let networks = || {
            self.cluster
                .cluster_networks
                .iter()
                .map(|network| network.cidr.value.addr())
        };
        networks().any(|address| address.is_ipv4()) && networks().any(|address: IpAddr| address.is_ipv6())
    }

    /// Whether the user brings API and ingress addresses, and the cluster knows none.
    pub(crate) fn user_managed_networking(&self) -> bool {
        self.cluster.platform == Platform::None
    }

    /// Whether nodes of the cluster move the VIPs.
    pub(crate) fn moves_vips(&self) -> bool {
        self.cluster.load_balancer == LoadBalancer::ClusterManaged
            && !self.user_managed_networking()
            && self.cluster.vips().next().is_some()
    }

    /// Whether nodes find out by themselves that they are remote: keepalived sleeps there, and the label is set.
    pub(crate) fn detects_remote(&self) -> bool {
        self.release >= DETECTS_REMOTE && self.cluster.platform == Platform::BareMetal && self.moves_vips()
    }

    /// The first release whose kubelets of a role take labels from the file that Berth writes; none where no unit does.
    pub(crate) fn reads_labels_from(&self, role: Role) -> Option<Release> {
        match (self.cluster.platform, role) {
            (_, Role::Arbiter) => None,
            (Platform::BareMetal, Role::Worker) => Some(DETECTS_REMOTE),
            _ => Some(LABEL_VARIABLE),
        }
    }

    /// Whether a machine stands outside the VIPs' networks, or in a place that the Cluster calls remote.
    pub(crate) fn is_remote(&self, machine: &Machine<'_>) -> bool {
        machine.remote_site.is_some()
            || (machine.addresses.iter().any(|address| address.described.is_some())
                && self.cluster.vips().next().is_some()
                && !self.cluster.vips().any(|vip| machine.shares_a_network_with(vip.value)))
    }

    /// The networks for `machineNetwork`. A user-managed load balancer allows those of the remote sites too; without VIPs the service
    /// takes one network of each family.
    pub(crate) fn machine_networks(&self) -> Vec<&'a Network> {
        let mut networks = self.site.machine_networks();
        if self.moves_vips() {
            // Each VIP belongs to the machine network of the same place in the list.
            let place = |network: &Network| {
                let mut vips = self.cluster.api_vips.iter();
                vips.position(|vip| network.contains(vip.value)).unwrap_or(usize::MAX)
            };
            networks.sort_by_key(|network| place(network));
        }
        if self.user_managed_networking() {
            let family = |network: &Network| network.cidr.as_ref().map(|cidr| cidr.value.addr().is_ipv4());
            let mut seen = Vec::new();
            networks.retain(|network| {
                let first = !seen.contains(&family(network));
                seen.push(family(network));
                first
            });
        } else if self.remote_way == RemoteWay::Day0 {
            let remote = self.cluster.remote_sites.iter().flat_map(|site| &site.networks);
            for network in remote.filter_map(|name| self.site.network(&name.value)) {
                if !networks.iter().any(|known| known.name.value == network.name.value) {
                    networks.push(network);
                }
            }
        }
        networks
    }
}
