//! The environment files of OpenShift and kubeadm, and the plain argument list.

use std::{fs, os::unix::fs::PermissionsExt as _};

use crate::machine::Machine;

const OPENSHIFT: &str = "[Service]\nEnvironment=CUSTOM_KUBELET_LABELS=node.openshift.io/remote-worker\n\
    EnvironmentFile=-/etc/kubernetes/kubelet-env\n\
    ExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet --node-labels=x=y,${CUSTOM_KUBELET_LABELS}\n";

const KUBEADM: &str =
    "[Service]\nEnvironmentFile=-/etc/sysconfig/kubelet\nExecStart=/usr/bin/kubelet $KUBELET_EXTRA_ARGS\n";

#[test]
fn kubelet_env_is_merged_and_a_second_run_changes_nothing() {
    let machine = Machine::with(OPENSHIFT, "a=b\nnode-role.kubernetes.io/infra=\n");
    machine.write("/etc/kubernetes/kubelet-env", "# of others\nKUBELET_NODE_NAME=n1\n");
    let first = machine.run(&["kubelet-env"]);
    assert!(first.status.success(), "{first:?}");
    let text = machine.read("/etc/kubernetes/kubelet-env");
    assert_eq!(
        text,
        "# of others\nKUBELET_NODE_NAME=n1\nCUSTOM_KUBELET_LABELS=a=b,node.openshift.io/remote-worker=\n"
    );
    let said = String::from_utf8(first.stderr).unwrap();
    assert!(said.contains("node-role.kubernetes.io/infra= is left out"), "{said}");
    assert!(
        said.contains("node.openshift.io/remote-worker= is carried along"),
        "{said}"
    );
    let second = machine.run(&["kubelet-env"]);
    assert!(String::from_utf8(second.stderr).unwrap().contains("is as it should be"));
    assert_eq!(machine.read("/etc/kubernetes/kubelet-env"), text);
}

#[test]
fn a_label_that_is_not_wanted_any_more_goes_away_again() {
    let machine = Machine::with(KUBEADM, "a=b\nc=d\n");
    machine.write("/etc/sysconfig/kubelet", "KUBELET_EXTRA_ARGS=--v=2\n");
    fs::set_permissions(
        machine.path("/etc/sysconfig/kubelet"),
        fs::Permissions::from_mode(0o600),
    )
    .unwrap();
    assert!(machine.run(&["default-kubelet"]).status.success());
    assert_eq!(
        machine.read("/etc/sysconfig/kubelet"),
        "KUBELET_EXTRA_ARGS=\"--v=2 --node-labels=a=b,c=d\"\n"
    );
    machine.write("/etc/berth/labels", "c=e\n");
    assert!(machine.run(&["default-kubelet"]).status.success());
    assert_eq!(
        machine.read("/etc/sysconfig/kubelet"),
        "KUBELET_EXTRA_ARGS=\"--v=2 --node-labels=c=e\"\n"
    );
    let mode = fs::metadata(machine.path("/etc/sysconfig/kubelet"))
        .unwrap()
        .permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
}

/// An image gets its file before its kubelet is installed.
#[test]
fn without_a_unit_debians_file_is_made() {
    let machine = Machine::new();
    machine.write("/etc/berth/labels", "a=b\n");
    assert!(machine.run(&["default-kubelet"]).status.success());
    assert_eq!(
        machine.read("/etc/default/kubelet"),
        "KUBELET_EXTRA_ARGS=--node-labels=a=b\n"
    );
}

#[test]
fn a_file_that_the_unit_does_not_read_is_refused() {
    let table = [
        (
            "[Service]\nExecStart=/usr/bin/kubelet ${CUSTOM_KUBELET_LABELS}\n",
            "has no EnvironmentFile= for it",
        ),
        (
            "[Service]\nEnvironmentFile=/etc/kubernetes/kubelet-env\nExecStart=/usr/bin/kubelet\n",
            "does not use $CUSTOM_KUBELET_LABELS",
        ),
    ];
    for (unit, message) in table {
        let machine = Machine::with(unit, "a=b\n");
        let output = machine.run(&["kubelet-env"]);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(message), "{said}");
        assert!(!machine.path("/etc/kubernetes/kubelet-env").exists());
    }
}

/// A program named `kubelet` that prints its arguments.
fn kubelet(machine: &Machine) -> String {
    machine.write("/bin/kubelet", "#!/bin/sh\nprintf '%s\\n' \"$@\"\n");
    let path = machine.path("/bin/kubelet");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn exec_becomes_the_kubelet_with_one_more_flag() {
    let machine = Machine::new();
    let kubelet = kubelet(&machine);
    let run = |arguments: &[&str]| {
        let output = machine.run(arguments);
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    // No labels: the kubelet starts as it would without us.
    let (code, out, said) = run(&["exec", "--", &kubelet, "--v=2"]);
    assert_eq!((code, out.as_str(), said.as_str()), (Some(0), "--v=2\n", ""));
    machine.write("/etc/berth/labels", "a=b\nnode-role.kubernetes.io/infra=\n");
    let (code, out, said) = run(&["exec", "--", &kubelet, "--v=2"]);
    assert_eq!((code, out.as_str()), (Some(0), "--v=2\n--node-labels=a=b\n"));
    assert!(said.contains("node-role.kubernetes.io/infra= is left out"), "{said}");
    machine.write("/other", "c=d\n");
    let (_, out, _) = run(&["exec", "--labels", "/other", "--", &kubelet, "--v=2"]);
    assert_eq!(out, "--v=2\n--node-labels=c=d\n");

    let (code, _, said) = run(&["exec", "--labels", "/missing", "--", &kubelet]);
    assert_eq!(code, Some(2), "{said}");
    let (code, _, said) = run(&["exec", "--", "/bin/true"]);
    assert_eq!(code, Some(2), "{said}");
    let (code, _, said) = run(&["exec", "--", "/missing/kubelet"]);
    assert_eq!(code, Some(127), "{said}");
}
