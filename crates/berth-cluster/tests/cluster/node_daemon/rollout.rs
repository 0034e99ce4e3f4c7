//! Rollouts of the controllers over real daemons.

use std::time::Duration;

use berth_cluster::controller::{Mode, Options, PoolOptions};
use berth_pools::annotation;
use berth_resources::{MachineConfig, MachineConfigNode, MachineConfigPool};
use k8s_openapi::api::core::v1::Node;
use kube::{
    ResourceExt as _,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};

use super::{
    file, files,
    machine::{Machine, possible},
    runs, said, settings,
};
use crate::{
    daemons::Witness,
    support::{Cluster, Needs, from_json, on_both},
};

on_both! {
    Needs::NOTHING;
    three_machines_change_one_after_the_other,
    a_config_that_breaks_services_stops_at_the_first_machine,
    what_somebody_else_says_about_a_node_is_left_alone,
}

const POOL: &str = "edge";
const MARK: &str = "test.example/edge";
const NODES: [&str; 3] = ["n1", "n2", "n3"];

fn full(options: &mut Options) {
    options.mode = Mode::Full;
    options.admission = None;
    options.pools = PoolOptions {
        settle: Duration::from_millis(300),
        first_drain_retry: Duration::from_millis(100),
        longest_drain_retry: Duration::from_secs(1),
        ..PoolOptions::default()
    };
}

/// Three machines that run what the pool gives them.
async fn machines(cluster: &Cluster, ignition: Value) -> Vec<Machine> {
    cluster.machine_config("50-base", POOL, ignition).await;
    cluster.machine_pool(POOL, MARK).await;
    let mut machines = Vec::new();
    for node in NODES {
        cluster.node(node, json!({MARK: ""})).await;
        machines.push(Machine::start(cluster, node, settings()).await);
    }
    machines
}

/// The rendered config with these sources.
async fn rendered(cluster: &Cluster, source: &str) -> String {
    let pool: MachineConfigPool = cluster
        .seen(POOL, "was rendered", |pool: &MachineConfigPool| {
            let configuration = pool.spec.configuration.iter();
            let mut sources = configuration.flat_map(|configuration| configuration.source.iter().flatten());
            sources.any(|found| found.name.as_deref() == Some(source))
        })
        .await;
    pool.spec.configuration.and_then(|found| found.name).expect("rendered")
}

async fn all_run(cluster: &Cluster, config: &str) {
    for node in NODES {
        cluster
            .node_with(node, "got there", |node| {
                let served = !node
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.unschedulable)
                    .unwrap_or_default();
                runs(node, config) && served
            })
            .await;
    }
    cluster
        .seen(POOL, "was updated", |pool: &MachineConfigPool| {
            let status = pool.status.as_ref();
            status
                .is_some_and(|status| status.updated_machine_count == Some(3) && status.ready_machine_count == Some(3))
        })
        .await;
    for node in NODES {
        let about = cluster
            .seen(node, "was reported to be updated", |about: &MachineConfigNode| {
                says(about, "Updated", "True") && about.spec.config_version.desired == config
            })
            .await;
        let found = cluster.node_with(node, "was there", |_| true).await;
        assert_eq!(about.owner_references()[0].uid, found.uid().unwrap_or_default());
        assert_eq!(about.spec.pool.name, POOL);
        let status = about.status.clone().expect("a status");
        assert_eq!(status.config_version.expect("a version").current, config);
        assert!(says(&about, "NodeDegraded", "False") && says(&about, "Drained", "False"));
    }
}

/// Whether the object about a node has this condition.
fn says(about: &MachineConfigNode, step: &str, word: &str) -> bool {
    let mut conditions = about.status.iter().flat_map(|status| &status.conditions);
    conditions.any(|condition| condition.type_ == step && condition.status == word)
}

