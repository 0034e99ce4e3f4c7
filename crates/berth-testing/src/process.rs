//! Programs that end with the test.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, SeekFrom},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::{OnceLock, mpsc},
    thread,
    time::Duration,
};

use crate::error::TestingError;

/// How much of a program's output goes into an error.
const TAIL: u64 = 4096;

/// How often something that is waited for is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// A program that runs until it is stopped or the value is dropped.
#[derive(Debug)]
pub(crate) struct Process {
    program: String,
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `program` with what `prepare` adds. Its output goes to a file in the folder, which is also where it runs.
    pub(crate) fn start(
        program: &Path,
        folder: &Path,
        prepare: impl FnOnce(&mut Command),
    ) -> Result<Self, TestingError> {
        let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let log = folder.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log);
        let outputs = output.and_then(|output| Ok((output.try_clone()?, output)));
        let (output, errors) = outputs.map_err(|source| TestingError::File {
            path: log.clone(),
            source,
        })?;
        // The program gets a signal when the thread that started it ends, however that happens.
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--"]).arg(program);
        prepare(&mut command);
        command
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        match spawn(command) {
            Ok(child) => Ok(Self {
                program: name,
                child,
                log,
            }),
            Err(source) => Err(TestingError::Start { program: name, source }),
        }
    }

    /// Fails if the program is not running any more.
    pub(crate) fn check(&mut self) -> Result<(), TestingError> {
        match self.child.try_wait() {
            Ok(Some(status)) => Err(self.ended(status)),
            Ok(None) | Err(_) => Ok(()),
        }
    }

    fn ended(&self, status: ExitStatus) -> TestingError {
        TestingError::Ended {
            program: self.program.clone(),
            status,
            output: self.tail(),
        }
    }

    /// Waits until `ready` says so, or the program ends, or it takes too long.
    pub(crate) async fn wait_for<F>(
        &mut self,
        what: &str,
        limit: Duration,
        mut ready: impl FnMut() -> F,
    ) -> Result<(), TestingError>
    where
        F: Future<Output = bool>,
    {
        let looking = async {
            loop {
                if ready().await {
                    return Ok(());
                }
                self.check()?;
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        match tokio::time::timeout(limit, looking).await {
            Ok(result) => result,
            Err(_) => Err(TestingError::Late {
                what: what.to_owned(),
                seconds: limit.as_secs(),
                program: self.program.clone(),
                output: self.tail(),
            }),
        }
    }

    /// Waits until the program ends by itself, and well.
    pub(crate) async fn wait_for_end(&mut self, limit: Duration) -> Result<(), TestingError> {
        let program = self.program.clone();
        let ending = async {
            loop {
                match self.child.try_wait() {
                    Ok(Some(status)) => return status,
                    Ok(None) | Err(_) => tokio::time::sleep(LOOK_EVERY).await,
                }
            }
        };
        match tokio::time::timeout(limit, ending).await {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(self.ended(status)),
            Err(_) => Err(TestingError::Late {
                what: "its end".to_owned(),
                seconds: limit.as_secs(),
                program,
                output: self.tail(),
            }),
        }
    }

    /// Ends the program at once, as a crash would.
    pub(crate) fn kill(&mut self) -> Result<(), TestingError> {
        let result = self.child.kill().and_then(|()| self.child.wait());
        match result {
            Ok(_) => Ok(()),
            Err(source) => Err(TestingError::Start {
                program: format!("the end of {}", self.program),
                source,
            }),
        }
    }

    /// What the program said last.
    pub(crate) fn tail(&self) -> String {
        tail(&self.log).unwrap_or_default()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

fn tail(log: &Path) -> io::Result<String> {
    let mut file = File::open(log)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

type Request = (Command, mpsc::Sender<io::Result<Child>>);

/// Starts the command from a thread that lives as long as the process.
///
/// The signal at the end of the parent means the parent's thread, and the threads of tests end before others that use the
/// same server.
fn spawn(command: Command) -> io::Result<Child> {
    static SPAWNER: OnceLock<mpsc::Sender<Request>> = OnceLock::new();
    let spawner = SPAWNER.get_or_init(|| {
        let (sender, requests) = mpsc::channel::<Request>();
        thread::spawn(move || {
            for (mut command, answer) in requests {
                let _ = answer.send(command.spawn());
            }
        });
        sender
    });
    let (answer, child) = mpsc::channel();
    let gone = || io::Error::other("the thread that starts programs is gone");
    spawner.send((command, answer)).map_err(|_| gone())?;
    child.recv().map_err(|_| gone())?
}

/// Runs a program to its end and gives its output.
pub(crate) fn run(command: &mut Command) -> Result<String, TestingError> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = match command.stdin(Stdio::null()).output() {
        Ok(output) => output,
        Err(source) => return Err(TestingError::Start { program, source }),
    };
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(TestingError::Ended {
        program,
        status: output.status,
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}

/// A port that nobody listened on a moment ago. Another may take it before it is used, so its user tries again.
pub(crate) fn free_port() -> Result<u16, TestingError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(TestingError::Port)
}
