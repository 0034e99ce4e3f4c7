//! Names that were perhaps meant.

/// More than this many suggestions help nobody.
const MOST: usize = 3;

/// The candidates closest to what was typed, best first.
pub(crate) fn close_matches<'a>(typed: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // One slip in three characters is still recognisable; more is another word.
    let allowed = (typed.chars().count() / 3).max(1);
    let mut close: Vec<(usize, &str)> = candidates
        .into_iter()
        .filter_map(|candidate| {
            let distance = edits(typed, candidate);
            let contained = typed.len() >= 3 && candidate.contains(typed);
            (distance <= allowed || contained).then_some((distance, candidate))
        })
        .collect();
    close.sort_unstable();
    close.dedup();
    close.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// The number of slips between two texts: a character too many, missing, wrong, or swapped with its neighbour.
fn edits(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.iter().enumerate() {
        let at = |costs: &[usize], column: usize| costs.get(column).copied().unwrap_or_default();
        let mut costs = vec![row + 1];
        for (column, to) in b.iter().enumerate() {
            let mut cost = (at(&above, column) + usize::from(from != to))
                .min(at(&above, column + 1) + 1)
                .min(at(&costs, column) + 1);
            let swapped = row > 0 && column > 0 && a.get(row - 1) == Some(to) && b.get(column - 1) == Some(from);
            if swapped {
                cost = cost.min(at(&before, column - 1) + 1);
            }
            costs.push(cost);
        }
        before = std::mem::replace(&mut above, costs);
    }
    above.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_counted() {
        for (a, b, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("node-1", "node-2", 1),
            ("flaw", "lawn", 2),
            ("teir", "tier", 1),
        ] {
            assert_eq!(edits(a, b), distance, "{a} {b}");
            assert_eq!(edits(b, a), distance, "{b} {a}");
        }
    }

    #[test]
    fn close_names_come_first_and_far_ones_not_at_all() {
        let names = ["rack1-worker-01", "rack1-worker-02", "master-0"];
        assert_eq!(
            close_matches("rack1-worker-2", names),
            ["rack1-worker-02", "rack1-worker-01"]
        );
        assert_eq!(close_matches("zzz", names), [""; 0]);
        assert_eq!(close_matches("master", names), ["master-0"]);
    }
}
