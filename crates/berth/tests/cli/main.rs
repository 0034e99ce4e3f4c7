//! Runs the built `berth` as a user does and compares what comes out.

mod help;
mod input;
mod labels;
mod lint;
#[cfg(test)]
mod run;
mod selector;
mod streams;
