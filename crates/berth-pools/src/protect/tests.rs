use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::machine_config::ROLE_LABEL;

const OPENSHIFT_UNIT: &str = "[Service]\nType=notify\nEnvironmentFile=/etc/os-release\n\
    EnvironmentFile=-/etc/kubernetes/kubelet-env\nExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet \\\n  \
    --config=/etc/kubernetes/kubelet.conf \\\n  \
    --node-labels=node-role.kubernetes.io/worker,node.openshift.io/os_id=${ID},${CUSTOM_KUBELET_LABELS} \\\n  \
    --v=2\n";

fn config(name: &str, mut body: Value) -> MachineConfig {
    body["ignition"] = json!({"version": "3.4.0"});
    MachineConfig {
        name: name.to_owned(),
        labels: [(ROLE_LABEL.to_owned(), "worker".to_owned())].into(),
        spec: serde_json::from_value(json!({ "config": body })).unwrap(),
        ..MachineConfig::default()
    }
}

fn with_file(name: &str, path: &str, text: &str) -> MachineConfig {
    let file = berth_ignition::file(path, 0o644, text);
    config(name, json!({"storage": {"files": [file]}}))
}

fn with_unit(name: &str, text: &str) -> MachineConfig {
    config(
        name,
        json!({"systemd": {"units": [{"name": "kubelet.service", "contents": text}]}}),
    )
}

fn with_drop_in(name: &str, drop_in: &str, text: &str) -> MachineConfig {
    config(
        name,
        json!({"systemd": {"units": [{"name": "kubelet.service", "dropins": [{"name": drop_in, "contents": text}]}]}}),
    )
}

fn set(labels: &[(&str, &str)]) -> LabelSet {
    let map: BTreeMap<_, _> = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    LabelSet::try_from_map(&map).unwrap()
}

/// A pool with a role, which the controller sets, and two labels that come with the kubelet's flags.
fn pool() -> ProtectedLabels {
    ProtectedLabels {
        pool: "edge".to_owned(),
        identifying: set(&[("node-role.kubernetes.io/edge", ""), ("example.com/pool", "edge")]),
        explicit: set(&[("example.com/site", "s1")]),
    }
}

fn findings(configs: &[MachineConfig]) -> Vec<ProtectFinding> {
    protect(configs, &pool(), Flavour::Openshift)
}

/// Machine config, path, line and kind of each finding.
fn short(configs: &[MachineConfig]) -> Vec<String> {
    findings(configs)
        .iter()
        .map(|found| {
            let line = found.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
            format!("{} {}:{line} {}", found.machine_config, found.path, found.kind.as_str())
        })
        .collect()
}

#[test]
fn openshifts_own_files_are_fine() {
    let plain = [
        with_unit("01-kubelet", OPENSHIFT_UNIT),
        with_drop_in(
            "01-env",
            "10-mco-default-env.conf",
            "[Service]\nEnvironment=HTTP_PROXY=x\n",
        ),
        with_file(
            "01-node-env",
            "/etc/kubernetes/kubelet-env",
            "KUBELET_NODE_IP=10.0.0.1\n",
        ),
    ];
    assert_eq!(findings(&plain), []);
    assert_eq!(findings(&[]), []);
}

/// The machine configs of the procedure that Berth replaces, as people have them.
fn seed_configs(labels: &str) -> Vec<MachineConfig> {
    let infra = "[Service]\nExecStartPre=/usr/local/bin/extractExecStart %n /%t/%N-execstart.env ORIG_EXECSTART\n\
        ExecStartPre=/usr/local/bin/addExtraLabels /%t/%N-execstart.env\nEnvironmentFile=-/%t/%N-execstart.env\n\
        ExecStart=\nExecStart=bash -c \"${ORIG_EXECSTART}\"\n";
    let variable = format!("[Service]\nEnvironment=\"FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS={labels}\"\n");
    vec![
        with_drop_in("90-kubelet-extra-labels", "20-extra-labels-infra.conf", infra),
        with_drop_in("91-extra-labels", "30-extra-labels.conf", &variable),
    ]
}

