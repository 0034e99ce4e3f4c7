//! The manifests and the checks as other crates and other programs see them.

#[cfg(test)]
mod addresses;
#[cfg(test)]
mod checks;
#[cfg(test)]
mod conditions;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod engine;
#[cfg(test)]
mod made;
#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod site;
#[cfg(test)]
mod site_config;
