//! Programs in Go that answer questions as others would, line by line: `cargo xtask envtest` builds them.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::programs::{REQUIRE_TOOLS, cache_directory, is_executable};

/// One such program.
pub(crate) struct Judge {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it does, in words.
    pub(crate) what: &'static str,
    /// The variable that names it. `cargo xtask test` sets it.
    pub(crate) variable: &'static str,
    /// Its sources: a program that was built from others is another program.
    pub(crate) sources: &'static [&'static str],
    /// Whose libraries it uses.
    pub(crate) version: &'static str,
}

impl Judge {
    /// Where the program is kept below a cache directory: the folder goes by its sources.
    pub(crate) fn folder(&self, cache: &Path) -> PathBuf {
        let mut digest = Sha256::new();
        self.sources.iter().for_each(|source| digest.update(source));
        let digest = digest.finalize();
        let digest = digest
            .iter()
            .take(8)
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        cache.join(format!("{}-{}-{digest:016x}", self.name, self.version))
    }

    /// Looks where the environment says, then in the user's cache.
    pub(crate) fn find(&self) -> Option<PathBuf> {
        let named = env::var_os(self.variable).filter(|value| !value.is_empty());
        let cached = || {
            let cache = cache_directory(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))?;
            Some(self.folder(&cache).join(self.name))
        };
        let path = named.map(PathBuf::from).or_else(cached)?;
        is_executable(&path).then_some(path)
    }

    /// The program, or `None` with the reason on the error output: what needs it is then skipped.
    ///
    /// # Panics
    ///
    /// Where `BERTH_REQUIRE_TOOLS` says that nothing may be missing.
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    pub(crate) fn for_test(&self) -> Option<PathBuf> {
        let found = self.find();
        if found.is_none() {
            let reason = format!("{} is not here; `cargo xtask envtest` builds it with Go", self.what);
            let required = env::var_os(REQUIRE_TOOLS).is_some();
            assert!(!required, "{reason}, and {REQUIRE_TOOLS} is set");
            eprintln!("skipped: {reason}");
        }
        found
    }
}

/// The answers to questions, in their order.
///
/// # Panics
///
/// Where the program does not answer.
#[expect(clippy::expect_used, reason = "a helper of a test fails as the test does")]
pub(crate) fn ask(program: &Path, questions: &[Value]) -> Vec<Value> {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut input = child.stdin.take().expect("a pipe");
    let output = BufReader::new(child.stdout.take().expect("a pipe"));
    let answers = thread::scope(|scope| {
        scope.spawn(move || {
            for question in questions {
                writeln!(input, "{question}").expect("the program reads");
            }
        });
        let lines = output.lines().map(|line| line.expect("the program answers"));
        lines
            .map(|line| serde_json::from_str(&line).expect("JSON"))
            .collect::<Vec<_>>()
    });
    assert!(child.wait().expect("the program ends").success());
    assert_eq!(answers.len(), questions.len(), "each question has an answer");
    answers
}
