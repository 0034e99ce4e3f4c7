//! Machine configs and what they cost.

use berth_boot::{BootError, BootInput, ExistingFile, MachineConfigInput, MachineConfigs, Way, machine_configs};
use berth_ignition::{SpecVersion, file_contents, parse};
use berth_labels::{Flavour, LabelSet};
use berth_pools::{Action, DisruptionPolicy, MachineConfigSpec, diff_specs_with};
use serde_json::json;

use crate::fixture::{ARBITER, EXECUTABLE, OPENSHIFT, chain, input, labels, unit};

const LABELS: &str = "node.kubernetes.io/pool=rwn,example.com/rack=r1,node-role.kubernetes.io/infra=";

fn make(boot: BootInput<'_>) -> Result<MachineConfigs, BootError> {
    machine_configs(&MachineConfigInput {
        pool: "rwn",
        boot,
        spec: SpecVersion::V3_2,
    })
}

fn openshift(labels: &LabelSet, way: Option<Way>) -> BootInput<'_> {
    input(labels, Flavour::Openshift, way)
}

fn file(made: &MachineConfigs, path: &str) -> Option<String> {
    made.machine_configs.iter().find_map(|config| {
        let parsed = parse(config.spec.config.as_ref()?).usable().ok()?;
        String::from_utf8(file_contents(parsed.find_file(path)?).ok()?).ok()
    })
}

#[test]
fn the_objects_of_the_generator() {
    let labels = labels(LABELS);
    let made = make(BootInput {
        executable: Some(EXECUTABLE),
        ..openshift(&labels, Some(Way::Generator))
    })
    .unwrap();
    insta::assert_json_snapshot!(made.objects());
    let left: Vec<_> = made.left_out.iter().map(|left| left.label.to_string()).collect();
    assert_eq!(left, ["node-role.kubernetes.io/infra="]);
}

#[test]
fn the_objects_of_the_hook() {
    let labels = labels(LABELS);
    let unit = unit(OPENSHIFT);
    let made = make(BootInput {
        unit: Some(&unit),
        environment_file: Some(ExistingFile {
            contents: b"# of others\nKUBELET_LOG_LEVEL=2\n",
            mode: 0o600,
        }),
        ..openshift(&labels, None)
    })
    .unwrap();
    assert_eq!(made.way, Way::KubeletEnv);
    insta::assert_json_snapshot!(made.objects());
    assert_eq!(
        file(&made, "/etc/kubernetes/kubelet-env").unwrap(),
        "# of others\nKUBELET_LOG_LEVEL=2\nCUSTOM_KUBELET_LABELS=example.com/rack=r1,node.kubernetes.io/pool=rwn\n"
    );
}

#[test]
fn the_objects_of_the_drop_in() {
    let labels = labels(LABELS);
    let unit = unit(ARBITER);
    let made = make(BootInput {
        unit: Some(&unit),
        ..openshift(&labels, None)
    })
    .unwrap();
    assert_eq!(made.way, Way::DropIn);
    insta::assert_json_snapshot!(made.objects());
}

#[test]
fn the_platforms_own_label_is_carried_along() {
    let (labels, carried) = (labels("a=b"), labels("node.openshift.io/remote-worker="));
    let made = make(BootInput {
        carried: &carried,
        ..openshift(&labels, Some(Way::KubeletEnv))
    })
    .unwrap();
    assert_eq!(
        file(&made, "/etc/kubernetes/kubelet-env").unwrap(),
        "CUSTOM_KUBELET_LABELS=a=b,node.openshift.io/remote-worker=\n"
    );
    assert_eq!(made.notes.len(), 1, "only that the unit is not known: {:?}", made.notes);
    let unit = unit(&OPENSHIFT.replace("Type=notify", "Environment=CUSTOM_KUBELET_LABELS=x=y"));
    let made = make(BootInput {
        unit: Some(&unit),
        ..openshift(&labels, None)
    })
    .unwrap();
    assert_eq!(
        file(&made, "/etc/kubernetes/kubelet-env").unwrap(),
        "CUSTOM_KUBELET_LABELS=a=b,x=y\n"
    );
    assert_eq!(made.notes.len(), 1, "{:?}", made.notes);
}

#[test]
fn the_way_is_chosen_by_what_is_known() {
    let labels = labels("a=b");
    let (with_hook, without) = (unit(OPENSHIFT), unit(ARBITER));
    let way = |unit, executable| {
        let made = make(BootInput {
            unit,
            executable,
            ..openshift(&labels, None)
        });
        made.unwrap().way
    };
    assert_eq!(way(Some(&with_hook), Some(EXECUTABLE)), Way::KubeletEnv);
    assert_eq!(way(Some(&without), Some(EXECUTABLE)), Way::Generator);
    assert_eq!(way(Some(&without), None), Way::DropIn);
    assert_eq!(way(None, Some(EXECUTABLE)), Way::Generator);
    assert_eq!(way(None, None), Way::KubeletEnv);
}

