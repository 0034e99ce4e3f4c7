//! Searches that take longer than the test command may: `cargo xtask campaign`.
//!
//! What they found, and how much they tried, is in `docs/campaigns.md`: each campaign replaces its own section there.

use std::{
    collections::BTreeMap,
    fs,
    process::Command,
    sync::Mutex,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Campaign {
    /// Fuzz targets, for a number of inputs.
    Fuzz {
        /// Inputs for each target.
        inputs: u64,
        /// Which targets; all if there is none.
        targets: Vec<String>,
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
            ["fuzz"] => Self::Fuzz {
                inputs: INPUTS,
                targets: Vec::new(),
            },
            ["fuzz", inputs, targets @ ..] => Self::Fuzz {
                inputs: number(inputs)?,
                targets: targets.iter().map(|&target| target.to_owned()).collect(),
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
    pub(crate) fn run(&self, workspace: &Workspace) -> Result<()> {
        let start = now();
        // The sources may change while it goes on.
        let version = version(workspace)?;
        let (name, mut lines) = match self {
            Self::Fuzz { inputs, targets } => return fuzz_targets(workspace, *inputs, targets),
            Self::Kill { kills } => ("kill", kill_lines(workspace, *kills)?),
            Self::Load { minutes } => ("load", load_lines(workspace, *minutes)?),
        };
        lines.push(String::new());
        lines.push(format!("Version {version}, {} minutes.", minutes(start.elapsed())));
        let text = lines.join("\n");
        change_page(workspace, |page| with_section(page, name, &text))?;
        println!("{text}\nwritten to {PAGE}");
        Ok(())
    }
}

/// Gives inputs to all targets or to the named ones. Each target has its row on the page, which is written when the target
/// ends, so that neither a search that is cut short nor one for some targets loses what others did.
fn fuzz_targets(workspace: &Workspace, inputs: u64, named: &[String]) -> Result<()> {
    if let Some(reason) = fuzz::set_up(workspace) {
        bail!("{reason}");
    }
    let known = fuzz::targets(workspace)?;
    if let Some(unknown) = named.iter().find(|target| !known.contains(target)) {
        bail!("there is no fuzz target `{unknown}`");
    }
    let targets = if named.is_empty() { &known } else { named };
    let version = version(workspace)?;
    let writing = Mutex::new(());
    fuzz::search(workspace, fuzz::Length::Inputs(inputs), targets, &|target, figures| {
        let _writing = writing.lock().map_err(|_| anyhow!("the other search failed"))?;
        let row = fuzz_row(target, figures, &version);
        change_page(workspace, |page| with_fuzz_row(page, &known, target, row))
    })?;
    println!("written to {PAGE}");
    Ok(())
}

/// What the row of a target says that broke a property.
const BROKE: &str = "a property broke";

fn fuzz_row(target: &str, figures: Option<fuzz::Figures>, version: &str) -> String {
    match figures {
        Some(figures) => format!(
            "| `{target}` | {} | {} | {} | {} | {version} |",
            figures.inputs,
            fuzz::longest(target),
            figures.seconds,
            figures.rate()
        ),
        None => format!("| `{target}` | {BROKE} | | | | {version} |"),
    }
}

/// The page with the row of one target replaced. Rows of targets that no longer exist are removed.
fn with_fuzz_row(page: &str, known: &[String], target: &str, row: String) -> Result<String> {
    let target_of = |row: &str| Some(row.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    let (_, section, _) = split(page, "fuzz")?;
    let mut rows: BTreeMap<String, String> = section
        .lines()
        .filter_map(|row| Some((target_of(row)?, row.to_owned())))
        .filter(|(target, _)| known.contains(target))
        .collect();
    rows.insert(target.to_owned(), row);
    let named = |targets: Vec<&String>| {
        let quoted: Vec<String> = targets.into_iter().map(|target| format!("`{target}`")).collect();
        quoted.join(", ")
    };
    let broken: Vec<&String> = rows
        .iter()
        .filter(|(_, row)| row.contains(BROKE))
        .map(|(target, _)| target)
        .collect();
    let missing: Vec<&String> = known.iter().filter(|target| !rows.contains_key(*target)).collect();
    let mut summary = if broken.is_empty() {
        "No property broke.".to_owned()
    } else {
        format!("A property broke in {}.", named(broken))
    };
    if !missing.is_empty() {
        summary = format!("{summary} Not run yet: {}.", named(missing));
    }
    let mut lines = vec![
        summary,
        String::new(),
        "| target | inputs | bytes at most | seconds | inputs/s | version |".to_owned(),
        "|---|---|---|---|---|---|".to_owned(),
    ];
    lines.extend(rows.into_values());
    with_section(page, "fuzz", &lines.join("\n"))
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
                // With the features of the whole workspace, so that what the test command has built is of use.
                .args(["test", "--locked", "--workspace", "--test", program, &test])
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
        .args(["test", "--locked", "--workspace", "--test", "load"])
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

fn change_page(workspace: &Workspace, change: impl FnOnce(&str) -> Result<String>) -> Result<()> {
    let path = workspace.root().join(PAGE);
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    fs::write(&path, change(&page)?).with_context(|| format!("cannot write {}", path.display()))
}

/// The page with the text of one section replaced.
fn with_section(page: &str, name: &str, text: &str) -> Result<String> {
    let (before, _, after) = split(page, name)?;
    Ok(format!("{before}{text}\n{after}"))
}

/// What is before the text of a section, the text, and what is after it.
fn split<'a>(page: &'a str, name: &str) -> Result<(&'a str, &'a str, &'a str)> {
    let [begin, end] = [format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->\n")];
    let place = |line: &str| {
        page.find(line)
            .with_context(|| format!("{PAGE} has no line `{}`", line.trim()))
    };
    let (begin, end) = (place(&begin)? + begin.len(), place(&end)?);
    let (before, rest) = page.split_at(begin);
    let (text, after) = rest
        .split_at_checked(end.saturating_sub(begin))
        .with_context(|| format!("the section {name} of {PAGE} ends before it begins"))?;
    Ok((before, text, after))
}

/// The commit, and whether anything but the page differs from it: a campaign that goes on after another finds the page changed.
fn version(workspace: &Workspace) -> Result<String> {
    let git = |arguments: &[&str]| -> Result<String> {
        let output = Command::new("git")
            .current_dir(workspace.root())
            .args(arguments)
            .output()
            .context("git cannot be started")?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let commit = git(&["describe", "--always"])?;
    let others = format!(":!{PAGE}");
    let changed = git(&["status", "--porcelain", "--untracked-files=no", "--", ".", &others])?;
    Ok(if changed.is_empty() {
        commit
    } else {
        format!("{commit}-dirty")
    })
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
            Campaign::Fuzz {
                inputs: 10_000_000,
                targets: Vec::new()
            }
        );
        assert_eq!(
            Campaign::parse(&["fuzz", "7", "site", "cel"]).unwrap(),
            Campaign::Fuzz {
                inputs: 7,
                targets: vec!["site".to_owned(), "cel".to_owned()]
            }
        );
        assert_eq!(Campaign::parse(&["kill", "7"]).unwrap(), Campaign::Kill { kills: 7 });
        assert_eq!(Campaign::parse(&["load"]).unwrap(), Campaign::Load { minutes: 60 });
        assert_eq!(Campaign::parse(&["load", "5"]).unwrap(), Campaign::Load { minutes: 5 });
        for (words, wrong) in [
            (vec![], "load"),
            (vec!["fzz"], "fzz"),
            (vec!["fuzz", "site"], "site"),
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
    fn each_target_has_a_row_that_a_later_search_replaces() {
        let known = ["cel", "rules", "site"].map(str::to_owned);
        let figures = fuzz::Figures {
            inputs: 100,
            seconds: 8,
        };
        let mut page =
            "# A\n<!-- fuzz -->\nNot run yet.\n| `gone` | 1 | 1 | 1 | v0 |\n<!-- end of fuzz -->\n".to_owned();
        for (target, figures, version) in [
            ("site", None, "v1"),
            ("cel", Some(figures), "v1"),
            ("site", Some(figures), "v2"),
        ] {
            page = with_fuzz_row(&page, &known, target, fuzz_row(target, figures, version)).unwrap();
            assert_eq!(page.contains("A property broke in `site`."), version == "v1", "{page}");
        }
        assert_eq!(
            page,
            "# A\n<!-- fuzz -->\nNo property broke. Not run yet: `rules`.\n\n\
             | target | inputs | bytes at most | seconds | inputs/s | version |\n|---|---|---|---|---|---|\n\
             | `cel` | 100 | 192 | 8 | 12 | v1 |\n| `site` | 100 | 640 | 8 | 12 | v2 |\n<!-- end of fuzz -->\n"
        );
    }

    #[test]
    fn the_page_has_a_section_for_every_campaign() {
        let page = include_str!("../../docs/campaigns.md");
        for name in ["fuzz", "kill", "load"] {
            assert!(with_section(page, name, "x").is_ok(), "{name}");
        }
    }
}
