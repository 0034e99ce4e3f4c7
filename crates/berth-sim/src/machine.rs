//! A simulated machine: its disk, what its generator makes of it, and its kubelet's command line.
//!
//! Everything that Berth does on a machine is done here by the code that does it on real ones: Ignition configs are read
//! by `berth-ignition`, the drop-in is made by `berth-units`, and the kubelet starts with the flags that result.

mod disk;
mod fetch;
mod request;
mod start;

pub use disk::{Disk, IgnitionError};
pub use fetch::{FetchError, IgnitionSource};
pub(crate) use request::certificate_request;
pub(crate) use start::start;
