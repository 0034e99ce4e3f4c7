//! Arguments of the commands that make what a machine boots from.

use std::path::PathBuf;

use berth_boot::Way;
use berth_ignition::SpecVersion;
use clap::{Args, ValueEnum};

/// How labels reach the kubelet, and what is known about the machines.
#[derive(Debug, Args)]
pub(crate) struct BootArgs {
    /// How the labels reach the kubelet
    #[arg(long, value_name = "WAY", value_enum, default_value_t)]
    pub(crate) way: WayName,

    /// The static executable for nodes; without it, `berth-node` beside `berth` is used
    ///
    /// Only the way `generator` needs it. `cargo xtask node` builds one.
    #[arg(long, value_name = "FILE")]
    pub(crate) node_binary: Option<PathBuf>,

    /// The kubelet's unit on the machines; `-` is standard input
    ///
    /// Without it, the unit that the pool's machine configs bring counts.
    #[arg(long, value_name = "FILE")]
    pub(crate) unit: Option<PathBuf>,

    /// A drop-in of that unit, or a folder of drop-ins; repeatable
    #[arg(long = "dropin", alias = "drop-in", value_name = "FILE", requires = "unit")]
    pub(crate) dropins: Vec<PathBuf>,

    /// Labels that the platform itself puts into OpenShift's hook, `key=value,…`; repeatable
    ///
    /// The file of the way `kubelet-env` hides them, so it has to hold them too.
    #[arg(long, value_name = "LABELS")]
    pub(crate) carry: Vec<String>,
}

/// The ways by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum WayName {
    /// By what is known: the platform's hook if the unit has it, else the generator if there is the executable, else a drop-in
    #[default]
    Auto,
    /// A systemd generator on the machine adds one flag to whatever unit is there
    Generator,
    /// OpenShift's hook, `CUSTOM_KUBELET_LABELS` in /etc/kubernetes/kubelet-env
    KubeletEnv,
    /// kubeadm's hook, `KUBELET_EXTRA_ARGS` in /etc/default/kubelet
    DefaultKubelet,
    /// A drop-in for a unit that is known
    #[value(alias = "drop-in")]
    Dropin,
}

impl WayName {
    /// The way, unless it is to be chosen.
    pub(crate) fn chosen(self) -> Option<Way> {
        match self {
            Self::Auto => None,
            Self::Generator => Some(Way::Generator),
            Self::KubeletEnv => Some(Way::KubeletEnv),
            Self::DefaultKubelet => Some(Way::DefaultKubelet),
            Self::Dropin => Some(Way::DropIn),
        }
    }
}

/// Formats of files that machines read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArtefactFormat {
    /// YAML
    Yaml,
    /// JSON
    Json,
}

/// A spec version that configs are written in. Before 3.1 a config cannot name headers for a request, and machines that
/// want 2.x are none that Berth boots.
pub(crate) fn written_version(text: &str) -> Result<SpecVersion, String> {
    let known = |text: &str| text.parse::<SpecVersion>().ok();
    known(text)
        .or_else(|| known(&format!("{text}.0")))
        .filter(|version| *version >= SpecVersion::V3_1)
        .ok_or_else(|| "configs are written in spec 3.1.0, 3.2.0, 3.3.0, 3.4.0 or 3.5.0".to_owned())
}
