//! The kubelet's unit as it would be on a machine.

use berth_labels::{Flavour, LabelSet, NodeLabels};
use berth_units::{
    DROP_IN_NAME, EffectiveUnit, Environment, ExecCommand, KubeletCommand, LATE_DROP_IN_NAME, LoadState, Lookup,
    NotKubelet, Place, Setting, UnitRefusal, see_through, seed_labels,
};

use super::{
    ProtectKind,
    content::{ENV_FILES, Text, UNIT},
    judge::Judge,
};
use crate::disruption::{KUBELET_ENV, LABELS_VARIABLE};

/// Judges the unit with all its drop-ins.
pub(super) fn judge(judge: &mut Judge<'_>) {
    let contents = judge.contents;
    for (path, piece, _) in contents.all() {
        let is_unit = !ENV_FILES.contains(&path) && path != berth_units::LABELS_PATH;
        if is_unit && matches!(piece.text, Text::Unknown(_)) {
            judge.bytes(piece);
        }
    }
    let unit = EffectiveUnit::load(&contents.unit_tree(), UNIT);
    let environment = unit.environment(|path| contents.env_file(path));
    let mut command = unit.clone();
    let by_script = !see_through(&mut command).is_empty();
    let judged = Judged {
        unit: &unit,
        command: &command,
        by_script: if by_script {
            seed_labels(&environment)
        } else {
            LabelSet::new()
        },
        environment: &environment,
    };
    judged.start(judge);
    judged.variables(judge);
    judged.hooks(judge);
    judged.commands(judge);
}

struct Judged<'a> {
    unit: &'a EffectiveUnit,
    /// The unit without overrides that run, through a shell, the command that they replaced.
    command: &'a EffectiveUnit,
    /// The labels that the scripts behind such an override add to that command.
    by_script: LabelSet,
    environment: &'a Environment,
}