#[test]
fn the_first_boot_scripts_that_berth_replaces_are_fine() {
    let mut configs = seed_configs("example.com/pool=edge,example.com/site=\\\"s1\\\"");
    assert_eq!(short(&configs), Vec::<String>::new(), "the unit is the distribution's");
    configs.push(with_unit("01-kubelet", OPENSHIFT_UNIT));
    assert_eq!(short(&configs), Vec::<String>::new(), "beside OpenShift's unit");
    let plain = "[Service]\nExecStart=/usr/bin/kubelet --node-labels=a=b\n";
    configs.push(with_unit("02-kubelet", plain));
    assert_eq!(
        short(&configs),
        Vec::<String>::new(),
        "the scripts add the labels to a plain unit"
    );
}

#[test]
fn the_first_boot_scripts_must_have_the_pools_labels_where_nothing_else_brings_them() {
    let mut configs = seed_configs("example.com/pool=edge");
    let plain = "[Service]\nExecStart=/usr/bin/kubelet --node-labels=a=b\n";
    configs.push(with_unit("01-kubelet", plain));
    assert_eq!(short(&configs), ["01-kubelet kubelet.service:2 drops-labels"]);
    let other = seed_configs("example.com/pool=core");
    assert_eq!(
        short(&other),
        ["91-extra-labels kubelet.service.d/30-extra-labels.conf:2 overrides-label"]
    );
}

#[test]
fn kubeadms_own_drop_in_is_fine() {
    let text = "[Service]\nEnvironment=\"KUBELET_KUBECONFIG_ARGS=--kubeconfig=/etc/kubernetes/kubelet.conf\"\n\
        EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\nEnvironmentFile=-/etc/default/kubelet\nExecStart=\n\
        ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n";
    let drop_in = with_drop_in("a", "10-kubeadm.conf", text);
    assert_eq!(protect([&drop_in], &pool(), Flavour::Upstream), []);
    let extra = with_file("b", "/etc/default/kubelet", "KUBELET_EXTRA_ARGS=--v=4\n");
    assert_eq!(protect([&drop_in, &extra], &pool(), Flavour::Upstream), []);
}

#[test]
fn labels_that_are_delivered_are_fine() {
    let labels = "example.com/pool=edge\nexample.com/site=s1\n";
    let variable = "CUSTOM_KUBELET_LABELS=example.com/pool=edge,example.com/site=s1,other=x\n";
    for delivery in [
        with_file("50", "/etc/berth/labels", labels),
        with_file("50", "/etc/kubernetes/kubelet-env", variable),
    ] {
        assert_eq!(findings(&[with_unit("01", OPENSHIFT_UNIT), delivery]), []);
    }
}

#[test]
fn a_labels_file_must_have_the_pools_labels() {
    let text = "# mine\nexample.com/site=s2\nnot a label\nnode-role.kubernetes.io/edge=\n";
    let found = findings(&[with_file("a", "/etc/berth/labels", text)]);
    insta::assert_debug_snapshot!(found);
}

#[test]
fn kubelet_env_must_not_hide_the_labels() {
    let env = |text: &str| with_file("a", "/etc/kubernetes/kubelet-env", text);
    assert_eq!(
        short(&[env("A=b\nCUSTOM_KUBELET_LABELS=mine=1\n")]),
        ["a /etc/kubernetes/kubelet-env:2 drops-labels"]
    );
    assert_eq!(
        short(&[env("CUSTOM_KUBELET_LABELS=example.com/pool=core,example.com/site=s1\n")]),
        [
            "a /etc/kubernetes/kubelet-env:1 overrides-label",
            "a /etc/kubernetes/kubelet-env:1 drops-labels",
        ]
    );
    // With the labels file the generator adds a flag that counts last.
    let labels = with_file("b", "/etc/berth/labels", "example.com/pool=edge\nexample.com/site=s1\n");
    assert_eq!(findings(&[env("CUSTOM_KUBELET_LABELS=mine=1\n"), labels]), []);
}

