//! The hooks that platforms leave open for labels: variables in environment files, and a plain argument list.
//!
//! Each function merges into what is there: other variables, other flags and labels of others stay as they are, and a
//! second run changes nothing.

use berth_labels::{Flavour, LabelSet, NodeLabels};

use crate::{
    dropin::{LeftOut, accepted_labels, missing_labels},
    effective::{EffectiveUnit, EnvFileContent},
    environment::{EnvFile, Lookup, quote_value},
    kubelet::{Insertion, KubeletCommand, NotKubelet},
    words::{Splitting, Word, words},
};

/// OpenShift's environment file for the kubelet.
pub const KUBELET_ENV_PATH: &str = "/etc/kubernetes/kubelet-env";

/// The variable that OpenShift's kubelet unit puts behind its own labels.
pub const KUBELET_ENV_VARIABLE: &str = "CUSTOM_KUBELET_LABELS";

/// Where it is kept which labels were put into OpenShift's file, so that they can be taken out again.
pub const KUBELET_ENV_STATE_PATH: &str = "/var/lib/berth/kubelet-env.labels";

/// kubeadm's environment file for the kubelet on Debian; on Red Hat systems it is `/etc/sysconfig/kubelet`.
pub const DEFAULT_KUBELET_PATH: &str = "/etc/default/kubelet";

/// The variable that kubeadm's drop-in puts behind all other flags.
pub const EXTRA_ARGS_VARIABLE: &str = "KUBELET_EXTRA_ARGS";

/// The labels that are to be there, and those that were put there before.
#[derive(Debug, Clone, Copy)]
pub struct LabelChange<'a> {
    /// The labels the kubelet has to register with.
    pub labels: &'a LabelSet,
    /// What an earlier run put there. Such a label goes away if it is not wanted any more and nobody changed it.
    pub previous: &'a LabelSet,
    /// Whose kubelet it is.
    pub flavour: Flavour,
}

/// A file after the merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedFile {
    /// The new content.
    pub text: Vec<u8>,
    /// Whether it differs from what was there.
    pub changed: bool,
    /// Labels that the kubelet would refuse.
    pub left_out: Vec<LeftOut>,
    /// Labels of the unit's own `Environment=` that the file would hide and therefore holds too, as `key=value`.
    pub carried: Vec<String>,
}

/// An argument list after the merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedArgv {
    /// The new argument list.
    pub argv: Vec<String>,
    /// Labels that the kubelet would refuse.
    pub left_out: Vec<LeftOut>,
}

/// Why labels cannot be merged. Nothing is to be written then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HookError {
    /// The file is such that an edit would change more than the variable.
    #[error("{variable} cannot be set without changing other lines of the file")]
    NotEditable {
        /// The variable.
        variable: &'static str,
    },
    /// The last flag has no value, so it would swallow the new one.
    #[error("--{flag} stands last and has no value, it would take the new flag as one")]
    FlagWithoutValue {
        /// The flag.
        flag: String,
    },
    /// The unit sets the variable to something that an environment file cannot hold.
    #[error("the unit sets {variable} with the specifier {specifier}, which an environment file cannot hold")]
    Specifier {
        /// The variable.
        variable: &'static str,
        /// The specifier, with its `%`.
        specifier: String,
    },
    /// The argument list does not run the kubelet.
    #[error("the argument list cannot take labels")]
    NotKubelet(#[source] NotKubelet),
}

/// Merges labels into OpenShift's `kubelet-env`. A value in that file hides the one that the unit sets itself, so the
/// labels of the unit's own value, such as `node.openshift.io/remote-worker`, are carried along.
pub fn merge_kubelet_env(
    existing: &[u8],
    unit: Option<&EffectiveUnit>,
    change: LabelChange<'_>,
) -> Result<MergedFile, HookError> {
    let (accepted, left_out) = accepted_labels(change.labels, change.flavour);
    let file = EnvFile::parse(existing);
    let value = file.get(KUBELET_ENV_VARIABLE).map_or("", |entry| entry.value.as_str());
    let mut labels = merge_labels(value, &accepted, change.previous);
    let mut carried = Vec::new();
    let unit_labels = match unit {
        // With no label in the file nothing is hidden, and the file can stay as it is.
        Some(unit) if !labels.is_empty() => unit_labels(unit)?,
        _ => Vec::new(),
    };
    for (key, value) in unit_labels {
        if !labels.iter().any(|(known, _)| *known == key) {
            carried.push(format!("{key}={value}"));
            labels.push((key, value));
        }
    }
    // In any order: what the unit has and an earlier run gave goes to the end with every merge.
    let sorted = |labels: &[(String, String)]| {
        let mut labels = labels.to_vec();
        labels.sort_unstable();
        labels
    };
    let unchanged = sorted(NodeLabels::parse([value]).entries()) == sorted(&labels);
    let text = if unchanged {
        existing.to_vec()
    } else {
        let value = join(&labels);
        let value = (!value.is_empty()).then_some(value);
        set_variable(existing, KUBELET_ENV_VARIABLE, value.as_deref())?
    };
    Ok(MergedFile {
        changed: text != existing,
        text,
        left_out,
        carried,
    })
}

