//! Deeds, carried out on the host and written down.

use std::collections::BTreeSet;

use berth_pools::{Action, FORCE_FILE, combine};
use jiff::Timestamp;

use super::{Daemon, GOING_DOWN, later};
use crate::{
    apply::apply,
    decide::{Deed, Health, stage_after_writing},
    host::{Capabilities, Host, HostError, Reboot},
    host_config::{HostConfig, NodeConfig, system},
    item::Item,
    journal::{GivenUp, Stage, State, Update},
    plan::{PlanInput, Scope, Step, UpdatePlan, goes, observe, plan, steps},
};

impl<H: Host> Daemon<H> {
    pub(super) fn perform(
        &mut self,
        deed: Deed,
        drained: bool,
        force: Option<String>,
        now: Timestamp,
    ) -> Result<(), HostError> {
        match deed {
            Deed::Wait(_) | Deed::Fetch(_) => Ok(()),
            Deed::Adopt(config) => {
                self.drift = None;
                self.record(State::new(config))
            }
            Deed::Plan(wanted) => self.make_plan(&wanted, force.is_some()),
            Deed::Begin(plan) => self.begin(&plan, drained, force),
            Deed::Write => self.write(),
            Deed::Act => self.act(now),
            Deed::Reboot(how) => self.reboot(how, now),
            Deed::Booted => self.has_noticed(now),
            Deed::Look => {
                self.health = Some(self.look());
                Ok(())
            }
            Deed::Commit => self.commit(),
            Deed::GoBack(reason) => self.go_back(reason),
            Deed::Served => self.record(State {
                drained: false,
                ..self.state.clone()
            }),
            Deed::Repair => self.repair(),
        }
    }

    /// Writes a state down, and only then goes by it.
    fn record(&mut self, state: State) -> Result<(), HostError> {
        state.write(&mut self.host)?;
        self.state = state;
        Ok(())
    }

    /// Kernel arguments that the host has of its own. One that the running config asks for is that config's, unless it was there
    /// before.
    fn native_arguments(&self, wanted: &NodeConfig) -> Result<BTreeSet<String>, HostError> {
        let (known, before) = (&self.state.native_arguments, system(&self.state.current.spec));
        let asked = system(&wanted.spec).arguments.into_iter().chain(known.iter().cloned());
        let mut has = self.host.system(&asked.collect())?.arguments;
        has.retain(|argument| known.contains(argument) || !before.arguments.contains(argument));
        Ok(has.into_iter().collect())
    }

    fn make_plan(&mut self, wanted: &NodeConfig, force: bool) -> Result<(), HostError> {
        let host = Capabilities {
            native_arguments: self.native_arguments(wanted)?,
            ..self.host.capabilities()?
        };
        let running = &self.state.current;
        let both = [running, wanted].map(|config| HostConfig::of(config, &host).0);
        let observed = observe(&self.host, &both.each_ref())?;
        let mut made = plan(&PlanInput {
            running,
            wanted,
            host: &host,
            observed: &observed,
            policy: &self.settings.policy,
            scope: match (running.is_unconfigured(), force) {
                (true, _) => Scope::Adopt,
                (false, true) => Scope::Everything,
                (false, false) => Scope::Changed,
            },
        });
        if force
            && let Ok(plan) = &mut made
            && !self.not_booted(wanted, running)?.is_empty()
        {
            plan.actions = combine(plan.actions.iter().cloned().chain([Action::Reboot]));
        }
        if self.failed_with.as_ref().is_some_and(|failed| *failed != wanted.name) {
            // That was another one.
            self.succeed();
        }
        self.plan_forced = force;
        if let Err(refused) = &made {
            self.note("FailedToReconcile", refused.to_string(), true);
        }
        self.plan = Some(made);
        Ok(())
    }

