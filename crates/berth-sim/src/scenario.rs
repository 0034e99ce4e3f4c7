//! Scenarios: small texts that say what happens to machines, and when.
//!
//! ```text
//! machine w1 site=paris,rack=r1
//! 0s     power-on w1
//! 100s   approve w1
//! 200s   delete-node w1
//! 210s   show
//! ```
//!
//! Without Berth the transcript is everything that happened, with its time. The same text and seed give the same transcript.
//! Who plays scenarios with Berth reads [`statements`], and leaves to [`perform`] what is not Berth's.

use berth_labels::{Flavour, Label, LabelSet};
use jiff::Timestamp;
use serde_json::Value;
use thiserror::Error;

use crate::{
    cluster::{Cluster, ClusterOptions, ListOptions},
    fleet::{Fleet, Habits, SimulatedTime},
    machine::Disk,
    object::{at, condition, name},
};

/// What is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct ScenarioError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub problem: String,
}

/// One line of a scenario that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<'a> {
    /// The line, counted from 1.
    pub line: usize,
    /// When it happens, in seconds from the start; without it, after the line before.
    pub at: Option<i64>,
    /// What happens.
    pub words: Vec<&'a str>,
}

impl Statement<'_> {
    /// Says what is wrong with this line.
    pub fn error(&self, problem: impl Into<String>) -> ScenarioError {
        ScenarioError {
            line: self.line,
            problem: problem.into(),
        }
    }

    /// How many seconds have to pass before it happens, if so many have passed.
    pub fn wait(&self, elapsed: i64) -> Result<i64, ScenarioError> {
        let at = self.at.unwrap_or(elapsed);
        let wait = at.checked_sub(elapsed).filter(|wait| *wait >= 0);
        wait.ok_or_else(|| self.error(format!("{at}s is past already; lines are in the order of time")))
    }
}

/// Reads a scenario: a line is a time, which may be left out, and words; `#` begins a comment.
pub fn statements(text: &str) -> Result<Vec<Statement<'_>>, ScenarioError> {
    let mut statements = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut words: Vec<&str> = line
            .split_whitespace()
            .take_while(|word| !word.starts_with('#'))
            .collect();
        let line = index.saturating_add(1);
        let timed = words
            .first()
            .is_some_and(|word| word.starts_with(|first: char| first.is_ascii_digit()));
        let at = if timed {
            let time = seconds(words.remove(0)).map_err(|problem| ScenarioError { line, problem })?;
            Some(time)
        } else {
            None
        };
        if timed || !words.is_empty() {
            statements.push(Statement { line, at, words });
        }
    }
    Ok(statements)
}

/// Plays a scenario on a new cluster, without Berth, and gives its transcript.
pub async fn play(text: &str, seed: u64) -> Result<String, ScenarioError> {
    let time = SimulatedTime::starting_at(Timestamp::UNIX_EPOCH);
    let statements = statements(text)?;
    let openshift = ["flavour", "openshift"];
    let flavour = if statements.iter().any(|statement| statement.words == openshift) {
        Flavour::Openshift
    } else {
        Flavour::Upstream
    };
    let mut options = ClusterOptions::new(time.clock(), seed);
    options.flavour = flavour;
    let mut fleet = Fleet::new(Cluster::new(options), time, flavour, seed);
    let mut transcript = Vec::new();
    for statement in &statements {
        fleet.run(statement.wait(fleet.elapsed())?).await;
        match statement.words.as_slice() {
            ["flavour", "upstream" | "openshift"] => {}
            words => perform(&mut fleet, words)
                .await
                .map_err(|problem| statement.error(problem))?,
        }
        transcript.extend(fleet.take_transcript());
    }
    transcript.push(String::new());
    Ok(transcript.join("\n"))
}

fn add_machine(fleet: &mut Fleet, name: &str, rest: &[&str]) -> Result<(), String> {
    let mut disk = Disk::image();
    let mut habits = Habits::default();
    for word in rest {
        match word.split_once(':') {
            Some(("boot", value)) => habits.boot_seconds = seconds(value)?,
            Some(("jitter", value)) => habits.boot_jitter = seconds(value)?,
            Some(("unit-labels", value)) => {
                disk.write(
                    "/etc/default/kubelet",
                    format!("KUBELET_EXTRA_ARGS=--node-labels={value}\n"),
                );
            }
            _ => disk.write_labels(&label_set(word)?),
        }
    }
    if fleet.add(name, disk, habits) {
        Ok(())
    } else {
        Err(format!("there is a machine {name} already"))
    }
}