/// Merges labels into the flags of `KUBELET_EXTRA_ARGS` in kubeadm's environment file.
pub fn merge_default_kubelet(existing: &[u8], change: LabelChange<'_>) -> Result<MergedFile, HookError> {
    let (accepted, left_out) = accepted_labels(change.labels, change.flavour);
    let file = EnvFile::parse(existing);
    let value = file.get(EXTRA_ARGS_VARIABLE).map_or("", |entry| entry.value.as_str());
    let merged = merge_flags(value, &accepted, change.previous)?;
    let text = if merged == value {
        existing.to_vec()
    } else {
        let merged = (!merged.is_empty()).then_some(merged);
        set_variable(existing, EXTRA_ARGS_VARIABLE, merged.as_deref())?
    };
    Ok(MergedFile {
        changed: text != existing,
        text,
        left_out,
        carried: Vec::new(),
    })
}

/// Merges labels into an argument list that runs the kubelet, for places without systemd.
///
/// ```
/// use berth_labels::{Flavour, Label, LabelSet};
/// use berth_units::merge_argv;
///
/// let labels: LabelSet = ["example.com/rack=r7".parse::<Label>()?].into_iter().collect();
/// let merged = merge_argv(&["kubelet", "--v=2"], &labels, Flavour::Upstream)?;
/// assert_eq!(merged.argv, ["kubelet", "--v=2", "--node-labels=example.com/rack=r7"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn merge_argv<S: AsRef<str>>(argv: &[S], labels: &LabelSet, flavour: Flavour) -> Result<MergedArgv, HookError> {
    let mut argv: Vec<String> = argv.iter().map(|word| word.as_ref().to_owned()).collect();
    let kubelet = KubeletCommand::from_argv(&argv).map_err(HookError::NotKubelet)?;
    if let Some(flag) = kubelet.needs_value() {
        return Err(HookError::FlagWithoutValue { flag: flag.to_owned() });
    }
    let (accepted, left_out) = accepted_labels(labels, flavour);
    let missing = missing_labels(&kubelet, &accepted);
    if !missing.is_empty() {
        let flag = format!("--node-labels={}", NodeLabels::format(&missing));
        match kubelet.insertion() {
            Insertion::End => argv.push(flag),
            Insertion::Before(word) => argv.insert(word.min(argv.len()), flag),
            Insertion::InsideScript(word) => {
                if let Some(script) = argv.get_mut(word) {
                    script.push(' ');
                    script.push_str(&flag);
                }
            }
        }
    }
    Ok(MergedArgv { argv, left_out })
}

/// What the unit's own `Environment=` lines give the hook's variable.
fn unit_labels(unit: &EffectiveUnit) -> Result<Vec<(String, String)>, HookError> {
    let environment = unit.environment(|_| EnvFileContent::Missing);
    // A file whose name only systemd can work out makes every variable unknown; the unit's line still counts here.
    let variable = match environment.lookup(KUBELET_ENV_VARIABLE) {
        Lookup::Known(variable) => Some(variable),
        Lookup::Unset | Lookup::Unknown => environment.variables().get(KUBELET_ENV_VARIABLE),
    };
    let Some(variable) = variable else {
        return Ok(Vec::new());
    };
    let mut unresolved = Vec::new();
    environment.expand_specifiers(&variable.value, &mut unresolved);
    if let Some(specifier) = unresolved.pop() {
        return Err(HookError::Specifier {
            variable: KUBELET_ENV_VARIABLE,
            specifier,
        });
    }
    Ok(NodeLabels::parse([&variable.value]).entries().to_vec())
}

/// The labels of a flag's value without those that an earlier run left behind, with the wanted ones.
fn merge_labels(value: &str, wanted: &LabelSet, previous: &LabelSet) -> Vec<(String, String)> {
    let mut labels = without_stale(value, wanted, previous);
    for (key, value) in wanted {
        let value = value.as_str().to_owned();
        match labels.iter_mut().find(|(known, _)| known == key.as_str()) {
            Some((_, known)) => *known = value,
            None => labels.push((key.as_str().to_owned(), value)),
        }
    }
    labels
}

fn without_stale(value: &str, wanted: &LabelSet, previous: &LabelSet) -> Vec<(String, String)> {
    NodeLabels::parse([value])
        .entries()
        .iter()
        .filter(|(key, value)| {
            let ours = previous.get(key).is_some_and(|known| known.as_str() == value);
            !ours || wanted.contains_key(key)
        })
        .cloned()
        .collect()
}

