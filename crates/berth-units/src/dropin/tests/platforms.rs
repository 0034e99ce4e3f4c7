//! The kubelet units that the platforms ship.

use super::*;

const OPENSHIFT: &str = "[Unit]\n\
    Description=Kubernetes Kubelet\n\
    Requires=crio.service kubelet-dependencies.target\n\
    After=kubelet-dependencies.target ostree-finalize-staged.service\n\
    \n\
    [Service]\n\
    Type=notify\n\
    ExecStartPre=/bin/mkdir --parents /etc/kubernetes/manifests\n\
    ExecStartPre=/bin/mkdir --parents /etc/openshift/kubelet.conf.d\n\
    EnvironmentFile=/etc/os-release\n\
    EnvironmentFile=-/etc/kubernetes/kubelet-workaround\n\
    EnvironmentFile=-/etc/kubernetes/kubelet-env\n\
    \n\
    ExecStart=/usr/local/bin/kubenswrapper \\\n\
    \x20   /usr/bin/kubelet \\\n\
    \x20     --config=/etc/kubernetes/kubelet.conf \\\n\
    \x20     --config-dir=/etc/openshift/kubelet.conf.d \\\n\
    \x20     --bootstrap-kubeconfig=/etc/kubernetes/kubeconfig \\\n\
    \x20     --kubeconfig=/var/lib/kubelet/kubeconfig \\\n\
    \x20     --container-runtime-endpoint=/var/run/crio/crio.sock \\\n\
    \x20     --runtime-cgroups=/system.slice/crio.service \\\n\
    \x20     LABELS \\\n\
    \x20     --node-ip=${KUBELET_NODE_IP} \\\n\
    \x20     --hostname-override=${KUBELET_NODE_NAME} \\\n\
    \x20     --provider-id=${KUBELET_PROVIDERID} \\\n\
    \x20     --v=${KUBELET_LOG_LEVEL}\n\
    \n\
    Restart=always\n\
    RestartSec=10\n\
    \n\
    [Install]\n\
    WantedBy=multi-user.target\n";

const WORKER: &str =
    "--node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS}";
const MASTER: &str = "--node-labels=node-role.kubernetes.io/control-plane,node-role.kubernetes.io/master,\
    node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS} \\\n      \
    --register-with-taints=node-role.kubernetes.io/master=:NoSchedule";

fn openshift(labels: &str) -> EffectiveUnit {
    unit(
        &OPENSHIFT.replace("LABELS \\\n", &format!("{labels} \\\n")),
        &[(
            "/etc/systemd/system/kubelet.service.d/20-nodenet.conf",
            "[Service]\nEnvironment=\"KUBELET_NODE_IP=192.0.2.7\" \"CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker\"\n",
        )],
    )
}

fn labels_of(unit: &EffectiveUnit, kubelet_env: Option<&str>) -> Vec<String> {
    let environment = unit.environment(|path| match (path, kubelet_env) {
        ("/etc/os-release", _) => EnvFileContent::Text(b"ID=\"rhcos\"\n".to_vec()),
        ("/etc/kubernetes/kubelet-env", Some(text)) => EnvFileContent::Text(text.into()),
        _ => EnvFileContent::Missing,
    });
    let start = unit.list("Service", "ExecStart")[0];
    KubeletCommand::find(&start.commands()[0], &environment)
        .unwrap()
        .node_labels()
        .iter()
        .map(|label| format!("{}={}", label.key, label.value))
        .collect()
}

#[test]
fn openshift_worker() {
    let unit = openshift(WORKER);
    assert_eq!(
        labels_of(&unit, None),
        [
            "node-role.kubernetes.io/worker=",
            "node.openshift.io/os_id=rhcos",
            "node.openshift.io/remote-worker="
        ]
    );
    // A value in the file hides the one in the drop-in.
    assert_eq!(
        labels_of(&unit, Some("CUSTOM_KUBELET_LABELS=pool=infra\n")),
        [
            "node-role.kubernetes.io/worker=",
            "node.openshift.io/os_id=rhcos",
            "pool=infra"
        ]
    );
    let made = compute(&unit, "pool=infra,node-role.kubernetes.io/worker=", Flavour::Openshift).unwrap();
    let before = argv(&unit).remove(0);
    let mut expected = before.clone();
    expected.push("--node-labels=node-role.kubernetes.io/worker=,pool=infra".to_owned());
    assert_eq!(argv_with(&unit, &made), [expected]);
    assert_eq!(made.source.to_string(), "kubelet.service:14:1");
    assert_eq!(before.len(), 13);
    assert_eq!(before[1], "/usr/bin/kubelet");
}

#[test]
fn openshift_master() {
    let unit = openshift(MASTER);
    let environment = unit.environment(|_| EnvFileContent::Unread);
    let start = unit.list("Service", "ExecStart")[0];
    let kubelet = KubeletCommand::find(&start.commands()[0], &environment).unwrap();
    assert_eq!(kubelet.wrapper(), ["/usr/local/bin/kubenswrapper"]);
    assert_eq!(
        kubelet.value("register-with-taints"),
        Some("node-role.kubernetes.io/master=:NoSchedule")
    );
    assert_eq!(kubelet.value("hostname-override"), Some("${KUBELET_NODE_NAME}"));
    let open: Vec<_> = kubelet
        .node_labels()
        .into_iter()
        .filter(|label| label.open)
        .map(|label| label.key)
        .collect();
    assert_eq!(open, ["node.openshift.io/os_id", "${CUSTOM_KUBELET_LABELS}"]);
    let flag = kubelet.flag("register-with-taints").unwrap();
    let span = start.commands()[0].word_span(flag.word).unwrap();
    assert_eq!(start.place_of(span.start).to_string(), "kubelet.service:23:7");
}

#[test]
fn kubeadm() {
    let unit = unit(
        "[Unit]\nDescription=kubelet\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\nStartLimitInterval=0\n",
        &[(
            "/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf",
            "# Works with kubeadm\n[Service]\n\
             Environment=\"KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf\"\n\
             Environment=\"KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml\"\n\
             EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n\
             EnvironmentFile=-/etc/default/kubelet\n\
             ExecStart=\n\
             ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n",
        )],
    );
    let environment = unit.environment(|path| match path {
        "/etc/default/kubelet" => EnvFileContent::Text(b"KUBELET_EXTRA_ARGS=--node-labels=a=b,pool=old\n".to_vec()),
        _ => EnvFileContent::Missing,
    });
    let request = DropInRequest {
        labels: &set("pool=infra,a=b"),
        flavour: Flavour::Upstream,
        environment: &environment,
    };
    let made = drop_in(&unit, request).unwrap();
    // What a file gives may change before the kubelet starts, so `a=b` is given too.
    assert_eq!(
        made.text.unwrap().lines().last().unwrap(),
        "ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS --node-labels=a=b,pool=infra"
    );
    let start = unit.list("Service", "ExecStart")[0];
    let kubelet = KubeletCommand::find(&start.commands()[0], &environment).unwrap();
    assert_eq!(kubelet.value("kubeconfig"), Some("/etc/kubernetes/kubelet.conf"));
    assert_eq!(kubelet.node_labels().len(), 2);
}
