//! The steps of `cargo xtask test`: a table, and the loop that runs it.
//!
//! A later check is one more entry in [`STEPS`]. A step that cannot run on this machine is left out and named in the
//! closing lines; a step that fails ends the run.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use berth_testing::{Operator, RequestJudge};

use crate::{
    architecture, e2e,
    envtest::{self, Provided},
    fuzz, generate, node, supply, test_run,
    test_totals::TestTotals,
    tools::{
        self, CLOUD_INIT, CONTAINERD, COREOS_INSTALLER, ETCD, HAPROXY, IGNITION, IGNITION_VALIDATE, POSTGRES, PYYAML,
        SYSTEMD, SYSTEMD_ANALYZE, Tool,
    },
    workspace::Workspace,
};

/// Set to 1 for the tests when every tool is installed: a test that finds its tool missing must then fail.
const REQUIRE_TOOLS: &str = "BERTH_REQUIRE_TOOLS";

/// One check of the workspace.
#[derive(Debug)]
pub(crate) struct TestStep {
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
    /// All tests, counted.
    Tests,
    /// A check that is part of this program.
    Function(fn(&Workspace) -> Result<()>),
    /// A check that finds out itself whether it can run here; its answer is the reason if it cannot.
    Possible(fn(&Workspace) -> Result<Option<String>>),
}

/// All steps, in the order in which they run: quick ones first, the tests last.
pub(crate) const STEPS: &[TestStep] = &[
    TestStep {
        name: "format",
        why: "the code is formatted as rustfmt formats it",
        action: Action::Cargo(&["fmt", "--all", "--check"], &[]),
        needs: &[],
        better_with: &[],
    },
    TestStep {
        name: "architecture",
        why: "crates use only what they may use, files stay readable, the map is complete",
        action: Action::Function(architecture::check),
        needs: &[],
        better_with: &[],
    },
    TestStep {
        name: "licences",
        why: "what Berth is built from may be used and comes from crates.io",
        action: Action::Function(supply::licences),
        needs: &[],
        better_with: &[],
    },
    TestStep {
        name: "yanked",
        why: "no version in a lock file was withdrawn",
        action: Action::Possible(supply::yanked),
        needs: &[],
        better_with: &[],
    },
    TestStep {
        name: "advisories",
        why: "nothing that Berth is built from has a known vulnerability",
        action: Action::Possible(supply::advisories),
        needs: &[],
        better_with: &[],
    },
    TestStep {
        name: "generated",
        why: "man pages and reference pages are current",
        action: Action::Function(generate::check),
        needs: &[],
        better_with: &[],
    },
    TestStep {
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
    TestStep {
        name: "without-up",
        why: "the executable for clusters builds without the emulator",
        action: Action::Cargo(
            &[
                "clippy",
                "--workspace",
                "--no-default-features",
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
    TestStep {
        name: "rustdoc",
        why: "the documentation builds and its links lead somewhere",
        action: Action::Cargo(
            &["doc", "--workspace", "--no-deps", "--locked"],
            &[("RUSTDOCFLAGS", "-D warnings")],
        ),
        needs: &[],
        better_with: &[],
    },
    TestStep {
        name: "node",
        why: "the executable for nodes is static and small",
        action: Action::Function(node::build),
        needs: &[],
        better_with: &[],
    },
    TestStep {
        name: "fuzz",
        why: "no input of a short search breaks a reader or a merge",
        action: Action::Possible(fuzz::run),
        needs: &[],
        better_with: &[],
    },
    TestStep {
        name: "boot",
        why: "a whole machine registers with every label at its first boot",
        action: Action::Possible(e2e::run_boot),
        needs: e2e::TOOLS,
        better_with: &[],
    },
    TestStep {
        name: "tests",
        why: "all tests of all crates pass",
        action: Action::Tests,
        needs: &[],
        better_with: &[
            CONTAINERD,
            COREOS_INSTALLER,
            ETCD,
            HAPROXY,
            IGNITION,
            IGNITION_VALIDATE,
            POSTGRES,
            PYYAML,
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
    /// How long each step took, those that failed among them.
    times: Vec<(&'static str, Duration)>,
    not_asked_for: Vec<&'static str>,
    could_not_run: Vec<String>,
    totals: Option<TestTotals>,
}

/// Sets the machine up, runs the steps (or only the named ones) and says how it went.
pub(crate) fn run(workspace: &Workspace, only: &[String]) -> Result<()> {
    let asked_for = |step: &&TestStep| only.is_empty() || only.iter().any(|name| name == step.name);
    let steps: Vec<&TestStep> = STEPS.iter().filter(asked_for).collect();
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
        report.finished("set-up", start.elapsed());
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
        report.finished(step.name, step_start.elapsed());
        match outcome {
            Ok(true) => report.ran.push(step.name),
            Ok(false) => {}
            Err(error) => {
                print!("{}", report.table());
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

impl TestStep {
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
            Action::Tests => {
                let mut complete = self.better_with.iter().all(Tool::is_installed);
                let mut environment = Vec::new();
                match envtest::provide(workspace, &|line| println!("{line}"))? {
                    Provided::Programs(programs) => {
                        environment = envtest::environment(&programs);
                        let judges = [
                            (
                                "certificate requests as Kubernetes reads them",
                                RequestJudge::find().is_some(),
                            ),
                            (
                                "rendering as the Machine Config Operator does",
                                Operator::find().is_some(),
                            ),
                        ];
                        for (what, _) in judges.iter().filter(|(_, is_here)| !is_here) {
                            complete = false;
                            let reason = format!("{what}: install Go to build the program");
                            report.could_not_run.push(reason);
                        }
                    }
                    Provided::Not(reason) => {
                        complete = false;
                        report
                            .could_not_run
                            .push(format!("tests on a real Kubernetes API server and kubelet: {reason}"));
                    }
                }
                if complete {
                    environment.push((REQUIRE_TOOLS, "1".into()));
                }
                let outcome = test_run::run(workspace, &environment)?;
                report.totals = Some(outcome.totals);
                if !outcome.failed.is_empty() || outcome.totals.failed > 0 {
                    bail!("failures in: {}", outcome.failed.join(", "));
                }
                if outcome.totals.passed == 0 {
                    bail!("no test ran");
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

impl Report {
    fn finished(&mut self, name: &'static str, duration: Duration) {
        println!("-- {name}: {}", in_words(duration));
        self.times.push((name, duration));
    }

    /// What took how long, in the order in which it ran.
    fn table(&self) -> String {
        let rows = self.times.iter();
        let rows = rows.map(|(name, duration)| format!("  {name:<13} {:>12}\n", in_words(*duration)));
        format!("\nsteps:\n{}", rows.collect::<String>())
    }

    fn closing_lines(&self, duration: Duration) -> String {
        let mut lines = vec![
            self.table(),
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
        assert!(matches!(STEPS.last().unwrap().action, Action::Tests));
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
    fn closing_lines_name_what_was_left_out_and_end_with_the_figures() {
        let report = Report {
            ran: vec!["format", "tests"],
            times: vec![
                ("format", Duration::from_millis(1900)),
                ("tests", Duration::from_secs(73)),
            ],
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
steps:
  format               1.9 s
  tests           1 min 13 s

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
steps:

all good in 2.5 s: format, tests
nothing was left out on this machine
12 passed, 0 failed
"
        );
    }
}
