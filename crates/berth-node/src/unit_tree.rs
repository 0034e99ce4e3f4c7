//! Collects the files that make up the kubelet's unit, as systemd would find them.

use std::{ffi::OsStr, path::Path};

use berth_units::{Content, EffectiveUnit, SEARCH_PATH, UnitTree, drop_in_directories};

use crate::root::{Entry, Found, Root, is_missing};

/// The unit that labels are added to.
pub(crate) const UNIT: &str = "kubelet.service";

/// Where generators write. What is there is from an earlier run of this very program, or of one that runs at the same
/// time; neither can be built on.
const GENERATED: &[&str] = &[
    "/run/systemd/generator.early",
    "/run/systemd/generator",
    "/run/systemd/generator.late",
];

/// The directory that systemd reads what is generated from. Places in front of it in the search path hide its files.
const NORMAL: &str = "/run/systemd/generator";

/// The kubelet's unit and what was odd while reading it.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) unit: EffectiveUnit,
    pub(crate) problems: Vec<String>,
    /// Files of the unit that could not be read. What they say is not known, so the unit is not known either.
    pub(crate) unread: Vec<String>,
}

/// Reads the unit. Drop-ins of its other names count too, as they do for systemd.
pub(crate) fn collect(root: &Root) -> Collected {
    let mut collector = Collector {
        root,
        tree: UnitTree::new(),
        problems: Vec::new(),
        unread: Vec::new(),
    };
    let names = collector.fragment();
    let main = names.last().map_or(UNIT, String::as_str);
    let mut all = collector.aliases(main);
    all.extend(names.iter().cloned());
    all.sort_unstable();
    all.dedup();
    for name in all.iter().filter(|name| *name != main) {
        collector.drop_ins(name, main);
    }
    collector.drop_ins(main, main);
    Collected {
        unit: EffectiveUnit::load(&collector.tree, main),
        problems: collector.problems,
        unread: collector.unread,
    }
}

/// The file that hides a generated drop-in of this name.
pub(crate) fn hiding(root: &Root, file_name: &str) -> Option<String> {
    SEARCH_PATH
        .iter()
        .take_while(|directory| **directory != NORMAL)
        .filter(|directory| !GENERATED.contains(directory))
        .map(|directory| format!("{directory}/{UNIT}.d/{file_name}"))
        .find(|path| !matches!(root.link(path), Err(error) if is_missing(&error)))
}

struct Collector<'a> {
    root: &'a Root,
    tree: UnitTree,
    problems: Vec<String>,
    unread: Vec<String>,
}

impl Collector<'_> {
    /// Adds the fragment that counts. The answer is the names it was found by, the unit's real name last.
    fn fragment(&mut self) -> Vec<String> {
        let mut names = vec![UNIT.to_owned()];
        'name: while let Some(name) = names.last().cloned() {
            for directory in directories() {
                let path = format!("{directory}/{name}");
                match self.alias(&path) {
                    Some(other) if names.contains(&other) => {
                        self.problems.push(format!("{path}: the unit is a link to itself"));
                        return names;
                    }
                    Some(other) => {
                        names.push(other);
                        continue 'name;
                    }
                    None => {}
                }
                if let Some(content) = self.content(&path) {
                    self.tree.add(path, content);
                    return names;
                }
            }
            return names;
        }
        names
    }

    /// The other unit name that a link stands for. A link to a file outside the search path, or to the same name, is the
    /// unit itself.
    fn alias(&self, path: &str) -> Option<String> {
        let target = self.root.link(path).ok()??;
        let (directory, name) = target.rsplit_once('/')?;
        let own = path.rsplit_once('/')?.1;
        (SEARCH_PATH.contains(&directory) && name != own).then(|| name.to_owned())
    }

    /// Names that are links to the unit.
    fn aliases(&mut self, main: &str) -> Vec<String> {
        let mut names = Vec::new();
        for directory in directories() {
            for entry in self.list(directory) {
                if entry.is_link
                    && entry.name.ends_with(".service")
                    && self.alias(&format!("{directory}/{}", entry.name)).as_deref() == Some(main)
                {
                    names.push(entry.name);
                }
            }
        }
        names
    }

    /// Adds the drop-ins of one of the unit's names, as if they stood in the directory of its real name.
    fn drop_ins(&mut self, name: &str, main: &str) {
        for directory in directories() {
            for below in drop_in_directories(name) {
                let shown = if name == main {
                    below.clone()
                } else {
                    format!("{main}.d")
                };
                if name != main && below == "service.d" {
                    continue;
                }
                for entry in self.list(&format!("{directory}/{below}")) {
                    if Path::new(&entry.name).extension() != Some(OsStr::new("conf")) {
                        continue;
                    }
                    if !entry.is_utf8 {
                        let path = format!("{directory}/{below}/{}", entry.name);
                        self.unread.push(format!("{path}: its name is not UTF-8"));
                        continue;
                    }
                    if let Some(content) = self.content(&format!("{directory}/{below}/{}", entry.name)) {
                        self.tree.add(format!("{directory}/{shown}/{}", entry.name), content);
                    }
                }
            }
        }
    }

    fn list(&mut self, directory: &str) -> Vec<Entry> {
        self.root.list(directory).unwrap_or_else(|error| {
            self.unread.push(format!("{directory}: cannot be read: {error}"));
            Vec::new()
        })
    }

    fn content(&mut self, path: &str) -> Option<Content> {
        // An image has no devices, so the link itself tells.
        if let Ok(Some(target)) = self.root.link(path)
            && target == "/dev/null"
        {
            return Some(Content::Masked);
        }
        match self.root.read(path) {
            Ok(Found::Text(text)) if std::str::from_utf8(&text).is_err() => {
                self.unread.push(format!("{path}: it is not UTF-8"));
                None
            }
            Ok(Found::Text(text)) => Some(Content::Text(text)),
            Ok(Found::Device) => Some(Content::Masked),
            Err(error) if is_missing(&error) => None,
            Err(error) => {
                self.unread.push(format!("{path}: cannot be read: {error}"));
                None
            }
        }
    }
}

fn directories() -> impl Iterator<Item = &'static str> {
    SEARCH_PATH
        .iter()
        .copied()
        .filter(|directory| !GENERATED.contains(directory))
}