#[test]
fn the_message_names_what_is_lost_and_what_would_be_right() {
    let found = findings(&[with_file(
        "a",
        "/etc/kubernetes/kubelet-env",
        "CUSTOM_KUBELET_LABELS=x=1\n",
    )]);
    assert_eq!(
        found[0].message,
        "CUSTOM_KUBELET_LABELS is set without them, so the pool edge would lose example.com/pool=edge, \
         example.com/site=s1"
    );
    assert_eq!(
        found[0].help,
        "add example.com/pool=edge,example.com/site=s1, or leave this to Berth"
    );
}

#[test]
fn a_later_machine_config_must_not_replace_the_labels() {
    let labelled = "CUSTOM_KUBELET_LABELS=example.com/pool=edge,example.com/site=s1\n";
    let configs = [
        with_file("10-labels", "/etc/kubernetes/kubelet-env", labelled),
        with_file("20-mine", "/etc/kubernetes/kubelet-env", "KUBELET_NODE_IP=10.0.0.1\n"),
    ];
    assert_eq!(short(&configs), ["20-mine /etc/kubernetes/kubelet-env:- drops-labels"]);
    assert!(findings(&configs)[0].message.contains("MachineConfig 10-labels"));

    let args = "KUBELET_EXTRA_ARGS=--node-labels=example.com/pool=edge,example.com/site=s1\n";
    let configs = [
        with_file("10-labels", "/etc/default/kubelet", args),
        with_file("20-mine", "/etc/default/kubelet", "KUBELET_EXTRA_ARGS=--v=4\n"),
    ];
    assert_eq!(short(&configs), ["20-mine /etc/default/kubelet:- drops-labels"]);
}

#[test]
fn a_drop_in_that_replaces_the_command_must_keep_the_labels() {
    let unit = with_unit("01", OPENSHIFT_UNIT);
    let reset = "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --v=4\n";
    let expected = ["a kubelet.service.d/20-x.conf:3 drops-labels"];
    assert_eq!(short(&[unit.clone(), with_drop_in("a", "20-x.conf", reset)]), expected);
    // The unit itself need not be known.
    assert_eq!(short(&[with_drop_in("a", "20-x.conf", reset)]), expected);

    let as_file = with_file("a", "/etc/systemd/system/kubelet.service.d/20-x.conf", reset);
    assert_eq!(
        short(&[unit.clone(), as_file]),
        ["a /etc/systemd/system/kubelet.service.d/20-x.conf:3 drops-labels"]
    );
    for fine in [
        "ExecStart=/usr/bin/kubelet --node-labels=${CUSTOM_KUBELET_LABELS}",
        "ExecStart=/usr/bin/kubelet --node-labels=example.com/pool=edge,example.com/site=s1",
        "ExecStart=/usr/bin/kubelet $KUBELET_EXTRA_ARGS",
    ] {
        let text = format!("[Service]\nExecStart=\n{fine}\n");
        assert_eq!(
            findings(&[unit.clone(), with_drop_in("a", "20-x.conf", &text)]),
            [],
            "{fine}"
        );
    }
}

#[test]
fn the_generator_sees_to_all_commands_but_those_that_count_after_its_own() {
    let labels = with_file(
        "50",
        "/etc/berth/labels",
        "example.com/pool=edge\nexample.com/site=s1\n",
    );
    let reset = "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet --v=4\n";
    let with = |name| {
        short(&[
            with_unit("01", OPENSHIFT_UNIT),
            labels.clone(),
            with_drop_in("a", name, reset),
        ])
    };
    assert_eq!(with("20-x.conf"), Vec::<String>::new());
    assert_eq!(with("99-x.conf"), Vec::<String>::new());
    assert_eq!(with("zzz.conf"), ["a kubelet.service.d/zzz.conf:3 drops-labels"]);
    assert_eq!(
        with("50-berth.conf"),
        ["a kubelet.service.d/50-berth.conf:3 drops-labels"]
    );
}

