//! The ways in which labels reach the kubelet's command line.

use std::{fmt, str::FromStr};

/// How labels reach the kubelet's command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Way {
    /// The systemd generator reads the unit on the machine and adds one flag.
    Generator,
    /// OpenShift's own hook, `/etc/kubernetes/kubelet-env`.
    KubeletEnv,
    /// kubeadm's hook, `/etc/default/kubelet`.
    DefaultKubelet,
    /// A drop-in computed ahead of time from a known unit, delivered as a file.
    DropIn,
}

impl Way {
    /// All ways.
    pub const ALL: [Self; 4] = [Self::Generator, Self::KubeletEnv, Self::DefaultKubelet, Self::DropIn];

    /// The name on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Generator => "generator",
            Self::KubeletEnv => "kubelet-env",
            Self::DefaultKubelet => "default-kubelet",
            Self::DropIn => "dropin",
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Way {
    type Err = UnknownWay;

    fn from_str(text: &str) -> Result<Self, UnknownWay> {
        Self::ALL
            .into_iter()
            .find(|way| way.as_str() == text)
            .ok_or_else(|| UnknownWay(text.to_owned()))
    }
}

/// No way of this name exists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown way \"{0}\": use generator, kubelet-env, default-kubelet or dropin")]
pub struct UnknownWay(pub String);
