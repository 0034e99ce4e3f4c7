//! Where the files of a unit may stand, and which of them count.

/// The directories that systemd's system manager searches for units, the one that counts most first.
pub const SEARCH_PATH: &[&str] = &[
    "/etc/systemd/system.control",
    "/run/systemd/system.control",
    "/run/systemd/transient",
    "/run/systemd/generator.early",
    "/etc/systemd/system",
    "/etc/systemd/system.attached",
    "/run/systemd/system",
    "/run/systemd/system.attached",
    "/run/systemd/generator",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
    "/lib/systemd/system",
    "/run/systemd/generator.late",
];

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Its bytes.
    Text(Vec<u8>),
    /// It is a link to `/dev/null`.
    Masked,
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Vec<u8>> for Content {
    fn from(text: Vec<u8>) -> Self {
        Self::Text(text)
    }
}

/// The unit files of a machine, as far as the caller collected them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitTree {
    search_path: Vec<String>,
    files: Vec<TreeFile>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct TreeFile {
    path: String,
    /// Index of the search directory.
    rank: usize,
    /// Directory below the search directory, empty for a fragment.
    directory: String,
    name: String,
    content: Content,
}

impl Default for UnitTree {
    fn default() -> Self {
        Self::new()
    }
}

impl UnitTree {
    /// An empty tree with systemd's own search path.
    pub fn new() -> Self {
        Self::with_search_path(SEARCH_PATH)
    }

    /// An empty tree with another search path, the directory that counts most first.
    pub fn with_search_path<S: AsRef<str>>(directories: &[S]) -> Self {
        Self {
            search_path: directories
                .iter()
                .map(|directory| directory.as_ref().trim_end_matches('/').to_owned())
                .collect(),
            files: Vec::new(),
        }
    }

    /// Adds a file by its absolute path. The answer is `false` for a file where systemd does not look.
    pub fn add(&mut self, path: impl Into<String>, content: impl Into<Content>) -> bool {
        let path = path.into();
        let place = self.search_path.iter().enumerate().find_map(|(rank, directory)| {
            let below = path.strip_prefix(directory.as_str())?.strip_prefix('/')?;
            let (directory, name) = below.split_once('/').unwrap_or(("", below));
            (!name.contains('/')).then(|| (rank, directory.to_owned(), name.to_owned()))
        });
        let Some((rank, directory, name)) = place else {
            return false;
        };
        self.files.push(TreeFile {
            path,
            rank,
            directory,
            name,
            content: content.into(),
        });
        true
    }

    /// The fragment that counts. An instance without one of its own uses its template's.
    pub(crate) fn fragment(&self, unit: &str) -> Option<(&str, &Content)> {
        let template = template_of(unit);
        std::iter::once(unit)
            .chain(template.as_deref())
            .find_map(|name| {
                self.files
                    .iter()
                    .filter(|file| file.directory.is_empty() && file.name == name)
                    .min_by_key(|file| file.rank)
            })
            .map(|file| (file.path.as_str(), &file.content))
    }

    /// The drop-ins that count, in order, without those that are masked.
    pub(crate) fn drop_ins(&self, unit: &str, without: &[&str]) -> Vec<(&str, &[u8])> {
        let names = drop_in_directories(unit);
        let type_level = names.len().saturating_sub(1);
        let mut found: Vec<(&TreeFile, (bool, usize, usize))> = self
            .files
            .iter()
            .filter(|file| has_conf_suffix(&file.name) && !without.contains(&file.name.as_str()))
            .filter_map(|file| {
                let level = names.iter().position(|name| *name == file.directory)?;
                // The unit's own directories count before those of its type, wherever they are.
                Some((file, (level == type_level, file.rank, level)))
            })
            .collect();
        found.sort_by(|(a, rank_a), (b, rank_b)| (&a.name, rank_a).cmp(&(&b.name, rank_b)));
        found.dedup_by(|(later, _), (earlier, _)| later.name == earlier.name);
        found
            .into_iter()
            .filter_map(|(file, _)| match &file.content {
                Content::Text(text) => Some((file.path.as_str(), text.as_slice())),
                Content::Masked => None,
            })
            .collect()
    }
}

/// The names of the drop-in directories of a unit, the one that counts most first: its own, its template's, those of
/// its dash-separated prefixes, and the one of its type.
pub fn drop_in_directories(unit: &str) -> Vec<String> {
    let mut names = Vec::new();
    collect_directories(unit, &mut names);
    if let Some((_, kind)) = unit.rsplit_once('.') {
        names.push(format!("{kind}.d"));
    }
    names
}

fn collect_directories(unit: &str, names: &mut Vec<String>) {
    let directory = format!("{unit}.d");
    if names.contains(&directory) {
        return;
    }
    names.push(directory);
    if let Some(template) = template_of(unit) {
        collect_directories(&template, names);
    }
    let Some((stem, kind)) = unit.rsplit_once('.') else {
        return;
    };
    let (prefix, instance) = match stem.split_once('@') {
        Some((prefix, instance)) => (prefix, format!("@{instance}")),
        None => (stem, String::new()),
    };
    // A prefix that already ends in a dash is cut at the dash before it.
    let Some((shorter, _)) = prefix.trim_end_matches('-').rsplit_once('-') else {
        return;
    };
    if !shorter.is_empty() {
        collect_directories(&format!("{shorter}-{instance}.{kind}"), names);
    }
}

fn template_of(unit: &str) -> Option<String> {
    let (stem, kind) = unit.rsplit_once('.')?;
    let (prefix, instance) = stem.split_once('@')?;
    (!instance.is_empty()).then(|| format!("{prefix}@.{kind}"))
}

fn has_conf_suffix(name: &str) -> bool {
    name.strip_suffix(".conf")
        .is_some_and(|stem| !stem.is_empty() && !stem.starts_with('.'))
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
