//! Labels at first boot by two drop-ins of the kubelet: one, on all workers, takes the command apart and runs it through a shell
//! with more labels; the other, on the designated machines, has the labels. Both are in machine configs, whose Ignition config goes
//! into a live image.

use std::{path::Path, process::Command};

use berth_ignition::parse;
use serde_json::{Value, json};

use super::{done, item};
use crate::{
    ignition_server::{Server, file},
    live_image::{Layout, image},
    run::{Folder, command},
    up::program,
};

const LABEL: &str = "node.kubernetes.io/worker-rwn";
const FILES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/seeds/auto-labelling");

/// The files of the procedure, under their own names, and what the cluster has besides.
fn procedure() -> Folder {
    let folder = Folder::new();
    for name in [
        "src/extractExecStart",
        "src/addExtraLabels",
        "src/20-extra-labels-infra.conf",
        "src/30-extra-labels.conf",
        "mc-kubelet-extra-labels.yaml",
        "mc-extra-labels.yaml",
        "cluster.yaml",
    ] {
        folder.write(name, std::fs::read(Path::new(FILES).join(name)).unwrap());
    }
    folder
}

/// The unit that OpenShift's machine config has.
fn kubelet_service(folder: &Folder) -> String {
    let rendered = done(folder, "render -f . --pool worker -o json").json();
    let units = &rendered["spec"]["config"]["systemd"]["units"];
    item(units, "name", "kubelet.service")["contents"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn dropins(config: &Value) -> Vec<&str> {
    let unit = item(&config["systemd"]["units"], "name", "kubelet.service");
    let list = unit["dropins"].as_array().unwrap();
    list.iter().map(|dropin| dropin["name"].as_str().unwrap()).collect()
}

/// The labels of the kubelet of a machine with these drop-ins.
fn node_labels(folder: &Folder, dropins: &str) -> Value {
    let words = format!("unit kubelet --unit kubelet.service {dropins} --flavour openshift -o json");
    done(folder, &words).json()
}

/// "Read ExecStart from the existing unit, isolate --node-labels, add the custom label if configured, execute the original."
#[test]
fn the_drop_ins_give_the_label_to_the_original_command() {
    let folder = procedure();
    folder.write("kubelet.service", kubelet_service(&folder));
    let before = node_labels(&folder, "");
    assert_eq!(
        before["node_labels"],
        json!({"node-role.kubernetes.io/worker": "", "node.openshift.io/os_id": "${ID}"})
    );

    let both = node_labels(&folder, "--dropin src");
    assert_eq!(
        both["node_labels"],
        json!({"node-role.kubernetes.io/worker": "", "node.openshift.io/os_id": "${ID}", LABEL: ""}),
        "{both:#}"
    );
    // The original command, with one more flag and no shell in front of it.
    let mut command = before["exec"].clone();
    command[0]["argv"]
        .as_array_mut()
        .unwrap()
        .push(json!(format!("--node-labels={LABEL}=")));
    assert_eq!(both["exec"], command);

    // On workers that are not designated the first drop-in changes nothing.
    let infra = node_labels(&folder, "--dropin src/20-extra-labels-infra.conf");
    assert_eq!(infra["node_labels"], before["node_labels"]);
    assert_eq!(infra["exec"][0]["argv"], json!(["bash", "-c", "${ORIG_EXECSTART}"]));
    assert_eq!(infra["dropin"], Value::Null);
}

/// The ways in which people write the same label, and the older key.
#[test]
fn the_label_is_read_however_it_is_quoted() {
    let folder = procedure();
    folder.write("kubelet.service", kubelet_service(&folder));
    for (line, labels) in [
        (
            r#"Environment="NAME=node.kubernetes.io/worker-rwn=""#,
            json!({LABEL: ""}),
        ),
        (
            r#"Environment="NAME=node.kubernetes.io/worker-rwn=\"\"""#,
            json!({LABEL: ""}),
        ),
        (
            r#"Environment='NAME=node.kubernetes.io/worker-rwn=""'"#,
            json!({LABEL: ""}),
        ),
        ("Environment=NAME=node.kubernetes.io/worker-rwn", json!({LABEL: ""})),
        (
            r#"Environment="NAME=node.kubernetes.io/role=rwn,telco.example/site=s1""#,
            json!({"node.kubernetes.io/role": "rwn", "telco.example/site": "s1"}),
        ),
    ] {
        let line = line.replace("NAME", "FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS");
        folder.write("src/30-extra-labels.conf", format!("[Service]\n{line}\n"));
        let mut found = node_labels(&folder, "--dropin src")["node_labels"].clone();
        for unit in ["node-role.kubernetes.io/worker", "node.openshift.io/os_id"] {
            found.as_object_mut().unwrap().remove(unit);
        }
        assert_eq!(found, labels, "{line}");
    }
}

/// A newer unit of OpenShift, and one that other drop-ins of the platform have changed.
#[test]
fn the_command_is_found_in_units_of_other_releases() {
    let folder = procedure();
    let unit = kubelet_service(&folder);
    let newer = unit.replace(
        "/usr/bin/hyperkube \\\n    kubelet",
        "/usr/local/bin/kubenswrapper \\\n    /usr/bin/kubelet",
    );
    assert_ne!(newer, unit);
    let newer = newer.replace("os_id=${ID}", "os_id=${ID},${CUSTOM_KUBELET_LABELS}");
    folder.write("kubelet.service", newer);
    folder.write(
        "src/10-mco-default-env.conf",
        "[Service]\nEnvironment=HTTP_PROXY=http://proxy.example\n",
    );
    folder.write(
        "src/20-nodenet.conf",
        "[Service]\nEnvironment=\"KUBELET_NODE_IP=10.19.142.21\" \"KUBELET_NODE_IPS=10.19.142.21\"\n",
    );
    let found = node_labels(&folder, "--dropin src");
    assert_eq!(found["node_labels"][LABEL], json!(""), "{found:#}");
    assert_eq!(found["exec"][0]["path"], json!("/usr/local/bin/kubenswrapper"));
}

/// "Incorporate the drop-in assets in the machine config files" and deploy them.
#[test]
fn the_machine_configs_are_taken_and_keep_the_pools_label() {
    let folder = procedure();
    let lint = folder.line("lint -f . -o json");
    let found = lint.json();
    for finding in found.as_array().unwrap() {
        // A field of the older spec, which Ignition ignores too.
        assert!(
            finding["message"].as_str().unwrap().contains("filesystem"),
            "{finding:#}"
        );
        assert_ne!(finding["severity"], json!("error"), "{finding:#}");
    }

    let config = |pool: &str| {
        let rendered = done(&folder, &format!("render -f . --pool {pool} -o json")).json();
        rendered["spec"]["config"].clone()
    };
    let (worker, remote) = (config("worker"), config("worker-rwn"));
    assert_eq!(dropins(&worker), ["20-extra-labels-infra.conf"]);
    assert_eq!(dropins(&remote), ["20-extra-labels-infra.conf", "30-extra-labels.conf"]);
    for script in ["extractExecStart", "addExtraLabels"] {
        let text = std::fs::read_to_string(format!("{FILES}/src/{script}")).unwrap();
        let path = format!("/usr/local/bin/{script}");
        assert_eq!(file(&remote, &path), Some(text));
        let mode = &item(&remote["storage"]["files"], "path", &path)["mode"];
        assert_eq!(mode, &json!(0o755));
    }

    // The label that identifies the pool must be the one in the variable.
    let text = std::fs::read_to_string(format!("{FILES}/mc-extra-labels.yaml")).unwrap();
    folder.write(
        "mc-extra-labels.yaml",
        text.replace("node.kubernetes.io/worker-rwn=", "node-role.kubernetes.io/worker-rwn="),
    );
    let stopped = folder.line("lint -f . -o json");
    assert_eq!(stopped.exit, 1, "{stopped}");
    let found = stopped.json();
    let stops = item(&found, "code", "kubelet-stopped");
    assert_eq!(stops["severity"], json!("error"), "{stops:#}");
}

/// "Make sure that the machine config server is serving": curl as it is typed, with no header of its own.
#[test]
fn the_config_of_the_role_is_served_to_curl() {
    let Some(curl) = program("curl") else { return };
    let folder = procedure();
    let mut berth = command();
    berth
        .current_dir(folder.path())
        .args(["ignition-server", "-f", ".", "--allow-anonymous"]);
    let server = Server::start(&mut berth);
    let curl = |role: &str| {
        let url = format!("http://{}/config/{role}", server.address());
        let said = Command::new(&curl).args(["-s", "-L", &url]).output().unwrap();
        assert!(said.status.success(), "{said:?}");
        serde_json::from_slice::<Value>(&said.stdout).unwrap()
    };
    let remote = curl("worker-rwn");
    // A client that does not say what it reads gets what the first releases read.
    assert_eq!(remote["ignition"]["version"], json!("2.2.0"));
    assert!(parse(&remote).config.is_some());
    assert_eq!(dropins(&remote), ["20-extra-labels-infra.conf", "30-extra-labels.conf"]);
    assert_eq!(dropins(&curl("worker")), ["20-extra-labels-infra.conf"]);
    assert_eq!(server.get("/config/worker-rwm", "").0, 404);
}

/// The image is made from the same answer: the whole config, or the pointer that kcli makes for a role.
#[test]
fn the_live_image_gets_the_config_of_the_role() {
    let folder = procedure();
    folder.write("rhcos-live.iso", image(Layout::InfoFile, 256 << 10).bytes);
    for words in [
        "ignition -f . --pool worker-rwn --way dropin",
        "ignition -f . --pool worker-rwn --pointer http://api.cnfdt15.example:22624/config/worker-rwn",
    ] {
        let config = done(&folder, words).stdout;
        folder.write("worker-rwn.ign", &config);
        done(
            &folder,
            "iso embed rhcos-live.iso --ignition worker-rwn.ign -o cnfdt15.iso --force",
        );
        assert_eq!(done(&folder, "iso show cnfdt15.iso").stdout, config);
        std::fs::remove_file(folder.path().join("cnfdt15.iso")).unwrap();
    }
    let pointer: Value = serde_json::from_slice(&std::fs::read(folder.path().join("worker-rwn.ign")).unwrap()).unwrap();
    assert_eq!(
        pointer["ignition"]["config"]["merge"][0]["source"],
        json!("http://api.cnfdt15.example:22624/config/worker-rwn")
    );
}

/// What it is for: the machine is in its pool from its first registration, and boots once.
#[test]
fn the_machine_is_in_its_pool_after_one_boot() {
    let folder = procedure();
    let outcome = done(&folder, "up -f . --once --without-berth --speed 300");
    assert!(
        outcome
            .stdout
            .contains("All 2 machines are in their places with all their labels, after 2 boots"),
        "{outcome}"
    );
    assert!(outcome.stdout.contains("(worker: 1, worker-rwn: 1)"), "{outcome}");
    assert!(outcome.stdout.contains("1 reboot saved"), "{outcome}");
}

/// What the kubelet's documentation says of `--node-labels`, key by key.
#[test]
fn keys_that_the_kubelet_may_set() {
    let folder = Folder::new();
    let allowed = [
        "kubelet.kubernetes.io/role",
        "node.kubernetes.io/worker-rwn",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    ];
    for key in allowed {
        done(&folder, &format!("labels check {key}=x --as flag"));
    }
    for key in ["kubernetes.io/role", "node-role.kubernetes.io/worker-rwn", "k8s.io/x"] {
        let refused = folder.line(&format!("labels check {key}=x --as flag"));
        assert_eq!(refused.exit, 1, "{refused}");
    }
    // The scheme of the operator that tunes performance: SOMETHING/ROLE with an empty value.
    let scheme = done(&folder, &format!("labels check {LABEL}= -o json")).json();
    assert_eq!(scheme[0]["value"], json!(""));
    assert_eq!(scheme[0]["routes"][0], json!("boot"));
}
