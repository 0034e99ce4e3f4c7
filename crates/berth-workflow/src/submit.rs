//! Requests become actions: the checks in their order, and what is kept.

mod error;
mod preview;

use std::sync::{Arc, Mutex, PoisonError};

use berth_api::ValidationMessage;
use berth_labels::Flavour;
use berth_repository::Configdocs;
use berth_site::LabelJoin;
use berth_store::{Action, ActionId, ActionStore, Command, NewAction, NewNote, Origin};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use uuid::Builder;

pub use error::SubmitError;
pub use preview::{Preview, PreviewNode};

use crate::{
    apply::NodeClient,
    engine::Engine,
    request::{Caller, RelabelRequest, TaskRequest},
    site::{SiteSnapshot, Targets},
};
use berth_decide::{Declaration, Strategy};

/// The group of actions that exclude one another, as Shipyard's do.
const SITE: &str = "site";

/// How many findings that do not block an action are filed with it.
const VALIDATIONS_KEPT: usize = 50;

/// What a server is set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkflowOptions {
    /// How labels follow where a request does not say it.
    pub strategy: Strategy,
    /// Refuse actions until some revision took part in a site action. The blueprint asks for it: labels of a site that was
    /// never deployed are nothing to update.
    pub require_site_action: bool,
    /// When actions are refused on a site without Shipyard's own `DeploymentConfiguration`.
    pub deployment_configuration: DeploymentConfiguration,
    /// Refuse actions on a site with any error, and not only those whose nodes an error touches.
    pub all_or_nothing: bool,
    /// How several labels in a node filter go together.
    pub label_join: LabelJoin,
    /// Whose kubelet rules hold, unless the site says it itself.
    pub flavour: Option<Flavour>,
}

impl Default for WorkflowOptions {
    fn default() -> Self {
        Self {
            strategy: Strategy::Mirror,
            require_site_action: true,
            deployment_configuration: DeploymentConfiguration::default(),
            all_or_nothing: false,
            label_join: LabelJoin::default(),
            flavour: None,
        }
    }
}

/// When actions need Shipyard's own `DeploymentConfiguration`, which says how Shipyard is to run Armada and Drydock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeploymentConfiguration {
    /// On sites that Airship deploys: those with a document of Shipyard, Armada or Promenade. Other sites have nothing that
    /// it could configure.
    #[default]
    Airship,
    /// On every site, as Shipyard has it.
    Always,
    /// Never.
    Never,
}

impl DeploymentConfiguration {
    fn is_needed(self, site: &SiteSnapshot) -> bool {
        match self {
            Self::Airship => site.is_deployed_by_airship,
            Self::Always => true,
            Self::Never => false,
        }
    }
}

/// What is kept with an action for the one who carries it out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ActionOptions {
    pub(crate) strategy: Strategy,
    pub(crate) allow_mass_removal: bool,
    pub(crate) design_ref: Option<String>,
    pub(crate) node_filter: Value,
    /// When the revision was made from which the labels come: another one can have its number later. Not there in actions of
    /// earlier versions.
    pub(crate) revision_created_at: Option<i64>,
}

/// Takes requests.
#[derive(Debug)]
pub struct Workflow {
    configdocs: Arc<Configdocs>,
    store: Arc<dyn ActionStore>,
    engine: Arc<Engine>,
    options: WorkflowOptions,
    /// The site that was used last. A revision never changes, but another one can have its number after everything was
    /// deleted.
    kept: Mutex<Option<Arc<SiteSnapshot>>>,
}

impl Workflow {
    /// Requests on these documents, kept in this store and carried out by this engine.
    pub fn new(
        configdocs: Arc<Configdocs>,
        store: Arc<dyn ActionStore>,
        engine: Arc<Engine>,
        options: WorkflowOptions,
    ) -> Self {
        Self {
            configdocs,
            store,
            engine,
            options,
            kept: Mutex::default(),
        }
    }

    /// Where actions are kept.
    pub fn store(&self) -> &Arc<dyn ActionStore> {
        &self.store
    }

    /// Who carries actions out.
    pub fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The Nodes of the cluster.
    pub fn nodes(&self) -> &NodeClient {
        self.engine.nodes()
    }

    /// What the server is set to.
    pub fn options(&self) -> &WorkflowOptions {
        &self.options
    }

