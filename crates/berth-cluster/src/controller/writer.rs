//! Writes: each job is about one node and runs alone for it. Every request checks the claim first.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    panic::AssertUnwindSafe,
    sync::Arc,
    time::Duration,
};

use berth_clock::Clock;
use futures::FutureExt as _;
use k8s_openapi::api::{
    certificates::v1::CertificateSigningRequest,
    core::v1::{Node, ObjectReference},
};
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{DeleteParams, Patch, PostParams, Preconditions},
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use serde_json::json;
use tokio::sync::watch;
use tracing::{debug, info, warn};

use super::{machines, metrics::Metrics};
use crate::lease::{Claim, hold};
use berth_decide::{
    CertificateRequest, MachineState, NodePatch, NodeView, NodeWrite, Note, SpentToken, merge_diff, names, noted_ahead,
};
pub(super) use berth_nodes::WriteError;
use berth_nodes::{Nodes, parameters};
use berth_resources::{Berth, BerthSpec, BerthStatus, MachineObject, TokenBinding, TokenUse};

/// A request that takes longer has failed: the API server answers or it does not.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// What to write.
#[derive(Debug)]
pub(super) enum Work {
    /// What only the Berth can remember, such as which labels are Berth's, then the Node, then the rest of its status.
    Apply {
        berth: Box<Berth>,
        node: Option<NodeWrite>,
        status: Box<BerthStatus>,
        notes: Vec<Note>,
        /// The status may wait until no Node does.
        status_later: bool,
        /// What it was decided from.
        sight: Sight,
    },
    /// A Berth's status alone.
    Status {
        berth: Box<Berth>,
        status: Box<BerthStatus>,
    },
    /// The Berth is being deleted: note it on the Node and let it go.
    Finish { berth: Box<Berth>, node: Option<String> },
    /// Read the objects that stand for the machine of a Node that went.
    Machine(Vec<MachineObject>),
    /// Make a Berth.
    Create(Box<Berth>),
    /// Give a Berth another spec.
    Update { berth: Box<Berth>, spec: Box<BerthSpec> },
    /// Delete a Berth that no document has any more.
    Delete { berth: String, uid: Option<String> },
    /// Approve or deny a certificate request.
    Certificate {
        request: Box<CertificateRequest>,
        verdict: Verdict,
    },
    /// Tell what was done.
    Tell(Vec<(Note, ObjectReference)>),
}

/// The Node that a decision was made from. Watches may be late by a lot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sight {
    /// This version of it.
    Version(String),
    /// There was none.
    Nothing,
    /// It did not matter.
    NotNeeded,
}

/// About a certificate request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Approve {
        node: String,
        token: Option<Box<SpentToken>>,
    },
    Deny {
        message: String,
    },
}

/// What the API server answered.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) node: Option<NodeView>,
    /// The Node as it is, where somebody else was faster: it was read and not written.
    pub(super) seen: Option<NodeView>,
    /// Somebody else has written to the Node since it was decided about, so that the next write may well be taken.
    pub(super) overtaken: bool,
    pub(super) berth: Option<Berth>,
    /// What the objects that stand for a machine say.
    pub(super) machine: Option<MachineState>,
    /// What is to be written when no Node waits any more.
    pub(super) later: Option<Work>,
    /// What was done, to be told as events.
    pub(super) told: Vec<(Note, ObjectReference)>,
}

/// A job that breaks off has failed as any other: what it was about is tried again, and not busy forever.
pub(super) async fn or_broken<T>(job: impl Future<Output = Result<T, WriteError>>) -> Result<T, WriteError> {
    AssertUnwindSafe(job)
        .catch_unwind()
        .await
        .unwrap_or(Err(WriteError::Broken))
}

/// Writes what the engine decided.
#[derive(Clone)]
pub(super) struct Writer {
    nodes: Nodes,
    recorder: Recorder,
    metrics: Metrics,
    clock: Clock,
}

impl Writer {
    pub(super) fn new(client: Client, claims: Option<watch::Receiver<Claim>>, metrics: Metrics, clock: Clock) -> Self {
        let reporter = Reporter {
            controller: "berth-controller".to_owned(),
            instance: None,
        };
        Self {
            recorder: Recorder::new(client.clone(), reporter),
            nodes: Nodes::new(client, hold(claims)),
            metrics,
            clock,
        }
    }

