//! A review, read as far as its answer needs it: of a Node the metadata alone. What others send is never held as a whole
//! before it is known to be small.

use std::{collections::BTreeMap, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::Value;

use super::policy::{ANNOTATIONS, MOST_ENTRIES};

/// So many values an object may have that is judged by what it declares. Machine configs have some thousands, most of
/// them short; as values in memory each of them takes far more room than its text.
const MOST_VALUES: usize = 100_000;

/// A review.
#[derive(Clone, Debug, PartialEq)]
pub struct Review {
    pub(super) uid: String,
    /// Nothing will be done.
    pub(super) dry_run: bool,
    pub(super) subject: Subject,
}

/// What a review is about.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Subject {
    /// A Node that its kubelet creates or changes.
    Node(Box<NodeRequest>),
    /// A Berth or a rule, as it is to be and as it was.
    Own(Value, Option<Value>),
    /// A pool, a machine config or a kubelet config, as it is to be and as it was.
    Config(Value, Option<Value>),
    /// One of these that cannot be read, and why.
    Unreadable(String),
    /// Something else.
    Other,
}

/// What a kubelet wants of its Node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeRequest {
    pub(super) creates: bool,
    pub(super) name: String,
    /// `None` where the Node has no such map.
    pub(super) labels: Option<BTreeMap<String, String>>,
    pub(super) labels_before: BTreeMap<String, String>,
    /// What Berth notes on Nodes.
    pub(super) notes: BTreeMap<String, String>,
    pub(super) notes_before: BTreeMap<String, String>,
}

impl Review {
    /// Reads a review.
    pub fn read(body: &[u8]) -> Result<Self, serde_json::Error> {
        let Strict(Asked { request }) = serde_json::from_slice::<Strict<Asked<Head>>>(body)?;
        // The API server takes no answer that does not say what it answers.
        if request.uid.is_empty() {
            return Err(serde_json::Error::custom("request.uid is missing"));
        }
        let subject = match request.aspect() {
            None => Subject::Other,
            Some(Aspect::Node) => node(body, &request).unwrap_or_else(|error| Subject::Unreadable(error.to_string())),
            Some(_) if request.object.values() + request.old_object.values() > MOST_VALUES => {
                Subject::Unreadable(format!("it has more than {MOST_VALUES} values"))
            }
            Some(aspect) => {
                let Objects { object, old_object } =
                    serde_json::from_slice::<Strict<Asked<Objects<Value>>>>(body)?.0.request;
                let object = object.unwrap_or_default();
                let before = old_object.filter(Value::is_object);
                match aspect {
                    Aspect::Config => Subject::Config(object, before),
                    _ => Subject::Own(object, before),
                }
            }
        };
        Ok(Self {
            uid: request.uid,
            dry_run: request.dry_run.unwrap_or_default(),
            subject,
        })
    }

    /// The name of the Node that a kubelet creates.
    pub(super) fn creates(&self) -> Option<&str> {
        match &self.subject {
            Subject::Node(node) if node.creates => Some(&node.name),
            _ => None,
        }
    }

    /// The name of the Node that it is about.
    pub(super) fn node(&self) -> Option<&str> {
        match &self.subject {
            Subject::Node(node) => Some(&node.name),
            _ => None,
        }
    }
}

fn node(body: &[u8], head: &Head) -> Result<Subject, serde_json::Error> {
    let Objects { object, old_object } = serde_json::from_slice::<Strict<Asked<Objects<Strict<Named>>>>>(body)?
        .0
        .request;
    let Some(Strict(Named { metadata })) = object else {
        return Ok(Subject::Other);
    };
    let before = old_object.unwrap_or_default().0.metadata;
    Ok(Subject::Node(Box::new(NodeRequest {
        creates: head.operation == "CREATE",
        name: metadata.name,
        labels: metadata.labels.map(|labels| labels.0),
        labels_before: before.labels.unwrap_or_default().0,
        notes: metadata.annotations.unwrap_or_default().0,
        notes_before: before.annotations.unwrap_or_default().0,
    })))
}

