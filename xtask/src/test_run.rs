//! Runs the tests of the workspace, several test programs at a time.
//!
//! `cargo test` runs one program after the other. Many of ours wait for a kubelet, a lease or a database, and leave the
//! machine idle meanwhile.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io::{self, Read as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex, PoisonError,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{test_totals::TestTotals, workspace::Workspace};

/// How many test programs run at a time; each runs as many tests at a time as the machine has cores. With three, two cores
/// are still not busy all the time.
const AT_A_TIME: usize = 3;

/// A program that prints nothing for this long hangs: each test that ends prints a line, and the longest one takes about a
/// minute. It is killed, so that the run says which test it was and does not wait for the end of the machine's time.
const SILENCE: Duration = Duration::from_mins(6);

/// Programs that take long are started first, so that none of them runs alone at the end.
const SLOW: &[&str] = &[
    "berth cli",
    "berth-cluster cluster",
    "berth-store it",
    "berth-sim it",
    "berth-workflow engine",
    "berth-node it",
    "berth-airship api",
];

/// One program that `cargo test --no-run` built.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Program {
    /// The name of the target, as in `cargo test --test NAME`.
    target: String,
    /// The folder of its package, where cargo starts it.
    folder: PathBuf,
    executable: PathBuf,
}

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Figures of all programs and of the documentation examples.
    pub(crate) totals: TestTotals,
    /// The programs that ended with a failure.
    pub(crate) failed: Vec<String>,
}

/// Builds all test programs, runs them and the documentation examples, and adds up the figures.
pub(crate) fn run(workspace: &Workspace, environment: &[(&'static str, OsString)]) -> Result<Outcome> {
    let programs = in_order(build(workspace)?);
    if programs.is_empty() {
        bail!("cargo built no test program");
    }
    let queue = Mutex::new(VecDeque::from(programs));
    let outcome = Mutex::new(Outcome::default());
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME)
            .map(|_| scope.spawn(|| work(&queue, &outcome, environment)))
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| bail!("a thread that runs tests failed"))
        })
    })?;
    let mut outcome = outcome.into_inner().unwrap_or_else(PoisonError::into_inner);

    let mut examples = workspace.cargo();
    examples
        .args(["test", "--workspace", "--locked", "--no-fail-fast", "--doc"])
        .envs(environment.iter().map(|(name, value)| (name, value)));
    let ran = capture(&mut examples, SILENCE)?;
    outcome.add("documentation examples", &ran, io::stdout())?;
    Ok(outcome)
}

fn work(
    queue: &Mutex<VecDeque<Program>>,
    outcome: &Mutex<Outcome>,
    environment: &[(&'static str, OsString)],
) -> Result<()> {
    loop {
        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let Some(program) = next else {
            return Ok(());
        };
        let mut command = Command::new(&program.executable);
        command
            .current_dir(&program.folder)
            .env("CARGO_MANIFEST_DIR", &program.folder)
            .envs(environment.iter().map(|(name, value)| (name, value)));
        let ran = capture(&mut command, SILENCE)
            .with_context(|| format!("{} cannot be run", program.executable.display()))?;
        outcome
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(&program.to_string(), &ran, io::stdout())?;
    }
}

/// What one program printed and how it ended.
#[derive(Debug)]
struct Ran {
    output: Vec<u8>,
    success: bool,
    seconds: f64,
}

/// Both streams together, in the order in which they were written. A command that says nothing for as long as `silence` is
/// killed.
fn capture(command: &mut Command, silence: Duration) -> Result<Ran> {
    let start = now();
    let (mut reader, writer) = io::pipe().context("cannot make a pipe")?;
    command
        .stdin(Stdio::null())
        .stdout(writer.try_clone().context("cannot share a pipe")?)
        .stderr(writer);
    let mut child = command.spawn().context("cannot start it")?;
    // The command keeps its ends of the pipe open; the reader would wait for them.
    command.stdout(Stdio::null()).stderr(Stdio::null());

    let (sender, parts) = mpsc::channel();
    // Ends with the pipe. Programs that the killed one started may hold it open, so nobody waits for this thread.
    thread::spawn(move || {
        let mut part = vec![0; 64 * 1024];
        loop {
            let read = reader.read(&mut part).map(|length| part[..length].to_vec());
            let is_last = !read.as_ref().is_ok_and(|bytes| !bytes.is_empty());
            if sender.send(read).is_err() || is_last {
                return;
            }
        }
    });
    let mut output = Vec::new();
    loop {
        match parts.recv_timeout(silence) {
            Ok(Ok(bytes)) => output.extend(bytes),
            Ok(Err(error)) => return Err(error).context("cannot read its output"),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                child.kill().context("cannot kill it")?;
                let hung = format!("\nkilled: it printed nothing for {} seconds\n", silence.as_secs());
                output.extend(hung.into_bytes());
                break;
            }
        }
    }
    let status = child.wait().context("cannot wait for it")?;
    Ok(Ran {
        output,
        success: status.success(),
        seconds: start.elapsed().as_secs_f64(),
    })
}

impl Outcome {
    /// Prints what a program said and counts it.
    fn add(&mut self, name: &str, ran: &Ran, mut to: impl io::Write) -> Result<()> {
        writeln!(to, "\n     Ran {name} ({:.1} s)", ran.seconds)?;
        to.write_all(&ran.output)?;
        to.flush()?;
        let mut figures = 0;
        for line in String::from_utf8_lossy(&ran.output).lines() {
            if let Some(result) = TestTotals::from_line(line) {
                self.totals += result;
                figures += 1;
            }
        }
        // A program that ends before its figures has not run its tests, whatever its exit code says.
        if !ran.success || figures == 0 {
            self.failed.push(name.to_owned());
        }
        Ok(())
    }
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let package = self.folder.file_name().unwrap_or_default().to_string_lossy();
        write!(f, "{package} {}", self.target)
    }
}

