//! Requests on committed documents: what is refused, in which order and words, and what becomes of the rest.

use std::{collections::BTreeMap, sync::Arc};

use berth_api::MovesFrom;
use berth_decide::Strategy;
use berth_repository::{Configdocs, Repository, SiteRules, read_documents};
use berth_store::{ActionState, ActionStore, Database, MemoryStore, Origin, Store, SubtaskPage, Write};
use berth_workflow::{
    Caller, DeploymentConfiguration, Engine, EngineOptions, RelabelRequest, SubmitError, TaskRequest, Workflow,
    WorkflowOptions,
};
use serde_json::{Value, json};

use crate::world::{Decide, Embedded, Fault, create_nodes, labels, now, watched};

pub(crate) const SITE: &str = r"
schema: deckhand/LayeringPolicy/v1
metadata: {schema: metadata/Control/v1, name: layering-policy}
data: {layerOrder: [global, type, site]}
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
data: {location: {clli: HSTNTXMOCG0, grid: EG12}, local_networks: [pxe]}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: node-000, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data:
  host_profile: defaults
  addressing: [{network: pxe, address: dhcp}]
  metadata: {rack: rack1, tags: [masters], owner_data: {'!foo': '', ceph-osd: enabled}}
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: node-001, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data:
  host_profile: defaults
  addressing: [{network: pxe, address: dhcp}]
  metadata: {rack: rack1, owner_data: {}}
";

/// A node whose documents are wrong: its profile is not there.
const BROKEN: &str = r"
---
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: node-002, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data:
  host_profile: nowhere
  addressing: [{network: pxe, address: dhcp}]
  metadata: {owner_data: {}}
";

