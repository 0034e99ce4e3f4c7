use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::machine_config::ROLE_LABEL;

fn config(name: &str, role: &str, spec: Value) -> MachineConfig {
    MachineConfig {
        name: name.to_owned(),
        labels: [(ROLE_LABEL.to_owned(), role.to_owned())].into(),
        annotations: BTreeMap::new(),
        spec: serde_json::from_value(spec).unwrap(),
    }
}

/// A machine config with an Ignition config of these files.
fn with_files(name: &str, role: &str, files: &Value) -> MachineConfig {
    let ignition = json!({"ignition": {"version": "3.2.0"}, "storage": {"files": files}});
    config(name, role, json!({"config": ignition}))
}

fn file(path: &str, contents: &str) -> Value {
    json!({"path": path, "contents": {"source": format!("data:,{contents}")}})
}

fn rendered(configs: &[MachineConfig]) -> Rendered {
    render("infra", configs, &RenderOptions::default()).unwrap()
}

fn problems(configs: &[MachineConfig], options: &RenderOptions) -> Vec<String> {
    let error = render("infra", configs, options).unwrap_err();
    assert_eq!(error.pool, "infra");
    error.problems.iter().map(ToString::to_string).collect()
}

fn files(rendered: &Rendered) -> Vec<Value> {
    rendered.spec.config.as_ref().unwrap()["storage"]["files"]
        .as_array()
        .unwrap()
        .clone()
}

fn selector(key: &str, values: &[&str]) -> LabelSelector {
    LabelSelector {
        match_labels: BTreeMap::new(),
        match_expressions: vec![berth_labels::LabelSelectorRequirement {
            key: key.to_owned(),
            operator: "In".to_owned(),
            values: values.iter().map(|&value| value.to_owned()).collect(),
        }],
    }
}

#[test]
fn a_small_pool_renders_as_expected() {
    let mut generated = config(
        "00-worker",
        "worker",
        json!({
            "osImageURL": "quay.example/from-the-operator",
            "config": {"ignition": {"version": "3.4.0"}, "systemd": {"units": [
                {"name": "kubelet.service", "enabled": true, "contents": "[Service]\nExecStart=/usr/bin/kubelet\n"},
            ]}},
            "kernelArguments": ["quiet"],
        }),
    );
    generated.annotations.insert(GENERATED_BY.to_owned(), "v1".to_owned());
    let configs = [
        config(
            "50-infra",
            "infra",
            json!({
                "config": {"ignition": {"version": "3.2.0"},
                    "storage": {"files": [file("/etc/motd", "infra%0A"), file("/etc/new", "n")]},
                    "systemd": {"units": [
                        {"name": "kubelet.service", "dropins": [{"name": "10-a.conf", "contents": "[Service]\n"}]},
                    ]}},
                "kernelArguments": ["quiet", "nosmt"],
                "extensions": ["usbguard"],
                "kernelType": "realtime",
            }),
        ),
        generated,
        with_files("99-worker", "worker", &json!([file("/etc/motd", "worker%0A")])),
    ];
    let options = RenderOptions {
        os_image_url: "quay.example/os".to_owned(),
        base_os_extensions_container_image: "quay.example/extensions".to_owned(),
        controller_version: Some("v1".to_owned()),
        release_image_version: Some("4.20.1".to_owned()),
        ..RenderOptions::default()
    };
    let rendered = render("infra", &configs, &options).unwrap();
    assert_eq!(rendered.sources, ["00-worker", "99-worker", "50-infra"]);
    insta::assert_json_snapshot!(rendered.to_machine_config().to_json());
    let size = serde_json::to_vec(&rendered.to_machine_config().to_json())
        .unwrap()
        .len();
    assert_eq!(rendered.size, size);
}