/// Builds every test program and lists them.
fn build(workspace: &Workspace) -> Result<Vec<Program>> {
    let output = workspace
        .cargo()
        .args(["test", "--workspace", "--locked", "--no-run"])
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(Stdio::inherit())
        .output()
        .context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("the tests do not build ({})", output.status);
    }
    Ok(programs(&String::from_utf8_lossy(&output.stdout)))
}

fn programs(messages: &str) -> Vec<Program> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|message| message["reason"] == "compiler-artifact" && message["profile"]["test"] == true)
        .filter_map(|message| {
            Some(Program {
                target: message["target"]["name"].as_str()?.to_owned(),
                folder: Path::new(message["manifest_path"].as_str()?).parent()?.to_owned(),
                executable: PathBuf::from(message["executable"].as_str()?),
            })
        })
        .collect()
}

fn in_order(mut programs: Vec<Program>) -> Vec<Program> {
    programs.sort_by_key(|program| {
        let name = program.to_string();
        SLOW.iter().position(|slow| *slow == name).unwrap_or(SLOW.len())
    });
    programs
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long a program took is for the reader; nothing is decided from it"
)]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Ran {
        capture(Command::new("sh").args(["-c", script]), SILENCE).unwrap()
    }

    #[test]
    fn a_program_that_hangs_is_killed_and_has_failed() {
        let mut hanging = Command::new("sh");
        // The pipe stays open after the program is gone: what it started still has it.
        hanging.args(["-c", "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'; sleep 60"]);
        let ran = capture(&mut hanging, Duration::from_secs(1)).unwrap();
        let mut outcome = Outcome::default();
        let mut printed = Vec::new();
        outcome.add("hanging", &ran, &mut printed).unwrap();
        assert_eq!(outcome.failed, ["hanging"]);
        let printed = String::from_utf8(printed).unwrap();
        assert!(printed.contains("1 passed"), "what it said is kept: {printed}");
        assert!(
            printed.contains("killed: it printed nothing for 1 seconds"),
            "{printed}"
        );
    }

    #[test]
    fn test_programs_are_read_from_the_messages_of_cargo() {
        let messages = r#"
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{"name":"a"},"profile":{"test":false},"executable":null}
{"reason":"compiler-artifact","manifest_path":"/w/crates/a/Cargo.toml","target":{"name":"a"},"profile":{"test":true},"executable":"/t/a-1"}
not a message
{"reason":"compiler-artifact","manifest_path":"/w/crates/berth/Cargo.toml","target":{"name":"cli"},"profile":{"test":true},"executable":"/t/cli-1"}
{"reason":"build-finished","success":true}
"#;
        let programs = in_order(programs(messages));
        let names: Vec<String> = programs.iter().map(Program::to_string).collect();
        assert_eq!(names, ["berth cli", "a a"]);
        assert_eq!(programs[1].folder, Path::new("/w/crates/a"));
        assert_eq!(programs[1].executable, Path::new("/t/a-1"));
    }

    #[test]
    fn figures_of_all_programs_are_added_up() {
        let mut outcome = Outcome::default();
        let good = shell("printf 'test result: ok. 2 passed; 0 failed; 0 ignored\n\\377\n'");
        let mut printed = Vec::new();
        outcome.add("good", &good, &mut printed).unwrap();
        assert!(printed.contains(&0o377), "what is not UTF-8 is passed on");
        let bad = shell("echo 'test result: FAILED. 1 passed; 1 failed; 0 ignored' >&2; exit 101");
        assert!(bad.output.ends_with(b"0 ignored\n"), "both streams are kept");
        outcome.add("bad", &bad, io::sink()).unwrap();
        assert_eq!((outcome.totals.passed, outcome.totals.failed), (3, 1));
        assert_eq!(outcome.failed, ["bad"]);
    }

    #[test]
    fn a_program_without_figures_has_failed() {
        let mut outcome = Outcome::default();
        outcome.add("silent", &shell("true"), io::sink()).unwrap();
        assert_eq!(outcome.failed, ["silent"]);
    }
}
