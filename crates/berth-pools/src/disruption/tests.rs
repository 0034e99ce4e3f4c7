use serde_json::{Value, json};

use super::*;
use crate::machine_config::MachineConfigSpec;

fn spec(json: Value) -> MachineConfigSpec {
    serde_json::from_value(json).unwrap()
}

fn ignition(mut body: Value) -> MachineConfigSpec {
    body["ignition"] = json!({"version": "3.5.0"});
    spec(json!({ "config": body }))
}

fn file(path: &str, contents: &str) -> Value {
    json!({"path": path, "mode": 420, "contents": {"source": format!("data:,{contents}")}})
}

fn with_file(path: &str, contents: &str) -> MachineConfigSpec {
    ignition(json!({"storage": {"files": [file(path, contents)]}}))
}

fn with_drop_in(contents: &str) -> MachineConfigSpec {
    ignition(json!({"systemd": {"units": [
        {"name": "kubelet.service", "dropins": [{"name": "50-berth.conf", "contents": contents}]},
    ]}}))
}

fn actions(old: &MachineConfigSpec, new: &MachineConfigSpec) -> Vec<String> {
    let diff = diff_specs(old, new).unwrap();
    diff.actions().iter().map(ToString::to_string).collect()
}

#[test]
fn default_policies_by_path() {
    for (path, expected) in [
        ("/var/lib/kubelet/config.json", &["none"][..]),
        (
            "/etc/machine-config-daemon/no-reboot/containers-gpg.pub",
            &["reload crio.service"],
        ),
        ("/etc/containers/policy.json", &["reload crio.service"]),
        ("/etc/containers/registries.d/a.yaml", &["reload crio.service"]),
        ("/etc/containers/registries.d", &["reload crio.service"]),
        ("/etc/containers/registries.dangling", &["reboot"]),
        ("/etc/crio/policies/ns/p.json", &["reload crio.service"]),
        ("/etc/crio/policies.json", &["reboot"]),
        ("/etc/nmstate/openshift/cluster.yml", &["none"]),
        (
            "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt",
            &["restart coreos-update-ca-trust.service", "restart crio.service"],
        ),
        (
            "/etc/kubernetes/credential-providers/a.yaml",
            &["restart kubelet.service"],
        ),
        (
            "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
            &["daemon-reload", "restart kubelet.service"],
        ),
        ("/etc/berth/labels", &["none"]),
        ("/etc/systemd/system/kubelet.service.d/50-berth.conf", &["none"]),
        ("/etc/systemd/system/kubelet.service.d/60-other.conf", &["reboot"]),
        ("/etc/motd", &["reboot"]),
    ] {
        let found = actions(&with_file(path, "a"), &with_file(path, "b"));
        assert_eq!(found, expected, "{path}");
    }
}

