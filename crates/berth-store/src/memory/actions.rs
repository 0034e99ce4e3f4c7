//! Actions in memory, as plain as they can be.

use std::{
    collections::{BTreeMap, HashSet},
    sync::MutexGuard,
};

use async_trait::async_trait;
use serde_json::Value;

use super::MemoryStore;
use crate::{
    action::{
        Action, ActionId, ActionPage, ActionState, ActionValidation, AuditEntry, Begin, Claim, Command, Counts,
        Finished, Finishing, GivenLabels, LabelMemory, NewAction, NewNote, Note, Subtask, SubtaskPage, SubtaskState,
    },
    action_store::ActionStore,
    body,
    error::{Conflict, Error},
    names,
};

/// All that is kept of actions.
#[derive(Debug, Default)]
pub(super) struct Actions {
    kept: BTreeMap<ActionId, Kept>,
    audit: Vec<AuditEntry>,
    notes: Vec<Note>,
    validations: Vec<ActionValidation>,
    labels: BTreeMap<String, GivenLabels>,
}

#[derive(Debug)]
struct Kept {
    action: Action,
    begun: bool,
    nodes: Vec<Node>,
}

#[derive(Debug)]
struct Node {
    subtask: Subtask,
    /// Who works on it, and until when.
    lease: Option<(String, i64)>,
}

impl Kept {
    /// The action with the counts of its nodes.
    fn shown(&self) -> Action {
        let count = |state| self.nodes.iter().filter(|node| node.subtask.state == state).count() as u64;
        Action {
            counts: Counts {
                queued: count(SubtaskState::Queued),
                running: count(SubtaskState::Running),
                succeeded: count(SubtaskState::Succeeded),
                failed: count(SubtaskState::Failed),
                stopped: count(SubtaskState::Stopped),
            },
            ..self.action.clone()
        }
    }

    fn end_if_done(&mut self, now: i64) {
        let counts = self.shown().counts;
        if counts.open() == 0 && self.action.finished_at.is_none() {
            self.action.finished_at = Some(now);
            self.action.state = if counts.failed + counts.stopped == 0 {
                ActionState::Success
            } else {
                ActionState::Failed
            };
        }
    }
}

impl Actions {
    fn get(&mut self, id: &ActionId) -> Result<&mut Kept, Error> {
        self.kept.get_mut(id).ok_or_else(|| Error::no_action(id))
    }

    fn refuse_beside(&self, name: &str, exclusive: Option<&String>, except: Option<&ActionId>) -> Result<(), Error> {
        let other = self.kept.values().map(|kept| &kept.action).find(|other| {
            exclusive.is_some()
                && other.exclusive.as_ref() == exclusive
                && other.finished_at.is_none()
                && Some(&other.id) != except
        });
        let Some(other) = other else { return Ok(()) };
        Err(Conflict::ActionRunning {
            name: name.to_owned(),
            other: other.name.clone(),
            id: other.id.clone(),
            state: other.state,
        }
        .into())
    }

    fn audit(&mut self, id: &ActionId, command: &str, user: &str, now: i64) {
        self.audit.push(AuditEntry {
            id: self.audit.last().map_or(1, |last| last.id + 1),
            action: id.clone(),
            command: command.to_owned(),
            user: user.to_owned(),
            created_at: now,
        });
    }

    fn note(&mut self, note: NewNote, now: i64) {
        let id = self.notes.last().map_or(1, |last| last.id + 1);
        self.notes.push(Note {
            id,
            note,
            created_at: now,
        });
    }
}

