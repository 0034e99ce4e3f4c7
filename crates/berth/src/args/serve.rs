//! `berth serve` and `berth ignition-server`.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use berth_pools::parse_duration;
use berth_tokens::Role;
use clap::{ArgGroup, Args, ValueEnum};

use super::{DatabaseArgs, FlavourArg, LimitArgs, StrategyName};

/// Run the API server and the Ignition server in one process
///
/// With --listen the API under /api/v1.0: documents in buckets and revisions as Deckhand serves them, staging and actions as
/// Shipyard's, tasks and node filters as Drydock's, node labels as Promenade's. GET /docs shows all routes, GET /openapi.json
/// describes them for programs. Documents and actions are in the database. Nodes are labelled in the cluster of
/// --cluster-kubeconfig; without any cluster the routes that need one say so.
///
/// With --ignition-listen or --plain-listen the Ignition server too; see `berth ignition-server`. It serves the site of --site,
/// with --from-cluster the objects of a cluster, or without either the committed revision of the database, and follows when
/// another one is committed. A machine with a Berth in the cluster gets the config of the pool where that is now.
///
/// Without --auth nobody is asked who they are: the API listens on loopback addresses only, and refuses requests of web pages of
/// other sites. Elsewhere it needs a certificate too, or an explicit --plain-http. Ctrl-C and SIGTERM end the server:
/// requests that have begun are finished.
#[derive(Debug, Args)]
#[command(
    override_usage = "\
berth serve --listen <ADDR:PORT> [--auth <WAY> [FILE|URL]]
                [--tls-cert <FILE> --tls-key <FILE>] [--database <ADDRESS>] [OPTIONS]
       berth serve <--ignition-listen <ADDR:PORT>|--plain-listen <ADDR:PORT>>
                <--tokens <FILE>|--allow-anonymous> [OPTIONS]
       berth serve --admission-listen <ADDR:PORT> --admission-cert <FILE>
                --admission-key <FILE> [OPTIONS]",
    mut_group("secure", |group| group.arg("listen")),
    group = ArgGroup::new("served").required(true).multiple(true).args(["listen", "ignition_listen", "plain_listen", "admission_listen"]),
    after_help = "\
Examples:
  berth serve --listen 127.0.0.1:8080 --database sqlite:berth.db
  curl http://127.0.0.1:8080/api/v1.0/revisions
  berth serve --listen 0.0.0.0:8443 --tls-cert server.crt --tls-key server.key \\
    --auth tokens api-tokens.json
  berth serve --listen 0.0.0.0:8443 --tls-cert server.crt --tls-key server.key \\
    --auth kubernetes --database-file database.txt
  berth serve --listen 0.0.0.0:8443 --tls-cert server.crt --tls-key server.key \\
    --auth keystone https://keystone.example/v3 --keystone-role netops=operator
  berth serve --site site/ --ignition-listen 0.0.0.0:22623 \\
    --tls-cert server.crt --tls-key server.key --tokens tokens.json"
)]
pub(crate) struct ServeArgs {
    /// Address and port of the API; port 0 takes any free one
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Option<SocketAddr>,

    /// Serve the API without TLS although --listen can be reached from elsewhere, or there is a certificate
    ///
    /// Whoever sees the traffic has the tokens and the secrets in it. For a server behind a proxy that does TLS.
    #[arg(long, requires = "listen")]
    pub(crate) plain_http: bool,

    /// How callers of the API are known: none, tokens FILE, kubernetes, or keystone URL
    ///
    /// none: whoever reaches the server may do everything; on loopback addresses only, and the default there. tokens FILE: by
    /// the tokens of a file that `berth token create --role` writes. kubernetes: by the tokens of the cluster, with the rights
    /// that its RBAC gives on resources of berth.dev; /docs lists them. keystone URL: by the tokens of an `OpenStack` Keystone,
    /// whose address is the one that clients have in `OS_AUTH_URL`; --keystone-role says what its roles may do.
    #[arg(long, value_names = ["WAY", "FILE|URL"], num_args = 1..=2, requires = "listen")]
    pub(crate) auth: Vec<String>,

