//! "Did you mean": the nearest of some known names.

/// The known name nearest to `given`, if it is near enough to be a likely slip.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let limit = (given.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|name| (distance(given, name), name))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein distance over characters, letter case ignored: a wrong case is the commonest slip of all.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().flat_map(char::to_lowercase).collect();
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut diagonal = i;
        let mut last = i + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(&right) {
            let substituted = diagonal + usize::from(a != b);
            diagonal = *cell;
            last = substituted.min(diagonal + 1).min(last + 1);
            *cell = last;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_edits() {
        for (a, b, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("infra", "infar", 2),
            ("infra", "infr", 1),
            ("kitten", "sitting", 3),
            ("Infra", "infra", 0),
        ] {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }

    #[test]
    fn only_likely_slips_are_suggested() {
        let pools = ["master", "worker", "infra"];
        assert_eq!(nearest("worke", pools), Some("worker"));
        assert_eq!(nearest("storage", pools), None);
    }
}
