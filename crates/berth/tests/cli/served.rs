//! A command that runs until it is ended, and its log.

use std::{
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use serde_json::{Value, json};

/// Far longer than anything here takes.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A running command; ended with the test whatever happens.
pub(crate) struct Served {
    child: Child,
    log: Receiver<Value>,
}

impl Served {
    /// Starts a command that logs.
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command
            .args(["--log-format", "json"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, log) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line).unwrap_or_else(|_| json!({"text": line}));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { child, log }
    }

    /// The next line of the log with these words; those before it are gone.
    pub(crate) fn wait_for(&self, words: &str) -> Value {
        loop {
            let line = self
                .log
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|error| panic!("no `{words}`: {error}"));
            if line.to_string().contains(words) {
                return line;
            }
        }
    }

    /// The address in the next line with these words.
    pub(crate) fn address(&self, words: &str) -> String {
        self.wait_for(words)["address"].as_str().unwrap().to_owned()
    }

    /// What was logged and not waited for.
    pub(crate) fn logged(&self) -> Vec<Value> {
        self.log.try_iter().collect()
    }

    /// Sends a signal, such as `-STOP`.
    pub(crate) fn send(&self, signal: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Sends a signal, such as `-TERM`, and gives the exit code.
    pub(crate) fn signal(mut self, signal: &str) -> Option<i32> {
        self.send(signal);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // This is the kill that cannot be caught.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
