use std::collections::HashSet;

use super::*;

#[test]
fn codes_are_kebab_case_and_unique() {
    let mut seen = HashSet::new();
    for lint in LINTS {
        assert!(seen.insert(lint.code), "{} is there twice", lint.code);
        let words = lint.code.split('-');
        assert!(
            words
                .clone()
                .all(|word| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase())),
            "{}",
            lint.code
        );
    }
}

#[test]
fn every_lint_of_this_file_is_listed() {
    // A static that is missing from the list could be reported but not explained.
    let statics = include_str!("../lints.rs").matches("static ").count();
    assert_eq!(LINTS.len(), statics);
}

#[test]
fn explanations_say_what_would_be_right() {
    for lint in LINTS {
        assert!(lint.explanation.len() > 150, "{}", lint.code);
        assert!(
            lint.explanation.ends_with(".\n") || lint.explanation.contains("Right"),
            "{}",
            lint.code
        );
        assert_eq!(
            lint.explanation.contains("Wrong"),
            lint.explanation.contains("Right"),
            "{}",
            lint.code
        );
        assert!(
            !lint.summary.ends_with('.') && !lint.summary.contains('\n'),
            "{}",
            lint.code
        );
    }
}
