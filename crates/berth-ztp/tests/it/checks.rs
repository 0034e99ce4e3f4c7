//! What is found in manifests that people have.

use berth_site::Release;
use berth_ztp::CheckOptions;

use crate::site::{findings, texts};

/// The story of the first remote workers at day 0, as its authors wrote it, on their release and on one of today.
#[test]
fn the_first_remote_workers() {
    let seed = texts("crates/berth-ztp/tests/seed");
    for minor in [9, 18] {
        let options = CheckOptions {
            release: Some(Release { major: 4, minor }),
            ..CheckOptions::default()
        };
        insta::assert_snapshot!(format!("seed_4_{minor}"), findings(&seed, &options).join("\n"));
    }
}

/// No text makes a check panic, and no finding is without a place.
#[test]
fn broken_manifests_are_read_as_far_as_they_go() {
    for (name, text) in texts("crates/berth-ztp/tests/seed") {
        for cut in (0..text.len()).step_by(97).filter(|cut| text.is_char_boundary(*cut)) {
            let mut sources = berth_documents::Sources::new();
            let id = sources.add(name.as_str(), &text[..cut]);
            let parsed = berth_documents::parse(&sources, id);
            let found = berth_ztp::check(&mut sources, &parsed.documents, &CheckOptions::default());
            assert!(found.iter().all(|finding| finding.span.is_some()), "{found:?}");
        }
    }
}

/// The findings of an example after a change of its text.
fn changed(code: &str, from: &str, to: &str) -> Vec<String> {
    let name = format!("{code}.yaml");
    let (_, text) = texts("examples/mistakes/hub")
        .into_iter()
        .find(|(file, _)| *file == name)
        .unwrap();
    assert!(text.contains(from), "{code}: {from}");
    findings(&[(name, text.replacen(from, to, 1))], &CheckOptions::default())
}

fn has(found: &[String], words: &str) -> bool {
    found.iter().any(|line| line.contains(words))
}

#[test]
fn fields_that_a_kind_does_not_have() {
    let found = changed("ztp-field", "pullSecretReference", "pullSecretRef");
    assert_eq!(found, Vec::<String>::new());
    let found = changed(
        "ztp-hidden-annotations",
        "hostName: m0",
        "hostname: m0\n    hostName: m0",
    );
    assert!(
        has(
            &found,
            "`spec.nodes[].hostname` is not a field of kind ClusterInstance: the API server drops it"
        ),
        "{found:?}"
    );
    let found = changed("ztp-nmstate", "  config:\n", "  confg: {}\n  config:\n");
    assert!(
        has(&found, "`spec.confg` is not a field of kind NMStateConfig"),
        "{found:?}"
    );
    let found = changed("ztp-network", "  imageSetRef", "  imageset: {}\n  imageSetRef");
    assert!(
        has(&found, "`spec.imageset` is not a field of kind AgentClusterInstall"),
        "{found:?}"
    );
}

#[test]
fn lists_of_validations() {
    let list = "agent-install.openshift.io/ignored-host-validations: belongs-to-machine-cidr";
    let cluster = |ids: &str| {
        changed(
            "ztp-validations-off",
            list,
            &format!("agent-install.openshift.io/ignored-cluster-validations: \"{ids}\""),
        )
    };
    for (ids, words) in [
        (
            "api-vips-valid,apiVipsValid",
            "Validation ID 'apiVipsValid' is not a known cluster validation",
        ),
        (
            "pull-secret-set",
            "unable to ignore the following cluster validations (pull-secret-set)",
        ),
        ("api-vips-valid,api-vips-valid", "`api-vips-valid` is here twice"),
        ("api-vips-valid,", "an item of the list is empty"),
    ] {
        assert!(has(&cluster(ids), words), "{ids}: {:?}", cluster(ids));
    }
    assert!(!has(
        &cluster("api-vips-valid,new-operator-requirements-satisfied"),
        "error"
    ));
    // Both ways at once: the cluster's own list counts.
    let service = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: s, namespace: multicluster-engine}\ndata:\n  \
                   DISABLED_CLUSTER_VALIDATIONS: nonsense\n  DISABLED_HOST_VALIDATIONS: ntp-synced\n---\napiVersion: extensions";
    let found = changed("ztp-validations-off", "apiVersion: extensions", service);
    assert!(
        has(&found, "Validation ID 'nonsense' is not a known cluster validation"),
        "{found:?}"
    );
    assert!(
        has(
            &found,
            "a cluster has a list of its own, so this one does not count for it"
        ),
        "{found:?}"
    );
}

