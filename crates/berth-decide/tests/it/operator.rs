//! Rendered configs have the name and the content that the Machine Config Operator gives them.

use berth_decide::{Definitions, PoolConfigurations, Question, which_config};
use berth_documents::{DocumentSet, Sources};
use berth_labels::Flavour;
use berth_pools::{GENERATED_BY, MachineConfig, NodeState, ROLE_LABEL, RenderOptions, RenderWarning, render};
use berth_resources::Berth;
use berth_site::{NameDoubt, Site, load, name_doubts, render_pool};
use berth_testing::{
    Operator, OperatorRendered,
    operator::{self, NodeVerdict},
};
use proptest::{prelude::*, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Value, json};

const CASES: usize = 600;

fn controller_config() -> Value {
    json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "ControllerConfig",
        "metadata": {
            "name": "machine-config-controller",
            "annotations": {"machineconfiguration.openshift.io/release-image-version": "4.21.3"},
        },
        "spec": {
            "baseOSContainerImage": "registry.example/os@sha256:0123",
            "baseOSExtensionsContainerImage": "registry.example/extensions@sha256:4567",
            "osImageURL": "registry.example/os-before@sha256:89ab",
            "kubeAPIServerServingCAData": "Q0E=",
            "clusterDNSIP": "172.30.0.10",
            "images": {"infraImageKey": "registry.example/infra"},
        },
    })
}

/// Texts with everything that leaves a writer of YAML a choice.
fn text() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        "[a-z]{1,12}",
        "[A-Za-z0-9_./=:-]{1,30}",
        "[0-9]{1,4}",
        Just("#".to_owned()),
        Just("-".to_owned()),
        Just("'".to_owned()),
        Just("\"\\".to_owned()),
        Just("é漢".to_owned()),
        Just("😀".to_owned()),
        Just("${ID}".to_owned()),
        Just("<&>".to_owned()),
        "[a-z]{70,90}",
        Just(String::new()),
    ];
    let between = prop_oneof![
        8 => Just(" "),
        3 => Just("\n"),
        1 => Just("\t"),
        1 => Just(" \\\n  "),
        1 => Just("\n\n"),
        1 => Just(": "),
        1 => Just("\r\n"),
    ];
    let end = prop_oneof![Just(""), Just("\n"), Just("\n\n"), Just(" ")];
    (prop::collection::vec((word, between), 0..14), end).prop_map(|(words, end)| {
        let mut text: String = words
            .into_iter()
            .flat_map(|(word, between)| [word, between.to_owned()])
            .collect();
        text.push_str(end);
        text
    })
}

/// One word that may look like something else.
fn odd_word() -> impl Strategy<Value = String> {
    prop_oneof![
        "[0-9]{1,3}[._:-]?[0-9]{0,3}",
        "[-+.]?[0-9]{1,2}[eE]?[-+]?[0-9]{0,2}",
        "(0x|0o|0b|0)[0-9a-f]{0,4}",
        "[12][0-9]{3}-[0-9]{1,2}-[0-9]{1,2}([T ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(Z|\\.[0-9]{1,3})?)?",
        "[0-9]{1,2}(:[0-9]{1,2}){1,3}(\\.[0-9]{0,2})?",
        "[-?:,#&*!|>%@`'\"{}\\[\\]~=][ a-z]{0,3}",
        "(y|n|yes|No|ON|off|True|null|~|NULL|\\.inf|\\.nan|<<|---|\\.\\.\\.)",
        "[a-z]{1,8}=[a-z0-9,.]{0,8}",
    ]
}

