//! Which flags of the kubelet take a value. Names only: their meaning is the kubelet's business.

/// Whether a flag without `=` takes the next word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arity {
    /// A boolean: the next word is not its value.
    Switch,
    /// It takes the next word, whatever that looks like.
    Value,
    /// Not in the lists below.
    Unknown,
}

pub(crate) fn arity(name: &str) -> Arity {
    if SWITCHES.binary_search(&name).is_ok() {
        Arity::Switch
    } else if VALUES.binary_search(&name).is_ok() {
        Arity::Value
    } else {
        Arity::Unknown
    }
}

/// Boolean flags of current and of past kubelets. Sorted.
const SWITCHES: &[&str] = &[
    "add-dir-header",
    "allow-privileged",
    "alsologtostderr",
    "anonymous-auth",
    "authentication-token-webhook",
    "cgroups-per-qos",
    "contention-profiling",
    "cpu-cfs-quota",
    "docker-only",
    "docker-tls",
    "dynamic-config",
    "enable-cadvisor-json-endpoints",
    "enable-controller-attach-detach",
    "enable-debugging-handlers",
    "enable-load-reader",
    "enable-server",
    "exit-on-lock-contention",
    "experimental-allocatable-ignore-eviction",
    "experimental-check-node-capabilities-before-mount",
    "experimental-kernel-memcg-notification",
    "fail-swap-on",
    "h",
    "help",
    "keep-terminated-pod-volumes",
    "kernel-memcg-notification",
    "local-storage-capacity-isolation",
    "log-cadvisor-usage",
    "log-json-split-stream",
    "log-text-split-stream",
    "logtostderr",
    "make-iptables-util-chains",
    "one-output",
    "protect-kernel-defaults",
    "really-crash-for-testing",
    "redirect-container-streaming",
    "register-node",
    "register-schedulable",
    "rotate-certificates",
    "rotate-server-certificates",
    "runonce",
    "seccomp-default",
    "serialize-image-pulls",
    "skip-headers",
    "skip-log-headers",
    "storage-driver-secure",
    "version",
    "windows-service",
];

/// Flags with a value, of current and of past kubelets. Sorted.
const VALUES: &[&str] = &[
    "address",
    "allowed-unsafe-sysctls",
    "authentication-token-webhook-cache-ttl",
    "authorization-mode",
    "bootstrap-kubeconfig",
    "cert-dir",
    "cgroup-driver",
    "cgroup-root",
    "client-ca-file",
    "cloud-config",
    "cloud-provider",
    "cluster-dns",
    "cluster-domain",
    "cni-bin-dir",
    "cni-conf-dir",
    "config",
    "config-dir",
    "container-log-max-files",
    "container-log-max-size",
    "container-runtime",
    "container-runtime-endpoint",
    "cpu-manager-policy",
    "cpu-manager-policy-options",
    "cpu-manager-reconcile-period",
    "enforce-node-allocatable",
    "event-burst",
    "event-qps",
    "eviction-hard",
    "eviction-max-pod-grace-period",
    "eviction-minimum-reclaim",
    "eviction-pressure-transition-period",
    "eviction-soft",
    "eviction-soft-grace-period",
    "experimental-mounter-path",
    "feature-gates",
    "file-check-frequency",
    "hairpin-mode",
    "healthz-bind-address",
    "healthz-port",
    "hostname-override",
    "http-check-frequency",
    "image-credential-provider-bin-dir",
    "image-credential-provider-config",
    "image-gc-high-threshold",
    "image-gc-low-threshold",
    "image-service-endpoint",
    "kube-api-burst",
    "kube-api-content-type",
    "kube-api-qps",
    "kube-reserved",
    "kube-reserved-cgroup",
    "kubeconfig",
    "kubelet-cgroups",
    "lock-file",
    "log-backtrace-at",
    "log-dir",
    "log-file",
    "log-flush-frequency",
    "logging-format",
    "manifest-url",
    "manifest-url-header",
    "max-open-files",
    "max-pods",
    "memory-manager-policy",
    "minimum-image-ttl-duration",
    "network-plugin",
    "node-ip",
    "node-labels",
    "node-status-update-frequency",
    "oom-score-adj",
    "pod-cidr",
    "pod-infra-container-image",
    "pod-manifest-path",
    "pod-max-pids",
    "pods-per-core",
    "port",
    "provider-id",
    "qos-reserved",
    "read-only-port",
    "register-with-taints",
    "registry-burst",
    "registry-qps",
    "reserved-cpus",
    "reserved-memory",
    "resolv-conf",
    "root-dir",
    "runtime-cgroups",
    "runtime-request-timeout",
    "stderrthreshold",
    "streaming-connection-idle-timeout",
    "sync-frequency",
    "system-cgroups",
    "system-reserved",
    "system-reserved-cgroup",
    "tls-cert-file",
    "tls-cipher-suites",
    "tls-min-version",
    "tls-private-key-file",
    "topology-manager-policy",
    "topology-manager-policy-options",
    "topology-manager-scope",
    "v",
    "vmodule",
    "volume-plugin-dir",
    "volume-stats-agg-period",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_sorted_and_apart() {
        assert!(SWITCHES.is_sorted());
        assert!(VALUES.is_sorted());
        assert!(SWITCHES.iter().all(|name| !VALUES.contains(name)));
    }
}
