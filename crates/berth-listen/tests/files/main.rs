//! A process that may not open any more files. The test runs itself again with a low limit, because it uses all of them up.

#[cfg(test)]
mod descriptors;