impl MemoryStore {
    fn actions_state(&self) -> MutexGuard<'_, Actions> {
        self.actions.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[async_trait]
impl ActionStore for MemoryStore {
    async fn create_action(&self, new: &NewAction) -> Result<Action, Error> {
        new.check()?;
        let mut state = self.actions_state();
        state.refuse_beside(&new.name, new.exclusive.as_ref(), None)?;
        let nodes = new.nodes.iter().zip(0_u32..).map(|((node, work), ordinal)| Node {
            subtask: Subtask {
                action: new.id.clone(),
                ordinal,
                node: node.clone(),
                work: work.clone(),
                state: SubtaskState::Queued,
                fence: 0,
                started_at: None,
                finished_at: None,
                outcome: None,
            },
            lease: None,
        });
        let done = new.nodes.is_empty();
        let kept = Kept {
            action: Action {
                id: new.id.clone(),
                task_id: new.task_id.clone(),
                origin: new.origin,
                name: new.name.clone(),
                parameters: new.parameters.clone(),
                user: new.user.clone(),
                context_marker: new.context_marker.clone(),
                revision: new.revision,
                allow_intermediate_commits: new.allow_intermediate_commits,
                options: new.options.clone(),
                exclusive: new.exclusive.clone(),
                state: if done {
                    ActionState::Success
                } else {
                    ActionState::Pending
                },
                attempt: 1,
                counts: Counts::default(),
                created_at: new.now,
                started_at: done.then_some(new.now),
                updated_at: new.now,
                finished_at: done.then_some(new.now),
                stopped_by: None,
            },
            begun: false,
            nodes: nodes.collect(),
        };
        let shown = kept.shown();
        state.kept.insert(new.id.clone(), kept);
        state.audit(&new.id, "invoke", &new.user, new.now);
        Ok(shown)
    }

    async fn action(&self, id: &ActionId) -> Result<Action, Error> {
        Ok(self.actions_state().get(id)?.shown())
    }

    async fn task(&self, task_id: &str) -> Result<Action, Error> {
        let state = self.actions_state();
        let found = state.kept.values().find(|kept| kept.action.task_id == task_id);
        found
            .map(Kept::shown)
            .ok_or_else(|| Error::TaskNotFound { id: task_id.to_owned() })
    }

    async fn actions(&self, page: &ActionPage) -> Result<Vec<Action>, Error> {
        let state = self.actions_state();
        let wanted = state
            .kept
            .values()
            .rev()
            .filter(|kept| page.origin.is_none_or(|origin| kept.action.origin == origin))
            .filter(|kept| page.before.as_ref().is_none_or(|before| kept.action.id < *before));
        Ok(wanted.take(page.limit as usize).map(Kept::shown).collect())
    }

    async fn open_actions(&self) -> Result<Vec<Action>, Error> {
        let state = self.actions_state();
        let open = state.kept.values().filter(|kept| kept.action.finished_at.is_none());
        Ok(open.map(Kept::shown).collect())
    }

    async fn subtasks(&self, id: &ActionId, page: SubtaskPage) -> Result<Vec<Subtask>, Error> {
        let mut state = self.actions_state();
        let nodes = state.get(id)?.nodes.iter().map(|node| &node.subtask);
        let wanted = nodes.filter(|subtask| page.after.is_none_or(|after| subtask.ordinal > after));
        Ok(wanted.take(page.limit as usize).cloned().collect())
    }

    async fn control_action(&self, id: &ActionId, command: Command, user: &str, now: i64) -> Result<Action, Error> {
        let mut state = self.actions_state();
        let action = state.get(id)?.shown();
        if !command.fits(action.state) {
            return Err(Conflict::ActionState {
                command,
                found: action.state,
            }
            .into());
        }
        if command == Command::Retry {
            state.refuse_beside(&action.name, action.exclusive.as_ref(), Some(id))?;
        }
        let kept = state.get(id)?;
        kept.action.updated_at = now;
        match command {
            Command::Pause => kept.action.state = ActionState::Paused,
            Command::Unpause if kept.begun => kept.action.state = ActionState::Running,
            Command::Unpause => kept.action.state = ActionState::Pending,
            Command::Stop => {
                let queued = kept
                    .nodes
                    .iter_mut()
                    .filter(|node| node.subtask.state == SubtaskState::Queued);
                for node in queued {
                    node.subtask.state = SubtaskState::Stopped;
                    node.subtask.finished_at = Some(now);
                }
                kept.action.stopped_by = Some(user.to_owned());
                if kept.shown().counts.running == 0 {
                    kept.action.state = ActionState::Failed;
                    kept.action.finished_at = Some(now);
                } else {
                    kept.action.state = ActionState::Stopping;
                }
            }
            Command::Retry => {
                for Node { subtask, .. } in &mut kept.nodes {
                    if matches!(subtask.state, SubtaskState::Failed | SubtaskState::Stopped) {
                        subtask.state = SubtaskState::Queued;
                        (subtask.started_at, subtask.finished_at, subtask.outcome) = (None, None, None);
                    }
                }
                kept.begun = false;
                kept.action.attempt += 1;
                kept.action.state = ActionState::Pending;
                (kept.action.finished_at, kept.action.stopped_by) = (None, None);
            }
        }
        let shown = kept.shown();
        state.audit(id, command.as_str(), user, now);
        Ok(shown)
    }

