//! Programs from outside the workspace that tests compare with, and how to get them.

use std::{
    env, fmt,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    process::Command,
};

/// A program that some test or step calls.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tool {
    /// The name of the executable on the PATH, or its whole path.
    pub(crate) program: &'static str,
    /// Where it comes from.
    pub(crate) source: Source,
    /// What does not run without it; completes the sentence "… did not run".
    pub(crate) used_for: &'static str,
}

/// Where a tool comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// A Debian package.
    Debian(&'static str),
    /// A module of Python, with the Debian package that brings it.
    Python {
        module: &'static str,
        package: &'static str,
    },
    /// A crate, built without optimisation because that takes a third of the time.
    Cargo {
        package: &'static str,
        version: &'static str,
        /// What its build links: the library for pkg-config and the Debian package that brings it.
        libraries: &'static [(&'static str, &'static str)],
    },
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Debian(package) | Self::Python { package, .. } => write!(f, "Debian package `{package}`"),
            Self::Cargo { package, version, .. } => {
                write!(f, "`cargo {}` brings it", cargo_install(package, version).join(" "))
            }
        }
    }
}

/// The installer of CoreOS, which reads and writes configs in live images.
pub(crate) const COREOS_INSTALLER: Tool = Tool {
    program: "coreos-installer",
    source: Source::Cargo {
        package: "coreos-installer",
        version: "0.27.0",
        libraries: &[("openssl", "libssl-dev"), ("libzstd", "libzstd-dev")],
    },
    used_for: "comparison of configs in live images with what the installer of CoreOS reads and writes",
};

pub(crate) const IGNITION_VALIDATE: Tool = Tool {
    program: "ignition-validate",
    source: Source::Debian("ignition"),
    used_for: "comparison of Ignition configs with the reference validator",
};

/// It is for administrators, so that it may not be on the PATH.
pub(crate) const HAPROXY: Tool = Tool {
    program: "/usr/sbin/haproxy",
    source: Source::Debian("haproxy"),
    used_for: "the check of load balancer configurations",
};

/// Debian keeps it on no PATH, below a folder for its version. Tests look for other versions too.
pub(crate) const POSTGRES: Tool = Tool {
    program: "/usr/lib/postgresql/15/bin/postgres",
    source: Source::Debian("postgresql-15"),
    used_for: "tests of the store on PostgreSQL",
};

/// Its test mode loads units and prints them; it is on no PATH.
pub(crate) const SYSTEMD: Tool = Tool {
    program: "/usr/lib/systemd/systemd",
    source: Source::Debian("systemd"),
    used_for: "comparison of unit files and drop-ins with what systemd loads",
};

/// The engine that writes a config to disk. It is meant for initial RAM disks and is on no PATH.
pub(crate) const IGNITION: Tool = Tool {
    program: "/usr/lib/dracut/modules.d/30ignition/ignition",
    source: Source::Debian("ignition"),
    used_for: "comparison of the files that Ignition writes with what the configs say",
};

pub(crate) const SYSTEMD_ANALYZE: Tool = Tool {
    program: "systemd-analyze",
    source: Source::Debian("systemd"),
    used_for: "verification of generated drop-ins",
};

/// What the Kubernetes API server keeps its objects in.
pub(crate) const ETCD: Tool = Tool {
    program: "etcd",
    source: Source::Debian("etcd-server"),
    used_for: "tests on a real Kubernetes API server",
};

/// What a kubelet starts containers with; it does not run without one.
pub(crate) const CONTAINERD: Tool = Tool {
    program: "containerd",
    source: Source::Debian("containerd"),
    used_for: "tests with a real kubelet",
};

pub(crate) const CLOUD_INIT: Tool = Tool {
    program: "cloud-init",
    source: Source::Debian("cloud-init"),
    used_for: "comparison of user data with the schema of cloud-init",
};

/// The reader of YAML that Airship's services use.
pub(crate) const PYYAML: Tool = Tool {
    program: "python3",
    source: Source::Python {
        module: "yaml",
        package: "python3-yaml",
    },
    used_for: "comparison of YAML in the Airship envelope with what PyYAML reads",
};

/// Runs the machines of `cargo xtask e2e`.
pub(crate) const QEMU: Tool = Tool {
    program: "qemu-system-x86_64",
    source: Source::Debian("qemu-system-x86"),
    used_for: "the first boot of a whole machine",
};

/// Makes their disk.
pub(crate) const DEBOOTSTRAP: Tool = Tool {
    program: "debootstrap",
    source: Source::Debian("debootstrap"),
    used_for: "the first boot of a whole machine",
};

/// Makes their file system.
pub(crate) const MKFS: Tool = Tool {
    program: "mkfs.ext4",
    source: Source::Debian("e2fsprogs"),
    used_for: "the first boot of a whole machine",
};

/// Every tool that some step knows.
pub(crate) const ALL: &[Tool] = &[
    CLOUD_INIT,
    CONTAINERD,
    COREOS_INSTALLER,
    DEBOOTSTRAP,
    ETCD,
    HAPROXY,
    IGNITION,
    IGNITION_VALIDATE,
    MKFS,
    POSTGRES,
    PYYAML,
    QEMU,
    SYSTEMD,
    SYSTEMD_ANALYZE,
];

