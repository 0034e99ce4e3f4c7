//! Whole Ignition configs.

use berth_boot::{BootError, BootInput, IgnitionInput, Way, ignition};
use berth_ignition::{Config, SpecVersion, file, file_contents, parse};
use berth_labels::Flavour;
use serde_json::json;

use crate::{
    engine,
    fixture::{EXECUTABLE, KUBEADM, OPENSHIFT, input, labels},
};

const VERSIONS: [SpecVersion; 5] = [
    SpecVersion::V3_1,
    SpecVersion::V3_2,
    SpecVersion::V3_3,
    SpecVersion::V3_4,
    SpecVersion::V3_5,
];

/// A pool's config with a unit, a drop-in and an environment file.
fn base(unit: &str) -> Config {
    parse(&json!({
        "ignition": {"version": "3.2.0"},
        "storage": {"files": [
            {"path": "/etc/kubernetes/kubelet-env", "mode": 0o600,
                "user": {"id": 0}, "contents": {"source": "data:,A%3D1%0A"}},
            {"path": "/etc/other", "contents": {"source": "data:,x"}},
        ]},
        "systemd": {"units": [{"name": "kubelet.service", "contents": unit,
            "dropins": [{"name": "10-env.conf", "contents": "[Service]\nEnvironment=CUSTOM_KUBELET_LABELS=p=q\n"}]}]},
    }))
    .usable()
    .unwrap()
}

#[test]
fn a_machines_config_holds_its_pools_and_its_labels() {
    let labels = labels("a=b,node-role.kubernetes.io/infra=");
    let base = base(OPENSHIFT);
    let files = [file("/etc/hostname", 0o644, "rwn-1\n")];
    let answer = ignition(&IgnitionInput {
        base: Some(&base),
        boot: input(&labels, Flavour::Openshift, None),
        files: &files,
        spec: SpecVersion::V3_4,
    })
    .unwrap();
    assert_eq!(answer.way, Way::KubeletEnv);
    assert_eq!(answer.left_out.len(), 1);
    insta::assert_json_snapshot!(answer.config);
    let config = parse(&answer.config).usable().unwrap();
    let contents = |path: &str| String::from_utf8(file_contents(config.find_file(path).unwrap()).unwrap()).unwrap();
    assert_eq!(
        contents("/etc/kubernetes/kubelet-env"),
        "A=1\nCUSTOM_KUBELET_LABELS=a=b,p=q\n"
    );
    assert_eq!(contents("/etc/other"), "x");
    assert_eq!(contents("/etc/hostname"), "rwn-1\n");
}

#[test]
fn every_way_in_every_version_is_valid_to_ignition_and_written_by_it() {
    let labels = labels("a=b,example.com/c=");
    let units = [base(OPENSHIFT), base(KUBEADM)];
    for (flavour, way, base) in [
        (Flavour::Openshift, Way::Generator, None),
        (Flavour::Openshift, Way::KubeletEnv, Some(&units[0])),
        (Flavour::Upstream, Way::DefaultKubelet, Some(&units[1])),
        (Flavour::Upstream, Way::DropIn, Some(&units[1])),
        (Flavour::Upstream, Way::Generator, Some(&units[1])),
    ] {
        for spec in VERSIONS {
            let answer = ignition(&IgnitionInput {
                base,
                boot: BootInput {
                    executable: Some(EXECUTABLE),
                    ..input(&labels, flavour, Some(way))
                },
                files: &[],
                spec,
            })
            .unwrap();
            assert_eq!(answer.config["ignition"]["version"], spec.as_str());
            let config = parse(&answer.config).usable().unwrap();
            engine::validate(&config);
            if spec == SpecVersion::LATEST {
                engine::write_and_compare(&config);
            }
        }
    }
}

#[test]
fn a_config_that_an_old_version_cannot_say_is_refused() {
    let labels = labels("a=b");
    let base = parse(&json!({
        "ignition": {"version": "3.3.0"},
        "kernelArguments": {"shouldExist": ["quiet"]},
    }))
    .usable()
    .unwrap();
    let error = ignition(&IgnitionInput {
        base: Some(&base),
        boot: input(&labels, Flavour::Upstream, None),
        files: &[],
        spec: SpecVersion::V3_1,
    })
    .unwrap_err();
    assert!(matches!(error, BootError::Version { .. }), "{error}");
    let bad = [file("relative", 0o644, "x")];
    let error = ignition(&IgnitionInput {
        base: None,
        boot: input(&labels, Flavour::Upstream, None),
        files: &bad,
        spec: SpecVersion::V3_1,
    })
    .unwrap_err();
    assert!(matches!(error, BootError::Refused { .. }), "{error}");
}

#[test]
fn without_labels_nothing_is_added_unless_the_config_has_others() {
    let nothing = labels("");
    let plain = json!({"ignition": {"version": "3.4.0"}, "systemd": {"units": [
        {"name": "kubelet.service", "contents": OPENSHIFT},
    ]}});
    let mut with_file = plain.clone();
    with_file["storage"] = json!({"files": [{"path": "/etc/berth/labels", "contents": {"source": "data:,a%3Db%0A"}}]});
    for (base, expected) in [(plain, vec![]), (with_file, vec!["/etc/berth/labels"])] {
        let base = parse(&base).usable().unwrap();
        let answer = ignition(&IgnitionInput {
            base: Some(&base),
            boot: input(&nothing, Flavour::Openshift, None),
            files: &[],
            spec: SpecVersion::V3_4,
        });
        let config = parse(&answer.unwrap().config).usable().unwrap();
        let paths: Vec<&str> = config.files().iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, expected);
        if let [file] = config.files() {
            let text = String::from_utf8(file_contents(file).unwrap()).unwrap();
            assert!(!text.contains("a=b"), "{text}");
        }
    }
}
