//! Paths into the data of a document: `.a.b[0]`.

use std::fmt;

use serde_json::{Map, Value};

/// How many steps a path may have. Setting a path creates what is missing, and code over values is recursive.
const MAX_STEPS: usize = 128;

/// How many list cells one path may create, so that `a[4000000000]` is an error and not an outage.
const MAX_NEW_CELLS: usize = 4096;

/// A parsed path. Two spellings of one place are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Path {
    steps: Vec<PathPart>,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathPart {
    /// Into a mapping.
    Key(String),
    /// Into a list, counted from 0.
    Index(usize),
}

/// Why a text is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Two dots in a row, or a dot at the end.
    #[error("the path {path:?} has an empty step")]
    EmptyStep {
        /// The whole text.
        path: String,
    },
    /// Something in brackets that is neither a number nor a quoted key.
    #[error("the path {path:?} has brackets that hold neither a position nor a quoted key")]
    Brackets {
        /// The whole text.
        path: String,
    },
    /// A quote that is not closed.
    #[error("the path {path:?} has a quote that is not closed")]
    Quote {
        /// The whole text.
        path: String,
    },
    /// Text that does not follow a dot, such as the `c` of `a[0]c`.
    #[error("the path {path:?} lacks a dot between two steps")]
    Dot {
        /// The whole text.
        path: String,
    },
    /// More steps than data can be deep.
    #[error("the path has more than {MAX_STEPS} steps")]
    TooLong,
}

/// Why a value cannot be put at a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// A step leads through something that is there and cannot hold it.
    #[error("cannot go to {path}: {at} holds {found}")]
    Blocked {
        /// The whole path.
        path: String,
        /// The part that is in the way.
        at: String,
        /// What is there, in words.
        found: &'static str,
    },
    /// The list would grow by more cells than a path may create.
    #[error("cannot go to {path}: more than {MAX_NEW_CELLS} list cells would have to be created")]
    TooManyCells {
        /// The whole path.
        path: String,
    },
}

impl Path {
    /// The place of the data itself.
    pub const fn root() -> Self {
        Self { steps: Vec::new() }
    }

    /// Reads a path. `.` and `$` are the root; a leading `.` or `$.` may be left out.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        Parser::new(text).parse().map(|steps| Self { steps })
    }

    /// Reads the path of a layering action, which may start with `.data` to say that it is a path into the data.
    ///
    /// Only a whole first step is taken away: `.database` stays as it is.
    pub fn parse_action(text: &str) -> Result<Self, PathError> {
        let mut path = Self::parse(text)?;
        if matches!(path.steps.first(), Some(PathPart::Key(key)) if key == "data") {
            path.steps.remove(0);
        }
        Ok(path)
    }

    /// Whether this is the data itself.
    pub const fn is_root(&self) -> bool {
        self.steps.is_empty()
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[PathPart] {
        &self.steps
    }

    /// The value at this path.
    pub fn get<'a>(&self, value: &'a Value) -> Option<&'a Value> {
        self.steps.iter().try_fold(value, |value, step| match step {
            PathPart::Key(key) => value.as_object()?.get(key),
            PathPart::Index(index) => value.as_array()?.get(*index),
        })
    }

    /// The value at this path, to change it.
    pub fn get_mut<'a>(&self, value: &'a mut Value) -> Option<&'a mut Value> {
        self.steps.iter().try_fold(value, |value, step| match step {
            PathPart::Key(key) => value.as_object_mut()?.get_mut(key),
            PathPart::Index(index) => value.as_array_mut()?.get_mut(*index),
        })
    }

    /// Puts a value at this path. Mappings and list cells that are missing on the way are created; new cells hold `{}`.
    ///
    /// Null on the way counts as missing. When the way is blocked nothing changes. Gives back how many mappings and cells
    /// were created.
    pub fn set(&self, target: &mut Value, value: Value) -> Result<usize, SetError> {
        let mut created = 0_usize;
        self.check_way(target)?;
        let mut place = target;
        for (position, step) in self.steps.iter().enumerate() {
            let next = match step {
                PathPart::Key(key) => {
                    if !place.is_object() {
                        *place = Value::Object(Map::new());
                        created += 1;
                    }
                    place
                        .as_object_mut()
                        .map(|map| map.entry(key.clone()).or_insert(Value::Null))
                }
                PathPart::Index(index) => {
                    if !place.is_array() {
                        *place = Value::Array(Vec::new());
                    }
                    place.as_array_mut().and_then(|items| {
                        while items.len() < *index {
                            items.push(Value::Object(Map::new()));
                            created += 1;
                        }
                        if items.len() == *index {
                            items.push(Value::Null);
                        }
                        items.get_mut(*index)
                    })
                }
            };
            place = next.ok_or_else(|| self.blocked(position, &Value::Null))?;
        }
        *place = value;
        Ok(created)
    }

    /// Takes away what this path names and gives it back. The root leaves `{}`.
    pub fn delete(&self, target: &mut Value) -> Option<Value> {
        let Some((last, way)) = self.steps.split_last() else {
            return Some(std::mem::replace(target, Value::Object(Map::new())));
        };
        let parent = way.iter().try_fold(target, |value, step| match step {
            PathPart::Key(key) => value.as_object_mut()?.get_mut(key),
            PathPart::Index(index) => value.as_array_mut()?.get_mut(*index),
        })?;
        match last {
            PathPart::Key(key) => parent.as_object_mut()?.remove(key),
            PathPart::Index(index) => {
                let items = parent.as_array_mut()?;
                (*index < items.len()).then(|| items.remove(*index))
            }
        }
    }

    fn check_way(&self, target: &Value) -> Result<(), SetError> {
        let mut place = Some(target);
        for (position, step) in self.steps.iter().enumerate() {
            let here = place.filter(|value| !value.is_null());
            place = match (step, here) {
                (PathPart::Key(key), Some(Value::Object(map))) => map.get(key),
                (PathPart::Index(index), Some(Value::Array(items))) => {
                    self.check_cells(*index, items.len())?;
                    items.get(*index)
                }
                // An empty mapping is what an earlier path leaves behind for "something will come here".
                (PathPart::Index(index), Some(Value::Object(map))) if map.is_empty() => {
                    self.check_cells(*index, 0)?;
                    None
                }
                (PathPart::Index(index), None) => {
                    self.check_cells(*index, 0)?;
                    None
                }
                (PathPart::Key(_), None) => None,
                (_, Some(other)) => {
                    return Err(self.blocked(position, other));
                }
            };
        }
        Ok(())
    }

    fn blocked(&self, position: usize, found: &Value) -> SetError {
        SetError::Blocked {
            path: self.to_string(),
            at: display_steps(self.steps.get(..position).unwrap_or_default()),
            found: type_name(found),
        }
    }

    fn check_cells(&self, index: usize, length: usize) -> Result<(), SetError> {
        if index.saturating_sub(length) >= MAX_NEW_CELLS {
            return Err(SetError::TooManyCells { path: self.to_string() });
        }
        Ok(())
    }
}

