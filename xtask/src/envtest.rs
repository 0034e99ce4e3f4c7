//! The Kubernetes programs that tests run against: given by the person, or built once and kept.
//!
//! They are built with Go from the module proxy, by the small module in `xtask/envtest/`: its go.mod has the versions
//! and its go.sum the checksums. The results are kept below the user's cache directory by version. OpenShift's custom
//! resource definitions are copied there too; they are not part of this project.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use berth_testing::{
    ENVTEST, KUBERNETES_VERSION, OPENSHIFT_API_VERSION, OPENSHIFT_CRDS, OPERATOR, Operator, PROGRAMS, Programs,
    REQUEST_JUDGE, RequestJudge, cache_directory,
};

use crate::{
    tools::{self, ETCD},
    workspace::Workspace,
};

const ASSETS: &str = "KUBEBUILDER_ASSETS";

const OPENSHIFT_MODULE: &str = "github.com/openshift/api";

/// The folders of the OpenShift module that hold custom resource definitions.
const CRD_FOLDERS: &[&str] = &[
    "machineconfiguration/v1/zz_generated.crd-manifests",
    "operator/v1/zz_generated.crd-manifests",
];

/// Where the version is stamped in: what the programs say, and what their clients send.
const VERSION_PACKAGES: &[&str] = &["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"];

/// Provides the programs and says where they are.
pub(crate) fn run(workspace: &Workspace, print_env: bool) -> Result<()> {
    // The lines for a shell are alone on the standard output.
    let say = |line: &str| {
        if print_env {
            eprintln!("{line}");
        } else {
            println!("{line}");
        }
    };
    if !print_env {
        tools::set_up(&[&ETCD]);
    }
    let programs = match provide(workspace, &say)? {
        Provided::Programs(programs) => programs,
        Provided::Not(reason) => bail!("{reason}"),
    };
    if print_env {
        for (name, value) in environment(&programs) {
            println!("export {name}='{}'", value.to_string_lossy().replace('\'', r"'\''"));
        }
        return Ok(());
    }
    let version = Command::new(programs.path("kube-apiserver")).arg("--version").output();
    let version = version.context("kube-apiserver cannot be started")?;
    println!("{}", String::from_utf8_lossy(&version.stdout).trim());
    for name in PROGRAMS {
        println!("  {}", programs.path(name).display());
    }
    println!("  {}", programs.etcd().display());
    match programs.openshift_crds() {
        Some(folder) => println!("OpenShift's custom resource definitions: {}", folder.display()),
        None => println!("OpenShift's custom resource definitions are not here: they come with the Go toolchain"),
    }
    match RequestJudge::find() {
        Some(judge) => println!("how Kubernetes reads certificate requests: {}", judge.path().display()),
        None => println!("the judge of certificate requests is not here: it is built with Go"),
    }
    match Operator::find() {
        Some(operator) => println!("how the Machine Config Operator renders: {}", operator.path().display()),
        None => println!("the Machine Config Operator's rendering is not here: it is built with Go"),
    }
    Ok(())
}

/// Programs, or the reason why there are none on this machine.
pub(crate) enum Provided {
    Programs(Programs),
    Not(String),
}

