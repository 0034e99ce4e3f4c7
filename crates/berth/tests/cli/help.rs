//! Help, version and wrong usage.

use crate::run::line;

#[test]
fn without_arguments_the_help_is_printed() {
    let outcome = line("");
    assert_eq!((outcome.exit, outcome.stderr.as_str()), (0, ""));
    assert_eq!(outcome.stdout, line("-h").stdout);
    insta::assert_snapshot!(outcome);
}

#[test]
fn every_command_has_help_with_examples() {
    let commands = berth::command();
    let mut paths = Vec::new();
    collect(&commands, "", &mut paths);
    assert!(paths.len() >= 3, "{paths:?}");
    for path in paths {
        let outcome = line(&format!("{path} --help"));
        assert_eq!(outcome.exit, 0, "{outcome}");
        assert!(outcome.stdout.contains("Examples:\n  "), "{outcome}");
        let widest = outcome.stdout.lines().map(|line| line.chars().count()).max();
        assert!(widest <= Some(120), "{widest:?} {outcome}");
    }
}

fn collect(command: &clap::Command, above: &str, paths: &mut Vec<String>) {
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        let path = format!("{above} {}", sub.get_name());
        if sub.has_subcommands() {
            collect(sub, &path, paths);
        } else {
            paths.push(path);
        }
    }
}

#[test]
fn examples_fit_a_terminal_and_stay_whole_when_copied() {
    fn check(command: &clap::Command) {
        let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        for line in examples.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        command.get_subcommands().for_each(check);
    }
    check(&berth::command());
}

#[test]
fn clap_accepts_the_definition() {
    berth::command().debug_assert();
}

#[test]
fn the_version_is_printed() {
    let outcome = line("--version");
    assert_eq!(outcome.exit, 0);
    assert_eq!(outcome.stdout, format!("berth {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_is_exit_2_with_a_suggestion() {
    let outcome = line("lint -f x -o jsn");
    assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("'json'"), "{outcome}");

    let outcome = line("lnt");
    assert_eq!(outcome.exit, 2);
    assert!(outcome.stderr.contains("'lint'"), "{outcome}");

    for words in [
        "lint",
        "labels",
        "labels check",
        "selector {}",
        "selector --to-map",
        "selector --to-map --invert {}",
    ] {
        let outcome = line(words);
        assert_eq!((outcome.exit, outcome.stdout.as_str()), (2, ""), "{words}\n{outcome}");
        assert!(outcome.stderr.contains("Usage: berth"), "{outcome}");
    }
}
