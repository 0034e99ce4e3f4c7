//! Names that were perhaps meant.

/// More than this many suggestions help nobody.
const MOST: usize = 3;

/// The candidates closest to what was typed, best first.
pub(crate) fn close_matches<'a>(
    typed: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Vec<&'a str> {
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

/// The number of single-character edits between two texts.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut costs: Vec<usize> = (0..=b.len()).collect();
    for (row, from) in a.chars().enumerate() {
        let mut diagonal = row;
        let mut left = row + 1;
        for (to, cost) in b.iter().zip(costs.iter_mut().skip(1)) {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = *cost;
            left = substituted.min(left + 1).min(*cost + 1);
            *cost = left;
        }
        if let Some(first) = costs.first_mut() {
            *first = row + 1;
        }
    }
    costs.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distance_is_levenshtein() {
        for (a, b, distance) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("node-1", "node-2", 1),
            ("flaw", "lawn", 2),
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