impl Judged<'_> {
    /// Whether systemd would start the unit.
    fn start(&self, judge: &mut Judge<'_>) {
        let starts = self.unit.all("Service", "ExecStart");
        let reset = starts.iter().rev().find(|setting| setting.value().is_empty());
        let at = |setting: Option<&&Setting>| setting.map(|setting| setting.place());
        let (place, why) = match self.unit.refusal() {
            None => return,
            Some(UnitRefusal::Masked) => (None, "the unit is masked".to_owned()),
            Some(UnitRefusal::Broken { path, line, message }) => (Some(Place { path, line, column: 1 }), message),
            Some(refusal @ UnitRefusal::NoExecStart) => (at(reset), refusal.to_string()),
            Some(ref refusal @ UnitRefusal::SeveralExecStart { ref places, .. }) => {
                (places.last().cloned(), refusal.to_string())
            }
            // The unit is the distribution's and not known; what drop-ins do to its command can still be said.
            Some(UnitRefusal::NotFound) => match (reset, self.unit.list("Service", "ExecStart").as_slice()) {
                (None, []) | (Some(_), [_, ..]) => return,
                (Some(reset), []) => (
                    Some(reset.place()),
                    "the drop-in leaves the unit without ExecStart=".to_owned(),
                ),
                (None, [.., last]) => (
                    Some(last.place()),
                    "the drop-in adds a second ExecStart=, with which systemd does not start the unit".to_owned(),
                ),
            },
        };
        let place = place.unwrap_or_else(|| Place {
            path: format!("/etc/systemd/system/{UNIT}"),
            line: 0,
            column: 1,
        });
        let help = match self.unit.state() {
            LoadState::Masked => "remove the mask",
            LoadState::Loaded | LoadState::NotFound => "write one empty ExecStart= and then one command",
        };
        if let Some(piece) = judge.contents.winner(&place.path) {
            let line = (place.line > 0).then_some(place.line);
            judge.report(piece, line, ProtectKind::StopsKubelet, why, help);
        }
    }

    /// What variables that the unit or its drop-ins set bring into the command line.
    fn variables(&self, judge: &mut Judge<'_>) {
        for (name, variable) in self.environment.variables() {
            if ENV_FILES.contains(&variable.place.path.as_str()) {
                continue;
            }
            if let Some(piece) = judge.contents.winner(&variable.place.path) {
                judge.variable(piece, variable.place.line, name, &variable.value);
            }
        }
        self.hidden_variable(judge);
    }

    /// One `Environment=` with the labels, hidden by another without them.
    fn hidden_variable(&self, judge: &mut Judge<'_>) {
        let Some(variable) = self.environment.variables().get(LABELS_VARIABLE) else {
            return;
        };
        if judge.by_generator {
            return;
        }
        let missing = judge.missing(&NodeLabels::parse([&variable.value]));
        let hidden: LabelSet = missing
            .into_iter()
            .filter(|(key, value)| {
                let label = format!("{key}={value}");
                self.unit.list("Service", "Environment").iter().any(|setting| {
                    let text = setting.value();
                    setting.place() != variable.place && text.contains(LABELS_VARIABLE) && text.contains(&label)
                })
            })
            .collect();
        if let Some(piece) = judge.contents.winner(&variable.place.path)
            && !hidden.is_empty()
        {
            let why = format!("this value of {LABELS_VARIABLE} hides the one with them");
            judge.report_drop(piece, Some(variable.place.line), &why, &hidden);
        }
    }

    /// Lines that cut the kubelet off from the places where labels come from.
    fn hooks(&self, judge: &mut Judge<'_>) {
        if judge.by_generator || judge.at_boot.is_empty() {
            return;
        }
        let missing = judge.at_boot.clone();
        for setting in self.unit.list("Service", "UnsetEnvironment") {
            let mut names = setting.value().split_whitespace();
            if names.any(|name| name.trim_matches('"') == LABELS_VARIABLE)
                && let Some(piece) = judge.contents.winner(setting.path())
            {
                let why = format!("{LABELS_VARIABLE} is taken out of the environment");
                judge.report_drop(piece, Some(setting.assignment().line()), &why, &missing);
            }
        }
        let settings = self.unit.all("Service", "EnvironmentFile");
        let names = |setting: &Setting, path: &str| setting.value().trim_start_matches('-') == path;
        let Some(reset) = settings.iter().rposition(|setting| setting.value().is_empty()) else {
            return;
        };
        let (before, after) = settings.split_at(reset);
        for path in ENV_FILES {
            let was_read = before.iter().any(|setting| names(setting, path))
                || (self.unit.state() == LoadState::NotFound
                    && path == KUBELET_ENV
                    && judge.flavour == Flavour::Openshift);
            let is_read = after.iter().any(|setting| names(setting, path));
            let Some(line) = after.first().filter(|_| was_read && !is_read) else {
                continue;
            };
            // A file that no machine config has was not a way for labels, unless it is OpenShift's own.
            if path != KUBELET_ENV && judge.contents.winner(path).is_none() {
                continue;
            }
            if let Some(piece) = judge.contents.winner(line.path()) {
                let why = format!("{path} is no longer read");
                judge.report_drop(piece, Some(line.assignment().line()), &why, &missing);
            }
        }
    }

    fn commands(&self, judge: &mut Judge<'_>) {
        let mut failed: Option<(&Setting, NotKubelet)> = None;
        let mut found = false;
        for setting in self.command.list("Service", "ExecStart") {
            for command in setting.commands() {
                match KubeletCommand::find(command, self.environment) {
                    Ok(kubelet) => {
                        found = true;
                        self.command(judge, setting, command, &kubelet);
                    }
                    // It runs the command of the distribution's unit, which is not known here.
                    Err(NotKubelet::ShellVariable { .. }) if self.unit.state() == LoadState::NotFound => return,
                    Err(error) => failed = Some((setting, error)),
                }
            }
        }
        if let Some((setting, error)) = failed.filter(|_| !found)
            && let Some(piece) = judge.contents.winner(setting.path())
        {
            if judge.at_boot.is_empty() {
                return;
            }
            let missing = judge.at_boot.clone();
            let why = format!("the command cannot take labels ({error})");
            judge.report_drop(piece, Some(setting.assignment().line()), &why, &missing);
        }
    }

    fn command(&self, judge: &mut Judge<'_>, setting: &Setting, command: &ExecCommand, kubelet: &KubeletCommand) {
        let Some(piece) = judge.contents.winner(setting.path()) else {
            return;
        };
        let start = setting.assignment().line();
        let stray = kubelet.positional().iter().find(|word| !word.contains(['$', '%']));
        if let Some(word) = stray {
            let message = format!("the kubelet does not start with the word `{word}`, which is not a flag");
            judge.report(
                piece,
                Some(start),
                ProtectKind::StopsKubelet,
                message,
                "remove the word",
            );
        }
        if let Some(flag) = kubelet.needs_value() {
            let message = format!("the kubelet does not start: --{flag} has no value");
            judge.report(
                piece,
                Some(start),
                ProtectKind::StopsKubelet,
                message,
                "give the flag a value",
            );
        }
        let mut given = self.by_script.to_string();
        for label in kubelet.node_labels() {
            let flag = kubelet.flags().get(label.flag);
            let through = flag
                .into_iter()
                .flat_map(|flag| flag.through.iter().chain(&flag.variable));
            let variable = through
                .filter_map(|name| self.known(name))
                .find(|v| v.value.contains(&label.key));
            match variable.and_then(|v| Some((judge.contents.winner(&v.place.path)?, v.place.line))) {
                Some((piece, line)) => judge.flag_label(piece, line, &label.key, &label.value),
                None => {
                    let span = flag.and_then(|flag| command.word_span(flag.word));
                    let line = span.map_or(start, |span| setting.place_of(span.start).line);
                    judge.flag_label(piece, line, &label.key, &label.value);
                }
            }
            given = format!("{given},{}={}", label.key, label.value);
        }
        if kubelet.value("register-node") == Some("false") {
            let message = "--register-node=false keeps the node from registering".to_owned();
            judge.report(
                piece,
                Some(start),
                ProtectKind::StopsRegistration,
                message,
                "remove the flag",
            );
        }
        let missing = judge.missing(&NodeLabels::parse([given]));
        if !missing.is_empty()
            && let Some(why) = why_not_added(judge, setting, kubelet)
        {
            judge.report_drop(piece, Some(start), &why, &missing);
        }
    }

    fn known(&self, name: &str) -> Option<&berth_units::Variable> {
        match self.environment.lookup(name) {
            Lookup::Known(variable) => Some(variable),
            Lookup::Unset | Lookup::Unknown => None,
        }
    }
}