    async fn begin_action(&self, id: &ActionId, begin: &Begin, now: i64) -> Result<Action, Error> {
        let mut state = self.actions_state();
        let kept = state.get(id)?;
        if kept.action.state != ActionState::Pending {
            return Ok(kept.shown());
        }
        kept.begun = true;
        kept.action.started_at = kept.action.started_at.or(Some(now));
        kept.action.updated_at = now;
        kept.action.state = match begin {
            Begin::Run => ActionState::Running,
            Begin::Hold { .. } => ActionState::Paused,
        };
        let shown = kept.shown();
        if let Begin::Hold { reason } = begin {
            state.note(NewNote::held(&shown, reason), now);
        }
        Ok(shown)
    }

    async fn claim(&self, owner: &str, limit: u32, now: i64, until: i64) -> Result<Vec<Claim>, Error> {
        let mut state = self.actions_state();
        let mut claims = Vec::new();
        for kept in state.kept.values_mut() {
            for Node { subtask, lease } in &mut kept.nodes {
                let ended = lease.as_ref().is_some_and(|(_, until)| *until <= now);
                let free = match subtask.state {
                    SubtaskState::Queued => kept.action.state == ActionState::Running,
                    SubtaskState::Running => {
                        ended && matches!(kept.action.state, ActionState::Running | ActionState::Stopping)
                    }
                    _ => false,
                };
                if !free || claims.len() >= limit as usize {
                    continue;
                }
                if subtask.state == SubtaskState::Queued {
                    kept.action.updated_at = now;
                }
                subtask.state = SubtaskState::Running;
                subtask.fence += 1;
                subtask.started_at = Some(now);
                *lease = Some((owner.to_owned(), until));
                claims.push(Claim {
                    action: subtask.action.clone(),
                    ordinal: subtask.ordinal,
                    node: subtask.node.clone(),
                    work: subtask.work.clone(),
                    fence: subtask.fence,
                    options: kept.action.options.clone(),
                });
            }
        }
        Ok(claims)
    }

    async fn renew(&self, owner: &str, until: i64) -> Result<u64, Error> {
        let mut state = self.actions_state();
        let nodes = state.kept.values_mut().flat_map(|kept| &mut kept.nodes);
        let running = nodes.filter(|node| node.subtask.state == SubtaskState::Running);
        let leases = running
            .filter_map(|node| node.lease.as_mut())
            .filter(|(who, _)| who == owner);
        Ok(leases.map(|(_, end)| *end = until).count() as u64)
    }

    async fn give_back(&self, owner: &str, now: i64) -> Result<u64, Error> {
        self.renew(owner, now).await
    }

    async fn finish(&self, results: &[Finished], now: i64) -> Result<Finishing, Error> {
        let mut state = self.actions_state();
        let mut finishing = Finishing::default();
        let mut touched = std::collections::BTreeSet::new();
        for result in results {
            let node = state.kept.get_mut(&result.action).and_then(|kept| {
                let fits = |node: &&mut Node| {
                    let subtask = &node.subtask;
                    (subtask.ordinal, subtask.fence) == (result.ordinal, result.fence)
                        && subtask.state == SubtaskState::Running
                };
                kept.nodes.iter_mut().find(fits)
            });
            finishing.taken.push(node.is_some());
            if let Some(Node { subtask, lease }) = node {
                subtask.state = if result.success {
                    SubtaskState::Succeeded
                } else {
                    SubtaskState::Failed
                };
                subtask.outcome = Some(result.outcome.clone());
                subtask.finished_at = Some(now);
                *lease = None;
                touched.insert(result.action.clone());
                let node = subtask.node.clone();
                result.labels.add_to(state.labels.entry(node).or_default());
            }
        }
        for id in touched {
            let kept = state.get(&id)?;
            kept.action.updated_at = now;
            kept.end_if_done(now);
            finishing.actions.push(kept.shown());
        }
        Ok(finishing)
    }

