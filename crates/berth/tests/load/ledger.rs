//! What people wrote to Nodes by hand, and whether every version of a Node agrees with it.
//!
//! A write is in force from the version that the API server confirmed. Between its beginning and that version the Node may
//! have the old value or the new one.

use std::collections::{BTreeMap, HashMap};

/// A value, or the absence of the key.
type Value = Option<String>;

/// The writes to one key of one Node object.
#[derive(Debug, Default)]
struct Writes {
    /// Each with the version at which it was certainly in force; the oldest first.
    confirmed: Vec<(u64, Value)>,
    /// Begun, and not confirmed yet.
    pending: Option<Value>,
}

impl Writes {
    /// Whether the key may have this value in a version. Before the first write only somebody else's keys are free.
    fn allow(&self, version: u64, value: Option<&String>, is_ours: bool) -> bool {
        let next = self.confirmed.partition_point(|(from, _)| *from <= version);
        let following = self
            .confirmed
            .get(next)
            .map(|(_, value)| value)
            .or(self.pending.as_ref());
        let in_force = match next.checked_sub(1) {
            Some(index) => self.confirmed[index].1.as_ref() == value,
            None => !is_ours || value.is_none(),
        };
        in_force || following.is_some_and(|following| following.as_ref() == value)
    }
}

/// What people wrote, by the uid of the Node and the key.
#[derive(Debug, Default)]
pub(crate) struct Ledger(HashMap<String, BTreeMap<String, Writes>>);

impl Ledger {
    /// A write begins.
    pub(crate) fn begin(&mut self, uid: &str, key: &str, value: Value) {
        self.writes(uid, key).pending = Some(value);
    }

    /// The write that began last is in force since a version.
    pub(crate) fn confirm(&mut self, uid: &str, key: &str, version: u64) {
        let writes = self.writes(uid, key);
        if let Some(value) = writes.pending.take() {
            writes.confirmed.push((version, value));
        }
    }

    fn writes(&mut self, uid: &str, key: &str) -> &mut Writes {
        self.0
            .entry(uid.to_owned())
            .or_default()
            .entry(key.to_owned())
            .or_default()
    }

    /// The Node object is gone.
    pub(crate) fn forget(&mut self, uid: &str) {
        self.0.remove(uid);
    }

    /// The first key in which a version is not as people left it. `is_ours` says which keys are people's alone.
    pub(crate) fn problem(
        &self,
        uid: &str,
        version: u64,
        labels: &BTreeMap<String, String>,
        is_ours: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let none = BTreeMap::new();
        let written = self.0.get(uid).unwrap_or(&none);
        for (key, writes) in written {
            if !writes.allow(version, labels.get(key), is_ours(key)) {
                return Some(format!("{key} is {:?}, and people wrote {writes:?}", labels.get(key)));
            }
        }
        let stray = labels.keys().find(|key| is_ours(key) && !written.contains_key(*key));
        stray.map(|key| format!("nobody wrote {key} to this Node"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(ledger: &Ledger, version: u64, labels: &[(&str, &str)]) -> Option<String> {
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        ledger.problem("u1", version, &labels.collect(), |key| key.starts_with("mine/"))
    }

    #[test]
    fn what_people_wrote_holds_from_its_confirmation_to_their_next_write() {
        let mut ledger = Ledger::default();
        assert_eq!(problem(&ledger, 1, &[("other", "x")]), None);
        assert!(problem(&ledger, 1, &[("mine/a", "1")]).is_some(), "nobody wrote it");
        ledger.begin("u1", "mine/a", Some("1".to_owned()));
        for labels in [&[("mine/a", "1")][..], &[]] {
            assert_eq!(
                problem(&ledger, 5, labels),
                None,
                "nobody knows yet whether it was written"
            );
        }
        ledger.confirm("u1", "mine/a", 7);
        assert_eq!(problem(&ledger, 6, &[]), None, "a late event of an earlier version");
        assert_eq!(problem(&ledger, 7, &[("mine/a", "1")]), None);
        assert!(problem(&ledger, 7, &[]).is_some(), "removed");
        assert!(problem(&ledger, 8, &[("mine/a", "2")]).is_some(), "changed");
        ledger.begin("u1", "mine/a", None);
        ledger.confirm("u1", "mine/a", 20);
        assert_eq!(problem(&ledger, 19, &[("mine/a", "1")]), None);
        assert_eq!(problem(&ledger, 19, &[]), None);
        assert!(problem(&ledger, 19, &[("mine/a", "2")]).is_some(), "never written");
        assert!(problem(&ledger, 20, &[("mine/a", "1")]).is_some(), "it is back");
        ledger.forget("u1");
        assert_eq!(problem(&ledger, 21, &[]), None);
    }

    #[test]
    fn a_shared_key_is_free_until_people_write_it() {
        let mut ledger = Ledger::default();
        ledger.begin("u1", "shared", Some("mine".to_owned()));
        ledger.confirm("u1", "shared", 5);
        assert_eq!(problem(&ledger, 4, &[("shared", "declared")]), None);
        assert!(problem(&ledger, 5, &[("shared", "declared")]).is_some());
    }
}
