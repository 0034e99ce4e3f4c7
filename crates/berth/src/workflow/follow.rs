//! Following an action to its end.

use std::{collections::BTreeSet, io::IsTerminal as _, time::Duration};

use berth_api::{ActionDetail, ActionEvent, Lifecycle, NodeEvent, NodeOutcome, NodeState};
use reqwest::{Method, Response};

use super::{
    Workflow, counts,
    events::{Event, Events},
    state_word, told,
};
use crate::{
    failure::Failure,
    output::{Printer, Progress, printable},
    server::Answer,
};

/// So long nothing may be heard before the action is looked at: events can be lost with a connection.
const QUIET: Duration = Duration::from_secs(2);
/// How often in a row the server may be away.
const ATTEMPTS: u32 = 30;
/// What a server answers that cannot ask whether we may do this, or is about to end.
const UNAVAILABLE: u16 = 503;

/// How following ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The action is over: the server's document of it.
    Over(Box<Answer<ActionDetail>>),
    /// The action waits for somebody, and nobody sits here: the server's document of it.
    Paused(Box<Answer<ActionDetail>>),
    /// The user did not want to wait any more. The action goes on.
    Interrupted,
}

/// Tells every node's outcome as it comes, until the action is over.
///
/// A server that restarts is waited for: its actions go on, and so does this. An action that is paused is waited for where
/// somebody sits at a terminal and can let it go on; a script would wait forever.
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
                    return Ok(Ended::Over(Box::new(document)));
                }
                if teller.is_paused && !is_attended {
                    return Ok(Ended::Paused(Box::new(document)));
                }
            }
            Err(failure) => {
                let Some(why) = why_away(&failure).filter(|_| away < ATTEMPTS) else {
                    return Err(failure);
                };
                away += 1;
                if away == 1 {
                    teller.say(&format!("{why}; waiting for it"), printer)?;
                }
                tokio::time::sleep(QUIET).await;
                continue;
            }
        }
        let mut events = Events::default();
        // An end of the stream, an error on it and silence have one answer: look at the action.
        while let Some(bytes) = next(&mut stream).await {
            for event in events.take(&bytes) {
                teller.hear(&event, printer)?;
            }
            if teller.has_news {
                break;
            }
        }
        teller.has_news = false;
    }
}

/// Why a server has no answer now, if it may have one later: the action goes on meanwhile.
fn why_away(failure: &Failure) -> Option<String> {
    match failure {
        Failure::Unreachable { .. } => Some("the server does not answer".to_owned()),
        Failure::Rejected {
            status: UNAVAILABLE,
            message,
            ..
        } => Some(format!("the server cannot answer now ({message})")),
        _ => None,
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
    match tokio::time::timeout(QUIET, response.chunk()).await.ok()? {
        Ok(Some(chunk)) => Some(chunk.to_vec()),
        // The server has ended the stream, and may do so again at once.
        Ok(None) | Err(_) => {
            tokio::time::sleep(QUIET).await;
            None
        }
    }
}

/// Why an action waits, and what lets it go on.
fn paused(detail: &ActionDetail) -> String {
    let action = &detail.action;
    let by = detail.command_audit.last().filter(|last| last.command == "pause");
    let why = match (by, action.notes.last()) {
        (Some(by), _) => format!("the action is paused by {}", by.user),
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
    has_news: bool,
}

impl Teller {
    /// Looks at the whole action. Whether it is over.
    fn look(&mut self, action: &ActionDetail, printer: &mut Printer<'_>) -> Result<bool, Failure> {
        let total = counts(action).nodes;
        self.progress
            .get_or_insert_with(|| Progress::of_nodes(total, "relabelling"));
        let lifecycle = action.action.action_lifecycle;
        if lifecycle == Lifecycle::Paused && !self.is_paused {
            self.say(&paused(action), printer)?;
        }
        self.is_paused = lifecycle == Lifecycle::Paused;
        self.show();
        for node in &action.nodes {
            self.tell(&node.outcome, printer)?;
        }
        Ok(lifecycle.is_over())
    }

    /// An event that cannot be read is passed over: the action itself says everything.
    fn hear(&mut self, event: &Event, printer: &mut Printer<'_>) -> Result<(), Failure> {
        match event.kind.as_str() {
            "node" => {
                if let Ok(event) = serde_json::from_str::<NodeEvent>(&event.data) {
                    self.tell(&event.node.outcome, printer)?;
                }
            }
            "action" => {
                if let Ok(event) = serde_json::from_str::<ActionEvent>(&event.data) {
                    // An event can be older than the last look: only the action itself says how it stands, and why.
                    let is_paused = event.action_lifecycle == Lifecycle::Paused;
                    self.has_news |= is_paused != self.is_paused || event.action_lifecycle.is_over();
                }
            }
            "end" => self.has_news = true,
            _ => {}
        }
        Ok(())
    }

    fn tell(&mut self, node: &NodeOutcome, printer: &mut Printer<'_>) -> Result<(), Failure> {
        if !node.state.is_final() || !self.told.insert(node.name.clone()) {
            return Ok(());
        }
        self.failed += usize::from(node.state == NodeState::Failure);
        let line = format!("{}: {}: {}", node.name, state_word(node.state), told(node));
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

#[cfg(test)]
mod tests {
    use berth_api::ActionDetail;
    use serde_json::json;

    use super::{super::events::Event, Printer, Teller};

    fn action(lifecycle: &str) -> ActionDetail {
        let action = json!({
            "id": "01JA0000000000000000000000", "name": "update_labels", "parameters": {}, "dag_id": "update_labels",
            "dag_execution_date": "2026-01-01T00:00:00", "user": "ada", "datetime": "2026-01-01 00:00:00+00:00",
            "context_marker": "", "dag_status": "RUNNING", "action_lifecycle": lifecycle, "committed_rev_id": 1,
            "allow_intermediate_commits": null, "strategy": "owned", "task_id": "t", "attempt": 1,
            "progress": {"nodes": 0, "succeeded": 0, "failed": 0, "pending": 0, "skipped": 0},
            "steps": [], "notes": [], "validations": [], "command_audit": [], "nodes": [],
        });
        serde_json::from_value(action).unwrap()
    }

    fn event(lifecycle: &str) -> Event {
        let data = json!({
            "id": "01JA0000000000000000000000", "name": "update_labels", "task_id": "t", "dag_status": "RUNNING",
            "action_lifecycle": lifecycle,
            "progress": {"nodes": 0, "succeeded": 0, "failed": 0, "pending": 0, "skipped": 0},
        });
        Event {
            kind: "action".to_owned(),
            data: data.to_string(),
        }
    }

    #[test]
    fn a_stream_that_begins_before_the_look_does_not_repeat_a_pause() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut printer = Printer::new(&mut out, &mut err);
        let mut teller = Teller::default();
        assert!(!teller.look(&action("Paused"), &mut printer).unwrap());
        for lifecycle in ["Processing", "Paused"] {
            teller.hear(&event(lifecycle), &mut printer).unwrap();
        }
        assert!(teller.has_news, "the action is looked at again");
        assert!(!teller.look(&action("Paused"), &mut printer).unwrap());
        // It went on and was paused once more: that is another pause.
        assert!(!teller.look(&action("Processing"), &mut printer).unwrap());
        teller.has_news = false;
        teller.hear(&event("Paused"), &mut printer).unwrap();
        assert!(teller.has_news, "the action is looked at again");
        assert!(!teller.look(&action("Paused"), &mut printer).unwrap());
        let told = String::from_utf8(err).unwrap();
        assert_eq!(told.matches("the action is paused").count(), 2, "{told}");
    }
}
