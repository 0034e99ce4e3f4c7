//! What an action that would remove too much is held with.

use berth_labels::Brake;

/// Too many labels would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} of {} labels that Berth owns in this cluster would be removed, which is more than {} %. If that is meant, resume the \
     action; otherwise stop it. allow_mass_removal lets an action do it without asking",
    .0.removed, .0.owned, Brake::PERCENT
)]
pub(crate) struct TooMany(Brake);

/// Refuses what is too much for an action, whose nodes a person named.
pub(crate) const fn check(brake: Brake) -> Result<(), TooMany> {
    if brake.holds_named() {
        Err(TooMany(brake))
    } else {
        Ok(())
    }
}
