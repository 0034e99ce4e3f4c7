//! Messages: to the kernel's log where systemd starts us, because nothing else is there yet; else to the caller.

use std::{
    error::Error,
    fs::OpenOptions,
    io::{self, Write as _},
    process::ExitCode,
};

/// The kernel takes ten lines from a program in five seconds and drops the rest.
const MOST_RECORDS: usize = 8;

/// The kernel refuses a record of more than about a thousand bytes.
const LONGEST: usize = 900;

/// Writes data for the caller. A closed pipe is the reader's choice, not a failure.
pub(crate) fn print(text: &str) -> ExitCode {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            say(&format!("cannot write the output: {error}"));
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Says something to the person who started the program.
pub(crate) fn say(message: &str) {
    // There is nobody to tell when even this fails.
    let _ = writeln!(io::stderr().lock(), "berth-node: {message}");
}

/// Writes warnings to the kernel's log, or to stderr where there is none.
pub(crate) fn to_kernel(messages: &[String]) {
    if messages.is_empty() {
        return;
    }
    match OpenOptions::new().write(true).open("/dev/kmsg") {
        Ok(mut kernel) => {
            for record in records(messages) {
                // One write is one record.
                if kernel.write_all(record.as_bytes()).is_err() {
                    break;
                }
            }
        }
        Err(_) => to_stderr(messages),
    }
}

/// The same for a root that is not the running system.
pub(crate) fn to_stderr(messages: &[String]) {
    let mut stderr = io::stderr().lock();
    for message in messages {
        // There is nobody to tell when even this fails.
        let _ = writeln!(stderr, "berth-generator: {message}");
    }
}

fn records(messages: &[String]) -> Vec<String> {
    let mut records: Vec<String> = messages
        .iter()
        .take(MOST_RECORDS)
        .map(|message| record(message))
        .collect();
    let more = messages.len().saturating_sub(MOST_RECORDS);
    if more > 0 {
        records.push(record(&format!(
            "{more} more messages; `berth-node check` shows them all"
        )));
    }
    records
}

fn record(message: &str) -> String {
    let mut text = String::from("<4>berth-generator: ");
    for c in message.chars() {
        if text.len() >= LONGEST {
            text.push('…');
            break;
        }
        text.push(if c.is_control() { ' ' } else { c });
    }
    text.push('\n');
    text
}

/// An error and everything that led to it.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_one_line_that_the_kernel_takes() {
        assert_eq!(record("a\nb\u{1b}"), "<4>berth-generator: a b \n");
        let long = record(&"é".repeat(2000));
        assert!(long.len() < 1000 && long.ends_with("…\n"), "{}", long.len());
    }

    #[test]
    fn the_kernels_limit_is_kept_and_the_rest_counted() {
        let messages = vec!["x".to_owned(); 12];
        let records = records(&messages);
        assert_eq!(records.len(), 9);
        assert!(records[8].contains(" 4 more messages"), "{}", records[8]);
    }
}
