//! The writes of the pools' engine, each for itself.

use std::sync::Arc;

use berth_nodes::parameters;
use berth_pools::{MachineConfig, Rendered, annotation};
use k8s_openapi::api::core::v1::{Node, ObjectReference};
use kube::{
    Api,
    api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions},
    core::ApiResource,
};
use serde_json::{Value, json};

use super::reports;
use crate::controller::{
    kept::KeptNode,
    watches::PAGE,
    writer::{WriteError, Writer, node_reference},
};
use berth_decide::{
    NodePatch, NodeView, Note, names,
    pools::{
        Collection, ConfigView, MemberView, PoolView, RenderedView, SettingAnswer, SettingView, TemplateView,
        configuration, object, reconcilable,
    },
};
use berth_resources::{
    ContainerRuntimeConfig, ControllerConfig, KubeletConfig, MachineConfig as MachineConfigResource, MachineConfigPool,
};
use berth_site::GeneratingKind;

/// How often a pool may have been written by others before its config is given to it.
const CONFLICTS: usize = 5;

/// What a job is about: at most one runs for each.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Key {
    Status(String),
    Render(String),
    Node(String),
    Drain(String),
    Config(String),
    Note(String),
    /// A machine config that is made of other objects.
    Made(String),
    /// An object that machine configs are made of.
    Setting(GeneratingKind, String),
    /// The `MachineConfigNode` of a node.
    Report(String),
    /// The `ControllerConfig`.
    Templates,
    Confirm,
}

/// One write.
#[derive(Debug)]
pub(super) enum Job {
    /// The status of a pool.
    Status {
        pool: PoolView,
        patch: Value,
        notes: Vec<Note>,
    },
    /// A rendered config and the pool that gets it.
    Render {
        pool: PoolView,
        rendered: Box<Rendered>,
        inputs: Vec<MachineConfig>,
        /// The config to compare with.
        current: Option<String>,
        /// Whether the rendered config is there already.
        exists: bool,
    },
    /// A patch of a Node.
    Node { name: String, patch: NodePatch },
    /// Let Pods come again.
    Uncordon {
        name: String,
        uid: String,
        version: String,
        desired: String,
    },
    /// A machine config that is made of an object.
    Make(Value),
    /// One that nothing makes any more.
    Unmake(String),
    /// What such an object is to say.
    Answer(Box<SettingAnswer>),
    /// The status of the `ControllerConfig`.
    Templates(Box<TemplateView>, Value),
    /// A rendered config that nobody needs, or somebody does again.
    Collect(Collection),
    /// What the `MachineConfigNode` of a node says, by its pool.
    Report(Box<MemberView>, Option<String>),
    /// Something to tell about a pool.
    Note { pool: PoolView, note: Note },
    /// Read all Nodes as they are now, whatever the watch has seen.
    Confirm,
}

/// What came of it.
#[derive(Debug)]
pub(super) enum Answer {
    Pool(Box<PoolView>, Option<ConfigView>),
    /// The new config cannot follow the current one.
    Irreconcilable {
        pool: String,
        rendered: String,
        current: String,
        why: String,
    },
    Config(ConfigView),
    Setting(Box<SettingView>),
    Template(Box<TemplateView>),
    Node(Box<NodeView>),
    Nodes(Vec<KeptNode>),
    /// The cluster does not have the kind of the objects about nodes.
    NoReports,
    Nothing,
}

