//! The brake on removing many labels at once.

/// A run that removes more than this share of the owned labels stops and asks.
const PERCENT: usize = 10;

/// So few are not many, however small the cluster.
const FEW: usize = 10;

/// What a run would remove, and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Brake {
    /// Labels that Berth owns and that would go.
    pub(crate) removed: usize,
    /// Labels that Berth owns in the whole cluster.
    pub(crate) owned: usize,
}

/// Too many labels would go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{} of {} labels that Berth owns in this cluster would be removed, which is more than {PERCENT} %. If that is meant, \
     resume the action; otherwise stop it. allow_mass_removal lets an action do it without asking",
    .0.removed, .0.owned
)]
pub(crate) struct TooMany(Brake);

impl Brake {
    /// Whether so few would go that no relation to the whole makes them many.
    pub(crate) const fn is_few(self) -> bool {
        self.removed < FEW
    }

    /// Refuses what is too much.
    pub(crate) const fn check(self) -> Result<(), TooMany> {
        if self.is_few() || self.removed * 100 <= self.owned * PERCENT {
            Ok(())
        } else {
            Err(TooMany(self))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_tenth_is_too_much() {
        for (removed, owned, fine) in [
            (0, 0, true),
            (9, 9, true),
            (10, 99, false),
            (10, 100, true),
            (11, 100, false),
            (500, 5000, true),
            (501, 5000, false),
        ] {
            assert_eq!(Brake { removed, owned }.check().is_ok(), fine, "{removed} of {owned}");
        }
    }
}
