//! Listeners under clients that are slow, many, greedy or not asked for: over real sockets, and in memory where time matters.

#[cfg(test)]
mod bodies;
#[cfg(test)]
mod bytes;
#[cfg(test)]
mod certificates;
#[cfg(test)]
mod places;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