/// Takes the programs that are given or were built before, or builds them.
pub(crate) fn provide(workspace: &Workspace, say: &dyn Fn(&str)) -> Result<Provided> {
    let cache = cache_directory(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME"));
    let Some(cache) = cache else {
        return Ok(Provided::Not(
            "neither XDG_CACHE_HOME nor HOME says where to keep Kubernetes".to_owned(),
        ));
    };
    let given = env::var_os(ENVTEST)
        .or_else(|| env::var_os(ASSETS))
        .filter(|value| !value.is_empty());
    let crds = cache.join(format!("openshift-api-{OPENSHIFT_API_VERSION}"));
    let go = go_version();
    if go.is_some() {
        once(&crds, |folder| copy_crds(workspace, folder), say)?;
        // In a folder of its own, by its source: Kubernetes that was built before need not be built again for it.
        once(
            &RequestJudge::folder(&cache),
            |folder| build_judge(workspace, folder, say),
            say,
        )?;
        once(
            &Operator::folder(&cache),
            |folder| build_operator(workspace, folder, say),
            say,
        )?;
    }
    let built = cache.join(KUBERNETES_VERSION);
    let folder = match given {
        Some(folder) => PathBuf::from(folder),
        None if go.is_some() => {
            once(&built, |folder| build(workspace, folder, say), say)?;
            built
        }
        None if built.is_dir() => built,
        None => {
            return Ok(Provided::Not(format!(
                "Kubernetes is not here: install Go to build it, or set {ASSETS} to a folder with {}",
                PROGRAMS.join(", ")
            )));
        }
    };
    Ok(
        match Programs::in_folder(&folder, Some(crds).filter(|crds| crds.is_dir())) {
            Ok(programs) => Provided::Programs(programs),
            Err(missing) => Provided::Not(missing.to_string()),
        },
    )
}

/// What tests need to find the programs.
pub(crate) fn environment(programs: &Programs) -> Vec<(&'static str, OsString)> {
    let mut variables = vec![(ENVTEST, programs.folder().into())];
    if let Some(folder) = programs.openshift_crds() {
        variables.push((OPENSHIFT_CRDS, folder.into()));
    }
    if let Some(judge) = RequestJudge::find() {
        variables.push((REQUEST_JUDGE, judge.path().into()));
    }
    if let Some(operator) = Operator::find() {
        variables.push((OPERATOR, operator.path().into()));
    }
    variables
}

/// Makes a folder of the cache if it is not there. It appears whole or not at all, and two runs do not make it twice.
pub(crate) fn once(folder: &Path, make: impl FnOnce(&Path) -> Result<()>, say: &dyn Fn(&str)) -> Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let parent = folder.parent().context("a folder of the cache has a parent")?;
    fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
    let beside = |end: &str| {
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        name.push(end);
        parent.join(name)
    };
    let lock_path = beside(".lock");
    let lock = File::create(&lock_path).with_context(|| format!("cannot write {}", lock_path.display()))?;
    if lock.try_lock().is_err() {
        say(&format!("waiting for another run that makes {}", folder.display()));
        lock.lock()
            .with_context(|| format!("cannot lock {}", lock_path.display()))?;
    }
    if folder.is_dir() {
        return Ok(());
    }
    let partial = beside(".partial");
    if partial.exists() {
        // From a run that was ended.
        fs::remove_dir_all(&partial).with_context(|| format!("cannot remove {}", partial.display()))?;
    }
    fs::create_dir(&partial).with_context(|| format!("cannot make {}", partial.display()))?;
    make(&partial)?;
    fs::rename(&partial, folder).with_context(|| format!("cannot make {}", folder.display()))
}

