//! Runs the built `berth` as a user does and compares what comes out.

// Marked as tests, so that helpers may unwrap too.
#[cfg(test)]
mod examples;
#[cfg(test)]
mod run;
#[cfg(test)]
mod site;

mod help;
mod input;
mod labels;
mod lint;
mod selector;
mod streams;
