//! Following an action to its end.

use std::{collections::BTreeSet, io::IsTerminal as _, time::Duration};

use reqwest::{Method, Response};
use serde::Deserialize as _;
use serde_json::Value;

use super::{
    Action, NodeOutcome, NodeState, Workflow,
    events::{Event, Events},
};
use crate::{
    failure::Failure,
    output::{Printer, Progress, printable},
};

/// So long nothing may be heard before the action is looked at: events can be lost with a connection.
const QUIET: Duration = Duration::from_secs(2);
/// How often in a row the server may be away.
const ATTEMPTS: u32 = 30;

/// How following ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The action is over: the server's document of it.
    Over(Value),
    /// The action waits for somebody, and nobody sits here: the server's document of it.
    Paused(Value),
    /// The user did not want to wait any more. The action goes on.
    Interrupted,
}

/// Tells every node's outcome as it comes, until the action is over.
///
/// A server that restarts is waited for: its actions go on, and so does this. An action that is paused is waited for where
/// somebody sits at a terminal and can let it go on; a script would wait for ever.
pub(crate) async fn follow(workflow: &Workflow, id: &str, printer: &mut Printer<'_>) -> Result<Ended, Failure> {
    let watching = watch(workflow, id, printer);
    tokio::select! {
        ended = watching => ended,
        _ = tokio::signal::ctrl_c() => Ok(Ended::Interrupted),
    }
}

async fn watch(workflow: &Workflow, id: &str, printer: &mut Printer<'_>) -> Result<Ended, Failure> {
    let is_attended = std::io::stderr().is_terminal();
    let mut teller = Teller::default();
    let mut away = 0;
    loop {
        // The stream first, the action then: what happens between the two is in one of them.
        let mut stream = open(workflow, id).await;
        match workflow.action(id).await {
            Ok(document) => {
                away = 0;
                if teller.look(&document, printer)? {
                    return Ok(Ended::Over(document));
                }
                if teller.is_paused && !is_attended {
                    return Ok(Ended::Paused(document));
                }
            }
            Err(Failure::Unreachable { .. }) if away < ATTEMPTS => {
                away += 1;
                if away == 1 {
                    teller.say("the server does not answer; waiting for it", printer)?;
                }
                tokio::time::sleep(QUIET).await;
                continue;
            }
            Err(failure) => return Err(failure),
        }
        let mut events = Events::default();
        // An end of the stream, an error on it and silence have one answer: look at the action.
        while let Some(bytes) = next(&mut stream).await {
            for event in events.take(&bytes) {
                teller.hear(&event, printer)?;
            }
            if teller.has_ended {
                break;
            }
        }
        teller.has_ended = false;
    }
}

async fn open(workflow: &Workflow, id: &str) -> Option<Response> {
    let server = workflow.server();
    let request = server.request(Method::GET, &["events"], &[("action", id)]);
    let response = server.send(request).await.ok()?;
    response.status().is_success().then_some(response)
}

async fn next(stream: &mut Option<Response>) -> Option<Vec<u8>> {
    let Some(response) = stream else {
        tokio::time::sleep(QUIET).await;
        return None;
    };
    let chunk = tokio::time::timeout(QUIET, response.chunk()).await.ok()?.ok()??;
    Some(chunk.to_vec())
}

/// Why an action waits, and what lets it go on.
fn paused(action: &Action) -> String {
    let by = action.command_audit.last().filter(|last| last.verb == "pause");
    let why = match (by, action.notes.last()) {
        (Some(by), _) => format!("the action is paused by {}", by.user.as_deref().unwrap_or("somebody")),
        (None, Some(note)) => format!("the action is paused: {}", note.note_val),
        (None, None) => "the action is paused".to_owned(),
    };
    let id = &action.id;
    format!("{why} (`berth resume {id}` lets it go on, `berth stop {id}` gives it up)")
}

/// Tells each node once, and how far it all is.
#[derive(Default)]
struct Teller {
    told: BTreeSet<String>,
    failed: usize,
    progress: Option<Progress>,
    is_paused: bool,
    /// There is something to look at.
    has_ended: bool,
}

impl Teller {
    /// Looks at the whole action. Whether it is over.
    fn look(&mut self, document: &Value, printer: &mut Printer<'_>) -> Result<bool, Failure> {
        let action = Action::read(document)?;
        let total = action.counts().nodes;
        self.progress
            .get_or_insert_with(|| Progress::of_nodes(total as u64, "relabelling"));
        if action.lifecycle() == "Paused" && !self.is_paused {
            self.say(&paused(&action), printer)?;
        }
        self.is_paused = action.lifecycle() == "Paused";
        self.show();
        for node in &action.nodes {
            self.tell(node, printer)?;
        }
        Ok(action.is_over())
    }

    fn hear(&mut self, event: &Event, printer: &mut Printer<'_>) -> Result<(), Failure> {
        let data: Value = serde_json::from_str(&event.data).unwrap_or_default();
        match event.kind.as_str() {
            "node" => {
                let node = data.get("node").and_then(|node| NodeOutcome::deserialize(node).ok());
                if let Some(node) = node {
                    self.tell(&node, printer)?;
                }
            }
            "action" => {
                if let Some(lifecycle) = data.get("action_lifecycle").and_then(Value::as_str) {
                    let is_new = lifecycle == "Paused" && !self.is_paused;
                    // The action itself says why.
                    self.has_ended |= is_new || matches!(lifecycle, "Complete" | "Failed");
                    self.is_paused &= lifecycle == "Paused";
                    self.show();
                }
            }
            "end" => self.has_ended = true,
            _ => {}
        }
        Ok(())
    }

    fn tell(&mut self, node: &NodeOutcome, printer: &mut Printer<'_>) -> Result<(), Failure> {
        if !node.state.is_final() || !self.told.insert(node.name.clone()) {
            return Ok(());
        }
        self.failed += usize::from(node.state == NodeState::Failure);
        let line = format!("{}: {}: {}", node.name, node.state, node.told());
        self.say(line.trim_end_matches(": "), printer)?;
        if let Some(progress) = &self.progress {
            progress.at(self.told.len() as u64);
        }
        self.show();
        Ok(())
    }

    /// What the bar says.
    fn show(&self) {
        let doing = if self.is_paused { "paused" } else { "relabelling" };
        if let Some(progress) = &self.progress {
            match self.failed {
                0 => progress.doing(doing),
                failed => progress.doing(&format!("{doing}, {failed} failed")),
            }
        }
    }

    fn say(&self, line: &str, printer: &mut Printer<'_>) -> Result<(), Failure> {
        let line = format!("{}\n", printable(line));
        // Lines are news: they are not kept until the streams are full.
        let mut write = || printer.aside(&line).and_then(|()| printer.flush());
        match &self.progress {
            Some(progress) => progress.aside(write),
            None => write(),
        }
    }
}