/// What a value is, in words for messages.
pub(crate) const fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "nothing",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "a mapping",
    }
}

impl From<&[PathPart]> for Path {
    fn from(steps: &[PathPart]) -> Self {
        Self { steps: steps.to_vec() }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&display_steps(&self.steps))
    }
}

fn display_steps(steps: &[PathPart]) -> String {
    if steps.is_empty() {
        return ".".to_owned();
    }
    let mut out = String::new();
    for step in steps {
        match step {
            PathPart::Key(key) if is_plain(key) => {
                out.push('.');
                out.push_str(key);
            }
            PathPart::Key(key) if !key.contains('\'') => {
                out.push_str(".'");
                out.push_str(key);
                out.push('\'');
            }
            PathPart::Key(key) => {
                out.push_str(".\"");
                out.push_str(key);
                out.push('"');
            }
            PathPart::Index(index) => {
                if out.is_empty() {
                    out.push('.');
                }
                out.push('[');
                out.push_str(&index.to_string());
                out.push(']');
            }
        }
    }
    out
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.starts_with(['\'', '"']) && !key.contains(['.', '['])
}

struct Parser<'a> {
    text: &'a str,
    rest: &'a str,
    steps: Vec<PathPart>,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            rest: text,
            steps: Vec::new(),
        }
    }

    fn parse(mut self) -> Result<Vec<PathPart>, PathError> {
        match self.text {
            "" => return Err(PathError::EmptyStep { path: String::new() }),
            "." | "$" | "$." => return Ok(self.steps),
            _ => {}
        }
        if let Some(rest) = self.rest.strip_prefix('$')
            && rest.starts_with(['.', '['])
        {
            self.rest = rest;
        }
        if !self.rest.starts_with(['.', '[']) {
            self.key()?;
        }
        while let Some(first) = self.rest.chars().next() {
            if self.steps.len() >= MAX_STEPS {
                return Err(PathError::TooLong);
            }
            match first {
                '.' => {
                    self.rest = self.rest.get(1..).unwrap_or_default();
                    // `.a.[0]` is written as often as `.a[0]`.
                    if !self.rest.starts_with('[') {
                        self.key()?;
                    }
                }
                '[' => self.bracket()?,
                _ => {
                    return Err(PathError::Dot {
                        path: self.text.to_owned(),
                    });
                }
            }
        }
        Ok(self.steps)
    }

    fn key(&mut self) -> Result<(), PathError> {
        let key = if self.rest.starts_with(['\'', '"']) {
            self.quoted()?
        } else {
            let end = self.rest.find(['.', '[']).unwrap_or(self.rest.len());
            let (key, rest) = self.rest.split_at(end);
            self.rest = rest;
            key.to_owned()
        };
        if key.is_empty() {
            return Err(PathError::EmptyStep {
                path: self.text.to_owned(),
            });
        }
        self.steps.push(PathPart::Key(key));
        Ok(())
    }

    fn quoted(&mut self) -> Result<String, PathError> {
        let unclosed = || PathError::Quote {
            path: self.text.to_owned(),
        };
        let mut characters = self.rest.chars();
        let quote = characters.next().ok_or_else(unclosed)?;
        let (key, rest) = characters.as_str().split_once(quote).ok_or_else(unclosed)?;
        self.rest = rest;
        Ok(key.to_owned())
    }

    fn bracket(&mut self) -> Result<(), PathError> {
        let wrong = PathError::Brackets {
            path: self.text.to_owned(),
        };
        self.rest = self.rest.get(1..).unwrap_or_default();
        let step = if self.rest.starts_with(['\'', '"']) {
            let key = self.quoted()?;
            if key.is_empty() {
                return Err(wrong);
            }
            PathPart::Key(key)
        } else {
            let end = self
                .rest
                .find(|character: char| !character.is_ascii_digit())
                .unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            self.rest = rest;
            match digits.parse() {
                Ok(index) => PathPart::Index(index),
                Err(_) => return Err(wrong),
            }
        };
        let Some(rest) = self.rest.strip_prefix(']') else {
            return Err(wrong);
        };
        self.rest = rest;
        self.steps.push(step);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
