//! One object in one file.

use berth_documents::emit::to_yaml;
use serde_json::Value;

/// How long a line of a comment may be.
const COMMENT_WIDTH: usize = 116;

/// When an object is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// Once for the hub, before its first cluster.
    Hub,
    /// With the cluster.
    Install,
    /// When the cluster is installed.
    DayTwo,
}

/// An object, the file for it, and what to know about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// When it is applied.
    pub stage: Stage,
    /// The file's path below the output folder. Files in the order of their paths are in the order of application.
    pub file: String,
    /// Comments at the top of the file.
    pub comments: Vec<String>,
    /// The object.
    pub object: Value,
}

impl Manifest {
    pub(crate) fn new(stage: Stage, file: impl AsRef<str>, object: Value) -> Self {
        let folder = match stage {
            Stage::Hub => "hub/",
            Stage::Install => "",
            Stage::DayTwo => "day2/",
        };
        Self {
            stage,
            file: format!("{folder}{}", file.as_ref()),
            comments: Vec::new(),
            object,
        }
    }

    pub(crate) fn comment(mut self, text: impl Into<String>) -> Self {
        self.comments.push(text.into());
        self
    }

    /// The file's text.
    pub fn yaml(&self) -> String {
        let mut text = String::new();
        for comment in &self.comments {
            for line in wrap(comment) {
                text.push_str("# ");
                text.push_str(&line);
                text.push('\n');
            }
        }
        text.push_str(&to_yaml(&self.object));
        text
    }
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > COMMENT_WIDTH {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}
