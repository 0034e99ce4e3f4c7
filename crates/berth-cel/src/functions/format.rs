//! Named formats.

use super::Outcome;
use crate::{error::EvalError, re2, value::Value};

/// A format that Kubernetes has a name for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A label of a DNS name; `true` for the beginning of one.
    Label(bool),
    /// A DNS name; `true` for the beginning of one.
    Subdomain(bool),
    /// A label that begins with a letter; `true` for the beginning of one.
    OldLabel(bool),
    /// The key of a label.
    QualifiedName,
    /// The value of a label.
    LabelValue,
    /// A URL.
    Uri,
    /// A UUID.
    Uuid,
    /// Bytes in base64.
    Byte,
    /// A day.
    Date,
    /// A moment.
    DateTime,
}

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const OLD_LABEL: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const QUALIFIED: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_VALUE: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";

fn named(name: &str) -> Option<Format> {
    Some(match name {
        "dns1123Label" => Format::Label(false),
        "dns1123LabelPrefix" => Format::Label(true),
        "dns1123Subdomain" => Format::Subdomain(false),
        "dns1123SubdomainPrefix" => Format::Subdomain(true),
        "dns1035Label" => Format::OldLabel(false),
        "dns1035LabelPrefix" => Format::OldLabel(true),
        "qualifiedName" => Format::QualifiedName,
        "labelValue" => Format::LabelValue,
        "uri" => Format::Uri,
        "uuid" => Format::Uuid,
        "byte" => Format::Byte,
        "date" => Format::Date,
        "datetime" => Format::DateTime,
        _ => return None,
    })
}

pub(super) fn global(name: &str, arguments: &[Value]) -> Outcome {
    match (name, arguments) {
        ("named", [Value::Text(wanted)]) => Ok(Value::optional(named(wanted).map(Value::Format))),
        (_, []) => named(name).map(Value::Format).ok_or_else(EvalError::no_overload),
        _ => Err(EvalError::no_overload()),
    }
}

fn fits(text: &str, pattern: &str) -> bool {
    re2::compile(&format!("^(?:{pattern})$")).is_ok_and(|pattern| pattern.is_match(text))
}

/// What is wrong with a text, in the words of the API server.
fn wrong(text: &str, pattern: &str, most: usize, says: &str, examples: &[&str]) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > most {
        errors.push(format!("must be no more than {most} bytes"));
    }
    if !fits(text, pattern) {
        let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
        errors.push(format!(
            "{says} (e.g. {} regex used for validation is '{pattern}')",
            examples.join(" or ")
        ));
    }
    errors
}

impl Format {
    /// Nothing for a text that fits, and what is wrong otherwise.
    pub(super) fn validate(self, text: &str) -> Value {
        let errors = self.errors(text);
        Value::optional((!errors.is_empty()).then(|| Value::list(errors.iter().map(Value::text).collect())))
    }

    fn errors(self, text: &str) -> Vec<String> {
        // The beginning of a name may end with a hyphen.
        let begun = format!("{}a", text.strip_suffix('-').unwrap_or(text));
        let subject = |prefix: bool| {
            if prefix && text.ends_with('-') {
                begun.as_str()
            } else {
                text
            }
        };
        let simple = |fine: bool, says: &str| if fine { Vec::new() } else { vec![says.to_owned()] };
        match self {
            Self::Label(prefix) => wrong(
                subject(prefix),
                LABEL,
                63,
                "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and \
                 end with an alphanumeric character",
                &["my-name", "123-abc"],
            ),
            Self::Subdomain(prefix) => wrong(
                subject(prefix),
                SUBDOMAIN,
                253,
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                 start and end with an alphanumeric character",
                &["example.com"],
            ),
            Self::OldLabel(prefix) => wrong(
                subject(prefix),
                OLD_LABEL,
                63,
                "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
                 character, and end with an alphanumeric character",
                &["my-name", "abc-123"],
            ),
            Self::QualifiedName => qualified(text),
            Self::LabelValue => wrong(
                text,
                LABEL_VALUE,
                63,
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must \
                 start and end with an alphanumeric character",
                &["MyValue", "my_value", "12345"],
            ),
            Self::Uri => match super::network::global("url", &Value::text(text)) {
                Ok(_) => Vec::new(),
                Err(error) => {
                    let words = error.to_string();
                    let prefix = "URL parse error during conversion from string: ";
                    vec![words.strip_prefix(prefix).unwrap_or(&words).to_owned()]
                }
            },
            Self::Uuid => simple(
                fits(
                    text,
                    "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}",
                ),
                "does not match the UUID format",
            ),
            Self::Byte => simple(
                fits(
                    text,
                    "([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})",
                ),
                "invalid base64",
            ),
            Self::Date => simple(
                text.len() == 10 && text.parse::<jiff::civil::Date>().is_ok(),
                "invalid date",
            ),
            Self::DateTime => simple(super::time::moment(text).is_ok(), "invalid datetime"),
        }
    }
}

fn qualified(text: &str) -> Vec<String> {
    let (prefix, name) = match text.split('/').collect::<Vec<_>>().as_slice() {
        [name] => (None, (*name).to_owned()),
        [prefix, name] => (Some((*prefix).to_owned()), (*name).to_owned()),
        _ => {
            return vec![format!(
                "a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                 alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                 '{QUALIFIED}') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
            )];
        }
    };
    let mut errors = Vec::new();
    match prefix.as_deref() {
        Some("") => errors.push("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            let found = Format::Subdomain(false).errors(prefix);
            errors.extend(found.into_iter().map(|error| format!("prefix part {error}")));
        }
        None => {}
    }
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        errors.push("name part must be no more than 63 bytes".to_owned());
    }
    if !fits(&name, QUALIFIED) {
        errors.push(format!(
            "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
             alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
             '{QUALIFIED}')"
        ));
    }
    errors
}
