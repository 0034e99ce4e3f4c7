//! `berth ingress`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Files, FlavourArg, Format, Output};

/// Check where ingress routers run
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth ingress check -f site/
  berth ingress rewrite -f site/
  berth ingress shard -f site/ --remote smyrna --domain apps-smyrna.example"
)]
pub(crate) struct IngressArgs {
    /// The question.
    #[command(subcommand)]
    pub(crate) command: IngressCommand,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum IngressCommand {
    Check(IngressCheckArgs),
    Rewrite(IngressRewriteArgs),
    Shard(IngressShardArgs),
}

/// The documents, and what is live.
#[derive(Debug, Args)]
pub(crate) struct Places {
    #[command(flatten)]
    pub(crate) files: Files,

    /// Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input
    ///
    /// Their networks are those that OVN-Kubernetes found there; their labels are those they will have once the site is applied.
    /// Nodes that are only in the documents count too.
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,
}

/// Check where the routers of each ingress controller can run
///
/// Per controller: the node selector as the operator converts it, or its error in the operator's words; the nodes it selects; and
/// what is wrong: nodes outside the VIP's network, too few nodes, taints, ports, domains, routes that two controllers serve or
/// none, a remote-worker label that keeps routers away. Errors and warnings give exit code 1.
///
/// The JSON form is an array of `{controller, map{}|null, error|null, nodes[], findings[]}`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth ingress check -f examples/telco-site
  kubectl get nodes -o json | berth ingress check -f site/ --nodes - -o json
  berth ingress check -f site/ --haproxy /etc/haproxy/haproxy.cfg")]
pub(crate) struct IngressCheckArgs {
    #[command(flatten)]
    pub(crate) places: Places,

    /// Compare this `HAProxy` configuration, too: its servers with the nodes that may run routers, and its health checks
    #[arg(long, value_name = "FILE")]
    pub(crate) haproxy: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Say a selector that the operator refuses in a way that it takes
///
/// For `In` with several values, `NotIn`, `Exists` and `DoesNotExist`: finds the nodes that are meant, and prints a label rule that gives
/// exactly those a label, and the ingress controller that selects by it. Controllers with a fine selector are left out.
///
/// The JSON form is an array of `{controller, label, nodes[], rule{}, ingress_controller{}}`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth ingress rewrite -f site/ > ingress.yaml
  berth ingress rewrite -f site/ -o json")]
pub(crate) struct IngressRewriteArgs {
    #[command(flatten)]
    pub(crate) places: Places,

    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Yaml)]
    pub(crate) format: Format,
}

/// Print a shard whose routers run on the nodes of a remote site
///
/// Prints the ingress controller, with the label that a Route needs, and the label rule for its nodes: the operator keeps routers off
/// nodes whose remote-worker label is empty, so the rule gives it a value. `--haproxy` writes the configuration of the machine in
/// front, ready to run.
///
/// The JSON form is `{ingress_controller{}, rule{}, route_label, nodes[], haproxy}`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth ingress shard -f site/ --remote smyrna --domain apps-smyrna.example
  berth ingress shard -f site/ --remote s --domain s.example --haproxy s.cfg
  haproxy -c -f s.cfg")]
pub(crate) struct IngressShardArgs {
    #[command(flatten)]
    pub(crate) places: Places,

    /// The remote site, as the Cluster document names it
    #[arg(long, value_name = "SITE")]
    pub(crate) remote: String,

    /// The domain of the shard's routes
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: String,

    /// Write the `HAProxy` configuration to this file; `-` prints it instead of the documents
    #[arg(long, value_name = "FILE")]
    pub(crate) haproxy: Option<PathBuf>,

    /// Output format
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Yaml)]
    pub(crate) format: Format,
}
