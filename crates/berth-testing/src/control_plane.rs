//! An etcd, a kube-apiserver and, if asked for, a kube-controller-manager.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use kube::{Client, Config, config::KubeConfigOptions};
use rcgen::KeyPair;
use serde_json::{Value, json};

use crate::{
    bootstrap::BootstrapToken,
    certificates::{Authority, Identity},
    error::TestingError,
    process::{self, Process},
    programs::Programs,
    scratch,
};

/// Far more than it takes; a machine under load is slow.
const START_LIMIT: Duration = Duration::from_mins(2);

/// How often another port is tried when someone was quicker.
const PORT_ATTEMPTS: usize = 5;

/// The name of etcd's socket. etcd insists on the form of a host with a port; the file has just this name.
const ETCD_SOCKET: &str = "etcd:1";

/// The definitions of OpenShift that tests use, by the end of their file names.
const OPENSHIFT_CRDS: &[&str] = &[
    "machineconfigpools-Default.crd.yaml",
    "machineconfigs.crd.yaml",
    "kubeletconfigs.crd.yaml",
    "controllerconfigs-Default.crd.yaml",
    "ingresscontrollers.crd.yaml",
    "machineconfigurations-Default.crd.yaml",
];

/// What a control plane is to be like.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Also run kube-controller-manager, which signs certificate requests among much else.
    pub controllers: bool,
    /// Further names or addresses under which the API server is reached.
    pub names: Vec<String>,
    /// Further arguments for kube-apiserver.
    pub api_server_arguments: Vec<String>,
    /// Further arguments for kube-controller-manager.
    pub controller_arguments: Vec<String>,
}

/// A running control plane. Dropping it ends its programs and removes its data.
#[derive(Debug)]
pub struct ControlPlane {
    // In the order in which they are to end.
    controllers: Option<Process>,
    api_server: Option<Process>,
    _etcd: Process,
    programs: Programs,
    options: Options,
    authority: Authority,
    port: u16,
    folder: tempfile::TempDir,
}

impl ControlPlane {
    /// Starts everything and waits until the API server is ready.
    pub async fn start(programs: &Programs, options: Options) -> Result<Self, TestingError> {
        let folder = scratch::scratch()?;
        let authority = Authority::new()?;
        write_files(folder.path(), &authority, &options)?;
        let etcd = Process::start(programs.etcd(), folder.path(), |command| {
            let url = format!("unix://{ETCD_SOCKET}");
            command
                .args(["--data-dir", "etcd-data", "--unsafe-no-fsync"])
                .args(["--listen-client-urls", &url, "--advertise-client-urls", &url])
                .args(["--listen-peer-urls", "unix://peer:1"])
                .args(["--initial-advertise-peer-urls", "unix://peer:1"])
                .args(["--initial-cluster", "default=unix://peer:1"]);
        })?;
        let mut plane = Self {
            controllers: None,
            api_server: None,
            _etcd: etcd,
            programs: programs.clone(),
            options,
            authority,
            port: 0,
            folder,
        };
        let mut attempt = 1;
        loop {
            plane.port = process::free_port()?;
            match plane.start_api_server().await {
                Err(TestingError::Ended { output, .. })
                    if attempt < PORT_ATTEMPTS && output.contains("address already in use") =>
                {
                    attempt += 1;
                }
                Err(error) => return Err(error),
                Ok(()) => break,
            }
        }
        if plane.options.controllers {
            plane.start_controllers()?;
        }
        Ok(plane)
    }

