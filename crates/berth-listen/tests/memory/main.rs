//! What bodies cost in memory, however they are cut. It is counted for one thread, so everything runs on one.

#[cfg(test)]
mod chunks;
