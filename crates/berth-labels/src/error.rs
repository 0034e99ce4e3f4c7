//! Why a text is not a label key or value, in Kubernetes' own words.

use std::fmt;

use thiserror::Error;

/// A text that Kubernetes refuses as a label key or value.
///
/// The Display text is the list Kubernetes gives, joined by `"; "` as its field errors join it, so that a person who
/// searches for the message finds what the API server would have said.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LabelError {
    /// The key breaks the syntax of label keys.
    #[error("{}", Joined(.problems))]
    Key {
        /// The text that was refused.
        text: String,
        /// Every rule it breaks, in the order Kubernetes reports them.
        problems: Vec<LabelProblem>,
    },
    /// The value breaks the syntax of label values.
    #[error("{}", Joined(.problems))]
    Value {
        /// The text that was refused.
        text: String,
        /// Every rule it breaks, in the order Kubernetes reports them.
        problems: Vec<LabelProblem>,
    },
}

impl LabelError {
    /// Every rule that the text breaks, in the order Kubernetes reports them.
    pub fn problems(&self) -> &[LabelProblem] {
        match self {
            Self::Key { problems, .. } | Self::Value { problems, .. } => problems,
        }
    }

    /// The text that was refused.
    pub fn text(&self) -> &str {
        match self {
            Self::Key { text, .. } | Self::Value { text, .. } => text,
        }
    }
}

/// One broken rule of label syntax. Display is Kubernetes' text for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
pub enum LabelProblem {
    /// More than one slash.
    #[error(
        "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
         'example.com/MyName')"
    )]
    Slashes,
    /// A slash with nothing before it.
    #[error("prefix part must be non-empty")]
    PrefixEmpty,
    /// More than 253 bytes before the slash.
    #[error("prefix part must be no more than 253 bytes")]
    PrefixTooLong,
    /// The part before the slash is not a lower-case DNS-1123 subdomain.
    #[error(
        "prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
         and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    )]
    PrefixSyntax,
    /// No name.
    #[error("name part must be non-empty")]
    NameEmpty,
    /// A name of more than 63 bytes.
    #[error("name part must be no more than 63 bytes")]
    NameTooLong,
    /// A name with a character that is not allowed where it stands.
    #[error(
        "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
         alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
         '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
    )]
    NameSyntax,
    /// A value of more than 63 bytes.
    #[error("must be no more than 63 bytes")]
    ValueTooLong,
    /// A value with a character that is not allowed where it stands.
    #[error(
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
         and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
         validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    )]
    ValueSyntax,
}

/// Prints problems joined by `"; "`.
struct Joined<'a>(&'a [LabelProblem]);

impl fmt::Display for Joined<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}
