//! Patterns of node names, within a budget of memory.
//!
//! Names of Nodes are ASCII, so only that much of a pattern is kept: `\w` is four ranges and not hundreds. How large a
//! program a pattern makes is counted before it is compiled, and the patterns of a site have one budget together.

use std::sync::OnceLock;

use regex_automata::{
    MatchKind,
    meta::{Config, Regex},
    nfa::thompson::{NFA, WhichCaptures, pikevm::PikeVM},
    util::captures,
};
use regex_syntax::hir::{
    Capture, Class, ClassBytes, ClassBytesRange, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look, Repetition,
};
use thiserror::Error;

/// How long a pattern may be. While it is read, a class of a few bytes takes kilobytes.
const LONGEST: usize = 4 << 10;

/// How many states a pattern may need. A state takes some hundred bytes.
const STATES: u64 = 10_000;

/// How many states all patterns of a site may need: ten thousand names of twenty characters.
const ALL_STATES: u64 = 200_000;

/// How many ranges of a class cost as much to read as a state.
const RANGES_PER_STATE: u64 = 16;

/// How many captures double what a state takes: a search remembers all of them for every state.
const CAPTURES_PER_STATE: u64 = 4;

/// What the patterns of a site may still need.
#[derive(Debug)]
pub(crate) struct PatternBudget {
    states: u64,
}

impl Default for PatternBudget {
    fn default() -> Self {
        Self { states: ALL_STATES }
    }
}

/// Why a text is not a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum PatternError {
    #[error("{0}")]
    Syntax(String),
    #[error("it has {0} bytes, and {LONGEST} are allowed")]
    Long(usize),
    #[error("it needs {0} states, and {STATES} are allowed")]
    Large(u64),
    #[error("all patterns of a site together may need {ALL_STATES} states, and with it they need more")]
    Total,
}

/// A pattern for whole names.
#[derive(Debug)]
pub struct Pattern {
    /// Anchored, and without what is not ASCII.
    hir: Hir,
    captures: Vec<String>,
    text: String,
    /// Only rules that use captures need it; all patterns of a site are matched as one.
    compiled: OnceLock<Option<PikeVM>>,
}

impl Pattern {
    pub(crate) fn new(pattern: &str, budget: &mut PatternBudget) -> Result<Self, PatternError> {
        if pattern.len() > LONGEST {
            return Err(PatternError::Long(pattern.len()));
        }
        if budget.states == 0 {
            return Err(PatternError::Total);
        }
        let parsed = regex_syntax::parse(pattern).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default();
            PatternError::Syntax(reason.trim_start_matches("error: ").to_owned())
        })?;
        let mut reader = AsciiReader::default();
        let parsed = reader.read(parsed);
        let captures = reader.captures.len() as u64;
        let program = states(&parsed).saturating_mul(CAPTURES_PER_STATE + captures) / CAPTURES_PER_STATE;
        let needed = program.saturating_add(reader.ranges / RANGES_PER_STATE);
        // What is too large alone has been read all the same.
        budget.states = budget.states.saturating_sub(needed.min(STATES));
        if needed > STATES {
            return Err(PatternError::Large(needed));
        }
        if budget.states == 0 {
            return Err(PatternError::Total);
        }
        Ok(Self {
            hir: Hir::concat(vec![Hir::look(Look::Start), parsed, Hir::look(Look::End)]),
            captures: reader.captures,
            text: format!(r"\A(?:{pattern})\z"),
            compiled: OnceLock::new(),
        })
    }

    /// The pattern as a regular expression that matches whole names only.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its captures.
    pub(crate) fn capture_names(&self) -> impl Iterator<Item = &str> {
        self.captures.iter().map(String::as_str)
    }

    /// What its captures are in a name.
    pub(crate) fn captures<'a>(&self, name: &'a str) -> Option<Captures<'a>> {
        let regex = self.compiled.get_or_init(|| {
            // The smallest of the machines: there may be thousands of patterns, and names are short.
            let program = NFA::compiler().build_from_hir(&self.hir).ok()?;
            PikeVM::new_from_nfa(program).ok()
        });
        let regex = regex.as_ref()?;
        let mut groups = regex.create_captures();
        regex.captures(&mut regex.create_cache(), name, &mut groups);
        groups.is_match().then_some(Captures { groups, name })
    }
}