    /// Starts the API server at the address it had, and waits until it is ready. Nothing is done if it runs.
    pub async fn start_api_server(&mut self) -> Result<(), TestingError> {
        if self.api_server.is_some() {
            return Ok(());
        }
        let program = self.programs.path("kube-apiserver");
        let mut api_server = Process::start(&program, self.folder.path(), |command| {
            command
                .arg(format!("--secure-port={}", self.port))
                .arg(format!("--etcd-servers=unix://{ETCD_SOCKET}"))
                .args([
                    "--bind-address=127.0.0.1",
                    "--endpoint-reconciler-type=none",
                    "--cert-dir=.",
                    "--tls-cert-file=server.pem",
                    "--tls-private-key-file=server-key.pem",
                    "--client-ca-file=ca.pem",
                    "--authorization-mode=Node,RBAC",
                    "--enable-admission-plugins=NodeRestriction,OwnerReferencesPermissionEnforcement",
                    "--enable-bootstrap-token-auth",
                    "--service-account-issuer=https://kubernetes.default.svc",
                    "--service-account-key-file=service-accounts.pem",
                    "--service-account-signing-key-file=service-accounts-key.pem",
                    "--service-cluster-ip-range=10.0.0.0/24",
                    "--allow-privileged",
                ])
                .args(&self.options.api_server_arguments);
        })?;
        let client = self.client(&Identity::admin()).await?;
        api_server
            .wait_for("readiness of the API server", START_LIMIT, || async {
                // The namespace is made by the server itself, shortly after the rest is ready.
                for path in ["/readyz", "/api/v1/namespaces/kube-system"] {
                    let request = http::Request::get(path).body(Vec::new());
                    let Ok(request) = request else { return false };
                    if client.request_text(request).await.is_err() {
                        return false;
                    }
                }
                true
            })
            .await?;
        self.api_server = Some(api_server);
        Ok(())
    }

    /// Ends the API server at once, as a crash would. Its data stay.
    pub fn kill_api_server(&mut self) -> Result<(), TestingError> {
        self.api_server.take().map_or(Ok(()), |mut process| process.kill())
    }

    /// Starts kube-controller-manager. Nothing is done if it runs.
    pub fn start_controllers(&mut self) -> Result<(), TestingError> {
        if self.controllers.is_some() {
            return Ok(());
        }
        let kubeconfig = self.write_kubeconfig(&Identity::admin())?;
        let program = self.programs.path("kube-controller-manager");
        let process = Process::start(&program, self.folder.path(), |command| {
            command
                .arg("--kubeconfig")
                .arg(kubeconfig)
                .args([
                    "--secure-port=0",
                    "--leader-elect=false",
                    "--cluster-signing-cert-file=ca.pem",
                    "--cluster-signing-key-file=ca-key.pem",
                    "--root-ca-file=ca.pem",
                    "--service-account-private-key-file=service-accounts-key.pem",
                ])
                .args(&self.options.controller_arguments);
        })?;
        self.controllers = Some(process);
        Ok(())
    }

    /// Ends kube-controller-manager at once.
    pub fn kill_controllers(&mut self) -> Result<(), TestingError> {
        self.controllers.take().map_or(Ok(()), |mut process| process.kill())
    }

    /// The address of the API server on this machine.
    pub fn url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    /// The port of the API server on the loopback interface.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate that the API server's is signed with, as PEM.
    pub fn ca_certificate(&self) -> String {
        self.authority.certificate()
    }

    /// The folder with all data, certificates and output of this control plane.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The end of the API server's output.
    pub fn api_server_output(&self) -> String {
        self.api_server.as_ref().map(Process::tail).unwrap_or_default()
    }

    /// A kubeconfig for the identity, which gets a new certificate.
    pub fn kubeconfig(&self, identity: &Identity) -> Result<Value, TestingError> {
        let certificate = self.authority.client(identity)?;
        let user = json!({
            "client-certificate-data": STANDARD.encode(certificate.certificate),
            "client-key-data": STANDARD.encode(certificate.key),
        });
        Ok(self.kubeconfig_with(&self.url(), &user))
    }

    /// A kubeconfig for a machine that has only its bootstrap token and reaches the API server at `url`.
    pub fn bootstrap_kubeconfig(&self, token: &BootstrapToken, url: &str) -> Value {
        self.kubeconfig_with(url, &json!({"token": token.bearer()}))
    }

