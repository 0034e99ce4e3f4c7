//! Carrying out steps, with the barriers that make them safe.
//!
//! ```text
//! originals staged ─ sync ─ placed ─ sync ─ contents staged ─ sync ─ next boot ─ everything placed ─ sync
//! ```
//!
//! A full disk is noticed while contents are staged, before anything of the host has changed. What is kept of a thing is safe
//! before the thing changes.

use crate::{
    host::{Host, HostError},
    item::{Entry, Item, Setting},
    journal::stage_original,
    plan::Step,
};

/// Carries out steps in their order.
pub fn apply(host: &mut impl Host, steps: &[Step]) -> Result<(), HostError> {
    let mut kept = Vec::new();
    for step in steps {
        if let Step::Keep { item, original } = step {
            kept.push(stage_original(host, item, original.as_ref())?);
        }
    }
    place_all(host, &kept)?;
    if let Err(error) = stage_all(host, steps) {
        // Nothing has changed yet; a full disk is helped most by what is not needed any more.
        discard_all(host, steps)?;
        return Err(error);
    }
    for step in steps {
        carry_out(host, step)?;
    }
    host.sync()
}

fn place_all(host: &mut impl Host, paths: &[String]) -> Result<(), HostError> {
    if paths.is_empty() {
        return Ok(());
    }
    host.sync_staged()?;
    for path in paths {
        host.place(path)?;
    }
    host.sync()
}

/// The file that a step writes, and where.
fn contents(step: &Step) -> Option<(&str, &crate::item::FileEntry)> {
    match (step.path()?, step.after()?) {
        (path, Setting::Entry(Entry::File(file))) => Some((path, file)),
        _ => None,
    }
}

fn stage_all(host: &mut impl Host, steps: &[Step]) -> Result<(), HostError> {
    let mut any = false;
    for (path, file) in steps.iter().filter_map(contents) {
        host.stage(path, file)?;
        any = true;
    }
    if any { host.sync_staged() } else { Ok(()) }
}

/// Removes what is staged for these steps.
pub(crate) fn discard_all(host: &mut impl Host, steps: &[Step]) -> Result<(), HostError> {
    for (path, _) in steps.iter().filter_map(contents) {
        host.discard(path)?;
    }
    Ok(())
}

fn carry_out(host: &mut impl Host, step: &Step) -> Result<(), HostError> {
    match step {
        Step::Set { item, setting, .. } => set(host, item, Some(setting)),
        Step::Restore { item, original, .. } => set(host, item, original.as_ref()),
        Step::System { wanted, before } => host.set_system(wanted, before),
        Step::DaemonReload => host.daemon_reload(),
        Step::Keep { .. } => Ok(()),
    }
}

fn set(host: &mut impl Host, item: &Item, setting: Option<&Setting>) -> Result<(), HostError> {
    match (item, setting) {
        (Item::Path(path), Some(Setting::Entry(Entry::File(_)))) => host.place(path),
        (Item::Path(path), Some(Setting::Entry(Entry::Link { target }))) => host.link(path, target),
        (Item::Path(path), Some(Setting::Entry(Entry::Directory { mode, owner }))) => {
            host.directory(path, *mode, *owner)
        }
        (Item::Path(path), _) => host.remove(path),
        (Item::Unit(unit), Some(Setting::Enabled(true))) => host.enable(unit, true),
        (Item::Unit(unit), _) => host.enable(unit, false),
        (Item::Password(user), Some(Setting::Hash(hash))) => host.set_password(user, hash),
        // `!` is what a user without a password has: nobody can log in with one.
        (Item::Password(user), _) => host.set_password(user, "!"),
    }
}
