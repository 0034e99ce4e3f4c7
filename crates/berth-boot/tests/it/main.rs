//! The artefacts as other crates and other programs see them.

#[cfg(test)]
mod cloud_init;
#[cfg(test)]
mod engine;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod ignition;
#[cfg(test)]
mod kubeadm;
#[cfg(test)]
mod machine_configs;
#[cfg(test)]
mod yaml;