    fn begin(&mut self, plan: &UpdatePlan, drained: bool, force: Option<String>) -> Result<(), HostError> {
        // What is kept of a thing from now on must be of now.
        self.forget()?;
        let host = self.capabilities()?;
        let (before, _) = HostConfig::of(&self.state.current, &host);
        let (wanted, _) = HostConfig::of(&plan.to, &host);
        let mut serving = self.host.serving()?;
        serving.retain(|unit| {
            // What enabled the service may be what goes.
            let item = Item::Unit(unit.clone());
            let lets_go = before.settings.contains_key(&item) && !wanted.settings.contains_key(&item);
            !wanted.stopped.contains(unit) && !lets_go && !goes(unit, &before, &wanted)
        });
        let state = State {
            update: Some(Update {
                to: plan.to.clone(),
                back: None,
                stage: Stage::Writing,
                actions: plan.actions.clone(),
                scope: plan.scope,
                serving,
                boot_id: self.boot_id.clone(),
                unnoticed: false,
                force,
            }),
            drained: self.state.drained || drained,
            native_arguments: plan.native_arguments.clone(),
            ..self.state.clone()
        };
        self.record(state)?;
        self.plan = None;
        self.drift = None;
        let text = format!("The node goes from {} to {}", plan.from, plan.to.name);
        self.note("Updating", text, false);
        Ok(())
    }

    /// Makes the host what the journal says. What cannot be written goes back.
    fn write(&mut self) -> Result<(), HostError> {
        let Some(update) = self.state.update.clone() else {
            return Ok(());
        };
        match self.converge(&update) {
            Ok(()) => {}
            Err(error) if update.back.is_none() && error != HostError::Down => return self.go_back(error.to_string()),
            Err(error) => return Err(error),
        }
        let stage = stage_after_writing(&update.actions, &self.boot_id);
        self.record(State {
            update: Some(Update { stage, ..update }),
            ..self.state.clone()
        })
    }

    fn converge(&mut self, update: &Update) -> Result<(), HostError> {
        let host = self.capabilities()?;
        let (old, _) = HostConfig::of(&self.state.current, &host);
        let (new, _) = HostConfig::of(&update.to, &host);
        let (before, wanted) = match update.back {
            None => (old, new),
            Some(_) => (new, old),
        };
        if self.leftovers {
            let items = before.settings.keys().chain(wanted.settings.keys());
            let paths = items.filter_map(|item| match item {
                Item::Path(path) => Some(path.as_str()),
                Item::Unit(_) | Item::Password(_) => None,
            });
            for path in paths {
                self.host.discard(path)?;
            }
            self.clean()?;
            self.leftovers = false;
        }
        let observed = observe(&self.host, &[&before, &wanted])?;
        let mut steps = steps(&before, &wanted, &observed, update.scope);
        if update.back.is_some() {
            // What ran before manages its things already: what is there now is not what was there before it.
            steps.retain(|step| !matches!(step, Step::Keep { .. }));
        }
        let done = apply(&mut self.host, &steps);
        self.leftovers = done.is_err();
        done
    }

    fn act(&mut self, now: Timestamp) -> Result<(), HostError> {
        let Some(update) = self.state.update.clone() else {
            return Ok(());
        };
        for action in &update.actions {
            let done = match action {
                Action::None | Action::Drain | Action::Reboot => Ok(()),
                Action::DaemonReload => self.host.daemon_reload(),
                Action::Reload(unit) => self.host.reload(unit),
                Action::Restart(unit) => self.host.restart(unit),
            };
            match done {
                Ok(()) => {}
                Err(HostError::Down) => return Err(HostError::Down),
                Err(error) if update.back.is_none() => return self.go_back(error.to_string()),
                // The files are those of the config that ran before; more cannot be done.
                Err(error) => self.note("Failed", error.to_string(), true),
            }
        }
        if update.back.is_none() && update.actions.iter().all(|action| *action == Action::None) {
            return self.commit();
        }
        self.has_noticed(now)
    }

