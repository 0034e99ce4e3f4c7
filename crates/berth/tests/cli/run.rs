//! A tiny runner: one command line in, exit code and both streams out.

use std::{
    fmt,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

/// What a run gave. Display is what the snapshots hold.
pub(crate) struct Outcome {
    pub(crate) exit: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "exit: {}", self.exit)?;
        writeln!(f, "----- stdout -----\n{}", self.stdout)?;
        write!(f, "----- stderr -----\n{}", self.stderr)
    }
}

impl Outcome {
    /// The output as JSON.
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}\n{self}"))
    }
}

/// A command for the built program, in the crate's folder and without the caller's colour settings.
pub(crate) fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_berth"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let colours = ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLUMNS", "TERM"];
    for variable in colours
        .into_iter()
        .chain(["BERTH_DATABASE", "BERTH_SERVER", "BERTH_SEALING_KEY"])
    {
        command.env_remove(variable);
    }
    command
}

/// Runs `berth` with these arguments and nothing on standard input.
pub(crate) fn berth<'a>(args: impl IntoIterator<Item = &'a str>) -> Outcome {
    finish(command().args(args), b"")
}

/// Runs `berth` with words split at blanks, for short command lines.
pub(crate) fn line(words: &str) -> Outcome {
    berth(words.split_whitespace())
}

/// Runs `berth` with this on standard input.
pub(crate) fn with_stdin(words: &str, stdin: impl AsRef<[u8]>) -> Outcome {
    finish(command().args(words.split_whitespace()), stdin.as_ref())
}

/// Runs a prepared command.
pub(crate) fn finish(command: &mut Command, stdin: &[u8]) -> Outcome {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = loop {
        match command.spawn() {
            // A program that a test has just written is open for writing in whatever other tests are starting, until they have.
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => std::thread::yield_now(),
            spawned => break spawned.unwrap(),
        }
    };
    // A program that does not read its input closes the pipe; that is its right.
    let _ = child.stdin.take().unwrap().write_all(stdin);
    let output = child.wait_with_output().unwrap();
    Outcome {
        exit: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs in the folder that holds `examples/`, so that paths read as in the README.
pub(crate) fn at_root(words: &str) -> Outcome {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    finish(command().current_dir(root).args(words.split_whitespace()), b"")
}

/// A folder of its own for one test, gone at the end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("cli-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file, with the folders above it.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
        self
    }

    /// Runs `berth` inside the folder.
    pub(crate) fn line(&self, words: &str) -> Outcome {
        finish(command().current_dir(&self.0).args(words.split_whitespace()), b"")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
