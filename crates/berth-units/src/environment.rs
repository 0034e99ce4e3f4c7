//! Environment variables of a unit: `Environment=`, the files of `EnvironmentFile=`, and what systemd makes of `$NAME`.

use std::collections::BTreeMap;

use crate::{
    diagnostic::Place,
    exec::ExecCommand,
    words::{Splitting, next_word, words},
};

mod env_file;

pub(crate) use env_file::quote_value;
pub use env_file::{EnvEntry, EnvFile};

/// What systemd would put into a unit's command lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<String, Variable>,
    specifiers: BTreeMap<char, String>,
    unread: Vec<String>,
    passed: Vec<String>,
    missing: Vec<String>,
}

/// One variable and where its value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// The value that wins.
    pub value: String,
    /// The unit line or the line of the environment file.
    pub place: Place,
}

/// The answer to what a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup<'a> {
    /// It has this value.
    Known(&'a Variable),
    /// Nothing sets it: systemd takes it as empty.
    Unset,
    /// It may be set by something that was not read.
    Unknown,
}

/// One argument after expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Argument {
    /// The text; what could not be resolved stays as it is written.
    pub text: String,
    /// Index of the word of [`ExecCommand::argv`] it comes from.
    pub word: usize,
    /// The variable that gave the whole argument, for a `$NAME` that stood alone.
    pub variable: Option<String>,
    /// Variables (`ID`) and specifiers (`%H`) whose value is not known.
    pub unresolved: Vec<String>,
    /// The variables whose values are part of the text.
    pub through: Vec<String>,
}

impl Argument {
    /// Whether the argument is a `$NAME` that may stand for any number of arguments.
    pub fn is_opaque(&self) -> bool {
        self.variable.is_some() && !self.unresolved.is_empty()
    }
}

impl Environment {
    /// An environment where every variable that is not set is empty.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a variable. Later calls win.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>, place: Place) {
        self.variables.insert(
            name.into(),
            Variable {
                value: value.into(),
                place,
            },
        );
    }

    /// Sets what `%c` stands for.
    pub fn set_specifier(&mut self, specifier: char, value: impl Into<String>) {
        self.specifiers.insert(specifier, value.into());
    }

    /// Notes a file that may set any variable and was not read.
    pub fn add_unread(&mut self, path: impl Into<String>) {
        self.unread.push(path.into());
    }

    /// Notes a variable that the manager passes on from its own environment.
    pub fn add_passed(&mut self, name: impl Into<String>) {
        self.passed.push(name.into());
    }

    /// Notes a file that the unit needs and that is not there.
    pub fn add_missing(&mut self, path: impl Into<String>) {
        self.missing.push(path.into());
    }

    /// Takes a variable away, by its name or as `NAME=value` if it has that value.
    pub fn unset(&mut self, assignment: &str) {
        match assignment.split_once('=') {
            None => {
                self.variables.remove(assignment);
            }
            Some((name, value)) => {
                if self.variables.get(name).is_some_and(|set| set.value == value) {
                    self.variables.remove(name);
                }
            }
        }
    }

    /// The environment files that the unit needs and that are not there: it cannot start.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The environment files that were not read.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }

    /// Looks a variable up.
    pub fn lookup(&self, name: &str) -> Lookup<'_> {
        // While a file that could replace it is unread, the value in the unit is not the last word.
        if !self.unread.is_empty() {
            return Lookup::Unknown;
        }
        match self.variables.get(name) {
            Some(variable) => Lookup::Known(variable),
            None if self.passed.iter().any(|passed| passed == name) => Lookup::Unknown,
            None => Lookup::Unset,
        }
    }

    /// All variables with a value, by name.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.variables
    }

    /// Replaces `%%` and the specifiers that are known. The rest is named in `unresolved`.
    pub(crate) fn expand_specifiers(&self, text: &str, unresolved: &mut Vec<String>) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                expanded.push(c);
                continue;
            }
            match chars.next() {
                Some('%') | None => expanded.push('%'),
                Some(specifier) => {
                    if let Some(value) = self.specifiers.get(&specifier) {
                        expanded.push_str(value);
                    } else {
                        unresolved.push(format!("%{specifier}"));
                        expanded.push('%');
                        expanded.push(specifier);
                    }
                }
            }
        }
        expanded
    }

    /// The argument list that the program gets, as far as it can be known.
    pub fn expand(&self, command: &ExecCommand) -> Vec<Argument> {
        let mut arguments = Vec::new();
        for (word, written) in command.argv().iter().enumerate() {
            let mut unresolved = Vec::new();
            let text = self.expand_specifiers(written, &mut unresolved);
            if !command.expands_variables() {
                arguments.push(Argument {
                    text,
                    word,
                    variable: None,
                    unresolved,
                    through: Vec::new(),
                });
            } else if let Some(name) = lone_variable(&text) {
                self.expand_lone(name, word, &mut arguments);
            } else {
                let mut through = Vec::new();
                let text = self.expand_braced(&text, &mut unresolved, &mut through);
                arguments.push(Argument {
                    text,
                    word,
                    variable: None,
                    unresolved,
                    through,
                });
            }
        }
        arguments
    }

    fn expand_lone(&self, name: &str, word: usize, arguments: &mut Vec<Argument>) {
        match self.lookup(name) {
            Lookup::Unset => {}
            Lookup::Unknown => arguments.push(Argument {
                text: format!("${name}"),
                word,
                variable: Some(name.to_owned()),
                unresolved: vec![name.to_owned()],
                through: Vec::new(),
            }),
            Lookup::Known(variable) => {
                for found in words(&variable.value, Splitting::Variable).unwrap_or_default() {
                    arguments.push(Argument {
                        text: found.text,
                        word,
                        variable: Some(name.to_owned()),
                        unresolved: Vec::new(),
                        through: vec![name.to_owned()],
                    });
                }
            }
        }
    }

    /// Replaces `${NAME}` and `$$`. Any other `$` inside a word is plain text for systemd.
    fn expand_braced(&self, text: &str, unresolved: &mut Vec<String>, through: &mut Vec<String>) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('$') {
            expanded.push_str(before);
            if let Some(after) = after.strip_prefix('$') {
                expanded.push('$');
                rest = after;
            } else if let Some((name, after)) = after.strip_prefix('{').and_then(|braced| braced.split_once('}')) {
                match self.lookup(name) {
                    Lookup::Known(variable) => {
                        expanded.push_str(&variable.value);
                        through.push(name.to_owned());
                    }
                    Lookup::Unset => {}
                    Lookup::Unknown => {
                        unresolved.push(name.to_owned());
                        expanded.push_str("${");
                        expanded.push_str(name);
                        expanded.push('}');
                    }
                }
                rest = after;
            } else {
                expanded.push('$');
                rest = after;
            }
        }
        expanded.push_str(rest);
        expanded
    }
}

/// The name in a word that is `$NAME` and nothing else. systemd takes the whole rest of such a word as the name.
pub(crate) fn lone_variable(word: &str) -> Option<&str> {
    word.strip_prefix('$').filter(|name| !name.starts_with(['{', '$']))
}

/// The assignments of one `Environment=` value, in order, with the byte where each starts. systemd takes what stands in
/// front of a bad word and drops the rest.
pub(crate) fn assignments(value: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let mut at = 0;
    while let Ok(Some((word, next))) = next_word(value, at, Splitting::Assignment) {
        all.push((word.span.start, word.text));
        at = next;
    }
    all
}

/// Whether a text can name a variable.
pub(crate) fn is_variable_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests;
