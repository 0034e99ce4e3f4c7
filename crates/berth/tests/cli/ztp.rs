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
    let checked = at_root(&format!("ztp check {} -f examples/telco-site", folder.path().display()));
    // The folder has the hosts of day 2 too, which the counts of day 0 do not know.
    assert_eq!(checked.exit, 1, "{checked}");
    assert!(checked.stdout.contains("ztp-machine-network"), "{checked}");
    std::fs::remove_dir_all(folder.path().join("day2")).unwrap();
    let checked = at_root(&format!("ztp check {} -f examples/telco-site", folder.path().display()));
    assert_eq!(checked.exit, 0, "{checked}");
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
