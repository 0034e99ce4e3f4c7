//! What a kubelet unit does, for a linter: the labels it gives with their lines, what would stop the kubelet, and which
//! line of a change takes labels away.

use std::collections::BTreeMap;

use berth_labels::{Flavour, Label, NodeLabels, Writer, permission};

use crate::{
    diagnostic::Place,
    effective::{EffectiveUnit, Setting, UnitRefusal},
    environment::{Environment, Lookup},
    exec::ExecCommand,
    kubelet::{Flag, FlagLabel, KubeletCommand, NotKubelet},
};

/// Flags other than labels that a linter wants to know about.
const NOTED_FLAGS: &[&str] = &[
    "bootstrap-kubeconfig",
    "config",
    "config-dir",
    "hostname-override",
    "kubeconfig",
    "node-ip",
    "provider-id",
    "register-node",
    "register-with-taints",
];

/// What a kubelet unit comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KubeletFacts {
    /// Why there is no kubelet to speak of.
    pub refusal: Option<KubeletRefusal>,
    /// The command that runs the kubelet, or the last `ExecStart=` line where there is none.
    pub command: Option<Place>,
    /// The labels that the kubelet registers with.
    pub labels: Vec<LabelFact>,
    /// Everything that makes the kubelet exit at its start.
    pub stoppers: Vec<Stopper>,
    /// Variables that may hold any flag and are not known, with the place of the word.
    pub opaque: Vec<(String, Place)>,
    /// Other flags of interest by name: the last value and its place.
    pub flags: BTreeMap<&'static str, (String, Place)>,
}

/// Why a unit runs no kubelet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KubeletRefusal {
    /// systemd does not start the unit.
    #[error("systemd does not start the unit")]
    Unit(#[source] UnitRefusal),
    /// No command runs the kubelet.
    #[error("no command of the unit runs a kubelet that can be read")]
    NotKubelet(#[source] NotKubelet),
}

/// A label and the line that gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelFact {
    /// The key as written.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// The line: of the unit, or of the variable that holds the label.
    pub place: Place,
    /// Whether a part is not known, so that nothing can be said about its syntax.
    pub open: bool,
}

/// Something that makes the kubelet exit at its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopper {
    /// The label or word.
    pub text: String,
    /// The line.
    pub place: Place,
    /// Why the kubelet exits.
    pub reason: String,
}

/// Reads the facts of a kubelet unit.
pub fn check_kubelet_unit(unit: &EffectiveUnit, environment: &Environment, flavour: Flavour) -> KubeletFacts {
    let mut facts = KubeletFacts {
        refusal: None,
        command: unit.all("Service", "ExecStart").pop().map(Setting::place),
        labels: Vec::new(),
        stoppers: Vec::new(),
        opaque: Vec::new(),
        flags: BTreeMap::new(),
    };
    if let Some(refusal) = unit.refusal() {
        facts.refusal = Some(KubeletRefusal::Unit(refusal));
        return facts;
    }
    let starts = unit.list("Service", "ExecStart");
    let commands = starts
        .iter()
        .flat_map(|setting| setting.commands().iter().map(move |command| (*setting, command)));
    for (setting, command) in commands {
        match KubeletCommand::find(command, environment) {
            Ok(kubelet) => {
                facts.refusal = None;
                let reader = Reader {
                    setting,
                    command,
                    kubelet: &kubelet,
                    environment,
                    flavour,
                };
                reader.fill(&mut facts);
                return facts;
            }
            Err(error) => facts.refusal = Some(KubeletRefusal::NotKubelet(error)),
        }
    }
    facts
}

struct Reader<'a> {
    setting: &'a Setting,
    command: &'a ExecCommand,
    kubelet: &'a KubeletCommand,
    environment: &'a Environment,
    flavour: Flavour,
}

