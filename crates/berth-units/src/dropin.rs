//! The drop-in that gives the kubelet its labels without touching a unit that somebody else owns.
//!
//! It empties `ExecStart=` and repeats the command as it is written, with one more `--node-labels=` flag. Quotes,
//! variables, specifiers and prefixes stay systemd's business, so there is no second evaluation.

use berth_labels::{Flavour, Label, LabelSet, NodeLabels, Writer, permission};

use crate::{
    diagnostic::Place,
    effective::{EffectiveUnit, Setting, UnitRefusal, file_name},
    environment::Environment,
    exec::{ExecCommand, ExecLine},
    kubelet::{Insertion, KubeletCommand, NotKubelet},
    words::quote_argument,
};

/// Name of the generated drop-in.
pub const DROP_IN_NAME: &str = "50-berth.conf";

/// Name of the generated drop-in when another drop-in that counts after [`DROP_IN_NAME`] sets `ExecStart=` itself.
pub const LATE_DROP_IN_NAME: &str = "zz-berth.conf";

/// The variable in which the first-boot scripts that Berth replaces keep their labels.
pub const SEED_VARIABLE: &str = "FIRST_BOOT_ONLY_KUBELET_NODE_EXTRA_LABELS";

const OWN_NAMES: &[&str] = &[DROP_IN_NAME, LATE_DROP_IN_NAME];

/// What goes into a drop-in.
#[derive(Debug, Clone, Copy)]
pub struct DropInRequest<'a> {
    /// The labels the kubelet has to register with.
    pub labels: &'a LabelSet,
    /// Whose kubelet it is.
    pub flavour: Flavour,
    /// The unit's environment, as far as it is known.
    pub environment: &'a Environment,
}

/// A label that is not given to the kubelet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// The label.
    pub label: Label,
    /// The rule that refuses it.
    pub reason: String,
}

/// The answer to a [`DropInRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropIn {
    /// Name of the file in `<unit>.d`.
    pub file_name: &'static str,
    /// The file, or `None` when the unit already gives every label.
    pub text: Option<String>,
    /// The labels that the file adds.
    pub added: LabelSet,
    /// Labels that the kubelet would refuse; with one of them it would not start.
    pub left_out: Vec<LeftOut>,
    /// The command that the file repeats.
    pub source: Place,
    /// What a person should know, such as an override that was seen through.
    pub notes: Vec<String>,
}

/// Why no drop-in can be made. Nothing is to be written then: the kubelet starts as it would without Berth.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DropInError {
    /// systemd itself does not start the unit.
    #[error("systemd does not start the unit")]
    Unit(#[source] UnitRefusal),
    /// No command of the unit runs the kubelet.
    #[error("{place}: the command cannot take labels")]
    NotKubelet {
        /// The command.
        place: Place,
        /// Why it cannot.
        #[source]
        source: NotKubelet,
    },
    /// Several commands run a kubelet.
    #[error("{first} and {second} both run a kubelet")]
    SeveralKubelets {
        /// One command.
        first: Place,
        /// The other.
        second: Place,
    },
    /// The last flag has no value, so it would swallow the new one.
    #[error("{place}: --{flag} stands last and has no value, it would take the new flag as one")]
    FlagWithoutValue {
        /// The command.
        place: Place,
        /// The flag.
        flag: String,
    },
    /// A drop-in that counts after any that Berth writes sets `ExecStart=`.
    #[error("{place}: this drop-in counts after {LATE_DROP_IN_NAME} and sets ExecStart= again")]
    LaterDropIn {
        /// The other drop-in's line.
        place: Place,
    },
    /// The result did not read back as the same command with one more flag.
    #[error("{place}: the command cannot be repeated with one more flag")]
    NotRepeatable {
        /// The command.
        place: Place,
    },
}