    /// Does the work and gives what was written, also where it did not come to its end.
    pub(super) async fn run(self: Arc<Self>, work: Vec<Work>) -> (Written, Result<(), WriteError>) {
        let mut written = Written::default();
        let done = or_broken(Box::pin(async {
            for work in work {
                Box::pin(self.one(work, &mut written)).await?;
            }
            Ok(())
        }))
        .await;
        (written, done)
    }

    async fn one(&self, work: Work, written: &mut Written) -> Result<(), WriteError> {
        let berths: Api<Berth> = Api::all(self.client());
        match work {
            Work::Apply {
                berth,
                node,
                status,
                notes,
                status_later,
                sight,
            } => {
                if forgets(berth.status.as_ref(), &status) {
                    self.look_again(&berth.node_name(), &sight, written).await?;
                }
                if let (true, Some(write @ NodeWrite::Patch(_))) = (status_later, &node) {
                    let berth = self.note_ahead(*berth, &status, written).await?;
                    written.node = Some(self.write_node(&berth.node_name(), write, written).await?);
                    let differs = berth.status.as_ref() != Some(&*status);
                    written.later = differs.then(|| Work::Status {
                        berth: Box::new(berth),
                        status,
                    });
                    return Ok(());
                }
                self.apply(*berth, node, *status, notes, written).await
            }
            Work::Status { berth, status } => {
                written.berth = Some(self.status(*berth, &status).await?);
                Ok(())
            }
            Work::Machine(objects) => {
                written.machine = Some(machines::state(&self.client(), &objects).await);
                Ok(())
            }
            Work::Finish { berth, node } => self.finish(&berth, node, written).await,
            Work::Create(berth) => {
                let created = self
                    .request("berth", "create", berths.create(&PostParams::default(), &berth))
                    .await;
                match created {
                    Ok(berth) => written.berth = Some(berth),
                    Err(error) if error.is_outdated() => {
                        debug!(berth = berth.name_any(), "somebody else made the Berth");
                    }
                    Err(error) => return Err(error),
                }
                Ok(())
            }
            Work::Update { berth, spec } => {
                let before = serde_json::to_value(&berth.spec).unwrap_or_default();
                let after = serde_json::to_value(&spec).unwrap_or_default();
                let patch = json!({
                    "metadata": {
                        "resourceVersion": berth.metadata.resource_version,
                        "labels": {names::RESERVED_BY: names::BY_DOCUMENTS},
                    },
                    "spec": merge_diff(&before, &after).unwrap_or_else(|| json!({})),
                });
                let name = berth.name_any();
                let patch = Patch::Merge(patch);
                let parameters = parameters();
                let patched = berths.patch(&name, &parameters, &patch);
                written.berth = Some(self.request("berth", "patch", patched).await?);
                Ok(())
            }
            Work::Delete { berth, uid } => {
                let parameters = DeleteParams {
                    preconditions: Some(Preconditions {
                        uid,
                        resource_version: None,
                    }),
                    ..DeleteParams::default()
                };
                info!(berth, "no document has the Berth any more");
                self.request("berth", "delete", berths.delete(&berth, &parameters))
                    .await?;
                Ok(())
            }
            Work::Certificate { request, verdict } => self.certificate(&request, &verdict).await,
            Work::Tell(notes) => {
                for (note, reference) in &notes {
                    self.publish(note, reference).await;
                }
                Ok(())
            }
        }
    }

    async fn apply(
        &self,
        mut berth: Berth,
        write: Option<NodeWrite>,
        mut status: BerthStatus,
        notes: Vec<Note>,
        written: &mut Written,
    ) -> Result<(), WriteError> {
        if !berth.finalizers().iter().any(|finalizer| finalizer == names::FINALIZER)
            && berth.metadata.deletion_timestamp.is_none()
        {
            let mut finalizers = berth.finalizers().to_vec();
            finalizers.push(names::FINALIZER.to_owned());
            berth = self.finalizers(&berth, &finalizers).await?;
        }
        if let Some(write) = write {
            berth = self.note_ahead(berth, &status, written).await?;
            let view = self.write_node(&berth.node_name(), &write, written).await?;
            status.node_uid = Some(view.uid.clone());
            written.node = Some(view);
        }
        berth = self.status(berth, &status).await?;
        let mut regarding = vec![berth.object_ref(&())];
        regarding.extend(written.node.as_ref().map(node_reference));
        // Events are half of all requests where many Nodes move. What others wait for comes first.
        for note in notes {
            for reference in &regarding {
                log(&note, reference);
                written.told.push((note.clone(), reference.clone()));
            }
        }
        written.berth = Some(berth);
        Ok(())
    }