async fn three_machines_change_one_after_the_other(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    let controllers = cluster.controllers(full);
    let machines = machines(cluster, files(&[file("/etc/base", "base")])).await;
    let first = rendered(cluster, "50-base").await;
    all_run(cluster, &first).await;
    let witness = Witness::start(&cluster.client, &[MARK]).await;
    let before: Vec<u32> = machines.iter().map(Machine::reboots).collect();

    // Files, a unit and keys: a drain and a reboot for each machine, one after the other.
    let unit = json!({"name": "agent.service", "enabled": true, "contents": "[Service]\nExecStart=/bin/true\n"});
    let drop_in =
        json!({"name": "chronyd.service", "enabled": true, "dropins": [{"name": "10-a.conf", "contents": "[Unit]\n"}]});
    cluster
        .machine_config(
            "60-more",
            POOL,
            json!({
                "storage": {"files": [file("/etc/new.conf", "new"), file("/etc/chrony.conf", "ours")]},
                "systemd": {"units": [unit, drop_in]},
                "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 one"]}]},
            }),
        )
        .await;
    let second = rendered(cluster, "60-more").await;
    all_run(cluster, &second).await;
    assert_eq!(witness.most(MARK), 1, "one at a time");
    for (machine, before) in machines.iter().zip(&before) {
        assert_eq!(machine.reboots(), before + 1);
        for (path, text) in [
            ("/etc/base", "base"),
            ("/etc/new.conf", "new"),
            ("/etc/chrony.conf", "ours"),
            ("/etc/systemd/system/agent.service", "[Service]\nExecStart=/bin/true\n"),
            ("/etc/systemd/system/chronyd.service.d/10-a.conf", "[Unit]\n"),
            ("/home/core/.ssh/authorized_keys", "ssh-ed25519 one\n"),
        ] {
            assert_eq!(machine.read(path).as_deref(), Some(text), "{path}");
        }
        assert!(
            machine
                .path("/etc/systemd/system/multi-user.target.wants/agent.service")
                .is_symlink()
        );
    }

    // Keys and boot labels follow without a drain or a reboot.
    let cordons = cluster.history().await;
    cluster
        .machine_config(
            "70-free",
            POOL,
            json!({
                "storage": {"files": [file("/etc/berth/labels", "test.example/edge=%0Atier=edge")]},
                "passwd": {"users": [{"name": "core", "sshAuthorizedKeys": ["ssh-ed25519 two"]}]},
            }),
        )
        .await;
    let third = rendered(cluster, "70-free").await;
    all_run(cluster, &third).await;
    for (machine, before) in machines.iter().zip(&before) {
        assert_eq!(machine.reboots(), before + 1);
        assert_eq!(
            machine.read("/etc/berth/labels").as_deref(),
            Some("test.example/edge=\ntier=edge")
        );
        let versions = cordons.of(&machine.node);
        assert!(!versions.is_empty());
        let asked = |node: &Node| said(node, annotation::DESIRED_DRAIN) == format!("drain-{third}");
        assert!(!versions.iter().any(asked), "nobody was drained for it");
    }

    // What was shipped comes back when the config lets go of it.
    let configs = cluster.api::<MachineConfig>();
    configs
        .delete("60-more", &DeleteParams::default())
        .await
        .expect("deleted");
    let pool = cluster
        .seen(POOL, "was rendered without it", |pool: &MachineConfigPool| {
            let name = pool.spec.configuration.as_ref().and_then(|found| found.name.as_ref());
            name.is_some_and(|name| ![&first, &second, &third].contains(&name))
        })
        .await;
    let fourth = pool.spec.configuration.and_then(|found| found.name).expect("rendered");
    all_run(cluster, &fourth).await;
    for machine in &machines {
        assert_eq!(machine.read("/etc/chrony.conf").as_deref(), Some("shipped"));
        assert_eq!(machine.read("/etc/new.conf"), None);
        assert_eq!(machine.read("/etc/systemd/system/agent.service"), None);
    }
    controllers.stop().await;
}

