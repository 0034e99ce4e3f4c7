use serde_json::json;

use super::*;

fn place(name: &str) -> Place {
    Place::new("", name)
}

fn object(value: u64) -> Value {
    json!({"value": value})
}

fn names(snapshot: &Snapshot) -> Vec<(&str, u64)> {
    snapshot
        .objects
        .iter()
        .map(|(place, object)| (place.name.as_str(), object["value"].as_u64().unwrap()))
        .collect()
}

#[test]
fn writes_are_checked_against_the_revision() {
    let mut storage = Storage::new(10);
    let change = storage.put("a", place("x"), Expect::Absent, object(1)).unwrap();
    assert_eq!(change.shown["metadata"]["resourceVersion"], change.revision.to_string());
    let exists = storage.put("a", place("x"), Expect::Absent, object(2));
    assert_eq!(exists.unwrap_err(), CommitError::Exists);
    let old = storage.put("a", place("x"), Expect::Revision(change.revision - 1), object(2));
    assert_eq!(old.unwrap_err(), CommitError::Changed);
    let gone = storage.remove("a", place("y"), change.revision, object(0));
    assert_eq!(gone.unwrap_err(), CommitError::Missing);
    storage.remove("a", place("x"), change.revision, object(1)).unwrap();
    assert!(storage.get("a", &place("x")).is_none());
}

#[test]
fn the_past_can_be_listed_as_long_as_it_is_remembered() {
    let mut storage = Storage::new(3);
    let first = storage
        .put("a", place("x"), Expect::Absent, object(1))
        .unwrap()
        .revision;
    let second = storage
        .put("a", place("y"), Expect::Absent, object(2))
        .unwrap()
        .revision;
    storage
        .put("a", place("x"), Expect::Revision(first), object(3))
        .unwrap();
    storage.remove("a", place("y"), second, object(2)).unwrap();
    assert_eq!(names(&storage.list("a", None)), [("x", 3)]);
    assert_eq!(
        names(&storage.list_at("a", None, second).unwrap()),
        [("x", 1), ("y", 2)]
    );
    assert_eq!(names(&storage.list_at("a", None, first).unwrap()), [("x", 1)]);
    let before = storage.list_at("a", None, first - 1).unwrap_err();
    assert!(matches!(before, RevisionError::TooOld { .. }), "{before}");
    let later = storage.list_at("a", None, 1_000).unwrap_err();
    assert!(matches!(later, RevisionError::TooLarge { .. }), "{later}");
}

#[test]
fn compaction_forgets_for_every_resource() {
    let mut storage = Storage::new(10);
    let start = storage.revision();
    storage.put("a", place("x"), Expect::Absent, object(1)).unwrap();
    assert_eq!(storage.changes_after("a", start).unwrap().len(), 1);
    storage.compact();
    assert!(storage.changes_after("a", start).is_err());
    assert!(storage.changes_after("b", start).is_err());
    assert_eq!(storage.changes_after("a", storage.revision()).unwrap().len(), 0);
}

#[test]
fn an_earlier_life_is_there_again_but_its_watches_are_not() {
    let kept = [(
        "a".to_owned(),
        place("x"),
        json!({"metadata": {"resourceVersion": "41"}, "value": 1}),
    )];
    let storage = Storage::restore(10, 50, kept);
    assert!(storage.revision() > 50);
    assert_eq!(names(&storage.list("a", None)), [("x", 1)]);
    assert!(storage.changes_after("a", 50).is_err());
    assert!(storage.changes_after("other", 50).is_err());
}

#[test]
fn namespaces_are_apart() {
    let mut storage = Storage::new(10);
    for (namespace, name) in [("a", "x"), ("ab", "y"), ("b", "z")] {
        storage
            .put("r", Place::new(namespace, name), Expect::Absent, object(1))
            .unwrap();
    }
    assert_eq!(names(&storage.list("r", Some("a"))), [("x", 1)]);
    assert_eq!(names(&storage.list("r", None)), [("x", 1), ("y", 1), ("z", 1)]);
}
