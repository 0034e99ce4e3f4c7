//! Which of a pool's two rendered configs a new machine gets.

/// The parts of a MachineConfigPool that decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolConfigurations<'a> {
    /// `spec.configuration.name`: where the pool is going.
    pub target: &'a str,
    /// `status.configuration.name`: what the whole pool has reached.
    pub reached: &'a str,
    /// `status.updatedMachineCount`: how many machines run the target.
    pub updated_machines: i64,
}

/// The rendered config for a new machine; nothing while the pool has none.
///
/// The target is given out as soon as one machine has survived it. Until then a bad target costs one machine and not
/// every new one.
///
/// ```
/// use berth_decide::{PoolConfigurations, which_config};
///
/// let mut pool = PoolConfigurations { target: "rendered-b", reached: "rendered-a", updated_machines: 0 };
/// assert_eq!(which_config(pool), Some("rendered-a"));
/// pool.updated_machines = 1;
/// assert_eq!(which_config(pool), Some("rendered-b"));
/// ```
pub fn which_config(pool: PoolConfigurations<'_>) -> Option<&str> {
    let name = if pool.updated_machines > 0 {
        pool.target
    } else {
        pool.reached
    };
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_served_once_a_machine_has_survived_it() {
        for (target, reached, updated_machines, expected) in [
            ("new", "old", 0, Some("old")),
            ("new", "old", 1, Some("new")),
            ("new", "old", 40, Some("new")),
            ("new", "old", -1, Some("old")),
            ("new", "", 0, None),
            ("new", "", 1, Some("new")),
            ("", "", 0, None),
            ("", "old", 1, None),
        ] {
            let pool = PoolConfigurations {
                target,
                reached,
                updated_machines,
            };
            assert_eq!(which_config(pool), expected, "{pool:?}");
        }
    }
}
