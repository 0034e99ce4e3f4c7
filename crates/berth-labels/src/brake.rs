//! The brake on removing many labels at once: one rule for plans, actions and controllers.

/// A change that takes away more than this share of the labels that Berth owns stops and asks.
const PERCENT: usize = 10;

/// So few are not many, however small the cluster, where a person named the nodes.
const FEW: usize = 10;

/// What a change would take away, and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Brake {
    /// Labels that Berth owns and that would go, counted over the whole change.
    pub removed: usize,
    /// Labels that Berth owns in the whole cluster.
    pub owned: usize,
}

impl Brake {
    /// More than this share is too much, in percent.
    pub const PERCENT: usize = PERCENT;

    /// Whether so much would go that a person has to agree first.
    pub const fn holds(self) -> bool {
        self.removed.saturating_mul(100) > self.owned.saturating_mul(PERCENT)
    }

    /// Whether so few would go that no relation to the whole makes them many, given that a person named the nodes.
    pub const fn is_few(self) -> bool {
        self.removed < FEW
    }

    /// [`Self::holds`], for a change of nodes that a person named.
    pub const fn holds_named(self) -> bool {
        !self.is_few() && self.holds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_tenth_is_too_much() {
        for (removed, owned, holds, holds_named) in [
            (0, 0, false, false),
            (1, 0, true, false),
            (1, 9, true, false),
            (9, 9, true, false),
            (10, 99, true, true),
            (10, 100, false, false),
            (11, 100, true, true),
            (500, 5000, false, false),
            (501, 5000, true, true),
            (usize::MAX, usize::MAX, false, false),
        ] {
            let brake = Brake { removed, owned };
            assert_eq!(
                (brake.holds(), brake.holds_named()),
                (holds, holds_named),
                "{removed} of {owned}"
            );
        }
    }
}