fn file() -> impl Strategy<Value = Value> {
    let contents = prop_oneof![
        6 => "[a-z%0-9]{0,20}".prop_map(|text| json!({"source": format!("data:,{}", text.replace('%', "%20"))})),
        2 => Just(json!({"source": "data:;base64,H4sIAAAAAAAAA0sEAEO+t+gBAAAA", "compression": "gzip"})),
        1 => Just(json!({"source": "data:,a", "verification": {"hash": format!("sha256-{}", "0".repeat(64))}})),
        1 => Just(json!({"source": "data:,"})),
        1 => Just(json!({})),
    ];
    let path = prop_oneof![Just("/etc/a"), Just("/etc/b"), Just("/etc/deep/c.conf")];
    let overwrite = prop::option::weighted(0.3, any::<bool>());
    let mode = prop::option::of(prop_oneof![Just(0), Just(420), Just(384)]);
    let user = prop::option::weighted(0.2, prop_oneof![Just(json!({"id": 0})), Just(json!({"id": 1000}))]);
    (path, contents, overwrite, mode, user).prop_map(|(path, contents, overwrite, mode, user)| {
        let mut file = json!({"path": path});
        let has_source = contents.get("source").is_some();
        for (key, value) in [
            ("contents", Some(contents)),
            // Ignition refuses it without contents.
            (
                "overwrite",
                overwrite.filter(|overwrite| has_source || !overwrite).map(Value::from),
            ),
            ("mode", mode.map(Value::from)),
            ("user", user),
        ] {
            if let Some(value) = value {
                file[key] = value;
            }
        }
        file
    })
}

/// What a unit or a drop-in holds: it must parse, and a comment takes anything but a backslash at its end.
fn section() -> impl Strategy<Value = String> {
    text().prop_map(|text| {
        let lines = text
            .lines()
            .map(|line| format!("# {}", line.trim_end_matches('\\').replace('\r', "")));
        let end = if text.ends_with('\n') { "\n" } else { "" };
        format!("[Service]\n{}\nA=b{end}", lines.collect::<Vec<_>>().join("\n"))
    })
}

fn unit() -> impl Strategy<Value = Value> {
    let name = prop_oneof![Just("a.service"), Just("kubelet.service")];
    let dropin = (
        prop_oneof![Just("10-a.conf"), Just("20-b.conf")],
        prop::option::of(section()),
    );
    let flags = (prop::option::of(any::<bool>()), prop::option::of(any::<bool>()));
    (
        name,
        prop::option::of(section()),
        prop::collection::vec(dropin, 0..2),
        flags,
    )
        .prop_map(|(name, contents, dropins, (enabled, mask))| {
            let mut unit = json!({"name": name});
            let mut dropins: Vec<Value> = dropins
                .into_iter()
                .map(|(name, contents)| match contents {
                    Some(contents) => json!({"name": name, "contents": contents}),
                    None => json!({"name": name}),
                })
                .collect();
            dropins.dedup_by(|a, b| a["name"] == b["name"]);
            for (key, value) in [
                ("contents", contents.map(Value::from)),
                ("dropins", Some(Value::from(dropins)).filter(|list| *list != json!([]))),
                ("enabled", enabled.map(Value::from)),
                ("mask", mask.map(Value::from)),
            ] {
                if let Some(value) = value {
                    unit[key] = value;
                }
            }
            unit
        })
}

fn ignition() -> impl Strategy<Value = Value> {
    let version = prop_oneof![
        Just("3.0.0"),
        Just("3.1.0"),
        Just("3.2.0"),
        Just("3.4.0"),
        Just("3.5.0")
    ];
    let unique = |list: Vec<Value>, key: &'static str| {
        let mut seen = Vec::new();
        let first = move |item: &Value| {
            let is_new = !seen.contains(&item[key]);
            seen.push(item[key].clone());
            is_new
        };
        list.into_iter().filter(first).collect::<Vec<_>>()
    };
    let keys = prop::collection::vec(odd_word().prop_map(|word| format!("ssh-rsa AAAA {word}")), 0..3);
    let arguments = prop::collection::vec(odd_word(), 0..3);
    (
        version,
        prop::collection::vec(file(), 0..4),
        prop::collection::vec(unit(), 0..3),
        keys,
        arguments,
    )
        .prop_map(move |(version, files, units, mut keys, mut arguments)| {
            let mut config = json!({"ignition": {"version": version}});
            let files = unique(files, "path");
            let units = unique(units, "name");
            if !files.is_empty() {
                config["storage"] = json!({"files": files});
            }
            if !units.is_empty() {
                config["systemd"] = json!({"units": units});
            }
            keys.dedup();
            if !keys.is_empty() {
                config["passwd"] = json!({"users": [{"name": "core", "sshAuthorizedKeys": keys}]});
            }
            arguments.sort();
            arguments.dedup();
            if version >= "3.3.0" && !arguments.is_empty() {
                config["kernelArguments"] = json!({"shouldExist": arguments});
            }
            config
        })
}

