//! The steps of `cargo xtask test`: a table, and the loop that runs it.
//!
//! A later check is one more entry in [`STEPS`]. A step that cannot run on this machine is left out and named in the
//! closing lines; a step that fails ends the run.

use std::{
    io::{self, BufRead as _, BufReader, Write},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};

use crate::{
    architecture, e2e,
    envtest::{self, Provided},
    fuzz, generate, node,
    test_totals::TestTotals,
    tools::{
        self, CLOUD_INIT, CONTAINERD, COREOS_INSTALLER, ETCD, HAPROXY, IGNITION, IGNITION_VALIDATE, POSTGRES, SYSTEMD,
        SYSTEMD_ANALYZE, Tool,
    },
    workspace::Workspace,
};

/// Set to 1 for the tests when every tool is installed: a test that finds its tool missing must then fail.
const REQUIRE_TOOLS: &str = "BERTH_REQUIRE_TOOLS";

/// One check of the workspace.
#[derive(Debug)]
pub(crate) struct Step {
    /// One word, or a few joined by hyphens: it can be given on the command line.
    pub(crate) name: &'static str,
    /// One line for `cargo xtask help` and the step's heading.
    pub(crate) why: &'static str,
    action: Action,
    /// Without these the step cannot run at all.
    needs: &'static [Tool],
    /// Without these the step runs, but leaves out what the tool is used for.
    better_with: &'static [Tool],
}

#[derive(Debug)]
enum Action {
    /// A cargo command, with further environment.
    Cargo(&'static [&'static str], &'static [(&'static str, &'static str)]),
    /// A cargo command whose `test result:` lines are counted.
    CargoTest(&'static [&'static str]),
    /// A check that is part of this program.
    Function(fn(&Workspace) -> Result<()>),
    /// A check that finds out itself whether it can run here; its answer is the reason if it cannot.
    Possible(fn(&Workspace) -> Result<Option<String>>),
}

