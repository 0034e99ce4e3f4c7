//! `berth daemon`: the node daemon.

mod unit;

use std::{
    ffi::{OsStr, OsString},
    io,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process,
};

use berth_clock::Clock;
use berth_cluster::daemon::{self, Options};
use berth_daemon::{DriftPolicy, RootHost, Settings};
use tokio_util::sync::CancellationToken;

use super::{controller::end_on_signal, ignition_server::log};
use crate::{
    args::{DaemonArgs, DriftName},
    cluster::connect,
    exit::Exit,
    failure::Failure,
    output::Printer,
};

/// This program, wherever it is: in a container the host does not have it.
const SELF: &str = "/proc/self/exe";

/// Where programs of a host are, whatever the container says.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The name of the host that this runs on.
const HOST_NAME: &str = "/proc/sys/kernel/hostname";

/// Threads beside the one on which turns are taken: there is little to do at once.
const THREADS: usize = 1;

/// Runs the command.
pub(crate) fn run(args: &DaemonArgs, clock: &Clock, printer: &mut Printer<'_>) -> Result<Exit, Failure> {
    if args.print_unit {
        let program = std::env::current_exe().map_err(|source| Failure::ReadFile {
            path: PathBuf::from(SELF),
            source,
        })?;
        printer.data(&unit::unit(&program, args))?;
        return Ok(Exit::Done);
    }
    if let Some((program, arguments)) = args.command.split_first() {
        let error = run_in(&args.root, program, arguments);
        return Err(Failure::Argument {
            message: format!("cannot run `{}` in {}: {error}", program.display(), args.root.display()),
            hint: None,
        });
    }
    log::start(args.log_format, args.log_level);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .map_err(Failure::Runtime)?;
    let options = options(args, clock)?;
    let host = RootHost::new(&args.root, way_in(&args.root));
    runtime.block_on(async {
        let shutdown = CancellationToken::new();
        end_on_signal(&shutdown).map_err(Failure::Runtime)?;
        let client = connect(&args.cluster).await?;
        Box::pin(daemon::run(client, host, options, shutdown)).await?;
        Ok(Exit::Done)
    })
}

fn options(args: &DaemonArgs, clock: &Clock) -> Result<Options, Failure> {
    let node = match &args.node_name {
        Some(name) => name.clone(),
        None => std::fs::read_to_string(HOST_NAME)
            .map(|name| name.trim().to_lowercase())
            .map_err(|source| Failure::ReadFile {
                path: PathBuf::from(HOST_NAME),
                source,
            })?,
    };
    Ok(Options {
        node,
        settings: Settings {
            drift: match args.drift {
                DriftName::Report => DriftPolicy::Report,
                DriftName::Repair => DriftPolicy::Repair,
                DriftName::Degrade => DriftPolicy::Degrade,
            },
            deadline: args.health_deadline,
            probes: args.probes.clone(),
            kexec: args.kexec,
            ..Settings::default()
        },
        files: Some(args.root.clone()),
        ends_at_reboot: false,
        clock: clock.clone(),
    })
}

/// What stands before a program of the host so that it runs in its root: this program, which needs nothing of its container.
fn way_in(root: &Path) -> Vec<OsString> {
    if root == Path::new("/") {
        return Vec::new();
    }
    [
        SELF.as_ref(),
        "daemon".as_ref(),
        "--root".as_ref(),
        root.as_os_str(),
        "--".as_ref(),
    ]
    .map(OsString::from)
    .to_vec()
}

/// Becomes a program of a host. What comes back is why not.
fn run_in(root: &Path, program: &OsStr, arguments: &[OsString]) -> io::Error {
    let entered = rustix::process::chroot(root)
        .map_err(io::Error::from)
        .and_then(|()| std::env::set_current_dir("/"));
    if let Err(error) = entered {
        return error;
    }
    process::Command::new(program)
        .args(arguments)
        .env("PATH", PATH)
        // systemd takes a root that is not its own for an image that is being built, and would do nothing.
        .env("SYSTEMD_IGNORE_CHROOT", "1")
        .exec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_of_a_host_elsewhere_are_run_in_its_root() {
        assert_eq!(way_in(Path::new("/")), Vec::<OsString>::new());
        let way: Vec<OsString> = way_in(Path::new("/host"));
        assert_eq!(way, ["/proc/self/exe", "daemon", "--root", "/host", "--"]);
    }
}
