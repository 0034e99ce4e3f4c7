//! Each machine as the hub has to know it.

use std::collections::BTreeMap;

use berth_boot::{BootInput, IgnitionInput, Way, ignition, kubelet_unit};
use berth_documents::{Diagnostic, Span};
use berth_ignition::{Config, SpecVersion};
use berth_labels::{Flavour, LabelSet};
use berth_pools::RenderOptions;
use berth_site::{Machine, REMOTE_WORKER, Resolution, Resolver, Site, render_pool};
use berth_units::{KUBELET_ENV_PATH, KUBELET_ENV_VARIABLE};
use serde_json::Value;

use crate::{
    lints,
    nmstate::{NmState, nmstate},
    rules::{hostname_problem, label_problem},
    target::{LABEL_VARIABLE, Target},
    ztp::{BootLabels, ZtpOptions},
};

/// A machine's part in the cluster, as Assisted Service calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Role {
    Master,
    Arbiter,
    Worker,
}

impl Role {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Master => "master",
            Self::Arbiter => "arbiter",
            Self::Worker => "worker",
        }
    }

    fn of_pool(pool: &str) -> Self {
        match pool {
            "master" => Self::Master,
            "arbiter" => Self::Arbiter,
            _ => Self::Worker,
        }
    }
}

/// A machine.
#[derive(Clone, Debug)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) span: Span,
    pub(crate) role: Role,
    /// The pool, where it is not the role's own.
    pub(crate) pool: Option<String>,
    /// Labels that annotations ask for.
    pub(crate) labels: BTreeMap<String, String>,
    /// The Ignition override, as one line of JSON.
    pub(crate) ignition: Option<String>,
    pub(crate) nmstate: Option<NmState>,
    pub(crate) boot_mac: String,
    pub(crate) bmc_address: String,
    pub(crate) bmc_credentials: String,
    pub(crate) bmc_insecure: bool,
    pub(crate) remote: bool,
}

/// All hosts, by name, and what to say about them.
#[derive(Debug, Default)]
pub(crate) struct Hosts {
    pub(crate) hosts: Vec<Host>,
    pub(crate) notes: Vec<String>,
}

impl Hosts {
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    pub(crate) fn of_role(&self, role: Role) -> impl Iterator<Item = &Host> {
        self.hosts.iter().filter(move |host| host.role == role)
    }
}

/// What the pool's machines get from the operator.
#[derive(Debug, Default)]
struct PoolConfig {
    config: Option<Config>,
}

/// Describes every machine of the site.
pub(crate) fn hosts(
    target: &Target<'_>,
    resolver: &Resolver<'_>,
    options: &ZtpOptions,
    findings: &mut Vec<Diagnostic>,
) -> Hosts {
    let mut hosts = Hosts::default();
    let mut later: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    let mut configs: BTreeMap<String, PoolConfig> = BTreeMap::new();
    let mut machines = target.site.machines();
    machines.sort_by(|a, b| a.name.value.cmp(&b.name.value));
    for machine in &machines {
        let name = &*machine.name.value;
        let Some(resolution) = resolver.subject(name).map(|subject| resolver.resolve(subject)) else {
            continue;
        };
        let Some(pool) = resolution.pool_name() else {
            findings.push(host_finding(machine, "is in no pool, so nobody knows its role"));
            continue;
        };
        let config = configs
            .entry(pool.to_owned())
            .or_insert_with(|| pool_config(target.site, pool, &mut hosts));
        let Some(mut host) = host(target, machine, &resolution, pool, &mut hosts, findings) else {
            continue;
        };
        let question = Question {
            target,
            machine,
            labels: resolution.label_set(),
            flavour: resolver.flavour(),
            remote: host.remote,
            role: host.role,
            when: options.boot_labels,
        };
        host.ignition = question.answer(config, &mut hosts, &mut later, findings);
        hosts.hosts.push(host);
    }
    for (label, (reason, names)) in later {
        hosts.note(format!(
            "{label} reaches {} only when the node is Ready, by the installer: {reason}",
            listed(&names)
        ));
    }
    for subject in resolver.subjects().iter().filter(|subject| subject.is_declared()) {
        if !machines.iter().any(|machine| machine.name.value == subject.name) {
            hosts.note(format!(
                "`{}` is reserved, but no document knows its addresses and its management controller: no host is made for it",
                subject.name
            ));
        }
    }
    hosts
}

