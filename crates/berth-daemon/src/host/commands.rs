//! Programs of the host.

use std::{
    ffi::OsString,
    io::{Read, Write as _},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use super::HostError;

/// How often it is looked whether a program has ended.
const LOOK: Duration = Duration::from_millis(20);

/// How long a program may take.
pub(super) const SHORT: Duration = Duration::from_mins(1);
/// How long one may take that stops and starts services, for which systemd itself waits 90 seconds.
pub(super) const SERVICES: Duration = Duration::from_mins(5);
/// How long one may take that fetches an image or makes boot files.
pub(super) const IMAGES: Duration = Duration::from_mins(30);

/// The longest part of a program's words that is told.
const TOLD: usize = 500;

/// Runs programs of a host.
#[derive(Clone, Debug, Default)]
pub(super) struct Commands {
    /// What stands before every program: how to get to the host.
    pub(super) prefix: Vec<OsString>,
}

/// What a program said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) success: bool,
    pub(super) output: String,
    pub(super) errors: String,
}

impl Commands {
    /// Runs a program that has to succeed, and gives what it said.
    pub(super) fn run(&self, command: &[&str], limit: Duration) -> Result<String, HostError> {
        self.run_with(command, None, limit)
    }

    /// As [`Commands::run`], with something to read.
    pub(super) fn run_with(&self, command: &[&str], input: Option<&str>, limit: Duration) -> Result<String, HostError> {
        let said = self.ask(command, input, limit)?;
        if said.success {
            return Ok(said.output);
        }
        let text = if said.errors.trim().is_empty() {
            said.output
        } else {
            said.errors
        };
        let text: String = text.trim().chars().take(TOLD).collect();
        Err(failed(command, format!("failed: {text}")))
    }

    /// Runs a program, whatever comes of it.
    pub(super) fn ask(&self, command: &[&str], input: Option<&str>, limit: Duration) -> Result<Said, HostError> {
        let mut words = self.prefix.iter().cloned().chain(command.iter().map(OsString::from));
        let program = words.next().unwrap_or_default();
        let mut child = Command::new(program)
            .args(words)
            .stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(command, format!("cannot be started: {error}")))?;
        if let (Some(mut stdin), Some(input)) = (child.stdin.take(), input) {
            // A program that does not read what it is given says so by its end.
            let _ = stdin.write_all(input.as_bytes());
        }
        let output = child.stdout.take().map(|pipe| thread::spawn(move || read(pipe)));
        let errors = child.stderr.take().map(|pipe| thread::spawn(move || read(pipe)));
        let success = wait(&mut child, command, limit)?;
        let text = |reader: Option<thread::JoinHandle<String>>| {
            reader.and_then(|reader| reader.join().ok()).unwrap_or_default()
        };
        Ok(Said {
            success,
            output: text(output),
            errors: text(errors),
        })
    }
}

fn read(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    // What was read up to an error is still worth telling.
    let _ = pipe.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn wait(child: &mut Child, command: &[&str], limit: Duration) -> Result<bool, HostError> {
    let mut waited = Duration::ZERO;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status.success()),
            Ok(None) if waited < limit => {
                thread::sleep(LOOK);
                waited += LOOK;
            }
            Ok(None) => {
                let _ = child.kill();
                let _ = child.wait();
                let limit = berth_pools::format_duration(limit);
                return Err(failed(command, format!("took longer than {limit}")));
            }
            Err(error) => return Err(failed(command, format!("cannot be waited for: {error}"))),
        }
    }
}

fn failed(command: &[&str], why: String) -> HostError {
    HostError::Command {
        command: command.join(" "),
        why,
    }
}
