//! Searches that take longer than the test command may: `cargo xtask campaign`.
//!
//! What they found, and how much they tried, is in `docs/campaigns.md`: each campaign replaces its own section there.

use std::{
    fs,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use berth_testing::{KILLS, LOAD_MINUTES, LOAD_REPORT};

use crate::{fuzz, workspace::Workspace};

/// How many inputs each fuzz target gets.
const INPUTS: u64 = 10_000_000;

/// How many processes each kill test kills.
const KILL_COUNT: usize = 100;

/// For how many minutes the load goes on.
const LOAD_TIME: u64 = 60;

const PAGE: &str = "docs/campaigns.md";

/// The tests that kill processes: package, test program, and the part of their names that they share.
const KILL_TESTS: &[(&str, &str, &str)] = &[
    ("berth", "cli", "no_kill_loses_a_confirmed_write"),
    ("berth-workflow", "engine", "a_killed_process_loses_nothing"),
];

/// Which search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Campaign {
    /// Every fuzz target, for a number of inputs.
    Fuzz {
        /// Inputs for each target.
        inputs: u64,
    },
    /// Real process kills during document writes and relabelling, on `SQLite` and `PostgreSQL`.
    Kill {
        /// Kills for each test.
        kills: usize,
    },
    /// Load on a real API server with everything that can go wrong around Berth.
    Load {
        /// For how long.
        minutes: u64,
    },
}

impl Campaign {
    /// From the words after `campaign`.
    pub(crate) fn parse(words: &[&str]) -> Result<Self> {
        let number = |text: &str| -> Result<u64> {
            let number = text.parse().ok().filter(|number| *number > 0);
            number.with_context(|| format!("`{text}` is not a number above 0"))
        };
        Ok(match words {
            ["fuzz"] => Self::Fuzz { inputs: INPUTS },
            ["fuzz", inputs] => Self::Fuzz {
                inputs: number(inputs)?,
            },
            ["kill"] => Self::Kill { kills: KILL_COUNT },
            ["kill", kills] => Self::Kill {
                kills: usize::try_from(number(kills)?)?,
            },
            ["load"] => Self::Load { minutes: LOAD_TIME },
            ["load", minutes] => Self::Load {
                minutes: number(minutes)?,
            },
            [] => bail!("say which campaign: `campaign fuzz`, `campaign kill` or `campaign load`"),
            [unknown, ..] => bail!("there is no campaign `{unknown}`"),
        })
    }

    /// Runs it and writes its section.
    pub(crate) fn run(self, workspace: &Workspace) -> Result<()> {
        let start = now();
        let (name, mut lines) = match self {
            Self::Fuzz { inputs } => ("fuzz", fuzz_lines(workspace, inputs)?),
            Self::Kill { kills } => ("kill", kill_lines(workspace, kills)?),
            Self::Load { minutes } => ("load", load_lines(workspace, minutes)?),
        };
        lines.push(String::new());
        lines.push(format!(
            "Version {}, {} minutes.",
            version(workspace)?,
            minutes(start.elapsed())
        ));
        let path = workspace.root().join(PAGE);
        let page = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let page = with_section(&page, name, &lines.join("\n"))?;
        fs::write(&path, page).with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}\nwritten to {PAGE}", lines.join("\n"));
        Ok(())
    }
}

fn fuzz_lines(workspace: &Workspace, inputs: u64) -> Result<Vec<String>> {
    let figures = match fuzz::search(workspace, fuzz::Length::Inputs(inputs))? {
        fuzz::Search::Done(figures) => figures,
        fuzz::Search::NotPossible(reason) => bail!("{reason}"),
    };
    let mut lines = vec![
        format!("Every target got at least {inputs} inputs; no property broke."),
        String::new(),
        "| target | what it did |".to_owned(),
        "|---|---|".to_owned(),
    ];
    lines.extend(
        figures
            .iter()
            .map(|(target, figures)| format!("| `{target}` | {figures} |")),
    );
    Ok(lines)
}

