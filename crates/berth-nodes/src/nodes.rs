//! Requests about Nodes and Berths.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use berth_decide::{NodePatch, NodeState, NodeView, first_of, merge_diff, names};
use berth_resources::{Berth, BerthStatus};
use berth_site::name_problem;
use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client, Resource as _, ResourceExt as _,
    api::{ListParams, Patch, PatchParams},
    core::{Request, params::GetParams, request},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use tokio::time::{Instant, timeout};

use crate::{hold::Hold, trouble::WriteError};

/// A request that takes longer has failed: the API server answers or it does not.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Objects in one answer of a list: few enough for the API server to take its time for others.
const LIST_PAGE: u32 = 1000;

/// How long it is believed which Berth is whose, where Berths have other names than their Nodes.
const BELIEVED: Duration = Duration::from_secs(10);

/// Metadata of a Node without what nobody asks for here. The record of who manages which field is most of an answer; it is
/// passed over and not taken apart.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Metadata {
    name: Option<String>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    resource_version: Option<String>,
    uid: Option<String>,
}

#[derive(Deserialize)]
struct Found {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Page<T> {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    further: Option<String>,
}

impl Metadata {
    fn state(self) -> NodeState {
        NodeState {
            resource_version: self.resource_version,
            uid: self.uid,
            ..NodeState::new(self.labels.unwrap_or_default(), &self.annotations.unwrap_or_default())
        }
    }
}

type Built = Result<http::Request<Vec<u8>>, request::Error>;

/// A name as it goes into a path, where nothing escapes it: what is not a name of a Node could be a path to something else (a
/// subresource, the proxy of a node) or a query.
fn path_part(name: &str) -> Result<&str, WriteError> {
    match name_problem(name) {
        None => Ok(name),
        Some(problem) => Err(WriteError::Refused(kube::Error::BuildRequest(
            request::Error::Validation(problem.to_owned()),
        ))),
    }
}

/// What goes along with every patch of Berth.
pub fn parameters() -> PatchParams {
    PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// The names of Berths by those of their Nodes, and when that was seen.
type Listed = Option<(Instant, Arc<HashMap<String, String>>)>;

/// The Nodes of a cluster and their Berths.
#[derive(Clone)]
pub struct Nodes {
    client: Client,
    hold: Hold,
    listed: Arc<Mutex<Listed>>,
}

impl std::fmt::Debug for Nodes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nodes")
            .field("hold", &self.hold)
            .finish_non_exhaustive()
    }
}

impl Nodes {
    /// Those that a client reaches. Requests are sent for as long as the right to do so is held.
    pub fn new(client: Client, hold: Hold) -> Self {
        Self {
            client,
            hold,
            listed: Arc::default(),
        }
    }

    /// The same under another right.
    #[must_use]
    pub fn held_by(&self, hold: Hold) -> Self {
        Self { hold, ..self.clone() }
    }

    /// The same without what was listed before: who asks now is told what is there now.
    #[must_use]
    pub fn afresh(&self) -> Self {
        Self {
            listed: Arc::default(),
            ..self.clone()
        }
    }

    /// The client.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The right to write.
    pub fn hold(&self) -> &Hold {
        &self.hold
    }