/// Computes the drop-in for a kubelet unit. A drop-in that Berth wrote before is left out of account, so the answer is
/// the same whether or not it is already there.
///
/// ```
/// use berth_labels::{Flavour, Label, LabelSet};
/// use berth_units::{DropInRequest, EffectiveUnit, EnvFileContent, drop_in};
///
/// let unit = b"[Service]\nExecStart=/usr/bin/kubelet --config=/etc/kubelet.conf\n";
/// let unit = EffectiveUnit::assemble("kubelet.service", ("kubelet.service", unit), &[]);
/// let environment = unit.environment(|_| EnvFileContent::Missing);
/// let labels: LabelSet = ["example.com/rack=r7".parse::<Label>()?].into_iter().collect();
/// let made = drop_in(&unit, DropInRequest { labels: &labels, flavour: Flavour::Upstream, environment: &environment })?;
/// assert!(made.text.unwrap_or_default().ends_with(
///     "ExecStart=\nExecStart=/usr/bin/kubelet --config=/etc/kubelet.conf --node-labels=example.com/rack=r7\n"
/// ));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn drop_in(unit: &EffectiveUnit, request: DropInRequest<'_>) -> Result<DropIn, DropInError> {
    let file_name = own_name(unit)?;
    let mut unit = unit.without_drop_ins(OWN_NAMES);
    let notes = see_through(&mut unit);
    if let Some(refusal) = unit.refusal() {
        return Err(DropInError::Unit(refusal));
    }
    let (setting, command, kubelet) = find_kubelet(&unit, request.environment)?;
    let place = setting.place();
    if let Some(flag) = kubelet.needs_value() {
        return Err(DropInError::FlagWithoutValue {
            place,
            flag: flag.to_owned(),
        });
    }

    let (accepted, left_out) = accepted_labels(request.labels, request.flavour);
    let added = missing_labels(&kubelet, &accepted);
    let mut answer = DropIn {
        file_name,
        text: None,
        added,
        left_out,
        source: place.clone(),
        notes,
    };
    if answer.added.is_empty() {
        return Ok(answer);
    }

    let flag = format!("--node-labels={}", NodeLabels::format(&answer.added));
    let mut text = header(unit.name(), &place, &answer.left_out);
    for other in unit.list("Service", "ExecStart") {
        if other.is_refused() {
            return Err(DropInError::NotRepeatable { place: other.place() });
        }
        let value = one_line(other.value());
        let line = if std::ptr::eq(other, setting) {
            let index = setting.commands().iter().position(|found| found == command);
            index
                .and_then(|index| with_flag(&value, index, kubelet.insertion(), &flag))
                .ok_or_else(|| DropInError::NotRepeatable { place: place.clone() })?
        } else {
            value
        };
        text.push_str("ExecStart=");
        text.push_str(&line);
        text.push('\n');
    }
    answer.text = Some(text);
    Ok(answer)
}

/// The labels that the seed scripts' variable holds. Their command line went through a shell, which took quotes away.
pub fn seed_labels(environment: &Environment) -> LabelSet {
    // The variable is set in a drop-in, so files that were not read do not matter.
    let Some(variable) = environment.variables().get(SEED_VARIABLE) else {
        return LabelSet::new();
    };
    read_seed_labels(&variable.value).valid()
}

/// The labels in a value of [`SEED_VARIABLE`], without the quotes that the scripts' shell takes away.
pub fn read_seed_labels(value: &str) -> NodeLabels {
    NodeLabels::parse([value.replace(['"', '\''], "")])
}

/// Splits labels into those that the flavour's kubelet takes as a flag and those that would stop it.
pub(crate) fn accepted_labels(labels: &LabelSet, flavour: Flavour) -> (LabelSet, Vec<LeftOut>) {
    let mut accepted = LabelSet::new();
    let mut left_out = Vec::new();
    for (key, value) in labels {
        let answer = permission(flavour, Writer::Flag, key);
        if answer.allowed {
            accepted.insert(key.clone(), value.clone());
        } else {
            left_out.push(LeftOut {
                label: Label {
                    key: key.clone(),
                    value: value.clone(),
                },
                reason: answer.reason.into_owned(),
            });
        }
    }
    (accepted, left_out)
}

/// The labels that the command line does not give already. Only flags that stand in the command line itself count: what
/// a variable holds may be another value when the kubelet starts.
pub(crate) fn missing_labels(kubelet: &KubeletCommand, labels: &LabelSet) -> LabelSet {
    let present = kubelet.node_labels();
    let mut missing = LabelSet::new();
    for (key, value) in labels {
        let given = present.iter().any(|label| {
            label.key == key.as_str()
                && label.value == value.as_str()
                && kubelet.flags().get(label.flag).is_some_and(|flag| {
                    flag.through.is_empty()
                        && flag.variable.is_none()
                        && kubelet.opaque().iter().all(|opaque| opaque.word < flag.word)
                })
        });
        if !given {
            missing.insert(key.clone(), value.clone());
        }
    }
    missing
}

/// Chooses a name that counts after every other drop-in that sets `ExecStart=`.
fn own_name(unit: &EffectiveUnit) -> Result<&'static str, DropInError> {
    let fragment = unit.sources().first().map(|source| source.path.as_str());
    let mut name = DROP_IN_NAME;
    for setting in unit.all("Service", "ExecStart") {
        let other = file_name(setting.path());
        if Some(setting.path()) == fragment || OWN_NAMES.contains(&other) {
            continue;
        }
        if other > LATE_DROP_IN_NAME {
            return Err(DropInError::LaterDropIn { place: setting.place() });
        }
        if other > DROP_IN_NAME {
            name = LATE_DROP_IN_NAME;
        }
    }
    Ok(name)
}

