//! Regular expressions that documents bring along, within a budget.
//!
//! Most patterns run in time linear in the text, by an engine that can do nothing else. Those with lookaround or
//! backreferences do not, and a short pattern on a short text can run forever. So every match costs steps of a budget,
//! which is one for a whole rendering or validation: what a match takes at most is found by trying with few steps first.

use std::{
    collections::HashMap,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use fancy_regex::{Error, Regex, RegexBuilder, RuntimeError};

/// How many steps of backtracking one match may take, tried in this order.
const STEPS: [usize; 4] = [100, 5000, 100_000, 1_000_000];

/// How many steps of backtracking one match may take.
pub(crate) const MOST_STEPS: usize = STEPS[STEPS.len() - 1];

/// How many steps all matches of one rendering or validation may take. A step is some nanoseconds.
const ALL_STEPS: u64 = 10_000_000;

/// How large a compiled pattern may be, in bytes, tried in this order.
const SIZES: [usize; 4] = [16 << 10, 64 << 10, 1 << 20, 10 << 20];

/// What a compiled pattern may keep of what it saw, in bytes.
pub(crate) const CACHE: usize = 48 << 10;

/// How many bytes of a compiled pattern on how many bytes of text make a step, in linear time.
const STEP: (u64, u64) = (256, 256);

/// How large all patterns that are kept may be together, in bytes.
const ALL_SIZES: usize = 64 << 20;

/// What the smallest pattern counts for.
const SMALLEST: usize = SIZES[0] + CACHE;

/// The steps that are left.
#[derive(Debug)]
pub(crate) struct Steps {
    left: AtomicU64,
}

/// Why a match was not looked for to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternError {
    /// One match took too long.
    #[error("the pattern takes too long on this text: more than {MOST_STEPS} steps")]
    Match,
    /// All matches together took too long.
    #[error("all patterns together take too long on these documents: more than {ALL_STEPS} steps")]
    Total,
}

impl Default for Steps {
    fn default() -> Self {
        Self::new(ALL_STEPS)
    }
}

impl Steps {
    pub(crate) const fn new(left: u64) -> Self {
        Self {
            left: AtomicU64::new(left),
        }
    }

    pub(crate) fn spend(&self, steps: u64) -> Result<(), PatternError> {
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

    #[cfg(test)]
    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Whether there is nothing left.
    pub(crate) fn are_used_up(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }
}

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    size: usize,
    engine: Engine,
}

/// What looks for matches.
#[derive(Debug)]
enum Engine {
    /// In time linear in the text, whatever the pattern is.
    Linear(regex::Regex),
    /// By trying, within a limit of steps.
    Backtracking(Box<Backtracking>),
}

/// A pattern that needs backtracking.
#[derive(Debug)]
struct Backtracking {
    text: String,
    size: usize,
    /// One for each limit of steps.
    compiled: [OnceLock<Option<Regex>>; STEPS.len()],
}

/// The texts of the groups of a match, the whole match first.
pub(crate) type Groups<'t> = Vec<Option<&'t str>>;

