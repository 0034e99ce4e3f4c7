//! A server with a cluster behind it: the embedded one, a database, and the engine between them.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use berth_airship::{Api, ApiState, Auth, OtherDeckhand};
use berth_clock::Clock;
use berth_listen::{ListenOptions, Server};
use berth_repository::{Configdocs, Repository, SiteRules};
use berth_sim::{ApiServer, Cluster, ClusterOptions};
use berth_store::{ActionStore, Database, SealingKey, SealingKeys, Store};
use berth_workflow::{Engine, EngineOptions, Workflow, WorkflowOptions};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Client,
    api::{DeleteParams, Patch, PatchParams, PostParams},
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    fixture::{Reply, Served},
    postgres_server,
};

/// The documents that the reference says are the least that label work needs, and a little more.
pub(crate) const SITE: &str = "\
---
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data: {layerOrder: [global, type, site]}
---
schema: shipyard/DeploymentConfiguration/v1
metadata: {schema: metadata/Document/v1, name: deployment-configuration, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: global}}
data: {armada: {manifest: full-site}, physical_provisioner: {relabel_nodes_interval: 1, relabel_nodes_timeout: 60}}
---
schema: drydock/HardwareProfile/v1
metadata: {schema: metadata/Document/v1, name: hw, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {vendor: HP, generation: '8', hw_version: '3', bios_version: '2.2.3', boot_mode: bios, bootstrap_protocol: pxe, pxe_interface: 0, device_aliases: {}}
---
schema: drydock/HostProfile/v1
metadata: {schema: metadata/Document/v1, name: defaults, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {hardware_profile: hw, metadata: {owner_data: {control-plane: enabled, foo: bar}}}
---
schema: drydock/Rack/v1
metadata: {schema: metadata/Document/v1, name: rack1, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {metadata: {owner_data: {row: a}}, local_networks: []}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: node2, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data:
  host_profile: defaults
  addressing: [{network: pxe, address: dhcp}]
  metadata: {owner_data: {label-n: some-value}}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: node1, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data:
  host_profile: defaults
  addressing: [{network: pxe, address: dhcp}]
  metadata: {rack: rack1, tags: [masters], owner_data: {'!foo': '', ceph-osd: enabled}}
";

pub(crate) const JSON: &str = "application/json";

/// Where documents and actions are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum On {
    Sqlite,
    Postgres,
}

/// Runs each test on both databases.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    super::$name(crate::relabelling::On::Sqlite).await;
                }
            )+
        }

        mod postgres {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $name() {
                    super::$name(crate::relabelling::On::Postgres).await;
                }
            )+
        }
    };
}
pub(crate) use on_both;

/// A server with a cluster.
pub(crate) struct Relabelling {
    pub(crate) api: Served,
    pub(crate) cluster: Option<ApiServer>,
    pub(crate) client: Client,
    pub(crate) workflow: Arc<Workflow>,
    stop: CancellationToken,
    _folder: tempfile::TempDir,
}

impl Drop for Relabelling {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Relabelling {
    /// With the site committed and recorded as deployed, its nodes in the cluster, and the engine at work. Nothing when there is
    /// no program for the database on this machine.
    pub(crate) async fn ready(on: On) -> Option<Self> {
        let server = Self::empty(on, Auth::None, WorkflowOptions::default()).await?;
        server.commit(SITE).await;
        server.site_action().await;
        server.work();
        Some(server)
    }

    /// With nodes in the cluster and nothing else.
    pub(crate) async fn empty(on: On, auth: Auth, options: WorkflowOptions) -> Option<Self> {
        Self::beside(on, auth, options, Vec::new()).await
    }