fn machine_config() -> impl Strategy<Value = Value> {
    let image = prop_oneof![3 => Just(""), 1 => Just("registry.example/own@sha256:cdef")];
    let name = (0..6_u8, "[a-z]{1,4}").prop_map(|(number, name)| format!("{number}0-{name}"));
    let list = prop::collection::vec(prop_oneof![odd_word(), text()], 0..3);
    let extensions = prop::collection::vec(prop_oneof![Just("usbguard"), Just("ipsec")], 0..2);
    let kernel = prop_oneof![3 => Just(""), 2 => Just("default"), 1 => Just("realtime")];
    (
        (name, any::<bool>(), any::<bool>(), image.clone(), image),
        prop::option::weighted(0.9, ignition()),
        (list, extensions, any::<bool>(), kernel),
    )
        .prop_map(
            |((name, worker, generated, os, ext), config, (arguments, extensions, fips, kernel))| {
                let annotations = if generated {
                    json!({GENERATED_BY: "abc"})
                } else {
                    json!({})
                };
                json!({
                    "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
                    "metadata": {
                        "name": name,
                        "labels": {ROLE_LABEL: if worker { "worker" } else { "infra" }},
                        "annotations": annotations,
                    },
                    "spec": {
                        "osImageURL": os, "baseOSExtensionsContainerImage": ext, "config": config,
                        "kernelArguments": arguments, "extensions": extensions, "fips": fips, "kernelType": kernel,
                    },
                })
            },
        )
}

fn samples() -> Vec<(Vec<Value>, Option<Value>)> {
    let mut runner = TestRunner::deterministic();
    let strategy = (prop::collection::vec(machine_config(), 1..5), any::<bool>());
    let mut sample = || {
        let (mut configs, with) = strategy.new_tree(&mut runner).unwrap().current();
        configs.sort_by_key(|config| config["metadata"]["name"].to_string());
        configs.dedup_by(|a, b| a["metadata"]["name"] == b["metadata"]["name"]);
        // Without an Ignition config the API server has no field, not null.
        for config in &mut configs {
            if config["spec"]["config"].is_null() {
                config["spec"].as_object_mut().unwrap().remove("config");
            }
        }
        (configs, with.then(controller_config))
    };
    (0..CASES).map(|_| sample()).collect()
}

fn options(controller: Option<&Value>) -> RenderOptions {
    let image = |field: &str| {
        let image = controller.and_then(|controller| controller["spec"][field].as_str());
        image.unwrap_or_default().to_owned()
    };
    RenderOptions {
        os_image_url: image("baseOSContainerImage"),
        base_os_extensions_container_image: image("baseOSExtensionsContainerImage"),
        ..RenderOptions::default()
    }
}

#[test]
fn random_machine_configs_have_the_operators_name_and_content() {
    let Some(operator) = Operator::for_test() else {
        return;
    };
    let cases = samples();
    let (mut equal, mut told) = (0, 0);
    for ((configs, controller), theirs) in cases.iter().zip(operator.render("infra", &cases)) {
        let inputs: Vec<MachineConfig> = configs
            .iter()
            .map(|json| MachineConfig::from_json(json).unwrap())
            .collect();
        let ours = render("infra", &inputs, &options(controller.as_ref()));
        match (ours, theirs) {
            (Ok(ours), Ok(theirs)) => {
                let other = ours.warnings.iter().find_map(|warning| match warning {
                    RenderWarning::OtherThanOperator { name, .. } => Some(name),
                    _ => None,
                });
                if let Some(name) = other {
                    assert_ne!(ours.name, theirs.name);
                    assert_eq!(*name, theirs.name, "{configs:#?}\n{}", theirs.yaml);
                    told += 1;
                } else {
                    assert_eq!(json!(ours.spec), theirs.spec, "{configs:#?}");
                    assert_eq!(ours.name, theirs.name, "{configs:#?}\n{}", theirs.yaml);
                    equal += 1;
                }
            }
            (Err(_), Err(_)) => {}
            (ours, theirs) => panic!("{configs:#?}\nBerth: {ours:?}\nthe operator: {theirs:?}"),
        }
    }
    // Both kinds must occur, or this proves nothing.
    assert!(equal > CASES / 4 && told > CASES / 50, "{equal} equal, {told} told");
}

