//! Name patterns in the language of the API server: RE2 for the match, string functions for the captures.
//!
//! CEL has no capture groups. A capture can be computed all the same where the parts of the pattern around it leave only
//! one way to cut the name: parts of fixed length, or parts that end at the first character which is not theirs.
//! Everything else is not expressible, and said to be so.

use regex_syntax::hir::{Class, Hir, HirKind, Look};
use thiserror::Error;

use super::cel::quote;

/// RE2 repeats nothing more often than this.
const REPEAT_LIMIT: u32 = 1000;

/// Why a pattern cannot be written in CEL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum PatternError {
    #[error("the pattern cannot be read")]
    Unreadable,
    #[error("the pattern uses an anchor that RE2 does not have")]
    Anchor,
    #[error("the pattern repeats something more than {REPEAT_LIMIT} times")]
    Repeats,
    #[error("the capture `{0}` can begin or end at several places")]
    Ambiguous(String),
}

/// A pattern that has been taken apart.
#[derive(Debug)]
pub(super) struct Pattern {
    parts: Vec<Hir>,
    re2: String,
}

/// One step of cutting a name into parts: a CEL variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) name: String,
    pub(super) expression: String,
}

impl Pattern {
    /// Takes a pattern apart. Names of Nodes are ASCII, so only that much of every class is kept.
    pub(super) fn new(pattern: &str) -> Result<Self, PatternError> {
        let hir = regex_syntax::parse(pattern).map_err(|_| PatternError::Unreadable)?;
        let mut re2 = String::new();
        write(&hir, 1, &mut re2)?;
        let parts = match hir.kind() {
            HirKind::Concat(parts) => parts.clone(),
            _ => vec![hir],
        };
        Ok(Self { parts, re2 })
    }

    /// The pattern for RE2.
    pub(super) fn re2(&self) -> &str {
        &self.re2
    }

    /// The CEL expression of a capture of `subject`, a CEL expression too. Steps in between become variables whose names
    /// begin with `prefix`.
    pub(super) fn capture(
        &self,
        capture: &str,
        subject: &str,
        prefix: &str,
    ) -> Result<(Vec<Cut>, String), PatternError> {
        let ambiguous = || PatternError::Ambiguous(capture.to_owned());
        let index = self
            .parts
            .iter()
            .position(|part| is_capture(part, capture))
            .ok_or_else(ambiguous)?;
        let mut cuts = Vec::new();
        let mut rest = subject.to_owned();
        for (number, part) in self.parts.iter().enumerate().take(index) {
            let following = self.parts.get(number + 1..).unwrap_or_default();
            let expression = match lengths(part) {
                (0, Some(0)) => continue,
                (least, Some(most)) if least == most => format!("{rest}.substring({least})"),
                _ => {
                    let piece = piece(part, following, &rest).ok_or_else(ambiguous)?;
                    format!("{rest}.substring(size({piece}))")
                }
            };
            let name = format!("{prefix}_{number}");
            rest = format!("variables.{name}");
            cuts.push(Cut { name, expression });
        }
        let part = self.parts.get(index).ok_or_else(ambiguous)?;
        let following = self.parts.get(index + 1..).unwrap_or_default();
        let piece = piece(part, following, &rest).ok_or_else(ambiguous)?;
        Ok((cuts, piece))
    }
}

fn is_capture(part: &Hir, name: &str) -> bool {
    matches!(part.kind(), HirKind::Capture(capture) if capture.name.as_deref() == Some(name))
}

/// The text of a part that stands at the beginning of `rest`.
fn piece(part: &Hir, following: &[Hir], rest: &str) -> Option<String> {
    if let (least, Some(most)) = lengths(part)
        && least == most
    {
        return Some(format!("{rest}.substring(0, {least})"));
    }
    let behind: Option<usize> = following
        .iter()
        .map(|part| match lengths(part) {
            (least, Some(most)) if least == most => Some(least),
            _ => None,
        })
        .sum();
    match behind {
        Some(0) => return Some(rest.to_owned()),
        Some(count) => return Some(format!("{rest}.substring(0, size({rest}) - {count})")),
        None => {}
    }
    let own = characters(part);
    let next = first_of(following);
    let apart = own.iter().zip(&next).all(|(own, next)| !(*own && *next));
    apart.then(|| format!("{rest}.find({})", quote(&format!("^{}*", class_text(&own)))))
}

/// How many characters a part takes.
fn lengths(hir: &Hir) -> (usize, Option<usize>) {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => (0, Some(0)),
        HirKind::Literal(literal) => (literal.0.len(), Some(literal.0.len())),
        HirKind::Class(_) => (1, Some(1)),
        HirKind::Capture(capture) => lengths(&capture.sub),
        HirKind::Repetition(repetition) => {
            let (least, most) = lengths(&repetition.sub);
            let times = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
            let most = match (most, repetition.max) {
                (Some(0), _) => Some(0),
                (Some(most), Some(max)) => most.checked_mul(times(max)),
                _ => None,
            };
            (least.saturating_mul(times(repetition.min)), most)
        }
        HirKind::Concat(parts) => parts.iter().map(lengths).fold((0, Some(0)), |(least, most), part| {
            let most = most.zip(part.1).and_then(|(left, right)| left.checked_add(right));
            (least.saturating_add(part.0), most)
        }),
        HirKind::Alternation(parts) => {
            let all: Vec<_> = parts.iter().map(lengths).collect();
            let least = all.iter().map(|one| one.0).min().unwrap_or(0);
            let most = all
                .iter()
                .map(|one| one.1)
                .try_fold(0, |most, one| Some(most.max(one?)));
            (least, most)
        }
    }
}

