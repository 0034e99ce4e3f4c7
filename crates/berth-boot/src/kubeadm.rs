//! Config files for kubeadm.

use std::{fmt, fmt::Write as _, str::FromStr};

use berth_labels::{Flavour, LabelKey, LabelSet, LabelValue, NodeLabels};
use serde_json::Value;

use crate::{boot_labels::BootLabels, cloud_init::comments};

/// Whether the machine makes a cluster or joins one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KubeadmKind {
    /// `JoinConfiguration`.
    #[default]
    Join,
    /// `InitConfiguration`.
    Init,
}

/// What goes into a kubeadm config.
#[derive(Debug, Clone, Copy)]
pub struct KubeadmInput<'a> {
    /// Whether the machine makes a cluster or joins one.
    pub kind: KubeadmKind,
    /// The node's name, where it is not the host's.
    pub node: Option<&'a str>,
    /// The labels; those that cannot go by the boot route are left out.
    pub labels: &'a LabelSet,
    /// The taints that the node registers with. `None` leaves kubeadm's defaults; an empty list means no taint at all.
    pub taints: Option<&'a [Taint]>,
}

/// A taint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taint {
    /// The key.
    pub key: LabelKey,
    /// The value; it may be empty.
    pub value: LabelValue,
    /// What it does to pods.
    pub effect: TaintEffect,
}

/// What a taint does to pods that do not tolerate it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaintEffect {
    /// No new ones come.
    NoSchedule,
    /// New ones come only when there is no other place.
    PreferNoSchedule,
    /// Those that run are sent away.
    NoExecute,
}

impl TaintEffect {
    /// The name in Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

impl fmt::Display for TaintEffect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for TaintEffect {
    type Err = UnknownEffect;

    fn from_str(text: &str) -> Result<Self, UnknownEffect> {
        [Self::NoSchedule, Self::PreferNoSchedule, Self::NoExecute]
            .into_iter()
            .find(|effect| effect.as_str() == text)
            .ok_or_else(|| UnknownEffect(text.to_owned()))
    }
}

/// No effect of this name exists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown effect \"{0}\": use NoSchedule, PreferNoSchedule or NoExecute")]
pub struct UnknownEffect(pub String);

/// Writes the config for kubeadm. It holds the node's registration only: how to find the cluster is for its owner to add.
/// Labels that need another route are listed in comments.
///
/// ```
/// use berth_boot::{KubeadmInput, KubeadmKind, kubeadm};
/// use berth_labels::{Label, LabelSet};
///
/// let rack: Label = "example.com/rack=r7".parse()?;
/// let labels: LabelSet = [rack, "node-role.kubernetes.io/infra=".parse()?].into_iter().collect();
/// let text = kubeadm(&KubeadmInput { kind: KubeadmKind::Join, node: Some("w1"), labels: &labels, taints: None });
/// assert!(text.contains(r#"value: "example.com/rack=r7""#), "a kubelet does not start with a role: {text}");
/// # Ok::<(), berth_labels::LabelError>(())
/// ```
pub fn kubeadm(input: &KubeadmInput<'_>) -> String {
    // kubeadm installs Kubernetes as its project releases it.
    let BootLabels { labels, left_out } = BootLabels::choose(input.labels, Flavour::Upstream);
    let mut text = String::new();
    comments(&mut text, &left_out, &[]);
    let kind = match input.kind {
        KubeadmKind::Join => "JoinConfiguration",
        KubeadmKind::Init => "InitConfiguration",
    };
    // Writing to a String cannot fail.
    let _ = write!(text, "apiVersion: kubeadm.k8s.io/v1beta4\nkind: {kind}\n");
    let registration = registration(input, &labels);
    if registration.is_empty() {
        text.push_str("nodeRegistration: {}\n");
    } else {
        text.push_str("nodeRegistration:\n");
        text.push_str(&registration);
    }
    text
}

fn registration(input: &KubeadmInput<'_>, labels: &LabelSet) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if let Some(node) = input.node {
        let _ = writeln!(text, "  name: {}", quoted(node));
    }
    if !labels.is_empty() {
        let value = quoted(&NodeLabels::format(labels));
        let _ = write!(text, "  kubeletExtraArgs:\n  - name: node-labels\n    value: {value}\n");
    }
    match input.taints {
        None => {}
        Some([]) => text.push_str("  taints: []\n"),
        Some(taints) => {
            text.push_str("  taints:\n");
            for taint in taints {
                let (key, value) = (quoted(taint.key.as_str()), quoted(taint.value.as_str()));
                let _ = write!(
                    text,
                    "  - key: {key}\n    value: {value}\n    effect: {}\n",
                    taint.effect
                );
            }
        }
    }
    text
}

/// A JSON string is a YAML string too, whatever it holds.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}
