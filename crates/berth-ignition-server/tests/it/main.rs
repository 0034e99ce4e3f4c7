//! The server as clients see it: over sockets, and with Ignition itself as the client.

#[cfg(test)]
mod engine;
#[cfg(test)]
mod judge;
#[cfg(test)]
mod live;
#[cfg(test)]
mod support;
