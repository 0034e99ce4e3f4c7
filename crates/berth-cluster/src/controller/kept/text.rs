//! Texts that are held once, however many objects say them.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use berth_pools::NodeLabelView;
use berth_resources::MachineObject;

/// A text that may be shared.
pub(in crate::controller) type Text = Arc<str>;

/// The texts that are held now, and perhaps some that nobody holds any more. It is the process's: who holds a text does not
/// matter to anybody, as with memory itself.
static TEXTS: LazyLock<Mutex<Texts>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Texts {
    all: HashSet<Text>,
    /// With so many it is time to let go of those that nobody holds.
    enough: usize,
}

/// Before there are so many texts, nobody looks for those that are not held any more.
const FEW: usize = 1024;

impl Texts {
    fn share(&mut self, said: &str) -> Text {
        if let Some(known) = self.all.get(said) {
            return known.clone();
        }
        if self.all.len() >= self.enough {
            self.all.retain(|text| Arc::strong_count(text) > 1);
            self.all.shrink_to(FEW);
            self.enough = FEW.max(self.all.len() * 2);
        }
        let text = Text::from(said);
        self.all.insert(text.clone());
        text
    }
}

/// The text, shared with all who say the same.
pub(in crate::controller) fn text(said: &str) -> Text {
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner).share(said)
}

pub(super) fn optional(said: Option<&String>) -> Option<Text> {
    said.map(|said| text(said))
}

pub(super) fn plain(text: Option<&Text>) -> Option<String> {
    text.map(ToString::to_string)
}

pub(super) fn all<'a>(said: impl IntoIterator<Item = &'a String>) -> Box<[Text]> {
    said.into_iter().map(|said| text(said)).collect()
}

pub(super) fn plain_all(texts: &[Text]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

/// A map of texts, in the order of its keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::controller) struct Pairs(Box<[(Text, Text)]>);

impl Pairs {
    pub(in crate::controller) fn get(&self, key: &str) -> Option<&str> {
        let place = self.0.binary_search_by(|(known, _)| (**known).cmp(key)).ok()?;
        self.0.get(place).map(|(_, value)| &**value)
    }

    pub(in crate::controller) fn len(&self) -> usize {
        self.0.len()
    }

    pub(in crate::controller) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (&**key, &**value))
    }

    pub(super) fn map(&self) -> BTreeMap<String, String> {
        let pairs = self.iter();
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// A map that is left out where it is empty.
    pub(super) fn optional_map(&self) -> Option<BTreeMap<String, String>> {
        (!self.0.is_empty()).then(|| self.map())
    }
}

// The pairs come in the order of a `BTreeMap`, which the search relies on.
impl From<&BTreeMap<String, String>> for Pairs {
    fn from(map: &BTreeMap<String, String>) -> Self {
        Self(map.iter().map(|(key, value)| (text(key), text(value))).collect())
    }
}

impl NodeLabelView for Pairs {
    fn value(&self, key: &str) -> Option<&str> {
        self.get(key)
    }

    fn keys(&self) -> impl Iterator<Item = &str> {
        self.iter().map(|(key, _)| key)
    }
}

/// An object that stands for a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptObject {
    group: Text,
    kind: Text,
    namespace: Text,
    name: Text,
}

impl From<&MachineObject> for KeptObject {
    fn from(object: &MachineObject) -> Self {
        let MachineObject {
            group,
            kind,
            namespace,
            name,
        } = object;
        Self {
            group: text(group),
            kind: text(kind),
            namespace: text(namespace),
            name: text(name),
        }
    }
}

impl From<&KeptObject> for MachineObject {
    fn from(kept: &KeptObject) -> Self {
        Self {
            group: kept.group.to_string(),
            kind: kept.kind.to_string(),
            namespace: kept.namespace.to_string(),
            name: kept.name.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_held_once_and_let_go_of() {
        let mut texts = Texts::default();
        let kept = texts.share("worker");
        assert!(Arc::ptr_eq(&kept, &texts.share("worker")));
        for round in 0..10 * FEW {
            texts.share(&format!("rendered-{round}"));
        }
        assert!(texts.all.len() <= FEW + 1, "{}", texts.all.len());
        assert!(Arc::ptr_eq(&kept, &texts.share("worker")), "it is still held");
    }

    #[test]
    fn pairs_are_found_as_in_a_map() {
        let map: BTreeMap<String, String> = ["zone", "", "a/b", "role"]
            .into_iter()
            .map(|key| (key.to_owned(), format!("of {key}")))
            .collect();
        let pairs = Pairs::from(&map);
        for key in ["", "a", "a/b", "role", "rolf", "zone", "zones"] {
            assert_eq!(pairs.get(key), map.get(key).map(String::as_str), "{key:?}");
        }
        assert_eq!(pairs.map(), map);
        assert_eq!((pairs.len(), Pairs::default().optional_map()), (4, None));
    }
}
