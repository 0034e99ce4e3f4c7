//! "Did you mean": the nearest of some known names.

/// More than this many suggestions help nobody.
const MOST: usize = 3;

/// The known name nearest to `given`, if it is near enough to be a likely slip.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = allowed(given);
    known
        .into_iter()
        .filter_map(|name| Some((distance(given, name, allowed)?, name)))
        .min()
        .map(|(_, name)| name)
}

/// The known names closest to what was typed, best first. Names that contain it count too: people type the part they
/// remember.
pub fn close_matches<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let allowed = allowed(typed);
    let close = |name: &'a str| {
        let contained = typed.len() >= 3 && name.contains(typed);
        let most = if contained { usize::MAX } else { allowed };
        Some((distance(typed, name, most)?, name))
    };
    let mut matches: Vec<(usize, &str)> = known.into_iter().filter_map(close).collect();
    matches.sort_unstable();
    matches.dedup();
    matches.into_iter().take(MOST).map(|(_, name)| name).collect()
}

/// One slip in three characters is still recognisable; more is another word.
fn allowed(given: &str) -> usize {
    (given.chars().count() / 3).clamp(1, 3)
}

/// Edits between two words: letters inserted, left out, replaced or swapped with their neighbour. Letter case is ignored,
/// for a wrong case is the commonest slip of all. Words that are more than `most` edits apart are given up as soon as that is
/// clear, because long ones would take the square of their length.
fn distance(left: &str, right: &str, most: usize) -> Option<usize> {
    let left: Vec<char> = left.chars().flat_map(char::to_lowercase).collect();
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    if left.len().abs_diff(right.len()) > most {
        return None;
    }
    let mut rows: [Vec<usize>; 3] = [Vec::new(), Vec::new(), (0..=right.len()).collect()];
    for (i, a) in left.iter().enumerate() {
        rows.rotate_left(1);
        let [before, above, row] = &mut rows;
        row.clear();
        row.push(i + 1);
        for (j, b) in right.iter().enumerate() {
            let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX - 1);
            let mut best = (at(above, j) + usize::from(a != b))
                .min(at(above, j + 1) + 1)
                .min(at(row, j) + 1);
            let swapped = i > 0 && j > 0 && left.get(i - 1) == Some(b) && right.get(j - 1) == Some(a);
            if swapped {
                best = best.min(at(before, j - 1) + 1);
            }
            row.push(best);
        }
        if above.iter().chain(row.iter()).all(|edits| *edits > most) {
            return None;
        }
    }
    let [_, _, last] = rows;
    last.last().copied().filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("infra", "infar", 1),
            ("infra", "infr", 1),
            ("kitten", "sitting", 3),
            ("Infra", "infra", 0),
        ] {
            assert_eq!(distance(a, b, usize::MAX), Some(expected), "{a} {b}");
            assert_eq!(distance(a, b, expected), Some(expected), "{a} {b}");
            if expected > 0 {
                assert_eq!(distance(a, b, expected - 1), None, "{a} {b}");
            }
        }
    }

    #[test]
    fn only_likely_slips_are_suggested() {
        let pools = ["master", "worker", "infra"];
        assert_eq!(nearest("worke", pools), Some("worker"));
        assert_eq!(nearest("infar", pools), Some("infra"));
        assert_eq!(nearest("storage", pools), None);
        assert_eq!(close_matches("work", pools), ["worker"]);
        assert_eq!(
            close_matches("node-1", ["node-3", "node-2", "node-9", "node-10", "rack-1"]),
            ["node-10", "node-2", "node-3"]
        );
    }
}
