//! Scenarios with Berth: what people and machines do, what must become true, and what is there then.
//!
//! Controllers work beside the machines, so a transcript has nothing that depends on when they do: it is the scenario's own
//! lines and what `show` found.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use berth_resources::{Berth, LabelRule};
use berth_sim::{ScenarioError, Statement, perform, statements};
use berth_units::LABELS_PATH;
use kube::{Api, api::DeleteParams};
use serde_json::{Map, Value, json};

use super::world::{World, give_token};
use crate::{commands::ignition_server::stop_signal, exit::Exit, failure::Failure, output::Printer};

/// So many seconds pass for the machines before something that does not become true is given up.
const GIVEN_UP_AFTER: i64 = 3_600;
/// Controllers get so much time for each second of the machines.
const BETWEEN: Duration = Duration::from_millis(5);

/// Labels that every Node has.
const PLAIN: [&str; 4] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/os",
];

const WORDS: &str = "with Berth there are also berth, rule, delete-berth, delete-rule, stop-berth, start-berth, pass, until and \
                     show";
const CONDITIONS: &str = "use Reserved, Occupied, Vacant, in-sync, reason R, pool P, label K=V, no-label K, annotation K, \
                          remembers K, served P, boots-with K=V, ready, new-node or no-berth";

/// A scenario as it was read.
pub(super) struct Scenario {
    file: PathBuf,
    pub(super) text: String,
}

/// Why a scenario did not come to its end.
enum Broken {
    /// It cannot be played.
    Text(ScenarioError),
    /// What it waited for did not become true, and what is there instead.
    Never { what: String, shown: String },
}

impl From<ScenarioError> for Broken {
    fn from(error: ScenarioError) -> Self {
        Self::Text(error)
    }
}

impl Scenario {
    pub(super) fn read(file: &Path) -> Result<Self, Failure> {
        let text =
            fs::read_to_string(file).map_err(|error| Failure::Unusable(format!("{}: {error}", file.display())))?;
        Ok(Self {
            file: file.to_owned(),
            text,
        })
    }

    pub(super) fn failure(&self, error: &ScenarioError) -> Failure {
        Failure::Unusable(format!("{}: {error}", self.file.display()))
    }

    /// Plays it on a cluster with Berth and prints the transcript as it goes.
    pub(super) async fn play(&self, world: World, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
        let told = stop_signal().map_err(Failure::Runtime)?;
        let mut play = Play {
            world,
            known: String::new(),
        };
        let outcome = tokio::select! {
            outcome = self.all(&mut play, printer) => outcome,
            () = told => Ok(Ok(())),
        };
        play.world.end().await;
        match outcome? {
            Ok(()) => Ok(Exit::Done),
            Err(Broken::Text(error)) => Err(self.failure(&error)),
            Err(Broken::Never { what, shown }) => {
                printer.data(&shown)?;
                printer.error(&format!("{}: {what}", self.file.display()))?;
                Ok(Exit::No)
            }
        }
    }

    async fn all(&self, play: &mut Play, printer: &mut Printer<'_>) -> Result<Result<(), Broken>, Failure> {
        // Nothing is played of a text that cannot be read to its end.
        let statements = match statements(&self.text) {
            Ok(statements) => statements,
            Err(error) => return Ok(Err(error.into())),
        };
        let mut statements = statements.iter().peekable();
        for (index, line) in self.text.lines().enumerate() {
            printer.data(&format!("{line}\n"))?;
            printer.flush()?;
            let number = index.saturating_add(1);
            let Some(statement) = statements.next_if(|statement| statement.line == number) else {
                continue;
            };
            match play.statement(statement).await {
                Ok(shown) => printer.data(&shown)?,
                Err(broken) => return Ok(Err(broken)),
            }
        }
        Ok(Ok(()))
    }
}

/// A scenario that is being played.
struct Play {
    world: World,
    /// The uid of the Node that was waited for last.
    known: String,
}