/// Why nothing that comes later can add labels to this command.
fn why_not_added(judge: &Judge<'_>, setting: &Setting, kubelet: &KubeletCommand) -> Option<String> {
    let name = setting.path().rsplit('/').next().unwrap_or_default();
    let is_drop_in = name != UNIT;
    if name == DROP_IN_NAME || name == LATE_DROP_IN_NAME {
        return Some("this takes the place of the drop-in that the generator writes".to_owned());
    }
    if is_drop_in && name > LATE_DROP_IN_NAME {
        return Some(format!("this command counts after {LATE_DROP_IN_NAME}"));
    }
    if judge.by_generator {
        return None;
    }
    let takes_variable = kubelet.flags().iter().any(|flag| {
        let names = flag.through.iter().chain(&flag.unresolved).chain(&flag.variable);
        flag.variable.is_some() || names.into_iter().any(|name| name == LABELS_VARIABLE)
    });
    if takes_variable || !kubelet.opaque().is_empty() {
        return None;
    }
    // An empty variable leaves no trace in the expanded command.
    let text = setting.value();
    if text.contains(&format!("${{{LABELS_VARIABLE}}}")) || text.contains(&format!("${LABELS_VARIABLE}")) {
        return None;
    }
    if text
        .split_whitespace()
        .any(|word| word.starts_with('$') && !word.starts_with("$$"))
    {
        return None;
    }
    Some(format!("the command has neither the labels nor {LABELS_VARIABLE}"))
}
