//! Where the Kubernetes programs are.

use std::{
    env,
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

/// The version that is built when no other programs are given.
pub const KUBERNETES_VERSION: &str = "v1.36.4";

/// The version of the Go module that holds OpenShift's custom resource definitions.
pub const OPENSHIFT_API_VERSION: &str = "v0.0.0-20260304122341-cf5d8996109f";

/// The variable that names the folder of the Kubernetes programs. `cargo xtask test` sets it.
pub const ENVTEST: &str = "BERTH_ENVTEST";

/// The variable that names the folder of OpenShift's custom resource definitions. `cargo xtask test` sets it.
pub const OPENSHIFT_CRDS: &str = "BERTH_OPENSHIFT_CRDS";

/// Set where every program that tests need is installed: a test that finds one missing must then fail.
pub const REQUIRE_TOOLS: &str = "BERTH_REQUIRE_TOOLS";

/// The variable by which others name a folder with such programs.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// What is in the folder. etcd may be there too, or on the PATH.
pub const PROGRAMS: &[&str] = &["kube-apiserver", "kube-controller-manager", "kubectl", "kubelet"];

/// The programs that make up a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    folder: PathBuf,
    etcd: PathBuf,
    openshift_crds: Option<PathBuf>,
}

/// Why there is no cluster for tests on this machine.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum MissingPrograms {
    /// Nobody said where they are and they were not built.
    #[error(
        "no Kubernetes programs are here; `cargo xtask envtest` builds them, or set {ASSETS} to a folder that has them"
    )]
    Nowhere,
    /// A folder lacks some of them.
    #[error("{} has no {}", folder.display(), names.join(", "))]
    Incomplete {
        /// The folder.
        folder: PathBuf,
        /// What it lacks.
        names: Vec<&'static str>,
    },
    /// There is no etcd.
    #[error("etcd is missing (Debian package `etcd-server`)")]
    Etcd,
}

impl Programs {
    /// Looks in the folders that the environment names, then in the user's cache.
    pub fn find() -> Result<Self, MissingPrograms> {
        let cache = cache_directory(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"));
        let built = cache.as_ref().map(|cache| cache.join(KUBERNETES_VERSION));
        let folder = named(ENVTEST)
            .or_else(|| named(ASSETS))
            .or_else(|| built.filter(|folder| folder.is_dir()))
            .ok_or(MissingPrograms::Nowhere)?;
        let copied = cache.map(|cache| cache.join(format!("openshift-api-{OPENSHIFT_API_VERSION}")));
        let crds = named(OPENSHIFT_CRDS).or(copied).filter(|folder| folder.is_dir());
        Self::in_folder(&folder, crds)
    }

    /// The programs of one folder; etcd may also be on the PATH.
    pub fn in_folder(folder: &Path, openshift_crds: Option<PathBuf>) -> Result<Self, MissingPrograms> {
        let names: Vec<&'static str> = PROGRAMS
            .iter()
            .copied()
            .filter(|name| !is_executable(&folder.join(name)))
            .collect();
        if !names.is_empty() {
            let folder = folder.to_owned();
            return Err(MissingPrograms::Incomplete { folder, names });
        }
        let path = env::var_os("PATH").unwrap_or_default();
        let etcd = [folder.to_owned()]
            .into_iter()
            .chain(env::split_paths(&path))
            .map(|folder| folder.join("etcd"))
            .find(|path| is_executable(path))
            .ok_or(MissingPrograms::Etcd)?;
        Ok(Self {
            folder: folder.to_owned(),
            etcd,
            openshift_crds,
        })
    }

    /// The programs, or `None` with the reason on the error output: the test is then skipped.
    ///
    /// # Panics
    ///
    /// Where `BERTH_REQUIRE_TOOLS` says that nothing may be missing.
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    pub fn for_test() -> Option<Self> {
        match Self::find() {
            Ok(programs) => Some(programs),
            Err(reason) => {
                let required = env::var_os(REQUIRE_TOOLS).is_some();
                assert!(!required, "{reason}, and {REQUIRE_TOOLS} is set");
                eprintln!("skipped: {reason}");
                None
            }
        }
    }

    /// The same for a test that needs OpenShift's definitions too: without them it says so and does not run, or fails where
    /// nothing may be missing.
    ///
    /// # Panics
    ///
    /// Where `BERTH_REQUIRE_TOOLS` says that nothing may be missing.
    #[expect(clippy::print_stderr, reason = "a skipped test says why")]
    pub fn with_openshift_for_test() -> Option<Self> {
        let programs = Self::for_test()?;
        if programs.openshift_crds().is_some() {
            return Some(programs);
        }
        let reason = format!("there are no definitions of OpenShift ({OPENSHIFT_CRDS} names no folder)");
        let required = env::var_os(REQUIRE_TOOLS).is_some();
        assert!(!required, "{reason}, and {REQUIRE_TOOLS} is set");
        eprintln!("skipped: {reason}");
        None
    }

    /// The folder of the Kubernetes programs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// One of [`PROGRAMS`].
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The etcd.
    pub fn etcd(&self) -> &Path {
        &self.etcd
    }

    /// The folder of OpenShift's custom resource definitions, one file for each and each feature set.
    pub fn openshift_crds(&self) -> Option<&Path> {
        self.openshift_crds.as_deref()
    }
}

/// Where programs that were built are kept, by version: below the user's cache directory.
pub fn cache_directory(xdg_cache_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let cache = xdg_cache_home
        .and_then(absolute)
        .or_else(|| Some(home.and_then(absolute)?.join(".cache")))?;
    Some(cache.join("berth").join("envtest"))
}

fn named(variable: &str) -> Option<PathBuf> {
    env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
}

pub(crate) fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_cache_follows_the_users_settings() {
        let cache = |xdg: Option<&str>, home: Option<&str>| cache_directory(xdg.map(Into::into), home.map(Into::into));
        assert_eq!(cache(Some("/c"), Some("/h")), Some("/c/berth/envtest".into()));
        assert_eq!(cache(None, Some("/h")), Some("/h/.cache/berth/envtest".into()));
        // A relative path is to be ignored, as the specification of these folders says.
        assert_eq!(cache(Some("c"), Some("/h")), Some("/h/.cache/berth/envtest".into()));
        assert_eq!(cache(None, None), None);
    }

    #[test]
    fn a_folder_that_lacks_a_program_is_named_with_it() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["kube-apiserver", "kubectl"] {
            fs::write(folder.path().join(name), "").unwrap();
            fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        let missing = Programs::in_folder(folder.path(), None).unwrap_err();
        assert_eq!(
            missing.to_string(),
            format!("{} has no kube-controller-manager, kubelet", folder.path().display())
        );
    }
}
