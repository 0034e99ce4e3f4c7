//! A simulated host with a Node in a cluster that answers at once.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use berth_daemon::{
    Capabilities, Daemon, Entry, FileEntry, Host as _, HostConfig, HostError, Item, News, NodeConfig, Owner, Setting,
    Settings, State, System, SystemDriver, Turn,
    daemon::Note,
    decide::{Configs, NodeView},
    host_config::Accounts,
    sim::SimHost,
};
use berth_pools::{Action, DisruptionPolicy, FilePolicy, MachineConfigSpec, UnitPolicy, UserPolicy, annotation};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) const SHIPPED_UNIT: &str = "chronyd.service";
pub(crate) const OWN_UNIT: &str = "agent.service";

/// Kernel arguments that the installer gave the host. Configs may ask for the last one too.
pub(crate) const NATIVE: [&str; 2] = ["root=/dev/vda1", "quiet"];

/// A host as a distribution ships it.
pub(crate) fn host() -> SimHost {
    let passwd = "root:x:0:0:root:/root:/bin/sh\ncore:x:1000:1000::/home/core:/bin/bash\n";
    let mut host = SimHost::new(Capabilities {
        driver: SystemDriver::RpmOstree,
        accounts: Accounts::parse(passwd, "root:x:0:\ncore:x:1000:\n"),
        ..Capabilities::default()
    });
    for (path, text, mode) in [
        ("/etc/chrony.conf", "shipped chrony", 0o644),
        ("/etc/secret.conf", "shipped secret", 0o600),
        ("/etc/motd", "shipped motd", 0o644),
        ("/etc/other.conf", "nobody's business", 0o644),
    ] {
        host.ship(path_item(path), file(text, mode));
    }
    let target = "../usr/share/zoneinfo/UTC".to_owned();
    host.ship(path_item("/etc/localtime"), Setting::Entry(Entry::Link { target }));
    host.boot_with(System {
        arguments: NATIVE.map(str::to_owned).to_vec(),
        ..System::default()
    });
    host.ship(Item::Unit(SHIPPED_UNIT.to_owned()), Setting::Enabled(true));
    host.ship(Item::Password("core".to_owned()), Setting::Hash("!".to_owned()));
    host
}

pub(crate) fn path_item(path: &str) -> Item {
    Item::Path(path.to_owned())
}

pub(crate) fn file(text: &str, mode: u32) -> Setting {
    Setting::Entry(Entry::File(FileEntry {
        contents: text.as_bytes().to_vec(),
        mode,
        owner: Owner::ROOT,
    }))
}

/// A config with this Ignition config but for its version.
pub(crate) fn config(mut ignition: Value) -> MachineConfigSpec {
    ignition["ignition"] = json!({"version": "3.5.0"});
    MachineConfigSpec {
        config: Some(ignition),
        ..MachineConfigSpec::default()
    }
}

/// A config with one file.
pub(crate) fn one_file(path: &str, text: &str) -> MachineConfigSpec {
    let contents = json!({"source": format!("data:,{text}")});
    config(json!({"storage": {"files": [{"path": path, "mode": 0o644, "contents": contents}]}}))
}

