//! The files on a machine that give its kubelet the labels.

use std::collections::BTreeMap;

use berth_labels::{Flavour, LabelSet};
use berth_pools::Action;
use berth_units::{
    DEFAULT_KUBELET_PATH, DropInRequest, EXTRA_ARGS_VARIABLE, EffectiveUnit, EnvFileContent, HookError,
    KUBELET_ENV_PATH, KUBELET_ENV_VARIABLE, LABELS_PATH, LabelChange, LabelsFile, LeftOut, MergedFile, drop_in,
    merge_default_kubelet, merge_kubelet_env,
};

use crate::{boot_labels::BootLabels, error::BootError, executable::check_executable, way::Way};

/// Where systemd finds the generator.
pub const GENERATOR_PATH: &str = "/etc/systemd/system-generators/berth-generator";

/// Where the generator reads whose kubelet it is.
pub const FLAVOUR_PATH: &str = "/etc/berth/flavour";

/// The mode of files that everybody may read.
const TEXT_MODE: u32 = 0o644;

const DROP_IN_DIRECTORY: &str = "/etc/systemd/system/kubelet.service.d";

/// What is known about a machine, or about all machines of a pool.
#[derive(Debug, Clone, Copy)]
pub struct BootInput<'a> {
    /// The labels; those that cannot go by the boot route are left out.
    pub labels: &'a LabelSet,
    /// Whose kubelet it is.
    pub flavour: Flavour,
    /// The way, or `None` to choose one by what is known.
    pub way: Option<Way>,
    /// The kubelet's unit on the machine, where it is known.
    pub unit: Option<&'a EffectiveUnit>,
    /// The static executable for nodes.
    pub executable: Option<&'a [u8]>,
    /// What is in the hook's environment file without Berth. It is merged into, never replaced.
    pub environment_file: Option<ExistingFile<'a>>,
    /// Labels that the platform puts into the hook's variable itself, such as `node.openshift.io/remote-worker`. The
    /// environment file hides them, so it holds them too.
    pub carried: &'a LabelSet,
}

/// A file that is there without Berth.
#[derive(Debug, Clone, Copy)]
pub struct ExistingFile<'a> {
    /// Its bytes.
    pub contents: &'a [u8],
    /// Its permission bits, which it keeps: others may keep secrets in it.
    pub mode: u32,
}

/// The files and what to know about them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootFiles {
    /// The way that is taken.
    pub way: Way,
    /// The files in the order of their paths.
    pub files: Vec<BootFile>,
    /// The labels that the kubelet is started with.
    pub labels: LabelSet,
    /// The labels that need another route.
    pub left_out: Vec<LeftOut>,
    /// What a person should know.
    pub notes: Vec<String>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootFile {
    /// Its absolute path.
    pub path: String,
    /// Its permission bits.
    pub mode: u32,
    /// Its bytes.
    pub contents: Vec<u8>,
    /// What a machine has to do when it changes.
    pub on_change: Action,
}

/// Makes the files for a way. The labels file is there in every way: it is where people and the node daemon look.
pub fn boot_files(input: &BootInput<'_>) -> Result<BootFiles, BootError> {
    let BootLabels { labels, left_out } = BootLabels::choose(input.labels, input.flavour);
    let way = input.way.unwrap_or_else(|| choose(input));
    let mut answer = BootFiles {
        way,
        files: Vec::new(),
        labels,
        left_out,
        notes: Vec::new(),
    };
    // systemd runs its generators when it reads its units again. The other ways do not read this file.
    let on_change = if way == Way::Generator {
        Action::DaemonReload
    } else {
        Action::None
    };
    answer.add(LABELS_PATH, LabelsFile::print(&answer.labels), on_change);
    match way {
        Way::Generator => answer.generator(input)?,
        Way::KubeletEnv => answer.kubelet_env(input)?,
        Way::DefaultKubelet => answer.default_kubelet(input)?,
        Way::DropIn => answer.drop_in(input)?,
    }
    answer.files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(answer)
}

/// A hook that the unit is known to have is the platform's own way. Otherwise the generator, which finds out on the
/// machine; a hook that nobody has seen comes last.
fn choose(input: &BootInput<'_>) -> Way {
    let hook = match input.flavour {
        Flavour::Openshift => Way::KubeletEnv,
        Flavour::Upstream => Way::DefaultKubelet,
    };
    let has_hook = |unit| {
        let (path, variable) = match hook {
            Way::KubeletEnv => (KUBELET_ENV_PATH, KUBELET_ENV_VARIABLE),
            _ => (DEFAULT_KUBELET_PATH, EXTRA_ARGS_VARIABLE),
        };
        uses(unit, path, variable)
    };
    match input.unit {
        Some(unit) if has_hook(unit) => hook,
        _ if input.executable.is_some() => Way::Generator,
        Some(_) => Way::DropIn,
        None => hook,
    }
}

fn existing<'a>(input: &BootInput<'a>) -> &'a [u8] {
    input.environment_file.map_or(&[], |file| file.contents)
}

