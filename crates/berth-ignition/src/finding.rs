//! What parsing and validation have to say about a config.

use std::fmt;

/// Whether a finding stops a config from being used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Ignition goes on, but probably not as the author meant.
    Warning,
    /// Ignition refuses the config.
    Error,
}

/// One remark about one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The field in the notation of Ignition's own reports: `$.storage.files.2.mode`.
    pub path: String,
    /// What is wrong, in words that make sense next to the path.
    pub message: String,
}

impl Finding {
    /// A finding that makes the config unusable.
    pub fn error(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            path: path.into(),
            message: message.into(),
        }
    }

    /// A finding that does not stop the config.
    pub fn warning(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            path: path.into(),
            message: message.into(),
        }
    }

    /// Whether the config cannot be used because of this.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        write!(f, "{severity} at {}: {}", self.path, self.message)
    }
}
