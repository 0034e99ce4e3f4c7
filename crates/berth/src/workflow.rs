//! Actions on a server: asked for, followed, steered.
//!
//! ```text
//! relabel, retry ──► Workflow ──► server     and while it runs: Follower, on the server's events
//! ```

mod action;
mod events;
mod filter;
mod follow;

use berth_api::{Action, ActionDetail, ActionPreview, CreatedAction, FilterQuestion, Names, NewAction, RevisionList};
use reqwest::{Method, RequestBuilder, header};
use serde::Serialize;
use serde_json::Value;

pub(crate) use self::{
    action::{action_id, changes, counts, state_word, summary, told},
    filter::node_filter,
    follow::{Ended, follow},
};
use crate::{
    args::{ServerArgs, StrategyName},
    failure::Failure,
    server::{Answer, Family, Server},
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
    pub(crate) actions: Vec<Answer<Action>>,
    pub(crate) next: Option<String>,
}

impl Workflow {
    /// The actions of the server that was named.
    pub(crate) fn on(args: &ServerArgs) -> Result<Self, Failure> {
        Ok(Self {
            server: Server::required(args)?,
        })
    }

    /// Starts an action and gives it as it was recorded.
    pub(crate) async fn submit(&self, request: Request<'_>) -> Result<Answer<CreatedAction>, Failure> {
        self.server
            .ask(Family::Shipyard, self.update_labels(request, false))
            .await
    }

    /// What an action would do. Nothing is recorded.
    pub(crate) async fn dry_run(&self, request: Request<'_>) -> Result<Answer<ActionPreview>, Failure> {
        self.server
            .ask(Family::Shipyard, self.update_labels(request, true))
            .await
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
        let body = NewAction {
            name: "update_labels".to_owned(),
            parameters: [("target_nodes".to_owned(), request.nodes.into())]
                .into_iter()
                .collect(),
        };
        json(self.server.request(Method::POST, &["actions"], &query), &body)
    }

    /// The nodes that a filter selects in the committed revision.
    pub(crate) async fn select(&self, node_filter: &Value) -> Result<Vec<String>, Failure> {
        let revisions = self
            .server
            .request(Method::GET, &["revisions"], &[("tag", "committed")]);
        let revisions: Answer<RevisionList> = self.server.ask(Family::Deckhand, revisions).await?;
        let committed = revisions.results.iter().map(|revision| revision.id).max();
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
        let body = FilterQuestion {
            node_filter: node_filter.clone(),
            design_ref: design,
        };
        let request = json(self.server.request(Method::POST, &["nodefilter"], &[]), &body);
        let names: Answer<Names> = self.server.ask(Family::Shipyard, request).await?;
        Ok(names.into_read().0)
    }

    /// One action with its steps and the outcome of every node.
    pub(crate) async fn action(&self, id: &str) -> Result<Answer<ActionDetail>, Failure> {
        let request = self.server.request(Method::GET, &["actions", id], &[]);
        self.server.ask(Family::Shipyard, request).await
    }

    /// Actions, newest first.
    pub(crate) async fn actions(&self, query: &[(&str, &str)]) -> Result<Page, Failure> {
        let response = self
            .server
            .send(self.server.request(Method::GET, &["actions"], query))
            .await?;
        let next = response.headers().get("x-next-marker");
        let next = next.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let list: Answer<Vec<Value>> = self.server.read(Family::Shipyard, response).await?;
        let actions = list.into_read().into_iter().map(|action| self.server.answer(action));
        Ok(Page {
            actions: actions.collect::<Result<_, _>>()?,
            next,
        })
    }

    /// Stops, pauses, goes on, or runs again what failed.
    pub(crate) async fn control(&self, id: &str, verb: &str) -> Result<(), Failure> {
        let request = self
            .server
            .request(Method::POST, &["actions", id, "control", verb], &[]);
        self.server.tell(Family::Shipyard, request).await
    }

    /// The server, for what is not about labels.
    pub(crate) const fn server(&self) -> &Server {
        &self.server
    }
}

/// A request with a body in JSON.
pub(crate) fn json(request: RequestBuilder, body: &impl Serialize) -> RequestBuilder {
    // Texts, numbers, lists and maps of them can be written.
    let body = serde_json::to_string(body).unwrap_or_default();
    request.header(header::CONTENT_TYPE, "application/json").body(body)
}