fn telco_site(more: &[Value]) -> Site {
    let mut set = DocumentSet::default();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/telco-site");
    let mut folders = vec![std::path::PathBuf::from(root)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "yaml") {
                set.add_text(path.display().to_string(), std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    for object in more {
        set.add_text("more", object.to_string());
    }
    load(&set.sources, &set.documents).0
}

#[test]
fn the_example_has_the_operators_names_in_all_pools() {
    let Some(operator) = Operator::for_test() else {
        return;
    };
    let site = telco_site(&[controller_config()]);
    assert!(!site.pools.is_empty());
    for pool in &site.pools {
        let rendered = render_pool(&site, pool, &RenderOptions::default()).unwrap();
        let configs = berth_site::machine_configs(&site).into_iter();
        let inputs: Vec<Value> = configs
            .filter(|config| rendered.sources.contains(&config.name))
            .map(MachineConfig::to_json)
            .collect();
        let theirs = operator.render(&pool.name.value, &[(inputs, Some(controller_config()))]);
        let OperatorRendered { name, spec, .. } = theirs.into_iter().next().unwrap().unwrap();
        assert_eq!(json!(rendered.spec), spec);
        assert_eq!(rendered.name, name);
        assert!(rendered.spec.os_image_url.starts_with("registry.example/os@"));
    }
}

#[test]
fn what_the_documents_do_not_have_is_said() {
    let worker = |site: &Site| {
        site.pools
            .iter()
            .position(|pool| &*pool.name.value == "worker")
            .unwrap()
    };
    let doubts = |more: &[Value]| {
        let site = telco_site(more);
        let pool = &site.pools[worker(&site)];
        let rendered = render_pool(&site, pool, &RenderOptions::default()).unwrap();
        name_doubts(&site, pool, &rendered)
    };
    assert_eq!(doubts(&[]), [NameDoubt::NoControllerConfig, NameDoubt::NoneGenerated]);
    assert_eq!(doubts(&[controller_config()]), [NameDoubt::NoneGenerated]);
    let generated = |name: &str, version: &str| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
            "metadata": {"name": name, "labels": {ROLE_LABEL: "worker"}, "annotations": {GENERATED_BY: version}},
            "spec": {"config": {"ignition": {"version": "3.4.0"}}},
        })
    };
    assert_eq!(doubts(&[controller_config(), generated("01-a", "v1")]), []);
    assert_eq!(
        doubts(&[controller_config(), generated("01-a", "v1"), generated("01-b", "v2")]),
        [NameDoubt::Versions("v1, v2".to_owned())]
    );
    let mut half = controller_config();
    half["spec"]
        .as_object_mut()
        .unwrap()
        .remove("baseOSExtensionsContainerImage");
    assert_eq!(
        doubts(&[half, generated("01-a", "v1")]),
        [NameDoubt::NoImage("baseOSExtensionsContainerImage")]
    );
    let kubelet = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "KubeletConfig",
        "metadata": {"name": "large"},
        "spec": {"machineConfigPoolSelector": {"matchExpressions": [{"key": "no-such", "operator": "DoesNotExist"}]}},
    });
    assert_eq!(
        doubts(&[controller_config(), generated("01-a", "v1"), kubelet.clone()]),
        [NameDoubt::Generated("KubeletConfig", "large".to_owned())]
    );
    let made = generated("99-worker-generated-kubelet", "v1");
    assert_eq!(doubts(&[controller_config(), made, kubelet]), []);
}

#[test]
fn the_images_of_a_stream_come_before_those_of_the_controller_config() {
    let streams = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "OSImageStream",
        "metadata": {"name": "cluster"},
        "status": {"defaultStream": "nine", "availableStreams": [
            {"name": "nine", "osImage": "os-9", "osExtensionsImage": "ext-9"},
            {"name": "ten", "osImage": "os-10", "osExtensionsImage": "ext-10"},
        ]},
    });
    let pool = |name: &str, stream: Option<&str>| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name},
            "spec": {
                "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
                "machineConfigSelector": {"matchLabels": {ROLE_LABEL: "worker"}},
                "osImageStream": stream.map(|name| json!({"name": name})),
            },
        })
    };
    let config = json!({
        "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfig",
        "metadata": {"name": "00-worker", "labels": {ROLE_LABEL: "worker"}},
        "spec": {"config": {"ignition": {"version": "3.4.0"}}},
    });
    for (worker, own, expected) in [
        (None, None, "os-9"),
        // Pools that people made inherit the stream of the workers.
        (Some("ten"), None, "os-10"),
        (Some("ten"), Some("nine"), "os-9"),
    ] {
        let mut set = DocumentSet {
            sources: Sources::new(),
            ..DocumentSet::default()
        };
        for object in [
            &streams,
            &controller_config(),
            &pool("worker", worker),
            &pool("infra", own),
            &config,
        ] {
            set.add_text("cluster", object.to_string());
        }
        let (site, findings) = load(&set.sources, &set.documents);
        assert_eq!(findings, []);
        let infra = site.pools.iter().find(|pool| &*pool.name.value == "infra").unwrap();
        let rendered = render_pool(&site, infra, &RenderOptions::default()).unwrap();
        assert_eq!(rendered.spec.os_image_url, expected);
    }
}

