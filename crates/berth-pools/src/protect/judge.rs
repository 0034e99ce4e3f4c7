//! The rules for lists of labels, wherever they stand.

use berth_labels::{Flavour, Label, LabelSet, NodeLabels, Writer, permission};
use berth_units::{EnvFile, KubeletCommand, LABELS_PATH, LabelsFile, SEED_VARIABLE, read_seed_labels};

use super::{
    ProtectFinding, ProtectKind, ProtectedLabels,
    content::{Contents, ENV_FILES, Piece, Text},
};
use crate::disruption::LABELS_VARIABLE;

/// Gathers findings about one pool.
pub(super) struct Judge<'a> {
    pub(super) contents: &'a Contents<'a>,
    pub(super) pool: &'a str,
    pub(super) flavour: Flavour,
    /// All labels of the pool: none may get another value.
    all: LabelSet,
    /// The labels that must be in the kubelet's flags.
    pub(super) at_boot: LabelSet,
    /// The labels file has all of them: the generator gives them to the kubelet whatever the unit says.
    pub(super) by_generator: bool,
    findings: Vec<ProtectFinding>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(contents: &'a Contents<'a>, labels: &'a ProtectedLabels, flavour: Flavour) -> Self {
        let at_boot = labels.at_boot(flavour);
        let file = contents
            .winner(LABELS_PATH)
            .and_then(Piece::bytes)
            .map(LabelsFile::parse);
        let by_generator = file.is_some_and(|file| {
            let mut labels = at_boot.iter();
            labels.all(|(key, value)| file.labels.get(key.as_str()) == Some(value))
        });
        Self {
            contents,
            pool: &labels.pool,
            flavour,
            all: labels.all(),
            at_boot,
            by_generator,
            findings: Vec::new(),
        }
    }

    pub(super) fn finish(self) -> Vec<ProtectFinding> {
        self.findings
    }

    /// Adds a finding, unless the same line was already found guilty of the same.
    pub(super) fn report(
        &mut self,
        piece: &Piece<'_>,
        line: Option<usize>,
        kind: ProtectKind,
        message: String,
        help: impl Into<String>,
    ) {
        let finding = ProtectFinding {
            machine_config: piece.machine_config.to_owned(),
            path: piece.shown.clone(),
            line: line.and_then(|line| u32::try_from(line).ok()),
            kind,
            message,
            help: help.into(),
        };
        let known = self.findings.iter().any(|other| {
            (&other.machine_config, &other.path, other.line, other.kind)
                == (&finding.machine_config, &finding.path, finding.line, finding.kind)
                && (kind == ProtectKind::DropsLabels || other.message == finding.message)
        });
        if !known {
            self.findings.push(finding);
        }
    }

    pub(super) fn report_drop(&mut self, piece: &Piece<'_>, line: Option<usize>, why: &str, missing: &LabelSet) {
        let message = format!("{why}, so the pool {} would lose {}", self.pool, listed(missing));
        let help = format!("add {missing}, or leave this to Berth");
        self.report(piece, line, ProtectKind::DropsLabels, message, help);
    }

    /// The labels that a list of labels does not give.
    pub(super) fn missing(&self, labels: &NodeLabels) -> LabelSet {
        let given = labels.entries();
        let has = |key: &str, value: &str| given.iter().any(|(k, v)| k == key && v == value);
        self.at_boot
            .iter()
            .filter(|(key, value)| !has(key.as_str(), value.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect()
    }

    /// Judges labels that are given to the kubelet.
    pub(super) fn flag_labels(&mut self, piece: &Piece<'_>, line: usize, labels: &NodeLabels) {
        for (key, value) in labels.entries() {
            self.flag_label(piece, line, key, value);
        }
    }

    pub(super) fn flag_label(&mut self, piece: &Piece<'_>, line: usize, key: &str, value: &str) {
        // What a variable or a specifier becomes is not known here.
        if key.contains(['$', '%']) || value.contains(['$', '%']) {
            return;
        }
        let help = "remove the label; Berth puts labels that a kubelet may not set on the Node itself";
        match Label::parse_parts(key, value) {
            Err(error) => {
                let message = format!("the kubelet does not start with the label {key}={value}: {error}");
                self.report(
                    piece,
                    Some(line),
                    ProtectKind::StopsKubelet,
                    message,
                    "correct or remove the label",
                );
            }
            Ok(label) => {
                if let Some(reason) = self.refusal(&label) {
                    let message = format!("the kubelet must not set the label {label}: {reason}");
                    self.report(piece, Some(line), ProtectKind::StopsKubelet, message, help);
                }
                self.other_value(piece, Some(line), &label);
            }
        }
    }

    /// Why a kubelet cannot register with a label.
    fn refusal(&self, label: &Label) -> Option<String> {
        [Writer::Flag, Writer::Create]
            .into_iter()
            .map(|writer| permission(self.flavour, writer, &label.key))
            .find(|permission| !permission.allowed)
            .map(|permission| permission.reason.into_owned())
    }

    fn other_value(&mut self, piece: &Piece<'_>, line: Option<usize>, label: &Label) {
        let Some(wanted) = self
            .all
            .get(label.key.as_str())
            .filter(|wanted| **wanted != label.value)
        else {
            return;
        };
        let message = format!(
            "{} is set to \"{}\", but the pool {} needs \"{wanted}\"",
            label.key, label.value, self.pool
        );
        let help = format!("remove it, or write {}={wanted}", label.key);
        self.report(piece, line, ProtectKind::OverridesLabel, message, help);
    }

    /// The labels file, which the generator reads.
    pub(super) fn labels_file(&mut self) {
        let Some(piece) = self.contents.winner(LABELS_PATH) else {
            return;
        };
        let Some(bytes) = self.bytes(piece) else {
            return;
        };
        let file = LabelsFile::parse(bytes);
        for diagnostic in &file.diagnostics {
            let message = format!("the line has no effect: {}", diagnostic.message);
            let help = "write one label as key=value on each line";
            self.report(piece, Some(diagnostic.line), ProtectKind::RefusedLabel, message, help);
        }
        for (key, value) in &file.labels {
            let label = Label {
                key: key.clone(),
                value: value.clone(),
            };
            let line = line_of_label(bytes, key.as_str());
            if let Some(reason) = self.refusal(&label) {
                let message = format!("the label {label} is left out: {reason}");
                let help = "remove the label; Berth puts it on the Node itself";
                self.report(piece, line, ProtectKind::RefusedLabel, message, help);
            }
            self.other_value(piece, line, &label);
        }
        let absent: LabelSet = self
            .at_boot
            .iter()
            .filter(|(key, _)| !file.labels.contains_key(key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        if !absent.is_empty() {
            self.report_drop(piece, None, "this labels file does not have them", &absent);
        }
    }

    /// The files of variables.
    pub(super) fn env_files(&mut self) {
        for path in ENV_FILES {
            let Some(piece) = self.contents.winner(path) else {
                continue;
            };
            let Some(bytes) = self.bytes(piece) else {
                continue;
            };
            let file = EnvFile::parse(bytes);
            for entry in &file.entries {
                // Of a variable that is set twice the last value counts.
                if file.get(&entry.name).is_some_and(|counts| counts.line == entry.line) {
                    self.variable(piece, entry.line, &entry.name, &entry.value);
                    self.label_variable_in_file(piece, entry.line, &entry.name, &entry.value);
                }
            }
        }
    }

    /// A file's value hides the one of the unit, and the one that Berth would write.
    fn label_variable_in_file(&mut self, piece: &Piece<'_>, line: usize, name: &str, value: &str) {
        if name != LABELS_VARIABLE || self.by_generator {
            return;
        }
        let missing = self.missing(&NodeLabels::parse([value]));
        if !missing.is_empty() {
            let why = format!("{LABELS_VARIABLE} is set without them");
            self.report_drop(piece, Some(line), &why, &missing);
        }
    }

    /// Judges what a variable brings into the kubelet's command line.
    pub(super) fn variable(&mut self, piece: &Piece<'_>, line: usize, name: &str, value: &str) {
        if name == LABELS_VARIABLE {
            self.flag_labels(piece, line, &NodeLabels::parse([value]));
        } else if name == SEED_VARIABLE {
            self.flag_labels(piece, line, &read_seed_labels(value));
        } else if value.contains("--") {
            let words = value.split_whitespace().map(|word| word.trim_matches(['"', '\'']));
            let arguments: Vec<_> = std::iter::once("kubelet").chain(words).collect();
            if let Ok(command) = KubeletCommand::from_argv(&arguments) {
                self.flags(piece, line, &command);
            }
        }
    }

    /// Judges flags whose place is one line.
    pub(super) fn flags(&mut self, piece: &Piece<'_>, line: usize, command: &KubeletCommand) {
        for label in command.node_labels() {
            self.flag_label(piece, line, &label.key, &label.value);
        }
        if command.value("register-node") == Some("false") {
            let message = "--register-node=false keeps the node from registering".to_owned();
            self.report(
                piece,
                Some(line),
                ProtectKind::StopsRegistration,
                message,
                "remove the flag",
            );
        }
    }

    /// A text that replaces another one which had the labels.
    pub(super) fn replaced(&mut self) {
        for (path, winner, losers) in self.contents.all() {
            if self.by_generator && path != LABELS_PATH {
                continue;
            }
            let Some(text) = winner.bytes().map(String::from_utf8_lossy) else {
                continue;
            };
            for loser in losers.iter().rev() {
                let Some(lost) = loser.bytes().map(String::from_utf8_lossy) else {
                    continue;
                };
                let missing: LabelSet = self
                    .at_boot
                    .iter()
                    .filter(|(key, value)| {
                        let label = format!("{key}={value}");
                        carries(&lost, &label) && !carries(&text, &label)
                    })
                    .map(|(key, value)| (key.clone(), value.clone()))
                    .collect();
                if !missing.is_empty() {
                    let why = format!("this replaces the text of MachineConfig {}", loser.machine_config);
                    self.report_drop(winner, None, &why, &missing);
                    break;
                }
            }
        }
    }

    /// The bytes of a text; a finding if they are not in the config.
    pub(super) fn bytes<'p>(&mut self, piece: &'p Piece<'_>) -> Option<&'p [u8]> {
        if let Text::Unknown(reason) = &piece.text {
            let message = format!("its contents cannot be judged: {reason}");
            let help = "put the contents into the config as a data URL";
            self.report(piece, None, ProtectKind::Unreadable, message, help);
        }
        piece.bytes()
    }
}

fn listed(labels: &LabelSet) -> String {
    labels.to_string().replace(',', ", ")
}

/// Whether a text has a label as a whole word.
fn carries(text: &str, label: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    text.match_indices(label).any(|(at, found)| {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + found.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// The line of a labels file that sets a key.
fn line_of_label(bytes: &[u8], key: &str) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    let found = text
        .lines()
        .position(|line| line.split_once('=').is_some_and(|(name, _)| name.trim() == key));
    found.map(|index| index + 1)
}
