//! Reads the figures out of what `cargo test` prints.

use std::ops::AddAssign;

/// Tests counted over all test binaries of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct TestTotals {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) ignored: u64,
    pub(crate) filtered: u64,
}

impl TestTotals {
    /// The figures of one `test result:` line; `None` for every other line.
    pub(crate) fn from_line(line: &str) -> Option<Self> {
        // After the prefix comes the verdict, `ok.` or `FAILED.`, then the figures.
        let (_, figures) = line.trim_end().strip_prefix("test result: ")?.split_once(". ")?;
        let mut totals = Self::default();
        for figure in figures.split("; ") {
            let Some((number, what)) = figure.split_once(' ') else {
                continue;
            };
            let field = match what {
                "passed" => &mut totals.passed,
                "failed" => &mut totals.failed,
                "ignored" => &mut totals.ignored,
                "filtered out" => &mut totals.filtered,
                _ => continue,
            };
            *field = number.parse().ok()?;
        }
        Some(totals)
    }
}

impl AddAssign for TestTotals {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.ignored += other.ignored;
        self.filtered += other.filtered;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_lines_are_summed_and_other_lines_are_not() {
        let output = "\
running 3 tests
test labels::a ... ok
test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.01s

test result: FAILED. 40 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s
the test result: ok. 9 passed; 0 failed
test result: nonsense
";
        let mut totals = TestTotals::default();
        for line in output.lines() {
            if let Some(result) = TestTotals::from_line(line) {
                totals += result;
            }
        }
        assert_eq!(
            totals,
            TestTotals {
                passed: 43,
                failed: 2,
                ignored: 1,
                filtered: 2
            }
        );
    }
}
