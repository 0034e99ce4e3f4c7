//! What goes wrong on a simulated host, and chance that repeats.

use std::collections::BTreeSet;

/// What goes wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The last operation, counted from one, after which nothing more happens.
    pub last: Option<usize>,
    /// Whether the last operation is carried out.
    pub carried_out: bool,
    /// The file system takes no writes.
    pub read_only: bool,
    /// Bytes that there is room for.
    pub room: Option<usize>,
    /// How often the host does not go down although it was told to: a unit does not end.
    pub stays_up: usize,
    /// The boot loader starts what ran before, whatever is staged.
    pub boots_before: bool,
    /// Units that do not end when they are told to.
    pub hanging: BTreeSet<String>,
}

/// How a host ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The daemon is killed, or the host goes down in order.
    Kill,
    /// The power is cut: what was not synced may be lost.
    Power,
}

/// Numbers that look like chance and repeat with their seed.
#[derive(Clone, Copy, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn new(seed: u64) -> Self {
        // The generator stands still at zero.
        Self(seed ^ 0x9e37_79b9_7f4a_7c15 | 1)
    }

    /// A number below `limit`; zero if that is zero.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let limit = u64::try_from(limit).unwrap_or(u64::MAX).max(1);
        usize::try_from((self.0 >> 11) % limit).unwrap_or_default()
    }
}
