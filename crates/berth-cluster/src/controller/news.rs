//! What a watch shows, compared with what is known: which of it is news.

use std::collections::HashSet;

use berth_decide::pools::{ConfigView, PoolView, SettingView, TemplateView};

/// Something with a name of its own.
pub(super) trait Named {
    fn name(&self) -> &str;
}

/// One version of an object.
pub(super) trait Versioned: Named {
    fn uid(&self) -> &str;
    fn version(&self) -> &str;

    /// Whether this is the very object, whatever its version. One that is made anew is another one.
    fn is_same(&self, other: &impl Versioned) -> bool {
        self.uid() == other.uid()
    }

    /// Whether this is a version of the object from before. A watch and the answers to writes are not in order.
    fn is_outdated_by(&self, known: &impl Versioned) -> bool {
        self.is_same(known) && is_older(self.version(), known.version())
    }
}

/// Those of the known names that a whole list does not have: their objects are gone.
pub(super) fn lacking<'a, K: AsRef<str> + Clone + 'a, T: Named>(
    known: impl Iterator<Item = &'a K>,
    all: &[T],
) -> Vec<K> {
    let names: HashSet<&str> = all.iter().map(Named::name).collect();
    known
        .filter(|name| !names.contains((*name).as_ref()))
        .cloned()
        .collect()
}

/// Compares two versions of one object. Kubernetes compares them as numbers too; what is not a number is never older.
pub(crate) fn is_older(version: &str, than: &str) -> bool {
    match (version.parse::<u128>(), than.parse::<u128>()) {
        (Ok(version), Ok(than)) => version < than,
        _ => false,
    }
}

impl Named for PoolView {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Versioned for PoolView {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn version(&self) -> &str {
        &self.resource_version
    }
}

impl Named for SettingView {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Versioned for SettingView {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn version(&self) -> &str {
        &self.resource_version
    }
}

impl Named for TemplateView {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Versioned for TemplateView {
    fn uid(&self) -> &str {
        &self.uid
    }

    fn version(&self) -> &str {
        &self.resource_version
    }
}

impl Named for ConfigView {
    fn name(&self) -> &str {
        match self {
            Self::Input(config) => &config.name,
            Self::Rendered(config) => &config.name,
        }
    }
}

impl<T: Named> Named for Box<T> {
    fn name(&self) -> &str {
        T::name(self)
    }
}

#[cfg(test)]
mod tests {
    use berth_decide::NodeView;

    use super::{super::kept::KeptNode, *};

    fn node(uid: &str, version: &str) -> KeptNode {
        KeptNode::from(NodeView {
            name: "w1".to_owned(),
            uid: uid.to_owned(),
            resource_version: version.to_owned(),
            ..NodeView::default()
        })
    }

    #[test]
    fn versions_of_one_object_are_compared_as_numbers() {
        let known = node("a", "10");
        for (seen, outdated) in [
            (node("a", "9"), true),
            (node("a", "10"), false),
            (node("a", "11"), false),
            (node("b", "9"), false),
            (node("a", "unknown"), false),
        ] {
            assert_eq!(seen.is_outdated_by(&known), outdated, "{seen:?}");
        }
    }

    #[test]
    fn what_a_list_lacks_is_gone() {
        let known = ["w1".to_owned(), "w2".to_owned()];
        assert_eq!(lacking(known.iter(), &[node("a", "1")]), ["w2"]);
    }
}