type Characters = [bool; 128];

fn union(into: &mut Characters, from: &Characters) {
    for (into, from) in into.iter_mut().zip(from) {
        *into |= *from;
    }
}

/// Every character that can be in a part.
fn characters(hir: &Hir) -> Characters {
    let mut set = [false; 128];
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Literal(literal) => {
            for byte in &literal.0 {
                if let Some(slot) = set.get_mut(usize::from(*byte)) {
                    *slot = true;
                }
            }
        }
        HirKind::Class(class) => set = class_characters(class),
        HirKind::Capture(capture) => set = characters(&capture.sub),
        HirKind::Repetition(repetition) => set = characters(&repetition.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            for part in parts {
                union(&mut set, &characters(part));
            }
        }
    }
    set
}

/// Every character with which parts that follow each other can begin.
fn first_of(parts: &[Hir]) -> Characters {
    let mut set = [false; 128];
    for part in parts {
        union(&mut set, &first(part));
        if lengths(part).0 > 0 {
            break;
        }
    }
    set
}

fn first(hir: &Hir) -> Characters {
    match hir.kind() {
        HirKind::Literal(literal) => {
            let mut set = [false; 128];
            if let Some(slot) = literal.0.first().and_then(|byte| set.get_mut(usize::from(*byte))) {
                *slot = true;
            }
            set
        }
        HirKind::Capture(capture) => first(&capture.sub),
        HirKind::Repetition(repetition) => first(&repetition.sub),
        HirKind::Concat(parts) => first_of(parts),
        HirKind::Alternation(parts) => parts.iter().fold([false; 128], |mut set, part| {
            union(&mut set, &first(part));
            set
        }),
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => characters(hir),
    }
}

fn class_characters(class: &Class) -> Characters {
    let mut set = [false; 128];
    let mut add = |start: u32, end: u32| {
        for (code, slot) in (0u32..).zip(set.iter_mut()) {
            *slot |= (start..=end).contains(&code);
        }
    };
    match class {
        Class::Unicode(class) => class
            .iter()
            .for_each(|range| add(u32::from(range.start()), u32::from(range.end()))),
        Class::Bytes(class) => class
            .iter()
            .for_each(|range| add(u32::from(range.start()), u32::from(range.end()))),
    }
    set
}

/// A class for RE2, as ranges.
fn class_text(set: &Characters) -> String {
    let mut text = String::from("[");
    let mut code = 0u8;
    while let Some(slot) = set.get(usize::from(code)) {
        if !*slot {
            code += 1;
            continue;
        }
        let start = code;
        while set.get(usize::from(code) + 1).copied().unwrap_or(false) {
            code += 1;
        }
        text.push_str(&in_class(start));
        if code > start {
            text.push('-');
            text.push_str(&in_class(code));
        }
        code += 1;
    }
    if text.len() == 1 {
        // Nothing: RE2 has no empty class.
        return r"[^\x00-\x{10FFFF}]".to_owned();
    }
    text.push(']');
    text
}

fn in_class(code: u8) -> String {
    if code.is_ascii_alphanumeric() {
        char::from(code).to_string()
    } else {
        format!(r"\x{code:02x}")
    }
}