    fn kubeconfig_with(&self, url: &str, user: &Value) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {
                "server": url,
                "certificate-authority-data": STANDARD.encode(self.authority.certificate()),
            }}],
            "users": [{"name": "test", "user": user}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
            "current-context": "test",
        })
    }

    /// Writes a kubeconfig for the identity and gives its path. It lives as long as the control plane.
    pub fn write_kubeconfig(&self, identity: &Identity) -> Result<PathBuf, TestingError> {
        let name: String = identity
            .user()
            .chars()
            .map(|character| {
                if character.is_ascii_alphanumeric() {
                    character
                } else {
                    '-'
                }
            })
            .collect();
        let path = self.folder.path().join(format!("{name}.kubeconfig"));
        scratch::write(path, self.kubeconfig(identity)?.to_string())
    }

    /// A client for the identity, which gets a new certificate.
    pub async fn client(&self, identity: &Identity) -> Result<Client, TestingError> {
        self.client_from(self.kubeconfig(identity)?).await
    }

    /// A client for a machine that has only its bootstrap token.
    pub async fn bootstrap_client(&self, token: &BootstrapToken) -> Result<Client, TestingError> {
        self.client_from(self.bootstrap_kubeconfig(token, &self.url())).await
    }

    async fn client_from(&self, kubeconfig: Value) -> Result<Client, TestingError> {
        let kubeconfig = serde_json::from_value(kubeconfig).map_err(|source| TestingError::File {
            path: "kubeconfig".into(),
            source: source.into(),
        })?;
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
        Client::try_from(config).map_err(|source| TestingError::Api {
            what: "make a client".to_owned(),
            source: Box::new(source),
        })
    }

    /// A kubectl command with the administrator's kubeconfig.
    pub fn kubectl(&self) -> Result<Command, TestingError> {
        let mut command = Command::new(self.programs.path("kubectl"));
        command
            .env("KUBECONFIG", self.write_kubeconfig(&Identity::admin())?)
            // No discovery cache in the home directory.
            .env("HOME", self.folder.path());
        Ok(command)
    }

    /// Applies the files with kubectl, and waits until the custom resource definitions among them are served.
    pub fn apply(&self, files: &[PathBuf]) -> Result<(), TestingError> {
        let mut apply = self.kubectl()?;
        apply.args(["apply", "--server-side"]);
        for file in files {
            apply.arg("--filename").arg(file);
        }
        process::run(&mut apply)?;
        let mut wait = self.kubectl()?;
        wait.args(["wait", "--for=condition=Established", "--timeout=60s"])
            .args(["customresourcedefinitions", "--all"]);
        process::run(&mut wait)?;
        Ok(())
    }

    /// Installs OpenShift's own definitions of pools, machine configs and what goes with them.
    pub fn install_openshift_crds(&self) -> Result<(), TestingError> {
        let folder = self.programs.openshift_crds().ok_or(TestingError::NoOpenshiftCrds)?;
        let entries = std::fs::read_dir(folder).map_err(|source| TestingError::File {
            path: folder.to_owned(),
            source,
        })?;
        let files: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                OPENSHIFT_CRDS.iter().any(|end| name.ends_with(&format!("_{end}")))
            })
            .collect();
        if files.len() != OPENSHIFT_CRDS.len() {
            return Err(TestingError::NoOpenshiftCrds);
        }
        self.apply(&files)
    }
}

/// Everything that the programs read, in the folder where they run.
fn write_files(folder: &Path, authority: &Authority, options: &Options) -> Result<(), TestingError> {
    let server = authority.server(&options.names)?;
    let service_accounts = KeyPair::generate()?;
    for (name, contents) in [
        ("ca.pem", authority.certificate()),
        ("ca-key.pem", authority.key()),
        ("server.pem", server.certificate),
        ("server-key.pem", server.key),
        ("service-accounts.pem", service_accounts.public_key_pem()),
        ("service-accounts-key.pem", service_accounts.serialize_pem()),
    ] {
        scratch::write(folder.join(name), contents)?;
    }
    Ok(())
}