#[test]
fn selection_goes_by_labels_and_never_takes_all() {
    let configs = [
        config("a", "worker", json!({})),
        config("b", "infra", json!({})),
        config("c", "master", json!({})),
    ];
    let selected = select(&configs, &selector(ROLE_LABEL, &["worker", "infra"])).unwrap();
    let names: Vec<_> = selected.iter().map(|config| config.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(
        select(&configs, &LabelSelector::default()),
        Err(SelectError::SelectingAll)
    );
    let none = select(&configs, &selector(ROLE_LABEL, &["edge"])).unwrap_err();
    assert_eq!(
        none.to_string(),
        format!("no MachineConfigs found matching selector {ROLE_LABEL}=edge")
    );
    let broken = select(&configs, &selector("not a key", &["x"]));
    assert!(matches!(broken, Err(SelectError::Invalid(_))));
}

#[test]
fn a_custom_pool_beats_worker_whatever_the_names() {
    let configs = [
        with_files("99-worker", "worker", &json!([file("/etc/a", "worker")])),
        with_files("00-infra", "infra", &json!([file("/etc/a", "infra")])),
    ];
    assert_eq!(files(&rendered(&configs))[0]["contents"]["source"], "data:,infra");
}

#[test]
fn within_a_role_the_later_name_wins_by_bytes() {
    let configs = [
        with_files("b", "worker", &json!([file("/etc/a", "b")])),
        with_files("Z", "worker", &json!([file("/etc/a", "Z")])),
        with_files("a", "worker", &json!([file("/etc/a", "a")])),
    ];
    assert_eq!(files(&rendered(&configs))[0]["contents"]["source"], "data:,b");
}

#[test]
fn plain_contents_do_not_inherit_compression_or_hash() {
    let hash = format!("sha256-{}", "0".repeat(64));
    let configs = [
        with_files(
            "a",
            "worker",
            &json!([{"path": "/etc/a", "mode": 420, "contents": {
                "source": "data:;base64,H4sIAAAAAAAAA0sEAEO+t+gBAAAA", "compression": "gzip", "verification": {"hash": hash},
            }}]),
        ),
        with_files("b", "worker", &json!([file("/etc/a", "plain")])),
    ];
    assert_eq!(
        files(&rendered(&configs))[0],
        json!({"path": "/etc/a", "mode": 420, "overwrite": true, "contents": {"source": "data:,plain"}})
    );
}

#[test]
fn a_change_of_mode_keeps_contents_and_compression() {
    let configs = [
        with_files(
            "a",
            "worker",
            &json!([{"path": "/etc/a", "contents": {
                "source": "data:;base64,H4sIAAAAAAAAA0sEAEO+t+gBAAAA", "compression": "gzip",
            }}]),
        ),
        with_files(
            "b",
            "worker",
            &json!([{"path": "/etc/a", "mode": 384}, {"path": "/etc/mode-only", "mode": 384}]),
        ),
    ];
    let files = files(&rendered(&configs));
    assert_eq!(files[0]["contents"]["compression"], "gzip");
    assert_eq!(files[0]["mode"], 384);
    // Ignition refuses `overwrite` without contents.
    assert_eq!(files[1], json!({"path": "/etc/mode-only", "mode": 384}));
}

#[test]
fn files_overwrite_unless_they_say_otherwise() {
    let mut keep = file("/etc/keep", "x");
    keep["overwrite"] = json!(false);
    let files = files(&rendered(&[with_files(
        "a",
        "worker",
        &json!([keep, file("/etc/a", "x")]),
    )]));
    assert_eq!(
        (&files[0]["overwrite"], &files[1]["overwrite"]),
        (&json!(false), &json!(true))
    );
}

#[test]
fn fips_is_on_if_any_asks_and_lists_are_joined_with_repeats() {
    let configs = [
        config(
            "a",
            "worker",
            json!({"fips": true, "kernelArguments": ["x", "x"], "extensions": ["ipsec"]}),
        ),
        config(
            "b",
            "infra",
            json!({"kernelArguments": ["x"], "extensions": ["ipsec", "usbguard"]}),
        ),
    ];
    let spec = rendered(&configs).spec;
    assert!(spec.fips);
    assert_eq!(spec.kernel_arguments, ["x", "x", "x"]);
    assert_eq!(spec.extensions, ["ipsec", "ipsec", "usbguard"]);
    assert!(!rendered(&configs[1..]).spec.fips);
}

#[test]
fn the_last_special_kernel_wins() {
    for (kernels, expected) in [
        (&[][..], "default"),
        (&["", "default"], "default"),
        (&["realtime", "default"], "realtime"),
        (&["realtime", "64k-pages", ""], "64k-pages"),
        (&["64k-pages", "realtime"], "realtime"),
    ] {
        let mut configs = vec![config("-", "worker", json!({}))];
        for (index, kernel) in kernels.iter().enumerate() {
            configs.push(config(&index.to_string(), "worker", json!({"kernelType": kernel})));
        }
        assert_eq!(rendered(&configs).spec.kernel_type, expected, "{kernels:?}");
    }
}

#[test]
fn people_override_the_system_image_and_controllers_do_not() {
    let image = |name: &str, url: &str| config(name, "worker", json!({"osImageURL": url}));
    let mut generated = image("z", "generated");
    generated.annotations.insert(GENERATED_BY.to_owned(), "v".to_owned());
    let options = RenderOptions {
        os_image_url: "cluster".to_owned(),
        ..RenderOptions::default()
    };
    for (configs, expected) in [
        (vec![image("a", "")], "cluster"),
        (vec![generated.clone()], "cluster"),
        (vec![image("a", "one"), image("b", "two"), generated], "two"),
    ] {
        let rendered = render("worker", &configs, &options).unwrap();
        assert_eq!(rendered.spec.os_image_url, expected);
        let marked = rendered.annotations.get(OS_IMAGE_OVERRIDDEN).map(String::as_str);
        assert_eq!(marked, (expected != "cluster").then_some("true"));
    }
    let streamed = RenderOptions {
        os_image_stream: Some("rhel-10".to_owned()),
        ..options
    };
    assert_eq!(
        problems(&[image("a", "one")], &streamed),
        ["MachineConfig a sets osImageURL, which the pool's osImageStream rhel-10 does not allow"]
    );
}

#[test]
fn what_is_wrong_is_said_with_the_name_and_all_of_it() {
    let mut unlabelled = config("e", "worker", json!({}));
    unlabelled.labels.clear();
    let mut old = config("f", "worker", json!({}));
    old.annotations.insert(GENERATED_BY.to_owned(), "v0".to_owned());
    let configs = [
        config("a", "worker", json!({"kernelType": "fast"})),
        // Checked although there is no Ignition config.
        config("b", "worker", json!({"extensions": ["usbguard", "emacs", "vim"]})),
        config(
            "c",
            "worker",
            json!({"extensions": ["kernel-devel"], "kernelType": "realtime"}),
        ),
        config(
            "d",
            "worker",
            json!({"config": {"ignition": {"version": "3.4.0"},
                "storage": {"files": [{"path": "/etc/a", "mode": 1023}]}}}),
        ),
        unlabelled,
        old,
        config("g", "worker", json!({"config": {"ignition": {"version": "4.0.0"}}})),
        config("a", "worker", json!({})),
    ];
    let options = RenderOptions {
        controller_version: Some("v1".to_owned()),
        ..RenderOptions::default()
    };
    insta::assert_snapshot!(problems(&configs, &options).join("\n"));
    let error = render("infra", &configs, &options).unwrap_err();
    assert!(error.problems.iter().all(|problem| problem.machine_config().is_some()));
    assert_eq!(problems(&[], &options), ["no MachineConfigs to render"]);
    assert_eq!(validate(&configs[1]).len(), 1);
}

#[test]
fn too_much_is_refused_with_both_sizes_and_much_is_a_warning() {
    let of_size = |bytes: usize| with_files("a", "worker", &json!([file("/etc/a", &"x".repeat(bytes))]));
    let error = problems(&[of_size(SIZE_LIMIT)], &RenderOptions::default());
    let [message] = error.as_slice() else {
        panic!("{error:?}")
    };
    assert!(message.contains("is too large: 1573"), "{message}");
    assert!(message.ends_with("and 1572864 bytes are allowed"), "{message}");

    let near = rendered(&[of_size(SIZE_LIMIT * 9 / 10)]);
    let [RenderWarning::NearlyTooLarge { size, limit, .. }] = near.warnings.as_slice() else {
        panic!("{:?}", near.warnings)
    };
    assert_eq!((*size, *limit), (near.size, SIZE_LIMIT));
    assert_eq!(rendered(&[of_size(SIZE_LIMIT / 2)]).warnings, []);
}

#[test]
fn the_name_is_the_pools_and_the_hash_the_contents() {
    let configs = [config("a", "worker", json!({"kernelArguments": ["x"]}))];
    let options = RenderOptions::default();
    let (one, two) = (
        render("one", &configs, &options).unwrap(),
        render("two", &configs, &options).unwrap(),
    );
    let hash = one.name.strip_prefix("rendered-one-").unwrap();
    assert_eq!(two.name, format!("rendered-two-{hash}"));
    assert_eq!(hash.len(), 32);
    assert!(hash.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f')));
    // The name must never change between versions of the program: every node would look outdated. It is the operator's.
    assert_eq!(hash, "3d28e1fe2f2a258bf747dc3e310df8f8");
}

prop_compose! {
    fn any_config()(
        name in "[a-cA-C0-2]{1,3}",
        role in prop::sample::select(vec!["worker", "infra"]),
        paths in prop::collection::vec(("/etc/[a-c]", "[a-z]{0,3}", any::<Option<bool>>()), 0..3),
        arguments in prop::collection::vec("[a-c]", 0..3),
        kernel in prop::sample::select(vec!["", "default", "realtime"]),
        fips: bool,
    ) -> MachineConfig {
        let mut seen = std::collections::BTreeSet::new();
        let files: Vec<_> = paths
            .iter()
            .filter(|(path, ..)| seen.insert(path.clone()))
            .map(|(path, text, overwrite)| {
                let mut file = file(path, text);
                if let Some(overwrite) = overwrite {
                    file["overwrite"] = json!(overwrite);
                }
                file
            })
            .collect();
        config(&name, role, json!({
            "config": {"ignition": {"version": "3.2.0"}, "storage": {"files": files}},
            "kernelArguments": arguments,
            "kernelType": kernel,
            "fips": fips,
        }))
    }
}

fn any_pool() -> impl Strategy<Value = Vec<MachineConfig>> {
    prop::collection::vec(any_config(), 1..6).prop_map(|mut configs| {
        let mut seen = std::collections::BTreeSet::new();
        configs.retain(|config| seen.insert(config.name.clone()));
        configs
    })
}

proptest! {
    #[test]
    fn the_order_of_inputs_does_not_matter(
        (configs, shuffled) in any_pool().prop_flat_map(|pool| (Just(pool.clone()), Just(pool).prop_shuffle()))
    ) {
        prop_assert_eq!(rendered(&configs), rendered(&shuffled));
    }

    #[test]
    fn rendering_what_was_rendered_changes_nothing(configs in any_pool()) {
        let once = rendered(&configs);
        let again = MachineConfig {
            labels: [(ROLE_LABEL.to_owned(), "worker".to_owned())].into(),
            ..once.to_machine_config()
        };
        let twice = rendered(&[again]);
        prop_assert_eq!(&once.spec, &twice.spec);
        prop_assert_eq!(once.name, twice.name);
    }

    #[test]
    fn names_are_equal_exactly_if_contents_are(one in any_pool(), two in any_pool()) {
        let (one, two) = (rendered(&one), rendered(&two));
        prop_assert_eq!(one.name == two.name, one.spec == two.spec);
    }

    #[test]
    fn what_is_rendered_is_valid(configs in any_pool()) {
        let spec = rendered(&configs).spec;
        let parsed = berth_ignition::parse(spec.config.as_ref().unwrap());
        let errors: Vec<_> = parsed.findings.iter().filter(|finding| finding.is_error()).collect();
        prop_assert!(errors.is_empty(), "{errors:?}");
        prop_assert!(berth_ignition::validate(&parsed.config.unwrap()).iter().all(|finding| !finding.is_error()));
    }
}
