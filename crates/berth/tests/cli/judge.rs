//! What `ignition-validate` says of configs that the commands print.

use std::{
    io::Write,
    process::{Command, Stdio},
};

use berth_ignition::{SpecVersion, parse};
use serde_json::Value;

const PROGRAM: &str = "ignition-validate";

/// The newest version that the packaged program knows.
const VERSION: SpecVersion = SpecVersion::V3_3;

/// Fails unless Ignition takes the config. Without the program nothing can be compared, which is said and, where tools are
/// required, an error.
#[expect(clippy::print_stderr, reason = "a skipped check says why")]
pub(crate) fn ignition_takes(name: &str, config: &Value) {
    if Command::new(PROGRAM).arg("-version").output().is_err() {
        let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        assert!(!required, "{PROGRAM} is not installed");
        eprintln!("{name} is not judged: {PROGRAM} is not installed");
        return;
    }
    let config = parse(config)
        .usable()
        .unwrap_or_else(|findings| panic!("{name}: {findings:?}"));
    let text = config.to_version(VERSION).unwrap().to_string();
    let mut child = Command::new(PROGRAM)
        .arg("-")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{name}: {output:?}");
}
