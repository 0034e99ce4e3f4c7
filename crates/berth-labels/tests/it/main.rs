//! Behaviour of labels, selectors, permissions, routes and ownership, as other crates see it.

#[cfg(test)]
mod flag;
#[cfg(test)]
mod inversion;
#[cfg(test)]
mod ownership;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod promenade;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod selectors;
#[cfg(test)]
mod support;
#[cfg(test)]
mod syntax;
#[cfg(all(test, feature = "serde"))]
mod wire;
