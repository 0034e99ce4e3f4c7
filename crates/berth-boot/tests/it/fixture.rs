//! Labels, units and an executable for the tests.

use berth_boot::{BootInput, Way};
use berth_labels::{Flavour, LabelSet, NodeLabels};
use berth_units::EffectiveUnit;

/// The shape of OpenShift's unit for workers.
pub(crate) const OPENSHIFT: &str = "[Service]
Type=notify
EnvironmentFile=/etc/os-release
EnvironmentFile=-/etc/kubernetes/kubelet-env
ExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet \\
  --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS}
";

/// The shape of OpenShift's unit for arbiters, which has no hook.
pub(crate) const ARBITER: &str = "[Service]
EnvironmentFile=-/etc/kubernetes/kubelet-env
ExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet --node-labels=node-role.kubernetes.io/arbiter
";

/// The shape of kubeadm's unit and drop-in on Debian.
pub(crate) const KUBEADM: &str = "[Service]
EnvironmentFile=-/etc/default/kubelet
ExecStart=/usr/bin/kubelet $KUBELET_EXTRA_ARGS
";

/// The header of an executable without segments, and something behind it.
pub(crate) const EXECUTABLE: &[u8] =
    b"\x7fELF\x02\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0 and so on, and so on";

pub(crate) fn labels(text: &str) -> LabelSet {
    NodeLabels::parse([text]).valid()
}

pub(crate) fn unit(text: &str) -> EffectiveUnit {
    EffectiveUnit::assemble(
        "kubelet.service",
        ("/etc/systemd/system/kubelet.service", text.as_bytes()),
        &[],
    )
}

static NONE: std::sync::LazyLock<LabelSet> = std::sync::LazyLock::new(LabelSet::new);

pub(crate) fn input(labels: &LabelSet, flavour: Flavour, way: Option<Way>) -> BootInput<'_> {
    BootInput {
        labels,
        flavour,
        way,
        unit: None,
        executable: None,
        environment_file: None,
        carried: &NONE,
    }
}

/// An error and everything that led to it.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
