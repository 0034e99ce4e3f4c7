//! Which resources there are: those built in, and those that `CustomResourceDefinitions` bring.

mod builtin;
mod definition;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
};

use serde_json::Value;

use crate::{
    schema::{CompactTypes, Schema},
    table::Columns,
};

pub(crate) use definition::{check_definition, complete_definition};

/// The types of the kinds that are built in.
pub(crate) static TYPES: LazyLock<CompactTypes> = LazyLock::new(|| {
    CompactTypes::read(&[
        include_str!("../schemas/core.txt"),
        include_str!("../schemas/groups.txt"),
    ])
});

/// Where an `OpenAPI` document finds the schema of a kind.
#[derive(Clone, Debug)]
pub(crate) enum Described {
    /// In the types that are built in.
    Type(&'static str),
    /// In the definition.
    Inline(Value),
}

/// One version of a resource.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub(crate) name: String,
    pub(crate) schema: Arc<Schema>,
    pub(crate) described: Described,
    pub(crate) columns: Columns,
    pub(crate) status: bool,
    /// Told to everyone who uses the version.
    pub(crate) deprecated: Option<String>,
}

/// What counts as a change of what is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Generation {
    /// The kind has no generation.
    None,
    /// Everything but metadata and status.
    Counted,
}

/// One resource.
#[derive(Clone, Debug)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) singular: String,
    pub(crate) kind: String,
    pub(crate) list_kind: String,
    pub(crate) short_names: Vec<String>,
    pub(crate) categories: Vec<String>,
    pub(crate) namespaced: bool,
    /// The first is preferred.
    pub(crate) versions: Vec<Version>,
    pub(crate) storage_version: String,
    /// Beside `status`.
    pub(crate) subresources: &'static [(&'static str, &'static str, &'static str)],
    pub(crate) selectable: Vec<String>,
    pub(crate) generation: Generation,
    pub(crate) builtin: bool,
    /// A client may write without saying which revision it read.
    pub(crate) unconditional: bool,
    /// Under which resource the objects are kept.
    pub(crate) stored_as: Arc<str>,
}

impl Resource {
    /// The parts that every object of the kind has, whether it says so or not.
    pub(crate) fn parts(&self) -> &'static [&'static str] {
        if &*self.stored_as == "events" {
            &["metadata", "source", "deprecatedSource"]
        } else if self.builtin {
            &["metadata", "spec", "status"]
        } else {
            &["metadata"]
        }
    }

    /// The plural with its group, as messages name it.
    pub(crate) fn full_name(&self) -> String {
        if self.group.is_empty() {
            self.plural.clone()
        } else {
            format!("{}.{}", self.plural, self.group)
        }
    }

    /// `group/version`, or `version` for the core group.
    pub(crate) fn api_version(&self, version: &str) -> String {
        api_version(&self.group, version)
    }

    pub(crate) fn version(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|version| version.name == name)
    }
}

/// `group/version`, or `version` for the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// A resource in the version that was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Hit {
    pub(crate) resource: Arc<Resource>,
    index: usize,
}

impl Hit {
    pub(crate) fn version(&self) -> &Version {
        // The index was found in this very list, and the list does not change.
        &self.resource.versions[self.index]
    }

    pub(crate) fn api_version(&self) -> String {
        self.resource.api_version(&self.version().name)
    }
}

/// All resources.
#[derive(Clone, Debug)]
pub(crate) struct Registry {
    /// By group and plural.
    resources: BTreeMap<(String, String), Arc<Resource>>,
}

impl Registry {
    /// Those built in.
    pub(crate) fn builtin() -> Self {
        Self {
            resources: builtin::resources()
                .into_iter()
                .map(|resource| ((resource.group.clone(), resource.plural.clone()), Arc::new(resource)))
                .collect(),
        }
    }

    /// Those built in and those of the definitions, without the ones that are going away.
    pub(crate) fn with_definitions<'a>(&self, definitions: impl Iterator<Item = &'a Value>) -> Self {
        let mut resources: BTreeMap<_, _> = self
            .resources
            .iter()
            .filter(|(_, resource)| resource.builtin)
            .map(|(key, resource)| (key.clone(), Arc::clone(resource)))
            .collect();
        for definition in definitions {
            let resource = definition::resource(definition);
            resources
                .entry((resource.group.clone(), resource.plural.clone()))
                .or_insert_with(|| Arc::new(resource));
        }
        Self { resources }
    }

    /// The resource of a path.
    pub(crate) fn find(&self, group: &str, version: &str, plural: &str) -> Option<Hit> {
        let resource = self.resources.get(&(group.to_owned(), plural.to_owned()))?;
        let index = resource.versions.iter().position(|served| served.name == version)?;
        Some(Hit {
            resource: Arc::clone(resource),
            index,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.values()
    }

    /// The groups with their versions, the preferred one first. The core group has an empty name.
    pub(crate) fn groups(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for resource in self.resources.values() {
            let versions = groups.entry(&resource.group).or_default();
            for version in &resource.versions {
                if !versions.contains(&version.name.as_str()) {
                    versions.push(&version.name);
                }
            }
        }
        for versions in groups.values_mut() {
            versions.sort_by_key(|version| std::cmp::Reverse(version_rank(version)));
        }
        groups
    }
}

/// `v2` before `v1` before `v1beta1` before `v1alpha1` before names that are none of these.
pub(crate) fn version_rank(version: &str) -> (u8, u32, u32) {
    let parse = || {
        let rest = version.strip_prefix('v')?;
        for (word, stage) in [("alpha", 1), ("beta", 2)] {
            if let Some((major, minor)) = rest.split_once(word) {
                return Some((stage, major.parse().ok()?, minor.parse().ok()?));
            }
        }
        Some((3, rest.parse().ok()?, 0))
    };
    parse().unwrap_or((0, 0, 0))
}
