//! The step `fuzz`: every fuzz target for a few seconds.
//!
//! The targets are in a workspace of their own, because they need a nightly compiler and cargo-fuzz. Inputs that a run
//! finds interesting stay in `fuzz/corpus`, so the next run begins where this one ended.

use std::{
    fs,
    process::{Command, Output},
    thread,
};

use anyhow::{Context as _, Result, anyhow, bail};

use crate::workspace::Workspace;

/// How long each target runs in the test command.
const SECONDS: u32 = 8;

/// When a target ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// After some time.
    Seconds(u32),
    /// After a number of inputs.
    Inputs(u64),
}

impl Length {
    fn argument(self) -> String {
        match self {
            Self::Seconds(seconds) => format!("-max_total_time={seconds}"),
            Self::Inputs(inputs) => format!("-runs={inputs}"),
        }
    }
}

/// How a search ended that broke no property.
#[derive(Debug)]
pub(crate) enum Search {
    /// What each target did.
    Done(Vec<(String, String)>),
    /// Why fuzzing is not possible on this machine.
    NotPossible(String),
}

/// How many targets run at a time. Two, because that is what the machines of CI have.
const AT_A_TIME: usize = 2;

/// How the targets are built: coverage without a sanitizer, because nothing here is unsafe code and the build is short.
const BUILD: &[&str] = &["--fuzz-dir", "fuzz", "--sanitizer", "none", "--codegen-units", "16"];

/// The step: every target for a few seconds. The answer is the reason if fuzzing is not possible on this machine.
pub(crate) fn run(workspace: &Workspace) -> Result<Option<String>> {
    check_format(workspace)?;
    Ok(match search(workspace, Length::Seconds(SECONDS))? {
        Search::Done(_) => None,
        Search::NotPossible(reason) => {
            println!("{reason}");
            Some(reason)
        }
    })
}

/// Runs every target.
pub(crate) fn search(workspace: &Workspace, length: Length) -> Result<Search> {
    if let Some(reason) = set_up(workspace) {
        return Ok(Search::NotPossible(reason));
    }
    let status = cargo_fuzz(workspace, "build")
        .status()
        .context("cargo-fuzz cannot be started")?;
    if !status.success() {
        bail!("the fuzz targets do not build ({status})");
    }
    let targets = targets(workspace)?;
    let (mut done, mut failures) = (Vec::new(), Vec::new());
    for group in targets.chunks(AT_A_TIME) {
        let outcomes: Vec<Result<String>> = thread::scope(|scope| {
            let running: Vec<_> = group
                .iter()
                .map(|target| scope.spawn(move || run_target(workspace, target, length)))
                .collect();
            let joined = running.into_iter().map(thread::ScopedJoinHandle::join);
            joined
                .map(|outcome| outcome.unwrap_or_else(|_| Err(anyhow!("the thread that waits for it failed"))))
                .collect()
        });
        for (target, outcome) in group.iter().zip(outcomes) {
            match outcome {
                Ok(figures) => {
                    println!("{target}: {figures}");
                    done.push((target.clone(), figures));
                }
                Err(error) => {
                    println!("{target}: {error:#}");
                    failures.push(target.as_str());
                }
            }
        }
    }
    if failures.is_empty() {
        return Ok(Search::Done(done));
    }
    bail!("fuzzing broke a property in: {}", failures.join(", "));
}

/// The step `format` does not see the workspace of the targets.
fn check_format(workspace: &Workspace) -> Result<()> {
    let status = workspace
        .cargo()
        .args(["fmt", "--check", "--manifest-path", "fuzz/Cargo.toml"])
        .status()
        .context("cargo cannot be started")?;
    if !status.success() {
        bail!("the fuzz targets are not formatted: `cargo fmt --manifest-path fuzz/Cargo.toml`");
    }
    Ok(())
}

/// Looks for the nightly compiler and cargo-fuzz, installs the latter if it is missing, and says what stays missing.
fn set_up(workspace: &Workspace) -> Option<String> {
    let listed = Command::new("rustup").args(["toolchain", "list"]).output();
    let has_nightly = listed.is_ok_and(|listed| lists_nightly(&String::from_utf8_lossy(&listed.stdout)));
    if !has_nightly {
        let how = "`rustup toolchain install nightly --profile minimal` brings it";
        return Some(format!("fuzzing: there is no nightly toolchain ({how})"));
    }
    let has_fuzz = || {
        let version = nightly_cargo(workspace).args(["fuzz", "--version"]).output();
        version.is_ok_and(|version| version.status.success())
    };
    if has_fuzz() {
        return None;
    }
    println!("cargo-fuzz is missing, so installing it from crates.io: cargo install cargo-fuzz --locked");
    let installed = nightly_cargo(workspace)
        .args(["install", "cargo-fuzz", "--locked"])
        .status();
    if installed.is_ok_and(|status| status.success()) && has_fuzz() {
        return None;
    }
    Some("fuzzing: cargo-fuzz is missing and cannot be installed (`cargo install cargo-fuzz --locked`)".to_owned())
}