    /// Checks an action and keeps it. The engine begins with it at once.
    ///
    /// The checks come in Shipyard's order: a committed revision, its deployment configuration unless the request goes on
    /// without; then a site action, the names of the nodes, errors that touch them, and actions beside it.
    ///
    /// # Errors
    /// See [`SubmitError`]. Nothing is kept then.
    pub async fn create_action(&self, request: &RelabelRequest, caller: &Caller) -> Result<Action, SubmitError> {
        let site = self.site_for_actions(request).await?;
        let targets = self.targets(&site, request.target_nodes.clone()).await?;
        let options = ActionOptions {
            strategy: request.strategy.unwrap_or(self.options.strategy),
            allow_mass_removal: request.allow_mass_removal,
            revision_created_at: Some(site.key.created_at),
            ..ActionOptions::default()
        };
        let new = NewAction {
            origin: Origin::Action,
            name: request.name.clone(),
            parameters: request.parameters.clone(),
            allow_intermediate_commits: request.allow_intermediate_commits,
            exclusive: Some(SITE.to_owned()),
            ..new_action(caller, site.revision, &options, &targets.nodes)
        };
        self.keep(&new, &targets, &request.unknown).await
    }

    /// Checks a task and keeps it. Its nodes are those that its filter selects, in the order of their documents; none at
    /// all is a success, as in Drydock.
    ///
    /// # Errors
    /// See [`SubmitError`]. Nothing is kept then.
    pub async fn create_task(&self, request: &TaskRequest, caller: &Caller) -> Result<Action, SubmitError> {
        let site = self.committed_site().await?;
        let names = self.select(&site, request).await?;
        let targets = self.targets(&site, names).await?;
        let options = ActionOptions {
            strategy: request.strategy.unwrap_or(self.options.strategy),
            allow_mass_removal: request.allow_mass_removal,
            design_ref: Some(request.design_ref.clone()),
            node_filter: request.filter_json.clone(),
            revision_created_at: Some(site.key.created_at),
        };
        let new = NewAction {
            origin: Origin::Task,
            name: "relabel_nodes".to_owned(),
            parameters: json!({ "node_filter": request.filter_json }),
            ..new_action(caller, site.revision, &options, &targets.nodes)
        };
        self.keep(&new, &targets, &[]).await
    }

    /// The nodes that a task would be about.
    ///
    /// # Errors
    /// [`SubmitError::NothingCommitted`], and when the site cannot be read.
    pub async fn filtered(&self, request: &TaskRequest) -> Result<Vec<String>, SubmitError> {
        let site = self.committed_site().await?;
        self.select(&site, request).await
    }

    /// The Nodes, with what the committed documents say about pools: labels by which these know their nodes stay unless a request
    /// names them.
    ///
    /// # Errors
    /// When the committed site cannot be read.
    pub async fn nodes_of_site(&self) -> Result<NodeClient, SubmitError> {
        match self.committed_site().await {
            Ok(site) => Ok(self.nodes().afresh().with_identifying(site.identifying_keys())),
            Err(SubmitError::NothingCommitted) => Ok(self.nodes().afresh()),
            Err(error) => Err(error),
        }
    }

    /// Does what a user asks of an action.
    ///
    /// # Errors
    /// As [`ActionStore::control_action`], and [`SubmitError::RevisionGone`] for an action that is to go on.
    pub async fn control(&self, id: &ActionId, command: Command, user: &str, now: i64) -> Result<Action, SubmitError> {
        if matches!(command, Command::Unpause | Command::Retry) {
            self.check_revision(id, command).await?;
        }
        let action = self.store.control_action(id, command, user, now).await?;
        self.engine.wake();
        Ok(action)
    }

    /// Labels of a revision that is gone are given to no node, also when the action goes on later.
    async fn check_revision(&self, id: &ActionId, command: Command) -> Result<(), SubmitError> {
        let action = self.store.action(id).await?;
        let Some(revision) = action.revision else {
            return Ok(());
        };
        let there = match self.configdocs.repository().store().revision(revision).await {
            Ok(there) => Some(there.created_at),
            Err(berth_store::Error::RevisionNotFound { .. }) => None,
            Err(error) => return Err(error.into()),
        };
        let own = ActionOptions::deserialize(&action.options)
            .unwrap_or_default()
            .revision_created_at;
        if there.is_some_and(|there| own.is_none_or(|own| own == there)) {
            return Ok(());
        }
        Err(SubmitError::RevisionGone { revision, command })
    }

    /// The site of the committed revision.
    ///
    /// # Errors
    /// [`SubmitError::NothingCommitted`], and when the site cannot be read.
    pub async fn committed_site(&self) -> Result<Arc<SiteSnapshot>, SubmitError> {
        let staged = self.configdocs.staged().await?;
        self.site(staged.committed.ok_or(SubmitError::NothingCommitted)?).await
    }

    async fn site_for_actions(&self, request: &RelabelRequest) -> Result<Arc<SiteSnapshot>, SubmitError> {
        let staged = self.configdocs.staged().await?;
        let site = self
            .site(staged.committed.ok_or(SubmitError::NothingCommitted)?)
            .await?;
        if !request.continue_on_fail
            && self.options.deployment_configuration.is_needed(&site)
            && let Some(message) = site.missing_deployment_configuration()
        {
            return Err(SubmitError::NoDeploymentConfiguration(Box::new(message)));
        }
        if self.options.require_site_action && staged.last_site_action.is_none() {
            return Err(SubmitError::NoSiteAction);
        }
        Ok(site)
    }

