//! Regular expressions that documents bring along, within a budget.
//!
//! Most patterns run in time linear in the text. Those with lookaround or backreferences do not, and a short pattern on a
//! short text can run for ever. So every match costs steps of a budget, which is one for a whole rendering or validation:
//! what a match takes at most is found by trying with few steps first.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use fancy_regex::{Captures, Error, Regex, RegexBuilder, RuntimeError};

/// How many steps of backtracking one match may take, tried in this order.
const STEPS: [usize; 4] = [100, 5000, 100_000, 1_000_000];

/// How many steps all matches of one rendering or validation may take. A step is some nanoseconds.
const ALL_STEPS: u64 = 10_000_000;

/// How large a compiled pattern may be, in bytes, tried in this order.
const SIZES: [usize; 3] = [64 << 10, 1 << 20, 10 << 20];

/// How large all patterns that are kept may be together, in bytes.
const ALL_SIZES: usize = 64 << 20;

/// The steps that are left.
#[derive(Debug)]
pub(crate) struct Steps {
    left: AtomicU64,
}

/// Why a match was not looked for to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    /// One match took too long.
    #[error("the pattern takes too long on this text: more than {} steps", STEPS[STEPS.len() - 1])]
    Match,
    /// All matches together took too long.
    #[error("all patterns together take too long on these documents: more than {ALL_STEPS} steps")]
    Total,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            left: AtomicU64::new(ALL_STEPS),
        }
    }
}

impl Steps {
    fn spend(&self, steps: u64) -> Result<(), PatternError> {
        let spent = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(steps));
        if spent.is_err() {
            // What is left is not enough for this one, and shall not be for others: the outcome must not depend on order.
            self.left.store(0, Ordering::Relaxed);
            return Err(PatternError::Total);
        }
        Ok(())
    }

    /// Whether there is nothing left.
    pub(crate) fn are_used_up(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    text: String,
    size: usize,
    is_linear: bool,
    /// One for each limit of steps.
    compiled: [OnceLock<Option<Regex>>; STEPS.len()],
}

impl Pattern {
    /// Compiles a pattern, or says what is wrong with it.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        let mut wrong = String::new();
        for size in SIZES {
            match build(pattern, size, STEPS[0]) {
                Ok(regex) => {
                    return Ok(Self {
                        is_linear: is_linear(pattern),
                        text: pattern.to_owned(),
                        size,
                        compiled: [
                            OnceLock::from(Some(regex)),
                            OnceLock::new(),
                            OnceLock::new(),
                            OnceLock::new(),
                        ],
                    });
                }
                Err(error) => wrong = error.to_string(),
            }
        }
        Err(wrong)
    }

    /// What this pattern takes at most in memory.
    pub(crate) const fn size(&self) -> usize {
        self.size
    }

    /// Whether the pattern is found in a text.
    pub(crate) fn is_match(&self, text: &str, steps: &Steps) -> Result<bool, PatternError> {
        self.run(text, steps, |regex| regex.is_match(text))
    }

    /// The groups of the first match.
    pub(crate) fn captures<'t>(&self, text: &'t str, steps: &Steps) -> Result<Option<Captures<'t, str>>, PatternError> {
        self.run(text, steps, |regex| regex.captures(text))
    }

    /// The range of the first match from a place on.
    pub(crate) fn find_from(
        &self,
        text: &str,
        from: usize,
        steps: &Steps,
    ) -> Result<Option<(usize, usize)>, PatternError> {
        self.run(text.get(from..).unwrap_or_default(), steps, |regex| {
            let found = regex.find_from_pos(text, from)?;
            Ok(found.map(|found| (found.start(), found.end())))
        })
    }

    fn run<T>(
        &self,
        text: &str,
        steps: &Steps,
        mut run: impl FnMut(&Regex) -> Result<T, Error>,
    ) -> Result<T, PatternError> {
        // A step may look at all of the text, and a large pattern at many states.
        let scale = 1 + text.len() as u64 / 256;
        if self.is_linear {
            let states = self.size as u64 / SIZES[0] as u64;
            steps.spend(scale.saturating_mul(states))?;
        }
        for (limit, slot) in STEPS.into_iter().zip(&self.compiled) {
            if !self.is_linear {
                steps.spend(scale.saturating_mul(limit as u64))?;
            }
            let Some(regex) = slot.get_or_init(|| build(&self.text, self.size, limit).ok()) else {
                return Err(PatternError::Match);
            };
            match run(regex) {
                Ok(result) => return Ok(result),
                Err(Error::RuntimeError(RuntimeError::BacktrackLimitExceeded)) => {}
                Err(_) => return Err(PatternError::Match),
            }
        }
        Err(PatternError::Match)
    }
}

fn build(pattern: &str, size: usize, steps: usize) -> Result<Regex, Error> {
    RegexBuilder::new(pattern)
        .backtrack_limit(steps)
        .delegate_size_limit(size)
        .build()
}

