//! Commits and actions, over the API of whichever server answers.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use reqwest::{Client, Method, StatusCode, header};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    figures::{Count, Figures},
    fleet::{Fleet, Kind},
    random::Random,
    site::{Group, Site},
};

/// A server that is killed or waits for the API server answers late or not at all.
const ANSWER: Duration = Duration::from_secs(30);

const RETRY: Duration = Duration::from_millis(300);

/// Asks the servers.
#[derive(Clone)]
pub(crate) struct Asking {
    http: Client,
    fleet: Fleet,
}

impl Asking {
    pub(crate) fn new(fleet: Fleet) -> Self {
        Self {
            http: Client::builder().timeout(ANSWER).no_proxy().build().unwrap(),
            fleet,
        }
    }

    /// Status and body; nothing where the server is away.
    async fn ask(&self, server: usize, method: Method, path: &str, body: String) -> Option<(StatusCode, Value)> {
        let servers = self.fleet.addresses(Kind::Server);
        let url = format!("http://{}/api/v1.0/{path}", servers[server % servers.len()]);
        let kind = if body.starts_with('{') {
            "application/json"
        } else {
            "application/x-yaml"
        };
        let request = self
            .http
            .request(method, url)
            .header(header::CONTENT_TYPE, kind)
            .body(body);
        let answer = request.send().await.ok()?;
        let status = answer.status();
        let text = answer.text().await.ok()?;
        Some((status, serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    /// Asks one server after the other until one does it.
    async fn insist(&self, method: Method, path: &str, body: &str) -> Value {
        let mut server = 0;
        loop {
            match self.ask(server, method.clone(), path, body.to_owned()).await {
                Some((status, answer)) if status.is_success() => return answer,
                // The answer to the first try was lost.
                Some((StatusCode::CONFLICT, answer)) if server > 0 => return answer,
                Some((status, answer)) if status.is_client_error() => panic!("{path}: {status} {answer}"),
                // It is away, or what it works with is.
                Some(_) | None => {}
            }
            server += 1;
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Commits the documents of the database.
    pub(crate) async fn commit(&self, site: &Site) {
        self.insist(Method::POST, "configdocs/site?buffermode=replace", &site.database())
            .await;
        self.insist(Method::POST, "commitconfigdocs", "").await;
    }

    /// Asks for a relabelling; the action's id if it was accepted.
    async fn relabel(&self, server: usize, nodes: &[String], more: &str) -> Option<Result<String, String>> {
        let body = json!({"name": "update_labels", "parameters": {"target_nodes": nodes}}).to_string();
        let path = format!("actions?strategy=owned{more}");
        let (status, answer) = self.ask(server, Method::POST, &path, body).await?;
        Some(match answer["id"].as_str() {
            Some(id) if status == StatusCode::CREATED => Ok(id.to_owned()),
            _ => Err(format!("{status} {answer}")),
        })
    }

    async fn action(&self, server: usize, id: &str) -> Option<(StatusCode, Value)> {
        self.ask(server, Method::GET, &format!("actions/{id}"), String::new())
            .await
    }

    /// All actions that any server ever recorded, also those whose acceptance was not heard.
    pub(crate) async fn all(&self) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        loop {
            let marker = all
                .last()
                .map(|action| format!("&marker={}", action["id"].as_str().unwrap()));
            let path = format!("actions?limit=1000{}", marker.unwrap_or_default());
            let answer = self.insist(Method::GET, &path, "").await;
            match answer.as_array().unwrap().as_slice() {
                [] => return all,
                page => all.extend_from_slice(page),
            }
        }
    }
}

/// What is declared now, and who is told.
pub(crate) struct Committer {
    pub(crate) asking: Asking,
    pub(crate) folder: PathBuf,
    pub(crate) figures: Arc<Figures>,
    pub(crate) random: Random,
    pub(crate) site: Site,
}

impl Committer {
    /// The next round, in the folder and in the database.
    pub(crate) async fn commit(&mut self) {
        let toggled = [Group::Kept, Group::Acted].map(|group| self.random.pick(&group.names()).clone());
        self.site = self.site.next(&toggled);
        self.write();
        self.asking.commit(&self.site).await;
        self.figures.add(Count::Commits, 1);
    }

    /// Whole or not at all, as an editor writes it.
    fn write(&self) {
        let next = self.folder.join("next.yaml");
        std::fs::write(&next, self.site.folder()).unwrap();
        std::fs::create_dir_all(self.folder.join("site")).unwrap();
        std::fs::rename(next, self.folder.join("site/site.yaml")).unwrap();
    }

    /// Commits again and again.
    pub(crate) async fn work(mut self, every: Duration, stop: CancellationToken) -> Self {
        while !stop.is_cancelled() {
            self.commit().await;
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = stop.cancelled() => {}
            }
        }
        self
    }
}

/// The actions that were accepted, and their nodes.
#[derive(Clone)]
pub(crate) struct Actions {
    pub(crate) asking: Asking,
    pub(crate) figures: Arc<Figures>,
    accepted: Arc<Mutex<BTreeMap<String, Accepted>>>,
}

#[derive(Clone, Debug)]
struct Accepted {
    nodes: Vec<String>,
    /// What became of each node, once it is over.
    outcomes: Option<BTreeMap<String, String>>,
}

impl Actions {
    pub(crate) fn new(asking: Asking, figures: Arc<Figures>) -> Self {
        Self {
            asking,
            figures,
            accepted: Arc::default(),
        }
    }

    fn accept(&self, id: String, nodes: Vec<String>) {
        self.figures.add(Count::Actions, 1);
        let accepted = Accepted { nodes, outcomes: None };
        self.accepted.lock().unwrap().insert(id, accepted);
    }

    /// Submits actions for some of the nodes.
    pub(crate) async fn submit(self, mut random: Random, stop: CancellationToken) {
        while !stop.is_cancelled() {
            let mut nodes = Group::Acted.names();
            random.shuffle(&mut nodes);
            nodes.truncate(4 + random.below(9));
            match self.asking.relabel(random.below(2), &nodes, "").await {
                Some(Ok(id)) => self.accept(id, nodes),
                // One that changes the same nodes is at it.
                Some(Err(why)) if why.starts_with("409") => self.figures.add(Count::ActionsRefused, 1),
                Some(Err(why)) => crate::say(&format!("an action was refused: {why}")),
                None => {}
            }
            let pause = random.between(1_500, 3_500);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
    }

    /// Submits one action for all nodes.
    pub(crate) async fn submit_for_all(&self) {
        let nodes = Group::Acted.names();
        let mut server = 0;
        loop {
            match self.asking.relabel(server, &nodes, "&allow-mass-removal=true").await {
                Some(Ok(id)) => return self.accept(id, nodes),
                // One that nobody heard of the acceptance of is at it.
                Some(Err(why)) if why.starts_with("409") => {}
                Some(Err(why)) => crate::say(&format!("the last action was refused: {why}")),
                None => {}
            }
            server += 1;
            tokio::time::sleep(RETRY).await;
        }
    }

    /// Looks at the actions that are not over yet; how many there are.
    pub(crate) async fn look(&self, server: usize) -> Result<usize, String> {
        let open: Vec<(String, Accepted)> = {
            let accepted = self.accepted.lock().unwrap();
            let open = accepted.iter().filter(|(_, action)| action.outcomes.is_none());
            open.map(|(id, action)| (id.clone(), action.clone())).collect()
        };
        let mut left = open.len();
        for (id, action) in open {
            let Some((status, answer)) = self.asking.action(server, &id).await else {
                continue;
            };
            if status.is_server_error() {
                continue;
            }
            if !status.is_success() {
                return Err(format!("action {id} was accepted and is lost: {status} {answer}"));
            }
            let Some(outcomes) = outcomes(&answer)? else { continue };
            check(&id, &action.nodes, &outcomes)?;
            left -= 1;
            let good = outcomes.values().filter(|state| *state == "success").count();
            self.figures.add(Count::OutcomesGood, good);
            self.figures.add(Count::OutcomesBad, outcomes.len() - good);
            if let Some(action) = self.accepted.lock().unwrap().get_mut(&id) {
                action.outcomes = Some(outcomes);
            }
        }
        Ok(left)
    }

    /// Looks at every action once more: each is over, and what was said about it before still holds.
    pub(crate) async fn verify(&self) -> Result<(), String> {
        let accepted = self.accepted.lock().unwrap().clone();
        for (id, action) in &accepted {
            let path = format!("actions/{id}");
            let answer = self.asking.insist(Method::GET, &path, "").await;
            if outcomes(&answer)? != action.outcomes {
                return Err(format!("the outcomes of action {id} are others than before: {answer}"));
            }
        }
        for action in self.asking.all().await {
            if !is_over(&action) {
                return Err(format!("an action is not over: {action}"));
            }
        }
        Ok(())
    }
}

fn is_over(action: &Value) -> bool {
    ["Complete", "Failed"].contains(&action["action_lifecycle"].as_str().unwrap_or_default())
}

/// What became of each node; nothing while the action goes on.
fn outcomes(action: &Value) -> Result<Option<BTreeMap<String, String>>, String> {
    if !is_over(action) {
        return Ok(None);
    }
    let mut outcomes = BTreeMap::new();
    for node in action["nodes"].as_array().into_iter().flatten() {
        let text = |key: &str| node[key].as_str().unwrap_or_default().to_owned();
        if outcomes.insert(text("name"), text("state")).is_some() {
            return Err(format!("two outcomes for {}: {action}", text("name")));
        }
    }
    Ok(Some(outcomes))
}

/// Every node has exactly one outcome, and there is no other.
fn check(id: &str, nodes: &[String], outcomes: &BTreeMap<String, String>) -> Result<(), String> {
    let is_final = |state: &String| ["success", "failure"].contains(&state.as_str());
    let complete = nodes.len() == outcomes.len() && nodes.iter().all(|node| outcomes.get(node).is_some_and(is_final));
    if complete {
        Ok(())
    } else {
        Err(format!(
            "action {id} is over without an outcome for each of {nodes:?}: {outcomes:?}"
        ))
    }
}
