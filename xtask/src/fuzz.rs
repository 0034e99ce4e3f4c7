//! The step `fuzz`: every fuzz target for a few seconds.
//!
//! The targets are in a workspace of their own, because they need a nightly compiler and cargo-fuzz. Inputs that a run
//! finds interesting stay in `fuzz/corpus`, so the next run begins where this one ended.

mod compiler;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Mutex,
    thread,
};

use anyhow::{Context as _, Result, bail};

use crate::workspace::Workspace;

pub(crate) use compiler::run as compile;

/// How long each target runs in the test command.
const SECONDS: u32 = 8;

/// The longest input of a campaign, in bytes, for each target. All seeds are shorter, and long inputs take most of the time:
/// they repeat what shorter ones have.
const LONGEST: &[(&str, usize)] = &[
    ("admission_review", 640),
    ("cel", 192),
    ("certificate_request", 1024),
    ("documents", 400),
    ("http", 256),
    ("ignition", 448),
    ("ignition_merge", 128),
    ("iso_area", 512),
    ("kubelet_flags", 192),
    ("rules", 160),
    ("site", 640),
    ("unit_file", 288),
];

/// The longest input of a target that is new.
const LONGEST_OTHERWISE: usize = 1024;

/// The longest input of a target in a campaign, in bytes.
pub(crate) fn longest(target: &str) -> usize {
    let known = LONGEST.iter().find(|(name, _)| *name == target);
    known.map_or(LONGEST_OTHERWISE, |(_, bytes)| *bytes)
}

/// When a target ends, and with it how much optimising is worth the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    /// After some time.
    Seconds(u32),
    /// After a number of inputs.
    Inputs(u64),
}

impl Length {
    fn arguments(self, target: &str) -> Vec<String> {
        match self {
            Self::Seconds(seconds) => vec![format!("-max_total_time={seconds}")],
            Self::Inputs(inputs) => vec![format!("-runs={inputs}"), format!("-max_len={}", longest(target))],
        }
    }

    /// Where the targets are built. Both builds stay, because neither is of use to the other.
    fn folder(self) -> &'static str {
        match self {
            Self::Seconds(_) => "target/fuzz",
            Self::Inputs(_) => "target/fuzz-campaign",
        }
    }

    /// Optimising makes the build longer than a short search is.
    fn opt_level(self) -> &'static str {
        match self {
            Self::Seconds(_) => "1",
            Self::Inputs(_) => "3",
        }
    }

    /// To trace compared values, so as to try them, takes half the time. A campaign makes up for it with inputs, and begins
    /// with what short searches found. With one codegen unit, cargo-fuzz's default, targets run faster and take longer to build.
    fn build_arguments(self) -> &'static [&'static str] {
        match self {
            Self::Seconds(_) => &["--codegen-units", "16"],
            Self::Inputs(_) => &["--no-trace-compares"],
        }
    }
}

/// What a target did without breaking a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) inputs: u64,
    pub(crate) seconds: u64,
}

impl Figures {
    /// Inputs per second.
    pub(crate) fn rate(self) -> u64 {
        self.inputs / self.seconds.max(1)
    }
}

/// How many targets run at a time. Two, because that is what the machines of CI have.
const AT_A_TIME: usize = 2;

/// How the targets are built: coverage without a sanitizer, because nothing here is unsafe code and the build is short.
const BUILD: &[&str] = &["--fuzz-dir", "fuzz", "--sanitizer", "none"];

/// The step: every target for a few seconds. The answer is the reason if fuzzing is not possible on this machine.
pub(crate) fn run(workspace: &Workspace) -> Result<Option<String>> {
    check_format(workspace)?;
    if let Some(reason) = set_up(workspace) {
        println!("{reason}");
        return Ok(Some(reason));
    }
    search(
        workspace,
        Length::Seconds(SECONDS),
        &targets(workspace)?,
        &|_, _| Ok(()),
    )?;
    Ok(None)
}

/// Builds the targets and runs these, some at a time. `ended` hears of each target when it ends, with nothing if it broke a
/// property; that does not stop the others.
pub(crate) fn search(
    workspace: &Workspace,
    length: Length,
    targets: &[String],
    ended: &(dyn Fn(&str, Option<Figures>) -> Result<()> + Sync),
) -> Result<()> {
    let programs = build(workspace, length)?;
    let queue = Mutex::new(targets.iter());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    let work = || -> Result<Vec<&str>> {
        let mut failures = Vec::new();
        while let Some(target) = next() {
            let outcome = run_target(workspace, &programs.join(target), target, length);
            match &outcome {
                Ok(figures) => println!(
                    "{target}: {} inputs in {} s, {} inputs/s",
                    figures.inputs,
                    figures.seconds,
                    figures.rate()
                ),
                Err(error) => {
                    println!("{target}: {error:#}");
                    failures.push(target.as_str());
                }
            }
            ended(target, outcome.ok())?;
        }
        Ok(failures)
    };
    let mut failures = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            let Ok(found) = worker.join() else {
                bail!("the thread that waits for the targets failed");
            };
            failures.extend(found?);
            Ok(())
        })
    })?;
    if failures.is_empty() {
        return Ok(());
    }
    bail!("fuzzing broke a property in: {}", failures.join(", "));
}

