//! Ranges of revisions, filed so that the ranges around one revision are found without looking at others.
//!
//! Each row holds from `valid_from` on and, once it is replaced, until just before `valid_to`. Rows that still hold are
//! found by `valid_from` alone: each of them that began in time is an answer. A row that ended is filed under its *fork*,
//! the number in its range that is divisible by the highest power of two. Seen as nodes of a binary tree over all
//! revisions, the forks of all ranges around a revision lie on the way from the root to that revision. So a read looks
//! at some 14 nodes for 10,000 revisions, and at each node an index gives answers only: at nodes before the revision the
//! ranges that end after it, at nodes after it the ranges that begin before it.
//!
//! This is the relational interval tree of Kriegel, Pötke and Seidl (2000).

/// The node under which the revisions `first..=last` are filed. Both are at least 1 and in order.
pub(crate) const fn fork(first: i64, last: i64) -> i64 {
    // The highest bit that changes on the way from first - 1 to last is the level of the node.
    let changed = (first - 1) ^ last;
    let level = 63_u32.saturating_sub(changed.leading_zeros());
    (last >> level) << level
}

/// The nodes that can have a range around a revision.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Nodes {
    /// Not after the revision: their ranges hold if they end after it.
    pub(crate) before: Vec<i64>,
    /// After the revision: their ranges hold if they begin not after it.
    pub(crate) after: Vec<i64>,
}

/// The nodes for a revision of at least 1, where no range goes beyond `latest`.
pub(crate) fn nodes(revision: i64, latest: i64) -> Nodes {
    let mut nodes = Nodes::default();
    nodes.before.push(revision);
    for level in revision.trailing_zeros() + 1..62 {
        let step = 1_i64 << level;
        if step > latest {
            break;
        }
        let node = (revision >> level) << level | step;
        if revision & step == 0 {
            nodes.after.push(node);
        } else {
            nodes.before.push(node);
        }
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fork_has_the_most_trailing_zeros_of_its_range() {
        for first in 1..70_i64 {
            for last in first..70 {
                let best = (first..=last).max_by_key(|number| number.trailing_zeros()).unwrap();
                assert_eq!(fork(first, last), best, "{first}..={last}");
            }
        }
    }

    #[test]
    fn the_nodes_of_a_revision_find_exactly_the_ranges_around_it() {
        let latest = 40;
        for revision in 1..=latest {
            let nodes = nodes(revision, latest);
            for first in 1..latest {
                for last in first..latest {
                    let node = fork(first, last);
                    let found = nodes.before.contains(&node) && last + 1 > revision
                        || nodes.after.contains(&node) && first <= revision;
                    assert_eq!(
                        found,
                        (first..=last).contains(&revision),
                        "{revision} in {first}..={last}"
                    );
                }
            }
        }
    }

    #[test]
    fn few_nodes_are_looked_at() {
        for revision in [1, 10, 4095, 4096, 10_000] {
            let nodes = nodes(revision, 10_000);
            assert!(nodes.before.len() + nodes.after.len() <= 14, "{nodes:?}");
        }
    }
}
