//! Requests a second, beside nginx.
fn main() {}
