//! Tests against the public interface, and against Ignition itself.

mod judge;
