//! `berth completion`.

use clap::Args;
use clap_complete::Shell;

/// Print the completion script of a shell
///
/// The script completes commands, options and the values of options. Load it into a running shell, or write it to where the
/// shell looks for completions, which loads it into every new one.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  source <(berth completion bash)
  berth completion bash > /etc/bash_completion.d/berth
  berth completion zsh > \"${fpath[1]}/_berth\"
  berth completion fish > ~/.config/fish/completions/berth.fish")]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: Shell,
}