impl Pattern {
    /// Compiles a pattern, or says what is wrong with it.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        Self::compile(pattern, is_linear(pattern))
    }

    /// The same, by backtracking whatever the pattern is.
    pub(crate) fn backtracking(pattern: &str) -> Result<Self, String> {
        Self::compile(pattern, false)
    }

    fn compile(pattern: &str, is_linear: bool) -> Result<Self, String> {
        let mut wrong = String::new();
        for size in SIZES {
            // A pattern is what the engine for all patterns takes, also where the other one runs it.
            let compiled = build(pattern, size, STEPS[0]).map_err(|error| error.to_string());
            let engine = compiled.and_then(|regex| {
                if !is_linear {
                    return Ok(Engine::Backtracking(Box::new(Backtracking::new(pattern, size, regex))));
                }
                let linear = linear(pattern, size).map_err(|error| error.to_string())?;
                Ok(Engine::Linear(linear))
            });
            match engine {
                Ok(engine) => return Ok(Self { size, engine }),
                Err(error) => wrong = error,
            }
        }
        Err(wrong)
    }

    /// Whether what a match costs depends on the size of the text alone.
    pub(crate) const fn is_linear(&self) -> bool {
        matches!(self.engine, Engine::Linear(_))
    }

    /// What this pattern takes at most in memory.
    pub(crate) const fn size(&self) -> usize {
        self.size + CACHE
    }

    /// Whether the pattern is found in a text.
    pub(crate) fn is_match(&self, text: &str, steps: &Steps) -> Result<bool, PatternError> {
        match &self.engine {
            Engine::Linear(regex) => self.once(text, steps, || regex.is_match(text)),
            Engine::Backtracking(it) => it.run(text, steps, |regex| regex.is_match(text)),
        }
    }

    /// The groups of the first match.
    pub(crate) fn captures<'t>(&self, text: &'t str, steps: &Steps) -> Result<Option<Groups<'t>>, PatternError> {
        match &self.engine {
            Engine::Linear(regex) => self.once(text, steps, || {
                let found = regex.captures(text)?;
                Some(found.iter().map(|group| Some(group?.as_str())).collect())
            }),
            Engine::Backtracking(it) => it.run(text, steps, |regex| {
                let found = regex.captures(text)?;
                Ok(found.map(|found| found.iter().map(|group| Some(group?.as_str())).collect()))
            }),
        }
    }

    /// The range of the first match from a place on.
    pub(crate) fn find_from(
        &self,
        text: &str,
        from: usize,
        steps: &Steps,
    ) -> Result<Option<(usize, usize)>, PatternError> {
        let rest = text.get(from..).unwrap_or_default();
        match &self.engine {
            Engine::Linear(regex) => self.once(rest, steps, || {
                let found = regex.find_at(text, from)?;
                Some((found.start(), found.end()))
            }),
            Engine::Backtracking(it) => it.run(rest, steps, |regex| {
                let found = regex.find_from_pos(text, from)?;
                Ok(found.map(|found| (found.start(), found.end())))
            }),
        }
    }

    /// Looks for a match in linear time: at worst at every part of the pattern for every byte of the text.
    fn once<T>(&self, text: &str, steps: &Steps, run: impl FnOnce() -> T) -> Result<T, PatternError> {
        let (pattern, bytes) = STEP;
        let states = self.size as u64 / pattern;
        steps.spend(1 + states.saturating_mul(text.len() as u64) / bytes)?;
        Ok(run())
    }
}

impl Backtracking {
    fn new(pattern: &str, size: usize, first: Regex) -> Self {
        let compiled: [OnceLock<Option<Regex>>; STEPS.len()] = Default::default();
        let [slot, ..] = &compiled;
        slot.get_or_init(|| Some(first));
        Self {
            text: pattern.to_owned(),
            size,
            compiled,
        }
    }