fn kill_lines(workspace: &Workspace, kills: usize) -> Result<Vec<String>> {
    let mut lines = vec![
        format!("Each test killed {kills} processes with SIGKILL; no confirmed write and no outcome was lost."),
        String::new(),
        "| tests | on | time |".to_owned(),
        "|---|---|---|".to_owned(),
    ];
    for (package, program, name) in KILL_TESTS {
        for database in ["sqlite", "postgres"] {
            let start = now();
            let test = format!("{name}_on_{database}");
            let status = workspace
                .cargo()
                .args(["test", "--locked", "--package", package, "--test", program, &test])
                .env(KILLS, kills.to_string())
                .env(berth_testing::REQUIRE_TOOLS, "1")
                .status()
                .context("cargo cannot be started")?;
            if !status.success() {
                bail!("`{test}` of {package} failed with {kills} kills");
            }
            lines.push(format!(
                "| `{package}`: `{test}` | {database} | {} s |",
                start.elapsed().as_secs()
            ));
        }
    }
    Ok(lines)
}

/// The figures are the test's own.
fn load_lines(workspace: &Workspace, minutes: u64) -> Result<Vec<String>> {
    let folder = tempfile::tempdir().context("no temporary folder")?;
    let report = folder.path().join("report.md");
    let status = workspace
        .cargo()
        .args(["test", "--locked", "--package", "berth", "--test", "load"])
        .args(["nothing_is_lost_under_load", "--", "--nocapture"])
        .env(LOAD_MINUTES, minutes.to_string())
        .env(LOAD_REPORT, &report)
        .env(berth_testing::REQUIRE_TOOLS, "1")
        .status()
        .context("cargo cannot be started")?;
    if !status.success() {
        bail!("the load test failed; its last lines name the seed and the folder with the logs");
    }
    let report = fs::read_to_string(&report).with_context(|| format!("cannot read {}", report.display()))?;
    Ok(report.lines().map(str::to_owned).collect())
}

/// The page with the text of one section replaced.
fn with_section(page: &str, name: &str, text: &str) -> Result<String> {
    let begin = format!("<!-- {name} -->\n");
    let end = format!("<!-- end of {name} -->\n");
    let (before, rest) = page
        .split_once(&begin)
        .with_context(|| format!("{PAGE} has no line `{}`", begin.trim()))?;
    let (_, after) = rest
        .split_once(&end)
        .with_context(|| format!("{PAGE} has no line `{}`", end.trim()))?;
    Ok(format!("{before}{begin}{text}\n{end}{after}"))
}

fn version(workspace: &Workspace) -> Result<String> {
    let output = std::process::Command::new("git")
        .current_dir(workspace.root())
        .args(["describe", "--always", "--dirty"])
        .output()
        .context("git cannot be started")?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn minutes(duration: Duration) -> u64 {
    duration.as_secs().div_ceil(60)
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long it took is for the reader; nothing is decided from it"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn campaigns_are_read() {
        assert_eq!(
            Campaign::parse(&["fuzz"]).unwrap(),
            Campaign::Fuzz { inputs: 10_000_000 }
        );
        assert_eq!(Campaign::parse(&["kill", "7"]).unwrap(), Campaign::Kill { kills: 7 });
        assert_eq!(Campaign::parse(&["load"]).unwrap(), Campaign::Load { minutes: 60 });
        assert_eq!(Campaign::parse(&["load", "5"]).unwrap(), Campaign::Load { minutes: 5 });
        for (words, wrong) in [
            (vec![], "load"),
            (vec!["fzz"], "fzz"),
            (vec!["kill", "0"], "0"),
            (vec!["load", "1h"], "1h"),
        ] {
            let message = Campaign::parse(&words).unwrap_err().to_string();
            assert!(message.contains(wrong), "{message}");
        }
    }

    #[test]
    fn a_section_is_replaced_and_the_others_stay() {
        let page = "# A\n<!-- fuzz -->\nold\n<!-- end of fuzz -->\nB\n<!-- kill -->\n<!-- end of kill -->\n";
        let page = with_section(page, "fuzz", "new").unwrap();
        assert_eq!(
            page,
            "# A\n<!-- fuzz -->\nnew\n<!-- end of fuzz -->\nB\n<!-- kill -->\n<!-- end of kill -->\n"
        );
        assert!(with_section(&page, "load", "x").is_err());
    }

    #[test]
    fn the_page_has_a_section_for_every_campaign() {
        let page = include_str!("../../docs/campaigns.md");
        for name in ["fuzz", "kill", "load"] {
            assert!(with_section(page, name, "x").is_ok(), "{name}");
        }
    }
}
