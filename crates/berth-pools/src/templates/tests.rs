use std::{fmt::Write as _, fs, path::Path};

use berth_ignition::{Config, file_contents, parse};
use berth_labels::{Flavour, LabelSelector};
use proptest::prelude::*;

use super::*;
use crate::{
    ControllerConfig, KUBELET_CONFIGURATION, ProtectedLabels, RenderOptions, diff_specs, protect, registered_labels,
    render, select, validate,
};

fn pem(name: &str) -> String {
    let text = format!("-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n");
    base64::Engine::encode(&base64::engine::general_purpose::STANDARD, text)
}

fn small() -> Value {
    json!({
        "clusterDNSIP": "10.96.0.10",
        "kubeAPIServerServingCAData": pem("serving"),
        "berth": {"family": "debian"},
    })
}

fn large(family: &str, runtime: &str) -> Value {
    json!({
        "clusterDNSIP": "10.96.0.10",
        "rootCAData": pem("root"),
        "kubeAPIServerServingCAData": pem("serving"),
        "additionalTrustBundle": pem("trust"),
        "pullSecret": {"name": "pull-secret"},
        "proxy": {"httpProxy": "http://proxy.example:3128", "httpsProxy": "http://a%40b@proxy.example:3128", "noProxy": ".example,10.0.0.0/8"},
        "images": {"infraImageKey": "registry.k8s.io/pause:3.10"},
        "platform": {"type": "None"},
        "berth": {
            "family": family,
            "containerRuntime": runtime,
            "clusterDomain": "site.example",
            "kubelet": {"path": "/opt/kubernetes/kubelet"},
            "ntpServers": ["ntp1.example", "2001:db8::7b"],
            "sysctls": {"vm.max_map_count": 262_144, "kernel.pid_max": "4194304"},
            "sshAuthorizedKeys": ["ssh-ed25519 AAAA admin@example"],
            "registries": [
                {"location": "quay.io", "mirrors": ["mirror.example:5000/quay"]},
                {"location": "docker.io", "mirrors": ["mirror.example:5000"], "insecure": true},
            ],
            "imageCredentialProviders": {
                "binDir": "/usr/local/libexec/credential-providers",
                "config": {"apiVersion": "kubelet.config.k8s.io/v1", "kind": "CredentialProviderConfig", "providers": []},
            },
        },
    })
}

const CREDENTIALS: &str = r#"{"auths":{"quay.io":{"auth":"YTpi"}}}"#;

fn made(spec: &Value, pools: &[&str]) -> Result<Vec<MachineConfig>, Vec<TemplateFinding>> {
    let pull_secret = Ok(CREDENTIALS.to_owned());
    templates(&TemplateInput {
        spec,
        pools,
        overrides: None,
        pull_secret: Some(&pull_secret),
    })
}

fn with_overrides(entries: &[(&str, &str)], pools: &[&str]) -> Result<Vec<MachineConfig>, Vec<TemplateFinding>> {
    let data = entries
        .iter()
        .map(|(key, text)| ((*key).to_owned(), (*text).to_owned()))
        .collect();
    templates(&TemplateInput {
        spec: &small(),
        pools,
        overrides: Some(&data),
        pull_secret: None,
    })
}

fn ignition(config: &MachineConfig) -> Config {
    parse(config.spec.config.as_ref().unwrap()).usable().unwrap()
}

fn text(file: &berth_ignition::types::File) -> String {
    String::from_utf8(file_contents(file).unwrap()).unwrap()
}

/// Everything that machine configs write, for people to read.
fn shown(configs: &[MachineConfig]) -> String {
    let mut shown = String::new();
    for config in configs {
        writeln!(shown, "======== {} (role {})", config.name, config.role().unwrap()).unwrap();
        let ignition = ignition(config);
        for file in ignition.files() {
            writeln!(shown, "---- {} {:04o}\n{}", file.path, file.mode.unwrap(), text(file)).unwrap();
        }
        for unit in ignition.units() {
            writeln!(shown, "---- {} enabled={:?}", unit.name, unit.enabled).unwrap();
            shown.push_str(unit.contents.as_deref().unwrap_or_default());
            for drop_in in unit.dropins.iter().flatten() {
                let contents = drop_in.contents.as_deref().unwrap_or_default();
                writeln!(shown, "---- {}.d/{}\n{contents}", unit.name, drop_in.name).unwrap();
            }
        }
        let users = config.spec.config.as_ref().and_then(|config| config.get("passwd"));
        if let Some(users) = users {
            writeln!(shown, "{users}").unwrap();
        }
    }
    shown
}

