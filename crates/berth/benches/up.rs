//! `cargo bench -p berth --bench up`: how soon `berth up` is ready, and how soon a thousand machines are in their places.

#![expect(clippy::print_stdout, reason = "a bench prints its figures")]

use std::{
    io::{self, BufRead as _, BufReader},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The goals.
const READY: Duration = Duration::from_secs(2);
const THOUSAND: Duration = Duration::from_secs(20);

/// When the first line is there, and when it is all over.
#[expect(clippy::disallowed_methods, reason = "a bench measures time")]
fn up(arguments: &[&str]) -> io::Result<(Duration, Duration)> {
    let start = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_berth"))
        .arg("up")
        .args(["--once", "--plain"])
        .args(arguments)
        .stdout(Stdio::piped())
        .spawn()?;
    let output = child.stdout.take().ok_or_else(|| io::Error::other("no output"))?;
    let mut lines = BufReader::new(output).lines();
    lines.next().transpose()?;
    let ready = start.elapsed();
    for line in lines {
        line?;
    }
    if !child.wait()?.success() {
        return Err(io::Error::other("berth up failed"));
    }
    Ok((ready, start.elapsed()))
}

fn main() -> io::Result<()> {
    let (ready, _) = up(&["--speed", "300"])?;
    println!("ready after                {ready:>8.2?}   goal {READY:?}");
    let (_, placed) = up(&["--machines", "1000", "--speed", "300"])?;
    println!("1,000 machines in place    {placed:>8.2?}   goal {THOUSAND:?}");
    Ok(())
}