/// Takes away overrides that only run, through a shell, the command that they replaced, and says which.
///
/// The first-boot scripts that Berth replaces work that way: `ExecStart=bash -c "${ORIG_EXECSTART}"`.
pub fn see_through(unit: &mut EffectiveUnit) -> Vec<String> {
    let mut notes = Vec::new();
    loop {
        let found = match unit.list("Service", "ExecStart").as_slice() {
            [only] => match only.commands() {
                [command] => crate::kubelet::shell_variable(command.path(), command.argv())
                    .map(|variable| (only.place(), variable)),
                _ => None,
            },
            _ => None,
        };
        let Some((place, variable)) = found else {
            return notes;
        };
        let without = unit.without_settings(&place.path, "Service", "ExecStart");
        if without.list("Service", "ExecStart").is_empty() {
            return notes;
        }
        notes.push(format!(
            "{place}: ExecStart= runs ${{{variable}}} through a shell; the command that it replaced is used instead"
        ));
        *unit = without;
    }
}

fn find_kubelet<'a>(
    unit: &'a EffectiveUnit,
    environment: &Environment,
) -> Result<(&'a Setting, &'a ExecCommand, KubeletCommand), DropInError> {
    let mut found: Option<(&Setting, &ExecCommand, KubeletCommand)> = None;
    let mut failure = None;
    for setting in unit.list("Service", "ExecStart") {
        for command in setting.commands() {
            match KubeletCommand::find(command, environment) {
                Ok(kubelet) => {
                    if let Some((first, _, _)) = &found {
                        return Err(DropInError::SeveralKubelets {
                            first: first.place(),
                            second: setting.place(),
                        });
                    }
                    found = Some((setting, command, kubelet));
                }
                Err(source) => {
                    failure = Some(DropInError::NotKubelet {
                        place: setting.place(),
                        source,
                    });
                }
            }
        }
    }
    found.ok_or_else(|| failure.unwrap_or(DropInError::Unit(UnitRefusal::NoExecStart)))
}

/// A value that can stand at the end of a line: a backslash that only blanks kept from continuing the line is doubled,
/// which gives the same word.
fn one_line(value: &str) -> String {
    let backslashes = value.bytes().rev().take_while(|byte| *byte == b'\\').count();
    let mut line = value.to_owned();
    if backslashes % 2 == 1 {
        line.push('\\');
    }
    line
}

/// The value with one more flag for its command number `index`, if it reads back as exactly that.
fn with_flag(value: &str, index: usize, insertion: Insertion, flag: &str) -> Option<String> {
    let before = ExecLine::parse(value);
    let command = before.commands.get(index)?;
    let mut expected = command.argv().to_vec();
    let (at, inserted) = match insertion {
        Insertion::End => {
            expected.push(flag.to_owned());
            let word = quote_argument(flag, command.expands_variables());
            (command.end(), format!(" {word}"))
        }
        Insertion::Before(word) => {
            expected.insert(word.min(expected.len()), flag.to_owned());
            let quoted = quote_argument(flag, command.expands_variables());
            (command.word_span(word)?.start, format!("{quoted} "))
        }
        Insertion::InsideScript(word) => {
            let script = expected.get_mut(word)?;
            script.push(' ');
            script.push_str(flag);
            // The script is more than one word, so its last character is a quote.
            (command.word_span(word)?.end.checked_sub(1)?, format!(" {flag}"))
        }
    };
    let mut after = value.to_owned();
    if !after.is_char_boundary(at) {
        return None;
    }
    after.insert_str(at, &inserted);
    let read = ExecLine::parse(&after);
    let same = read.commands.len() == before.commands.len()
        && read
            .commands
            .iter()
            .zip(&before.commands)
            .enumerate()
            .all(|(number, (read, before))| {
                let argv = if number == index { &expected } else { before.argv() };
                read.argv() == argv && read.prefix() == before.prefix() && read.path() == before.path()
            });
    same.then_some(after)
}

fn header(unit: &str, place: &Place, left_out: &[LeftOut]) -> String {
    // A line end in a path must not end the comment.
    let place: String = format!("{}:{}", place.path, place.line)
        .chars()
        .map(|c| if c.is_control() { '?' } else { c })
        .collect();
    let mut text = format!(
        "# Written by Berth for {unit}; it is computed anew, local changes are lost.\n\
         # Repeats ExecStart= of {place} as it is written there and adds --node-labels.\n"
    );
    for left in left_out {
        text.push_str("# Left out, the kubelet would not start with it: ");
        text.push_str(&left.label.to_string());
        text.push('\n');
    }
    text.push_str("[Service]\nExecStart=\n");
    text
}

#[cfg(test)]
mod tests;
