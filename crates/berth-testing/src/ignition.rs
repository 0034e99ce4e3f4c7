//! The real Ignition: its validator, and the engine that writes files into an empty root.
//!
//! Debian's is 2.14.0, which knows the specs up to 3.3.0.

use std::{
    env, fs,
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, symlink},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use tempfile::TempDir;

use crate::{error::TestingError, programs::REQUIRE_TOOLS, scratch::scratch};

const VALIDATOR: &str = "/usr/bin/ignition-validate";
const ENGINE: &str = "/usr/lib/dracut/modules.d/30ignition/ignition";

/// Ignition's programs, where they are installed.
#[derive(Debug, Clone, Copy)]
pub struct Ignition(());

/// What the validator says of a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// Whether a machine would boot from it.
    pub accepted: bool,
    /// Errors, and warnings also where it is accepted.
    pub said: String,
}

impl Verdict {
    /// Accepted without a word.
    pub fn is_clean(&self) -> bool {
        self.accepted && self.said.is_empty()
    }
}

/// A root that Ignition has written; removed when it is dropped.
#[derive(Debug)]
pub struct WrittenRoot {
    folder: TempDir,
}

impl Ignition {
    /// The programs, or `None` with the reason on the error output: the check is then left out.
    ///
    /// # Panics
    ///
    /// Where `BERTH_REQUIRE_TOOLS` says that nothing may be missing.
    #[expect(clippy::print_stderr, reason = "a skipped check says why")]
    pub fn for_test() -> Option<Self> {
        let missing: Vec<&str> = [VALIDATOR, ENGINE]
            .into_iter()
            .filter(|path| !Path::new(path).exists())
            .collect();
        if missing.is_empty() {
            return Some(Self(()));
        }
        let missing = missing.join(" and ");
        let required = env::var_os(REQUIRE_TOOLS).is_some();
        assert!(!required, "{missing} is missing, and {REQUIRE_TOOLS} is set");
        eprintln!("skipped: {missing} is missing (Debian package `ignition`)");
        None
    }

    /// What the validator says of a config.
    pub fn judge(self, config: &str) -> io::Result<Verdict> {
        let mut child = Command::new(VALIDATOR)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(config.as_bytes())?;
        }
        let output = child.wait_with_output()?;
        Ok(Verdict {
            accepted: output.status.success(),
            said: String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned(),
        })
    }

    /// Lets the engine write a config into an empty root. `None` for all but root, who alone can give files away.
    ///
    /// # Errors
    /// When a file cannot be made, or the engine fails: with what it said.
    pub fn write(self, config: &str) -> Result<Option<WrittenRoot>, TestingError> {
        if !fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
            return Ok(None);
        }
        let folder = scratch()?;
        let at = |name: &str| folder.path().join(name);
        let prepare = || {
            fs::create_dir_all(at("root/etc/selinux"))?;
            fs::create_dir(at("bin"))?;
            // The engine ends with a relabelling by SELinux's tools, which are not what is tested and not installed.
            fs::write(
                at("root/etc/selinux/config"),
                "SELINUX=disabled\nSELINUXTYPE=targeted\n",
            )?;
            symlink("/bin/true", at("bin/setfiles"))?;
            fs::write(at("config.ign"), config)
        };
        prepare().map_err(|source| TestingError::File {
            path: folder.path().to_owned(),
            source,
        })?;
        for stage in ["fetch", "files"] {
            let output = Command::new(ENGINE)
                .args(["--platform", "file", "--log-to-stdout", "--stage", stage, "--root"])
                .arg(at("root"))
                .arg("--config-cache")
                .arg(at("cache.json"))
                .arg("--state-file")
                .arg(at("state"))
                .arg("--neednet")
                .arg(at("neednet"))
                .env("IGNITION_CONFIG_FILE", at("config.ign"))
                .env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", at("bin").display()))
                .output()
                .map_err(|source| TestingError::Start {
                    program: ENGINE.to_owned(),
                    source,
                })?;
            if !output.status.success() {
                return Err(TestingError::Ended {
                    program: format!("ignition's stage {stage}"),
                    status: output.status,
                    output: String::from_utf8_lossy(&output.stdout).into_owned(),
                });
            }
        }
        Ok(Some(WrittenRoot { folder }))
    }
}

impl WrittenRoot {
    /// Where a path of the machine is.
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path.trim_start_matches('/'))
    }
}
