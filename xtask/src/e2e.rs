//! Proofs on whole machines.
//!
//! `boot`: Debian machines in QEMU get their Ignition from `berth ignition`, and their kubelets register with a real API
//! server. What is proved is in `berth_testing::FirstBoot`; here is what it needs, made or found.

use std::{
    env,
    path::PathBuf,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use berth_testing::{FirstBoot, Image, cache_directory};

use crate::{
    envtest::{self, Provided},
    node,
    tools::{self, DEBOOTSTRAP, ETCD, MKFS, QEMU, Tool},
    workspace::Workspace,
};

/// Without these there is no machine.
pub(crate) const TOOLS: &[Tool] = &[DEBOOTSTRAP, ETCD, MKFS, QEMU];

/// The chore: what cannot run is a failure.
pub(crate) fn boot(workspace: &Workspace) -> Result<()> {
    tools::set_up(&TOOLS.iter().collect::<Vec<_>>());
    match run_boot(workspace)? {
        Some(reason) => bail!("{reason}"),
        None => Ok(()),
    }
}

/// The step: the answer is the reason if it cannot run here.
pub(crate) fn run_boot(workspace: &Workspace) -> Result<Option<String>> {
    let not = |reason: &str| Ok(Some(format!("first boot of a machine in QEMU: {reason}")));
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return not("its image is for x86-64 and is made on Linux");
    }
    if !tools::is_root() {
        return not("making its disk needs root");
    }
    if let Some(tool) = TOOLS.iter().find(|tool| !tool.is_installed()) {
        return not(&format!("{} is missing ({})", tool.program, tool.source));
    }
    let say = |line: &str| println!("{line}");
    let programs = match envtest::provide(workspace, &say)? {
        Provided::Programs(programs) => programs,
        Provided::Not(reason) => return not(&reason),
    };
    let Some(cache) = cache_directory(env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) else {
        return not("neither XDG_CACHE_HOME nor HOME says where to keep its disk");
    };
    let start = now();
    let folder = cache.join(Image::folder_name());
    let make = |partial: &std::path::Path| {
        println!("making the disk of a Debian machine with debootstrap: once, a few minutes");
        Image::build(&programs, partial).context("the disk could not be made")?;
        Ok(())
    };
    envtest::once(&folder, make, &say)?;
    let image = start.elapsed();

    let start = now();
    let berth = berth(workspace)?;
    let berth_node = node::compile(workspace)?;
    let programs_built = start.elapsed();

    let start = now();
    let outcomes = FirstBoot {
        programs: &programs,
        image: &Image::open(&folder),
        berth: &berth,
        berth_node: &berth_node,
        site: &workspace.root().join("examples/telco-site"),
        shapes: &workspace.root().join("crates/berth-node/tests/shapes"),
    }
    .run()?;
    for outcome in &outcomes {
        println!(
            "{}: {} labels in the first of {} versions of its Node, registered {} s after its one boot ({})",
            outcome.node, outcome.labels, outcome.versions, outcome.uptime, outcome.shape
        );
        if outcome.shapes > 0 {
            println!(
                "{}: its systemd ran {} shapes of units as Berth says",
                outcome.node, outcome.shapes
            );
        }
    }
    println!(
        "disk {}, executables {}, machines {}",
        seconds(image),
        seconds(programs_built),
        seconds(start.elapsed())
    );
    Ok(None)
}

fn berth(workspace: &Workspace) -> Result<PathBuf> {
    let mut command = workspace.cargo();
    command
        // With the features of the whole workspace, so that the tests need no second build of what it uses.
        .args(["build", "--locked", "--workspace", "--bin", "berth"])
        .args(["--message-format", "json-render-diagnostics"]);
    node::executable(&mut command, "berth")
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}

#[expect(
    clippy::disallowed_methods,
    reason = "how long it took is for the reader; nothing is decided from it"
)]
fn now() -> Instant {
    Instant::now()
}
