//! What goes wrong: small texts, or arguments of a command.
//!
//! ```text
//! fail n07 lost              # does not come back from its reboot
//! fail n08 stuck-drain       # its Pods do not go
//! fail n09 refuses           # its daemon cannot take the config
//! fail n10 slow-boot 40m     # every reboot takes so long
//! 45m power-off n11
//! 1h  pause infra
//! 2h  resume infra
//! 3h  power-on n11
//! ```
//!
//! A `fail` with a time holds from then on. The words are those of the scenarios that `berth up` plays.

use std::time::Duration;

use thiserror::Error;

use crate::forecast::parse_duration;

/// What goes wrong on one node when it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mishap {
    /// It does not come back from its reboot.
    Lost,
    /// Its Pods do not go.
    StuckDrain,
    /// Its daemon cannot take the config, gives up and serves on.
    Refuses,
    /// Every reboot takes so long.
    SlowBoot(Duration),
}

/// Something that happens to a node or a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happening {
    /// From now on this goes wrong on the node.
    Fail(String, Mishap),
    /// The node loses its power.
    PowerOff(String),
    /// The node has power again and boots.
    PowerOn(String),
    /// Somebody stops the rollout of a pool.
    Pause(String),
    /// Somebody lets it go on.
    Resume(String),
}

/// A happening and its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptEvent {
    /// When, from the start of the change.
    pub at: Duration,
    /// What.
    pub what: Happening,
}

/// Everything that happens beside the change itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// In order of time; those of the same time in the order given.
    pub events: Vec<ScriptEvent>,
}

/// What is wrong with a script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong, and what would be right.
    pub problem: String,
}

impl Script {
    /// Reads a script.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> = line
                .split_whitespace()
                .take_while(|word| !word.starts_with('#'))
                .collect();
            let event = event(&words).map_err(|problem| ScriptError {
                line: index.saturating_add(1),
                problem,
            })?;
            script.events.extend(event);
        }
        script.events.sort_by_key(|event| event.at);
        Ok(script)
    }

    /// Lets a node fail from the start: `NODE`, which is lost, or `NODE=MISHAP`.
    pub fn fail(&mut self, text: &str) -> Result<(), String> {
        let (node, mishap) = text.split_once('=').unwrap_or((text, "lost"));
        if node.is_empty() {
            return Err("there is no node before the `=`".to_owned());
        }
        let words: Vec<&str> = mishap.split(':').collect();
        let happening = Happening::Fail(node.to_owned(), mishap_of(&words)?);
        self.events.insert(
            0,
            ScriptEvent {
                at: Duration::ZERO,
                what: happening,
            },
        );
        Ok(())
    }

    /// The nodes that are named, and the pools.
    pub fn named(&self) -> (Vec<&str>, Vec<&str>) {
        let (mut nodes, mut pools) = (Vec::new(), Vec::new());
        for event in &self.events {
            match &event.what {
                Happening::Fail(node, _) | Happening::PowerOff(node) | Happening::PowerOn(node) => {
                    nodes.push(node.as_str());
                }
                Happening::Pause(pool) | Happening::Resume(pool) => pools.push(pool.as_str()),
            }
        }
        (nodes, pools)
    }
}

/// What can happen. Before one of them stands a time.
const WORDS: [&str; 5] = ["fail", "power-off", "power-on", "pause", "resume"];

fn event(words: &[&str]) -> Result<Option<ScriptEvent>, String> {
    let (at, rest) = match words {
        [] => return Ok(None),
        ["fail", ..] => (Duration::ZERO, words),
        [time, rest @ ..]
            if time.starts_with(|first: char| first.is_ascii_digit())
                || rest.first().is_some_and(|word| WORDS.contains(word)) =>
        {
            let at = parse_duration(time).map_err(|error| format!("\"{time}\": {error}"))?;
            (at, rest)
        }
        _ => {
            return Err(format!(
                "\"{}\" is not understood: use fail, or a time and fail, power-off, power-on, pause or resume",
                words.join(" ")
            ));
        }
    };
    let what = match rest {
        ["fail", node, mishap @ ..] => Happening::Fail((*node).to_owned(), mishap_of(mishap)?),
        ["power-off", node] => Happening::PowerOff((*node).to_owned()),
        ["power-on", node] => Happening::PowerOn((*node).to_owned()),
        ["pause", pool] => Happening::Pause((*pool).to_owned()),
        ["resume", pool] => Happening::Resume((*pool).to_owned()),
        other => {
            return Err(format!(
                "\"{}\" is not understood: use fail, power-off, power-on, pause or resume",
                other.join(" ")
            ));
        }
    };
    Ok(Some(ScriptEvent { at, what }))
}

fn mishap_of(words: &[&str]) -> Result<Mishap, String> {
    match words {
        ["lost"] => Ok(Mishap::Lost),
        ["stuck-drain"] => Ok(Mishap::StuckDrain),
        ["refuses"] => Ok(Mishap::Refuses),
        ["slow-boot", time] => parse_duration(time)
            .map(Mishap::SlowBoot)
            .map_err(|error| format!("\"{time}\": {error}")),
        other => Err(format!(
            "\"{}\" is not a mishap: use lost, stuck-drain, refuses or slow-boot with a time",
            other.join(" ")
        )),
    }
}
