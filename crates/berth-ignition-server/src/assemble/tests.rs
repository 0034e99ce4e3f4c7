use berth_decide::{PoolServing, Serving};
use berth_ignition::{SpecVersion, decode_data_url, file_contents, parse};
use berth_pools::ControllerConfig;
use berth_testing::Operator;
use serde_json::{Value, json};

use super::*;
use crate::{
    Catalog,
    catalog::Found,
    fixture::{catalog, labels, plain_ignition, rendered},
};

fn answer(catalog: &Catalog, pool: &str, version: SpecVersion) -> Result<Value, AssembleError> {
    let Found::Config(question) = catalog.find_pool(pool) else {
        panic!("{pool} has no config");
    };
    let answer = question.answer(version)?;
    Ok(read(&answer.body))
}

fn read(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap()
}

fn node_answer(catalog: &Catalog, node: &str, version: SpecVersion) -> Value {
    let Found::Config(question) = catalog.find_node(node) else {
        panic!("{node} has no config");
    };
    read(&question.answer(version).unwrap().body)
}

fn paths(config: &Value) -> Vec<&str> {
    let files = config["storage"]["files"].as_array().unwrap();
    files.iter().map(|file| file["path"].as_str().unwrap()).collect()
}

/// The contents of a file, which must be in the form in which all of them are added.
fn added(config: &Value, path: &str) -> String {
    let files = config["storage"]["files"].as_array().unwrap();
    let file = files.iter().find(|file| file["path"] == path).unwrap();
    assert_eq!(file["mode"], 420, "{path}");
    assert_eq!(file["overwrite"], true, "{path}");
    let source = file["contents"]["source"].as_str().unwrap();
    assert!(source.starts_with("data:,"), "{source}");
    assert_eq!(file["contents"].get("compression"), None);
    String::from_utf8(decode_data_url(source).unwrap()).unwrap()
}

#[test]
fn files_are_appended_in_the_originals_order() {
    let config = answer(&catalog(), "worker", SpecVersion::V3_4).unwrap();
    assert_eq!(config["ignition"]["version"], "3.4.0");
    assert_eq!(
        paths(&config),
        [
            "/etc/motd",
            "/etc/machine-config-daemon/node-annotations.json",
            "/etc/kubernetes/kubeconfig",
            "/etc/mcs-machine-config-content.json",
            "/etc/ignition-machine-config-encapsulated.json",
        ]
    );
    let annotations: Value = serde_json::from_str(&added(&config, ANNOTATIONS)).unwrap();
    assert_eq!(
        annotations,
        json!({
            "machineconfiguration.openshift.io/currentConfig": "rendered-worker-0123",
            "machineconfiguration.openshift.io/desiredConfig": "rendered-worker-0123",
            "machineconfiguration.openshift.io/firstPivotConfig": "rendered-worker-0123",
            "machineconfiguration.openshift.io/state": "Done",
        })
    );
    assert_eq!(added(&config, KUBECONFIG), "apiVersion: v1\nkind: Config\n");

    let content = added(&config, CONTENT);
    assert!(content.starts_with("{\n    \"apiVersion\""), "{content}");
    let content: Value = serde_json::from_str(&content).unwrap();
    assert_eq!(content, rendered("worker", &plain_ignition()).to_json());

    let encapsulated: Value = serde_json::from_str(&added(&config, ENCAPSULATED)).unwrap();
    assert_eq!(
        encapsulated["spec"]["config"],
        json!({"ignition": {"version": "3.4.0"}})
    );
    assert_eq!(encapsulated["spec"]["kernelArguments"], json!(["quiet"]));
    assert_eq!(encapsulated["metadata"]["name"], "rendered-worker-0123");
}

#[test]
fn optional_files_come_only_with_contents_and_certificates_replace_in_place() {
    let mut ignition = plain_ignition();
    let files = ignition["storage"]["files"].as_array_mut().unwrap();
    let ca = json!({"path": KUBELET_CA, "mode": 420, "overwrite": true, "contents": {"source": "data:,old"}});
    files.insert(0, ca);
    files.insert(0, json!({"path": CONTENT, "contents": {"source": "data:,old"}}));
    let mut builder = Catalog::builder("r1");
    builder
        .pool("plain", rendered("plain", &plain_ignition()))
        .layered_pool("layered", rendered("layered", &ignition), "quay.example/own@sha256:1")
        .common(CommonFiles {
            kubeconfig: None,
            kubelet_ca: Some(b"new".to_vec()),
            cloud_ca_bundle: Some(Vec::new()),
        });
    let catalog = builder.build().unwrap();
    let plain = answer(&catalog, "plain", SpecVersion::V3_5).unwrap();
    assert_eq!(
        paths(&plain),
        ["/etc/motd", KUBELET_CA, ANNOTATIONS, CONTENT, ENCAPSULATED]
    );
    let layered = answer(&catalog, "layered", SpecVersion::V3_5).unwrap();
    assert_eq!(
        paths(&layered),
        [KUBELET_CA, "/etc/motd", ANNOTATIONS, CONTENT, ENCAPSULATED]
    );
    assert_eq!(added(&layered, KUBELET_CA), "new");
    let annotations: Value = serde_json::from_str(&added(&layered, ANNOTATIONS)).unwrap();
    for key in ["currentImage", "desiredImage"] {
        assert_eq!(annotations[format!("{PREFIX}{key}")], "quay.example/own@sha256:1");
    }
    for path in [CONTENT, ENCAPSULATED] {
        let config: Value = serde_json::from_str(&added(&layered, path)).unwrap();
        assert_eq!(config["spec"]["osImageURL"], "quay.example/own@sha256:1");
    }
}

