//! `berth egress`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Output, ingress::Places};

/// Questions about egress addresses and the nodes that host them
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth egress plan -f site/
  berth egress plan -f site/ --write > egress-label.yaml
  berth egress verify -f site/ --nodes nodes.yaml --observed egress.yaml"
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
/// Takes the status of `EgressIP` objects and the router pods as the cluster shows them, and says for each whether it stays where it is
/// once the site's labels are applied. An address that moves breaks the connections through it. Anything that moves or is nowhere
/// gives exit code 1.
///
/// The JSON form is `{addresses:[{egressip, address, node|null, stays, to|null, reason|null}], routers:[{pod, controller,
/// node|null, stays, reason|null}]}`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  kubectl get egressip -o yaml > observed.yaml
  kubectl get pods -n openshift-ingress -o yaml >> observed.yaml
  berth egress verify -f site/ --nodes nodes.yaml --observed observed.yaml")]
pub(crate) struct EgressVerifyArgs {
    #[command(flatten)]
    pub(crate) places: Places,

    /// `EgressIP` objects and router pods, as `kubectl get -o yaml` prints them; repeatable
    #[arg(long, value_name = "FILE", required = true)]
    pub(crate) observed: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) output: Output,
}