/// What a change costs here: most things have their price.
pub(crate) fn settings() -> Settings {
    let files = [
        ("/etc/chrony.conf", vec![Action::Restart(SHIPPED_UNIT.to_owned())]),
        ("/etc/motd", vec![Action::None]),
        ("/etc/new", vec![Action::DaemonReload]),
        ("/etc/drained", vec![Action::Drain]),
    ];
    let policy = DisruptionPolicy::default().with(&UserPolicy {
        files: files
            .into_iter()
            .map(|(path, actions)| FilePolicy {
                path: path.to_owned(),
                actions,
            })
            .collect(),
        units: vec![UnitPolicy {
            name: OWN_UNIT.to_owned(),
            actions: vec![Action::DaemonReload, Action::Restart(OWN_UNIT.to_owned())],
        }],
        ssh_keys: None,
    });
    Settings {
        policy,
        deadline: Duration::from_mins(5),
        ..Settings::default()
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// Nothing is left to do.
    Settled,
    /// The host went down in the middle.
    Down,
    /// It goes on forever.
    Restless,
}

#[derive(Clone)]
pub(crate) struct World {
    pub(crate) host: SimHost,
    pub(crate) node: Option<NodeView>,
    pub(crate) configs: BTreeMap<String, MachineConfigSpec>,
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
    pub(crate) notes: Vec<Note>,
    /// Every state that the Node said, each once in a row.
    pub(crate) states: Vec<String>,
    /// Every drain that was carried out.
    pub(crate) drains: Vec<String>,
    /// What happens in the cluster while a daemon runs, by the turn before which it happens, earliest first.
    pub(crate) fate: VecDeque<(usize, Deed)>,
    /// How many turns there were.
    turned: usize,
}

/// What somebody does in the cluster.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// All annotations of the Node are lost.
    Wipe,
    /// The Node is deleted.
    Delete,
    /// It comes back, and nobody says anything about it.
    Register,
    /// All rendered configs are deleted.
    Forget,
    /// The pool wants this one from now on.
    Want(&'static str, MachineConfigSpec),
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            host: host(),
            node: Some(NodeView {
                ready: Some(true),
                ..NodeView::default()
            }),
            configs: BTreeMap::new(),
            settings: settings(),
            now: Timestamp::from_second(1_800_000_000).expect("a time"),
            notes: Vec::new(),
            states: Vec::new(),
            drains: Vec::new(),
            fate: VecDeque::new(),
            turned: 0,
        }
    }

    /// This happens in so many turns.
    pub(crate) fn will(&mut self, turns: usize, deed: Deed) {
        self.fate.push_back((self.turned + turns, deed));
        self.fate.make_contiguous().sort_by_key(|(turn, _)| *turn);
    }

    /// Everything that is left of what was to happen does so now.
    pub(crate) fn meet_fate(&mut self) {
        while let Some((_, deed)) = self.fate.pop_front() {
            self.befall(deed);
        }
    }

    fn befall(&mut self, deed: Deed) {
        let registered = NodeView {
            ready: Some(true),
            ..NodeView::default()
        };
        match deed {
            Deed::Wipe => {
                if let Some(node) = &mut self.node {
                    node.annotations.clear();
                }
            }
            Deed::Delete => self.node = None,
            Deed::Register => {
                self.node.get_or_insert(registered);
            }
            Deed::Forget => self.configs.clear(),
            Deed::Want(name, spec) if self.node.is_some() => self.want(name, spec),
            Deed::Want(name, spec) => drop(self.configs.insert(name.to_owned(), spec)),
        }
    }

    /// A host that runs this config.
    pub(crate) fn running(name: &str, spec: MachineConfigSpec) -> Self {
        let mut world = Self::new();
        world.want(name, spec);
        assert_eq!(world.run(), Ended::Settled, "{:?}", world.notes);
        assert_eq!(world.text(annotation::CURRENT_CONFIG), name, "{:?}", world.notes);
        assert_eq!(world.text(annotation::STATE), "Done", "{:?}", world.notes);
        world.states.clear();
        world.drains.clear();
        world.notes.clear();
        world
    }

    /// The controllers want this of the node.
    pub(crate) fn want(&mut self, name: &str, spec: MachineConfigSpec) {
        self.configs.insert(name.to_owned(), spec);
        self.annotate(annotation::DESIRED_CONFIG, name);
    }

    pub(crate) fn annotate(&mut self, key: &str, text: &str) {
        let node = self.node.as_mut().expect("a Node");
        node.annotations.insert(key.to_owned(), text.to_owned());
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        let node = self.node.as_ref().expect("a Node");
        node.annotations.get(key).map(String::as_str).unwrap_or_default()
    }

    /// Runs daemons, one after the other where the host is started again, until nothing is left to do.
    pub(crate) fn run(&mut self) -> Ended {
        self.run_until(|_| false)
    }

    /// As [`World::run`], and stops when it sees something.
    pub(crate) fn run_until(&mut self, enough: impl Fn(&Self) -> bool) -> Ended {
        for _ in 0..8 {
            let host = std::mem::take(&mut self.host);
            let kept = host.clone();
            let mut daemon = match Daemon::start(host, self.settings.clone()) {
                Ok(daemon) => daemon,
                Err(error) => {
                    // A start that fails has changed nothing that counts.
                    self.host = kept;
                    assert!(error.to_string().contains("looked at"), "{error}");
                    return Ended::Down;
                }
            };
            let ended = self.turns(&mut daemon, &enough);
            self.notes.extend(daemon.take_notes());
            self.host = daemon.into_host();
            match ended {
                Some(ended) => return ended,
                None => self.host = std::mem::take(&mut self.host).started_again(),
            }
        }
        Ended::Restless
    }

    /// Turns until the end, or until the host goes down in order.
    fn turns(&mut self, daemon: &mut Daemon<SimHost>, enough: &impl Fn(&Self) -> bool) -> Option<Ended> {
        let mut known = Configs::new();
        for _ in 0..400 {
            self.turned += 1;
            while self.fate.front().is_some_and(|(turn, _)| *turn <= self.turned) {
                if let Some((_, deed)) = self.fate.pop_front() {
                    self.befall(deed);
                }
            }
            let news = News {
                node: self.node.as_ref(),
                reachable: true,
                configs: &known,
                now: self.now,
            };
            let turn = match daemon.turn(&news) {
                Ok(turn) => turn,
                Err(HostError::Down) => return Some(Ended::Down),
                Err(error) => panic!("{error}"),
            };
            if daemon.host().is_going_down() {
                return None;
            }
            match turn {
                Turn::Publish(patch) => self.publish(patch),
                Turn::Fetch(name) => {
                    let found = self.configs.get(&name).cloned();
                    known.insert(name, found);
                }
                Turn::Wait(None) => return Some(Ended::Settled),
                Turn::Wait(Some(until)) => self.now = until.max(self.now),
            }
            if enough(self) {
                return Some(Ended::Settled);
            }
        }
        Some(Ended::Restless)
    }

    fn publish(&mut self, patch: BTreeMap<String, Option<String>>) {
        let node = self.node.as_mut().expect("a Node");
        for (key, text) in patch {
            match text {
                Some(text) => node.annotations.insert(key, text),
                None => node.annotations.remove(&key),
            };
        }
        let state = self.text(annotation::STATE).to_owned();
        if self.states.last() != Some(&state) {
            self.states.push(state);
        }
        let asked = self.text(annotation::DESIRED_DRAIN).to_owned();
        if !asked.is_empty() && asked != self.text(annotation::LAST_APPLIED_DRAIN) {
            self.annotate(annotation::LAST_APPLIED_DRAIN, &asked);
            self.drains.push(asked);
        }
    }

    /// A daemon that reaches nobody does what it can by itself. Gives what the journal says then.
    pub(crate) fn alone(&mut self) -> State {
        let host = std::mem::take(&mut self.host);
        let mut daemon = Daemon::start(host, self.settings.clone()).expect("a host that works");
        let news = News {
            node: None,
            reachable: false,
            configs: &Configs::new(),
            now: self.now,
        };
        daemon.turn(&news).expect("a host that works");
        let state = daemon.state().clone();
        self.host = daemon.into_host();
        state
    }

    /// What this config makes of the host.
    pub(crate) fn made(name: &str, spec: &MachineConfigSpec) -> HostConfig {
        let node_config = NodeConfig {
            name: name.to_owned(),
            image: None,
            spec: spec.clone(),
        };
        let (made, obstacles) = HostConfig::of(&node_config, &host().capabilities().expect("a host"));
        assert_eq!(obstacles, []);
        made
    }

    /// What the host has to have with this config on it: what it makes of the host, over what was shipped.
    pub(crate) fn expected(name: &str, spec: &MachineConfigSpec) -> BTreeMap<Item, Setting> {
        let mut contents = host().contents();
        contents.extend(Self::made(name, spec).settings);
        plain(contents)
    }

    /// The kernel arguments of a host that runs this config.
    pub(crate) fn arguments(spec: &MachineConfigSpec) -> Vec<String> {
        let native = NATIVE.map(str::to_owned);
        let asked = spec.kernel_arguments.iter().filter(|word| !native.contains(word));
        native.iter().chain(asked).cloned().collect()
    }

    /// What the host has. A unit that is disabled is as good as one that is not there.
    pub(crate) fn contents(&self) -> BTreeMap<Item, Setting> {
        plain(self.host.contents())
    }

    pub(crate) fn reasons(&self) -> BTreeSet<&'static str> {
        self.notes.iter().map(|note| note.reason).collect()
    }
}

fn plain(mut contents: BTreeMap<Item, Setting>) -> BTreeMap<Item, Setting> {
    contents.retain(|_, setting| *setting != Setting::Enabled(false));
    contents
}
