//! Where in a config something is, as a chain that costs nothing until it is printed.

use std::fmt;

/// A place in a config, printed as `$.storage.files.2.mode`.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    parent: Option<&'a Self>,
    step: Segment,
}

#[derive(Clone, Copy)]
enum Segment {
    Root,
    Key(&'static str),
    Index(usize),
}

impl<'a> At<'a> {
    pub(super) fn root() -> Self {
        Self {
            parent: None,
            step: Segment::Root,
        }
    }

    pub(super) fn key(&'a self, key: &'static str) -> Self {
        Self {
            parent: Some(self),
            step: Segment::Key(key),
        }
    }

    pub(super) fn index(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Segment::Index(index),
        }
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            write!(f, "{parent}.")?;
        }
        match self.step {
            Segment::Root => f.write_str("$"),
            Segment::Key(key) => f.write_str(key),
            Segment::Index(index) => write!(f, "{index}"),
        }
    }
}
