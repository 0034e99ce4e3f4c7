//! A unit as systemd sees it: the fragment and all its drop-ins, merged.
//!
//! Nothing is read from disk here. The caller fills a [`UnitTree`] with what the directories hold; [`EffectiveUnit`]
//! picks, orders and merges as systemd does.

use crate::{
    diagnostic::{Place, Severity, UnitDiagnostic},
    environment::{EnvFile, Environment, assignments, is_variable_name},
    exec::{ExecCommand, ExecLine},
    unit_file::{Assignment, UnitFile, is_blank_char},
};

mod keys;
mod refusal;
mod tree;

pub use keys::{KeyKind, key_kind};
pub use refusal::UnitRefusal;
pub(crate) use tree::file_name;
pub use tree::{Content, SEARCH_PATH, UnitTree, drop_in_directories};

/// The folders of the system manager, which runs the kubelet, by their specifiers.
const SYSTEM_FOLDERS: [(char, &str); 7] = [
    ('C', "/var/cache"),
    ('E', "/etc"),
    ('L', "/var/log"),
    ('S', "/var/lib"),
    ('T', "/tmp"),
    ('V', "/var/tmp"),
    ('t', "/run"),
];

/// Whether there is a unit to speak of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadState {
    /// The fragment was found.
    Loaded,
    /// The fragment is empty or a link to `/dev/null`.
    Masked,
    /// There is no fragment.
    NotFound,
}

/// One assignment that is in force, and the file it stands in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    path: String,
    assignment: Assignment,
    commands: Vec<ExecCommand>,
    refused: bool,
}

impl Setting {
    /// The file.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The assignment as it stands in the file.
    pub fn assignment(&self) -> &Assignment {
        &self.assignment
    }

    /// The value with continuation lines joined.
    pub fn value(&self) -> &str {
        self.assignment.value()
    }

    /// The commands of an `Exec*=` setting.
    pub fn commands(&self) -> &[ExecCommand] {
        &self.commands
    }

    /// Whether systemd stops reading the file at this line. [`Self::commands`] are those in front of the bad one.
    pub fn is_refused(&self) -> bool {
        self.refused
    }

    /// Where the assignment starts.
    pub fn place(&self) -> Place {
        Place {
            path: self.path.clone(),
            line: self.assignment.line(),
            column: 1,
        }
    }

    /// Where a byte of the value stands.
    pub fn place_of(&self, value_byte: usize) -> Place {
        let (line, column) = self.assignment.position(value_byte);
        Place {
            path: self.path.clone(),
            line,
            column,
        }
    }
}

/// One file that makes up the unit, in the order in which systemd reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Path of the file.
    pub path: String,
    /// The file.
    pub file: UnitFile,
}

/// A finding and the file it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDiagnostic {
    /// Path of the file.
    pub path: String,
    /// The finding.
    pub diagnostic: UnitDiagnostic,
}

/// What the caller knows about a file that `EnvironmentFile=` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EnvFileContent {
    /// The file's bytes.
    Text(Vec<u8>),
    /// There is no such file.
    Missing,
    /// Nobody looked: the file may hold anything.
    Unread,
}

/// A unit with its drop-ins applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EffectiveUnit {
    name: String,
    state: LoadState,
    sources: Vec<Source>,
    settings: Vec<Setting>,
    diagnostics: Vec<FileDiagnostic>,
    broken_fragment: bool,
}

impl EffectiveUnit {
    /// Merges the files of `unit` in the tree.
    pub fn load(tree: &UnitTree, unit: &str) -> Self {
        Self::load_without(tree, unit, &[])
    }

    /// Merges the files of `unit`, as if the drop-ins with these file names were not there.
    pub fn load_without(tree: &UnitTree, unit: &str, drop_ins: &[&str]) -> Self {
        let mut effective = Self::empty(unit);
        match tree.fragment(unit) {
            None => {}
            Some((_, Content::Masked)) => effective.state = LoadState::Masked,
            Some((path, Content::Text(text))) => effective.read_fragment(path, text),
        }
        for (path, text) in tree.drop_ins(unit, drop_ins) {
            effective.read(path, text);
        }
        effective
    }

    /// Merges a fragment and drop-ins that are given by hand. Drop-ins count in the order of their file names; of two
    /// with the same file name the one given first counts, as if its directory came first.
    pub fn assemble(unit: &str, fragment: (&str, &[u8]), drop_ins: &[(&str, &[u8])]) -> Self {
        let mut effective = Self::empty(unit);
        effective.read_fragment(fragment.0, fragment.1);
        let mut ordered: Vec<&(&str, &[u8])> = Vec::new();
        for drop_in in drop_ins {
            let name = tree::file_name(drop_in.0);
            if !ordered.iter().any(|other| tree::file_name(other.0) == name) {
                ordered.push(drop_in);
            }
        }
        ordered.sort_by_key(|drop_in| tree::file_name(drop_in.0));
        for (path, text) in ordered {
            effective.read(path, text);
        }
        effective
    }