fn join(labels: &[(String, String)]) -> String {
    let items: Vec<_> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    items.join(",")
}

/// The flags of a variable with the wanted labels in the last `--node-labels`, or in a new one.
fn merge_flags(value: &str, wanted: &LabelSet, previous: &LabelSet) -> Result<String, HookError> {
    // Splitting a variable's value cannot fail: an open quote ends with it.
    let split: Vec<Word> = words(value, Splitting::Variable).unwrap_or_default();
    let kubelet = read_flags(&split)?;
    if let Some(flag) = kubelet.needs_value() {
        return Err(HookError::FlagWithoutValue { flag: flag.to_owned() });
    }
    let given: Vec<_> = kubelet
        .flags()
        .iter()
        .filter(|flag| flag.name == "node-labels")
        .collect();
    let mut merged = value.to_owned();
    if given.is_empty() && !wanted.is_empty() {
        let flag = format!("--node-labels={}", NodeLabels::format(wanted));
        match kubelet.insertion() {
            // Word 0 of the list that was read is the kubelet itself.
            Insertion::Before(word) => {
                let at = split
                    .get(word.wrapping_sub(1))
                    .map_or(value.len(), |word| word.span.start);
                merged.insert_str(at, &format!("{flag} "));
            }
            _ if merged.is_empty() => merged = flag,
            _ => merged = format!("{} {flag}", value.trim_end()),
        }
    }
    for (number, flag) in given.iter().enumerate().rev() {
        let is_last = number + 1 == given.len();
        let text = flag.value.as_deref().unwrap_or_default();
        let labels = if is_last {
            merge_labels(text, wanted, previous)
        } else {
            without_stale(text, wanted, previous)
        };
        if NodeLabels::parse([text]).entries() == labels {
            continue;
        }
        let first = split.get(flag.word.wrapping_sub(1));
        let last = match first {
            // `--node-labels value`: two words.
            Some(word) if !word.text.contains('=') => split.get(flag.word),
            other => other,
        };
        let (Some(first), Some(last)) = (first, last) else {
            continue;
        };
        let replacement = if labels.is_empty() {
            String::new()
        } else {
            quote_word(&format!("--node-labels={}", join(&labels)))
        };
        merged.replace_range(first.span.start..last.span.end, &replacement);
        if replacement.is_empty() {
            merged = String::from(merged.trim());
        }
    }
    let split = words(&merged, Splitting::Variable).unwrap_or_default();
    let read = read_flags(&split)?.node_labels();
    let all_there = wanted.iter().all(|(key, value)| {
        read.iter()
            .any(|label| label.key == key.as_str() && label.value == value.as_str())
    });
    if all_there {
        Ok(merged)
    } else {
        Err(HookError::NotEditable {
            variable: EXTRA_ARGS_VARIABLE,
        })
    }
}

fn read_flags(split: &[Word]) -> Result<KubeletCommand, HookError> {
    let argv: Vec<&str> = std::iter::once("kubelet")
        .chain(split.iter().map(|word| word.text.as_str()))
        .collect();
    KubeletCommand::from_argv(&argv).map_err(HookError::NotKubelet)
}

/// Writes a word for the value of a variable that systemd splits.
fn quote_word(word: &str) -> String {
    if !word.contains([' ', '\t', '\n', '\r', '"', '\'', '\\']) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Sets a variable in an environment file, or takes it away, and leaves every other byte alone.
fn set_variable(existing: &[u8], variable: &'static str, value: Option<&str>) -> Result<Vec<u8>, HookError> {
    let before = EnvFile::parse(existing);
    let mut text = existing.to_vec();
    if let Some(value) = value {
        let assignment = format!("{variable}={}", quote_value(value)).into_bytes();
        if let Some(entry) = before.get(variable) {
            text.splice(entry.span.clone(), assignment);
        } else {
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            text.extend_from_slice(&assignment);
            text.push(b'\n');
        }
    } else {
        for entry in before.entries.iter().rev().filter(|entry| entry.name == variable) {
            let mut end = entry.span.end;
            if text.get(end) == Some(&b'\r') {
                end += 1;
            }
            if text.get(end) == Some(&b'\n') {
                end += 1;
            }
            text.drain(entry.span.start..end);
        }
    }

    let after = EnvFile::parse(&text);
    let others = |file: &EnvFile| -> Vec<(String, String)> {
        file.entries
            .iter()
            .filter(|entry| entry.name != variable)
            .map(|entry| (entry.name.clone(), entry.value.clone()))
            .collect()
    };
    let read = after.get(variable).map(|entry| entry.value.as_str());
    if read == value && others(&before) == others(&after) {
        Ok(text)
    } else {
        Err(HookError::NotEditable { variable })
    }
}

#[cfg(test)]
mod tests;
