//! A root directory that stands for a machine, and the executable run on it.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_berth-node");

pub(crate) const UNIT: &str = "/usr/lib/systemd/system/kubelet.service";

pub(crate) struct Machine {
    directory: TempDir,
}

/// What a run of the generator gave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Generated {
    /// Name and text of each file in the generator directory's `kubelet.service.d`.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) log: String,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let machine = Self {
            directory: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(machine.path("")).unwrap();
        machine
    }

    /// A machine with a kubelet unit and labels.
    pub(crate) fn with(unit: &str, labels: &str) -> Self {
        let machine = Self::new();
        machine.write(UNIT, unit);
        machine.write("/etc/berth/labels", labels);
        machine
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join("root").join(path.trim_start_matches('/'))
    }

    pub(crate) fn generator_directory(&self) -> PathBuf {
        self.directory.path().join("generator")
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        symlink(target, path).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        Command::new(PROGRAM)
            .arg("--root")
            .arg(self.path(""))
            .args(arguments)
            .output()
            .unwrap()
    }

    /// Runs the generator, which must succeed whatever the machine looks like.
    pub(crate) fn generate(&self) -> Generated {
        self.generate_to(&self.generator_directory())
    }

    pub(crate) fn generate_to(&self, directory: &Path) -> Generated {
        let output = self.run(&["generator", directory.to_str().unwrap(), "/early", "/late"]);
        let log = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{}: {log}", output.status);
        assert_eq!(output.stdout, b"");
        let mut files = Vec::new();
        if let Ok(listing) = fs::read_dir(directory.join("kubelet.service.d")) {
            for entry in listing {
                let entry = entry.unwrap();
                let text = fs::read_to_string(entry.path()).unwrap();
                files.push((entry.file_name().into_string().unwrap(), text));
            }
        }
        files.sort();
        Generated { files, log }
    }
}

impl Generated {
    /// The text of the only file.
    pub(crate) fn text(&self) -> &str {
        assert_eq!(self.files.len(), 1, "{self:?}");
        &self.files[0].1
    }

    /// The last `ExecStart=`.
    pub(crate) fn command(&self) -> &str {
        let line = self.text().lines().last().unwrap();
        line.strip_prefix("ExecStart=").unwrap()
    }
}
