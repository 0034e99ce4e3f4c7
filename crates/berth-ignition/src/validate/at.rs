//! Where in a config something is, as a chain that costs nothing until it is printed.

use std::fmt;

/// A place in a config, printed as `$.storage.files.2.mode`.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    parent: Option<&'a Self>,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    Root,
    Key(&'static str),
    Index(usize),
}

impl<'a> At<'a> {
    pub(super) fn root() -> Self {
        Self {
            parent: None,
            step: Step::Root,
        }
    }

    pub(super) fn key(&'a self, key: &'static str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Key(key),
        }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Index(index),
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}.")?;
        }
        match self.step {
            Step::Root => f.write_str("$"),
            Step::Key(key) => f.write_str(key),
            Step::Index(index) => write!(f, "{index}"),
        }
    }
}