#[test]
fn a_hint_ends_the_detection_of_a_remote_worker() {
    let hint = |address: &str| {
        format!(
            "bmac.agent-install.openshift.io/role: worker\n    bmac.agent-install.openshift.io/ignition-config-overrides: \
             '{{\"ignition\":{{\"version\":\"3.2.0\"}},\"storage\":{{\"files\":[{{\"path\":\"/etc/default/nodeip-configuration\",\
             \"contents\":{{\"source\":\"data:,NODEIP_HINT%3D{address}\"}}}}]}}}}'"
        )
    };
    let role = "bmac.agent-install.openshift.io/role: worker";
    let found = changed("ztp-remote-worker", role, &hint("10.19.142.1"));
    assert!(
        has(&found, "NODEIP_HINT=10.19.142.1 is in a network of `w0` itself"),
        "{found:?}"
    );
    assert!(!has(&found, "will register with"), "{found:?}");
    let found = changed("ztp-remote-worker", role, &hint("10.19.3.1"));
    assert!(has(&found, "will register with"), "{found:?}");
    // The same in a machine config of its pool.
    let config = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 50-hint\n  labels: \
                  {machineconfiguration.openshift.io/role: worker}\nspec:\n  config:\n    storage:\n      files:\n      - path: \
                  /etc/default/nodeip-configuration\n        contents: {source: \"data:,NODEIP_HINT=10.19.142.1\"}\n---\napiVersion: extensions";
    let found = changed("ztp-remote-worker", "apiVersion: extensions", config);
    assert!(has(&found, "NODEIP_HINT=10.19.142.1"), "{found:?}");
    // A second card beside the VIP does too.
    let found = changed(
        "ztp-remote-worker",
        "{ip: 10.19.142.21, prefix-length: 24}",
        "{ip: 10.19.142.21, prefix-length: 24}, {ip: 10.19.3.99, prefix-length: 24}",
    );
    assert!(!has(&found, "ztp-remote-worker ztp"), "{found:?}");
}

#[test]
fn compression_of_an_override_sticks_to_the_pools_content() {
    let plain = changed("ztp-override-path", "data:,", "data:,x");
    assert!(!has(&plain, "compression"), "{plain:?}");
    let found = changed(
        "ztp-override-path",
        "\"source\":\"data:,\"",
        "\"compression\":\"gzip\",\"source\":\"data:,\"",
    );
    assert!(
        has(
            &found,
            "its `compression` stays and makes the pool's content unreadable"
        ),
        "{found:?}"
    );
}

#[test]
fn more_egress_addresses_than_hosts() {
    let found = changed("ztp-egress", "[10.19.3.50]", "[10.19.142.50, 10.19.142.51]");
    assert!(
        has(
            &found,
            "there are more addresses than nodes: EgressIP `shop` cannot place 10.19.142.51"
        ),
        "{found:?}"
    );
    assert_eq!(
        changed("ztp-egress", "[10.19.3.50]", "[10.19.142.50]"),
        Vec::<String>::new()
    );
}

#[test]
fn an_image_holds_only_so_many_static_networks() {
    let image = texts("crates/berth-ztp/tests/conformance/base")
        .into_iter()
        .find_map(|(file, text)| (file == "image.yaml").then_some(text))
        .unwrap();
    let (env, config) = image.split_once("---\n").unwrap();
    let configs = |count: usize| -> Vec<String> {
        let one = |number: usize| {
            let mac = format!("52:54:00:00:{:02x}:{:02x}", number / 256, number % 256);
            let config = config.replace("name: w0,", &format!("name: w{number},"));
            format!("---\n{}", config.replace("52:54:00:00:00:05", &mac))
        };
        let text = env.to_owned() + &(0..count).map(one).collect::<String>();
        findings(&[("image.yaml".to_owned(), text)], &CheckOptions::default())
    };
    let found = configs(3961);
    assert!(
        has(
            &found,
            "the InfraEnv selects 3961 NMStateConfigs; its image holds 256 KiB"
        ),
        "{found:?}"
    );
    assert!(!has(&configs(3960), "256 KiB"));
}