    async fn given_labels(&self, node: Option<&str>) -> Result<BTreeMap<String, GivenLabels>, Error> {
        let state = self.actions_state();
        let wanted = state
            .labels
            .iter()
            .filter(|(name, labels)| node.is_none_or(|node| node == *name) && !labels.is_empty());
        Ok(wanted.map(|(name, labels)| (name.clone(), labels.clone())).collect())
    }

    async fn remember_labels(&self, node: &str, done: &LabelMemory) -> Result<(), Error> {
        names::check("the name of a node", node)?;
        let mut state = self.actions_state();
        done.add_to(state.labels.entry(node.to_owned()).or_default());
        Ok(())
    }

    async fn add_notes(&self, notes: &[NewNote], now: i64) -> Result<(), Error> {
        for note in notes {
            note.check()?;
        }
        let mut state = self.actions_state();
        for note in notes {
            state.note(note.clone(), now);
        }
        Ok(())
    }

    async fn notes(&self, about: &str) -> Result<Vec<Note>, Error> {
        let state = self.actions_state();
        let found = state.notes.iter().filter(|note| note.note.about == about);
        Ok(found.cloned().collect())
    }

    async fn notes_about(&self, things: &[String], verbosity: u8) -> Result<Vec<Note>, Error> {
        let things: HashSet<&String> = things.iter().collect();
        let state = self.actions_state();
        let found = state
            .notes
            .iter()
            .filter(|note| note.note.verbosity <= verbosity && things.contains(&note.note.about));
        Ok(found.cloned().collect())
    }

    async fn note(&self, id: u64) -> Result<Option<Note>, Error> {
        Ok(self.actions_state().notes.iter().find(|note| note.id == id).cloned())
    }

    async fn audit(&self, id: &ActionId) -> Result<Vec<AuditEntry>, Error> {
        let state = self.actions_state();
        let found = state.audit.iter().filter(|entry| entry.action == *id);
        Ok(found.cloned().collect())
    }

    async fn add_action_validation(&self, id: &ActionId, name: &str, details: &Value) -> Result<u64, Error> {
        names::check("the name of a validation", name)?;
        body::check_depth("the details of a validation", details)?;
        let mut state = self.actions_state();
        state.get(id)?;
        let number = state.validations.last().map_or(1, |last| last.id + 1);
        state.validations.push(ActionValidation {
            id: number,
            action: id.clone(),
            name: name.to_owned(),
            details: details.clone(),
        });
        Ok(number)
    }

    async fn action_validations(&self, id: &ActionId) -> Result<Vec<ActionValidation>, Error> {
        let state = self.actions_state();
        let found = state.validations.iter().filter(|validation| validation.action == *id);
        Ok(found.cloned().collect())
    }

    async fn purge_actions(&self, ended_before: i64) -> Result<u64, Error> {
        let mut state = self.actions_state();
        let old = |kept: &Kept| kept.action.finished_at.is_some_and(|ended| ended < ended_before);
        let gone: Vec<ActionId> = state
            .kept
            .values()
            .filter(|kept| old(kept))
            .map(|kept| kept.action.id.clone())
            .collect();
        for id in &gone {
            state.kept.remove(id);
            state.audit.retain(|entry| entry.action != *id);
            state.validations.retain(|validation| validation.action != *id);
            let about = [format!("action/{id}"), format!("step/{id}/relabel_nodes")];
            state.notes.retain(|note| !about.contains(&note.note.about));
        }
        Ok(gone.len() as u64)
    }
}