#[test]
fn objects_of_an_openshift_cluster_say_whose_rules_hold() {
    let site = |object: &Value| {
        let mut set = DocumentSet::default();
        set.add_text("cluster", object.to_string());
        load(&set.sources, &set.documents).0
    };
    let api = "machineconfiguration.openshift.io/v1";
    let config = |version: &str| {
        json!({"apiVersion": api, "kind": "MachineConfig",
            "metadata": {"name": "00-worker", "annotations": {GENERATED_BY: version}}, "spec": {}})
    };
    let pool = |labels: Value| {
        json!({"apiVersion": api, "kind": "MachineConfigPool", "metadata": {"name": "worker", "labels": labels},
            "spec": {"nodeSelector": {"matchLabels": {"a": "b"}}}})
    };
    let node =
        |labels: Value| json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "w1", "labels": labels}});
    for (object, expected) in [
        (controller_config(), Flavour::Openshift),
        (config("4a1b2c"), Flavour::Openshift),
        (
            pool(json!({"machineconfiguration.openshift.io/mco-built-in": ""})),
            Flavour::Openshift,
        ),
        (node(json!({"node.openshift.io/os_id": "rhcos"})), Flavour::Openshift),
        // Berth's own pools on plain Kubernetes.
        (config("berth-0.1.0"), Flavour::Upstream),
        (pool(json!({})), Flavour::Upstream),
        (node(json!({"kubernetes.io/os": "linux"})), Flavour::Upstream),
    ] {
        let site = site(&object);
        assert_eq!(site.flavour_for(None), expected, "{object}");
        assert_eq!(site.flavour_reason(None).is_some(), expected == Flavour::Openshift);
        assert_eq!(
            site.flavour_for(Some(Flavour::Upstream)),
            Flavour::Upstream,
            "somebody said it"
        );
        assert_eq!(site.flavour_reason(Some(Flavour::Upstream)), None);
    }
}

fn node(name: &str, labels: &Value, annotations: &[(&str, &str)]) -> Value {
    let annotations: serde_json::Map<String, Value> = annotations
        .iter()
        .map(|(key, value)| (format!("machineconfiguration.openshift.io/{key}"), json!(value)))
        .collect();
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    })
}

#[test]
fn nodes_are_judged_as_the_operator_judges_them() {
    let status = || {
        prop_oneof![
            Just(None),
            Just(Some("True")),
            Just(Some("False")),
            Just(Some("Unknown"))
        ]
    };
    let config = || prop_oneof![Just(None), Just(Some("")), Just(Some("a")), Just(Some("b"))];
    let state = prop_oneof![
        Just(None),
        Just(Some("Done")),
        Just(Some("Working")),
        Just(Some("Degraded")),
        Just(Some("Unreconcilable")),
        Just(Some("odd")),
    ];
    let strategy = (
        status(),
        status(),
        status(),
        any::<bool>(),
        (config(), config(), config(), config()),
        state,
    );
    proptest!(|((ready, disk, network, cordoned, (current, desired, image, wanted), state) in strategy)| {
        let annotations = [
            ("currentConfig", current), ("desiredConfig", desired), ("currentImage", image), ("desiredImage", wanted),
            ("state", state),
        ];
        let annotations: Vec<(&str, &str)> =
            annotations.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
        let mut object = node("w1", &json!({}), &annotations);
        let conditions = [("Ready", ready), ("DiskPressure", disk), ("NetworkUnavailable", network)];
        let conditions = conditions.into_iter().filter_map(|(kind, status)| Some(json!({"type": kind, "status": status?})));
        object["status"]["conditions"] = conditions.collect();
        object["spec"]["unschedulable"] = json!(cordoned);
        let ours = NodeState::from_json(&object).unwrap();
        let ours = NodeVerdict {
            ready: ours.ready(),
            done: ours.done(),
            failing: ours.failing(),
            unavailable: ours.unavailable(),
            degraded: ours.degraded(),
        };
        prop_assert_eq!(ours, operator::node_verdict(&object), "{:#}", object);
    });
}

