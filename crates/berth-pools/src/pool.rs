//! What a pool's name means.

/// The control-plane pool. It wins over a custom pool.
pub const MASTER: &str = "master";

/// The default pool, which every custom pool inherits from.
pub const WORKER: &str = "worker";

/// The pools whose labels OpenShift's own units give to kubelets: any machine may register in them.
pub const BUILT_IN: [&str; 4] = [MASTER, "control-plane", WORKER, "arbiter"];

/// How membership treats a pool. The class follows from the name alone, as in OpenShift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolClass {
    /// The pool named `master`.
    Master,
    /// The pool named `worker`.
    Worker,
    /// Every other name, `arbiter` too.
    Custom,
}

impl PoolClass {
    /// The class of the pool with this name.
    pub fn of(name: &str) -> Self {
        match name {
            MASTER => Self::Master,
            WORKER => Self::Worker,
            _ => Self::Custom,
        }
    }
}