    /// The same, configured with other Deckhands.
    pub(crate) async fn beside(
        on: On,
        auth: Auth,
        options: WorkflowOptions,
        deckhands: Vec<OtherDeckhand>,
    ) -> Option<Self> {
        let cluster = Cluster::new(ClusterOptions::new(Clock::system(), 1));
        let cluster = ApiServer::start(cluster, "127.0.0.1:0".parse().unwrap()).await.unwrap();
        let client = Client::try_from(kube::Config::new(cluster.url().parse().unwrap())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let database = match on {
            On::Sqlite => format!("sqlite:{}", folder.path().join("berth.db").display()),
            On::Postgres => postgres_server::database().await?,
        };
        let keys = SealingKeys::new(vec![SealingKey::new(&[7; 32]).unwrap()]);
        let opened: Arc<dyn Database> = berth_store::open(&database, keys).await.unwrap();
        let store: Arc<dyn ActionStore> = Arc::clone(&opened) as _;
        let documents: Arc<dyn Store> = opened;
        let repository = Arc::new(Repository::new(documents));
        let clock = Clock::system();
        let engine = Engine::new(
            Arc::clone(&store),
            client.clone(),
            EngineOptions::new("test", clock.clone()),
        );
        let rules = Arc::new(SiteRules::default());
        let configdocs = Arc::new(Configdocs::new(Arc::clone(&repository), rules.clone()));
        let workflow = Arc::new(Workflow::new(configdocs, Arc::clone(&store), Arc::new(engine), options));
        let stop = CancellationToken::new();
        let number = std::sync::atomic::AtomicU64::new(1);
        let next = move || format!("request-{}", number.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let state = ApiState::new(repository, rules, auth, clock, Arc::new(next))
            .with_workflow(Arc::clone(&workflow))
            .with_deckhands(deckhands)
            .ending_with(stop.clone());
        let listen = ListenOptions {
            plain: Some("127.0.0.1:0".parse().unwrap()),
            ..ListenOptions::default()
        };
        let server = Server::bind(listen, Api::new(state)).await.unwrap();
        let address = server.plain_address().unwrap();
        let stopped = stop.clone();
        tokio::spawn(server.run(async move { stopped.cancelled().await }));
        let server = Self {
            api: Served::at(address, database),
            cluster: Some(cluster),
            client,
            workflow,
            stop,
            _folder: folder,
        };
        for node in ["node1", "node2"] {
            server
                .add_node(
                    node,
                    &[("kubernetes.io/hostname", node), ("foo", "bar"), ("old", "yes")],
                )
                .await;
        }
        Some(server)
    }

    /// Lets the engine work.
    pub(crate) fn work(&self) {
        let (engine, stop) = (Arc::clone(self.workflow.engine()), self.stop.clone());
        tokio::spawn(engine.run(stop));
    }

    /// How many writes the cluster has seen.
    pub(crate) fn revision(&self) -> u64 {
        self.cluster.as_ref().map_or(0, |server| server.cluster().revision())
    }

    fn nodes(&self) -> kube::Api<Node> {
        kube::Api::all(self.client.clone())
    }

    pub(crate) async fn add_node(&self, name: &str, labels: &[(&str, &str)]) {
        let labels: BTreeMap<&str, &str> = labels.iter().copied().collect();
        let node = serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
        self.nodes().create(&PostParams::default(), &node).await.unwrap();
    }

    pub(crate) async fn delete_node(&self, name: &str) {
        self.nodes().delete(name, &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn label(&self, node: &str, key: &str, value: &str) {
        let patch = json!({"metadata": {"labels": {key: value}}});
        let patched = self
            .nodes()
            .patch(node, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched.unwrap();
    }

    /// `key=value` of every label of a Node in the cluster.
    pub(crate) async fn labels(&self, node: &str) -> Vec<String> {
        let node = self.nodes().get(node).await.unwrap();
        let labels = node.metadata.labels.unwrap_or_default();
        labels.iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    pub(crate) async fn commit(&self, documents: &str) {
        self.api
            .post("configdocs/site?buffermode=replace", documents)
            .await
            .expect(201);
        let committed = self.api.post("commitconfigdocs", "").await;
        assert_eq!(committed.status, 200, "{}", committed.body);
    }

    pub(crate) async fn site_action(&self) {
        let revisions = self.api.get("revisions?tag=committed").await.yaml();
        let id = revisions["results"].as_array().unwrap().last().unwrap()["id"].to_string();
        self.api
            .post(&format!("revisions/{id}/tags/site-action-success"), "")
            .await
            .expect(201);
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let text = body.map(ToString::to_string);
        let path = format!("/api/v1.0/{path}");
        self.api
            .send(method, &path, &[("Content-Type", JSON)], text.as_deref())
            .await
    }

    pub(crate) async fn relabel(&self, nodes: &Value) -> Reply {
        let body = json!({"name": "update_labels", "parameters": {"target_nodes": nodes}});
        self.send("POST", "actions", Some(&body)).await
    }

    /// The action once it has ended.
    pub(crate) async fn ended(&self, id: &str) -> Value {
        let path = format!("actions/{id}");
        let wait = async {
            loop {
                let action = self.api.get(&path).await.expect(200).json();
                if ["Complete", "Failed"].contains(&action["action_lifecycle"].as_str().unwrap()) {
                    return action;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(Duration::from_mins(1), wait)
            .await
            .expect("the action ends")
    }
}