/// All steps, in the order in which they run: quick ones first, the tests last.
pub(crate) const STEPS: &[Step] = &[
    Step {
        name: "format",
        why: "the code is formatted as rustfmt formats it",
        action: Action::Cargo(&["fmt", "--all", "--check"], &[]),
        needs: &[],
        better_with: &[],
    },
    Step {
        name: "architecture",
        why: "crates use only what they may use, files stay readable, the map is complete",
        action: Action::Function(architecture::check),
        needs: &[],
        better_with: &[],
    },
    Step {
        name: "generated",
        why: "man pages, completions and reference pages are current",
        action: Action::Function(generate::check),
        needs: &[],
        better_with: &[],
    },
    Step {
        name: "clippy",
        why: "no lint is broken",
        action: Action::Cargo(
            &[
                "clippy",
                "--workspace",
                "--all-targets",
                "--locked",
                "--",
                "-D",
                "warnings",
            ],
            &[],
        ),
        needs: &[],
        better_with: &[],
    },
    Step {
        name: "rustdoc",
        why: "the documentation builds and its links lead somewhere",
        action: Action::Cargo(
            &["doc", "--workspace", "--no-deps", "--locked"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
        needs: &[],
        better_with: &[],
    },
    Step {
        name: "node",
        why: "the executable for nodes is static and small",
        action: Action::Function(node::build),
        needs: &[],
        better_with: &[],
    },
    Step {
        name: "fuzz",
        why: "no input of a short search breaks a reader or a merge",
        action: Action::Possible(fuzz::run),
        needs: &[],
        better_with: &[],
    },
    Step {
        name: "boot",
        why: "a whole machine registers with every label at its first boot",
        action: Action::Possible(e2e::run_boot),
        needs: e2e::TOOLS,
        better_with: &[],
    },
    Step {
        name: "tests",
        why: "all tests of all crates pass",
        action: Action::CargoTest(&["test", "--workspace", "--locked", "--no-fail-fast"]),
        needs: &[],
        better_with: &[
            CONTAINERD,
            COREOS_INSTALLER,
            ETCD,
            HAPROXY,
            IGNITION,
            IGNITION_VALIDATE,
            POSTGRES,
            SYSTEMD,
            SYSTEMD_ANALYZE,
            CLOUD_INIT,
        ],
    },
];

/// What a run did, for the closing lines.
#[derive(Debug, Default)]
struct Report {
    ran: Vec<&'static str>,
    not_asked_for: Vec<&'static str>,
    could_not_run: Vec<String>,
    totals: Option<TestTotals>,
}

/// Sets the machine up, runs the steps (or only the named ones) and says how it went.
pub(crate) fn run(workspace: &Workspace, only: &[String]) -> Result<()> {
    let asked_for = |step: &&Step| only.is_empty() || only.iter().any(|name| name == step.name);
    let steps: Vec<&Step> = STEPS.iter().filter(asked_for).collect();
    let mut report = Report {
        not_asked_for: STEPS
            .iter()
            .filter(|step| !asked_for(step))
            .map(|step| step.name)
            .collect(),
        ..Report::default()
    };

    let mut tools: Vec<&Tool> = Vec::new();
    for tool in steps.iter().flat_map(|step| step.needs.iter().chain(step.better_with)) {
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    let start = now();
    if !tools.is_empty() {
        heading("set-up", "the programs that tests compare with");
        tools::set_up(&tools);
        finished("set-up", start.elapsed());
    }

    for step in steps {
        if let Some(tool) = step.needs.iter().find(|tool| !tool.is_installed()) {
            report.could_not_run.push(format!(
                "step {}: {} is missing ({})",
                step.name, tool.program, tool.source
            ));
            continue;
        }
        report
            .could_not_run
            .extend(missing(step.better_with, Tool::is_installed));
        heading(step.name, step.why);
        let step_start = now();
        let outcome = step.run(workspace, &mut report);
        finished(step.name, step_start.elapsed());
        match outcome {
            Ok(true) => report.ran.push(step.name),
            Ok(false) => {}
            Err(error) => {
                if let Some(totals) = report.totals {
                    println!("{}", summary(totals));
                }
                return Err(error.context(format!("step `{}` failed", step.name)));
            }
        }
    }
    print!("{}", report.closing_lines(start.elapsed()));
    Ok(())
}

impl Step {
    /// Whether the step ran. If not, the report has the reason.
    fn run(&self, workspace: &Workspace, report: &mut Report) -> Result<bool> {
        match self.action {
            Action::Cargo(arguments, environment) => {
                let mut command = workspace.cargo();
                command.args(arguments).envs(environment.iter().copied());
                let status = command.status().context("cargo cannot be started")?;
                if !status.success() {
                    bail!("`cargo {}` ended with {status}", arguments.join(" "));
                }
                Ok(true)
            }
            Action::CargoTest(arguments) => {
                let mut command = workspace.cargo();
                command.args(arguments);
                let mut complete = self.better_with.iter().all(Tool::is_installed);
                match envtest::provide(workspace, &|line| println!("{line}"))? {
                    Provided::Programs(programs) => {
                        command.envs(envtest::environment(&programs));
                    }
                    Provided::Not(reason) => {
                        complete = false;
                        report
                            .could_not_run
                            .push(format!("tests on a real Kubernetes API server and kubelet: {reason}"));
                    }
                }
                if complete {
                    command.env(REQUIRE_TOOLS, "1");
                }
                let totals = report.totals.get_or_insert_default();
                let success = run_counting(&mut command, io::stdout(), totals)?;
                if !success || totals.failed > 0 {
                    bail!("`cargo {}` found failures", arguments.join(" "));
                }
                if totals.passed == 0 {
                    bail!("`cargo {}` ran no test at all", arguments.join(" "));
                }
                Ok(true)
            }
            Action::Function(check) => check(workspace).map(|()| true),
            Action::Possible(check) => {
                let reason = check(workspace)?;
                let ran = reason.is_none();
                report.could_not_run.extend(reason);
                Ok(ran)
            }
        }
    }
}

/// Runs a test command, passes its output through unchanged, and adds its figures to `totals`.
fn run_counting(command: &mut Command, mut to: impl Write, totals: &mut TestTotals) -> Result<bool> {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo cannot be started")?;
    let mut output = BufReader::new(child.stdout.take().context("cargo has no output")?);
    let mut line = Vec::new();
    // By bytes, because a test may print what is not UTF-8.
    while output.read_until(b'\n', &mut line)? > 0 {
        to.write_all(&line)?;
        to.flush()?;
        if let Some(result) = TestTotals::from_line(&String::from_utf8_lossy(&line)) {
            *totals += result;
        }
        line.clear();
    }
    Ok(child.wait()?.success())
}

impl Report {
    fn closing_lines(&self, duration: Duration) -> String {
        let mut lines = vec![
            String::new(),
            format!("all good in {}: {}", in_words(duration), self.ran.join(", ")),
        ];
        if !self.not_asked_for.is_empty() {
            lines.push(format!("not asked for: {}", self.not_asked_for.join(", ")));
        }
        let ignored = self.totals.map_or(0, |totals| totals.ignored);
        let filtered = self.totals.map_or(0, |totals| totals.filtered);
        let mut left_out = self.could_not_run.clone();
        if ignored > 0 {
            left_out.push(format!(
                "tests or documentation examples that are marked as ignored: {ignored}"
            ));
        }
        if filtered > 0 {
            left_out.push(format!("tests that a filter left out: {filtered}"));
        }
        if left_out.is_empty() {
            if self.not_asked_for.is_empty() {
                lines.push("nothing was left out on this machine".to_owned());
            }
        } else {
            lines.push("did NOT run on this machine:".to_owned());
            lines.extend(left_out.iter().map(|what| format!("  - {what}")));
        }
        if let Some(totals) = self.totals {
            lines.push(summary(totals));
        }
        lines.push(String::new());
        lines.join("\n")
    }
}

/// One line for each tool that is not there, saying what is left out without it.
fn missing(tools: &[Tool], is_installed: impl Fn(&Tool) -> bool) -> Vec<String> {
    tools
        .iter()
        .filter(|tool| !is_installed(tool))
        .map(|tool| format!("{}: {} is missing ({})", tool.used_for, tool.program, tool.source))
        .collect()
}

/// The last line of a run; scripts read it.
fn summary(totals: TestTotals) -> String {
    format!("{} passed, {} failed", totals.passed, totals.failed)
}

fn heading(name: &str, why: &str) {
    println!("\n== {name}: {why}");
}

fn finished(name: &str, duration: Duration) {
    println!("-- {name}: {}", in_words(duration));
}

fn in_words(duration: Duration) -> String {
    match duration.as_secs() {
        0..60 => format!("{:.1} s", duration.as_secs_f64()),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a step took is for the reader; nothing is decided from it"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn steps_have_distinct_names_and_the_tests_come_last() {
        let names: BTreeSet<&str> = STEPS.iter().map(|step| step.name).collect();
        assert_eq!(names.len(), STEPS.len());
        assert!(matches!(STEPS.last().unwrap().action, Action::CargoTest(_)));
    }

    #[test]
    fn every_tool_belongs_to_a_step() {
        for tool in tools::ALL {
            assert!(
                STEPS
                    .iter()
                    .any(|step| step.needs.contains(tool) || step.better_with.contains(tool)),
                "{}",
                tool.program
            );
        }
    }

    #[test]
    fn output_is_counted_over_all_lines() {
        let mut totals = TestTotals::default();
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "printf 'test result: ok. 2 passed; 0 failed; 0 ignored\n\\377\n'; \
             printf 'test result: FAILED. 1 passed; 1 failed; 0 ignored'; exit 101",
        ]);
        let mut passed_on = Vec::new();
        assert!(!run_counting(&mut command, &mut passed_on, &mut totals).unwrap());
        assert!(passed_on.ends_with(b"1 failed; 0 ignored"));
        assert!(passed_on.contains(&0o377));
        assert_eq!(summary(totals), "3 passed, 1 failed");
    }

    #[test]
    fn closing_lines_name_what_was_left_out_and_end_with_the_figures() {
        let report = Report {
            ran: vec!["format", "tests"],
            not_asked_for: vec!["clippy"],
            could_not_run: missing(&[IGNITION_VALIDATE, SYSTEMD], |tool| *tool == SYSTEMD),
            totals: Some(TestTotals {
                passed: 12,
                ignored: 1,
                ..TestTotals::default()
            }),
        };
        assert_eq!(
            report.closing_lines(Duration::from_secs(75)),
            "\n\
all good in 1 min 15 s: format, tests
not asked for: clippy
did NOT run on this machine:
  - comparison of Ignition configs with the reference validator: ignition-validate is missing (Debian package `ignition`)
  - tests or documentation examples that are marked as ignored: 1
12 passed, 0 failed
"
        );
    }

    #[test]
    fn closing_lines_of_a_whole_run() {
        let report = Report {
            ran: vec!["format", "tests"],
            totals: Some(TestTotals {
                passed: 12,
                ..TestTotals::default()
            }),
            ..Report::default()
        };
        assert_eq!(
            report.closing_lines(Duration::from_millis(2500)),
            "\n\
all good in 2.5 s: format, tests
nothing was left out on this machine
12 passed, 0 failed
"
        );
    }
}
