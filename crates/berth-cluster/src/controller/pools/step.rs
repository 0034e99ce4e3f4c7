//! From what changed to jobs.

use std::time::Duration;

use berth_pools::{PoolRollout, annotation, plan_pools};
use serde_json::Value;
use tokio::time::Instant;
use tracing::warn;

use super::{Draining, Job, Key, Pending, PoolEngine, drains};
use crate::controller::writer::or_broken;
use berth_decide::{
    Note, merge_diff,
    pools::{
        Collection, DrainRequest, NodeChange, Rendering, changes, collect, plan_settings, plan_templates, render,
        render_error, rollout, status,
    },
};

/// The least time between two writes of one pool's status: counts that change all the time are written in steps.
const STATUS_PACE: Duration = Duration::from_millis(100);

/// The time that a plan pays for each node it looks at. Ten thousand nodes that change one by one are planned ten times a
/// second, and a few are planned at once.
const PLAN_PACE: Duration = Duration::from_micros(10);

/// Pools that look at each other, so they are planned together.
const TOGETHER: [&str; 2] = ["master", "arbiter"];

impl PoolEngine {
    /// Renders when the inputs have settled.
    pub(super) fn render(&mut self) {
        if !self.settle.take(self.began.elapsed()) {
            return;
        }
        let mut jobs = self.settings();
        let state = &self.state;
        let flavour = self.options.flavour();
        self.renderings = state
            .pools
            .values()
            .map(|pool| {
                (
                    pool.name.clone(),
                    render(pool, self.inputs.values(), self.controller.as_ref(), flavour),
                )
            })
            .collect();
        for pool in state.pools.values().filter(|pool| !pool.deleting) {
            let rendered = match self.renderings.get(&pool.name) {
                Some(Rendering::Done(rendered)) => rendered,
                Some(Rendering::SelectingAll) => {
                    let note = Note {
                        reason: "SelectingAll",
                        message: "This machineconfigpool is selecting all machineconfigs. \
                                  A non-empty selector is required."
                            .to_owned(),
                        warning: true,
                    };
                    let pool = pool.clone();
                    jobs.push((Key::Note(pool.name.clone()), Job::Note { pool, note }));
                    continue;
                }
                _ => continue,
            };
            let exists = state.rendered.contains_key(&rendered.name);
            let current = pool.completed().filter(|current| *current != rendered.name);
            let refused = self
                .refused
                .get(&pool.name)
                .is_some_and(|refused| refused.rendered == rendered.name && Some(refused.current.as_str()) == current);
            let as_it_is = pool.target.as_ref() == Some(&rendered.name) && pool.sources == rendered.sources && exists;
            if as_it_is || refused {
                continue;
            }
            let inputs = rendered.sources.iter().filter_map(|name| self.inputs.get(name));
            let job = Job::Render {
                inputs: inputs.cloned().collect(),
                current: current.map(str::to_owned),
                rendered: rendered.clone(),
                exists,
                pool: pool.clone(),
            };
            jobs.push((Key::Render(pool.name.clone()), job));
        }
        self.state.dirty.extend(self.state.pools.keys().cloned());
        for (key, job) in jobs {
            self.start(key, job);
        }
    }

    /// Looks at the objects that machine configs are made of. Pools are rendered from what follows at once: whether it is written
    /// already makes no difference to the rendered config.
    fn settings(&mut self) -> Vec<(Key, Job)> {
        let state = &self.state;
        let settings: Vec<_> = state.settings.values().collect();
        let living = state.pools.values().filter(|pool| !pool.deleting);
        let now = self.options.clock.now();
        let templates = plan_templates(living.clone(), &state.inputs, &state.templates, now);
        let plan = plan_settings(living, &templates.inputs, &settings, now);
        let name = |object: &Value| {
            object
                .pointer("/metadata/name")
                .and_then(Value::as_str)
                .map(str::to_owned)
        };
        let mut jobs = Vec::new();
        for object in templates.writes.into_iter().chain(plan.writes) {
            jobs.push((Key::Made(name(&object).unwrap_or_default()), Job::Make(object)));
        }
        for name in templates.removals.into_iter().chain(plan.removals) {
            jobs.push((Key::Made(name.clone()), Job::Unmake(name)));
        }
        for answer in plan.answers {
            let key = Key::Setting(answer.setting.kind, answer.setting.name.clone());
            jobs.push((key, Job::Answer(Box::new(answer))));
        }
        if let Some((view, status)) = templates.answer {
            jobs.push((Key::Templates, Job::Templates(Box::new(view), status)));
        }
        self.inputs = plan.inputs;
        self.controller = templates.controller;
        jobs
    }