/// What `go version` says, if there is a Go.
fn go_version() -> Option<String> {
    let output = Command::new("go").arg("version").output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn go(workspace: &Workspace) -> Command {
    go_in(workspace, "xtask/envtest")
}

fn go_in(workspace: &Workspace, module: &str) -> Command {
    let mut command = Command::new("go");
    command
        .current_dir(workspace.root().join(module))
        .env("CGO_ENABLED", "0")
        .env("GOFLAGS", "-mod=readonly")
        // This version is outside the checksum database; the committed go.sum pins it.
        .env("GONOSUMDB", OPENSHIFT_MODULE);
    command
}

fn build(workspace: &Workspace, folder: &Path, say: &dyn Fn(&str)) -> Result<()> {
    say(&format!(
        "building {} {KUBERNETES_VERSION} with {}: once, about 8 minutes on two cores",
        PROGRAMS.join(", "),
        go_version().unwrap_or_default()
    ));
    let mut command = go(workspace);
    command
        .args([
            "build",
            "-trimpath",
            "-buildvcs=false",
            "-ldflags",
            &linker_flags(KUBERNETES_VERSION)?,
        ])
        .arg("-o")
        .arg(folder)
        .args(PROGRAMS.iter().map(|name| format!("k8s.io/kubernetes/cmd/{name}")));
    let status = command.status().context("go cannot be started")?;
    if !status.success() {
        bail!("`go build` of Kubernetes {KUBERNETES_VERSION} ended with {status}");
    }
    Ok(())
}

/// Builds the program that reads certificate requests as Kubernetes does.
fn build_judge(workspace: &Workspace, folder: &Path, say: &dyn Fn(&str)) -> Result<()> {
    say("building the judge of certificate requests: once, about a minute");
    let status = go(workspace)
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o"])
        .arg(folder.join("csr"))
        .arg("./csr")
        .status()
        .context("go cannot be started")?;
    if !status.success() {
        bail!("`go build` of xtask/envtest/csr ended with {status}");
    }
    Ok(())
}

/// Builds the program that renders and serves as the Machine Config Operator does.
fn build_operator(workspace: &Workspace, folder: &Path, say: &dyn Fn(&str)) -> Result<()> {
    say("building what renders as the Machine Config Operator does: once, about a minute");
    let status = go_in(workspace, "xtask/operator")
        .args(["build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o"])
        .arg(folder.join("operator"))
        .arg(".")
        .status()
        .context("go cannot be started")?;
    if !status.success() {
        bail!("`go build` of xtask/operator ended with {status}");
    }
    Ok(())
}

/// Leaves symbols out and stamps the version in.
fn linker_flags(version: &str) -> Result<String> {
    let numbers = version.strip_prefix('v').unwrap_or(version);
    let mut parts = numbers.split('.');
    let (Some(major), Some(minor)) = (parts.next(), parts.next()) else {
        bail!("`{version}` is not a version of Kubernetes");
    };
    let mut flags = vec!["-s -w".to_owned()];
    for package in VERSION_PACKAGES {
        flags.push(format!("-X {package}.gitVersion={version}"));
        flags.push(format!("-X {package}.gitMajor={major}"));
        flags.push(format!("-X {package}.gitMinor={minor}"));
    }
    Ok(flags.join(" "))
}

fn copy_crds(workspace: &Workspace, folder: &Path) -> Result<()> {
    let module = format!("{OPENSHIFT_MODULE}@{OPENSHIFT_API_VERSION}");
    let output = go(workspace)
        .args(["mod", "download", "-json", &module])
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("go cannot be started")?;
    if !output.status.success() {
        bail!("`go mod download {module}` ended with {}", output.status);
    }
    let answer: serde_json::Value =
        serde_json::from_slice(&output.stdout).context("`go mod download` printed no JSON")?;
    let from = answer["Dir"]
        .as_str()
        .map(Path::new)
        .context("`go mod download` names no folder")?;
    for name in CRD_FOLDERS {
        let from = from.join(name);
        for entry in fs::read_dir(&from).with_context(|| format!("cannot list {}", from.display()))? {
            let path = entry?.path();
            let to = folder.join(path.file_name().unwrap_or_default());
            // Read and written, not copied: the files of the module cache are read-only.
            let contents = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            fs::write(&to, contents).with_context(|| format!("cannot write {}", to.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_folder_is_made_once_and_appears_whole() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("a/v1");
        let count = AtomicUsize::new(0);
        let make = |partial: &Path| {
            assert!(!folder.exists());
            count.fetch_add(1, Ordering::SeqCst);
            fs::write(partial.join("x"), "x")?;
            Ok(())
        };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| once(&folder, make, &|_| {}).unwrap());
            }
        });
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert_eq!(fs::read(folder.join("x")).unwrap(), b"x");
    }

    #[test]
    fn a_folder_that_was_not_finished_is_made_again() {
        let cache = tempfile::tempdir().unwrap();
        let folder = cache.path().join("v1");
        assert!(once(&folder, |partial| Ok(fs::write(partial.join("half"), "")?), &|_| {}).is_ok());
        fs::remove_dir_all(&folder).unwrap();
        let failing = |partial: &Path| {
            fs::write(partial.join("half"), "")?;
            bail!("no network")
        };
        assert!(once(&folder, failing, &|_| {}).is_err());
        assert!(!folder.exists());
        once(&folder, |partial| Ok(fs::write(partial.join("whole"), "")?), &|_| {}).unwrap();
        assert!(!folder.join("half").exists() && folder.join("whole").exists());
    }

    #[test]
    fn the_version_is_stamped_into_both_packages() {
        let flags = linker_flags("v1.36.4").unwrap();
        for package in VERSION_PACKAGES {
            assert!(flags.contains(&format!("-X {package}.gitVersion=v1.36.4")));
            assert!(flags.contains(&format!("-X {package}.gitMinor=36")));
        }
        assert!(linker_flags("v1").is_err());
    }

    /// The versions are written in the module and in the crate for tests; they must be the same.
    #[test]
    fn the_go_module_has_the_versions_that_tests_speak_of() {
        let workspace = Workspace::find().unwrap();
        let module = fs::read_to_string(workspace.root().join("xtask/envtest/go.mod")).unwrap();
        let staging = KUBERNETES_VERSION.replace("v1.", "v0.");
        assert!(module.contains(&format!("k8s.io/kubernetes {KUBERNETES_VERSION}\n")));
        assert!(module.contains(&format!("{OPENSHIFT_MODULE} {OPENSHIFT_API_VERSION}\n")));
        assert!(module.contains(&format!("k8s.io/api => k8s.io/api {staging}\n")));
        let operator = fs::read_to_string(workspace.root().join("xtask/operator/go.mod")).unwrap();
        assert!(operator.contains(&format!("{OPENSHIFT_MODULE} {OPENSHIFT_API_VERSION}\n")));
    }
}
