//! One suite for all stores, and what is particular to each.

#[cfg(test)]
mod actions;
#[cfg(test)]
mod concurrency;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod kill;
#[cfg(test)]
mod model;
#[cfg(test)]
mod postgres;
#[cfg(test)]
mod postgres_server;
#[cfg(test)]
mod sealing;
#[cfg(test)]
mod sqlite;