fn findings(spec: &Value) -> Vec<String> {
    let findings = made(spec, &[]).err().unwrap_or_default();
    findings.iter().map(ToString::to_string).collect()
}

#[test]
fn the_list_is_the_folder_and_every_file_says_what_it_is_for() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let mut folders = vec![root.clone()];
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    let listed: Vec<String> = FILES
        .iter()
        .map(|file| format!("{}/{}/{}/{}", file.family, file.role, file.config, file.name))
        .collect();
    assert_eq!(listed, found);
    for file in FILES {
        assert!(file.text.starts_with("## "), "{}", file.name);
        assert!(is_config(file.config) && !file.name.contains('_'), "{}", file.name);
        Template::parse(file.text).unwrap();
    }
}

#[test]
fn machines_with_debian_and_containerd() {
    insta::assert_snapshot!(shown(
        &made(&large("debian", "containerd"), &["master", "worker", "infra"]).unwrap()
    ));
}

#[test]
fn machines_with_fedora_and_cri_o() {
    insta::assert_snapshot!(shown(&made(&large("fedora", "cri-o"), &[]).unwrap()));
}

#[test]
fn little_has_to_be_said() {
    let configs = made(&small(), &["infra"]).unwrap();
    let names: Vec<&str> = configs.iter().map(|config| config.name.as_str()).collect();
    assert_eq!(names, ["00-worker", "01-worker-container-runtime", "01-worker-kubelet"]);
    for config in &configs {
        assert_eq!(config.generated_by(), Some(controller_version().as_str()));
        assert_eq!(validate(config), []);
    }
}

#[test]
fn what_is_made_renders_and_keeps_labels() {
    for family in ["debian", "fedora"] {
        for runtime in ["containerd", "cri-o"] {
            let configs = made(&large(family, runtime), &["master", "worker"]).unwrap();
            for pool in ["master", "worker"] {
                let selector = LabelSelector {
                    match_labels: [(ROLE_LABEL.to_owned(), pool.to_owned())].into(),
                    ..LabelSelector::default()
                };
                let selected = select(&configs, &selector).unwrap();
                let labels = ProtectedLabels {
                    pool: pool.to_owned(),
                    explicit: ["example.com/tier=gold".parse().unwrap()]
                        .into_iter()
                        .map(|label: berth_labels::Label| (label.key, label.value))
                        .collect(),
                    ..ProtectedLabels::default()
                };
                assert_eq!(protect(selected.iter().copied(), &labels, Flavour::Upstream), []);
                let rendered = render(pool, selected, &RenderOptions::default()).unwrap();
                assert_eq!(rendered.warnings, []);
                assert!(
                    ignition(&rendered.to_machine_config())
                        .find_file(KUBELET_CONFIGURATION)
                        .is_some()
                );
                // The kubelet starts with them.
                let registered = registered_labels(&rendered.to_machine_config(), Flavour::Upstream);
                assert!(
                    registered.known.is_empty() && registered.open.is_empty(),
                    "{registered:?}"
                );
            }
        }
    }
}