    /// A request that has to be answered within the usual time.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn send<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Result<T, WriteError> {
        self.send_within(REQUEST_TIMEOUT, request).await
    }

    /// A request that has to be answered within some time. It never outlives the right to write: what is not answered by
    /// then is given up, so that nothing of it is under way when somebody else has the right.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn send_within<T>(
        &self,
        limit: Duration,
        request: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, WriteError> {
        let limit = self.hold.left(limit).ok_or(WriteError::NotHeld)?;
        match timeout(limit, request).await {
            Err(_) => Err(WriteError::Timeout),
            Ok(answer) => answer.map_err(WriteError::Refused),
        }
    }

    async fn ask<T: DeserializeOwned>(&self, request: Built) -> Result<T, WriteError> {
        let request = request.map_err(|error| WriteError::Refused(kube::Error::BuildRequest(error)))?;
        self.send(self.client.request(request)).await
    }

    /// The labels of one Node.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn read(&self, node: &str) -> Result<NodeState, WriteError> {
        let request = nodes().get_metadata(path_part(node)?, &GetParams::default());
        let found: Found = self.ask(request).await?;
        Ok(found.metadata.state())
    }

    /// The labels of all Nodes, by name.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn list(&self) -> Result<HashMap<String, NodeState>, WriteError> {
        let mut found = HashMap::new();
        self.pages(
            |params| nodes().list_metadata(params),
            |Found { mut metadata }| {
                if let Some(name) = metadata.name.take() {
                    found.insert(name, metadata.state());
                }
            },
        )
        .await?;
        Ok(found)
    }

    /// Reads a list to its end.
    async fn pages<T: DeserializeOwned>(
        &self,
        request: impl Fn(&ListParams) -> Built,
        mut take: impl FnMut(T),
    ) -> Result<(), WriteError> {
        let mut params = ListParams::default().limit(LIST_PAGE);
        loop {
            let page: Page<T> = self.ask(request(&params)).await?;
            page.items.into_iter().for_each(&mut take);
            match page.metadata.further.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(()),
            }
        }
    }

    /// Patches a Node, and gives it as it is then.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn patch(&self, node: &str, patch: &NodePatch) -> Result<NodeView, WriteError> {
        let request = nodes().patch(path_part(node)?, &parameters(), &bound(patch)?);
        self.ask::<Node>(request).await.map(NodeView::from)
    }

    /// Patches the metadata of a Node, or tries whether that would be taken. That it was is all that is of interest in the
    /// answer.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn patch_metadata(&self, node: &str, patch: &NodePatch, dry_run: bool) -> Result<(), WriteError> {
        let params = PatchParams {
            dry_run,
            ..parameters()
        };
        let request = nodes().patch_metadata(path_part(node)?, &params, &bound(patch)?);
        let request = request.map_err(|error| WriteError::Refused(kube::Error::BuildRequest(error)))?;
        self.send(self.client.request_text(request)).await.map(drop)
    }

    /// The Berth that counts for a Node. `None` for a Node without one, and in a cluster without the kind. That this program may
    /// not look is an error: it says nothing about what there is.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn berth_of(&self, node: &str) -> Result<Option<Berth>, WriteError> {
        let name = match self.listed_names() {
            Some(names) => match names.get(node) {
                Some(name) => name.clone(),
                None => return Ok(None),
            },
            // Most Berths have the name of their Node.
            None => path_part(node)?.to_owned(),
        };
        let counts = |berth: &Berth| {
            berth.node_name() == node && !berth.spec.release && berth.metadata.deletion_timestamp.is_none()
        };
        match self.berth(&name).await {
            Ok(berth) if counts(&berth) => return Ok(Some(berth)),
            Err(error) if !is_missing(&error) => return Err(error),
            _ => {}
        }
        // One of another name may be the Node's.
        let berths = self.berths().await?;
        Ok(first_of(&berths)
            .into_iter()
            .find(|berth| berth.node_name() == node)
            .cloned())
    }

    /// One Berth.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn berth(&self, name: &str) -> Result<Berth, WriteError> {
        let berths: Api<Berth> = Api::all(self.client.clone());
        self.send(berths.get(path_part(name)?)).await
    }

    /// All Berths; none in a cluster without the kind.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn berths(&self) -> Result<Vec<Berth>, WriteError> {
        let began = Instant::now();
        let mut found = Vec::new();
        let url = Berth::url_path(&(), None);
        let read = self.pages(
            |params| Request::new(&url).list(params),
            |mut berth: Berth| {
                berth.metadata.managed_fields = None;
                found.push(berth);
            },
        );
        match read.await {
            Ok(()) => {}
            Err(error) if is_missing(&error) => found.clear(),
            Err(error) => return Err(error),
        }
        let names = first_of(&found)
            .into_iter()
            .map(|berth| (berth.node_name(), berth.name_any()));
        let names = Arc::new(names.collect());
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = Some((began, names));
        Ok(found)
    }

    fn listed_names(&self) -> Option<Arc<HashMap<String, String>>> {
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        let (seen, names) = listed.as_ref()?;
        (seen.elapsed() < BELIEVED).then(|| Arc::clone(names))
    }

    /// Writes what differs in the status of a Berth, if it is still the version that the status was computed from: another
    /// one may say of other labels that they are Berth's.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub async fn write_status(&self, berth: Berth, status: &BerthStatus) -> Result<Berth, WriteError> {
        let before = serde_json::to_value(berth.status.clone().unwrap_or_default()).unwrap_or_default();
        let after = serde_json::to_value(status).unwrap_or_default();
        let Some(patch) = merge_diff(&before, &after) else {
            return Ok(berth);
        };
        let metadata = json!({"uid": berth.metadata.uid, "resourceVersion": berth.metadata.resource_version});
        let patch = Patch::Merge(json!({"metadata": metadata, "status": patch}));
        let berths: Api<Berth> = Api::all(self.client.clone());
        let (name, parameters) = (berth.name_any(), parameters());
        self.send(berths.patch_status(&name, &parameters, &patch)).await
    }
}

