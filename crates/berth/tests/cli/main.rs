//! Runs the built `berth` as a user does and compares what comes out.

// Marked as tests, so that helpers may unwrap too.
#[cfg(test)]
mod agreement;
#[cfg(test)]
mod boot;
#[cfg(test)]
mod cluster;
#[cfg(test)]
mod completion;
#[cfg(test)]
mod coreos_installer;
#[cfg(test)]
mod diff;
#[cfg(test)]
mod documents;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod examples;
#[cfg(test)]
mod following;
#[cfg(test)]
mod ignition_server;
#[cfg(test)]
mod in_cluster;
#[cfg(test)]
mod iso;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod keystone;
#[cfg(test)]
mod kubelet_configs;
// Images as the tests of berth-iso make them.
#[cfg(test)]
#[path = "../../../berth-iso/tests/it/image.rs"]
mod live_image;
#[cfg(test)]
mod pictures;
#[cfg(test)]
#[path = "../../../berth-store/tests/it/postgres_server.rs"]
mod postgres_server;
#[cfg(test)]
mod rehearse;
#[cfg(test)]
mod remote_workers;
mod render;
#[cfg(test)]
mod rollout;
#[cfg(test)]
mod run;
#[cfg(test)]
mod seeds;
#[cfg(test)]
mod serve;
#[cfg(test)]
mod served;
#[cfg(test)]
mod servers;
#[cfg(test)]
mod site;
#[cfg(test)]
mod templates;
#[cfg(test)]
mod token;
#[cfg(test)]
mod transport;
#[cfg(test)]
mod unit;
#[cfg(feature = "up")]
#[cfg(test)]
mod up;
#[cfg(test)]
mod workflow;
#[cfg(test)]
mod ztp;

mod help;
mod input;
mod labels;
mod lint;
mod selector;
mod streams;