impl Play {
    /// Does what a line says. What there is to show comes back.
    async fn statement(&mut self, statement: &Statement<'_>) -> Result<String, Broken> {
        let wait = statement.wait(self.world.fleet.elapsed())?;
        self.world.fleet.run(wait).await;
        let done = match statement.words.as_slice() {
            [] => Ok(()),
            ["until", name, what @ ..] => return self.until(statement, name, what).await.map(|()| String::new()),
            ["show"] => {
                let names: Vec<String> = self.world.fleet.names().map(str::to_owned).collect();
                return Ok(names.iter().map(|name| self.show(name)).collect());
            }
            ["show", name] => return Ok(self.show(name)),
            words => self.perform(words).await,
        };
        // What machines say is not in the transcript, because its order depends on the controllers.
        self.world.fleet.take_transcript();
        done.map_err(|problem| statement.error(problem))?;
        Ok(String::new())
    }

    async fn perform(&mut self, words: &[&str]) -> Result<(), String> {
        match words {
            ["berth", name, rest @ ..] => {
                let spec = spec(rest)?;
                self.apply("Berth", name, &spec).await
            }
            ["rule", name, pattern, labels] => {
                let spec = json!({"match": {"namePatterns": [pattern]}, "labels": map(labels)});
                self.apply("LabelRule", name, &spec).await
            }
            ["delete-berth", name] => {
                let berths: Api<Berth> = Api::all(self.world.client.clone());
                let deleted = berths.delete(name, &DeleteParams::default()).await;
                deleted.map(|_| ()).map_err(|error| error.to_string())
            }
            ["delete-rule", name] => {
                let rules: Api<LabelRule> = Api::all(self.world.client.clone());
                let deleted = rules.delete(name, &DeleteParams::default()).await;
                deleted.map(|_| ()).map_err(|error| error.to_string())
            }
            ["stop-berth"] => {
                self.world.stop_controllers().await;
                Ok(())
            }
            ["start-berth"] => {
                self.world.start_controllers();
                Ok(())
            }
            ["pass", time] => {
                let parsed = statements(time).map_err(|error| error.problem)?;
                let seconds = parsed.first().and_then(|statement| statement.at);
                let seconds = seconds.ok_or_else(|| format!("\"{time}\" is not a time such as 90s, 5m or 2h"))?;
                self.world.fleet.run(seconds).await;
                Ok(())
            }
            ["machine", name, ..] => {
                perform(&mut self.world.fleet, words).await?;
                // Its system is installed already; its kubelet asks for a certificate with a token of its own.
                self.world.fleet.installed(name);
                let given = give_token(&mut self.world.fleet, name).await;
                given.map_err(|failure| failure.to_string())
            }
            ["flavour", ..] => Err("the label berth.dev/flavour of a Region document says the flavour".to_owned()),
            other => {
                let done = perform(&mut self.world.fleet, other).await;
                done.map_err(|problem| {
                    if problem.contains("is not understood") {
                        format!("{problem}; {WORDS}")
                    } else {
                        problem
                    }
                })
            }
        }
    }

    async fn apply(&self, kind: &str, name: &str, spec: &Value) -> Result<(), String> {
        let object = json!({
            "apiVersion": "berth.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec,
        });
        let applied = self.world.fleet.cluster().apply(&object).await;
        applied.map_err(|error| error.to_string())
    }

    fn object(&self, group: &str, version: &str, plural: &str, name: &str) -> Option<Arc<Value>> {
        let objects = self.world.fleet.cluster().objects(group, version, plural);
        objects.into_iter().find(|object| object["metadata"]["name"] == name)
    }

    fn node(&self, name: &str) -> Option<Arc<Value>> {
        self.object("", "v1", "nodes", name)
    }

    fn berth(&self, name: &str) -> Option<Arc<Value>> {
        self.object("berth.dev", "v1alpha1", "berths", name)
    }

    async fn until(&mut self, statement: &Statement<'_>, name: &str, what: &[&str]) -> Result<(), Broken> {
        for _ in 0..GIVEN_UP_AFTER {
            if self.is_so(name, what).map_err(|problem| statement.error(problem))? {
                let node = self.node(name);
                let uid = node.as_ref().and_then(|node| node["metadata"]["uid"].as_str());
                uid.unwrap_or_default().clone_into(&mut self.known);
                return Ok(());
            }
            self.world.fleet.run(1).await;
            tokio::time::sleep(BETWEEN).await;
        }
        Err(Broken::Never {
            what: format!("line {}: {name} never was \"{}\"", statement.line, what.join(" ")),
            shown: self.show(name),
        })
    }

