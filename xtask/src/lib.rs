//! Chores of the workspace that need logic.
//!
//! `cargo xtask test` is the one test command: contributors and CI run the same steps in the same order.
//! `cargo xtask generate` writes the files that are made from the program itself.
//! The work is in a library so that the checks can also be called from tests.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to the person who started it"
)]

mod architecture;
mod campaign;
mod e2e;
mod envtest;
mod fuzz;
mod generate;
mod node;
mod steps;
mod supply;
mod test_run;
mod test_totals;
mod tools;
mod workspace;

use std::process::ExitCode;

use anyhow::{Result, bail};

use campaign::Campaign;

pub use architecture::{
    Violation, dependency_violations, feature_violations, page_violations, source_violations, word_violations,
};
pub use workspace::Workspace;

/// Reads the command line, does the chore, and turns the result into an exit code.
///
/// 0: done. 1: a step failed or a generated file is stale. 2: wrong usage.
pub fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = fuzz::compile(&arguments) {
        return code;
    }
    let chore = match Chore::parse(&arguments) {
        Ok(chore) => chore,
        Err(error) => {
            eprintln!("xtask: {error}\nhint: `cargo xtask help` lists what there is");
            return ExitCode::from(2);
        }
    };
    match chore.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
enum Chore {
    Help,
    Test { only: Vec<String> },
    Generate { check: bool },
    Architecture,
    Node,
    Envtest { print_env: bool },
    Boot,
    Campaign(Campaign),
}

impl Chore {
    fn parse(arguments: &[String]) -> Result<Self> {
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Ok(match words.as_slice() {
            [] | ["help" | "--help" | "-h", ..] | [_, "--help" | "-h"] => Self::Help,
            ["test", only @ ..] => {
                for name in only {
                    if !steps::STEPS.iter().any(|step| step.name == *name) {
                        bail!("there is no step `{name}`");
                    }
                }
                Self::Test {
                    only: only.iter().map(|&name| name.to_owned()).collect(),
                }
            }
            ["generate"] => Self::Generate { check: false },
            ["generate", "--check"] => Self::Generate { check: true },
            ["architecture"] => Self::Architecture,
            ["node"] => Self::Node,
            ["envtest"] => Self::Envtest { print_env: false },
            ["envtest", "--print-env"] => Self::Envtest { print_env: true },
            ["e2e", "boot"] => Self::Boot,
            ["campaign", which @ ..] => Self::Campaign(Campaign::parse(which)?),
            ["e2e"] => bail!("say which proof: `e2e boot`"),
            ["generate" | "architecture" | "node" | "envtest" | "e2e", unknown, ..] => {
                bail!("unexpected argument `{unknown}`")
            }
            [unknown, ..] => bail!("there is no chore `{unknown}`"),
        })
    }

    fn run(&self) -> Result<()> {
        let workspace = Workspace::find()?;
        match self {
            Self::Help => {
                println!("{}", help());
                Ok(())
            }
            Self::Test { only } => steps::run(&workspace, only),
            Self::Generate { check: true } => generate::check(&workspace),
            Self::Generate { check: false } => generate::write(&workspace),
            Self::Architecture => architecture::check(&workspace),
            Self::Node => node::build(&workspace),
            Self::Boot => e2e::boot(&workspace),
            Self::Campaign(campaign) => campaign.run(&workspace),
            Self::Envtest { print_env } => envtest::run(&workspace, *print_env),
        }
    }
}

fn help() -> String {
    use std::fmt::Write as _;

    let mut text = "\
Chores of the Berth workspace.

Usage: cargo xtask <CHORE>

Chores:
  test [STEP]...      Set up what is missing, then run every check and all tests (or only the named steps)
  generate [--check]  Write man pages and reference pages; --check only compares
  architecture        Check which crate uses what, file sizes and the map in docs/ARCHITECTURE.md
  node                Build the static executable for nodes, check that it needs no loader, and print its size
  envtest             Provide kube-apiserver, kube-controller-manager, kubelet, kubectl and OpenShift's definitions
                      for tests; --print-env prints lines for a shell
  e2e boot            Boot Debian machines in QEMU with Ignition from Berth, and prove that their Nodes have every label
                      in their first version
  campaign fuzz [N [TARGET]...]
                      Give every fuzz target, or only the named ones, N inputs, ten million unless said otherwise, and
                      write docs/campaigns.md
  campaign kill [N]   Kill N processes during document writes and relabelling on SQLite and PostgreSQL, a hundred unless
                      said otherwise, and write docs/campaigns.md
  campaign load [MIN] Put load on a real API server for MIN minutes, an hour unless said otherwise, with killed leaders,
                      restarts, compaction and storms of refusals, and write docs/campaigns.md
  help                Show this text

Steps of `test`, in order:
"
    .to_owned();
    for step in steps::STEPS {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {:<18}  {}", step.name, step.why);
    }
    text.push_str("\nTools that tests compare with (`test` installs them when it runs as root on Debian):\n");
    for tool in tools::ALL {
        let _ = writeln!(text, "  {:<24}  {}", tool.program, tool.used_for);
    }
    text.push_str("\nExit codes: 0 done, 1 a check failed, 2 wrong usage.");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Chore> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Chore::parse(&words)
    }

    #[test]
    fn the_command_line_is_read() {
        assert_eq!(parse("").unwrap(), Chore::Help);
        assert_eq!(parse("test --help").unwrap(), Chore::Help);
        assert_eq!(parse("test").unwrap(), Chore::Test { only: vec![] });
        assert_eq!(
            parse("test clippy tests").unwrap(),
            Chore::Test {
                only: vec!["clippy".to_owned(), "tests".to_owned()]
            }
        );
        assert_eq!(parse("generate --check").unwrap(), Chore::Generate { check: true });
        assert_eq!(parse("e2e boot").unwrap(), Chore::Boot);
        assert_eq!(
            parse("envtest --print-env").unwrap(),
            Chore::Envtest { print_env: true }
        );
    }

    #[test]
    fn wrong_usage_says_which_word_is_wrong() {
        for (line, word) in [
            ("tset", "tset"),
            ("test clipy", "clipy"),
            ("generate --chekc", "--chekc"),
            ("e2e bot", "bot"),
        ] {
            let message = parse(line).unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn help_names_every_step_and_tool() {
        let help = help();
        for step in steps::STEPS {
            assert!(help.contains(step.name));
        }
        for tool in tools::ALL {
            assert!(help.contains(tool.program));
        }
    }
}
