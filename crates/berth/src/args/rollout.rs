//! `berth rollout`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{Files, FlavourArg, Output};

/// Plan how nodes move to their rendered config
#[derive(Debug, Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "\
Examples:
  berth rollout plan -f site/ --nodes nodes.yaml"
)]
pub(crate) struct RolloutArgs {
    /// The question.
    #[command(subcommand)]
    pub(crate) command: RolloutCommand,
}

/// The questions.
#[derive(Debug, Subcommand)]
pub(crate) enum RolloutCommand {
    Plan(RolloutPlanArgs),
}

/// Show which nodes would move next, pool by pool
///
/// Nodes are in the pools that their live labels give. Each pool moves its nodes to its rendered config, or, where it has
/// no machine configs that can be rendered, to the one that its `spec.configuration` names, with at most `maxUnavailable` nodes
/// out of service. Nothing is changed. Errors in the documents, and nodes in two custom pools, give exit code 1.
///
/// The JSON form is an array of `{pool, target, paused, max_unavailable, unavailable[], capacity, candidates[], drains[],
/// waiting[], conditions[], counts{}}`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  berth rollout plan -f site/ --nodes nodes.yaml
  kubectl get nodes -o json | berth rollout plan -f site/ --nodes - -o json")]
pub(crate) struct RolloutPlanArgs {
    #[command(flatten)]
    pub(crate) files: Files,

    /// Live nodes, as `kubectl get nodes -o yaml` or `-o json` prints them; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) nodes: PathBuf,

    /// Only this pool
    #[arg(long, value_name = "POOL")]
    pub(crate) pool: Option<String>,

    /// Image of the operating system, unless a machine config names another
    #[arg(long, value_name = "IMAGE")]
    pub(crate) os_image_url: Option<String>,

    #[command(flatten)]
    pub(crate) flavour: FlavourArg,

    #[command(flatten)]
    pub(crate) output: Output,
}