/// Whether the unit reads a file and uses a variable.
fn uses(unit: &EffectiveUnit, path: &str, variable: &str) -> bool {
    let reads = unit
        .list("Service", "EnvironmentFile")
        .iter()
        .any(|setting| setting.value().trim_start_matches('-') == path);
    let braced = format!("${{{variable}}}");
    let alone = format!("${variable}");
    reads
        && unit
            .list("Service", "ExecStart")
            .iter()
            .flat_map(|setting| setting.commands())
            .flat_map(berth_units::ExecCommand::argv)
            .any(|word| word.contains(&braced) || *word == alone)
}

impl BootFiles {
    fn add(&mut self, path: impl Into<String>, contents: impl Into<Vec<u8>>, on_change: Action) {
        self.files.push(BootFile {
            path: path.into(),
            mode: TEXT_MODE,
            contents: contents.into(),
            on_change,
        });
    }

    fn generator(&mut self, input: &BootInput<'_>) -> Result<(), BootError> {
        let executable = input.executable.ok_or(BootError::NoExecutable)?;
        check_executable(executable)?;
        self.add(FLAVOUR_PATH, format!("{}\n", input.flavour), Action::DaemonReload);
        self.files.push(BootFile {
            path: GENERATOR_PATH.to_owned(),
            mode: 0o755,
            contents: executable.to_vec(),
            on_change: Action::DaemonReload,
        });
        Ok(())
    }

    fn kubelet_env(&mut self, input: &BootInput<'_>) -> Result<(), BootError> {
        self.must_be_used(input, KUBELET_ENV_PATH, KUBELET_ENV_VARIABLE)?;
        let mut labels = self.labels.clone();
        for (key, value) in input.carried {
            if !labels.contains_key(key.as_str()) {
                labels.insert(key.clone(), value.clone());
            }
        }
        let change = LabelChange {
            labels: &labels,
            previous: &LabelSet::new(),
            flavour: input.flavour,
        };
        let merged = merge_kubelet_env(existing(input), input.unit, change);
        self.merged(input, KUBELET_ENV_PATH, merged)?;
        if input.unit.is_none() && input.carried.is_empty() {
            self.notes.push(format!(
                "{KUBELET_ENV_PATH} hides what the unit puts into {KUBELET_ENV_VARIABLE} itself; on remote workers carry \
                 node.openshift.io/remote-worker along"
            ));
        }
        Ok(())
    }

    fn default_kubelet(&mut self, input: &BootInput<'_>) -> Result<(), BootError> {
        self.must_be_used(input, DEFAULT_KUBELET_PATH, EXTRA_ARGS_VARIABLE)?;
        let change = LabelChange {
            labels: &self.labels,
            previous: &LabelSet::new(),
            flavour: input.flavour,
        };
        let merged = merge_default_kubelet(existing(input), change);
        self.merged(input, DEFAULT_KUBELET_PATH, merged)
    }

    fn must_be_used(
        &mut self,
        input: &BootInput<'_>,
        path: &'static str,
        variable: &'static str,
    ) -> Result<(), BootError> {
        match input.unit {
            Some(unit) if !uses(unit, path, variable) => Err(BootError::HookNotUsed { path, variable }),
            Some(_) => Ok(()),
            None => {
                self.notes.push(format!(
                    "the kubelet's unit is not known; labels arrive only if it uses ${variable} from {path}"
                ));
                Ok(())
            }
        }
    }

    /// Adds an environment file. The kubelet reads it whenever it starts, so its change needs nothing.
    fn merged(
        &mut self,
        input: &BootInput<'_>,
        path: &'static str,
        merged: Result<MergedFile, HookError>,
    ) -> Result<(), BootError> {
        let merged = merged.map_err(|source| BootError::Hook { path, source })?;
        for label in merged.carried {
            self.notes.push(format!(
                "{path}: {label} is carried along from the unit, which the file hides"
            ));
        }
        self.files.push(BootFile {
            path: path.to_owned(),
            mode: input.environment_file.map_or(TEXT_MODE, |file| file.mode),
            contents: merged.text,
            on_change: Action::None,
        });
        Ok(())
    }

    fn drop_in(&mut self, input: &BootInput<'_>) -> Result<(), BootError> {
        let unit = input.unit.ok_or(BootError::NoUnit)?;
        let environment = unit.environment(|_| EnvFileContent::Unread);
        let request = DropInRequest {
            labels: &self.labels,
            flavour: input.flavour,
            environment: &environment,
        };
        let made = drop_in(unit, request).map_err(BootError::DropIn)?;
        self.notes.extend(made.notes);
        match made.text {
            Some(text) => self.add(
                format!("{DROP_IN_DIRECTORY}/{}", made.file_name),
                text,
                Action::DaemonReload,
            ),
            None => self
                .notes
                .push("the unit gives every label already, no drop-in is needed".to_owned()),
        }
        Ok(())
    }

    /// What each file's change needs, by path.
    pub(crate) fn actions(&self) -> BTreeMap<&str, &Action> {
        self.files
            .iter()
            .map(|file| (file.path.as_str(), &file.on_change))
            .collect()
    }
}