    /// What a role of Keystone may do here: viewer, operator or admin; can be repeated
    ///
    /// Without it the roles of Airship's charts hold: admin and `admin_ucp` are admin, `admin_ucp_viewer` is viewer. With it only
    /// the roles that are named count.
    #[arg(long, value_name = "NAME=ROLE", value_parser = KeystoneRole::parse, requires = "auth")]
    pub(crate) keystone_role: Vec<KeystoneRole>,

    /// Certificates of the authorities that sign for Keystone, in PEM; those of the system unless given
    #[arg(long, value_name = "FILE", requires = "auth")]
    pub(crate) keystone_ca: Option<PathBuf>,

    /// Another name of this server in the design references of tasks, with or without a port; can be repeated
    ///
    /// A `design_ref` that points to another server is refused, because it would not be what is applied. Shipyard names
    /// Deckhand by its service, such as deckhand-int.ucp.svc.cluster.local:9000.
    #[arg(long, value_name = "HOST[:PORT]", requires = "listen")]
    pub(crate) design_host: Vec<String>,

    /// Address of another Deckhand whose designs tasks may name; can be repeated
    ///
    /// A `design_ref` to it is fetched, and taken if its Drydock documents are those of the committed revision here. Without this
    /// option nothing is fetched. With --auth keystone the caller's token is sent along.
    #[arg(long, value_name = "URL", requires = "listen")]
    pub(crate) deckhand: Vec<String>,

    /// Certificates of the authorities that sign for those Deckhands, in PEM; those of the system unless given
    #[arg(long, value_name = "FILE", requires = "deckhand")]
    pub(crate) deckhand_ca: Option<PathBuf>,

    /// Serve documents alone, even where a cluster could be found
    #[arg(long, requires = "listen", conflicts_with_all = ["cluster_kubeconfig", "cluster_context"])]
    pub(crate) no_cluster: bool,

    #[command(flatten)]
    pub(crate) relabelling: RelabellingArgs,

    /// Address and port of the admission webhook of the cluster, which the controllers of `berth install` answer too
    #[arg(long, value_name = "ADDR:PORT", requires_all = ["admission_cert", "admission_key"])]
    pub(crate) admission_listen: Option<SocketAddr>,

    /// The webhook's certificate, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "admission_listen")]
    pub(crate) admission_cert: Option<PathBuf>,

    /// The private key of the webhook's certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "admission_listen")]
    pub(crate) admission_key: Option<PathBuf>,

    /// Roots of client certificates, in PEM; reviews are then taken only from API servers that show one
    #[arg(long, value_name = "FILE", requires = "admission_listen")]
    pub(crate) admission_client_ca: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) database: DatabaseArgs,

    #[command(flatten)]
    pub(crate) ignition: IgnitionServerOptions,
}