impl Tool {
    pub(crate) fn is_installed(&self) -> bool {
        if let Source::Python { module, .. } = self.source {
            return has_module(self.program, module);
        }
        env::var_os("PATH")
            .is_some_and(|path| env::split_paths(&path).any(|folder| is_executable(&folder.join(self.program))))
    }
}

/// Whether the Python on the PATH has a module, or Debian's own.
fn has_module(python: &str, module: &str) -> bool {
    let debian = format!("/usr/bin/{python}");
    [python, &debian].iter().any(|python| {
        let output = Command::new(python).args(["-c", &format!("import {module}")]).output();
        output.is_ok_and(|output| output.status.success())
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// Installs the missing tools where that is possible, and says what it does or what the person can do.
///
/// A tool that cannot be installed is not a failure: the closing lines name what did not run without it.
pub(crate) fn set_up(tools: &[&Tool]) {
    let missing: Vec<&Tool> = tools.iter().copied().filter(|tool| !tool.is_installed()).collect();
    if missing.is_empty() {
        let names: Vec<&str> = tools.iter().map(|tool| tool.program).collect();
        println!("installed already: {}", names.join(", "));
        return;
    }
    for tool in &missing {
        println!(
            "{} is missing ({}); it is needed for {}",
            tool.program, tool.source, tool.used_for
        );
    }
    let packages = debian_packages(&missing);
    if !packages.is_empty() {
        set_up_packages(&packages);
    }
    for tool in missing {
        if let Source::Cargo {
            package,
            version,
            libraries,
        } = tool.source
        {
            set_up_crate(package, version, libraries);
        }
    }
}

/// The packages that bring the tools, or what builds of them need.
fn debian_packages(missing: &[&Tool]) -> Vec<&'static str> {
    let mut packages: Vec<&str> = Vec::new();
    for tool in missing {
        match &tool.source {
            Source::Debian(package) | Source::Python { package, .. } => packages.push(package),
            Source::Cargo { libraries, .. } if libraries.iter().all(|(library, _)| has_library(library)) => {}
            Source::Cargo { libraries, .. } => {
                packages.push("pkg-config");
                packages.extend(libraries.iter().map(|(_, package)| package));
            }
        }
    }
    packages.sort_unstable();
    packages.dedup();
    packages
}

fn set_up_packages(packages: &[&str]) {
    let line = format!("apt-get install --yes --no-install-recommends {}", packages.join(" "));
    if !is_executable(Path::new("/usr/bin/apt-get")) {
        println!("this is not a Debian machine: install these programs by hand to run everything");
    } else if !is_root() {
        println!("to run everything, run as root: apt-get update && {line}");
    } else {
        println!("running as root, so installing: {line}");
        install(packages);
    }
}

/// A build that would end without its libraries is not begun: it would take a minute of every run.
fn set_up_crate(package: &str, version: &str, libraries: &[(&str, &str)]) {
    if let Some((library, _)) = libraries.iter().find(|(library, _)| !has_library(library)) {
        println!("{package} is not built: pkg-config does not find {library}");
        return;
    }
    let arguments = cargo_install(package, version);
    println!("installing from crates.io: cargo {}", arguments.join(" "));
    let status = Command::new("cargo").args(arguments).status();
    match status {
        Ok(status) if status.success() => {}
        Ok(status) => println!("cargo install {package} failed ({status})"),
        Err(error) => println!("cargo cannot be started: {error}"),
    }
}

fn cargo_install<'a>(package: &'a str, version: &'a str) -> [&'a str; 6] {
    ["install", package, "--version", version, "--locked", "--debug"]
}

fn has_library(name: &str) -> bool {
    let found = Command::new("pkg-config").args(["--exists", name]).status();
    found.is_ok_and(|status| status.success())
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
            // What this program prints may be read by a shell.
            .stdout(std::io::stderr())
            .status();
        match status {
            Ok(status) if status.success() => {}
            Ok(status) => println!("apt-get {} failed ({status})", arguments.join(" ")),
            Err(error) => println!("apt-get cannot be started: {error}"),
        }
    }
}

/// The owner of `/proc/self` is the effective user of this process.
pub(crate) fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|meta| meta.uid() == 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_on_the_path_only_if_it_is_there() {
        let shell = Tool {
            program: "sh",
            source: Source::Debian("dash"),
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
    fn a_tool_says_where_it_comes_from() {
        assert_eq!(IGNITION.source.to_string(), "Debian package `ignition`");
        assert_eq!(
            COREOS_INSTALLER.source.to_string(),
            "`cargo install coreos-installer --version 0.27.0 --locked --debug` brings it"
        );
    }

    #[test]
    fn a_library_that_is_not_there_brings_the_packages_of_the_build() {
        let tool = Tool {
            program: "berth-no-such-program",
            source: Source::Cargo {
                package: "no-such-crate",
                version: "1.0.0",
                libraries: &[("no-such-library", "libnone-dev")],
            },
            used_for: "nothing",
        };
        assert_eq!(
            debian_packages(&[&tool, &IGNITION, &IGNITION_VALIDATE]),
            ["ignition", "libnone-dev", "pkg-config"]
        );
    }

    #[test]
    fn a_folder_is_not_executable() {
        assert!(!is_executable(Path::new("/usr/bin")));
    }
}
