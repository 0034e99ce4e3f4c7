//! How Kubernetes reads certificate requests: the program in `xtask/envtest/csr`, which `cargo xtask envtest` builds.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    judge::{Judge, ask},
    programs::KUBERNETES_VERSION,
};

/// The variable that names the program. `cargo xtask test` sets it.
pub const REQUEST_JUDGE: &str = "BERTH_REQUEST_JUDGE";

const JUDGE: Judge = Judge {
    name: "csr",
    what: "the program that reads certificate requests as Kubernetes does",
    variable: REQUEST_JUDGE,
    sources: &[include_str!("../../../xtask/envtest/csr/main.go")],
    version: KUBERNETES_VERSION,
};

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
        JUDGE.folder(cache)
    }

    /// Looks where the environment says, then in the user's cache.
    pub fn find() -> Option<Self> {
        JUDGE.find().map(Self)
    }

    /// The program, or `None` with the reason on the error output: what needs it is then skipped.
    ///
    /// # Panics
    ///
    /// Where `BERTH_REQUIRE_TOOLS` says that nothing may be missing.
    pub fn for_test() -> Option<Self> {
        JUDGE.for_test().map(Self)
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
    pub fn read(&self, requests: &[Vec<u8>], usages: &[&str]) -> Vec<Result<Reading, String>> {
        let questions: Vec<Value> = requests
            .iter()
            .map(|request| json!({"request": STANDARD.encode(request), "usages": usages}))
            .collect();
        ask(&self.0, &questions).iter().map(reading).collect()
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