#[test]
fn the_longest_policy_path_wins_and_users_replace_defaults() {
    let user = UserPolicy {
        files: vec![
            FilePolicy {
                path: "/etc".to_owned(),
                actions: vec![Action::Drain],
            },
            FilePolicy {
                path: "/etc/app/".to_owned(),
                actions: vec![Action::Restart("app.service".to_owned())],
            },
            FilePolicy {
                path: "/etc/containers/policy.json".to_owned(),
                actions: vec![],
            },
        ],
        units: vec![UnitPolicy {
            name: "app.service".to_owned(),
            actions: vec![Action::DaemonReload],
        }],
        ssh_keys: Some(vec![Action::Reboot]),
    };
    let policy = DisruptionPolicy::default().with(&user);
    assert_eq!(policy.of_file("/etc/motd"), [Action::Drain]);
    assert_eq!(
        policy.of_file("/etc/app/a"),
        [Action::Restart("app.service".to_owned())]
    );
    assert_eq!(policy.of_file("/etc/apple"), [Action::Drain]);
    assert_eq!(policy.of_file("/etc/containers/policy.json"), [Action::None]);
    assert_eq!(policy.of_file("/etc/berth/labels"), [Action::None]);
    assert_eq!(policy.of_file("/opt/a"), [Action::Reboot]);
    assert_eq!(policy.of_unit("app.service"), [Action::DaemonReload]);
    assert_eq!(policy.of_unit("app.socket"), [Action::Reboot]);
    let keys = ignition(json!({"passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["k"]}]}}));
    let changed = diff_specs_with(&ignition(json!({})), &keys, &policy).unwrap();
    assert_eq!(changed.actions(), [Action::Reboot].into());
}

#[test]
fn the_system_needs_a_reboot() {
    let plain = spec(json!({}));
    for change in [
        json!({"osImageURL": "x"}),
        json!({"kernelArguments": ["x"]}),
        json!({"fips": true}),
        json!({"kernelType": "realtime"}),
        json!({"extensions": ["usbguard"]}),
    ] {
        assert_eq!(actions(&plain, &spec(change.clone())), ["reboot"], "{change}");
        assert_eq!(actions(&spec(change.clone()), &plain), ["reboot"], "{change}");
    }
    assert!(
        diff_specs(&plain, &spec(json!({"kernelType": "default"})))
            .unwrap()
            .is_empty()
    );
    let image = spec(json!({"baseOSExtensionsContainerImage": "x"}));
    assert_eq!(actions(&plain, &image), ["none"]);
}

#[test]
fn a_change_of_labels_alone_needs_nothing() {
    for (old, new) in [
        (
            with_file("/etc/berth/labels", "a=b"),
            with_file("/etc/berth/labels", "a=c"),
        ),
        (ignition(json!({})), with_file("/etc/berth/labels", "a=c")),
        (
            with_file(KUBELET_ENV, "A=1%0ACUSTOM_KUBELET_LABELS=a=b%0A"),
            with_file(KUBELET_ENV, "A=1%0ACUSTOM_KUBELET_LABELS=a=c,d=e%0A"),
        ),
        (
            with_file(KUBELET_ENV, "A=1%0A"),
            with_file(KUBELET_ENV, "A=1%0ACUSTOM_KUBELET_LABELS=a=c%0A"),
        ),
        (
            ignition(json!({})),
            with_file(
                "/etc/systemd/system/kubelet.service.d/50-berth.conf",
                "%5BService%5D%0A",
            ),
        ),
    ] {
        assert_eq!(actions(&old, &new), ["none"]);
        assert!(!diff_specs(&old, &new).unwrap().is_empty());
    }
}

#[test]
fn other_variables_and_drop_ins_of_the_unit_need_a_reboot() {
    let old = with_file(KUBELET_ENV, "A=1%0ACUSTOM_KUBELET_LABELS=a=b%0A");
    let new = with_file(KUBELET_ENV, "A=2%0ACUSTOM_KUBELET_LABELS=a=c%0A");
    assert_eq!(actions(&old, &new), ["reboot"]);
    assert_eq!(
        actions(&with_drop_in("[Service]\n"), &with_drop_in("[Unit]\n")),
        ["reboot"]
    );
    let diff = diff_specs(&ignition(json!({})), &with_drop_in("[Service]\n")).unwrap();
    assert_eq!(
        diff.changes,
        [Change {
            kind: ChangeKind::Added,
            item: ChangedItem::DropIn {
                unit: "kubelet.service".to_owned(),
                name: "50-berth.conf".to_owned(),
            },
            actions: vec![Action::Reboot],
        }]
    );
}

#[test]
fn added_registries_reload_and_changed_ones_drain_first() {
    let path = "/etc/containers/registries.conf";
    let one = "unqualified-search-registries%20=%20%5B%22a%22%5D%0A%5B%5Bregistry%5D%5D%0Alocation%20=%20%22x%22%0A";
    let mirror = "%5B%5Bregistry.mirror%5D%5D%0Alocation%20=%20%22m%22%0A";
    let two = "%5B%5Bregistry%5D%5D%0Alocation%20=%20%22y%22%0A";
    let (before, reload) = (with_file(path, one), vec!["reload crio.service".to_owned()]);
    assert_eq!(actions(&before, &with_file(path, &format!("{one}{two}"))), reload);
    assert_eq!(
        actions(&ignition(json!({})), &before),
        vec!["reload crio.service", "drain"]
    );
    for unsafe_change in [
        format!("{one}{mirror}"),
        two.to_owned(),
        one.replace("%22a%22", "%22b%22"),
    ] {
        let found = actions(&before, &with_file(path, &unsafe_change));
        assert_eq!(found, ["reload crio.service", "drain"], "{unsafe_change}");
    }
}

#[test]
fn nothing_is_dropped_beside_something_and_a_reboot_includes_all() {
    let combined = |actions: &[Action]| combine(actions.to_vec()).into_iter().collect::<Vec<_>>();
    assert_eq!(combined(&[]), [Action::None]);
    assert_eq!(combined(&[Action::None, Action::Drain]), [Action::Drain]);
    assert_eq!(
        combined(&[Action::None, Action::Drain, Action::Reboot]),
        [Action::Reboot]
    );
    assert_eq!(
        combined(&[Action::Restart("a".to_owned()), Action::DaemonReload]),
        [Action::DaemonReload, Action::Restart("a".to_owned())]
    );
}

#[test]
fn the_same_bytes_in_another_encoding_are_no_change() {
    let base64 = ignition(json!({"storage": {"files": [
        {"path": "/etc/a", "mode": 420, "contents": {"source": "data:;base64,YQ=="}},
    ]}}));
    assert!(diff_specs(&with_file("/etc/a", "a"), &base64).unwrap().is_empty());
    assert!(!diff_specs(&with_file("/etc/a", "b"), &base64).unwrap().is_empty());
    let mut mode = file("/etc/a", "a");
    mode["mode"] = json!(384);
    let other_mode = ignition(json!({"storage": {"files": [mode]}}));
    assert!(!diff_specs(&with_file("/etc/a", "a"), &other_mode).unwrap().is_empty());
}

#[test]
fn a_diff_lists_everything_with_its_cost() {
    let old = spec(json!({
        "osImageURL": "one",
        "kernelArguments": ["a", "b", "b"],
        "extensions": ["ipsec"],
        "config": {"ignition": {"version": "3.5.0"},
            "storage": {"files": [file("/etc/gone", "x"), file("/etc/berth/labels", "a=b"), file("/etc/same", "x")],
                "links": [{"path": "/etc/l", "target": "/etc/m"}]},
            "systemd": {"units": [{"name": "a.service", "enabled": true, "dropins": [
                {"name": "1.conf", "contents": "[Service]\n"}, {"name": "2.conf", "contents": "[Service]\n"},
            ]}]}},
    }));
    let new = spec(json!({
        "osImageURL": "two",
        "kernelArguments": ["b", "c"],
        "extensions": ["ipsec", "ipsec", "usbguard"],
        "config": {"ignition": {"version": "3.5.0"},
            "storage": {"files": [file("/etc/same", "x"), file("/etc/berth/labels", "a=c"), file("/etc/new", "x")],
                "disks": [{"device": "/dev/sdb"}]},
            "systemd": {"units": [
                {"name": "a.service", "enabled": false, "dropins": [{"name": "2.conf", "contents": "[Unit]\n"}]},
                {"name": "b.service", "contents": "[Service]\nExecStart=/bin/true\n"},
            ]},
            "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["k"]}]}},
    }));
    let diff = diff_specs(&old, &new).unwrap();
    let lines: Vec<_> = diff
        .changes
        .iter()
        .map(|change| serde_json::to_string(change).unwrap())
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
    assert!(diff_specs(&old, &old).unwrap().is_empty());
}

#[test]
fn a_config_that_cannot_be_read_is_an_error() {
    let error = diff_specs(&spec(json!({})), &spec(json!({"config": {"ignition": {}}}))).unwrap_err();
    assert_eq!(error.which, "new");
}

#[test]
fn an_action_reads_back_and_other_words_are_refused() {
    for action in [
        Action::None,
        Action::DaemonReload,
        Action::Reload("crio.service".to_owned()),
        Action::Restart("kubelet.service".to_owned()),
        Action::Drain,
        Action::Reboot,
    ] {
        assert_eq!(action.to_string().parse(), Ok(action));
    }
    for text in ["", "restart", "restart ", "Reboot", "reload"] {
        assert!(text.parse::<Action>().is_err(), "{text}");
    }
}
