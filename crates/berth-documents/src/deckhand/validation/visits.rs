//! How often a validator looks at the values of a document, counted before it does.

use serde_json::Value;

use super::outline::{Outline, Part, Use};
use crate::deckhand::{
    budget::{CELL, size},
    pattern::{PatternError, Steps},
};

/// How often values may be looked at in one validation, all documents together.
const ALL_VISITS: u64 = 5_000_000;

/// How many schemas may be inside each other while a value is looked at. Each takes some of the stack.
const DEEPEST: usize = 400;

/// How many comparisons a value takes part in at most, where it is not hashed.
const COMPARED: u64 = 15;

/// About what an error takes, without its texts.
const ERROR: u64 = 400;

/// What is left of the visits of a validation.
#[derive(Debug)]
pub(super) struct Visits(Steps);

impl Default for Visits {
    fn default() -> Self {
        Self(Steps::new(ALL_VISITS))
    }
}

/// Why a document is not validated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TooMuch {
    /// All documents together.
    #[error(
        "validation takes too long: the schemas look at the values of these documents more than {ALL_VISITS} times; use fewer references in each other and fewer alternatives"
    )]
    Visits,
    /// One value.
    #[error("the schema is too deep for this document: more than {DEEPEST} schemas inside each other")]
    Depth,
    /// A key.
    #[error("a key is not known to match a pattern of the schema: {0}")]
    Pattern(PatternError),
}

/// How much memory errors take at most, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Room {
    /// The errors of everything.
    pub(super) all: u64,
    /// The first error, with what it has inside.
    pub(super) one: u64,
}

impl Visits {
    /// Whether there are none left.
    pub(super) fn are_used_up(&self) -> bool {
        self.0.are_used_up()
    }

    /// Takes the visits that a document costs at most, and says what its errors take.
    pub(super) fn spend(&self, outline: &Outline, data: &Value, steps: &Steps) -> Result<Room, TooMuch> {
        let mut walk = Walk {
            outline,
            visits: &self.0,
            steps,
            room: Room::default(),
        };
        walk.visit(0, data, Way::default())?;
        Ok(walk.room)
    }
}

/// What is done with errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    /// They are listed.
    #[default]
    Listed,
    /// They are inside another one, with a copy of the value.
    Nested,
    /// It is only asked whether there are any.
    Asked,
}

/// How a value was reached.
#[derive(Clone, Copy, Default)]
struct Way<'a> {
    mode: Mode,
    /// How many schemas are inside each other.
    depth: usize,
    /// How long the path of the value is.
    path: u64,
    /// The references that were followed at this value.
    followed: Option<&'a Followed<'a>>,
}

struct Followed<'a> {
    part: usize,
    before: Option<&'a Self>,
}

impl Followed<'_> {
    fn has(&self, part: usize) -> bool {
        std::iter::successors(Some(self), |it| it.before).any(|it| it.part == part)
    }
}

impl Way<'_> {
    /// The way to a value inside.
    const fn inside(self, key: usize) -> Way<'static> {
        Way {
            mode: self.mode,
            depth: self.depth,
            path: self.path + key as u64 + 1,
            followed: None,
        }
    }
}

struct Walk<'a> {
    outline: &'a Outline,
    visits: &'a Steps,
    steps: &'a Steps,
    room: Room,
}