#[test]
fn a_drop_in_must_not_cut_the_labels_off() {
    for (text, line) in [
        ("[Service]\nUnsetEnvironment=CUSTOM_KUBELET_LABELS\n", 2),
        (
            "[Service]\nEnvironment=A=b\nEnvironmentFile=\nEnvironmentFile=/etc/os-release\n",
            3,
        ),
    ] {
        for with_fragment in [true, false] {
            let mut configs = vec![with_drop_in("a", "20-x.conf", text)];
            if with_fragment {
                configs.push(with_unit("01", OPENSHIFT_UNIT));
            }
            let expected = format!("a kubelet.service.d/20-x.conf:{line} drops-labels");
            assert_eq!(short(&configs), [expected], "{text}");
        }
    }
    let again = "[Service]\nEnvironmentFile=\nEnvironmentFile=-/etc/kubernetes/kubelet-env\n";
    assert_eq!(
        findings(&[with_unit("01", OPENSHIFT_UNIT), with_drop_in("a", "20-x.conf", again)]),
        []
    );
}

#[test]
fn a_variable_must_not_hide_another_with_the_labels() {
    let with = "[Service]\nEnvironment=CUSTOM_KUBELET_LABELS=example.com/pool=edge,example.com/site=s1\n";
    let without = "[Service]\n# mine\nEnvironment=CUSTOM_KUBELET_LABELS=dpu=yes\n";
    let configs = [
        with_unit("01", OPENSHIFT_UNIT),
        with_drop_in("a", "20-labels.conf", with),
        with_drop_in("b", "30-dpf-labels.conf", without),
    ];
    assert_eq!(
        short(&configs),
        ["b kubelet.service.d/30-dpf-labels.conf:3 drops-labels"]
    );
    assert_eq!(findings(&configs[..2]), []);
}

#[test]
fn a_shell_script_in_the_units_place_is_found() {
    let text = "[Service]\nExecStart=\nExecStart=/bin/bash -c \"source /etc/x; exec kubelet $ARGS\"\n";
    let configs = [with_unit("01", OPENSHIFT_UNIT), with_drop_in("a", "20-x.conf", text)];
    assert_eq!(short(&configs), ["a kubelet.service.d/20-x.conf:3 drops-labels"]);
}

#[test]
fn labels_that_would_stop_the_kubelet_are_found_where_they_stand() {
    let pool = ProtectedLabels::default();
    let unit = |labels: &str| {
        let command = format!("ExecStart=/usr/bin/kubelet --v=2 \\\n  --node-labels={labels}\n");
        with_unit("a", &format!("[Service]\n{command}"))
    };
    let kubelet_env = |labels: &str| {
        let text = format!("\nCUSTOM_KUBELET_LABELS={labels}\n");
        with_file("a", "/etc/kubernetes/kubelet-env", &text)
    };
    let default = |labels: &str| {
        let text = format!("KUBELET_EXTRA_ARGS=\"--v=2 --node-labels={labels}\"\n");
        with_file("a", "/etc/default/kubelet", &text)
    };
    let drop_in = |labels: &str| {
        let text = format!("[Service]\nEnvironment=\"KUBELET_EXTRA_ARGS=--node-labels={labels}\"\n");
        with_drop_in("a", "x.conf", &text)
    };
    for (label, flavour, stops) in [
        ("example.com/a=b", Flavour::Upstream, false),
        ("node-role.kubernetes.io/worker=", Flavour::Openshift, false),
        ("node-role.kubernetes.io/worker=", Flavour::Upstream, true),
        ("node-role.kubernetes.io/infra=", Flavour::Openshift, true),
        ("k8s.io/a=b", Flavour::Upstream, true),
        ("bad_domain!/a=b", Flavour::Upstream, true),
        ("a=not/legal", Flavour::Upstream, true),
    ] {
        for (config, path, line) in [
            (unit(label), "kubelet.service", 3),
            (kubelet_env(label), "/etc/kubernetes/kubelet-env", 2),
            (default(label), "/etc/default/kubelet", 1),
            (drop_in(label), "kubelet.service.d/x.conf", 2),
        ] {
            let found: Vec<_> = protect([&config], &pool, flavour)
                .into_iter()
                .map(|found| (found.path, found.line, found.kind))
                .collect();
            let expected = stops.then(|| (path.to_owned(), Some(line), ProtectKind::StopsKubelet));
            assert_eq!(found, Vec::from_iter(expected), "{label} {flavour} {path}");
        }
    }
}

