//! How a run ends.

use std::process::ExitCode;

/// The end of a run, as the exit code tells it to scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Exit {
    /// Done.
    Done,
    /// The answer is no: there are findings, or a node failed.
    No,
    /// Wrong usage, or input that cannot be read.
    Usage,
    /// The cluster or the database could not be reached.
    Unreachable,
}

impl Exit {
    /// The number a shell sees.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::Unreachable => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