    /// The same unit as if the drop-ins with these file names were not there.
    #[must_use]
    pub fn without_drop_ins(&self, names: &[&str]) -> Self {
        let mut effective = Self {
            state: self.state,
            ..Self::empty(&self.name)
        };
        let mut fragment = self.state == LoadState::Loaded;
        for source in &self.sources {
            let is_fragment = std::mem::take(&mut fragment);
            if !is_fragment && names.contains(&file_name(&source.path)) {
                continue;
            }
            let complete = effective.read(&source.path, &source.file.print());
            effective.broken_fragment |= is_fragment && !complete;
        }
        effective
    }

    /// The same unit as if one file did not set this key.
    pub(crate) fn without_settings(&self, path: &str, section: &str, key: &str) -> Self {
        let mut effective = self.clone();
        effective.settings.retain(|setting| {
            setting.path != path || setting.assignment.section() != section || setting.assignment.key() != key
        });
        effective
    }

    fn empty(unit: &str) -> Self {
        Self {
            name: unit.to_owned(),
            state: LoadState::NotFound,
            sources: Vec::new(),
            settings: Vec::new(),
            diagnostics: Vec::new(),
            broken_fragment: false,
        }
    }

    fn read_fragment(&mut self, path: &str, text: &[u8]) {
        if text.is_empty() {
            self.state = LoadState::Masked;
            return;
        }
        self.state = LoadState::Loaded;
        self.broken_fragment = !self.read(path, text);
    }

    /// Reads one file; the answer is whether systemd came to its end.
    fn read(&mut self, path: &str, text: &[u8]) -> bool {
        let file = UnitFile::parse(text);
        let mut complete = !file.is_broken();
        for diagnostic in file.diagnostics() {
            self.report(path, diagnostic.clone());
        }
        for assignment in file.assignments() {
            let is_exec = assignment.section() == "Service" && keys::EXEC_KEYS.contains(&assignment.key());
            let line = if is_exec {
                self.read_exec(path, assignment)
            } else {
                ExecLine::default()
            };
            let refused = line.is_refused();
            self.settings.push(Setting {
                path: path.to_owned(),
                assignment: assignment.clone(),
                commands: line.commands,
                refused,
            });
            // systemd keeps the commands in front of the bad one and reads no further.
            if refused {
                complete = false;
                break;
            }
        }
        self.sources.push(Source {
            path: path.to_owned(),
            file,
        });
        complete
    }

    fn read_exec(&mut self, path: &str, assignment: &Assignment) -> ExecLine {
        let line = ExecLine::parse(assignment.value());
        for problem in &line.problems {
            let (at, column) = assignment.position(problem.at);
            let diagnostic = UnitDiagnostic {
                line: at,
                column,
                message: format!("{}=: {}", assignment.key(), problem.message),
                severity: problem.severity,
            };
            self.report(path, diagnostic);
        }
        line
    }

    fn report(&mut self, path: &str, diagnostic: UnitDiagnostic) {
        self.diagnostics.push(FileDiagnostic {
            path: path.to_owned(),
            diagnostic,
        });
    }

    /// The unit's name, with its suffix.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether the fragment was found.
    pub fn state(&self) -> LoadState {
        self.state
    }

    /// The files in the order in which they count.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// All that systemd would log about the files.
    pub fn diagnostics(&self) -> &[FileDiagnostic] {
        &self.diagnostics
    }

    /// The assignments of a key that are in force, in order.
    pub fn list(&self, section: &str, key: &str) -> Vec<&Setting> {
        let mut list = Vec::new();
        for setting in self.all(section, key) {
            match key_kind(key) {
                KeyKind::List if setting.value().is_empty() => list.clear(),
                KeyKind::List if setting.refused && setting.commands.is_empty() => {}
                KeyKind::Dependency if setting.value().is_empty() => {}
                KeyKind::List | KeyKind::Dependency => list.push(setting),
                KeyKind::Single => list = vec![setting],
            }
        }
        list
    }

    /// The assignment of a key that counts last, if its value is not empty.
    pub fn value(&self, section: &str, key: &str) -> Option<&Setting> {
        self.all(section, key)
            .pop()
            .filter(|setting| !setting.value().is_empty())
    }

