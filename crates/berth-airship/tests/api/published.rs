//! Sites as people have them: they commit, render as Deckhand renders them, and relabel with every label.

use std::{collections::BTreeMap, path::PathBuf};

use berth_airship::Auth;
use berth_workflow::WorkflowOptions;
use serde_json::{Value, json};

use crate::relabelling::{On, Relabelling};

/// A site, the files that it is in, and the labels that Drydock computes for its nodes.
struct Site {
    name: &'static str,
    files: &'static [&'static str],
    nodes: &'static [(&'static str, &'static [&'static str])],
    /// What a commit remarks, by the name of the finding.
    remarks: &'static [&'static str],
}

const SITES: [Site; 4] = [
    Site {
        name: "harbor",
        files: &["global", "type", "site"],
        nodes: &[
            (
                "cab5-r720-11",
                &[
                    "IAM=enabled",
                    "beta.kubernetes.io/fluentd-ds-ready=true",
                    "ceph-mon=enabled",
                    "ceph-osd=enabled",
                    "control-plane=enabled",
                    "kube-etcd=enabled",
                    "maas-region=enabled",
                    "openstack-cinder-volume=control",
                    "openstack-control-plane=enabled",
                    "openstack-l3-agent=enabled",
                    "ucp-control-plane=enabled",
                ],
            ),
            (
                "cab5-r720-12",
                &[
                    "ceph-osd=enabled",
                    "control-plane=enabled",
                    "openstack-l3-agent=enabled",
                ],
            ),
            (
                "cab5-r720-13",
                &[
                    "fluentbit=enabled",
                    "openstack-nova-compute=enabled",
                    "openvswitch=enabled",
                    "tenant-ceph-osd=enabled",
                ],
            ),
        ],
        remarks: &[],
    },
    Site {
        name: "sloop",
        files: &["documents"],
        nodes: &[(
            "sloop-compute-1",
            &[
                "fluentd=enabled",
                "openstack-libvirt=kernel",
                "openstack-nova-compute=enabled",
                "openvswitch=enabled",
                "tenant-ceph-osd=enabled",
            ],
        )],
        remarks: &[],
    },
    Site {
        name: "virtual",
        files: &["documents"],
        nodes: &[
            (
                "n1",
                &[
                    "ceph-mon=enabled",
                    "control-plane=enabled",
                    "kube-etcd=enabled",
                    "ucp-control-plane=enabled",
                ],
            ),
            (
                "n2",
                &[
                    "ceph-mgr=enabled",
                    "control-plane=enabled",
                    "genesis=enabled",
                    "openstack-cinder-volume=control",
                ],
            ),
        ],
        remarks: &[],
    },
    Site {
        name: "sample",
        files: &["documents"],
        nodes: &[
            (
                "controller01",
                &[
                    "controller=enabled",
                    "public-ip=enabled",
                    "telco.example/site=houston",
                    "telco.example/tier=k8s",
                ],
            ),
            ("compute01", &["telco.example/site=houston", "telco.example/tier=k8s"]),
        ],
        remarks: &["bmc-password", "unknown-rack"],
    },
];

fn read(file: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/sites").join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Site {
    /// Loads every file as a collection of its own, commits, and gives the answer of the commit.
    async fn commit(&self, server: &Relabelling) -> Value {
        for file in self.files {
            let documents = read(&format!("{}/{file}.yaml", self.name));
            let path = format!("configdocs/{file}?buffermode=append");
            let loaded = server.api.post(&path, &documents).await.expect(201).json();
            assert_eq!(loaded["status"], "Success", "{}: {loaded}", self.name);
        }
        server.api.post("commitconfigdocs", "").await.expect(200).json()
    }
}

async fn server() -> Relabelling {
    let server = Relabelling::empty(On::Sqlite, Auth::None, WorkflowOptions::default()).await;
    server.expect("SQLite is always there")
}

#[tokio::test(flavor = "multi_thread")]
async fn they_commit_without_an_error() {
    for site in &SITES {
        let committed = site.commit(&server().await).await;
        assert_eq!(
            committed["message"], "Validations succeeded",
            "{}: {committed}",
            site.name
        );
        let messages = committed["details"]["messageList"].as_array().unwrap();
        let mut remarks: Vec<&str> = messages
            .iter()
            .filter(|message| message["level"] != "Info")
            .map(|message| message["name"].as_str().unwrap())
            .collect();
        remarks.dedup();
        assert_eq!(remarks, site.remarks, "{}: {committed}", site.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn they_render_document_by_document_as_deckhand_renders_them() {
    type Key = (String, Option<String>, String);
    for site in &SITES {
        let server = server().await;
        site.commit(&server).await;
        let rendered = server.api.get("revisions?tag=committed").await.yaml();
        let revision = rendered["results"][0]["id"].to_string();
        let path = format!("revisions/{revision}/rendered-documents?cleartext-secrets=true");
        let rendered = server.api.get(&path).await.expect(200).documents();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let key = |document: &Value| -> Key {
            (
                text(&document["schema"]).unwrap(),
                text(&document["metadata"]["layeringDefinition"]["layer"]),
                text(&document["metadata"]["name"]).unwrap(),
            )
        };
        let mut rendered: BTreeMap<Key, Value> = rendered
            .iter()
            .map(|document| (key(document), document["data"].clone()))
            .collect();
        let judged: Vec<Value> = serde_json::from_str(&read(&format!("rendered/{}.json", site.name))).unwrap();
        for document in judged {
            let key: Key = (
                text(&document["schema"]).unwrap(),
                text(&document["layer"]),
                text(&document["name"]).unwrap(),
            );
            let data = rendered
                .remove(&key)
                .unwrap_or_else(|| panic!("{}: {key:?} is missing", site.name));
            assert_eq!(data, document["data"], "{}: {key:?}", site.name);
        }
        assert!(
            rendered.is_empty(),
            "{}: Deckhand does not render {:?}",
            site.name,
            rendered.keys()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn they_relabel_with_every_label() {
    for site in &SITES {
        let server = server().await;
        site.commit(&server).await;
        server.site_action().await;
        for (node, _) in site.nodes {
            server
                .add_node(node, &[("kubernetes.io/hostname", node), ("left-behind", "yes")])
                .await;
        }
        server.work();
        let names: Vec<&str> = site.nodes.iter().map(|(node, _)| *node).collect();
        let action = server.relabel(&json!(names)).await.expect(201).json();
        let ended = server.ended(action["id"].as_str().unwrap()).await;
        assert_eq!(ended["action_lifecycle"], "Complete", "{}: {ended}", site.name);
        for (node, labels) in site.nodes {
            let mut carried = server.labels(node).await;
            // What Berth adds of its own is under its own name.
            carried.retain(|label| !label.starts_with("berth.dev/") && !label.starts_with("kubernetes.io/hostname="));
            assert_eq!(carried, *labels, "{} {node}", site.name);
        }
    }
}