#[test]
fn the_files_are_those_of_the_operators_server() {
    let Some(operator) = Operator::for_test() else {
        return;
    };
    let mut with_ca = plain_ignition();
    let files = with_ca["storage"]["files"].as_array_mut().unwrap();
    let ca = json!({"path": KUBELET_CA, "mode": 384, "overwrite": true, "contents": {"source": "data:,old"}});
    files.insert(0, ca);
    let (ca, cloud, kubeconfig) = ("-----BEGIN!*'()~\n", "cloud\n", "apiVersion: v1\nkind: Config\n");
    for ignition in [plain_ignition(), with_ca] {
        let config = rendered("worker", &ignition);
        let mut builder = Catalog::builder("r1");
        builder.pool("worker", config.clone()).common(CommonFiles {
            kubeconfig: Some(kubeconfig.into()),
            kubelet_ca: Some(ca.into()),
            cloud_ca_bundle: Some(cloud.into()),
        });
        let mut ours = answer(&builder.build().unwrap(), "worker", SpecVersion::V3_5).unwrap();
        let mut theirs = operator.serve(&config.to_json(), ca, cloud, kubeconfig);
        assert_eq!(paths(&ours), paths(&theirs));
        // These two hold JSON, whose members come in another order.
        for path in [CONTENT, ENCAPSULATED] {
            assert_eq!(take_json(&mut ours, path), take_json(&mut theirs, path), "{path}");
        }
        assert_eq!(ours, theirs);
    }
}

/// Takes a file out and reads it.
fn take_json(config: &mut Value, path: &str) -> Value {
    let contents = added(config, path);
    let files = config["storage"]["files"].as_array_mut().unwrap();
    files.retain(|file| file["path"] != path);
    let mut json: Value = serde_json::from_str(&contents).unwrap();
    // Go writes a time that nobody set.
    json["metadata"]
        .as_object_mut()
        .unwrap()
        .retain(|key, value| key != "creationTimestamp" || !value.is_null());
    json
}

#[test]
fn kubelets_get_the_certificates_that_they_read_or_the_log_says_that_they_do_not() {
    let settings = "clientCAFile%3A%20%2Fetc%2Fkubernetes%2Fkubelet-ca.crt";
    let mut ignition = plain_ignition();
    let files = ignition["storage"]["files"].as_array_mut().unwrap();
    files.push(json!({"path": "/etc/kubernetes/kubelet.conf", "contents": {"source": format!("data:,{settings}")}}));
    let serving = |controller_config: Option<ControllerConfig>| Serving {
        controller_config,
        pools: [(
            "worker".to_owned(),
            PoolServing {
                config: Ok(rendered("worker", &ignition)),
                labels: labels(&[]),
            },
        )]
        .into(),
        ..Serving::default()
    };
    let of_cluster = || ControllerConfig {
        kubelet_ca: b"of the cluster".to_vec(),
        ..ControllerConfig::default()
    };
    let given = CommonFiles {
        kubelet_ca: Some(b"given".to_vec()),
        ..CommonFiles::default()
    };
    for (controller, common, expected) in [
        (None, CommonFiles::default(), None),
        (Some(ControllerConfig::default()), CommonFiles::default(), None),
        (Some(of_cluster()), CommonFiles::default(), Some("of the cluster")),
        (Some(of_cluster()), given.clone(), Some("given")),
        (None, given, Some("given")),
    ] {
        let made = Catalog::make(serving(controller), "r1", common).unwrap();
        let config = answer(&made.catalog, "worker", SpecVersion::V3_5).unwrap();
        match expected {
            Some(contents) => {
                assert_eq!(added(&config, KUBELET_CA), contents);
                assert_eq!(made.notices, [""; 0]);
            }
            None => {
                assert!(!paths(&config).contains(&KUBELET_CA));
                let [notice] = made.notices.as_slice() else {
                    panic!("{:?}", made.notices)
                };
                assert!(
                    notice.contains("pool worker") && notice.contains("--kubelet-ca"),
                    "{notice}"
                );
            }
        }
    }
}

