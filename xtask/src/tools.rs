//! Programs from outside the workspace that tests compare with, and how to get them.

use std::{
    env,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    process::Command,
};

/// A program that some test or step calls.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// The name of the executable on the PATH, or its whole path.
    pub(crate) program: &'static str,
    /// The Debian package that brings it.
    pub(crate) debian_package: &'static str,
    /// What does not run without it; completes the sentence "… did not run".
    pub(crate) used_for: &'static str,
}

pub(crate) const IGNITION_VALIDATE: Tool = Tool {
    program: "ignition-validate",
    debian_package: "ignition",
    used_for: "comparison of Ignition configs with the reference validator",
};

/// Debian keeps it on no PATH, below a folder for its version. Tests look for other versions too.
pub(crate) const POSTGRES: Tool = Tool {
    program: "/usr/lib/postgresql/15/bin/postgres",
    debian_package: "postgresql-15",
    used_for: "tests of the store on PostgreSQL",
};

/// Its test mode loads units and prints them; it is on no PATH.
pub(crate) const SYSTEMD: Tool = Tool {
    program: "/usr/lib/systemd/systemd",
    debian_package: "systemd",
    used_for: "comparison of unit files and drop-ins with what systemd loads",
};

/// The engine that writes a config to disk. It is meant for initial RAM disks and is on no PATH.
pub(crate) const IGNITION: Tool = Tool {
    program: "/usr/lib/dracut/modules.d/30ignition/ignition",
    debian_package: "ignition",
    used_for: "comparison of the files that Ignition writes with what the configs say",
};

pub(crate) const SYSTEMD_ANALYZE: Tool = Tool {
    program: "systemd-analyze",
    debian_package: "systemd",
    used_for: "verification of generated drop-ins",
};

/// Every tool that some step knows.
pub(crate) const ALL: &[Tool] = &[IGNITION, IGNITION_VALIDATE, POSTGRES, SYSTEMD, SYSTEMD_ANALYZE];

impl Tool {
    pub(crate) fn is_installed(&self) -> bool {
        env::var_os("PATH")
            .is_some_and(|path| env::split_paths(&path).any(|folder| is_executable(&folder.join(self.program))))
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Installs the missing tools where that is possible, and says what it does or what the person can do.
///
/// A tool that cannot be installed is no failure: the closing lines name what did not run without it.
pub(crate) fn set_up(tools: &[&Tool]) {
    let missing: Vec<&Tool> = tools.iter().copied().filter(|tool| !tool.is_installed()).collect();
    if missing.is_empty() {
        let names: Vec<&str> = tools.iter().map(|tool| tool.program).collect();
        println!("installed already: {}", names.join(", "));
        return;
    }
    for tool in &missing {
        println!(
            "{} is missing (Debian package `{}`); it is needed for {}",
            tool.program, tool.debian_package, tool.used_for
        );
    }
    let mut packages: Vec<&str> = missing.iter().map(|tool| tool.debian_package).collect();
    packages.sort_unstable();
    packages.dedup();
    let line = format!("apt-get install --yes --no-install-recommends {}", packages.join(" "));
    if !is_executable(Path::new("/usr/bin/apt-get")) {
        println!("this is no Debian machine: install these programs by hand to run everything");
    } else if !is_root() {
        println!("to run everything, run as root: apt-get update && {line}");
    } else {
        println!("running as root, so installing: {line}");
        install(&packages);
    }
}

/// A machine without network still runs the rest, so a failure is only told.
fn install(packages: &[&str]) {
    let update: &[&str] = &["update", "--quiet"];
    let install: Vec<&str> = ["install", "--yes", "--quiet", "--no-install-recommends"]
        .into_iter()
        .chain(packages.iter().copied())
        .collect();
    for arguments in [update, &install] {
        let status = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => println!("apt-get {} failed ({status})", arguments.join(" ")),
            Err(error) => println!("apt-get cannot be started: {error}"),
        }
    }
}

/// The owner of `/proc/self` is the effective user of this process.
fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_on_the_path_only_if_it_is_there() {
        let shell = Tool {
            program: "sh",
            debian_package: "dash",
            used_for: "nothing",
        };
        let nothing = Tool {
            program: "berth-no-such-program",
            ..shell
        };
        assert!(shell.is_installed());
        assert!(!nothing.is_installed());
    }

    #[test]
    fn a_folder_is_not_executable() {
        assert!(!is_executable(Path::new("/usr/bin")));
    }
}
