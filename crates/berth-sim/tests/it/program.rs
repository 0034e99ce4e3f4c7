//! A served cluster, and kubectl to use it.

use std::{
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use berth_clock::Clock;
use berth_sim::{ApiServer, Cluster, ClusterOptions, Identity, kubeconfig};
use jiff::Timestamp;
use tempfile::TempDir;

/// The moment at which every test happens.
pub(crate) const NOW: &str = "2026-03-01T10:00:00Z";

pub(crate) fn options() -> ClusterOptions {
    let now: Timestamp = NOW.parse().unwrap();
    ClusterOptions::new(Clock::stopped(now), 7)
}

/// Where a test's cluster listens.
pub(crate) fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// The kubectl to test with. A test without one says so and passes, unless `BERTH_REQUIRE_TOOLS` is set.
pub(crate) fn kubectl() -> Option<PathBuf> {
    let envtest = std::env::var_os("BERTH_ENVTEST").map(|folder| Path::new(&folder).join("kubectl"));
    let on_path = std::env::var_os("PATH")
        .into_iter()
        .flat_map(|path| std::env::split_paths(&path).collect::<Vec<_>>())
        .map(|folder| folder.join("kubectl"));
    let found = envtest.into_iter().chain(on_path).find(|program| program.is_file());
    if found.is_none() {
        let required = std::env::var_os("BERTH_REQUIRE_TOOLS").is_some_and(|value| value == "1");
        assert!(!required, "BERTH_REQUIRE_TOOLS is set, and kubectl is not installed");
        eprintln!("kubectl is not installed: nothing is compared with it");
    }
    found
}

/// A served cluster and a folder for kubectl.
pub(crate) struct Served {
    /// Serves as long as it is here.
    _server: ApiServer,
    pub(crate) folder: TempDir,
    kubectl: PathBuf,
}

impl Served {
    /// Nothing without kubectl.
    pub(crate) async fn start() -> Option<Self> {
        Self::serve(Cluster::new(options())).await
    }

    /// Serves a cluster in which something happens.
    pub(crate) async fn serve(cluster: Cluster) -> Option<Self> {
        let kubectl = kubectl()?;
        let server = ApiServer::start(cluster, loopback()).await.unwrap();
        server.cluster().add_token("admin", Identity::administrator());
        let folder = TempDir::new().unwrap();
        std::fs::write(folder.path().join("kubeconfig"), kubeconfig(&server.url(), "admin")).unwrap();
        Some(Self {
            _server: server,
            folder,
            kubectl,
        })
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .current_dir(self.folder.path());
        command
    }

    /// Runs kubectl with a text as its input. What it says, and whether it was content.
    pub(crate) async fn run(&self, arguments: &[&str], input: &str) -> (String, bool) {
        self.run_with(self.command(arguments), input).await
    }

    pub(crate) async fn run_with(&self, mut command: Command, input: &str) -> (String, bool) {
        let input = input.to_owned();
        let output = tokio::task::spawn_blocking(move || {
            let mut child = command
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            // kubectl may end before it has read everything.
            let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
            child.wait_with_output().unwrap()
        })
        .await
        .unwrap();
        let text = [output.stdout, output.stderr].concat();
        (String::from_utf8(text).unwrap(), output.status.success())
    }

    /// Runs kubectl, which must be content.
    pub(crate) async fn ok(&self, arguments: &[&str], input: &str) -> String {
        let (said, content) = self.run(arguments, input).await;
        assert!(content, "kubectl {arguments:?} failed: {said}");
        said
    }

    /// Runs kubectl, which must refuse.
    pub(crate) async fn refused(&self, arguments: &[&str], input: &str) -> String {
        let (said, content) = self.run(arguments, input).await;
        assert!(!content, "kubectl {arguments:?} did not fail: {said}");
        said
    }

    /// One value, by its JSON path.
    pub(crate) async fn value(&self, kind: &str, name: &str, path: &str) -> String {
        let output = format!("jsonpath={{{path}}}");
        self.ok(&["get", kind, name, "-o", &output], "").await
    }
}
