//! How Kubernetes reads certificate requests: the program in `xtask/envtest/csr`, which `cargo xtask envtest` builds.

use std::{
    env,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::programs::{KUBERNETES_VERSION, REQUIRE_TOOLS, cache_directory, is_executable};

/// The variable that names the program. `cargo xtask test` sets it.
pub const REQUEST_JUDGE: &str = "BERTH_REQUEST_JUDGE";

/// Its source: a program that was built from another one is another program.
const SOURCE: &str = include_str!("../../../xtask/envtest/csr/main.go");

/// The program that reads certificate requests with the functions of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestJudge(PathBuf);

/// What Kubernetes reads in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The common name.
    pub common_name: String,
    /// The organizations.
    pub organizations: Vec<String>,
    /// How many subject alternative names there are.
    pub names: u64,
    /// How many attributes the subject has, of any kind.
    pub subject: u64,
    /// How many extensions are asked for.
    pub extensions: u64,
    /// Why the API server and the signer refuse the signature.
    pub signature: Option<String>,
    /// Why it is not the request of a kubelet for its client certificate.
    pub kubelet: Option<String>,
}

impl RequestJudge {
    /// Where the program is kept below a cache directory: the folder goes by its source.
    pub fn folder(cache: &Path) -> PathBuf {
        let digest = Sha256::digest(SOURCE);
        let digest = digest
            .iter()
            .take(8)
            .fold(0, |number, byte| number << 8 | u64::from(*byte));
        cache.join(format!("csr-{KUBERNETES_VERSION}-{digest:016x}"))
    }

    /// Looks where the environment says, then in the user's cache.
    pub fn find() -> Option<Self> {
        let named = env::var_os(REQUEST_JUDGE).filter(|value| !value.is_empty());
        let cached = || {
            let cache = cache_directory(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"))?;
            Some(Self::folder(&cache).join("csr"))
        };
        let path = named.map(PathBuf::from).or_else(cached)?;
        is_executable(&path).then_some(Self(path))
    }

    /// The program, or `None` with the reason on the error output: what needs it is then skipped.
    ///
    /// # Panics
    ///
    /// Where `BERTH_REQUIRE_TOOLS` says that nothing may be missing.
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    pub fn for_test() -> Option<Self> {
        let found = Self::find();
        if found.is_none() {
            let reason = "the program that reads certificate requests as Kubernetes does is not here; `cargo xtask \
                          envtest` builds it with Go";
            let required = env::var_os(REQUIRE_TOOLS).is_some();
            assert!(!required, "{reason}, and {REQUIRE_TOOLS} is set");
            eprintln!("skipped: {reason}");
        }
        found
    }

    /// The program.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// What Kubernetes reads in each request, or why it cannot.
    ///
    /// # Panics
    ///
    /// Where the program does not answer.
    #[expect(clippy::expect_used, reason = "a helper of a test fails as the test does")]
    pub fn read(&self, requests: &[Vec<u8>], usages: &[&str]) -> Vec<Result<Reading, String>> {
        let mut child = Command::new(&self.0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let answers = thread::scope(|scope| {
            scope.spawn(move || {
                for request in requests {
                    let question = json!({"request": STANDARD.encode(request), "usages": usages});
                    writeln!(input, "{question}").expect("the program reads");
                }
            });
            let lines = output.lines().map(|line| line.expect("the program answers"));
            lines
                .map(|line| reading(&serde_json::from_str(&line).expect("JSON")))
                .collect::<Vec<_>>()
        });
        assert!(child.wait().expect("the program ends").success());
        assert_eq!(answers.len(), requests.len(), "each request has an answer");
        answers
    }

    /// Requests as a kubelet makes them, with the kind of the key.
    ///
    /// # Panics
    ///
    /// Where the program does not answer.
    #[expect(clippy::expect_used, reason = "a helper of a test fails as the test does")]
    pub fn requests_for(&self, node: &str) -> Vec<(String, Vec<u8>)> {
        let output = Command::new(&self.0)
            .args(["make", node])
            .output()
            .expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("JSON");
        let made = text.lines().map(|line| {
            let line: Value = serde_json::from_str(line).expect("JSON");
            let request = STANDARD.decode(line["request"].as_str().expect("a request"));
            let key = line["key"].as_str().expect("a kind").to_owned();
            (key, request.expect("base64"))
        });
        made.collect()
    }
}

fn reading(answer: &Value) -> Result<Reading, String> {
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let number = |name: &str| answer[name].as_u64().unwrap_or(u64::MAX);
    if let Some(problem) = text("problem") {
        return Err(problem);
    }
    let organizations = answer["organizations"].as_array().into_iter().flatten();
    Ok(Reading {
        common_name: text("commonName").unwrap_or_default(),
        organizations: organizations
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect(),
        names: number("names"),
        subject: number("subject"),
        extensions: number("extensions"),
        signature: text("signature"),
        kubelet: text("kubelet"),
    })
}
