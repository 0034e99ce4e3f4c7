//! Manifests for a hub, as people get them.

use crate::run::{Folder, at_root};

/// The files are the same every time, and a second run writes none.
#[test]
fn a_second_run_changes_nothing() {
    let folder = Folder::new();
    let words = format!("ztp -f examples/telco-site -o {}", folder.path().display());
    let first = at_root(&words);
    assert_eq!(first.exit, 0, "{first}");
    let second = at_root(&words);
    assert!(second.stderr.contains("note: 0 files written"), "{second}");
    // The folder has the hosts of day 2 too, which the counts of day 0 do not know.
    assert!(folder.path().join("day2").is_dir());
    let checked = at_root(&format!("ztp check {} -f examples/telco-site", folder.path().display()));
    assert_eq!(checked.exit, 0, "{checked}");
    // The other form, too.
    let folder = Folder::new();
    let out = folder.path().display();
    assert_eq!(
        at_root(&format!("ztp -f examples/telco-site --as clusterinstance -o {out}")).exit,
        0
    );
    let checked = at_root(&format!("ztp check {out} -f examples/telco-site"));
    assert_eq!(checked.exit, 0, "{checked}");
}

/// What the hub has is handed in, and a load balancer stands among the manifests.
#[test]
fn changes_and_load_balancers_are_found_beside_the_manifests() {
    let folder = Folder::new();
    let made = at_root(&format!(
        "ztp -f examples/telco-site --as clusterinstance -o {}/hub",
        folder.path().display()
    ));
    assert_eq!(made.exit, 0, "{made}");
    std::fs::remove_dir_all(folder.path().join("hub/day2")).unwrap();
    let file = folder.path().join("hub/50-clusterinstance.yaml");
    let now = std::fs::read_to_string(&file).unwrap();
    folder.write("now.yaml", now.clone());
    let same = folder.line("ztp check hub --against now.yaml");
    assert_eq!(same.exit, 0, "{same}");
    let role = now.lines().position(|line| line.trim() == "role: worker").unwrap() + 1;
    folder.write(
        "hub/50-clusterinstance.yaml",
        now.replacen("role: worker", "role: master", 1),
    );
    let changed = folder.line("ztp check hub --against now.yaml -o name");
    assert_eq!(changed.exit, 1, "{changed}");
    let line = format!("hub/50-clusterinstance.yaml:{role}:");
    let found = changed
        .stdout
        .lines()
        .any(|it| it.starts_with(&line) && it.ends_with("ztp-frozen"));
    assert!(found, "{line}: {changed}");

    folder.write("hub/50-clusterinstance.yaml", now);
    folder.write("hub/haproxy.cfg", "backend routers\n  server a 10.19.3.21:443\n");
    let balanced = folder.line("ztp check hub -o name");
    assert_eq!(balanced.exit, 1, "{balanced}");
    assert!(
        balanced.stdout.contains("hub/haproxy.cfg:1:1: ztp-backends"),
        "{balanced}"
    );
    let missing = folder.line("ztp check hub --against elsewhere");
    assert_eq!(missing.exit, 2, "{missing}");
}

#[test]
fn mistakes_of_people_are_found_where_they_are() {
    let found = at_root("ztp check crates/berth-ztp/tests/seed --release 4.18 -o name");
    assert_eq!(found.exit, 1, "{found}");
    assert!(
        found
            .stdout
            .contains("04-extra-manifests.yaml:40:35: ztp-hostname-selector"),
        "{found}"
    );
    insta::assert_snapshot!(found);
}

#[test]
fn a_node_is_refused_where_a_hub_installs() {
    let site = "-f examples/telco-site --node smyrgaear01";
    let refused = at_root(&format!("node-manifest {site}"));
    assert_eq!((refused.exit, refused.stdout.as_str()), (1, ""), "{refused}");
    assert!(refused.stderr.contains("assisted installation"), "{refused}");
    insta::assert_snapshot!(at_root(&format!("node-manifest {site} --install user-provisioned")));
}

#[test]
fn a_remote_workers_first_boot_carries_the_label_of_the_detection() {
    let folder = Folder::new();
    let site = format!("{}/../../examples/telco-site", env!("CARGO_MANIFEST_DIR"));
    for part in [
        "cluster.yaml",
        "networks/smyrna.yaml",
        "networks/atlanta.yaml",
        "pools/worker-rwn.yaml",
        "nodes/remote.yaml",
        "profiles/profiles.yaml",
        "racks/smyr-r1.yaml",
        "region.yaml",
        "rules/roles.yaml",
        "pools/infra.yaml",
        "pools/master.yaml",
        "pools/worker.yaml",
    ] {
        let text = std::fs::read_to_string(format!("{site}/{part}")).unwrap();
        folder.write(
            &format!("site/{part}"),
            text.replace("node.openshift.io/remote-worker=,", ""),
        );
    }
    for words in [
        "ignition -f site --node smyrgaear01 --way kubelet-env",
        "ignition -f site --pool worker-rwn --way kubelet-env",
        "machineconfig -f site --pool worker-rwn --way kubelet-env",
        "cloud-init -f site --node smyrgaear01 --way kubelet-env",
    ] {
        let made = folder.line(words);
        assert_eq!(made.exit, 0, "{words}: {made}");
        assert!(
            made.stdout.contains("node.openshift.io%2Fremote-worker%3D")
                || made.stdout.contains("node.openshift.io/remote-worker="),
            "{words}: {made}"
        );
    }
}

/// What a hub needs once is made too; validations are disabled for the whole hub only where it is too old for another way.
#[test]
fn hub_wide_objects_are_made() {
    let folder = Folder::new();
    let out = folder.path().join("out");
    let kinds = |words: &str| {
        let _ = std::fs::remove_dir_all(&out);
        let made = at_root(&format!("ztp -f examples/telco-site {words} -o {}", out.display()));
        assert_eq!(made.exit, 0, "{made}");
        let files = std::fs::read_dir(out.join("hub")).unwrap();
        let mut names: Vec<String> = files
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let always = [
        "00-provisioning.yaml",
        "02-agentserviceconfig.yaml",
        "03-clusterimageset.yaml",
        "kustomization.yaml",
    ];
    assert_eq!(kinds(""), always);
    assert_eq!(kinds("--unsupported"), always);
    assert_eq!(kinds("--unsupported --hub-release 2.17"), always);
    let old = kinds("--unsupported --hub-release 2.16 --release-image mirror.example/ocp:4.18.9");
    assert_eq!(old[1], "01-configmap-assisted-service-config.yaml");
    let text = |name: &str| std::fs::read_to_string(out.join(name)).unwrap();
    assert!(
        text("hub/01-configmap-assisted-service-config.yaml")
            .contains("DISABLED_HOST_VALIDATIONS: belongs-to-machine-cidr,")
    );
    assert!(text("hub/02-agentserviceconfig.yaml").contains("assisted-service-configmap: assisted-service-config"));
    assert!(text("hub/03-clusterimageset.yaml").contains("releaseImage: mirror.example/ocp:4.18.9"));
    assert!(!text("31-agentclusterinstall.yaml").contains("ignored-host-validations"));
}
