//! How the operator renders and serves: the program in `xtask/operator`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{
    judge::{Judge, ask},
    programs::OPENSHIFT_API_VERSION,
};

/// The variable that names the program. `cargo xtask test` sets it.
pub const OPERATOR: &str = "BERTH_OPERATOR";

const JUDGE: Judge = Judge {
    name: "operator",
    what: "the program that renders as the Machine Config Operator does",
    variable: OPERATOR,
    sources: &[
        include_str!("../../../../xtask/operator/main.go"),
        include_str!("../../../../xtask/operator/go.sum"),
    ],
    version: OPENSHIFT_API_VERSION,
};

/// The program that renders and serves with the libraries of the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operator(PathBuf);

/// A config that the operator rendered.
#[derive(Debug, Clone, PartialEq)]
pub struct OperatorRendered {
    /// Its name.
    pub name: String,
    /// Its spec.
    pub spec: Value,
    /// The spec in the form that is hashed.
    pub yaml: String,
}

impl Operator {
    /// Where the program is kept below a cache directory.
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

    /// Renders the machine configs of one pool in each case, with the `ControllerConfig` or without; or says why not.
    ///
    /// # Panics
    ///
    /// Where the program does not answer.
    pub fn render(&self, pool: &str, cases: &[(Vec<Value>, Option<Value>)]) -> Vec<Result<OperatorRendered, String>> {
        let questions: Vec<Value> = cases
            .iter()
            .map(|(configs, controller)| {
                json!({"render": {"pool": pool, "configs": configs, "controllerConfig": controller}})
            })
            .collect();
        ask(&self.0, &questions).iter().map(rendered).collect()
    }

    /// What the operator's server gives for a rendered config, with its certificates and kubeconfig.
    ///
    /// # Panics
    ///
    /// Where the program does not answer, or could not serve the config.
    pub fn serve(&self, config: &Value, kubelet_ca: &str, cloud_ca: &str, kubeconfig: &str) -> Value {
        let question = json!({"serve": {
            "config": config, "kubeletCA": kubelet_ca, "cloudCA": cloud_ca, "kubeconfig": kubeconfig,
        }});
        let answer = ask(&self.0, &[question]).pop().unwrap_or_default();
        assert!(answer["problem"].is_null(), "{answer}");
        answer["config"].clone()
    }
}

fn rendered(answer: &Value) -> Result<OperatorRendered, String> {
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    if let Some(problem) = text("problem") {
        return Err(problem);
    }
    Ok(OperatorRendered {
        name: text("name").unwrap_or_default(),
        spec: answer["spec"].clone(),
        yaml: text("yaml").unwrap_or_default(),
    })
}
