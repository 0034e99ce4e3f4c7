//! User data for cloud-init.

use berth_boot::{BootInput, ExistingFile, GENERATOR_PATH, Way, cloud_init};
use berth_ignition::{CONTENTS_LIMIT, decode};
use berth_labels::Flavour;
use proptest::prelude::*;
use serde_json::Value;

use crate::{
    fixture::{EXECUTABLE, KUBEADM, input, labels, unit},
    yaml,
};

const LABELS: &str = "example.com/rack=r1,pool=rwn,node-role.kubernetes.io/worker=";

/// The bytes of a file that cloud-init would write.
fn contents(config: &Value, path: &str) -> Vec<u8> {
    let files = config["write_files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == path).unwrap();
    let content = file["content"].as_str().unwrap();
    let data = |compression| decode(&format!("data:;base64,{content}"), compression, CONTENTS_LIMIT).unwrap();
    match file["encoding"].as_str() {
        None => content.as_bytes().to_vec(),
        Some("b64") => data(None),
        Some("gz+b64") => data(Some("gzip")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn kubeadms_file_is_written() {
    let labels = labels(LABELS);
    let unit = unit(KUBEADM);
    let text = cloud_init(&BootInput {
        unit: Some(&unit),
        ..input(&labels, Flavour::Upstream, None)
    })
    .unwrap();
    insta::assert_snapshot!(text);
    let config = yaml::read(&text);
    assert_eq!(
        contents(&config, "/etc/default/kubelet"),
        b"KUBELET_EXTRA_ARGS=--node-labels=example.com/rack=r1,pool=rwn\n"
    );
    assert_eq!(config["write_files"][0]["permissions"], "0644");
}

#[test]
fn the_generator_is_written_and_systemd_told() {
    let labels = labels(LABELS);
    let executable = EXECUTABLE.repeat(50);
    let text = cloud_init(&BootInput {
        executable: Some(&executable),
        ..input(&labels, Flavour::Upstream, None)
    })
    .unwrap();
    insta::assert_snapshot!(text);
    let config = yaml::read(&text);
    assert_eq!(contents(&config, GENERATOR_PATH), executable);
    assert_eq!(config["runcmd"][0][1], "daemon-reload");
}

proptest! {
    /// Whatever the file of others holds, it comes out as it went in, with one variable more.
    #[test]
    fn any_environment_file_survives(
        before in prop_oneof!["([A-Z]{1,3}=[ -~]{0,8}\n|#[ -~\t]{0,8}\n|\n| ){0,5}", "\\PC{0,12}"],
    ) {
        let labels = labels("a=b");
        let made = cloud_init(&BootInput {
            environment_file: Some(ExistingFile { contents: before.as_bytes(), mode: 0o644 }),
            ..input(&labels, Flavour::Upstream, Some(Way::DefaultKubelet))
        });
        if let Ok(text) = made {
            let written = contents(&yaml::read(&text), "/etc/default/kubelet");
            let written = String::from_utf8(written).unwrap();
            prop_assert!(written.contains("--node-labels=a=b"), "{}", written);
            if !before.contains("KUBELET_EXTRA_ARGS") {
                prop_assert!(written.starts_with(&before), "{:?} {:?}", before, written);
            }
        }
    }
}