    /// Why a pool has no rendered config, or not the one it should have.
    fn render_error(&self, pool: &berth_decide::pools::PoolView) -> Option<String> {
        let rendering = self.renderings.get(&pool.name);
        if let Some(Rendering::Done(rendered)) = rendering
            && let Some(refused) = self.refused.get(&pool.name)
            && refused.rendered == rendered.name
            && pool.completed() == Some(refused.current.as_str())
        {
            return Some(refused.why.clone());
        }
        render_error(pool, rendering)
    }

    /// Plans the pools that something changed in. Changes that come together are planned together.
    pub(super) fn plan(&mut self, now: Instant) {
        if now < self.plan_at || self.state.dirty.is_empty() {
            return;
        }
        let mut names = std::mem::take(&mut self.state.dirty);
        if TOGETHER.iter().any(|name| names.contains(*name)) {
            names.extend(TOGETHER.iter().map(|name| (*name).to_owned()));
        }
        let rollouts: Vec<PoolRollout> = names.iter().filter_map(|name| self.rollout(name)).collect();
        let nodes: usize = rollouts.iter().map(|rollout| rollout.nodes.len()).sum();
        self.plan_at = now + PLAN_PACE.saturating_mul(u32::try_from(nodes).unwrap_or(u32::MAX));
        for plan in plan_pools(&rollouts) {
            self.metrics.pool_plans.inc();
            self.metrics.pool(&plan.pool, &plan.counts);
            self.write_status(&plan);
            let exists = |target: &String| self.state.rendered.contains_key(target);
            if self.confirmed && plan.target.as_ref().is_some_and(exists) {
                self.move_nodes(&plan);
            }
            for node in &plan.drains {
                self.begin_drain(node);
            }
        }
    }

    /// What the planner is asked, with the writes that are under way as if they were done.
    fn rollout(&self, name: &str) -> Option<PoolRollout> {
        let pool = self.state.pools.get(name)?;
        let members = self.state.members_of(name);
        let mut asked = rollout(pool, members, self.state.leaving(name), self.render_error(pool));
        if self.pending.is_empty() && self.drains.is_empty() {
            return Some(asked);
        }
        for node in &mut asked.nodes {
            if let Some(desired) = self.pending.get(&node.name).and_then(|pending| pending.desired.clone()) {
                node.annotations.insert(annotation::DESIRED_CONFIG.to_owned(), desired);
            }
            node.unschedulable |= self.drains.contains_key(&node.name);
        }
        Some(asked)
    }

    fn write_status(&mut self, plan: &berth_pools::RolloutPlan) {
        let Some(pool) = self.state.pools.get(&plan.pool) else {
            return;
        };
        let key = Key::Status(plan.pool.clone());
        // When it is done the pool is planned again.
        if self.busy.contains(&key) {
            return;
        }
        let (after, notes) = status(pool, plan, self.options.clock.now());
        let (Ok(before), Ok(after)) = (serde_json::to_value(&pool.status), serde_json::to_value(after)) else {
            return;
        };
        let Some(patch) = merge_diff(&before, &after) else {
            return;
        };
        if let Some(last) = self.last_status.get(&plan.pool)
            && last.elapsed() < STATUS_PACE
        {
            self.wakes.insert((*last + STATUS_PACE, key));
            return;
        }
        let notes = notes
            .into_iter()
            .map(|note| Note {
                reason: note.reason,
                message: note.message,
                warning: false,
            })
            .collect();
        let job = Job::Status {
            pool: pool.clone(),
            patch,
            notes,
        };
        self.start(key, job);
    }