/// `a`, `b` and 7 more.
pub(crate) fn listed(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("`{name}`")).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn host_finding(machine: &Machine<'_>, what: &str) -> Diagnostic {
    Diagnostic::new(
        &lints::HOST,
        machine.name.span,
        format!("`{}` {what}", machine.name.value),
    )
}

fn host(
    target: &Target<'_>,
    machine: &Machine<'_>,
    resolution: &Resolution,
    pool: &str,
    hosts: &mut Hosts,
    findings: &mut Vec<Diagnostic>,
) -> Option<Host> {
    let name = &*machine.name.value;
    let before = findings.len();
    if let Some(problem) = hostname_problem(name) {
        findings.push(Diagnostic::new(
            &lints::HOSTNAME,
            machine.name.span,
            format!("Assisted Service refuses the host name `{name}`: {problem}"),
        ));
    }
    let mac = machine
        .boot_mac
        .map(|mac| mac.value)
        .or_else(|| machine.interfaces.iter().find_map(|it| Some(it.mac.as_ref()?.value)));
    if mac.is_none() {
        findings.push(
            host_finding(machine, "has no MAC address, by which the hub knows the machine")
                .with_help("add `metadata.boot_mac`, or `mac` of an interface"),
        );
    }
    let bmc = machine
        .bmc
        .and_then(|bmc| Some((bmc.address.as_ref()?, bmc.credentials.as_ref()?, bmc)));
    if bmc.is_none() {
        findings.push(
            host_finding(machine, "has no management controller, so the hub cannot start it")
                .with_help("add `bmc` with `address` and `credentialsName`"),
        );
    }
    let (mac, (address, credentials, bmc)) = match (mac, bmc) {
        (Some(mac), Some(bmc)) if findings.len() == before => (mac, bmc),
        _ => return None,
    };
    let remote = target.is_remote(machine);
    if remote && !address.value.contains("virtualmedia") {
        hosts.note(format!(
            "`{name}` is remote and its management controller is not a virtual-media one ({}): the image would have to be booted \
             over the network",
            address.value.split(':').next().unwrap_or_default()
        ));
    }
    let nmstate = nmstate(machine);
    if nmstate.is_none() {
        hosts.note(format!(
            "`{name}` gets no NMStateConfig: none of its interfaces carries a network in which it has an address"
        ));
    }
    for note in nmstate.iter().flat_map(|state| &state.notes) {
        hosts.note(note.clone());
    }
    let mut labels = BTreeMap::new();
    for label in &resolution.labels {
        match label_problem(label.key.as_str(), Some(label.value.as_str())) {
            None => {
                labels.insert(label.key.to_string(), label.value.to_string());
            }
            Some(problem) => hosts.note(format!(
                "label `{}` has no place in an annotation of the hub, so it comes by boot alone: {problem}",
                label.key
            )),
        }
    }
    let role = Role::of_pool(pool);
    Some(Host {
        name: name.to_owned(),
        span: machine.name.span,
        role,
        pool: (pool != role.as_str()).then(|| pool.to_owned()),
        labels,
        ignition: None,
        nmstate,
        boot_mac: mac.to_string(),
        bmc_address: address.value.clone(),
        bmc_credentials: credentials.value.to_string(),
        bmc_insecure: bmc.disable_certificate_verification,
        remote,
    })
}

fn pool_config(site: &Site, name: &str, hosts: &mut Hosts) -> PoolConfig {
    let Some(pool) = site.pools.iter().find(|pool| &*pool.name.value == name) else {
        return PoolConfig::default();
    };
    // Without machine configs in the documents there is nothing to compare with.
    let Ok(rendered) = render_pool(site, pool, &RenderOptions::default()) else {
        return PoolConfig::default();
    };
    let config = rendered
        .spec
        .config
        .as_ref()
        .map(berth_ignition::parse)
        .map(berth_ignition::Parsed::usable);
    match config {
        Some(Ok(config)) => PoolConfig { config: Some(config) },
        Some(Err(_)) => {
            hosts.note(format!(
                "the machine configs of pool `{name}` cannot be read as Ignition, so overrides are not compared with them"
            ));
            PoolConfig::default()
        }
        None => PoolConfig::default(),
    }
}

struct Question<'a> {
    target: &'a Target<'a>,
    machine: &'a Machine<'a>,
    labels: LabelSet,
    flavour: Flavour,
    remote: bool,
    role: Role,
    when: BootLabels,
}