    async fn site(&self, revision: u64) -> Result<Arc<SiteSnapshot>, SubmitError> {
        let key = self.configdocs.repository().revision_key(revision).await?;
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(site) = kept.filter(|site| site.key == key) {
            return Ok(site);
        }
        let site = SiteSnapshot::load(&self.configdocs, revision, self.options.flavour).await?;
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&site));
        Ok(site)
    }

    async fn select(&self, site: &Arc<SiteSnapshot>, request: &TaskRequest) -> Result<Vec<String>, SubmitError> {
        let (site, filter, join) = (Arc::clone(site), request.filter.clone(), self.options.label_join);
        let selected = tokio::task::spawn_blocking(move || {
            let resolver = site.resolver();
            let names = filter.map_or_else(|| resolver.declared(), |filter| filter.select(&resolver, join));
            names.iter().map(|name| name.as_ref().to_owned()).collect()
        });
        selected.await.map_err(|_| SubmitError::Interrupted)
    }

    /// The nodes with what they are to carry, when nothing speaks against them.
    async fn targets(&self, site: &Arc<SiteSnapshot>, names: Vec<String>) -> Result<Targets, SubmitError> {
        let all = self.options.all_or_nothing;
        let on = Arc::clone(site);
        let found = tokio::task::spawn_blocking(move || Targets::find(&on, &names, all));
        let targets = found.await.map_err(|_| SubmitError::Interrupted)?;
        if !targets.unknown.is_empty() {
            return Err(SubmitError::UnknownNodes {
                revision: site.revision,
                names: targets.unknown,
            });
        }
        if !targets.blocking.is_empty() {
            return Err(SubmitError::Blocked(targets.blocking));
        }
        Ok(targets)
    }

    async fn keep(&self, new: &NewAction, targets: &Targets, unknown: &[String]) -> Result<Action, SubmitError> {
        let action = self.store.create_action(new).await?;
        let notes = notes(&action, &targets.nodes, unknown);
        self.store.add_notes(&notes, new.now).await?;
        for message in targets.elsewhere.iter().take(VALIDATIONS_KEPT) {
            self.file(&action, message).await?;
        }
        self.engine.wake();
        Ok(action)
    }

    async fn file(&self, action: &Action, message: &ValidationMessage) -> Result<(), SubmitError> {
        let details = serde_json::to_value(message).unwrap_or_default();
        self.store
            .add_action_validation(&action.id, &message.name, &details)
            .await?;
        Ok(())
    }
}

fn new_action(caller: &Caller, revision: u64, options: &ActionOptions, nodes: &[(String, Declaration)]) -> NewAction {
    let (mut first, mut second) = ([0; 10], [0; 16]);
    let (for_action, for_task) = caller.random.split_at(first.len());
    first.copy_from_slice(for_action);
    second.copy_from_slice(for_task);
    NewAction {
        id: ActionId::new(caller.now, first),
        task_id: Builder::from_random_bytes(second).into_uuid().to_string(),
        origin: Origin::Action,
        name: String::new(),
        parameters: Value::Null,
        user: caller.user.clone(),
        context_marker: caller.context_marker.clone(),
        revision: Some(revision),
        allow_intermediate_commits: None,
        options: serde_json::to_value(options).unwrap_or_default(),
        exclusive: None,
        nodes: nodes
            .iter()
            .map(|(node, declaration)| {
                let work = json!({ "labels": declaration.labels, "berth": declaration.berth });
                (node.clone(), work)
            })
            .collect(),
        now: caller.now,
    }
}

/// What is worth saying of a new action.
fn notes(action: &Action, nodes: &[(String, Declaration)], unknown: &[String]) -> Vec<NewNote> {
    let note = |kind: &str, text: String, verbosity: u8| NewNote {
        about: format!("action/{}", action.id),
        subject: action.id.to_string(),
        kind: kind.to_owned(),
        text,
        verbosity,
        link: None,
    };
    let revision = action.revision.unwrap_or_default();
    let mut worth_saying = vec![note("action", format!("Configdoc revision {revision}"), 1)];
    if !unknown.is_empty() {
        let text = format!(
            "Parameters that Berth does not know change nothing: {}",
            unknown.join(", ")
        );
        worth_saying.push(note("action", text, 1));
    }
    if nodes.is_empty() {
        worth_saying.push(note("action", "No nodes in scope, nothing to relabel.".to_owned(), 1));
    }
    for (node, declaration) in nodes {
        for skipped in &declaration.skipped {
            let text = format!("{node} does not get {}: {}", skipped.key, skipped.reason);
            worth_saying.push(note("skipped", text, 3));
        }
    }
    worth_saying
}