pub(super) async fn run(writer: Arc<Writer>, job: Job) -> Result<Answer, WriteError> {
    let pools: Api<DynamicObject> = Api::all_with(writer.client(), &ApiResource::erase::<MachineConfigPool>(&()));
    let nodes: Api<Node> = Api::all(writer.client());
    match job {
        Job::Status { pool, patch, notes } => {
            let patch = Patch::Merge(json!({"metadata": {"uid": pool.uid}, "status": patch}));
            let parameters = parameters();
            let patched = pools.patch_status(&pool.name, &parameters, &patch);
            let answer = writer.request("pool", "status", patched).await?;
            for note in &notes {
                writer.note(note, &pool_reference(&pool)).await;
            }
            Ok(pool_answer(&answer, None))
        }
        Job::Render {
            pool,
            rendered,
            inputs,
            current,
            exists,
        } => render(&writer, &pools, &pool, &rendered, &inputs, current, exists).await,
        Job::Node { name, patch } => {
            let node = writer.patch_node(&name, &patch).await?;
            Ok(Answer::Node(Box::new(node)))
        }
        Job::Uncordon {
            name,
            uid,
            version,
            desired,
        } => {
            let patch = NodePatch {
                uid: Some(uid),
                resource_version: Some(version),
                annotations: [(annotation::LAST_APPLIED_DRAIN.to_owned(), Some(desired))].into(),
                unschedulable: Some(false),
                ..NodePatch::default()
            };
            let written = writer.patch_node(&name, &patch).await?;
            let note = Note {
                reason: "Uncordon",
                message: "the node has moved and takes Pods again".to_owned(),
                warning: false,
            };
            writer.note(&note, &node_reference(&written)).await;
            Ok(Answer::Node(Box::new(written)))
        }
        Job::Make(object) => make(&writer, &object).await,
        Job::Unmake(name) => {
            let parameters = DeleteParams::default();
            let configs = configs(&writer);
            match writer
                .request("config", "delete", configs.delete(&name, &parameters))
                .await
            {
                Err(error) if !error.is_outdated() => Err(error),
                _ => Ok(Answer::Nothing),
            }
        }
        Job::Answer(answer) => say(&writer, &answer).await,
        Job::Templates(view, status) => {
            let controllers: Api<DynamicObject> =
                Api::all_with(writer.client(), &ApiResource::erase::<ControllerConfig>(&()));
            let patch = Patch::Merge(json!({"metadata": {"uid": view.uid}, "status": status}));
            let parameters = parameters();
            let patched = controllers.patch_status(&view.name, &parameters, &patch);
            let written = writer.request("controllerconfig", "status", patched).await?;
            let object = serde_json::to_value(written).unwrap_or_default();
            Ok(Answer::Template(Box::new(TemplateView::read(view.kind, &object))))
        }
        Job::Collect(collection) => collect(&writer, collection).await,
        Job::Report(node, pool) => reports::write(&writer, &node, pool.as_deref()).await,
        Job::Note { pool, note } => {
            writer.note(&note, &pool_reference(&pool)).await;
            Ok(Answer::Nothing)
        }
        Job::Confirm => {
            let mut all = Vec::new();
            let mut parameters = ListParams::default().limit(PAGE);
            loop {
                let page = writer.request("node", "list", nodes.list(&parameters)).await?;
                all.extend(page.items.into_iter().map(|node| NodeView::from(node).into()));
                match page.metadata.continue_.filter(|token| !token.is_empty()) {
                    Some(token) => parameters = parameters.continue_token(&token),
                    None => return Ok(Answer::Nodes(all)),
                }
            }
        }
    }
}

/// Writes a machine config that is made of an object. Nobody else has a say in what is in it.
async fn make(writer: &Writer, object: &Value) -> Result<Answer, WriteError> {
    let name = object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let configs = configs(writer);
    let parameters = PatchParams::apply(names::FIELD_MANAGER).force();
    let patch = Patch::Apply(object);
    let written = configs.patch(name, &parameters, &patch);
    let written = writer.request("config", "apply", written).await?;
    let read = serde_json::to_value(written)
        .ok()
        .and_then(|object| ConfigView::read(&object).ok());
    Ok(read.map_or(Answer::Nothing, Answer::Config))
}

/// Says in an object what became of it. Its number comes first: with it the names of its machine configs stay as they are.
async fn say(writer: &Writer, answer: &SettingAnswer) -> Result<Answer, WriteError> {
    let setting = &answer.setting;
    let resource = match setting.kind {
        GeneratingKind::KubeletConfig => ApiResource::erase::<KubeletConfig>(&()),
        GeneratingKind::ContainerRuntimeConfig => ApiResource::erase::<ContainerRuntimeConfig>(&()),
    };
    let settings: Api<DynamicObject> = Api::all_with(writer.client(), &resource);
    let parameters = parameters();
    let mut written = None;
    if let Some(annotations) = answer.annotations() {
        let patch = Patch::Merge(json!({
            "metadata": {"uid": setting.uid, "resourceVersion": setting.resource_version, "annotations": annotations},
        }));
        let patched = settings.patch(&setting.name, &parameters, &patch);
        written = Some(writer.request("setting", "patch", patched).await?);
    }
    if let Some(status) = &answer.status {
        let patch = Patch::Merge(json!({"metadata": {"uid": setting.uid}, "status": status}));
        let patched = settings.patch_status(&setting.name, &parameters, &patch);
        written = Some(writer.request("setting", "status", patched).await?);
    }
    let read = written.and_then(|object| serde_json::to_value(object).ok());
    Ok(read.map_or(Answer::Nothing, |object| {
        Answer::Setting(Box::new(SettingView::read(setting.kind, &object)))
    }))
}

fn configs(writer: &Writer) -> Api<DynamicObject> {
    Api::all_with(writer.client(), &ApiResource::erase::<MachineConfigResource>(&()))
}

fn pool_answer(object: &DynamicObject, config: Option<ConfigView>) -> Answer {
    match serde_json::to_value(object) {
        Ok(object) => Answer::Pool(Box::new(PoolView::read(&object)), config),
        Err(_) => Answer::Nothing,
    }
}