fn lists_nightly(toolchains: &str) -> bool {
    toolchains.lines().any(|line| line.starts_with("nightly-"))
}

/// cargo of the nightly toolchain, whatever toolchain this program was started with.
fn nightly_cargo(workspace: &Workspace) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", "nightly", "cargo"])
        .current_dir(workspace.root())
        .env_remove("CARGO");
    command
}

fn cargo_fuzz(workspace: &Workspace, subcommand: &str) -> Command {
    let mut command = nightly_cargo(workspace);
    command
        .args(["fuzz", subcommand])
        .args(BUILD)
        .arg("--target-dir")
        .arg(workspace.root().join("target/fuzz"));
    command
}

fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let listed = nightly_cargo(workspace)
        .args(["fuzz", "list", "--fuzz-dir", "fuzz"])
        .output()
        .context("cargo-fuzz cannot be started")?;
    let names: Vec<String> = String::from_utf8_lossy(&listed.stdout)
        .lines()
        .map(|line| line.trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    if !listed.status.success() || names.is_empty() {
        bail!("`cargo fuzz list` lists no target");
    }
    Ok(names)
}

/// Runs one target and gives its figures, or what was found and how to see it again.
fn run_target(workspace: &Workspace, target: &str, length: Length) -> Result<String> {
    let corpus = workspace.root().join("fuzz/corpus").join(target);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let output = cargo_fuzz(workspace, "run")
        .arg(target)
        .arg(corpus)
        .arg(workspace.root().join("fuzz/seeds").join(target))
        // Weighing inputs by the rarity of what they reach takes far longer than running them.
        .args(["--", "-rss_limit_mb=2048", "-seed=1", "-entropic=0"])
        .arg(length.argument())
        .output()
        .context("cargo-fuzz cannot be started")?;
    read_outcome(target, &output)
}

fn read_outcome(target: &str, output: &Output) -> Result<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        let done = text.lines().rev().find_map(|line| line.strip_prefix("Done "));
        return done
            .map(str::to_owned)
            .with_context(|| format!("it ended without having run\n{text}"));
    }
    let artifact = text
        .lines()
        .find_map(|line| line.split_once("Test unit written to ").map(|(_, path)| path.trim()));
    let Some(artifact) = artifact else {
        bail!("it ended with {} and left no input\n{text}", output.status);
    };
    let said: Vec<&str> = text
        .lines()
        .skip_while(|line| !line.contains("panicked at"))
        .take_while(|line| !line.starts_with("stack backtrace") && !line.starts_with("note: "))
        .collect();
    bail!(
        "a property broke\n{}\nthe input is {artifact}; to see it again:\n  cargo +nightly fuzz run {} {target} {artifact}",
        said.join("\n"),
        BUILD.join(" ")
    );
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn output(code: i32, stderr: &str) -> Output {
        Output {
            status: std::process::ExitStatus::from_raw(code << 8),
            stdout: Vec::new(),
            stderr: stderr.as_bytes().to_vec(),
        }
    }

    #[test]
    fn a_good_run_gives_its_figures() {
        let stderr = "INFO: seed\n#2 INITED\nDone 120 runs in 9 second(s)\n";
        assert_eq!(
            read_outcome("site", &output(0, stderr)).unwrap(),
            "120 runs in 9 second(s)"
        );
    }

    #[test]
    fn a_run_that_ran_nothing_is_no_success() {
        assert!(read_outcome("site", &output(0, "INFO: seed\n")).is_err());
    }

    #[test]
    fn a_crash_names_the_input_and_how_to_see_it_again() {
        let stderr = "INFO: seed\nthread 'x' panicked at src/lib.rs:1:2:\nleft: 1\nstack backtrace:\n 0: a\n\
                      artifact_prefix='x'; Test unit written to fuzz/artifacts/site/crash-1\n";
        let said = read_outcome("site", &output(77, stderr)).unwrap_err().to_string();
        assert!(said.contains("left: 1"), "{said}");
        assert!(!said.contains("0: a"), "{said}");
        assert!(
            said.ends_with("--codegen-units 16 site fuzz/artifacts/site/crash-1"),
            "{said}"
        );
    }

    #[test]
    fn nightly_is_looked_for_by_its_whole_name() {
        assert!(lists_nightly(
            "stable-x86_64-unknown-linux-gnu (default)\nnightly-x86_64-unknown-linux-gnu\n"
        ));
        assert!(!lists_nightly(
            "stable-x86_64-unknown-linux-gnu\nmy-nightly\nno installed toolchains\n"
        ));
    }
}