/// Compiles patterns into one that says which of them match.
pub(crate) fn compile_all(patterns: &[&Pattern]) -> Option<Regex> {
    let config = Config::new()
        .match_kind(MatchKind::All)
        .which_captures(WhichCaptures::None);
    let patterns: Vec<&Hir> = patterns.iter().map(|pattern| &pattern.hir).collect();
    Regex::builder().configure(config).build_many_from_hir(&patterns).ok()
}

/// The captures of a pattern in a name.
#[derive(Debug)]
pub(crate) struct Captures<'a> {
    groups: captures::Captures,
    name: &'a str,
}

impl<'a> Captures<'a> {
    /// The text of a capture that took part in the match.
    pub(crate) fn get(&self, capture: &str) -> Option<&'a str> {
        let span = self.groups.get_group_by_name(capture)?;
        self.name.get(span.start..span.end)
    }
}

/// Keeps of a pattern what can match ASCII, and the captures that have names.
#[derive(Debug, Default)]
struct AsciiReader {
    captures: Vec<String>,
    /// How many ranges the classes had.
    ranges: u64,
}

impl AsciiReader {
    fn read(&mut self, hir: Hir) -> Hir {
        match hir.into_kind() {
            HirKind::Empty => Hir::empty(),
            HirKind::Literal(literal) => Hir::literal(literal.0),
            HirKind::Class(Class::Unicode(mut class)) => {
                self.ranges += class.ranges().len() as u64;
                class.intersect(&ClassUnicode::new([ClassUnicodeRange::new('\0', '\x7f')]));
                Hir::class(Class::Unicode(class))
            }
            HirKind::Class(Class::Bytes(mut class)) => {
                class.intersect(&ClassBytes::new([ClassBytesRange::new(0, 0x7f)]));
                Hir::class(Class::Bytes(class))
            }
            HirKind::Look(look) => Hir::look(match look {
                Look::WordUnicode => Look::WordAscii,
                Look::WordUnicodeNegate => Look::WordAsciiNegate,
                Look::WordStartUnicode => Look::WordStartAscii,
                Look::WordEndUnicode => Look::WordEndAscii,
                Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
                Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
                other => other,
            }),
            HirKind::Repetition(repetition) => Hir::repetition(Repetition {
                sub: Box::new(self.read(*repetition.sub)),
                ..repetition
            }),
            HirKind::Capture(Capture { name: None, sub, .. }) => self.read(*sub),
            HirKind::Capture(Capture {
                name: Some(name), sub, ..
            }) => {
                self.captures.push(name.as_ref().to_owned());
                let index = u32::try_from(self.captures.len()).unwrap_or(u32::MAX);
                Hir::capture(Capture {
                    index,
                    name: Some(name),
                    sub: Box::new(self.read(*sub)),
                })
            }
            HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(|part| self.read(part)).collect()),
            HirKind::Alternation(parts) => Hir::alternation(parts.into_iter().map(|part| self.read(part)).collect()),
        }
    }
}

/// How many states a program for a pattern has at most.
fn states(hir: &Hir) -> u64 {
    let sum = |parts: &[Hir]| parts.iter().map(states).fold(1, u64::saturating_add);
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 1,
        HirKind::Literal(literal) => literal.0.len() as u64,
        HirKind::Class(Class::Unicode(class)) => 1 + class.ranges().len() as u64 / 4,
        HirKind::Class(Class::Bytes(class)) => 1 + class.ranges().len() as u64 / 4,
        HirKind::Capture(capture) => states(&capture.sub).saturating_add(2),
        HirKind::Repetition(repetition) => {
            let times = u64::from(repetition.max.unwrap_or(repetition.min).max(1));
            // Where it can end early there is a way out before each.
            (states(&repetition.sub).saturating_add(1)).saturating_mul(times)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => sum(parts),
    }
}