    /// Everything that runs has seen the config that is on disk.
    fn has_noticed(&mut self, now: Timestamp) -> Result<(), HostError> {
        let Some(update) = self.state.update.clone() else {
            return Ok(());
        };
        let Some(reason) = update.back.clone() else {
            return self.record(State {
                update: Some(Update {
                    stage: Stage::Proving { since: now },
                    ..update
                }),
                ..self.state.clone()
            });
        };
        let (tried, runs) = (update.to.name, self.state.current.name.clone());
        self.met(update.force)?;
        let mut state = State {
            update: None,
            native_arguments: self.state.native_in(&self.state.current),
            ..self.state.clone()
        };
        if !update.unnoticed {
            state.given_up = Some(GivenUp {
                config: tried.clone(),
                image: update.to.image,
                reason: format!("{tried} was given up: {reason}. The node is back at {runs}"),
            });
        }
        self.record(state)?;
        self.forget()?;
        self.drift = None;
        self.note("RolledBack", format!("The node is back at {runs}: {reason}"), true);
        if update.unnoticed {
            // The host could not be written to. That is not the config's fault, so it is tried again.
            self.pause_after(reason, now);
            self.failed_with = Some(tried);
        } else {
            self.succeed();
        }
        Ok(())
    }

    /// A request to write everything anew was met.
    fn met(&mut self, force: Option<String>) -> Result<(), HostError> {
        if let Some(request) = force {
            self.host.remove(FORCE_FILE)?;
            if !request.is_empty() {
                self.state.forced = Some(request);
            }
        }
        Ok(())
    }

    fn reboot(&mut self, how: Reboot, now: Timestamp) -> Result<(), HostError> {
        self.note("Reboot", "The node is started again".to_owned(), false);
        self.host.reboot(how)?;
        self.going_down = Some(later(now, GOING_DOWN));
        Ok(())
    }

    /// What the machine has not booted of what was staged for it.
    fn booted_something_else(&self) -> Vec<String> {
        let current = &self.state.current;
        let to = self.state.update.as_ref().map(|update| &update.to);
        let staged = to.filter(|to| system(&to.effective()) != system(&current.effective()));
        // A host that does not say what it has booted is judged by everything else.
        let found = staged.map(|to| self.not_booted(to, current).unwrap_or_default());
        found.unwrap_or_default()
    }

    fn look(&self) -> Health {
        let before = self.state.update.as_ref().map(|update| &update.serving);
        let mut health = Health {
            not_booted: self.booted_something_else(),
            ..Health::default()
        };
        match self.host.serving() {
            Ok(serving) => {
                let stopped = before.into_iter().flatten().filter(|unit| !serving.contains(*unit));
                health.stopped = stopped.cloned().collect();
            }
            Err(error) => health.failed.push(error.to_string()),
        }
        for probe in &self.settings.probes {
            if let Err(why) = self.host.probe(probe) {
                health.failed.push(format!("`{probe}`: {why}"));
            }
        }
        health
    }

    fn commit(&mut self) -> Result<(), HostError> {
        let Some(update) = self.state.update.clone() else {
            return Ok(());
        };
        let text = format!("The node runs {}", update.to.name);
        self.met(update.force)?;
        self.record(State {
            native_arguments: self.state.native_in(&update.to),
            current: update.to,
            update: None,
            given_up: None,
            ..self.state.clone()
        })?;
        self.drift = None;
        self.succeed();
        self.forget()?;
        self.note("NodeDone", text, false);
        Ok(())
    }

    fn go_back(&mut self, reason: String) -> Result<(), HostError> {
        let Some(mut update) = self.state.update.clone() else {
            return Ok(());
        };
        update.unnoticed = update.stage == Stage::Writing;
        if update.unnoticed && update.boot_id == self.boot_id {
            update.actions = [Action::None].into();
        }
        self.note("RollingBack", format!("{} cannot stay: {reason}", update.to.name), true);
        self.leftovers = true;
        self.record(State {
            update: Some(Update {
                back: Some(reason),
                stage: Stage::Writing,
                ..update
            }),
            ..self.state.clone()
        })
    }

    fn repair(&mut self) -> Result<(), HostError> {
        let (config, _) = HostConfig::of(&self.state.current, &self.capabilities()?);
        let observed = observe(&self.host, &[&config])?;
        let steps = steps(&config, &config, &observed, Scope::Everything);
        apply(&mut self.host, &steps)?;
        for step in &steps {
            self.note("ConfigDriftRepaired", step.to_string(), false);
        }
        self.succeed();
        self.drift = None;
        Ok(())
    }
}