#[test]
fn a_new_machine_is_served_what_the_operator_serves() {
    for (target, reached, updated) in [
        ("new", "old", json!(0)),
        ("new", "old", json!(1)),
        ("new", "old", Value::Null),
        ("new", "", json!(0)),
        ("", "", json!(0)),
    ] {
        let pool = json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "infra"}, "spec": {"configuration": {"name": target}},
            "status": {"configuration": {"name": reached}, "updatedMachineCount": updated},
        });
        let ours = which_config(PoolConfigurations {
            target,
            reached,
            updated_machines: updated.as_i64().unwrap_or_default(),
        });
        assert_eq!(ours.unwrap_or_default(), operator::served_config(&pool), "{pool}");
    }
}

/// The reboot that Berth saves: by the operator's rules a machine that boots in a custom pool and has only the worker's label is
/// about to be moved, and one that has its pool's label from the first version of its Node is not.
#[test]
fn a_machine_in_its_place_is_nobodys_candidate() {
    let pool = |name: &str| {
        json!({
            "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": name},
            "spec": {
                "nodeSelector": {"matchLabels": {format!("node-role.kubernetes.io/{name}"): ""}},
                "configuration": {"name": format!("rendered-{name}-1")},
            },
        })
    };
    let pools = [pool("worker"), pool("infra")];
    let booted = [
        ("currentConfig", "rendered-infra-1"),
        ("desiredConfig", "rendered-infra-1"),
        ("firstPivotConfig", "rendered-infra-1"),
        ("state", "Done"),
    ];
    let berth = Berth::new("w1", serde_json::from_value(json!({"pool": "infra"})).unwrap());
    let mut definitions = Definitions::new(&pools, Flavour::Openshift);
    let place = definitions.resolve(&[Question {
        node: "w1",
        berth: Some(&berth),
        pin: None,
        live: None,
    }]);
    let mut given: serde_json::Map<String, Value> = place[0]
        .labels
        .iter()
        .map(|(key, value)| (key.to_string(), json!(value.as_str())))
        .collect();
    // What the worker's kubelet unit registers with.
    given.insert("node-role.kubernetes.io/worker".to_owned(), json!(""));
    for (labels, expected) in [
        (json!({"node-role.kubernetes.io/worker": ""}), ("worker", vec!["w1"])),
        (Value::Object(given), ("infra", vec![])),
    ] {
        let machine = node("w1", &labels, &booted);
        let name = operator::pool_of(&machine, &pools).unwrap().unwrap();
        let pool = pools.iter().find(|pool| pool["metadata"]["name"] == name).unwrap();
        assert_eq!((name, operator::candidates(pool, 1, [&machine])), expected, "{machine}");
    }
    // Berth's own answer to which pool a node is in is the operator's.
    let both = node(
        "w2",
        &json!({"node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/infra": ""}),
        &[],
    );
    assert_eq!(operator::pool_of(&both, &pools), Ok(Some("infra")));
}

/// A Node of a machine that is gone holds up a whole pool: why Berth does not create it again.
#[test]
fn a_node_that_does_not_serve_stops_the_operators_rollout() {
    let pool = json!({"metadata": {"name": "worker"}, "spec": {"configuration": {"name": "rendered-worker-2"}}});
    let old = [
        ("currentConfig", "rendered-worker-1"),
        ("desiredConfig", "rendered-worker-1"),
        ("state", "Done"),
    ];
    let alive = node("w1", &json!({}), &old);
    let mut dead = node("w2", &json!({}), &old);
    dead["status"]["conditions"] = json!([{"type": "Ready", "status": "Unknown"}]);
    assert_eq!(operator::candidates(&pool, 1, [&alive]), ["w1"]);
    assert_eq!(operator::candidates(&pool, 1, [&alive, &dead]), [""; 0]);
    assert_eq!(operator::candidates(&pool, 2, [&alive, &dead]), ["w1"]);
}