#[test]
fn without_labels_there_is_no_labels_file_unless_the_pool_has_one() {
    let mut with_file = plain_ignition();
    let files = with_file["storage"]["files"].as_array_mut().unwrap();
    files.push(json!({"path": LABELS_PATH, "contents": {"source": "data:,a%3Db%0A"}}));
    for (ignition, expected) in [(plain_ignition(), false), (with_file, true)] {
        let mut builder = Catalog::builder("r1");
        builder.pool("worker", rendered("worker", &ignition)).node(
            "n1",
            NodeConfig {
                pool: "worker".to_owned(),
                ..NodeConfig::default()
            },
        );
        let config = node_answer(&builder.build().unwrap(), "n1", SpecVersion::V3_5);
        assert_eq!(paths(&config).contains(&LABELS_PATH), expected);
        if expected {
            assert!(
                LabelsFile::parse(added(&config, LABELS_PATH).as_bytes())
                    .labels
                    .is_empty()
            );
        }
    }
}

#[test]
fn kernel_arguments_move_for_machines_that_cannot_set_them() {
    let catalog = catalog();
    for version in SpecVersion::ALL {
        let config = answer(&catalog, "infra", version).unwrap();
        let read = parse(&config).usable().unwrap();
        let own = read.as_v3_5().kernel_arguments.clone();
        let encapsulated = file_contents(read.find_file(ENCAPSULATED).unwrap()).unwrap();
        let encapsulated: Value = serde_json::from_slice(&encapsulated).unwrap();
        let expected = if version < SpecVersion::V3_3 {
            assert_eq!(own, None, "{version}");
            json!(["quiet", "nosmt", "intel_iommu=on"])
        } else {
            assert_eq!(own.unwrap().should_exist.unwrap().len(), 2, "{version}");
            json!(["quiet"])
        };
        assert_eq!(encapsulated["spec"]["kernelArguments"], expected, "{version}");
        assert_eq!(
            encapsulated["spec"]["config"]["ignition"]["version"],
            version.as_str(),
            "{version}"
        );
    }
}

#[test]
fn what_an_old_version_cannot_say_is_an_error_that_names_the_field() {
    let catalog = catalog();
    for version in SpecVersion::ALL {
        let removing = answer(&catalog, "old", version);
        let special = answer(&catalog, "new", version);
        assert_eq!(removing.is_ok(), version >= SpecVersion::V3_3, "{version}");
        assert_eq!(special.is_ok(), version >= SpecVersion::V3_4, "{version}");
        if let Err(error) = removing {
            assert_eq!(error, AssembleError::ArgumentsToRemove { version });
            assert!(error.to_string().contains("shouldNotExist"), "{error}");
        }
    }
}

#[test]
fn a_node_gets_its_labels_and_its_own_files() {
    let config = node_answer(&catalog(), "n1", SpecVersion::V3_2);
    assert_eq!(
        paths(&config),
        ["/etc/motd", LABELS_PATH, ANNOTATIONS, KUBECONFIG, CONTENT, ENCAPSULATED]
    );
    let text = added(&config, LABELS_PATH);
    let lines: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines, ["example.com/zone=", "rack=r1"]);
    assert_eq!(
        LabelsFile::parse(text.as_bytes()).labels,
        labels(&[("rack", "r1"), ("example.com/zone", "")])
    );
    assert_eq!(config["storage"]["files"][0]["mode"], 0o600);
}

#[test]
fn a_link_in_the_place_of_an_added_file_is_refused() {
    let mut ignition = plain_ignition();
    ignition["storage"]["links"] = json!([{"path": ANNOTATIONS, "target": "/dev/null"}]);
    let mut builder = Catalog::builder("r1");
    builder.pool("worker", rendered("worker", &ignition));
    let error = answer(&builder.build().unwrap(), "worker", SpecVersion::V3_5).unwrap_err();
    assert!(matches!(error, AssembleError::Refused { .. }), "{error:?}");
}

#[test]
fn building_again_and_again_gives_the_same_bytes_and_changes_nothing() {
    let mut ignition = plain_ignition();
    ignition["kernelArguments"] = json!({"shouldExist": ["nosmt"]});
    let served = Served {
        machine_config: rendered("worker", &ignition),
        ignition: parse(&ignition).usable().unwrap(),
        image: None,
    };
    let common = CommonFiles::default();
    let before = format!("{served:?}");
    let build = |version| assemble(&served, &common, None, version).unwrap();
    let first = SpecVersion::ALL.map(build);
    for n in 0..70 {
        let index = n * 5 % SpecVersion::ALL.len();
        assert_eq!(build(SpecVersion::ALL[index]), first[index]);
    }
    assert_eq!(format!("{served:?}"), before);
}