    fn move_nodes(&mut self, plan: &berth_pools::RolloutPlan) {
        let Some(pool) = self.state.pools.get(&plan.pool).cloned() else {
            return;
        };
        let changes = changes(plan, self.state.members_of(&plan.pool));
        let mut told = Vec::new();
        for change in changes {
            let key = Key::Node(change.node.clone());
            let waits = self.drains.contains_key(&change.node) && change.desired.is_none();
            if waits || !self.may_start(&key) {
                continue;
            }
            let Some(member) = self.state.member(&change.node) else {
                continue;
            };
            let patch = change.patch(&member);
            let NodeChange { node, desired, .. } = change;
            self.busy.insert(key.clone());
            let moves = desired.is_some();
            self.pending.insert(node.clone(), Pending { desired });
            let job = Job::Node {
                name: node.clone(),
                patch,
            };
            if moves {
                told.push(node);
                self.moves.push_back((key, job));
            } else {
                self.taints.push_back((key, job));
            }
        }
        let target = plan.target.as_deref().unwrap_or_default();
        let message = match told.as_slice() {
            [] => return,
            [node] => format!("Targeted node {node} to MachineConfig: {target}"),
            nodes => format!("Set target for {} nodes to MachineConfig: {target}", nodes.len()),
        };
        let note = Note {
            reason: "SetDesiredConfig",
            message,
            warning: false,
        };
        let name = pool.name.clone();
        self.start(Key::Note(name), Job::Note { pool, note });
    }

    /// Carries out what daemons ask for. A drain within a pool is the planner's to allow; a node that is out of service
    /// anyway, or in no pool, need not wait for it.
    pub(super) fn answer_daemons(&mut self) {
        let asking: Vec<String> = self.state.asking.iter().cloned().collect();
        for name in asking {
            let Some(member) = self.state.member(&name) else {
                continue;
            };
            match DrainRequest::of(&member.state) {
                Some(DrainRequest::Drain(desired)) => {
                    let other = self.drains.get(&name).is_some_and(|drain| drain.desired != desired);
                    let free = !member.state.ready() || self.state.pool_of(&name).is_none();
                    if other && let Some(drain) = self.drains.remove(&name) {
                        drain.task.abort();
                    }
                    if free {
                        self.begin_drain(&name);
                    }
                }
                Some(DrainRequest::Uncordon(desired)) => {
                    let (key, uid, version) = (Key::Node(name.clone()), member.uid, member.resource_version);
                    if self.may_start(&key) {
                        if let Some(drain) = self.drains.remove(&name) {
                            drain.task.abort();
                        }
                        self.busy.insert(key.clone());
                        let job = Job::Uncordon {
                            name,
                            uid,
                            version,
                            desired,
                        };
                        self.moves.push_back((key, job));
                    }
                }
                Some(DrainRequest::Unknown(desired)) => {
                    warn!(node = name, desired, "non-recognized drain verb detected");
                    self.state.asking.remove(&name);
                }
                None => {
                    self.state.asking.remove(&name);
                }
            }
        }
    }

    fn begin_drain(&mut self, name: &str) {
        let key = Key::Drain(name.to_owned());
        if !self.confirmed || self.drains.contains_key(name) || !self.may_start(&key) {
            return;
        }
        let Some(member) = self.state.member(name) else {
            return;
        };
        let Some(DrainRequest::Drain(desired)) = DrainRequest::of(&member.state) else {
            return;
        };
        let (writer, options) = (self.writer.clone(), self.options.pools);
        let (node, uid, wanted) = (name.to_owned(), member.uid.clone(), desired.clone());
        let task = self.draining.spawn(async move {
            let drain = drains::drain(writer, node.clone(), uid, wanted, options);
            let end = or_broken(Box::pin(drain)).await;
            (node, end)
        });
        self.drains.insert(name.to_owned(), Draining { desired, task });
    }

    /// Lets go of rendered configs that nobody refers to.
    pub(super) fn collect(&mut self) {
        let now = Instant::now();
        if self.collect_at.is_none_or(|at| at > now) {
            return;
        }
        self.collect_at = None;
        let mut used = self.state.used();
        for rendering in self.renderings.values() {
            if let Rendering::Done(rendered) = rendering {
                used.insert(rendered.name.clone());
            }
        }
        let clock = self.options.clock.now();
        let collected = collect(
            self.state.rendered.values(),
            &used,
            clock,
            self.options.pools.keep_unused,
        );
        if let Some(next) = collected.next {
            let wait = next.duration_since(clock).unsigned_abs();
            self.collect_at = Some(now + wait);
        }
        for work in collected.work {
            let name = match &work {
                Collection::Mark(name) | Collection::Unmark(name) => name.clone(),
                Collection::Remove(config) => config.name.clone(),
            };
            self.start(Key::Config(name), Job::Collect(work));
        }
    }
}