impl Walk<'_> {
    fn take(&self, visits: u64) -> Result<(), TooMuch> {
        self.visits.spend(visits).map_err(|_| TooMuch::Visits)
    }

    fn visit(&mut self, number: usize, value: &Value, way: Way<'_>) -> Result<(), TooMuch> {
        let outline = self.outline;
        let Some(part) = outline.parts.get(number) else {
            return Ok(());
        };
        if way.depth >= DEEPEST {
            return Err(TooMuch::Depth);
        }
        let way = Way {
            depth: way.depth + 1,
            ..way
        };
        self.take(cost(part, value))?;
        if part.compares {
            // A few items are compared with each other.
            self.take(COMPARED * size(value) as u64 / CELL as u64)?;
        }
        self.errors(part, value, way)?;
        self.same(part, value, way)?;
        match value {
            Value::Object(_) => self.mapping(part, value, way),
            Value::Array(items) => self.list(part, items, way),
            _ => Ok(()),
        }
    }

    /// Counts what the errors of a schema's own keywords take.
    fn errors(&mut self, part: &Part, value: &Value, way: Way<'_>) -> Result<(), TooMuch> {
        if way.mode == Mode::Asked {
            return Ok(());
        }
        let mut each = ERROR + way.path + 64 * way.depth as u64;
        if way.mode == Mode::Nested {
            let copy = size(value) as u64;
            self.take(copy / CELL as u64)?;
            each += copy;
        }
        let keys = match value {
            Value::Object(map) if part.additional.is_some() => map.keys().map(|key| key.len() as u64 + 24).sum(),
            Value::String(text) if part.has_pattern => text.len() as u64,
            _ => 0,
        };
        let room = part.errors.saturating_mul(each).saturating_add(part.size + keys);
        self.room.all = self.room.all.saturating_add(room);
        if way.mode == Mode::Nested {
            self.room.one = self.room.one.saturating_add(room);
        }
        Ok(())
    }

    /// Schemas for the same value.
    fn same(&mut self, part: &Part, value: &Value, way: Way<'_>) -> Result<(), TooMuch> {
        let asked = Way {
            mode: Mode::Asked,
            ..way
        };
        for (used, number) in &part.same {
            match used {
                Use::All => self.visit(*number, value, way)?,
                Use::Test => self.visit(*number, value, asked)?,
                Use::Any => {
                    self.visit(*number, value, asked)?;
                    if way.mode != Mode::Asked {
                        let nested = Way {
                            mode: Mode::Nested,
                            ..way
                        };
                        self.visit(*number, value, nested)?;
                    }
                }
                // A circle ends where it comes to the same schema and value again.
                Use::Reference if way.followed.is_some_and(|it| it.has(*number)) => self.take(1)?,
                Use::Reference => {
                    let followed = Followed {
                        part: *number,
                        before: way.followed,
                    };
                    let way = Way {
                        followed: Some(&followed),
                        ..way
                    };
                    self.visit(*number, value, way)?;
                }
            }
        }
        for (key, number) in &part.dependent {
            self.take(1)?;
            if value.get(key).is_some() {
                self.visit(*number, value, way)?;
            }
        }
        Ok(())
    }

    fn mapping(&mut self, part: &Part, value: &Value, way: Way<'_>) -> Result<(), TooMuch> {
        let Value::Object(map) = value else {
            return Ok(());
        };
        let is_looked_at = !(part.properties.is_empty() && part.patterns.is_empty())
            || part.additional.is_some()
            || part.names.is_some();
        if !is_looked_at {
            return Ok(());
        }
        for (key, value) in map {
            self.take(1 + 2 * part.patterns.len() as u64)?;
            let inside = way.inside(key.len());
            let mut is_known = false;
            if let Some(number) = part.properties.get(key) {
                is_known = true;
                self.visit(*number, value, inside)?;
            }
            for (pattern, number) in &part.patterns {
                if pattern.is_match(key, self.steps).map_err(TooMuch::Pattern)? {
                    is_known = true;
                    self.visit(*number, value, inside)?;
                }
            }
            if let (Some(number), false) = (part.additional, is_known) {
                self.visit(number, value, inside)?;
            }
            if let Some(number) = part.names {
                let mode = match way.mode {
                    Mode::Asked => Mode::Asked,
                    Mode::Listed | Mode::Nested => Mode::Nested,
                };
                let way = Way { mode, ..inside };
                self.visit(number, &Value::from(key.as_str()), way)?;
            }
        }
        Ok(())
    }

    fn list(&mut self, part: &Part, items: &[Value], way: Way<'_>) -> Result<(), TooMuch> {
        // A number is at most so long.
        let inside = way.inside(20);
        for (item, number) in items.iter().zip(&part.first) {
            self.visit(*number, item, inside)?;
        }
        if let Some(number) = part.rest {
            for item in items.iter().skip(part.first.len()) {
                self.visit(number, item, inside)?;
            }
        }
        if let Some(number) = part.contains {
            let asked = Way {
                mode: Mode::Asked,
                ..inside
            };
            for item in items {
                self.visit(number, item, asked)?;
            }
        }
        Ok(())
    }
}

/// What it costs to look at a value with a schema's own keywords.
fn cost(part: &Part, value: &Value) -> u64 {
    let inside = match value {
        Value::Object(_) => part.properties.len() as u64,
        Value::String(text) => text.len() as u64 / 64,
        _ => 0,
    };
    1 + part.weight + inside
}

#[cfg(test)]
mod tests;