/// A patch as it is sent. One that could land on another Node, or on what was written since, is not.
fn bound(patch: &NodePatch) -> Result<Patch<&NodePatch>, WriteError> {
    match patch.unbound() {
        None => Ok(Patch::Merge(patch)),
        Some(lack) => Err(WriteError::Unbound(lack)),
    }
}

fn nodes() -> Request {
    Request::new(Node::url_path(&(), None))
}

fn is_missing(error: &WriteError) -> bool {
    matches!(error, WriteError::Refused(kube::Error::Api(status)) if status.code == 404)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use http::{Method, Response};
    use kube::client::Body;
    use proptest::prelude::*;

    use super::*;

    type Answers = Arc<dyn Fn(&Method, &str) -> Option<(u16, serde_json::Value)> + Send + Sync>;

    /// A client whose requests are counted and answered so, or not at all.
    fn client(answers: Answers) -> (Client, Arc<AtomicU32>) {
        let sent = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&sent);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            count.fetch_add(1, Ordering::Relaxed);
            let answer = answers(request.method(), request.uri().path());
            async move {
                let Some((code, body)) = answer else {
                    return std::future::pending().await;
                };
                let answer = Response::builder()
                    .status(code)
                    .body(Body::from(body.to_string().into_bytes()));
                Ok::<_, tower::BoxError>(answer?)
            }
        });
        (Client::new(service, "default"), sent)
    }

    fn patch() -> NodePatch {
        NodePatch {
            uid: Some("u".to_owned()),
            resource_version: Some("1".to_owned()),
            labels: [("a".to_owned(), None)].into(),
            ..NodePatch::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_under_way_does_not_outlive_the_right_to_write() {
        let (client, sent) = client(Arc::new(|_, _| None));
        let end = Instant::now() + Duration::from_secs(3);
        let hold = Hold::new(move || end.checked_duration_since(Instant::now()));
        let nodes = Nodes::new(client, hold);
        let given_up = nodes.patch_metadata("n1", &patch(), false).await;
        assert!(matches!(given_up, Err(WriteError::Timeout)), "{given_up:?}");
        assert_eq!(Instant::now(), end);
        let refused = nodes.patch("n1", &patch()).await;
        assert!(matches!(refused, Err(WriteError::NotHeld)), "{refused:?}");
        let status = BerthStatus {
            pool: Some("p".to_owned()),
            ..BerthStatus::default()
        };
        let refused = nodes.write_status(Berth::default(), &status).await;
        assert!(matches!(refused, Err(WriteError::NotHeld)), "{refused:?}");
        assert_eq!(sent.load(Ordering::Relaxed), 1, "nothing is sent any more");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// Whatever is done after the right to write has ended, and however often, nothing is sent.
        #[test]
        fn nothing_is_sent_without_the_right_to_write(deeds in prop::collection::vec((0..5_u8, any::<bool>()), 1..12)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let node = json!({"metadata": {"name": "n1"}});
                let (client, sent) = client(Arc::new(move |_, _| Some((200, node.clone()))));
                let (held, mut expected) = (Arc::new(std::sync::atomic::AtomicBool::new(true)), 0);
                let asked = Arc::clone(&held);
                let nodes = Nodes::new(client, Hold::new(move || asked.load(Ordering::Relaxed).then_some(Duration::MAX)));
                for (deed, ends) in deeds {
                    let result = match deed {
                        0 => nodes.read("n1").await.map(drop),
                        1 => nodes.patch("n1", &patch()).await.map(drop),
                        2 => nodes.patch_metadata("n1", &patch(), false).await,
                        3 => nodes.patch_metadata("n1", &patch(), true).await,
                        _ => nodes.list().await.map(drop),
                    };
                    let holds = held.load(Ordering::Relaxed);
                    expected += u32::from(holds);
                    assert_eq!(matches!(result, Err(WriteError::NotHeld)), !holds);
                    held.fetch_and(!ends, Ordering::Relaxed);
                }
                assert_eq!(sent.load(Ordering::Relaxed), expected);
            });
        }
    }

    /// Whoever computes a patch, it is sent only for the object, and what takes something away only for the version, that was seen.
    #[tokio::test]
    async fn a_patch_is_for_the_node_that_was_seen() {
        let node = json!({"metadata": {"name": "n1"}});
        let (client, sent) = client(Arc::new(move |_, _| Some((200, node.clone()))));
        let nodes = Nodes::new(client, Hold::endless());
        let gives = || NodePatch {
            labels: [("a".to_owned(), Some("b".to_owned()))].into(),
            annotations: [("c".to_owned(), Some("d".to_owned()))].into(),
            unschedulable: Some(true),
            ..NodePatch::default()
        };
        let gone = || [("a".to_owned(), None)].into();
        let takes: [NodePatch; 4] = [
            NodePatch {
                labels: gone(),
                ..gives()
            },
            NodePatch {
                annotations: gone(),
                ..gives()
            },
            NodePatch {
                taints: Some(Vec::new()),
                ..gives()
            },
            NodePatch {
                unschedulable: Some(false),
                ..gives()
            },
        ];
        let mut cases = Vec::new();
        for (patch, removes) in takes.into_iter().map(|patch| (patch, true)).chain([(gives(), false)]) {
            for uid in [None, Some(""), Some("u")] {
                for version in [None, Some(""), Some("1")] {
                    let is_sent = uid == Some("u") && (version == Some("1") || !removes);
                    let patch = NodePatch {
                        uid: uid.map(str::to_owned),
                        resource_version: version.map(str::to_owned),
                        ..patch.clone()
                    };
                    cases.push((patch, is_sent));
                }
            }
        }
        for (patch, is_sent) in cases {
            let answers = [
                nodes.patch("n1", &patch).await.map(drop),
                nodes.patch_metadata("n1", &patch, false).await,
                nodes.patch_metadata("n1", &patch, true).await,
            ];
            for answer in answers {
                assert_eq!(answer.is_ok(), is_sent, "{patch:?} {answer:?}");
                assert_eq!(matches!(answer, Err(WriteError::Unbound(_))), !is_sent);
            }
            assert_eq!(
                sent.swap(0, Ordering::Relaxed),
                if is_sent { 3 } else { 0 },
                "{patch:?}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_no_name_of_a_node_is_not_sent() {
        let (client, sent) = client(Arc::new(|_, _| None));
        let nodes = Nodes::new(client, Hold::endless());
        for name in ["", "a/status", "../berths", "a?dryRun=All"] {
            assert!(matches!(nodes.read(name).await, Err(WriteError::Refused(_))), "{name}");
            assert!(nodes.patch("a/status", &patch()).await.is_err());
        }
        assert_eq!(sent.load(Ordering::Relaxed), 0);
    }

    /// Berths are looked for by name; all of them are listed only where that finds none, and not for each Node anew.
    #[tokio::test]
    async fn the_berth_of_a_node_is_found_by_its_name_or_among_all() {
        let berth = |name: &str, node: &str| json!({"metadata": {"name": name}, "spec": {"nodeName": node}});
        let not_found =
            json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound", "message": "no"});
        let (client, sent) = client(Arc::new(move |_, path| {
            Some(match path.rsplit('/').next() {
                Some("n1") => (200, berth("n1", "n1")),
                Some("place-2") => (200, berth("place-2", "n2")),
                Some("berths") => (200, json!({"items": [berth("n1", "n1"), berth("place-2", "n2")]})),
                _ => (404, not_found.clone()),
            })
        }));
        let nodes = Nodes::new(client, Hold::endless());
        let requests = || sent.swap(0, Ordering::Relaxed);
        let found = async |node: &str| nodes.berth_of(node).await.unwrap().map(|berth| berth.name_any());
        assert_eq!((found("n1").await.as_deref(), requests()), (Some("n1"), 1));
        assert_eq!((found("n2").await.as_deref(), requests()), (Some("place-2"), 2));
        assert_eq!((found("n2").await.as_deref(), requests()), (Some("place-2"), 1));
        assert_eq!((found("n3").await, requests()), (None, 0));
    }
}