/// Whether a pattern has nothing that needs backtracking. Possessive quantifiers look like nested ones to the linear engine.
fn is_linear(pattern: &str) -> bool {
    let possessive = ["*+", "++", "?+", "}+"]
        .iter()
        .any(|quantifier| pattern.contains(quantifier));
    !possessive && regex::Regex::new(pattern).is_ok()
}

/// Compiled patterns. Documents repeat the same few.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: HashMap<String, Result<Arc<Pattern>, String>>,
    size: usize,
}

impl Patterns {
    /// A pattern, compiled now or before. Of those that are kept the oldest go when there is no room.
    pub(crate) fn get(&mut self, pattern: &str) -> Result<Arc<Pattern>, String> {
        if let Some(known) = self.compiled.get(pattern) {
            return known.clone();
        }
        let compiled = Pattern::new(pattern).map(Arc::new);
        let size = compiled.as_ref().map_or(SIZES[0], |pattern| pattern.size());
        // A renderer may live long and see many patterns go by.
        if self.size.saturating_add(size) > ALL_SIZES {
            self.compiled.clear();
            self.size = 0;
        }
        self.size = self.size.saturating_add(size);
        self.compiled.insert(pattern.to_owned(), compiled.clone());
        compiled
    }

    /// The same, where all patterns are kept in any case: nothing when there is no room for this one.
    pub(crate) fn get_if_room(&mut self, pattern: &str) -> Option<Result<Arc<Pattern>, String>> {
        if let Some(known) = self.compiled.get(pattern) {
            return Some(known.clone());
        }
        (self.size.saturating_add(SIZES[0]) <= ALL_SIZES).then(|| self.get(pattern))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Patterns for which backtracking never ends, each with a text.
    const SLOW: [(&str, &str); 3] = [
        ("^((a+)(?!x))+b$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"),
        (r"^(?:(a|aa)\1?)+b$", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac"),
        (r"^((x+)(?<!z)x+)+y", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
    ];

    #[test]
    fn linear_patterns_are_known() {
        for linear in ["^a+$", "(a|b)*c", r"\d{1,3}", "(?i)x", "(a+)+$", "(?P<name>x)"] {
            assert!(is_linear(linear), "{linear}");
        }
        for other in ["(?=a)", r"(a)\1", "a++", "(?<!x)y", "(?>a)", "a*+", "x{2}+"] {
            assert!(!is_linear(other), "{other}");
        }
    }

    #[test]
    fn slow_matches_end_and_use_up_the_budget() {
        let steps = Steps::default();
        for (pattern, text) in SLOW {
            let compiled = Pattern::new(pattern).unwrap();
            assert_eq!(compiled.is_match(text, &steps), Err(PatternError::Match), "{pattern}");
        }
        let compiled = Pattern::new(SLOW[0].0).unwrap();
        let last = (0..1000)
            .map(|_| compiled.is_match(SLOW[0].1, &steps))
            .find(|it| *it != Err(PatternError::Match));
        assert_eq!(last, Some(Err(PatternError::Total)));
        assert!(steps.are_used_up());
        for pattern in ["(?=a)", "a"] {
            assert_eq!(
                Pattern::new(pattern).unwrap().is_match("a", &steps),
                Err(PatternError::Total)
            );
        }
    }

    #[test]
    fn quick_matches_take_few_steps() {
        let steps = Steps::default();
        let (linear, other) = (
            Pattern::new("^[a-z]+-(b)$").unwrap(),
            Pattern::new("^(?!x)[a-z]+-(b)$").unwrap(),
        );
        for _ in 0..10_000 {
            assert_eq!(linear.is_match("aaaa-b", &steps), Ok(true));
            assert_eq!(other.is_match("aaaa-b", &steps), Ok(true));
        }
        assert_eq!(
            other
                .captures("aaaa-b", &steps)
                .unwrap()
                .unwrap()
                .get(1)
                .unwrap()
                .as_str(),
            "b"
        );
        assert_eq!(other.find_from("aaaa-b", 0, &steps), Ok(Some((0, 6))));
        assert!(!steps.are_used_up());
    }

    #[test]
    fn large_patterns_are_counted() {
        assert_eq!(Pattern::new("a").unwrap().size(), SIZES[0]);
        assert!(Pattern::new(r"\w{40}").unwrap().size() > SIZES[0]);
        assert!(Pattern::new(r"\w{500}\w{500}").is_err());
        assert!(Pattern::new("(").is_err());
        let mut patterns = Patterns::default();
        let kept = (0..3000)
            .filter(|number| patterns.get_if_room(&format!("a{number}")).is_some())
            .count();
        assert_eq!(kept, ALL_SIZES / SIZES[0]);
        assert!(patterns.get("another").is_ok());
        assert_eq!(patterns.compiled.len(), 1);
    }
}