/// Shipyard's own document.
const CONFIGURATION: &str = r"
---
schema: shipyard/DeploymentConfiguration/v1
metadata: {schema: metadata/Document/v1, name: deployment-configuration, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {armada: {manifest: full-site}}
";

pub(crate) struct Desk {
    store: Arc<dyn Database>,
    configdocs: Arc<Configdocs>,
    engine: Arc<Engine>,
}

impl Desk {
    fn new(cluster: &Embedded) -> Self {
        Self::on(cluster.client())
    }

    pub(crate) fn on(client: kube::Client) -> Self {
        let store: Arc<dyn Database> = Arc::new(MemoryStore::new());
        let documents: Arc<dyn Store> = Arc::clone(&store) as Arc<dyn Store>;
        let actions: Arc<dyn ActionStore> = Arc::clone(&store) as Arc<dyn ActionStore>;
        let repository = Arc::new(Repository::new(documents));
        let options = EngineOptions::new("desk", crate::world::clock());
        Self {
            configdocs: Arc::new(Configdocs::new(repository, Arc::new(SiteRules::default()))),
            engine: Arc::new(Engine::new(actions, client, options)),
            store,
        }
    }

    pub(crate) fn workflow(&self, options: WorkflowOptions) -> Workflow {
        let actions: Arc<dyn ActionStore> = Arc::clone(&self.store) as Arc<dyn ActionStore>;
        Workflow::new(Arc::clone(&self.configdocs), actions, Arc::clone(&self.engine), options)
    }

    pub(crate) async fn put(&self, text: &str) -> u64 {
        let documents = read_documents(text).unwrap();
        let put = self
            .configdocs
            .repository()
            .put_bucket("site", &documents, Write::at(now()))
            .await
            .unwrap();
        put.revision.unwrap().id
    }

    pub(crate) async fn tag(&self, revision: u64, tag: &str) {
        self.configdocs.repository().put_tag(revision, tag, None).await.unwrap();
    }
}

fn caller() -> Caller {
    let mut random = [7; 26];
    random[..8].copy_from_slice(&now().to_be_bytes());
    Caller {
        user: "site engineer".to_owned(),
        context_marker: "mark".to_owned(),
        now: now(),
        random,
    }
}

pub(crate) fn request(nodes: &[&str]) -> RelabelRequest {
    RelabelRequest::read("update_labels", json!({ "target_nodes": nodes }).as_object()).unwrap()
}

fn refusal(answer: Result<berth_store::Action, SubmitError>) -> (u16, String, String) {
    let error = answer.unwrap_err();
    (error.status(), error.title(), error.description())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_checked_in_their_order() {
    let cluster = Embedded::start().await;
    let desk = Desk::new(&cluster);
    let workflow = desk.workflow(WorkflowOptions::default());
    let create = async |nodes: &[&str]| workflow.create_action(&request(nodes), &caller()).await;
    let (status, title, text) = refusal(create(&["unknown"]).await);
    assert_eq!(
        (status, &*title, &*text),
        (
            400,
            "No committed configdocs",
            "Unable to locate a committed revision in Deckhand"
        )
    );
    let revision = desk.put(&format!("{SITE}{BROKEN}")).await;
    assert_eq!(
        refusal(create(&["unknown"]).await).1,
        "No committed configdocs",
        "what is in the buffer does not count"
    );
    desk.tag(revision, "committed").await;
    let (status, title, text) = refusal(create(&["unknown"]).await);
    assert_eq!((status, &*title), (400, "No site action"));
    assert!(text.contains("berth site-action record"), "{text}");
    desk.tag(revision, "site-action-success").await;
    let (status, title, text) = refusal(create(&["node-000", "unknown", "other"]).await);
    assert_eq!((status, &*title), (400, "Unknown nodes"));
    assert_eq!(
        text,
        format!("Nodes that are not in the committed revision {revision}: unknown, other")
    );
    let (status, title, text) = refusal(create(&["node-000", "node-002"]).await);
    assert_eq!((status, &*title), (400, "Document validation failed"));
    assert!(text.contains("nowhere"), "{text}");

    // The error is about another node.
    let action = create(&["node-000"]).await.unwrap();
    assert_eq!((action.state, action.revision), (ActionState::Pending, Some(revision)));
    let filed = desk.store.action_validations(&action.id).await.unwrap();
    assert!(
        filed
            .iter()
            .any(|validation| validation.details["message"].to_string().contains("nowhere")),
        "{filed:?}"
    );
    let notes = desk.store.notes(&format!("action/{}", action.id)).await.unwrap();
    assert_eq!(notes[0].note.text, format!("Configdoc revision {revision}"));
    let (status, title, text) = refusal(create(&["node-001"]).await);
    assert_eq!((status, &*title), (409, "Conflicting action"));
    assert!(
        text.starts_with(&format!(
            "update_labels conflicts with scheduled update_labels {}",
            action.id
        )),
        "{text}"
    );

    let strict = desk.workflow(WorkflowOptions {
        all_or_nothing: true,
        ..WorkflowOptions::default()
    });
    assert_eq!(
        refusal(strict.create_action(&request(&["node-000"]), &caller()).await).1,
        "Document validation failed"
    );
    assert_eq!(
        desk.configdocs.repository().store().tags(revision).await.unwrap().len(),
        2,
        "tags are left alone"
    );
}

/// What says that Airship deploys a site.
const ARMADA: &str = r"
---
schema: armada/Manifest/v1
metadata: {schema: metadata/Document/v1, name: full-site, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {release_prefix: airship, chart_groups: []}
";

/// Shipyard's third check: after the committed revision, before everything that Berth adds.
#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_airship_deploys_needs_its_deployment_configuration() {
    use DeploymentConfiguration::{Airship, Always, Never};
    let cluster = Embedded::start().await;
    for (site, when, needed) in [
        (SITE.to_owned(), Airship, false),
        (SITE.to_owned(), Always, true),
        (format!("{SITE}{ARMADA}"), Airship, true),
        (format!("{SITE}{ARMADA}"), Never, false),
        (format!("{SITE}{ARMADA}{CONFIGURATION}"), Airship, false),
        (format!("{SITE}{ARMADA}{CONFIGURATION}"), Always, false),
    ] {
        let desk = Desk::new(&cluster);
        let workflow = desk.workflow(WorkflowOptions {
            deployment_configuration: when,
            ..WorkflowOptions::default()
        });
        let revision = desk.put(&site).await;
        desk.tag(revision, "committed").await;
        let error = workflow
            .create_action(&request(&["unknown"]), &caller())
            .await
            .unwrap_err();
        let title = if needed {
            "Document validation failed"
        } else {
            "No site action"
        };
        assert_eq!(error.title(), title, "{when:?}");
        // Shipyard skips this one check when it is told to go on, and no other.
        let parameters = json!({"target_nodes": ["unknown"], "continue-on-fail": "true"});
        let on = RelabelRequest::read("relabel_nodes", parameters.as_object()).unwrap();
        let next = workflow.create_action(&on, &caller()).await.unwrap_err();
        assert_eq!(next.title(), "No site action", "{when:?}");
        let next = workflow.preview_action(&on).await.unwrap_err();
        assert_eq!(next.title(), "No site action", "{when:?}");
        if !needed {
            continue;
        }
        assert_eq!(
            (error.status(), &*error.description()),
            (400, "InvalidConfigurationDocuments")
        );
        let schema = "shipyard/DeploymentConfiguration/v1";
        assert_eq!(
            serde_json::to_value(error.messages()).unwrap(),
            json!([{
                "kind": "ValidationMessage",
                "name": "DocumentNotFoundError",
                "message": format!("Missing required document {schema}"),
                "error": true,
                "level": "Error",
                "source": "Shipyard",
                "documents": [{"schema": schema, "name": "deployment-configuration"}],
                "diagnostic": format!(
                    "The configuration documents must include a document with schema: {schema} and name: \
                     deployment-configuration"
                ),
            }])
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn labels_come_from_the_documents() {
    let cluster = Embedded::start().await;
    let names: Vec<String> = crate::world::names(2);
    create_nodes(&cluster.client(), &names).await;
    let desk = Desk::new(&cluster);
    let revision = desk.put(SITE).await;
    desk.tag(revision, "committed").await;
    desk.tag(revision, "site-action-success").await;
    let workflow = desk.workflow(WorkflowOptions::default());
    let preview = workflow.preview_action(&request(&["node-000"])).await.unwrap();
    let outcome = &preview.nodes[0].outcome;
    let labels_after = json!(outcome.labels);
    assert_eq!(
        labels_after,
        json!({
            "kubernetes.io/hostname": "node-000",
            "control-plane": "enabled",
            "ceph-osd": "enabled",
            "berth.dev/rack": "rack1",
            "berth.dev/profile": "defaults",
            "berth.dev/hardware-profile": "hw",
            "berth.dev/tag-masters": "",
        })
    );
    assert_eq!((json!(outcome.removed), preview.held), (json!({"stale": "yes"}), None));
    assert_eq!(
        labels(&cluster.client()).await["node-000"].len(),
        2,
        "a preview writes nothing"
    );

    assert_eq!(preview.moves, Vec::<String>::new(), "nothing carries traffic");

    // A task without filter is for all nodes; it is not an action.
    let task = TaskRequest {
        design_ref: "deckhand+http://deckhand/revisions/1/rendered-documents".to_owned(),
        filter: None,
        filter_json: Value::Null,
        strategy: Some(Strategy::Owned),
        allow_mass_removal: false,
    };
    let running = tokio::spawn({
        let engine = Arc::clone(&desk.engine);
        async move { engine.run(tokio_util::sync::CancellationToken::new()).await }
    });
    let mut events = desk.engine.events();
    let task = workflow.create_task(&task, &caller()).await.unwrap();
    assert_eq!((task.origin, task.counts.total()), (Origin::Task, 2));
    let ended = async {
        while !desk.store.task(&task.task_id).await.unwrap().state.is_final() {
            let _ = events.recv().await;
        }
    };
    tokio::time::timeout(crate::world::LONG, ended).await.unwrap();
    running.abort();
    assert_eq!(
        desk.store.task(&task.task_id).await.unwrap().state,
        ActionState::Success
    );
    let subtasks = desk.store.subtasks(&task.id, SubtaskPage::ALL).await.unwrap();
    assert_eq!(subtasks[1].outcome.as_ref().unwrap()["set"]["foo"], json!("bar"));
    let found = labels(&cluster.client()).await;
    assert_eq!(
        found["node-000"]["stale"], "yes",
        "what Berth did not set stays with this strategy"
    );
    assert_eq!(found["node-000"]["ceph-osd"], "enabled");

    let nodes = workflow.nodes();
    let put = |requested: Value, dry_run| async move {
        let requested = serde_json::from_value(requested).unwrap();
        nodes.put("node-001", &requested, Strategy::Mirror, dry_run).await
    };
    let (diff, _) = put(json!({"a": "1"}), true).await.unwrap();
    assert!(diff.remove.contains("stale") && diff.set.contains_key("a"));
    assert_eq!(
        put(json!({"a": "1", "not legal": "x"}), false)
            .await
            .unwrap_err()
            .status(),
        400
    );
    assert!(
        !labels(&cluster.client()).await["node-001"].contains_key("a"),
        "the rest is untouched"
    );
    put(json!({"a": "1"}), false).await.unwrap();
    let after = labels(&cluster.client()).await;
    assert_eq!(
        after["node-001"].keys().collect::<Vec<_>>(),
        ["a", "kubernetes.io/hostname"]
    );
    let missing = nodes
        .put("nobody", &BTreeMap::default(), Strategy::Mirror, false)
        .await
        .unwrap_err();
    assert_eq!(missing.status(), 404);
}

/// An egress address in the network of both nodes.
const EGRESS: &str = r"
---
schema: drydock/Network/v1
metadata: {schema: metadata/Document/v1, name: pxe, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {cidr: 10.0.0.0/24}
---
schema: berth/EgressIP/v1
metadata: {schema: metadata/Document/v1, name: shop, storagePolicy: cleartext, layeringDefinition: {abstract: false, layer: site}}
data: {egressIPs: [10.0.0.50], namespaceSelector: {matchLabels: {type: shop}}}
";

/// A dry run says which addresses would move, and with them the connections through them.
#[tokio::test(flavor = "multi_thread")]
async fn a_preview_says_what_would_move() {
    let cluster = Embedded::start().await;
    create_nodes(&cluster.client(), &crate::world::names(2)).await;
    let mut desk = Desk::new(&cluster);
    let site = SITE.replacen("ceph-osd: enabled", "k8s.ovn.org/egress-assignable: ''", 1);
    let revision = desk.put(&format!("{site}{EGRESS}")).await;
    desk.tag(revision, "committed").await;
    desk.tag(revision, "site-action-success").await;
    let workflow = desk.workflow(WorkflowOptions::default());
    let preview = workflow.preview_action(&request(&["node-000"])).await.unwrap();
    assert_eq!(
        preview.moves,
        ["egress address 10.0.0.50 (EgressIP `shop`) gets a node: node-000"]
    );
    let other = workflow.preview_action(&request(&["node-001"])).await.unwrap();
    assert_eq!(other.moves, Vec::<String>::new());

    // A cluster that does not show its addresses leaves the simulation, with the reason.
    let refuse: Decide = Arc::new(|_, path, _| {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403,
            "message": "egressips.k8s.ovn.org is forbidden",
        });
        (path == "egressips").then_some(Fault::Answer(403, status))
    });
    // A path without a definition is answered with plain text.
    let unknown: Decide = Arc::new(|_, path, _| {
        let answer = Fault::Answer(404, json!("404 page not found"));
        ["egressips", "ingresscontrollers"].contains(&path).then_some(answer)
    });
    for (decide, expected) in [
        (
            refuse,
            "what the cluster has cannot be read: egressips.k8s.ovn.org is forbidden",
        ),
        (unknown, "the cluster has no EgressIP and no ingress controller"),
    ] {
        let (client, _) = watched(cluster.client(), Some(decide));
        let actions: Arc<dyn ActionStore> = Arc::clone(&desk.store) as Arc<dyn ActionStore>;
        let options = EngineOptions::new("desk", crate::world::clock());
        desk.engine = Arc::new(Engine::new(actions, client, options));
        let workflow = desk.workflow(WorkflowOptions::default());
        let preview = workflow.preview_action(&request(&["node-000"])).await.unwrap();
        assert_eq!(
            preview.moves,
            ["egress address 10.0.0.50 (EgressIP `shop`) gets a node: node-000"]
        );
        let MovesFrom::Simulation { reason } = preview.moves_from else {
            panic!("{:?}", preview.moves_from);
        };
        assert_eq!(reason, expected);
    }
}