#[test]
fn the_certificates_are_those_that_the_ignition_server_writes() {
    let spec = large("debian", "containerd");
    let read = ControllerConfig::from_json(&json!({"spec": spec})).unwrap();
    let configs = made(&spec, &[]).unwrap();
    let base = configs.iter().find(|config| config.name == "00-worker").unwrap();
    let ignition = ignition(base);
    let file = ignition.find_file("/etc/kubernetes/kubelet-ca.crt").unwrap();
    assert_eq!(file_contents(file).unwrap(), read.kubelet_ca);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    assert_eq!(
        findings(&json!({"berth": {}})),
        [
            "spec.berth.family: the field is missing",
            "spec.clusterDNSIP: the field is missing",
            "spec.kubeAPIServerServingCAData: the field is missing",
        ]
    );
    let cases = [
        (
            json!({"clusterDNSIP": "ten"}),
            "spec.clusterDNSIP: \"ten\" is not an IP address",
        ),
        (
            json!({"rootCAData": "LQ=="}),
            "spec.rootCAData: it is not base64 of certificates in PEM",
        ),
        (
            json!({"proxy": {"httpProxy": "a\"\nExecStart=b"}}),
            "spec.proxy.httpProxy: \"a\\\"\\nExecStart=b\" is not a text without spaces and quotes",
        ),
        (
            json!({"berth": {"family": "arch"}}),
            "spec.berth.family: \"arch\" is not supported",
        ),
        (
            json!({"berth": {"family": "debian", "ntp": []}}),
            "spec.berth.ntp: there is no such field",
        ),
        (
            json!({"berth": {"family": "debian", "ntpServers": ["a b"]}}),
            "spec.berth.ntpServers[0]: \"a b\" is not a name or an address",
        ),
        (
            json!({"berth": {"family": "debian", "sysctls": {"vm.x": "1\nkernel.y = 2"}}}),
            "spec.berth.sysctls[vm.x]: \"1\\nkernel.y = 2\" is not a value on one line",
        ),
        (
            json!({"berth": {"family": "debian", "registries": [{"location": "quay.io/team"}]}}),
            "spec.berth.registries[0].location: containerd has mirrors for whole registries, and `quay.io/team` is a part of one",
        ),
        (
            json!({"berth": {"family": "debian", "registries": [{"location": "../../x"}]}}),
            "spec.berth.registries[0].location: \"../../x\" is not a registry such as `registry.example:5000`",
        ),
        (
            json!({"berth": {"family": "debian", "kubelet": {"path": "kubelet"}}}),
            "spec.berth.kubelet.path: \"kubelet\" is not an absolute path without spaces",
        ),
        (
            json!({"berth": {"family": "debian", "templates": {"name": "mine"}}}),
            "spec.berth.templates.name: there is no ConfigMap `mine`",
        ),
        (
            json!({"berth": {"family": "debian", "imageCredentialProviders": {"config": {"kind": "X"}}}}),
            "spec.berth.imageCredentialProviders.binDir: the field is missing",
        ),
        (
            json!({"berth": {"family": "debian", "sshAuthorizedKeys": "ssh-rsa A"}}),
            "spec.berth.sshAuthorizedKeys: it is not a list",
        ),
    ];
    for (changes, expected) in cases {
        let mut spec = small();
        for (name, value) in changes.as_object().unwrap() {
            spec[name] = value.clone();
        }
        let found = findings(&spec);
        assert_eq!(found.first().map(String::as_str), Some(expected), "{found:?}");
    }
}

#[test]
fn a_secret_that_is_named_has_to_be_there_and_to_be_one() {
    let mut spec = small();
    spec["pullSecret"] = json!({"name": "pull-secret"});
    let made_with = |pull_secret: Option<&Result<String, String>>| {
        templates(&TemplateInput {
            spec: &spec,
            pull_secret,
            ..TemplateInput::default()
        })
    };
    let missing = made_with(None).unwrap_err();
    assert!(
        missing[0].is_missing_object && missing[0].path == "spec.pullSecret.name",
        "{missing:?}"
    );
    for (secret, right) in [
        (json!({"data": {".dockerconfigjson": "eyJhdXRocyI6IHt9fQ=="}}), true),
        (json!({"stringData": {".dockerconfigjson": "{\"auths\": {}}"}}), true),
        (json!({"data": {".dockerconfigjson": "e30="}}), false),
        (json!({"data": {".dockerconfigjson": "-"}}), false),
        (json!({"data": {"password": "e30="}}), false),
    ] {
        let read = pull_secret(&secret);
        assert_eq!(read.is_ok(), right, "{secret}");
        let made = made_with(Some(&read));
        assert_eq!(made.is_ok(), right, "{secret}");
    }
}

