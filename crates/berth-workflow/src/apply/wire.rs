//! What goes to the API server and comes back: the metadata of Nodes, and of that the part which labels need.

use std::{
    collections::{BTreeMap, HashMap},
    future::Future,
    io,
    time::Duration,
};

use berth_site::{WrittenLabels, name_problem};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Client, Resource as _,
    api::{ListParams, Patch, PatchParams},
    core::{Request, Status, params::GetParams, request},
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use berth_decide::NodeState;

/// Nodes in one answer of a list: few enough for the API server to take its time for others.
const LIST_PAGE: u32 = 1000;

/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

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

/// The part of a Berth which says what the controllers wrote to its Node.
#[derive(Deserialize)]
struct Berth {
    metadata: Metadata,
    #[serde(default)]
    spec: BerthSpec,
    #[serde(default)]
    status: BerthStatus,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BerthSpec {
    node_name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BerthStatus {
    labels: BTreeMap<String, String>,
    previous_labels: BTreeMap<String, String>,
}

impl BerthSpec {
    fn is_of(&self, berth: &Metadata, node: &str) -> bool {
        self.node_name.as_deref().or(berth.name.as_deref()) == Some(node)
    }
}

impl From<BerthStatus> for WrittenLabels {
    fn from(status: BerthStatus) -> Self {
        Self {
            last: status.labels,
            earlier: status.previous_labels,
            ..Self::default()
        }
    }
}

/// Whether an answer says that there is no such Berth, rather than that the cluster does not have the kind.
fn is_about_berths(status: &Status) -> bool {
    status.details.as_ref().is_some_and(|details| details.kind == "berths")
}

/// Where Berths are.
const BERTHS: &str = "/apis/berth.dev/v1alpha1/berths";

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

/// A name as it goes into a path, where nothing escapes it: what is no name of a Node could be a path to something else (a
/// subresource, the proxy of a node) or a query.
fn path_part(node: &str) -> kube::Result<&str> {
    match name_problem(node) {
        None => Ok(node),
        Some(problem) => Err(kube::Error::BuildRequest(request::Error::Validation(
            problem.to_owned(),
        ))),
    }
}

/// Asks the API server.
#[derive(Clone)]
pub(super) struct Wire {
    client: Client,
    requests: Request,
}

impl Wire {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            requests: Request::new(Node::url_path(&(), None)),
        }
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    pub(super) async fn get(&self, node: &str) -> kube::Result<NodeState> {
        let request = self.requests.get_metadata(path_part(node)?, &GetParams::default());
        let found: Found = self.ask(request).await?;
        Ok(found.metadata.state())
    }

    /// All Nodes, by name.
    pub(super) async fn list(&self) -> kube::Result<HashMap<String, NodeState>> {
        let mut found = HashMap::new();
        let mut params = ListParams::default().limit(LIST_PAGE);
        loop {
            let page: Page<Found> = self.ask(self.requests.list_metadata(&params)).await?;
            for Found { mut metadata } in page.items {
                if let Some(name) = metadata.name.take() {
                    found.insert(name, metadata.state());
                }
            }
            match page.metadata.further.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(found),
            }
        }
    }

    /// What the controllers remember to have written to a Node. `None` for a Node without a Berth, and in a cluster without the
    /// kind. That this program may not look is an error: it says nothing about what there is.
    pub(super) async fn written(&self, node: &str) -> kube::Result<Option<WrittenLabels>> {
        let berths = Request::new(BERTHS);
        // Most Berths have the name of their Node.
        match self.ask(berths.get(path_part(node)?, &GetParams::default())).await {
            Ok(Berth { metadata, spec, status }) if spec.is_of(&metadata, node) => return Ok(Some(status.into())),
            Err(kube::Error::Api(status)) if status.code == 404 && !is_about_berths(&status) => return Ok(None),
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
        // One of another name may be the Node's.
        Ok(self.berths().await?.remove(node))
    }

    /// What the controllers remember to have written to all Nodes, by their names; nothing in a cluster without Berths.
    pub(super) async fn berths(&self) -> kube::Result<HashMap<String, WrittenLabels>> {
        let berths = Request::new(BERTHS);
        let mut params = ListParams::default().limit(LIST_PAGE);
        let mut found = HashMap::new();
        loop {
            let page: Page<Berth> = match self.ask(berths.list(&params)).await {
                Ok(page) => page,
                Err(kube::Error::Api(status)) if status.code == 404 => return Ok(HashMap::new()),
                Err(error) => return Err(error),
            };
            for Berth { metadata, spec, status } in page.items {
                if let Some(node) = spec.node_name.or(metadata.name) {
                    found.entry(node).or_insert_with(|| status.into());
                }
            }
            match page.metadata.further.filter(|token| !token.is_empty()) {
                Some(token) => params = params.continue_token(&token),
                None => return Ok(found),
            }
        }
    }

    /// Sends a merge patch. That it was taken is all that is of interest in the answer.
    pub(super) async fn patch(&self, node: &str, params: &PatchParams, patch: &Value) -> kube::Result<()> {
        let request = self
            .requests
            .patch_metadata(path_part(node)?, params, &Patch::Merge(patch));
        let request = request.map_err(kube::Error::BuildRequest)?;
        in_time(self.client.request_text(request)).await.map(drop)
    }

    async fn ask<T: DeserializeOwned>(
        &self,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> kube::Result<T> {
        in_time(self.client.request(request.map_err(kube::Error::BuildRequest)?)).await
    }
}

/// An answer that does not come is trouble of the connection.
async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> kube::Result<T> {
    tokio::time::timeout(REQUEST_TIMEOUT, request)
        .await
        .unwrap_or_else(|_| {
            let message = format!("no answer within {} s", REQUEST_TIMEOUT.as_secs());
            let error = io::Error::new(io::ErrorKind::TimedOut, message);
            Err(kube::Error::Service(error.into()))
        })
}
