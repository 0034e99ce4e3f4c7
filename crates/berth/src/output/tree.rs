//! Trees for people.

use std::fmt;

use super::printable;

/// A line with lines below it.
#[derive(Debug)]
pub(crate) struct Tree {
    text: String,
    children: Vec<Self>,
}

impl Tree {
    /// A line. Control characters in it are escaped.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: printable(text).into_owned(),
            children: Vec::new(),
        }
    }

    /// Adds lines below.
    #[must_use]
    pub(crate) fn with(mut self, children: impl IntoIterator<Item = Self>) -> Self {
        self.children.extend(children);
        self
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, indent: &str) -> fmt::Result {
        writeln!(f, "{}", self.text)?;
        let mut rest = self.children.iter().peekable();
        while let Some(child) = rest.next() {
            let (branch, below) = if rest.peek().is_some() {
                ("├── ", "│   ")
            } else {
                ("└── ", "    ")
            };
            write!(f, "{indent}{branch}")?;
            child.write(f, &format!("{indent}{below}"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_drawn() {
        let tree = Tree::new("a").with([
            Tree::new("b").with([Tree::new("c")]),
            Tree::new("d").with([Tree::new("e\n")]),
        ]);
        assert_eq!(tree.to_string(), "a\n├── b\n│   └── c\n└── d\n    └── e\\n\n");
    }
}