#[test]
fn certificates_credentials_and_mirrors_cost_no_reboot() {
    let costs = |runtime: &str, before: &Value, after: &Value| {
        let rendered = |spec: &Value| {
            render(WORKER, &made(spec, &[]).unwrap(), &RenderOptions::default())
                .unwrap()
                .spec
        };
        let diff = diff_specs(&rendered(before), &rendered(after)).unwrap();
        assert!(!diff.is_empty(), "{runtime}");
        diff.actions().iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    for family in ["debian", "fedora"] {
        let before = large(family, "containerd");
        for (name, value, actions) in [
            ("kubeAPIServerServingCAData", json!(pem("next")), ["none"]),
            ("rootCAData", json!(pem("next")), ["restart kubelet.service"]),
            (
                "additionalTrustBundle",
                json!(pem("next")),
                ["restart berth-trust-bundle.service"],
            ),
            (
                "additionalTrustBundle",
                Value::Null,
                ["restart berth-trust-bundle.service"],
            ),
            ("pullSecret", Value::Null, ["none"]),
            ("clusterDNSIP", json!("10.96.0.11"), ["reboot"]),
        ] {
            let mut after = before.clone();
            after[name] = value;
            assert_eq!(costs("containerd", &before, &after), actions, "{family} {name}");
        }
        for (runtime, actions) in [
            ("containerd", vec!["none"]),
            ("cri-o", vec!["reload crio.service", "drain"]),
        ] {
            let before = large(family, runtime);
            let mut after = before.clone();
            after["berth"]["registries"][0]["mirrors"] = json!(["mirror.example:5000/quay", "other.example"]);
            assert_eq!(costs(runtime, &before, &after), actions, "{family} {runtime}");
        }
    }
}

#[test]
fn people_replace_remove_and_add_templates() {
    let standard = with_overrides(&[], &["infra"]).unwrap();
    let changed = with_overrides(
        &[
            ("any_00_modules.conf", ""),
            (
                "worker_01-kubelet_kubeadm.conf",
                "#! drop-in kubelet.service 10-kubeadm.conf\n[Unit]\n",
            ),
            (
                "infra_00_motd",
                "## Says where one is.\n#! file /etc/motd\nDNS is {{clusterDNSIP}}\nNTP {{ntpServers}}\n",
            ),
            ("edge_00_motd", "#! file /etc/motd\nthere is no such pool\n"),
        ],
        &["infra"],
    )
    .unwrap();
    let names = |configs: &[MachineConfig]| configs.iter().map(|config| config.name.clone()).collect::<Vec<_>>();
    let mut expected = names(&standard);
    expected.insert(0, "00-infra".to_owned());
    assert_eq!(names(&changed), expected);
    let shown = shown(&changed);
    assert!(
        !shown.contains("br_netfilter") && shown.contains("10-kubeadm.conf\n[Unit]"),
        "{shown}"
    );
    assert!(shown.contains("/etc/motd 0644\nDNS is 10.96.0.10\n\n"), "{shown}");
    let untouched = |configs: &[MachineConfig]| configs.last().cloned();
    assert_ne!(
        untouched(&changed),
        untouched(&standard),
        "the kubelet's own is the last"
    );
}

#[test]
fn a_template_that_is_not_one_is_named() {
    for (key, text, expected) in [
        ("motd", "x", "data.motd: it is not the name of a template"),
        (
            "worker_99-x_y",
            "x",
            "data.worker_99-x_y: it is not the name of a template",
        ),
        (
            "worker_00_motd",
            "hello",
            "data.worker_00_motd: no line `#! file PATH`, `#! unit NAME` or `#! drop-in UNIT NAME.conf` is at its top",
        ),
        (
            "worker_00_motd",
            "#! file /etc/motd\n{{motd}}\n",
            "data.worker_00_motd: there is no value `motd`",
        ),
        (
            "worker_00_motd",
            "#! file etc/motd\n",
            "data.worker_00_motd: `#! file etc/motd` says nothing that a template can become",
        ),
        (
            "worker_00_motd",
            "#! file /etc/motd\n#! mode 4755\n",
            "data.worker_00_motd: `4755` is not a mode from 0000 to 0777",
        ),
        (
            "worker_00_motd",
            "#! file /etc/sysctl.d/90-berth.conf\n",
            "data.worker_00_motd: another template of 00 writes /etc/sysctl.d/90-berth.conf too",
        ),
        (
            "worker_00_motd",
            "#! file /etc/motd\n{{clusterDNSIP\n",
            "data.worker_00_motd: `{{clusterDNSIP`: `{{` has no end",
        ),
    ] {
        let found = with_overrides(&[(key, text)], &[]).unwrap_err();
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(found.to_string(), expected);
        assert_eq!(found.object, TemplateObject::ConfigMap);
    }
}

proptest! {
    #[test]
    fn the_order_does_not_matter_and_a_pool_more_changes_no_other(
        pools in Just(vec!["master", "worker", "infra", "edge"]).prop_shuffle(),
        registries in Just(vec!["a.example", "b.example", "c.example"]).prop_shuffle(),
        keys in Just(vec!["vm.a", "vm.b", "kernel.c"]).prop_shuffle(),
    ) {
        let spec = |registries: &[&str], keys: &[&str]| {
            let mut spec = large("debian", "cri-o");
            let registries: Vec<Value> = registries.iter().map(|name| json!({"location": name})).collect();
            spec["berth"]["registries"] = json!(registries);
            let sysctls: serde_json::Map<String, Value> = keys.iter().map(|key| ((*key).to_owned(), json!(1))).collect();
            spec["berth"]["sysctls"] = Value::Object(sysctls);
            spec
        };
        let one = made(&spec(&["a.example", "b.example", "c.example"], &["vm.a", "vm.b", "kernel.c"]), &["worker", "master"]);
        let other = made(&spec(&registries, &keys), &pools);
        prop_assert_eq!(one, other);
    }

    #[test]
    fn whatever_is_written_there_is_an_answer(text in "(#! (file|unit|mode|if|enabled)? ?[/a-z.{}]*\n|[{}a-z #!]*\n){0,6}") {
        let _ = with_overrides(&[("worker_00_x", &text)], &[]);
    }
}
