//! The compiler of the fuzz targets: what a search is about is traced and checked, which is Berth's own code.
//!
//! Libraries such as regex and `serde_json` have most of the edges, and neither their coverage nor the time that it takes tells
//! anything about Berth. cargo has one set of flags for all crates, so it calls this program in place of the compiler
//! (`RUSTC_WRAPPER`), which leaves out the flags that are of no use to a crate.

use std::process::{Command, ExitCode};

/// How flags begin that are for Berth's own crates alone: coverage, every branch apart, and checks.
const OWN: [&str; 4] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold",
    "-Cdebug-assertions",
];

/// How deep the stack is tells little, and a search takes longer with it.
const UNUSED: &str = "-Cllvm-args=-sanitizer-coverage-stack-depth";

/// Checks of the conditions of unsafe code, of which Berth has none; debug assertions would bring them into every access of a
/// slice.
const ADDED: &str = "-Zub-checks=no";

/// Runs the compiler, if that is how this program was called: with the compiler as its first argument.
pub(crate) fn run(arguments: &[String]) -> Option<ExitCode> {
    let (compiler, arguments) = arguments.split_first()?;
    if !compiler.ends_with("rustc") {
        return None;
    }
    let status = Command::new(compiler).args(flags(arguments)).status();
    let code = status.ok().and_then(|status| u8::try_from(status.code()?).ok());
    Some(ExitCode::from(code.unwrap_or(1)))
}

/// The flags with which a crate is compiled.
fn flags(given: &[String]) -> Vec<&str> {
    let is_own = is_own(given);
    let is_for_own = |flag: &str| OWN.iter().any(|start| flag.starts_with(start));
    let mut flags: Vec<&str> = given
        .iter()
        .map(String::as_str)
        .filter(|flag| *flag != UNUSED && (is_own || !is_for_own(flag)))
        .collect();
    if is_own {
        flags.push(ADDED);
    }
    flags
}

/// Whether the crate is one of Berth's or a target.
fn is_own(given: &[String]) -> bool {
    let is_name =
        |pair: &[String]| matches!(pair, [flag, name] if flag == "--crate-name" && name.starts_with("berth_"));
    let is_target = |flag: &String| flag.starts_with("targets/") || flag.contains("/fuzz/targets/");
    given.windows(2).any(is_name) || given.iter().any(is_target)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn only_own_crates_are_traced() {
        let traced = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cdebug-assertions -Copt-level=3";
        for own in [
            "--crate-name berth_site --edition=2024 /src/crates/berth-site/src/lib.rs",
            "--crate-name cel targets/cel.rs",
            "--crate-name cel /src/fuzz/targets/cel.rs",
        ] {
            let given = words(&format!("{own} {UNUSED} {traced}"));
            assert_eq!(flags(&given).join(" "), format!("{own} {traced} {ADDED}"));
        }
        let given = words(&format!("--crate-name regex /registry/regex/src/lib.rs {traced}"));
        assert_eq!(
            flags(&given).join(" "),
            "--crate-name regex /registry/regex/src/lib.rs -Copt-level=3"
        );
    }

    #[test]
    fn chores_are_not_taken_for_a_compiler() {
        assert!(run(&words("test fuzz")).is_none());
        assert!(run(&[]).is_none());
        assert!(run(&words("/nowhere/rustc -vV")).is_some());
    }
}
