//! The machines that boot, and the kubelet units that somebody else gave them.

use serde_json::{Value, json};

/// One machine.
#[derive(Debug)]
pub(super) struct Boot {
    pub(super) node: &'static str,
    pub(super) shape: &'static str,
    pub(super) unit: &'static str,
    pub(super) drop_in: Option<&'static str>,
    /// The labels that the unit itself gives.
    pub(super) own_labels: &'static [(&'static str, &'static str)],
    pub(super) tries_shapes: bool,
}

/// A unit as most are, and three of those that break the known scripts hardest.
pub(super) fn boots() -> [Boot; 4] {
    [
        Boot {
            node: "smyrgaear01",
            shape: "continuation lines",
            unit: CONTINUATION,
            drop_in: None,
            own_labels: &[("example.com/image", "debian")],
            tries_shapes: true,
        },
        Boot {
            node: "smyrgaear02",
            shape: "comments inside a continuation that runs into an empty line, flag and value apart",
            unit: COMMENTS,
            drop_in: None,
            own_labels: &[("example.com/image", "debian")],
            tries_shapes: false,
        },
        Boot {
            node: "smyrgaear03",
            shape: "command reset and set by another drop-in, blanks around the sign, no flag",
            unit: REPLACED,
            drop_in: Some(REPLACING),
            own_labels: &[],
            tries_shapes: false,
        },
        Boot {
            node: "smyrgaear04",
            shape: "prefix, quotes, specifiers, variables, doubled signs",
            unit: QUOTED,
            drop_in: None,
            own_labels: &[("example.com/unit", "kubelet"), ("example.com/word", "kept")],
            tries_shapes: false,
        },
    ]
}

/// The example has three machines of this kind.
pub(super) fn extra_node() -> Value {
    json!({
        "schema": "drydock/BaremetalNode/v1",
        "metadata": {
            "schema": "metadata/Document/v1",
            "name": "smyrgaear04",
            "storagePolicy": "cleartext",
            "layeringDefinition": {"abstract": false, "layer": "site"},
        },
        "data": {
            "host_profile": "edge",
            "metadata": {"rack": "smyr-r1", "boot_mac": "52:54:00:5e:8e:24"},
        },
    })
}

const CONTINUATION: &str = r"[Unit]
Wants=network-online.target
After=network-online.target containerd.service

[Service]
Type=notify
TimeoutStartSec=infinity
ExecStart=/usr/local/bin/kubelet \
    --config=/etc/kubernetes/kubelet.json \
    --bootstrap-kubeconfig=/etc/kubernetes/bootstrap.kubeconfig \
    --kubeconfig=/var/lib/kubelet/kubeconfig \
    --node-labels=example.com/image=debian
Restart=always
";

const COMMENTS: &str = r"[Unit]
Wants=network-online.target
After=network-online.target containerd.service

[Service]
Type=notify
TimeoutStartSec=infinity
ExecStart=/usr/local/bin/kubelet \
# What it is to be like,
    --config=/etc/kubernetes/kubelet.json \
    ; who it is,
    --bootstrap-kubeconfig=/etc/kubernetes/bootstrap.kubeconfig \
    --kubeconfig=/var/lib/kubelet/kubeconfig \
# and what it is called.
    --node-labels example.com/image=debian \

Restart=always
";

const REPLACED: &str = r"[Unit]
Wants=network-online.target
After=network-online.target containerd.service

[Service]
Type=notify
TimeoutStartSec=infinity
ExecStart = /usr/bin/false --node-labels=example.com/never=seen
Restart=always
";

const REPLACING: &str = r"[Service]
ExecStart =
ExecStart = /usr/local/bin/kubelet --config=/etc/kubernetes/kubelet.json --bootstrap-kubeconfig=/etc/kubernetes/bootstrap.kubeconfig --kubeconfig=/var/lib/kubelet/kubeconfig
";

const QUOTED: &str = r#"[Unit]
Wants=network-online.target
After=network-online.target containerd.service

[Service]
Type=notify
TimeoutStartSec=infinity
Environment=WORD=kept
ExecStart=-/usr/local/bin/kubelet "--config=/etc/kubernetes/kubelet.json" '--hostname-override=%H' \
    --bootstrap-kubeconfig=/etc/kubernetes/bootstrap.kubeconfig --kubeconfig=/var/lib/kubelet/kubeconfig \
    --cert-dir=/var/lib/kubelet/$$pki-%%n "--node-labels=example.com/unit=%N,example.com/word=${WORD}"
Restart=always
"#;
