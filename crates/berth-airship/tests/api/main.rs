//! The API from outside, on both back ends: a real server, a real database, bytes on a socket.

#[cfg(test)]
mod access;
#[cfg(test)]
mod actions;
#[cfg(test)]
mod compatibility;
#[cfg(test)]
mod concurrency;
#[cfg(test)]
mod deckhand;
#[cfg(test)]
mod description;
#[cfg(test)]
mod designs;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod events;
#[cfg(test)]
mod filters;
#[cfg(test)]
mod fixture;
#[cfg(test)]
mod node_labels;
#[cfg(test)]
#[path = "../../../berth-store/tests/it/postgres_server.rs"]
mod postgres_server;
#[cfg(test)]
mod published;
#[cfg(test)]
mod relabelling;
#[cfg(test)]
mod rendering;
#[cfg(test)]
mod routes;
#[cfg(test)]
mod secrets;
#[cfg(test)]
mod sites;
#[cfg(test)]
mod slow;
#[cfg(test)]
mod staging;
#[cfg(test)]
mod tasks;