    /// Every assignment of a key, also those that a later one resets.
    pub fn all(&self, section: &str, key: &str) -> Vec<&Setting> {
        self.settings
            .iter()
            .filter(|setting| setting.assignment.section() == section && setting.assignment.key() == key)
            .collect()
    }

    /// The service's type, with systemd's default when nothing sets it.
    pub fn service_type(&self) -> &str {
        const TYPES: &[&str] = &[
            "simple",
            "exec",
            "forking",
            "oneshot",
            "dbus",
            "notify",
            "notify-reload",
            "idle",
        ];
        // A value that systemd does not know is skipped, not taken as a reset.
        let written = self
            .all("Service", "Type")
            .into_iter()
            .map(Setting::value)
            .rfind(|value| TYPES.contains(value));
        match written {
            Some(value) => value,
            None if self.value("Service", "BusName").is_some() => "dbus",
            None if self.list("Service", "ExecStart").is_empty() => "oneshot",
            None => "simple",
        }
    }

    /// Why systemd would not start the unit, as far as its command lines are concerned.
    pub fn refusal(&self) -> Option<UnitRefusal> {
        match self.state {
            LoadState::Masked => return Some(UnitRefusal::Masked),
            LoadState::NotFound => return Some(UnitRefusal::NotFound),
            LoadState::Loaded => {}
        }
        if self.broken_fragment {
            let found = self
                .diagnostics
                .iter()
                .find(|found| found.diagnostic.severity == Severity::Error);
            if let Some(found) = found {
                return Some(UnitRefusal::Broken {
                    path: found.path.clone(),
                    line: found.diagnostic.line,
                    message: found.diagnostic.message.clone(),
                });
            }
        }
        let starts = self.list("Service", "ExecStart");
        let count: usize = starts.iter().map(|setting| setting.commands.len()).sum();
        if count == 0 {
            return Some(UnitRefusal::NoExecStart);
        }
        if count > 1 && self.service_type() != "oneshot" {
            return Some(UnitRefusal::SeveralExecStart {
                service_type: self.service_type().to_owned(),
                places: starts.iter().map(|setting| setting.place()).collect(),
            });
        }
        None
    }

    /// The variables that systemd gives the unit's commands. `read` is asked for each environment file; a value from
    /// a file beats every `Environment=`.
    pub fn environment(&self, mut read: impl FnMut(&str) -> EnvFileContent) -> Environment {
        let mut environment = Environment::new();
        let prefix = self.name.rsplit_once('.').map_or(&*self.name, |(stem, _)| stem);
        environment.set_specifier('n', &self.name);
        environment.set_specifier('N', prefix);
        environment.set_specifier('p', prefix.split_once('@').map_or(prefix, |(stem, _)| stem));
        environment.set_specifier('i', prefix.split_once('@').map_or("", |(_, instance)| instance));
        for (specifier, folder) in SYSTEM_FOLDERS {
            environment.set_specifier(specifier, folder);
        }

        for setting in self.list("Service", "Environment") {
            for (at, assignment) in assignments(setting.value()) {
                let assignment = environment.expand_specifiers(&assignment, &mut Vec::new());
                if let Some((name, value)) = assignment.split_once('=')
                    && is_variable_name(name)
                {
                    environment.set(name, value, setting.place_of(at));
                }
            }
        }
        for setting in self.list("Service", "PassEnvironment") {
            for name in setting.value().split(is_blank_char) {
                environment.add_passed(name);
            }
        }
        for setting in self.list("Service", "EnvironmentFile") {
            let written = setting.value();
            let (optional, path) = match written.strip_prefix('-') {
                Some(path) => (true, path),
                None => (false, written),
            };
            let mut unresolved = Vec::new();
            let path = environment.expand_specifiers(path, &mut unresolved);
            if !unresolved.is_empty() || path.contains(['*', '?', '[']) {
                environment.add_unread(path);
                continue;
            }
            match read(&path) {
                EnvFileContent::Missing if optional => {}
                EnvFileContent::Missing => environment.add_missing(path),
                EnvFileContent::Unread => environment.add_unread(path),
                EnvFileContent::Text(text) => {
                    for entry in EnvFile::parse(&text).entries {
                        let place = Place {
                            path: path.clone(),
                            line: entry.line,
                            column: 1,
                        };
                        environment.set(entry.name, entry.value, place);
                    }
                }
            }
        }
        for setting in self.list("Service", "UnsetEnvironment") {
            for (_, name) in assignments(setting.value()) {
                environment.unset(&name);
            }
        }
        environment
    }
}

#[cfg(test)]
mod tests;