    fn run<T>(
        &self,
        text: &str,
        steps: &Steps,
        mut run: impl FnMut(&Regex) -> Result<T, Error>,
    ) -> Result<T, PatternError> {
        // A step may look at all of the text.
        let scale = 1 + text.len() as u64 / 256;
        for (limit, slot) in STEPS.into_iter().zip(&self.compiled) {
            steps.spend(scale.saturating_mul(limit as u64))?;
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
        .delegate_dfa_size_limit(CACHE)
        .build()
}

fn linear(pattern: &str, size: usize) -> Result<regex::Regex, regex::Error> {
    regex::RegexBuilder::new(pattern)
        .size_limit(size)
        .dfa_size_limit(CACHE)
        .build()
}

/// Whether a pattern has nothing that needs backtracking. A quantifier after a quantifier may be a possessive one, which the
/// linear engine would take for nested ones.
pub(crate) fn is_linear(pattern: &str) -> bool {
    let bytes = pattern.as_bytes();
    let mut pairs = bytes.iter().zip(bytes.iter().skip(1));
    let doubled = pairs.any(|(one, next)| b"*+?}".contains(one) && b"*+{".contains(next));
    !doubled && linear(pattern, SIZES[SIZES.len() - 1]).is_ok()
}

/// Compiled patterns. Documents repeat the same few.
#[derive(Debug, Default)]
pub(crate) struct Patterns {
    compiled: HashMap<String, Result<Arc<Pattern>, String>>,
    size: usize,
    /// Whether all of them backtrack.
    backtracking: bool,
}

impl Patterns {
    /// Patterns that all backtrack, also those that need not.
    pub(crate) fn backtracking() -> Self {
        Self {
            backtracking: true,
            ..Self::default()
        }
    }

    /// A pattern, compiled now or before. Of those that are kept the oldest go when there is no room.
    pub(crate) fn get(&mut self, pattern: &str) -> Result<Arc<Pattern>, String> {
        if let Some(known) = self.compiled.get(pattern) {
            return known.clone();
        }
        let compiled = if self.backtracking {
            Pattern::backtracking(pattern)
        } else {
            Pattern::new(pattern)
        };
        let compiled = compiled.map(Arc::new);
        let size = compiled.as_ref().map_or(SMALLEST, |pattern| pattern.size());
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
        (self.size.saturating_add(SMALLEST) <= ALL_SIZES).then(|| self.get(pattern))
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

    /// A word boundary needs no backtracking, and the engine that can do it all would backtrack for it.
    #[test]
    fn word_boundaries_run_in_linear_time() {
        let text = format!("{}c", "a".repeat(60));
        for pattern in [r"^(?:a+\B?)+b$", r"^(?:\Ba|a)+b", r"^(a|a\B|\b)+b$", r"^(?:a|aa)+\b$"] {
            assert!(is_linear(pattern), "{pattern}");
            let (compiled, steps) = (Pattern::new(pattern).unwrap(), Steps::default());
            assert_eq!(compiled.is_match(&text, &steps), Ok(false), "{pattern}");
            assert_eq!(compiled.captures(&text, &steps), Ok(None), "{pattern}");
            assert_eq!(compiled.find_from(&text, 1, &steps), Ok(None), "{pattern}");
        }
    }

    /// A long text and a large pattern cost what they can take at worst.
    #[test]
    fn linear_matches_cost_by_text_and_pattern() {
        let left = |pattern: &str, text: &str| {
            let steps = Steps::default();
            Pattern::new(pattern).unwrap().is_match(text, &steps).unwrap();
            steps.left()
        };
        let (short, long) = ("a".repeat(100), "a".repeat(10_000));
        assert!(left("b", &short) > left("b", &long));
        assert!(left("b", &long) > left(r"(?:a|b)*a(?:a|b){500}c", &long));
    }

    /// Pieces of patterns that both engines take.
    const PIECES: [&str; 22] = [
        "a", "b", ".", "^", "$", r"\b", r"\B", r"\w", r"\d", r"\s", "[ab]", "[^a]", "(a|b)", "(a)?", "(?:ab|a)",
        "(b*)", "*", "+", "?", "*?", "{1,2}", "|",
    ];

    proptest::proptest! {
        /// The same matches and groups, whichever engine runs a pattern.
        #[test]
        fn both_engines_find_the_same(
            pieces in proptest::collection::vec(0..PIECES.len(), 1..8),
            text in "[ab é1\n-]{0,12}",
            from in 0..12_usize,
        ) {
            let pattern: String = pieces.iter().map(|piece| PIECES[*piece]).collect();
            let (Ok(one), Ok(other)) = (Pattern::new(&pattern), Pattern::backtracking(&pattern)) else {
                return Ok(());
            };
            let steps = Steps::default();
            proptest::prop_assert_eq!(one.is_match(&text, &steps), other.is_match(&text, &steps), "{}", pattern);
            proptest::prop_assert_eq!(one.captures(&text, &steps), other.captures(&text, &steps), "{}", pattern);
            if text.is_char_boundary(from) {
                let found = (one.find_from(&text, from, &steps), other.find_from(&text, from, &steps));
                proptest::prop_assert_eq!(found.0, found.1, "{}", pattern);
            }
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
        for pattern in [&linear, &other] {
            let groups = pattern.captures("aaaa-b", &steps).unwrap().unwrap();
            assert_eq!(groups, [Some("aaaa-b"), Some("b")]);
        }
        assert_eq!(other.find_from("aaaa-b", 0, &steps), Ok(Some((0, 6))));
        assert!(!steps.are_used_up());
    }

    #[test]
    fn large_patterns_are_counted() {
        assert_eq!(Pattern::new("a").unwrap().size(), SMALLEST);
        assert!(Pattern::new(r"\w{40}").unwrap().size() > SMALLEST);
        assert!(Pattern::new(r"\w{500}\w{500}").is_err());
        assert!(Pattern::new("(").is_err());
        let mut patterns = Patterns::default();
        let kept = (0..3000)
            .filter(|number| patterns.get_if_room(&format!("a{number}")).is_some())
            .count();
        assert_eq!(kept, ALL_SIZES / SMALLEST);
        assert!(patterns.get("another").is_ok());
        assert_eq!(patterns.compiled.len(), 1);
    }
}