/// OpenShift would neither reboot nor drain when labels come, change and go, given the policy that goes with them.
#[test]
fn a_change_of_labels_costs_nothing() {
    let (old, new) = (labels("a=b"), labels("a=c,d=e"));
    let units = [unit(OPENSHIFT), unit(ARBITER)];
    for (way, unit) in [
        (Way::Generator, None),
        (Way::KubeletEnv, Some(&units[0])),
        (Way::DropIn, Some(&units[1])),
    ] {
        let of = |labels| {
            make(BootInput {
                unit,
                executable: Some(EXECUTABLE),
                ..openshift(labels, Some(way))
            })
            .unwrap()
        };
        let (before, after) = (of(&old), of(&new));
        assert_eq!(before.policy, after.policy);
        let policy = DisruptionPolicy::default().with(&after.policy);
        let nothing = MachineConfigSpec {
            config: Some(json!({"ignition": {"version": "3.2.0"}})),
            ..MachineConfigSpec::default()
        };
        let mut steps = Vec::new();
        for (number, config) in after.machine_configs.iter().enumerate() {
            steps.push((&nothing, &config.spec));
            steps.push((&before.machine_configs[number].spec, &config.spec));
            steps.push((&config.spec, &nothing));
        }
        for (from, to) in steps {
            for change in diff_specs_with(from, to, &policy).unwrap().changes {
                assert!(
                    change.actions.iter().all(|action| *action <= Action::DaemonReload),
                    "{way}: {change:?}"
                );
            }
        }
        let units = after.machine_configs.iter().filter_map(|config| {
            let parsed = parse(config.spec.config.as_ref()?).usable().ok()?;
            Some(parsed.units().len())
        });
        assert_eq!(units.sum::<usize>(), 0, "never a unit");
    }
}

#[test]
fn what_openshift_could_not_store_is_refused_with_the_sizes() {
    let labels = labels("a=b");
    // Bytes that do not compress.
    let mut state = 1_u32;
    let mut large = EXECUTABLE.to_vec();
    large.extend((0..1_300_000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    }));
    let error = make(BootInput {
        executable: Some(&large),
        ..openshift(&labels, Some(Way::Generator))
    })
    .unwrap_err();
    let BootError::TooLarge { total, limit, sizes } = &error else {
        panic!("{error}");
    };
    assert_eq!(*limit, 1_572_864);
    assert_eq!(*total, sizes.iter().map(|(_, size)| size).sum::<usize>());
    let text = error.to_string();
    assert!(text.contains("98-rwn-berth-generator 17"), "{text}");
    assert!(text.contains("99-rwn-berth-labels "), "{text}");
}

#[test]
fn what_cannot_be_made_is_refused_with_a_reason() {
    let labels = labels("a=b");
    let arbiter = unit(ARBITER);
    let shell = unit("[Service]\nExecStart=/bin/sh -c 'kubelet; true'\n");
    let base = openshift(&labels, None);
    let table = [
        (
            BootInput {
                way: Some(Way::Generator),
                ..base
            },
            "the way `generator` needs the static executable for nodes",
        ),
        (
            BootInput {
                way: Some(Way::Generator),
                executable: Some(b"#!/bin/sh"),
                ..base
            },
            "the executable for nodes is not an ELF file for 64 bits",
        ),
        (
            BootInput {
                way: Some(Way::DropIn),
                ..base
            },
            "the way `dropin` needs the kubelet's unit",
        ),
        (
            BootInput {
                way: Some(Way::KubeletEnv),
                unit: Some(&arbiter),
                ..base
            },
            "/etc/kubernetes/kubelet-env: the kubelet's unit does not use $CUSTOM_KUBELET_LABELS from this file, so \
             labels there would be lost",
        ),
        (
            BootInput {
                way: Some(Way::DropIn),
                unit: Some(&shell),
                ..base
            },
            "the drop-in cannot be made: /etc/systemd/system/kubelet.service:2:1: the command cannot take labels: the \
             kubelet is started by the shell script `kubelet; true`: its text is evaluated a second time, so no flag can \
             be added safely",
        ),
    ];
    for (boot, message) in table {
        assert_eq!(chain(&make(boot).unwrap_err()), message);
    }
}
