//! The commands in groups by task, for the help of the program: fifty names in one list help nobody.

use std::fmt::Write as _;

/// Each group with its commands, in the order of the help. What a newcomer needs comes first.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["up", "lint", "resolve", "explain", "plan"]),
    ("Look", &["pools", "labels", "selector", "unit"]),
    (
        "Plan a change",
        &["templates", "render", "diff", "rollout", "forecast", "rehearse"],
    ),
    (
        "Boot machines",
        &[
            "machineconfig",
            "ignition",
            "cloud-init",
            "kubeadm",
            "pointer",
            "iso",
            "node-manifest",
            "token",
        ],
    ),
    (
        "Run in a cluster",
        &[
            "install",
            "uninstall",
            "doctor",
            "status",
            "node",
            "controller",
            "daemon",
        ],
    ),
    (
        "Keep documents",
        &["apply", "revisions", "show", "rollback", "tag", "store"],
    ),
    (
        "Relabel nodes",
        &["relabel", "actions", "describe", "stop", "pause", "resume", "retry"],
    ),
    ("Remote sites", &["ingress", "egress", "ztp"]),
    (
        "Airship",
        &["configdocs", "site-action", "shipyard", "drydock", "promenade"],
    ),
    ("Serve", &["serve", "ignition-server"]),
    ("Shell", &["completion"]),
];

/// Gives the program a help with the commands in their groups.
pub(crate) fn grouped(command: clap::Command) -> clap::Command {
    let style = command.get_styles().clone();
    let (header, literal) = (style.get_header(), style.get_literal());
    let mut help = "{about-with-newline}\n{usage-heading} {usage}\n".to_owned();
    for (group, names) in GROUPS {
        let _ = writeln!(help, "\n{header}{group}:{header:#}");
        for name in *names {
            let about = command.find_subcommand(name).and_then(clap::Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(help, "  {literal}{name:<15}{literal:#}  {about}");
        }
    }
    let _ = write!(help, "\n{header}Options:{header:#}\n{{options}}{{after-help}}");
    command.help_template(help)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::GROUPS;
    use crate::args::Cli;

    #[test]
    fn every_command_is_in_one_group_and_fits_a_terminal() {
        let command = Cli::command();
        let mut grouped = BTreeSet::new();
        for name in GROUPS.iter().flat_map(|(_, names)| *names) {
            assert!(grouped.insert(*name), "{name} is in two groups");
            let command = command.find_subcommand(name).expect("a command");
            let about = command.get_about().expect("a summary").to_string();
            assert!(about.chars().count() <= 62, "{name}: {about}");
        }
        let all: BTreeSet<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
        assert_eq!(grouped, all);
    }
}
