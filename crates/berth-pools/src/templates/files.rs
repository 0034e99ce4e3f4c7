//! The templates that come along: the files below `crates/berth-pools/templates/FAMILY/ROLE/CONFIG/NAME`.

/// A template: family, role, config, name, text. `any` stands for all families or all roles.
pub(super) struct TemplateFile {
    pub(super) family: &'static str,
    pub(super) role: &'static str,
    pub(super) config: &'static str,
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

macro_rules! files {
    ($($family:literal $role:literal $config:literal $name:literal,)*) => {
        &[$(TemplateFile {
            family: $family,
            role: $role,
            config: $config,
            name: $name,
            text: include_str!(concat!("../../templates/", $family, "/", $role, "/", $config, "/", $name)),
        }),*]
    };
}

/// All of them, in the order of their paths. A test compares the list with the folder.
pub(super) const FILES: &[TemplateFile] = files![
    "any" "any" "00" "ca.crt",
    "any" "any" "00" "credential-providers.conf",
    "any" "any" "00" "credential-providers.yaml",
    "any" "any" "00" "kubelet-ca.crt",
    "any" "any" "00" "modules.conf",
    "any" "any" "00" "sysctl.conf",
    "any" "any" "01-container-runtime" "containerd-hosts.toml",
    "any" "any" "01-container-runtime" "containerd-proxy.conf",
    "any" "any" "01-container-runtime" "containerd.toml",
    "any" "any" "01-container-runtime" "crio-proxy.conf",
    "any" "any" "01-container-runtime" "crio.conf",
    "any" "any" "01-container-runtime" "pull-secret.json",
    "any" "any" "01-container-runtime" "registries.conf",
    "any" "any" "01-kubelet" "kubeadm.conf",
    "any" "any" "01-kubelet" "kubelet.conf",
    "any" "any" "01-kubelet" "kubelet.service",
    "any" "any" "01-kubelet" "proxy.conf",
    "any" "master" "01-kubelet" "taints.conf",
    "debian" "any" "00" "timesyncd.conf",
    "debian" "any" "00" "trust-bundle.crt",
    "debian" "any" "00" "trust-bundle.service",
    "fedora" "any" "00" "chrony.conf",
    "fedora" "any" "00" "trust-bundle.crt",
    "fedora" "any" "00" "trust-bundle.service",
];