/// How the API relabels nodes.
#[derive(Debug, Args)]
pub(crate) struct RelabellingArgs {
    /// What happens to labels that are not declared, where a request does not say it
    #[arg(
        long,
        value_name = "STRATEGY",
        value_enum,
        default_value = "mirror",
        requires = "listen"
    )]
    pub(crate) strategy: StrategyName,

    /// Domain of labels that other controllers own, which mirror and promenade leave alone; repeatable, beside those that are known
    #[arg(long = "protect", value_name = "DOMAIN", requires = "listen")]
    pub(crate) protected: Vec<String>,

    /// Take actions also before any revision took part in a site action
    #[arg(long, requires = "listen")]
    pub(crate) no_site_action_needed: bool,

    /// Refuse actions while the committed documents have any error, also one that does not touch their nodes
    #[arg(long, requires = "listen")]
    pub(crate) all_or_nothing: bool,

    /// On which sites an action needs Shipyard's document deployment-configuration
    ///
    /// An action with the parameter continue-on-fail=true goes on without it.
    #[arg(
        long,
        value_name = "SITES",
        value_enum,
        default_value = "airship",
        requires = "listen"
    )]
    pub(crate) deployment_configuration: DeploymentConfigurationName,

    /// Let one of several labels in a node filter be enough, as Drydock's code does; its documentation asks for all
    #[arg(long, requires = "listen")]
    pub(crate) any_filter_label: bool,

    /// How many nodes are relabelled at a time
    #[arg(long, value_name = "NUMBER", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=4096), requires = "listen")]
    pub(crate) concurrency: u32,

    /// How long a server without a sign of life keeps its nodes before another one on the database takes them over; 2s or more
    #[arg(long, value_name = "DURATION", value_parser = lease_duration, default_value = "30s", requires = "listen")]
    pub(crate) lease_duration: Duration,

    /// Name of this server among those on one database; the host's name and the address unless given
    #[arg(long, value_name = "NAME", requires = "listen")]
    pub(crate) identity: Option<String>,
}

/// A lease is renewed three times in its duration, and a busy machine may be late by a second.
fn lease_duration(text: &str) -> Result<Duration, String> {
    let duration = parse_duration(text).map_err(|error| error.to_string())?;
    if duration < Duration::from_secs(2) {
        return Err("a lease is 2s or more, so that a busy server can renew it".to_owned());
    }
    Ok(duration)
}

/// On which sites an action needs Shipyard's document deployment-configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DeploymentConfigurationName {
    /// Those that Airship deploys: with any document of Shipyard, Armada or Promenade
    Airship,
    /// All, as Shipyard has it
    Always,
    /// None
    Never,
}

/// Serve Ignition configs to machines
///
/// Answers /config/POOL with the rendered config of a pool and the pool's boot labels, /node/NAME with that of a node's pool and its
/// own boot labels, and /healthz. The site is read again when a file in it changes. While it has errors the last good state is
/// served and the findings are logged: /healthz still answers 200, with `"status": "stale"` and the reason instead of `"ok"`.
///
/// With --from-cluster a cluster is followed instead: the rendered configs that it has, and the pools in which its Berths are
/// now. New machines get a pool's next config once one machine runs it. A pool without a rendered config is answered with 503.
///
/// Machines show a bearer token, made by `berth token create`. The log goes to standard error; no secret is in it. The
/// addresses are logged once the server listens. Ctrl-C and SIGTERM end it: requests that have begun are finished.
#[derive(Debug, Args)]
#[command(
    override_usage = "\
berth ignition-server <--filename <PATH>|--from-cluster>
                <--ignition-listen <ADDR:PORT>|--plain-listen <ADDR:PORT>>
                <--tokens <FILE>|--allow-anonymous> [OPTIONS]",
    after_help = "\
Examples:
  berth ignition-server --site site/ --ignition-listen 0.0.0.0:22623 \\
    --tls-cert server.crt --tls-key server.key --tokens tokens.json
  berth ignition-server -f site/ --plain-listen 127.0.0.1:8080 \\
    --allow-anonymous
  curl http://127.0.0.1:8080/config/worker
  berth ignition-server --from-cluster --ignition-listen 0.0.0.0:22623 \\
    --tls-cert server.crt --tls-key server.key --tokens tokens.json",
    mut_group("listeners", |group| group.required(true)),
    mut_arg("cluster_kubeconfig", |arg| arg.requires("from_cluster")),
    mut_arg("cluster_context", |arg| arg.requires("from_cluster")),
    mut_group("source", |group| group.required(true))
)]
pub(crate) struct IgnitionServerArgs {
    #[command(flatten)]
    pub(crate) options: IgnitionServerOptions,
}