/// What is an object: the reader of a type alone would take a list for it too, field by field.
#[derive(Default)]
struct Strict<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Strict<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData)).map(Self)
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

fn strict<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Strict::deserialize(deserializer).map(|Strict(object)| object)
}

#[derive(Deserialize)]
#[serde(bound = "T: Default + Deserialize<'de>")]
struct Asked<T> {
    #[serde(default, deserialize_with = "strict")]
    request: T,
}

/// What says what a review is about.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Head {
    uid: String,
    #[serde(deserialize_with = "strict")]
    kind: Kind,
    operation: String,
    #[serde(deserialize_with = "strict")]
    user_info: User,
    dry_run: Option<bool>,
    object: Counted,
    old_object: Counted,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Kind {
    group: String,
    kind: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    groups: Option<Vec<String>>,
}

#[derive(Clone, Copy)]
enum Aspect {
    Node,
    Own,
    Config,
}

impl Head {
    fn aspect(&self) -> Option<Aspect> {
        let kubelet = || {
            self.user_info
                .groups
                .iter()
                .flatten()
                .any(|group| group == "system:nodes")
        };
        if self.operation == "DELETE" {
            return None;
        }
        match (self.kind.group.as_str(), self.kind.kind.as_str()) {
            ("", "Node") if kubelet() => Some(Aspect::Node),
            ("berth.dev", "Berth" | "LabelRule") => Some(Aspect::Own),
            ("machineconfiguration.openshift.io", "MachineConfig" | "KubeletConfig" | "MachineConfigPool") => {
                Some(Aspect::Config)
            }
            _ => None,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Objects<T> {
    object: Option<T>,
    old_object: Option<T>,
}

#[derive(Default, Deserialize)]
struct Named {
    #[serde(default, deserialize_with = "strict")]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
    labels: Option<Texts<AllLabels>>,
    annotations: Option<Texts<OwnNotes>>,
}

/// Which entries of a map are kept.
trait Keeps {
    fn keeps(key: &str) -> bool;
}

struct AllLabels;

impl Keeps for AllLabels {
    fn keeps(_: &str) -> bool {
        true
    }
}

struct OwnNotes;

impl Keeps for OwnNotes {
    fn keeps(key: &str) -> bool {
        key.starts_with(ANNOTATIONS)
    }
}

/// A map of texts, of which only some are kept.
struct Texts<K>(BTreeMap<String, String>, PhantomData<K>);

impl<K> Default for Texts<K> {
    fn default() -> Self {
        Self(BTreeMap::new(), PhantomData)
    }
}

impl<'de, K: Keeps> Deserialize<'de> for Texts<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TextsVisitor(PhantomData))
    }
}

struct TextsVisitor<K>(PhantomData<K>);

impl<'de, K: Keeps> Visitor<'de> for TextsVisitor<K> {
    type Value = Texts<K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut texts = BTreeMap::new();
        let mut entries = 0;
        while let Some(key) = map.next_key::<String>()? {
            entries += 1;
            if entries > MOST_ENTRIES {
                return Err(A::Error::custom(format_args!("more than {MOST_ENTRIES} entries")));
            }
            if K::keeps(&key) {
                texts.insert(key, map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Texts(texts, PhantomData))
    }
}

/// How many values an object has; none of them is kept.
#[derive(Clone, Copy, Default)]
struct Counted(usize);

impl Counted {
    fn values(self) -> usize {
        self.0
    }
}

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut count = 0;
        Counting(&mut count).deserialize(deserializer)?;
        Ok(Self(count))
    }
}

struct Counting<'a>(&'a mut usize);

impl<'de> DeserializeSeed<'de> for Counting<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        *self.0 += 1;
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counting<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq.next_element_seed(Counting(self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_key::<IgnoredAny>()?.is_some() {
            map.next_value_seed(Counting(self.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
