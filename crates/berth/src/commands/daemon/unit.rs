//! The daemon as a service of systemd.

use std::path::Path;

use berth_pools::format_duration;
use berth_units::quote_argument;
use clap::ValueEnum;

use crate::args::DaemonArgs;

/// So long systemd waits for the daemon to end what it does to its host. Whatever it does not end it goes on with at its next start.
const STOP: &str = "2min";

/// The unit that runs this program as the node daemon, with these arguments.
pub(super) fn unit(program: &Path, args: &DaemonArgs) -> String {
    let command: Vec<String> = [program.to_string_lossy().into_owned(), "daemon".to_owned()]
        .into_iter()
        .chain(arguments(args))
        .map(|word| quote_argument(&word, true))
        .collect();
    format!(
        "\
# `berth daemon --print-unit` prints this file for /etc/systemd/system/berth-daemon.service.
[Unit]
Description=Berth node daemon
# It does not wait for the network: an update that was interrupted, which may be of the network, is ended without it.

[Service]
Type=exec
ExecStart={}
Restart=always
RestartSec=10
# What it does to the host is ended first; its programs are not ended under it.
KillMode=mixed
TimeoutStopSec={STOP}
OOMScoreAdjust=-999

[Install]
WantedBy=multi-user.target
",
        command.join(" ")
    )
}

/// The arguments that differ from what the command does by itself.
fn arguments(args: &DaemonArgs) -> Vec<String> {
    let mut words = Vec::new();
    let mut say = |flag: &str, value: Option<String>| {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    };
    let path = |path: &Path| path.to_string_lossy().into_owned();
    say("--node-name", args.node_name.clone());
    say("--root", (args.root != Path::new("/")).then(|| path(&args.root)));
    say("--kubeconfig", args.cluster.kubeconfig.as_deref().map(path));
    say("--context", args.cluster.context.clone());
    say("--drift", said(&args.drift));
    say("--health-deadline", Some(format_duration(args.health_deadline)));
    for probe in &args.probes {
        say("--probe", Some(probe.clone()));
    }
    say("--log-format", said(&args.log_format));
    say("--log-level", said(&args.log_level));
    if args.kexec {
        words.push("--kexec".to_owned());
    }
    words
}

/// The word of a value that is not the one without any word.
fn said<T: ValueEnum + Default + PartialEq>(value: &T) -> Option<String> {
    let word = value.to_possible_value()?.get_name().to_owned();
    (*value != T::default()).then_some(word)
}