/// What the Ignition server needs, under both commands.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("secure").multiple(true).args(["ignition_listen"]),
    group = ArgGroup::new("listeners").multiple(true).requires("access").args(["ignition_listen", "plain_listen"]),
    group = ArgGroup::new("access").args(["tokens", "allow_anonymous"]),
    group = ArgGroup::new("source").args(["paths", "from_cluster"]),
)]
pub(crate) struct IgnitionServerOptions {
    /// File or folder with the site's documents; repeatable
    ///
    /// Folders are read recursively: files ending in .yaml, .yml or .json, in byte order of their paths. Names that
    /// begin with a dot are skipped.
    #[arg(short = 'f', long = "filename", visible_alias = "site", value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,

    /// Serve the rendered configs of a cluster, to machines in the pools of their Berths
    #[arg(long)]
    pub(crate) from_cluster: bool,

    /// Kubeconfig of the cluster; without it $KUBECONFIG, ~/.kube/config or the pod's service account
    #[arg(long, value_name = "FILE")]
    pub(crate) cluster_kubeconfig: Option<PathBuf>,

    /// The context of that kubeconfig
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster_context: Option<String>,

    /// Address and port for TLS; port 0 takes any free one
    #[arg(long, value_name = "ADDR:PORT", requires_all = ["tls_cert", "tls_key"])]
    pub(crate) ignition_listen: Option<SocketAddr>,

    /// The server's certificate and those that lead to its root, in PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires_all = ["secure", "tls_key"])]
    pub(crate) tls_cert: Option<PathBuf>,

    /// The private key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["secure", "tls_cert"])]
    pub(crate) tls_key: Option<PathBuf>,

    /// Address and port without TLS; whoever sees the traffic sees the secrets in the configs
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) plain_listen: Option<SocketAddr>,

    /// File with the tokens, as `berth token create` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) tokens: Option<PathBuf>,

    /// Give configs, and the secrets in them, to whoever asks
    #[arg(long)]
    pub(crate) allow_anonymous: bool,

    /// Image of the operating system, unless a machine config names another
    #[arg(long, value_name = "IMAGE")]
    pub(crate) os_image_url: Option<String>,

    /// Kubeconfig with which the machines' kubelets ask for their certificate, added to every config
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// CA bundle that kubelets read from /etc/kubernetes/kubelet-ca.crt, added to every config
    ///
    /// Without it, the bundle of the `ControllerConfig` of an OpenShift cluster, from the cluster or from the documents.
    #[arg(long, value_name = "FILE")]
    pub(crate) kubelet_ca: Option<PathBuf>,

    /// Cluster that is told when a machine fetches its config with its token, so that its Node is there before it
    ///
    /// Needs --tokens: without them anybody could have Nodes created.
    #[arg(long, value_name = "KUBECONFIG")]
    pub(crate) announce_to: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) limits: LimitArgs,

    /// Form of the log
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,

    /// How much is logged
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t)]
    pub(crate) log_level: LogLevel,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,
}

impl IgnitionServerOptions {
    /// Whether something else than a database is served.
    pub(crate) fn has_source(&self) -> bool {
        self.from_cluster || !self.paths.is_empty()
    }
}

/// The forms of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// For people
    #[default]
    Plain,
    /// One JSON object per line
    Json,
}

/// How much is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// What must be repaired
    Error,
    /// What should be looked at, too
    Warn,
    /// Every config served, too
    #[default]
    Info,
    /// Every step, too
    Debug,
}

/// A role of Keystone with what it may do here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeystoneRole {
    pub(crate) name: String,
    pub(crate) role: Role,
}

impl KeystoneRole {
    fn parse(text: &str) -> Result<Self, String> {
        let (name, role) = text.rsplit_once('=').unwrap_or((text, ""));
        let role = match role {
            "viewer" => Role::Viewer,
            "operator" => Role::Operator,
            "admin" => Role::Admin,
            _ => return Err("write NAME=viewer, NAME=operator or NAME=admin".to_owned()),
        };
        Ok(Self {
            name: name.to_owned(),
            role,
        })
    }
}
