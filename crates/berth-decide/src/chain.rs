//! Errors with their causes.

use std::{error::Error, fmt};

/// An error with its causes: no Display in this project repeats its source, so they are joined where they are printed.
#[derive(Clone, Copy, Debug)]
pub struct Chain<'a>(pub &'a dyn Error);

impl fmt::Display for Chain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)?;
        let mut cause = self.0.source();
        while let Some(error) = cause {
            write!(f, ": {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

/// What lies at the bottom of an error, in the words that people know: `connection refused` for
/// `client error (Connect): tcp connect error: Connection refused (os error 111)`.
///
/// For errors of other people's libraries, whose layers say nothing to a user.
pub fn root_cause(error: &dyn Error) -> String {
    let mut error = error;
    while let Some(cause) = error.source() {
        error = cause;
    }
    let text = error.to_string();
    let text = match text.split_once(" (os error ") {
        Some((words, _)) => words,
        None => &text,
    };
    // Errors of the system begin with a capital letter, names such as `YAML` with several.
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Layer(&'static str, #[source] Box<dyn Error>);

    #[test]
    fn the_innermost_cause_in_plain_words() {
        let refused = io::Error::from_raw_os_error(111);
        let layered = Layer(
            "client error (Connect)",
            Box::new(Layer("tcp connect error", refused.into())),
        );
        assert_eq!(root_cause(&layered), "connection refused");
        for (said, plain) in [
            ("YAML is broken", "YAML is broken"),
            ("Name or service not known", "name or service not known"),
            ("x", "x"),
            ("", ""),
        ] {
            assert_eq!(root_cause(&io::Error::other(said)), plain);
        }
    }
}