impl Reader<'_> {
    fn fill(&self, facts: &mut KubeletFacts) {
        facts.command = Some(self.setting.place());
        for label in self.kubelet.node_labels() {
            let place = self.origin(&label);
            if !label.open
                && let Some(reason) = self.refused(&label)
            {
                facts.stoppers.push(Stopper {
                    text: format!("{}={}", label.key, label.value),
                    place: place.clone(),
                    reason,
                });
            }
            facts.labels.push(LabelFact {
                open: label.open,
                key: label.key,
                value: label.value,
                place,
            });
        }
        for word in self.kubelet.positional() {
            facts.stoppers.push(Stopper {
                text: word.clone(),
                place: self.setting.place(),
                reason: "the kubelet takes flags only and exits when there is another word".to_owned(),
            });
        }
        if let Some(flag) = self.kubelet.needs_value() {
            facts.stoppers.push(Stopper {
                text: format!("--{flag}"),
                place: self.setting.place(),
                reason: "the flag needs a value and stands last".to_owned(),
            });
        }
        for path in self.environment.missing() {
            facts.stoppers.push(Stopper {
                text: path.clone(),
                place: self.setting.place(),
                reason: "the environment file is not there and is not marked with `-` as optional".to_owned(),
            });
        }
        for opaque in self.kubelet.opaque() {
            facts
                .opaque
                .push((opaque.variable.clone(), self.word_place(opaque.word)));
        }
        for name in NOTED_FLAGS {
            if let Some(flag) = self.kubelet.flag(name) {
                let value = flag.value.clone().unwrap_or_else(|| "true".to_owned());
                facts.flags.insert(name, (value, self.flag_place(flag)));
            }
        }
    }

    fn refused(&self, label: &FlagLabel) -> Option<String> {
        match Label::parse_parts(&label.key, &label.value) {
            Err(error) => Some(error.to_string()),
            Ok(parsed) => {
                let answer = permission(self.flavour, Writer::Flag, &parsed.key);
                (!answer.allowed).then(|| answer.reason.into_owned())
            }
        }
    }

    /// The variable's line for a label that a variable holds, else the flag's own line.
    fn origin(&self, label: &FlagLabel) -> Place {
        let Some(flag) = self.kubelet.flags().get(label.flag) else {
            return self.setting.place();
        };
        if let Some(name) = &flag.variable
            && let Lookup::Known(variable) = self.environment.lookup(name)
        {
            return variable.place.clone();
        }
        for name in &flag.through {
            if let Lookup::Known(variable) = self.environment.lookup(name)
                && NodeLabels::parse([&variable.value])
                    .entries()
                    .iter()
                    .any(|(key, _)| *key == label.key)
            {
                return variable.place.clone();
            }
        }
        self.flag_place(flag)
    }

    fn flag_place(&self, flag: &Flag) -> Place {
        self.word_place(flag.word)
    }

    fn word_place(&self, word: usize) -> Place {
        match self.command.word_span(word) {
            Some(span) => self.setting.place_of(span.start),
            None => self.setting.place(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effective::EnvFileContent;

    fn facts(text: &str, drop_ins: &[(&str, &str)], env: Option<&str>) -> KubeletFacts {
        let drop_ins: Vec<_> = drop_ins.iter().map(|(path, text)| (*path, text.as_bytes())).collect();
        let unit = EffectiveUnit::assemble("kubelet.service", ("unit", text.as_bytes()), &drop_ins);
        let environment = unit.environment(|_| match env {
            Some(text) => EnvFileContent::Text(text.into()),
            None => EnvFileContent::Missing,
        });
        check_kubelet_unit(&unit, &environment, Flavour::Openshift)
    }

    const UNIT: &str = "[Service]\nEnvironment=CUSTOM=c=d\nEnvironmentFile=-/env\n\
        ExecStart=/usr/bin/kubelet \\\n  --hostname-override=n1 \\\n  --node-labels=a=b,${CUSTOM}\n";

    #[test]
    fn labels_and_flags_come_with_their_lines() {
        let facts = facts(UNIT, &[], None);
        let labels: Vec<_> = facts
            .labels
            .iter()
            .map(|label| format!("{}={} {}", label.key, label.value, label.place))
            .collect();
        assert_eq!(labels, ["a=b unit:6:3", "c=d unit:2:13"]);
        assert_eq!(facts.flags["hostname-override"].1.to_string(), "unit:5:3");
        assert_eq!(facts.stoppers, []);
    }

    #[test]
    fn what_stops_the_kubelet_is_named() {
        let found = facts(
            "[Service]\nEnvironmentFile=/gone\nExecStart=/usr/bin/kubelet run \\\n --node-labels=a=b!,node-role.kubernetes.io/infra=,node-role.kubernetes.io/worker \\\n --config\n",
            &[],
            None,
        );
        let stoppers: Vec<_> = found
            .stoppers
            .iter()
            .map(|stopper| (stopper.text.as_str(), stopper.place.line))
            .collect();
        assert_eq!(
            stoppers,
            [
                ("a=b!", 4),
                ("node-role.kubernetes.io/infra=", 4),
                ("run", 3),
                ("--config", 3),
                ("/gone", 3)
            ]
        );
        let refused = facts("[Service]\nType=notify\nExecStart=/usr/bin/crio\n", &[], None);
        assert!(matches!(refused.refusal, Some(KubeletRefusal::NotKubelet(_))));
    }
}