impl Question<'_> {
    /// The override with the boot labels: files that no pool writes, in the version that the service takes.
    fn answer(
        &self,
        pool: &PoolConfig,
        hosts: &mut Hosts,
        later: &mut BTreeMap<String, (String, Vec<String>)>,
        findings: &mut Vec<Diagnostic>,
    ) -> Option<String> {
        let name = &*self.machine.name.value;
        if self.when == BootLabels::Never {
            hosts.note("no override is made, as asked for: labels come after a node is Ready, by the installer");
            return None;
        }
        // A unit among the documents is the operator's of some release, and not of the one that is installed.
        if self.when == BootLabels::Auto && !self.is_read(hosts) {
            return None;
        }
        let mut refuse = |error: &dyn std::fmt::Display| {
            findings.push(Diagnostic::new(
                &lints::OVERRIDE,
                self.machine.name.span,
                format!("the boot labels of `{name}` cannot be written: {error}"),
            ));
        };
        let unit = match pool.config.as_ref().map(kubelet_unit).transpose() {
            Ok(unit) => unit.flatten(),
            Err(error) => {
                refuse(&error);
                return None;
            }
        };
        let carried = self.carried();
        let made = ignition(&IgnitionInput {
            base: None,
            boot: BootInput {
                labels: &self.labels,
                flavour: self.flavour,
                way: Some(Way::KubeletEnv),
                unit: unit.as_ref(),
                executable: None,
                environment_file: None,
                carried: &carried,
            },
            files: &[],
            spec: SpecVersion::V3_2,
        });
        let made = match made {
            Ok(made) => made,
            Err(error) => {
                refuse(&error);
                return None;
            }
        };
        if unit.is_none() {
            hosts.note(format!(
                "the documents do not know the kubelet's unit of `{name}`: boot labels arrive if it reads {KUBELET_ENV_VARIABLE} \
                 from {KUBELET_ENV_PATH}"
            ));
        }
        for left in made.left_out {
            let entry = later.entry(left.label.to_string()).or_insert((left.reason, Vec::new()));
            entry.1.push(name.to_owned());
        }
        let hidden = berth_ignition::parse(&made.config).config.and_then(|config| {
            let owned = |path: &str| pool.config.as_ref().is_some_and(|pool| pool.find_file(path).is_some());
            config
                .files()
                .iter()
                .map(|file| file.path.clone())
                .find(|path| owned(path))
        });
        if let Some(path) = hidden {
            hosts.note(format!(
                "the machine configs of the pool of `{name}` write {path} themselves and win at first boot: no override is \
                 made, the labels come from there"
            ));
            return None;
        }
        Some(line(&made.config))
    }

    /// Whether kubelets of the release read the file, as far as that is known. Said once for all hosts: notes are kept apart by
    /// their text.
    fn is_read(&self, hosts: &mut Hosts) -> bool {
        let (role, release) = (self.role.as_str(), self.target.release);
        let Some(first) = self.target.reads_labels_from(self.role) else {
            hosts.note(format!(
                "the kubelet's unit of an {role} does not read {KUBELET_ENV_VARIABLE}: no override is made, and labels come after a \
                 node is Ready, by the installer"
            ));
            return false;
        };
        // What is known of bare-metal workers is known for certain.
        let assumed = first == LABEL_VARIABLE;
        if release >= first {
            if assumed {
                hosts.note(format!(
                    "it is assumed that kubelets of role {role} read {KUBELET_ENV_VARIABLE} from {first} on: the operator's change was \
                     made while {first} was written, and no release note names it. Where kubelet.service of the cluster lacks it, say \
                     `--boot-labels never`"
                ));
            }
            return true;
        }
        let guess = if assumed { " (so it is assumed)" } else { "" };
        hosts.note(format!(
            "kubelets of role {role} read {KUBELET_ENV_VARIABLE} from {first} on{guess} and not in {release}: no override is made, and \
             labels come after a node is Ready, by the installer. Where kubelet.service of the cluster has the variable, say \
             `--boot-labels always`"
        ));
        false
    }

    /// The file with the labels hides what the platform's detection puts into the variable.
    fn carried(&self) -> LabelSet {
        let mut carried = LabelSet::new();
        if self.remote
            && self.target.detects_remote()
            && let (Ok(key), Ok(value)) = (REMOTE_WORKER.parse(), "".parse())
        {
            carried.insert(key, value);
        }
        carried
    }
}

/// The config on one line. An apostrophe would end the quotes in which a `ClusterInstance`'s template puts it.
fn line(config: &Value) -> String {
    config.to_string().replace('\'', "\\u0027")
}