#[test]
fn units_that_systemd_or_the_kubelet_refuses_are_found() {
    let unit = with_unit("01", OPENSHIFT_UNIT);
    let masked = config(
        "a",
        json!({"systemd": {"units": [{"name": "kubelet.service", "mask": true}]}}),
    );
    assert_eq!(short(&[unit.clone(), masked]), ["a kubelet.service:- stops-kubelet"]);
    for (text, line) in [
        ("[Service]\nExecStart=\n", 2),
        ("[Service]\nExecStart=/usr/bin/kubelet $A\n", 2),
        ("[Service]\nExecStart=\nExecStart=/usr/bin/kubelet stray $A\n", 3),
        ("[Service]\nExecStart=\nExecStart=/usr/bin/kubelet $A --node-ip\n", 3),
    ] {
        for configs in [
            vec![with_drop_in("a", "20-x.conf", text)],
            vec![unit.clone(), with_drop_in("a", "20-x.conf", text)],
        ] {
            let expected = format!("a kubelet.service.d/20-x.conf:{line} stops-kubelet");
            assert_eq!(short(&configs), [expected], "{text}");
        }
    }
    let register = "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet $A --register-node=false\n";
    assert_eq!(
        short(&[unit, with_drop_in("a", "20-x.conf", register)]),
        ["a kubelet.service.d/20-x.conf:3 stops-registration"]
    );
}

#[test]
fn contents_from_elsewhere_cannot_be_proved() {
    let file = json!({"path": "/etc/kubernetes/kubelet-env", "contents": {"source": "https://example.com/env"}});
    let remote = config("a", json!({"storage": {"files": [file]}}));
    assert_eq!(short(&[remote]), ["a /etc/kubernetes/kubelet-env:- unreadable"]);
}

#[test]
fn links_are_seen_for_what_they_do() {
    let link =
        |path: &str, target: &str| config("a", json!({"storage": {"links": [{"path": path, "target": target}]}}));
    let mask = link("/etc/systemd/system/kubelet.service", "/dev/null");
    assert_eq!(
        short(&[with_unit("01", OPENSHIFT_UNIT), mask]),
        ["a /etc/systemd/system/kubelet.service:- stops-kubelet"]
    );
    let elsewhere = link("/etc/kubernetes/kubelet-env", "/etc/mine");
    assert_eq!(short(&[elsewhere]), ["a /etc/kubernetes/kubelet-env:- unreadable"]);
    let broken = with_drop_in("00", "20-x.conf", "[Service]\nExecStart=\n");
    let cured = link("/etc/systemd/system/kubelet.service.d/20-x.conf", "/dev/null");
    assert_eq!(findings(&[with_unit("01", OPENSHIFT_UNIT), broken, cured]), []);
}

#[test]
fn what_loses_the_merge_is_not_judged() {
    let good = "CUSTOM_KUBELET_LABELS=example.com/pool=edge,example.com/site=s1\n";
    let configs = [
        with_file(
            "10-bad",
            "/etc/kubernetes/kubelet-env",
            "CUSTOM_KUBELET_LABELS=k8s.io/a=b\n",
        ),
        with_file("20-good", "/etc/kubernetes/kubelet-env", good),
    ];
    assert_eq!(findings(&configs), []);
}

proptest! {
    #[test]
    fn no_text_is_a_panic_and_every_line_exists(
        unit in "(\\PC|\n|ExecStart=|\\[Service\\]\n|kubelet|--node-labels=|\\$\\{A\\}|=|\\\\\n){0,20}",
        env in "(CUSTOM_KUBELET_LABELS=|KUBELET_EXTRA_ARGS=|--node-labels=|a=b|\n|\"|,|\\PC){0,20}",
    ) {
        let configs = [
            with_unit("a", &unit),
            with_drop_in("b", "20-x.conf", &unit),
            with_file("c", "/etc/kubernetes/kubelet-env", &env),
            with_file("d", "/etc/default/kubelet", &env),
            with_file("e", "/etc/berth/labels", &env),
        ];
        let lines = |text: &str| u32::try_from(text.split('\n').count()).unwrap();
        for found in findings(&configs) {
            let text = if found.path.starts_with("kubelet.service") { &unit } else { &env };
            prop_assert!(found.line.is_none_or(|line| (1..=lines(text)).contains(&line)), "{found:?}");
        }
    }
}