    /// Writes to a Node. Where somebody else was faster, the Node is read: the watch may show much later how it is now, and until
    /// then every decision would come too late again.
    async fn write_node(&self, name: &str, write: &NodeWrite, written: &mut Written) -> Result<NodeView, WriteError> {
        let result = match write {
            NodeWrite::Create(node) => {
                info!(node = name, "creating the Node");
                let parameters = PostParams {
                    field_manager: Some(names::FIELD_MANAGER.to_owned()),
                    ..PostParams::default()
                };
                let api: Api<Node> = Api::all(self.client());
                let created = self.request("node", "create", api.create(&parameters, node));
                created.await.map(NodeView::from)
            }
            NodeWrite::Patch(patch) => self.patch_node(name, patch).await,
        };
        if matches!(&result, Err(error) if error.is_outdated()) {
            // Without an answer the watch tells.
            written.seen = self.read_node(name).await.ok().flatten();
            let decided = match write {
                NodeWrite::Create(_) => None,
                NodeWrite::Patch(patch) => patch.resource_version.as_ref(),
            };
            let is_another = |seen: &NodeView| decided.is_some_and(|decided| *decided != seen.resource_version);
            written.overtaken = written.seen.as_ref().is_some_and(is_another);
        }
        result
    }

    async fn read_node(&self, name: &str) -> Result<Option<NodeView>, WriteError> {
        let api: Api<Node> = Api::all(self.client());
        let node = self.request("node", "get", api.get_opt(name)).await?;
        Ok(node.map(NodeView::from))
    }

    /// Writes what has to be known of a write to the Node before it happens. Should the Node be gone by now, the next one
    /// is made with this in mind.
    async fn note_ahead(&self, berth: Berth, status: &BerthStatus, written: &mut Written) -> Result<Berth, WriteError> {
        let ahead = noted_ahead(berth.status.as_ref(), status);
        let berth = self.status(berth, &ahead).await?;
        written.berth = Some(berth.clone());
        Ok(berth)
    }

    /// Fails where the Node is another one than the one that was decided about, and takes that one along.
    ///
    /// What only the Berth remembers is lost for good once it is overwritten, so that no late watch may decide about it.
    async fn look_again(&self, name: &str, sight: &Sight, written: &mut Written) -> Result<(), WriteError> {
        let seen = match sight {
            Sight::Version(version) => Some(version),
            Sight::Nothing => None,
            Sight::NotNeeded => return Ok(()),
        };
        let node = self.read_node(name).await?;
        if node.as_ref().map(|node| &node.resource_version) == seen {
            return Ok(());
        }
        written.overtaken = node.is_some();
        written.seen = node;
        Err(WriteError::Outdated)
    }

    /// Patches a Node, and gives it as it is then.
    pub(super) async fn patch_node(&self, name: &str, patch: &NodePatch) -> Result<NodeView, WriteError> {
        self.counted("node", "patch", Box::pin(self.nodes.patch(name, patch)))
            .await
    }

    /// Writes what differs in the status of a Berth.
    async fn status(&self, berth: Berth, status: &BerthStatus) -> Result<Berth, WriteError> {
        if berth.status.as_ref() == Some(status) {
            return Ok(berth);
        }
        let write = Box::pin(self.nodes.write_status(berth, status));
        self.counted("berth", "status", write).await
    }