    fn is_so(&self, name: &str, what: &[&str]) -> Result<bool, String> {
        let node = self.node(name);
        let berth = self.berth(name);
        let label = |key: &str| node.as_ref()?["metadata"]["labels"][key].as_str();
        let in_sync = || {
            let conditions = berth.as_ref()?["status"]["conditions"].as_array()?;
            conditions.iter().find(|condition| condition["type"] == "LabelsInSync")
        };
        let status = |key: &str, value: &str| berth.as_ref().is_some_and(|berth| berth["status"][key] == value);
        Ok(match what {
            [phase @ ("Reserved" | "Occupied" | "Vacant")] => status("phase", phase),
            ["in-sync"] => in_sync().is_some_and(|condition| condition["status"] == "True"),
            ["reason", reason] => in_sync().is_some_and(|condition| condition["reason"] == *reason),
            ["pool", pool] => status("pool", pool),
            ["label", pair] => {
                let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
                label(key) == Some(value)
            }
            ["no-label", key] => node.is_some() && label(key).is_none(),
            ["boots-with", pair] => self.world.fleet.disk(name).is_some_and(|disk| {
                let file = String::from_utf8_lossy(disk.read(LABELS_PATH).unwrap_or_default());
                file.lines().any(|line| line == *pair)
            }),
            ["served", pool] => self.world.services.pool_of(name).as_deref() == Some(*pool),
            ["annotation", key] => node
                .as_ref()
                .is_some_and(|node| node["metadata"]["annotations"].get(*key).is_some()),
            ["remembers", key] => berth
                .as_ref()
                .is_some_and(|berth| berth["status"]["removedLabels"].get(*key).is_some()),
            ["ready"] => node.as_ref().is_some_and(|node| {
                let conditions = node["status"]["conditions"].as_array();
                let mut conditions = conditions.into_iter().flatten();
                conditions.any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
            }),
            ["new-node"] => node
                .as_ref()
                .is_some_and(|node| node["metadata"]["uid"].as_str() != Some(&self.known)),
            ["no-berth"] => berth.is_none(),
            other => return Err(format!("\"{}\" is not a condition: {CONDITIONS}", other.join(" "))),
        })
    }

    /// What is there of a machine, without the labels that all Nodes have.
    fn show(&self, name: &str) -> String {
        let berth = self.berth(name).map_or_else(
            || "none".to_owned(),
            |berth| {
                let text = |key: &str| berth["status"][key].as_str().unwrap_or("-").to_owned();
                format!("{}, pool {}", text("phase"), text("pool"))
            },
        );
        let node = self.node(name).map_or_else(
            || "none".to_owned(),
            |node| {
                let labels = node["metadata"]["labels"].as_object();
                let labels: Vec<String> = labels
                    .into_iter()
                    .flatten()
                    .filter(|(key, _)| !PLAIN.contains(&key.as_str()))
                    .map(|(key, value)| match value.as_str() {
                        Some("") | None => key.clone(),
                        Some(value) => format!("{key}={value}"),
                    })
                    .collect();
                let taints = node["spec"]["taints"].as_array();
                let taints: Vec<String> = taints
                    .into_iter()
                    .flatten()
                    .map(|taint| {
                        let text = |key: &str| taint[key].as_str().unwrap_or_default();
                        format!(", taint {}:{}", text("key"), text("effect"))
                    })
                    .collect();
                format!("{}{}", labels.join(" "), taints.concat())
            },
        );
        format!("    Berth {name}: {berth}\n    Node {name}: {node}\n")
    }
}

fn map(labels: &str) -> Map<String, Value> {
    let pairs = labels.split(',').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect()
}

fn spec(words: &[&str]) -> Result<Value, String> {
    let mut spec = json!({});
    for word in words {
        match word.split_once(':') {
            Some(("pool", pool)) => spec["pool"] = json!(pool),
            Some(("policy", policy)) => spec["poolPolicy"] = json!(policy),
            Some(("preregister", when)) => spec["preregister"] = json!(when),
            Some(("taint", taint)) => {
                let (key, effect) = taint
                    .split_once(':')
                    .ok_or_else(|| format!("\"{word}\" is not a taint such as taint:KEY:NoSchedule"))?;
                spec["taints"] = json!([{"key": key, "effect": effect}]);
            }
            _ => spec["labels"] = Value::Object(map(word)),
        }
    }
    Ok(spec)
}