async fn a_config_that_breaks_services_stops_at_the_first_machine(cluster: &mut Cluster) {
    if !possible() {
        return;
    }
    let controllers = cluster.controllers(full);
    let enabled = json!({"name": "chronyd.service", "enabled": true});
    let machines = machines(
        cluster,
        json!({"storage": {"files": [file("/etc/chrony.conf", "good")]}, "systemd": {"units": [enabled]}}),
    )
    .await;
    let first = rendered(cluster, "50-base").await;
    all_run(cluster, &first).await;
    let witness = Witness::start(&cluster.client, &[MARK]).await;

    cluster
        .machine_config("60-break", POOL, files(&[file("/etc/chrony.conf", "broken")]))
        .await;
    let second = rendered(cluster, "60-break").await;
    let pool = cluster
        .seen(POOL, "was degraded", |pool: &MachineConfigPool| {
            let degraded = pool.status.as_ref().and_then(|status| status.degraded_machine_count);
            // The machine serves again.
            degraded == Some(1) && pool.status.as_ref().and_then(|status| status.unavailable_machine_count) == Some(0)
        })
        .await;
    let conditions = pool.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let told: Vec<&str> = conditions
        .filter(|condition| condition.type_.as_deref() == Some("NodeDegraded"))
        .filter_map(|condition| condition.message.as_deref())
        .collect();
    assert!(
        told.iter().any(|text| text.contains("chronyd.service does not run")),
        "{told:?}"
    );
    assert_eq!(
        witness.targeted(&second),
        1,
        "the rollout stopped before the second machine"
    );
    let mut back = 0;
    for machine in &machines {
        assert_eq!(machine.read("/etc/chrony.conf").as_deref(), Some("good"));
        let degraded = cluster.node_with(&machine.node, "was there", |_| true).await;
        if said(&degraded, annotation::STATE) == "Degraded" {
            cluster
                .seen(
                    &machine.node,
                    "was reported to be degraded",
                    |about: &MachineConfigNode| {
                        let mut conditions = about.status.iter().flat_map(|status| &status.conditions);
                        let degraded = conditions.find(|condition| condition.type_ == "NodeDegraded");
                        degraded.is_some_and(|degraded| {
                            degraded.status == "True" && degraded.message.contains("chronyd.service does not run")
                        })
                    },
                )
                .await;
            back += 1;
            assert_eq!(said(&degraded, annotation::CURRENT_CONFIG), first);
            assert_eq!(
                said(&degraded, annotation::REASON),
                format!(
                    "{second} was given up: not healthy within 1s: chronyd.service does not run. The node is back at {first}"
                )
            );
        }
    }
    assert_eq!(back, 1);

    // A config that works gets everywhere.
    let fixed = json!({"spec": {"config": {
        "ignition": {"version": "3.5.0"}, "storage": {"files": [file("/etc/chrony.conf", "better")]},
    }}});
    let configs = cluster.api::<MachineConfig>();
    let patched = configs
        .patch("60-break", &PatchParams::default(), &Patch::Merge(fixed))
        .await;
    patched.expect("patched");
    for machine in &machines {
        machine
            .sees("got the better config", |machine| {
                machine.read("/etc/chrony.conf").as_deref() == Some("better")
            })
            .await;
    }
    controllers.stop().await;
}

async fn what_somebody_else_says_about_a_node_is_left_alone(cluster: &mut Cluster) {
    // As OpenShift's operator makes it.
    let theirs: MachineConfigNode = from_json(json!({
        "metadata": {"name": "n1"},
        "spec": {"node": {"name": "n1"}, "pool": {"name": "theirs"}, "configVersion": {"desired": "not-yet-set"}},
    }));
    let objects = cluster.api::<MachineConfigNode>();
    let created = objects.create(&PostParams::default(), &theirs).await;
    created.expect("created");
    // The object about a node has its name.
    let mut misnamed = theirs.clone();
    misnamed.metadata.name = Some("n9".to_owned());
    let refused = objects.create(&PostParams::default(), &misnamed).await;
    assert!(refused.expect_err("refused").to_string().contains("name of the object"));

    let controllers = cluster.controllers(full);
    cluster
        .machine_config("50-base", POOL, files(&[file("/etc/base", "base")]))
        .await;
    cluster.machine_pool(POOL, MARK).await;
    for node in ["n1", "n2"] {
        cluster.node(node, json!({MARK: ""})).await;
    }
    let config = rendered(cluster, "50-base").await;
    for node in ["n1", "n2"] {
        let done = json!({
            annotation::CURRENT_CONFIG: config, annotation::DESIRED_CONFIG: config, annotation::STATE: "Done",
        });
        cluster.annotate(node, done).await;
    }
    cluster
        .seen("n2", "was reported to be updated", |about: &MachineConfigNode| {
            says(about, "Updated", "True")
        })
        .await;
    // Writes that have begun are ended.
    controllers.stop().await;
    let about = objects.get("n1").await.expect("an object");
    assert_eq!((about.spec.pool.name.as_str(), about.status), ("theirs", None));
}