    async fn finish(&self, berth: &Berth, node: Option<String>, written: &mut Written) -> Result<(), WriteError> {
        if let Some(uid) = node {
            let patch = NodePatch {
                uid: Some(uid),
                annotations: [(names::RELEASED.to_owned(), Some(self.clock.now().to_string()))].into(),
                ..NodePatch::default()
            };
            match self.patch_node(&berth.node_name(), &patch).await {
                Ok(node) => written.node = Some(node),
                // The Node has just gone, which is as good.
                Err(error) if error.is_outdated() => {}
                Err(error) => return Err(error),
            }
        }
        let others: Vec<String> = berth
            .finalizers()
            .iter()
            .filter(|finalizer| *finalizer != names::FINALIZER)
            .cloned()
            .collect();
        match self.finalizers(berth, &others).await {
            Ok(_) => info!(
                berth = berth.name_any(),
                "the Berth is deleted; its Node stays as it is"
            ),
            Err(error) if error.is_outdated() => debug!(berth = berth.name_any(), "the Berth is gone already"),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    async fn finalizers(&self, berth: &Berth, finalizers: &[String]) -> Result<Berth, WriteError> {
        let berths: Api<Berth> = Api::all(self.client());
        let patch = Patch::Merge(json!({"metadata": {
            "resourceVersion": berth.metadata.resource_version,
            "finalizers": finalizers,
        }}));
        let (name, parameters) = (berth.name_any(), parameters());
        self.request("berth", "patch", berths.patch(&name, &parameters, &patch))
            .await
    }

    /// Approves or denies the very request that was judged: one that was replaced or changed meanwhile gives a conflict.
    async fn certificate(&self, request: &CertificateRequest, verdict: &Verdict) -> Result<(), WriteError> {
        let requests: Api<CertificateSigningRequest> = Api::all(self.client());
        let (type_, reason, message) = match verdict {
            Verdict::Approve { node, token } => {
                if let Some(token) = token {
                    self.spend(token, request).await?;
                }
                let message =
                    format!("the name {node} is reserved, the requester may ask for it and the Node is there");
                ("Approved", names::reason::APPROVED, message)
            }
            Verdict::Deny { message } => ("Denied", names::reason::DENIED, message.clone()),
        };
        info!(
            request = request.name,
            verdict = type_,
            message,
            "deciding about a certificate request"
        );
        let now = self.clock.now().to_string();
        let patch = Patch::Merge(json!({
            "metadata": {"uid": request.uid, "resourceVersion": request.resource_version},
            "status": {"conditions": [{
                "type": type_, "status": "True", "reason": reason, "message": message, "lastUpdateTime": now,
            }]},
        }));
        let parameters = parameters();
        let answer = self
            .request(
                "certificate",
                type_,
                requests.patch_approval(&request.name, &parameters, &patch),
            )
            .await?;
        let note = Note {
            reason,
            message,
            warning: type_ == "Denied",
        };
        self.note(&note, &answer.object_ref(&())).await;
        Ok(())
    }

    /// Notes that a token is used, before the approval: of two requests with one token, one fails here.
    async fn spend(&self, token: &SpentToken, request: &CertificateRequest) -> Result<(), WriteError> {
        let binding = &token.binding;
        if binding.used_by.is_some() {
            // The same machine asks again.
            return Ok(());
        }
        let bindings: Api<TokenBinding> = Api::all(self.client());
        let used = TokenUse {
            request: request.name.clone(),
            request_uid: request.uid.clone(),
            key: token.key.clone(),
            time: self.clock.now(),
        };
        let patch = Patch::Merge(json!({
            "metadata": {"uid": binding.uid, "resourceVersion": binding.resource_version},
            "status": {"usedBy": used},
        }));
        let parameters = parameters();
        let patched = bindings.patch_status(&binding.token, &parameters, &patch);
        self.request("token", "status", patched).await?;
        Ok(())
    }

    /// A client for reading.
    pub(super) fn client(&self) -> Client {
        self.nodes.client().clone()
    }

    /// The time.
    pub(super) fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }

    /// A drain takes far too long.
    pub(super) fn drain_is_late(&self) {
        self.metrics.late_drains.inc();
    }

    /// An event, if this replica leads. A write that fails is logged and does not stop anything.
    pub(super) async fn note(&self, note: &Note, reference: &ObjectReference) {
        log(note, reference);
        self.publish(note, reference).await;
    }

    async fn publish(&self, note: &Note, reference: &ObjectReference) {
        let event = Event {
            type_: if note.warning {
                EventType::Warning
            } else {
                EventType::Normal
            },
            reason: note.reason.to_owned(),
            note: Some(note.message.clone()),
            action: action(note),
            secondary: None,
        };
        if let Err(error) = self.nodes.send(self.recorder.publish(&event, reference)).await {
            debug!(error = &error as &dyn std::error::Error, "an event cannot be written");
        }
    }

    /// A request, if this replica leads.
    pub(super) async fn request<T>(
        &self,
        kind: &'static str,
        verb: &'static str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        self.counted(kind, verb, self.nodes.send(request)).await
    }

    /// A request that has to be answered within some time, if this replica leads.
    pub(super) async fn request_within<T>(
        &self,
        limit: Duration,
        kind: &'static str,
        verb: &'static str,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        self.counted(kind, verb, self.nodes.send_within(limit, request)).await
    }

    async fn counted<T>(
        &self,
        kind: &'static str,
        verb: &'static str,
        request: impl Future<Output = Result<T, WriteError>>,
    ) -> Result<T, WriteError> {
        let result = request.await;
        self.metrics.wrote(kind, verb, result.is_ok());
        result
    }
}

/// Whether the status loses something that the Node does not show: a label that Berth was about to write last, one that somebody
/// removed on purpose, or a move.
fn forgets(before: Option<&BerthStatus>, after: &BerthStatus) -> bool {
    let Some(before) = before else {
        return false;
    };
    let has = |labels: &BTreeMap<String, String>, key: &String, value: &String| labels.get(key) == Some(value);
    let unwritten = |(key, value): (&String, &String)| {
        let earlier = after.earlier_labels.get(key);
        !has(&after.labels, key, value) && !earlier.is_some_and(|values| values.contains(value))
    };
    let brought_back = |(key, value): (&String, &String)| !has(&after.removed_labels, key, value);
    before.labels.iter().any(unwritten)
        || before.removed_labels.iter().any(brought_back)
        || (before.followed.is_some() && before.followed != after.followed)
}

fn log(note: &Note, reference: &ObjectReference) {
    if note.warning {
        warn!(reason = note.reason, object = reference.name, "{}", note.message);
    } else {
        info!(reason = note.reason, object = reference.name, "{}", note.message);
    }
}

/// Events of one action about one object are counted as one, with the sentence of the first. So another sentence is
/// another action.
fn action(note: &Note) -> String {
    let mut hasher = DefaultHasher::new();
    note.message.hash(&mut hasher);
    format!("{}-{:016x}", note.reason, hasher.finish())
}

/// Events about a Node carry its name as uid, as those of the kubelet do, so that `kubectl describe node` shows them.
pub(crate) fn node_reference(node: &NodeView) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name.clone()),
        uid: Some(node.name.clone()),
        ..ObjectReference::default()
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    fn writer(claim: Claim) -> (Writer, watch::Sender<Claim>) {
        let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
            std::future::pending::<Result<http::Response<kube::client::Body>, tower::BoxError>>().await
        });
        let (sender, claims) = watch::channel(claim);
        let clock = Clock::stopped(jiff::Timestamp::UNIX_EPOCH);
        let client = Client::new(service, "default");
        (Writer::new(client, Some(claims), Metrics::new(), clock), sender)
    }

    #[tokio::test]
    async fn a_write_under_way_does_not_outlive_the_claim() {
        let end = tokio::time::Instant::now() + Duration::from_millis(200);
        let (writer, _claims) = writer(Claim::until(end));
        let unanswered = std::future::pending::<kube::Result<()>>();
        // Long before the time that a request may take otherwise.
        let given_up = timeout(REQUEST_TIMEOUT / 2, writer.request("node", "patch", unanswered)).await;
        assert!(matches!(given_up, Ok(Err(WriteError::Timeout))), "{given_up:?}");
        assert!(matches!(
            writer.request("node", "patch", async { Ok(()) }).await,
            Err(WriteError::NotHeld)
        ));
    }

    #[tokio::test]
    async fn events_do_not_outlive_the_claim() {
        let end = tokio::time::Instant::now() + Duration::from_millis(200);
        let (writer, _claims) = writer(Claim::until(end));
        let note = Note {
            reason: names::reason::APPROVED,
            message: "a message".to_owned(),
            warning: false,
        };
        let reference = ObjectReference::default();
        // The first waits for an answer until the claim ends, and the second is not sent.
        for _ in 0..2 {
            let given_up = timeout(REQUEST_TIMEOUT / 2, writer.note(&note, &reference)).await;
            assert!(given_up.is_ok(), "the event outlives the claim");
        }
    }

    #[tokio::test]
    async fn a_job_that_breaks_off_has_an_end() {
        let broken = or_broken(async { panic!("as a test does") });
        assert!(matches!(broken.await, Err::<(), _>(WriteError::Broken)));
        assert!(matches!(or_broken(async { Ok(1) }).await, Ok(1)));
    }
}