fn write(hir: &Hir, repeats: u32, out: &mut String) -> Result<(), PatternError> {
    match hir.kind() {
        HirKind::Empty => {}
        HirKind::Literal(literal) => {
            let text = std::str::from_utf8(&literal.0).map_err(|_| PatternError::Unreadable)?;
            for character in text.chars() {
                if character.is_ascii_alphanumeric() || character == '-' || character == '_' {
                    out.push(character);
                } else {
                    out.extend([r"\x{", &format!("{:x}", u32::from(character)), "}"]);
                }
            }
        }
        HirKind::Class(class) => out.push_str(&class_text(&class_characters(class))),
        HirKind::Look(look) => out.push_str(match look {
            Look::Start => r"\A",
            Look::End => r"\z",
            Look::StartLF => "(?m:^)",
            Look::EndLF => "(?m:$)",
            Look::WordAscii | Look::WordUnicode => r"\b",
            Look::WordAsciiNegate | Look::WordUnicodeNegate => r"\B",
            _ => return Err(PatternError::Anchor),
        }),
        HirKind::Capture(capture) => {
            out.push_str("(?:");
            write(&capture.sub, repeats, out)?;
            out.push(')');
        }
        HirKind::Repetition(repetition) => {
            let most = repetition.max.unwrap_or(repetition.min).max(1);
            let repeats = repeats
                .checked_mul(most)
                .filter(|all| *all <= REPEAT_LIMIT)
                .ok_or(PatternError::Repeats)?;
            out.push_str("(?:");
            write(&repetition.sub, repeats, out)?;
            out.push(')');
            let times = match (repetition.min, repetition.max) {
                (0, None) => "*".to_owned(),
                (1, None) => "+".to_owned(),
                (0, Some(1)) => "?".to_owned(),
                (min, None) => format!("{{{min},}}"),
                (min, Some(max)) if min == max => format!("{{{min}}}"),
                (min, Some(max)) => format!("{{{min},{max}}}"),
            };
            out.push_str(&times);
            if !repetition.greedy {
                out.push('?');
            }
        }
        HirKind::Concat(parts) => {
            for part in parts {
                write(part, repeats, out)?;
            }
        }
        HirKind::Alternation(parts) => {
            out.push_str("(?:");
            for (number, part) in parts.iter().enumerate() {
                if number > 0 {
                    out.push('|');
                }
                write(part, repeats, out)?;
            }
            out.push(')');
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn anchored(pattern: &str) -> Pattern {
        Pattern::new(&format!(r"\A(?:{pattern})\z")).unwrap()
    }

    #[test]
    fn patterns_are_written_for_re2() {
        for (pattern, re2) in [
            ("w[0-9]+", r"\Aw(?:[0-9])+\z"),
            (r"w\d{2}", r"\Aw(?:[0-9]){2}\z"),
            (
                "(?<site>[a-z]{3})-w.*",
                r"\A(?:(?:[a-z]){3})-w(?:[\x00-\x09\x0b-\x7f])*\z",
            ),
            ("a|b.c", r"\A(?:a|b[\x00-\x09\x0b-\x7f]c)\z"),
            (r"a\.b", r"\Aa\x{2e}b\z"),
            ("(?i)ab", r"\A[Aa][Bb]\z"),
        ] {
            assert_eq!(anchored(pattern).re2(), re2, "{pattern}");
        }
        assert_eq!(Pattern::new("a{1001}").unwrap_err(), PatternError::Repeats);
        assert_eq!(Pattern::new("(a{40}){40}").unwrap_err(), PatternError::Repeats);
    }

    #[test]
    fn captures_are_cut_where_there_is_one_way_to_cut() {
        for (pattern, cuts, expected) in [
            ("(?<c>[a-z]{4})[a-z]{2}.*", vec![], "n.substring(0, 4)"),
            (
                "(?<a>[a-z]{4})(?<c>[a-z]{2}).*",
                vec!["n.substring(4)"],
                "variables.x_1.substring(0, 2)",
            ),
            ("(?<c>[a-z]+)-w[0-9]+", vec![], r"n.find('^[a-z]*')"),
            ("(?<c>.+)[0-9]{2}", vec![], "n.substring(0, size(n) - 2)"),
            ("w(?<c>.+)", vec!["n.substring(1)"], "variables.x_1"),
            (
                "[a-z]+-(?<c>[a-z]+)",
                vec!["n.substring(size(n.find('^[a-z]*')))", "variables.x_1.substring(1)"],
                "variables.x_2",
            ),
        ] {
            let (found, piece) = anchored(pattern).capture("c", "n", "x").unwrap();
            let found: Vec<&str> = found.iter().map(|cut| cut.expression.as_str()).collect();
            assert_eq!((found, piece.as_str()), (cuts, expected), "{pattern}");
        }
        for pattern in [
            "(?<c>[a-z]+)[a-z]+",
            "(?:(?<c>a)|b)",
            "(?<c>.*)-(?:.*)",
            "[a-z]*(?<c>[a-z]+)[0-9]",
        ] {
            let error = anchored(pattern).capture("c", "n", "x").unwrap_err();
            assert_eq!(error, PatternError::Ambiguous("c".to_owned()), "{pattern}");
        }
    }

    proptest! {
        #[test]
        fn no_pattern_is_too_much(pattern in "[a-c(){}|*+?.\\[\\]^$<>0-9\\\\dwbBAz]{0,16}") {
            if let Ok(pattern) = Pattern::new(&pattern) {
                prop_assert!(regex_syntax::parse(pattern.re2()).is_ok(), "{}", pattern.re2());
                let _ = pattern.capture("a", "n", "x");
            }
        }

        /// What RE2 gets matches the same names.
        #[test]
        fn the_same_names_match(
            pattern in prop::sample::select(vec![
                r"w\d+", "(?<a>[a-z]+)-w[0-9]{1,2}", "(?i)ab|c.d", r"[a-c&&[^b]]+\.x", "(a|bc)*?d", r"\w{2,}-\b[^0-9]",
            ]),
            name in "[a-dwx]{0,3}[-.]?[a-dwx0-9]{0,3}",
        ) {
            let anchored = format!(r"\A(?:{pattern})\z");
            let ours = Pattern::new(&anchored).unwrap();
            let (left, right) = (regex::Regex::new(&anchored).unwrap(), regex::Regex::new(ours.re2()).unwrap());
            prop_assert_eq!(left.is_match(&name), right.is_match(&name), "{} {}", pattern, name);
        }
    }
}
