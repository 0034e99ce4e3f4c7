//! `berth egress`.

use std::path::PathBuf;

use berth_labels::{LabelError, LabelKey, LabelValue};
use clap::{Args, Subcommand};

use super::{ClusterArgs, Output, ingress::Places};

/// Check which nodes host egress addresses
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth egress plan -f site/
  berth egress plan -f site/ --write > egress-label.yaml
  berth egress verify -f site/
  berth egress verify --relabel w1=k8s.ovn.org/egress-assignable-"
)]
pub(crate) struct EgressArgs {
    /// The question.
    #[command(subcommand)]
    pub(crate) command: EgressCommand,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum EgressCommand {
    Plan(EgressPlanArgs),
    Verify(EgressVerifyArgs),
}

/// Plan which node hosts each egress address
///
/// Per address: the nodes that can host it and why the others cannot, where OVN-Kubernetes would put it, and where it is in the best
/// possible placement. Beside that: single points of failure, addresses that somebody else has, labels that serve nothing, and the
/// smallest set of nodes to label `k8s.ovn.org/egress-assignable`. Errors and warnings give exit code 1.
///
/// With `-o wide` the reasons stand below each address. The JSON form is `{addresses:[{egressip, address, feasible[],
/// refused[{node, reason}], greedy|null, best|null, findings[]}], label[], findings[]}`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth egress plan -f examples/telco-site
  berth egress plan -f site/ --nodes nodes.yaml -o wide
  berth egress plan -f site/ --write > site/rules/egress.yaml")]
pub(crate) struct EgressPlanArgs {
    #[command(flatten)]
    pub(crate) places: Places,

    /// Print the label rule for the smallest set of nodes instead of the plan, or write it to a file
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "-"
    )]
    pub(crate) write: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// Compare the plan with what the cluster does, before and after a relabelling
///
/// Reads the status of `EgressIP` objects, the Nodes and the router pods from the cluster, or with `--observed` from files, and says for
/// each address and router whether it stays where it is once the site's labels are applied. With `--relabel` it says instead what
/// these labels would move; a node that comes into another pool by them reboots where the configs of both differ in what needs it, which
/// moves what is on it. An address that moves breaks the connections through it. Anything that moves or is nowhere gives exit code 1.
///
/// Without `-f` the `EgressIP` and `IngressController` objects, the pools and the machine configs of the cluster itself are the site.
///
/// The JSON form is `{addresses:[{egressip, address, node|null, best|null, stays, to|null, reason|null}], routers:[{pod,
/// controller, node|null, stays, to[], reason|null}], controllers:[{controller, lost[], gained[], left}], reboots[]}`.
#[derive(Debug, Args)]
#[command(
    mut_arg("paths", |arg| arg.required(false)),
    after_help = "\
Examples:
  berth egress verify -f site/
  berth egress verify --relabel atlngamai01=k8s.ovn.org/egress-assignable-
  berth egress verify -f site/ --relabel w1=zone=b --context lab -o json
  berth egress verify -f site/ --nodes nodes.yaml --observed observed.yaml"
)]
pub(crate) struct EgressVerifyArgs {
    #[command(flatten)]
    pub(crate) places: Places,

    /// `EgressIP` objects and router pods, as `kubectl get -o yaml` prints them, instead of a cluster; repeatable
    #[arg(long, value_name = "FILE", conflicts_with_all = ["kubeconfig", "context"])]
    pub(crate) observed: Vec<PathBuf>,

    /// Say what this label would move: NODE=KEY=VALUE sets it, NODE=KEY- removes it; repeatable
    #[arg(long, value_name = "NODE=KEY=VALUE", value_parser = Relabel::parse)]
    pub(crate) relabel: Vec<Relabel>,

    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,

    #[command(flatten)]
    pub(crate) output: Output,
}

/// A label that a node would get, or lose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Relabel {
    /// The node.
    pub(crate) node: String,
    /// The label's key.
    pub(crate) key: LabelKey,
    /// Its value; none removes the label.
    pub(crate) value: Option<LabelValue>,
}

impl Relabel {
    fn parse(text: &str) -> Result<Self, String> {
        let form = || "write NODE=KEY=VALUE, or NODE=KEY- to remove the label".to_owned();
        let (node, label) = text.split_once('=').ok_or_else(form)?;
        let (key, value) = match (label.split_once('='), label.strip_suffix('-')) {
            (Some((key, value)), _) => (key, Some(value)),
            (None, Some(key)) => (key, None),
            (None, None) => return Err(form()),
        };
        if node.is_empty() {
            return Err(form());
        }
        Ok(Self {
            node: node.to_owned(),
            key: key.parse().map_err(|error: LabelError| error.to_string())?,
            value: value
                .map(str::parse)
                .transpose()
                .map_err(|error: LabelError| error.to_string())?,
        })
    }
}