/// Does what one statement says, or says what is wrong with it.
pub async fn perform(fleet: &mut Fleet, words: &[&str]) -> Result<(), String> {
    let said = |error: &dyn std::fmt::Display| error.to_string();
    match words {
        ["machine", name, rest @ ..] => add_machine(fleet, name, rest),
        ["approve-all"] => {
            fleet.approve_all(true);
            Ok(())
        }
        ["power-on", "all"] => {
            let names: Vec<String> = fleet.names().map(str::to_owned).collect();
            let mut powered = names.iter().map(|name| fleet.power_on(name));
            powered.try_for_each(|done| done.map_err(|error| said(&error)))
        }
        ["power-on", name] => fleet.power_on(name).map_err(|error| said(&error)),
        ["power-off", name] => fleet.power_off(name).map_err(|error| said(&error)),
        ["erase", name] => fleet.erase(name).map_err(|error| said(&error)),
        ["restart-kubelet", name] => fleet.restart_kubelet(name).await.map_err(|error| said(&error)),
        ["approve", name] => fleet.approve(name).await.map_err(|error| said(&error)),
        ["delete-node", name] => fleet.delete_node(name).await.map_err(|error| said(&error)),
        ["desire", name, config] => fleet.desire(name, config).await.map_err(|error| said(&error)),
        ["make-node", name, labels] => fleet
            .preregister(name, &pairs(labels)?)
            .await
            .map_err(|error| said(&error)),
        ["label", name, labels] => {
            let labels: Vec<(String, Option<String>)> = labels
                .split(',')
                .map(|word| match word.split_once('=') {
                    Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
                    None => (word.trim_end_matches('-').to_owned(), None),
                })
                .collect();
            fleet.tell(
                "admin",
                &format!("labels {name}: {}", words.last().copied().unwrap_or_default()),
            );
            fleet.label_node(name, &labels).await.map_err(|error| said(&error))
        }
        ["write-labels", name, labels] => {
            let labels = label_set(labels)?;
            let disk = fleet
                .disk_mut(name)
                .ok_or_else(|| format!("there is no machine {name}"))?;
            disk.write_labels(&labels);
            fleet.tell(name, "its labels file is written");
            Ok(())
        }
        ["fail", name, "stuck-drain"] => {
            let habits = fleet
                .habits_mut(name)
                .ok_or_else(|| format!("there is no machine {name}"))?;
            habits.stuck_drain = true;
            Ok(())
        }
        ["fail", name, "slow-boot", time] => {
            let boot_seconds = seconds(time)?;
            let habits = fleet
                .habits_mut(name)
                .ok_or_else(|| format!("there is no machine {name}"))?;
            habits.boot_seconds = boot_seconds;
            Ok(())
        }
        ["show"] | [] => show(fleet).map_err(|error| said(&error)),
        other => Err(format!(
            "\"{}\" is not understood: use machine, power-on, power-off, erase, restart-kubelet, approve, approve-all, make-node, \
             label, write-labels, delete-node, desire, fail or show",
            other.join(" ")
        )),
    }
}

/// Tells every Node as it is, without the labels that all have.
fn show(fleet: &mut Fleet) -> Result<(), crate::failure::Failure> {
    let machines: Vec<(String, String)> = fleet
        .names()
        .map(|name| {
            let phase = fleet.phase(name).map_or("", super::fleet::Phase::as_str);
            (name.to_owned(), phase.to_owned())
        })
        .collect();
    for (name, phase) in machines {
        let boots = fleet.boots(&name).unwrap_or(0);
        fleet.tell("", &format!("machine {name}: {phase}, boots: {boots}"));
    }
    let hit = fleet.cluster().find("", "v1", "nodes")?;
    let nodes = fleet.cluster().list(&hit, None, &ListOptions::default())?.items;
    for node in nodes {
        let labels: Vec<String> = at(&node, &["metadata", "labels"])
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter(|(key, _)| {
                ![
                    "beta.kubernetes.io/arch",
                    "beta.kubernetes.io/os",
                    "kubernetes.io/arch",
                    "kubernetes.io/os",
                ]
                .contains(&key.as_str())
            })
            .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
            .collect();
        let ready = match condition(&node, "Ready") {
            "True" => "Ready",
            "Unknown" => "Unknown",
            _ => "not ready",
        };
        fleet.tell("", &format!("Node {}: {ready}, {}", name(&node), labels.join(" ")));
    }
    Ok(())
}

fn seconds(text: &str) -> Result<i64, String> {
    let (number, factor) = match (text.strip_suffix('s'), text.strip_suffix('m'), text.strip_suffix('h')) {
        (Some(number), ..) => (number, 1),
        (_, Some(number), _) => (number, 60),
        (.., Some(number)) => (number, 3_600),
        _ => return Err(format!("\"{text}\" is not a time such as 90s, 5m or 2h")),
    };
    number
        .parse::<i64>()
        .ok()
        .filter(|number| *number >= 0)
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| format!("\"{text}\" is not a time such as 90s, 5m or 2h"))
}

fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    Ok(label_set(text)?
        .iter()
        .map(|(key, value)| (key.as_str().to_owned(), value.as_str().to_owned()))
        .collect())
}

fn label_set(text: &str) -> Result<LabelSet, String> {
    text.split(',')
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            Label::parse_parts(key, value).map_err(|error| error.to_string())
        })
        .collect()
}