async fn render(
    writer: &Writer,
    pools: &Api<DynamicObject>,
    pool: &PoolView,
    rendered: &Rendered,
    inputs: &[MachineConfig],
    current: Option<String>,
    exists: bool,
) -> Result<Answer, WriteError> {
    let configs = configs(writer);
    if let Some(current) = current {
        let known = writer.request("config", "get", configs.get_opt(&current)).await?;
        let known = known.and_then(|known| serde_json::to_value(known).ok());
        if let Some(known) = known
            && let Err(why) = reconcilable(&known, rendered, inputs)
        {
            return Ok(Answer::Irreconcilable {
                pool: pool.name.clone(),
                rendered: rendered.name.clone(),
                current,
                why,
            });
        }
    }
    let mut created = None;
    if !exists && let Ok(object) = serde_json::from_value::<DynamicObject>(object(rendered, pool)) {
        let parameters = PostParams {
            field_manager: Some(names::FIELD_MANAGER.to_owned()),
            ..PostParams::default()
        };
        match writer
            .request("config", "create", configs.create(&parameters, &object))
            .await
        {
            Ok(object) => {
                created = serde_json::to_value(object)
                    .ok()
                    .and_then(|object| ConfigView::read(&object).ok());
                let version = rendered.annotations.get(berth_pools::GENERATED_BY);
                let note = Note {
                    reason: "RenderedConfigGenerated",
                    message: format!(
                        "{} successfully generated (release version: , controller version: {})",
                        rendered.name,
                        version.map(String::as_str).unwrap_or_default()
                    ),
                    warning: false,
                };
                writer.note(&note, &pool_reference(pool)).await;
            }
            // Equal contents have equal names, so what is there is what was to be made.
            Err(error) if error.is_already_there() => {}
            Err(error) => return Err(error),
        }
    }
    let answer = configure(writer, pools, pool, rendered).await?;
    Ok(pool_answer(&answer, created))
}

/// Gives a pool its rendered config: for this very version, so that a plan that is out of date does not undo a newer one.
/// A version that differs only in what the config does not depend on, as after every write of the status, is as good.
async fn configure(
    writer: &Writer,
    pools: &Api<DynamicObject>,
    pool: &PoolView,
    rendered: &Rendered,
) -> Result<DynamicObject, WriteError> {
    let (mut version, mut conflicts) = (pool.resource_version.clone(), 0);
    loop {
        let patch = Patch::Merge(json!({
            "metadata": {"uid": pool.uid, "resourceVersion": version},
            "spec": {"configuration": configuration(&rendered.name, &rendered.sources)},
        }));
        let parameters = parameters();
        let patched = pools.patch(&pool.name, &parameters, &patch);
        let error = match writer.request("pool", "patch", patched).await {
            Err(error) if error.is_conflict() && conflicts < CONFLICTS => error,
            end => return end,
        };
        conflicts += 1;
        let found = writer.request("pool", "get", pools.get(&pool.name)).await?;
        let found = PoolView::read(&serde_json::to_value(&found).unwrap_or_default());
        let same = found.renders_as(pool) && found.completed() == pool.completed();
        if !same || found.resource_version == version {
            return Err(error);
        }
        version = found.resource_version;
    }
}

async fn collect(writer: &Writer, collection: Collection) -> Result<Answer, WriteError> {
    let configs = configs(writer);
    let annotate = async |name: &str, since: Option<String>| {
        let patch = Patch::Merge(json!({"metadata": {"annotations": {names::UNUSED_SINCE: since}}}));
        let parameters = parameters();
        let patched = configs.patch(name, &parameters, &patch);
        writer
            .request("config", "patch", patched)
            .await
            .map(|_| Answer::Nothing)
    };
    match collection {
        Collection::Mark(name) => annotate(&name, Some(writer.now().to_string())).await,
        Collection::Unmark(name) => annotate(&name, None).await,
        Collection::Remove(config) => remove(writer, &configs, config).await,
    }
}

/// Deletes first: whoever reads it meanwhile still finds it, and then the last finalizer goes.
async fn remove(writer: &Writer, configs: &Api<DynamicObject>, config: RenderedView) -> Result<Answer, WriteError> {
    tracing::info!(config = config.name, "nobody refers to the rendered config any more");
    if !config.deleting {
        let parameters = DeleteParams {
            preconditions: Some(Preconditions {
                uid: Some(config.uid.clone()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let deleted = configs.delete(&config.name, &parameters);
        writer.request("config", "delete", deleted).await?;
    }
    let others: Vec<&String> = config
        .finalizers
        .iter()
        .filter(|finalizer| *finalizer != names::IN_USE)
        .collect();
    let patch = Patch::Merge(json!({"metadata": {"uid": config.uid, "finalizers": others}}));
    let parameters = parameters();
    let patched = configs.patch(&config.name, &parameters, &patch);
    match writer.request("config", "patch", patched).await {
        // It is gone, which is as good.
        Err(error) if !error.is_outdated() => Err(error),
        _ => Ok(Answer::Nothing),
    }
}

pub(super) fn pool_reference(pool: &PoolView) -> ObjectReference {
    ObjectReference {
        api_version: Some("machineconfiguration.openshift.io/v1".to_owned()),
        kind: Some("MachineConfigPool".to_owned()),
        name: Some(pool.name.clone()),
        uid: Some(pool.uid.clone()),
        ..ObjectReference::default()
    }
}