/// Builds the targets. The answer is the folder in which the programs are: they are started from there, so that a change of
/// the sources in the meantime changes nothing for a search that is under way.
fn build(workspace: &Workspace, length: Length) -> Result<PathBuf> {
    let folder = workspace.root().join(length.folder());
    let status = nightly(workspace, "cargo")
        .args(["fuzz", "build"])
        .args(BUILD)
        .args(length.build_arguments())
        .arg("--target-dir")
        .arg(&folder)
        .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", length.opt_level())
        // A panic ends the target in any case, and code that unwinds has edges of its own.
        .env("CARGO_PROFILE_RELEASE_PANIC", "abort")
        .env(
            "RUSTC_WRAPPER",
            std::env::current_exe().context("this program has no path")?,
        )
        .status()
        .context("cargo-fuzz cannot be started")?;
    if !status.success() {
        bail!("the fuzz targets do not build ({status})");
    }
    let host = nightly(workspace, "rustc")
        .args(["--print", "host-tuple"])
        .output()
        .context("rustc cannot be started")?;
    let host = String::from_utf8_lossy(&host.stdout).trim().to_owned();
    Ok(folder.join(host).join("release"))
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
pub(crate) fn set_up(workspace: &Workspace) -> Option<String> {
    let listed = Command::new("rustup").args(["toolchain", "list"]).output();
    let has_nightly = listed.is_ok_and(|listed| lists_nightly(&String::from_utf8_lossy(&listed.stdout)));
    if !has_nightly {
        let how = "`rustup toolchain install nightly --profile minimal` brings it";
        return Some(format!("fuzzing: there is no nightly toolchain ({how})"));
    }
    let has_fuzz = || {
        let version = nightly(workspace, "cargo").args(["fuzz", "--version"]).output();
        version.is_ok_and(|version| version.status.success())
    };
    if has_fuzz() {
        return None;
    }
    println!("cargo-fuzz is missing, so installing it from crates.io: cargo install cargo-fuzz --locked");
    let installed = nightly(workspace, "cargo")
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

/// A program of the nightly toolchain, whatever toolchain this program was started with.
fn nightly(workspace: &Workspace, program: &str) -> Command {
    let mut command = Command::new("rustup");
    command
        .args(["run", "nightly", program])
        .current_dir(workspace.root())
        .env_remove("CARGO");
    command
}

/// The names of all targets.
pub(crate) fn targets(workspace: &Workspace) -> Result<Vec<String>> {
    let listed = nightly(workspace, "cargo")
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
fn run_target(workspace: &Workspace, program: &Path, target: &str, length: Length) -> Result<Figures> {
    let folder = |name: &str| Path::new("fuzz").join(name).join(target);
    let (corpus, artifacts) = (folder("corpus"), folder("artifacts"));
    for made in [&corpus, &artifacts] {
        let made = workspace.root().join(made);
        fs::create_dir_all(&made).with_context(|| format!("cannot make {}", made.display()))?;
    }
    let output = Command::new(program)
        .current_dir(workspace.root())
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        // Memory that an input gave back is for the next one, not for the system.
        .env("MALLOC_TRIM_THRESHOLD_", "268435456")
        .env("MALLOC_MMAP_THRESHOLD_", "33554432")
        // Weighing inputs by the rarity of what they reach takes far longer than running them.
        .args(["-rss_limit_mb=2048", "-seed=1", "-entropic=0"])
        .args(length.arguments(target))
        .args([corpus, folder("seeds")])
        .output()
        .with_context(|| format!("{} cannot be started", program.display()))?;
    read_outcome(target, &output)
}

fn read_outcome(target: &str, output: &Output) -> Result<Figures> {
    let text = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return text
            .lines()
            .rev()
            .find_map(read_figures)
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

/// From libFuzzer's last line, `Done 120 runs in 9 second(s)`.
fn read_figures(line: &str) -> Option<Figures> {
    let (inputs, seconds) = line.strip_prefix("Done ")?.split_once(" runs in ")?;
    Some(Figures {
        inputs: inputs.parse().ok()?,
        seconds: seconds.strip_suffix(" second(s)")?.parse().ok()?,
    })
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
        let figures = read_outcome("site", &output(0, stderr)).unwrap();
        assert_eq!(
            figures,
            Figures {
                inputs: 120,
                seconds: 9
            }
        );
        assert_eq!(figures.rate(), 13);
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
            said.ends_with("--sanitizer none site fuzz/artifacts/site/crash-1"),
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
