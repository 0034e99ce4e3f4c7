//! Actions on a server: asked for, followed, steered.
//!
//! ```text
//! relabel, retry ──► Workflow ──► server     and while it runs: Follower, on the server's events
//! ```

mod action;
mod events;
mod filter;
mod follow;

use reqwest::{Method, RequestBuilder, StatusCode, header};
use serde_json::{Value, json};

pub(crate) use self::{
    action::{Action, Diff, NodeOutcome, NodeState, Step, action_id, changes},
    filter::node_filter,
    follow::{Ended, follow},
};
use crate::{
    args::{ServerArgs, StrategyName},
    failure::Failure,
    server::{Family, Server},
};

/// The actions of a server.
#[derive(Debug)]
pub(crate) struct Workflow {
    server: Server,
}

/// What an action is asked to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) nodes: &'a [String],
    pub(crate) strategy: Option<StrategyName>,
    pub(crate) allow_mass_removal: bool,
}

/// Some actions, newest first, and where the next ones begin.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) actions: Vec<Value>,
    pub(crate) next: Option<String>,
}

impl Workflow {
    /// The actions of the server that was named.
    pub(crate) fn on(args: &ServerArgs) -> Result<Self, Failure> {
        Ok(Self {
            server: Server::required(args)?,
        })
    }

    async fn json(&self, request: RequestBuilder) -> Result<Value, Failure> {
        let values = self.server.ask(Family::Shipyard, request).await?;
        self.server.one(values)
    }

    /// Starts an action and gives it as it was recorded.
    pub(crate) async fn submit(&self, request: Request<'_>) -> Result<Value, Failure> {
        self.json(self.update_labels(request, false)).await
    }

    /// What an action would do. Nothing is recorded.
    pub(crate) async fn dry_run(&self, request: Request<'_>) -> Result<Value, Failure> {
        self.json(self.update_labels(request, true)).await
    }

    fn update_labels(&self, request: Request<'_>, dry_run: bool) -> RequestBuilder {
        let mut query = Vec::new();
        if dry_run {
            query.push(("dry-run", "true"));
        }
        if let Some(strategy) = request.strategy {
            query.push(("strategy", strategy.as_str()));
        }
        if request.allow_mass_removal {
            query.push(("allow-mass-removal", "true"));
        }
        let body = json!({"name": "update_labels", "parameters": {"target_nodes": request.nodes}});
        self.post(&["actions"], &query, &body)
    }

    /// A POST with a body in JSON.
    pub(crate) fn post(&self, path: &[&str], query: &[(&str, &str)], body: &Value) -> RequestBuilder {
        let request = self.server.request(Method::POST, path, query);
        request
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.to_string())
    }

    /// The nodes that a filter selects in the committed revision.
    pub(crate) async fn select(&self, node_filter: &Value) -> Result<Vec<String>, Failure> {
        let revisions = self
            .server
            .request(Method::GET, &["revisions"], &[("tag", "committed")]);
        let answer = self.server.ask(Family::Deckhand, revisions).await?;
        let revisions = answer.first().and_then(|list| list.get("results")?.as_array());
        let committed = revisions.and_then(|list| list.iter().filter_map(|it| it.get("id")?.as_u64()).max());
        let Some(committed) = committed else {
            return Err(Failure::Refused {
                message: "nothing is committed yet, so there is no node to select".to_owned(),
                hint: Some("`berth configdocs load` and `berth configdocs commit` come first".to_owned()),
            });
        };
        let design = format!(
            "deckhand+{}api/v1.0/revisions/{committed}/rendered-documents",
            self.server.address()
        );
        let body = json!({"node_filter": node_filter, "design_ref": design});
        let answer = self.json(self.post(&["nodefilter"], &[], &body)).await?;
        let names = answer.as_array().ok_or_else(|| self.server.not_berth(StatusCode::OK))?;
        Ok(names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// One action with its steps and the outcome of every node.
    pub(crate) async fn action(&self, id: &str) -> Result<Value, Failure> {
        self.json(self.server.request(Method::GET, &["actions", id], &[])).await
    }

    /// Actions, newest first.
    pub(crate) async fn actions(&self, query: &[(&str, &str)]) -> Result<Page, Failure> {
        let response = self
            .server
            .send(self.server.request(Method::GET, &["actions"], query))
            .await?;
        let next = response.headers().get("x-next-marker");
        let next = next.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let answer = self.server.read(Family::Shipyard, response).await?;
        match self.server.one(answer)? {
            Value::Array(actions) => Ok(Page { actions, next }),
            _ => Err(self.server.not_berth(StatusCode::OK)),
        }
    }

    /// Stops, pauses, goes on, or runs again what failed.
    pub(crate) async fn control(&self, id: &str, verb: &str) -> Result<(), Failure> {
        let request = self
            .server
            .request(Method::POST, &["actions", id, "control", verb], &[]);
        self.server.ask(Family::Shipyard, request).await?;
        Ok(())
    }

    /// The server, for what is not about labels.
    pub(crate) const fn server(&self) -> &Server {
        &self.server
    }
}
