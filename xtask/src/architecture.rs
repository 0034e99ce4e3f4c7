//! The invariants of `docs/ARCHITECTURE.md` that a program can check.

mod dependencies;
mod features;
mod pages;
mod sources;
mod words;

use std::fmt;

use anyhow::{Result, bail};

use crate::workspace::Workspace;

pub use dependencies::dependency_violations;
pub use features::feature_violations;
pub use pages::page_violations;
pub use sources::source_violations;
pub use words::word_violations;

/// One place where the workspace breaks one of its own rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The crate or file.
    pub place: String,
    /// What is wrong there, and what would be right.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// Runs all checks and lists what they find.
pub(crate) fn check(workspace: &Workspace) -> Result<()> {
    let mut violations = dependency_violations(workspace)?;
    violations.extend(feature_violations(workspace)?);
    violations.extend(source_violations(workspace)?);
    violations.extend(page_violations(workspace)?);
    violations.extend(word_violations(workspace)?);
    if violations.is_empty() {
        return Ok(());
    }
    for violation in &violations {
        println!("{violation}");
    }
    bail!("{} places break a rule of docs/ARCHITECTURE.md", violations.len())
}
