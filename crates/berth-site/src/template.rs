//! Templates for label values in rules: `${capture}`, `${clli.place}`, `${node.rack}`, with filters after `|`.
//!
//! ```text
//! ${place}                 a named capture of the rule's pattern
//! ${clli.state | states}   a part of the decoded CLLI code, looked up in the rule's table `states`
//! ${node.hostname | upper} a fact about the node, in upper case
//! $$                       a dollar sign
//! ```

use std::fmt;

/// A parsed template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Expression(Expression),
}

/// One piece of a template, in the order of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text that stands for itself.
    Text(&'a str),
    /// A place to fill in.
    Expression(&'a Expression),
}

/// One `${...}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expression {
    /// Where the text comes from.
    pub variable: Variable,
    /// What is done with it, in order: `upper`, `lower` or the name of a table.
    pub filters: Vec<Filter>,
}

/// Where an expression takes its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Variable {
    /// A named capture.
    Capture(String),
    /// A part of the decoded CLLI code.
    Clli(ClliPart),
    /// A fact about the node.
    Node(NodeFact),
}

/// A part of a CLLI code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClliPart {
    /// Characters 1 to 4.
    Place,
    /// Characters 5 and 6.
    State,
    /// Building or location code.
    Site,
    /// Characters 9 to 11 of the building form.
    Entity,
    /// `building`, `non-building` or `customer`.
    Form,
}

/// A fact about the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeFact {
    /// The node's name.
    Name,
    /// Its first DNS label.
    Hostname,
    /// Its rack.
    Rack,
    /// Its host profile.
    Profile,
}

/// What is done with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// To upper case.
    Upper,
    /// To lower case.
    Lower,
    /// Looked up in a table of the rule.
    Table(String),
}

/// Why a template cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// `${` without `}`.
    #[error("`${{` is not closed with `}}`")]
    Unclosed,
    /// A single dollar sign.
    #[error("`$` must be written `$$`, or begin a `${{...}}`")]
    LoneDollar,
    /// `${}` or an empty filter.
    #[error("`${{{0}}}` has an empty part")]
    Empty(String),
    /// `${clli.x}` or `${node.x}` with an `x` that does not exist.
    #[error(
        "`{0}` does not exist; there are clli.place, clli.state, clli.site, clli.entity, clli.form, node.name, node.hostname, node.rack and node.profile"
    )]
    UnknownVariable(String),
}

impl Template {
    /// Reads a template.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, from) = rest.split_at(at);
            literal.push_str(before);
            if let Some(after) = from.strip_prefix("$$") {
                literal.push('$');
                rest = after;
            } else if let Some(after) = from.strip_prefix("${") {
                let (inner, after) = after.split_once('}').ok_or(TemplateError::Unclosed)?;
                if !literal.is_empty() {
                    parts.push(Part::Literal(std::mem::take(&mut literal)));
                }
                parts.push(Part::Expression(Expression::parse(inner)?));
                rest = after;
            } else {
                return Err(TemplateError::LoneDollar);
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self { parts })
    }

    /// All expressions, in order.
    pub fn expressions(&self) -> impl Iterator<Item = &Expression> {
        self.parts.iter().filter_map(|part| match part {
            Part::Expression(expression) => Some(expression),
            Part::Literal(_) => None,
        })
    }

    /// The text, when nothing has to be filled in.
    pub fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// The pieces, for whoever writes the template in another language.
    pub fn pieces(&self) -> impl Iterator<Item = Piece<'_>> {
        self.parts.iter().map(|part| match part {
            Part::Literal(text) => Piece::Text(text),
            Part::Expression(expression) => Piece::Expression(expression),
        })
    }

    /// Fills the template in. The first expression that has no value ends it.
    pub fn expand<E>(&self, mut value: impl FnMut(&Expression) -> Result<String, E>) -> Result<String, E> {
        let mut text = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Expression(expression) => text.push_str(&value(expression)?),
            }
        }
        Ok(text)
    }
}

impl Expression {
    fn parse(inner: &str) -> Result<Self, TemplateError> {
        let mut pieces = inner.split('|').map(str::trim);
        let name = pieces.next().unwrap_or_default();
        let filters: Vec<Filter> = pieces
            .map(|piece| match piece {
                "" => Err(TemplateError::Empty(inner.to_owned())),
                "upper" => Ok(Filter::Upper),
                "lower" => Ok(Filter::Lower),
                table => Ok(Filter::Table(table.to_owned())),
            })
            .collect::<Result<_, _>>()?;
        let variable = match name {
            "" => return Err(TemplateError::Empty(inner.to_owned())),
            "clli.place" => Variable::Clli(ClliPart::Place),
            "clli.state" => Variable::Clli(ClliPart::State),
            "clli.site" => Variable::Clli(ClliPart::Site),
            "clli.entity" => Variable::Clli(ClliPart::Entity),
            "clli.form" => Variable::Clli(ClliPart::Form),
            "node.name" => Variable::Node(NodeFact::Name),
            "node.hostname" => Variable::Node(NodeFact::Hostname),
            "node.rack" => Variable::Node(NodeFact::Rack),
            "node.profile" => Variable::Node(NodeFact::Profile),
            dotted if dotted.contains('.') => {
                return Err(TemplateError::UnknownVariable(dotted.to_owned()));
            }
            capture => Variable::Capture(capture.to_owned()),
        };
        Ok(Self { variable, filters })
    }
}

impl fmt::Display for Variable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capture(name) => name,
            Self::Clli(ClliPart::Place) => "clli.place",
            Self::Clli(ClliPart::State) => "clli.state",
            Self::Clli(ClliPart::Site) => "clli.site",
            Self::Clli(ClliPart::Entity) => "clli.entity",
            Self::Clli(ClliPart::Form) => "clli.form",
            Self::Node(NodeFact::Name) => "node.name",
            Self::Node(NodeFact::Hostname) => "node.hostname",
            Self::Node(NodeFact::Rack) => "node.rack",
            Self::Node(NodeFact::Profile) => "node.profile",
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn fill(text: &str) -> String {
        Template::parse(text)
            .unwrap()
            .expand::<()>(|expression| Ok(format!("<{}/{}>", expression.variable, expression.filters.len())))
            .unwrap()
    }

    #[test]
    fn templates_are_filled() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${a}", "<a/0>"),
            ("x-${ a | upper |t}-y", "x-<a/2>-y"),
            ("${clli.place}${node.rack}", "<clli.place/0><node.rack/0>"),
            ("$$5", "$5"),
        ] {
            assert_eq!(fill(text), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_named() {
        for (text, expected) in [
            ("${a", TemplateError::Unclosed),
            ("$a", TemplateError::LoneDollar),
            ("a$", TemplateError::LoneDollar),
            ("${}", TemplateError::Empty(String::new())),
            ("${a|}", TemplateError::Empty("a|".to_owned())),
            ("${clli.city}", TemplateError::UnknownVariable("clli.city".to_owned())),
        ] {
            assert_eq!(Template::parse(text).unwrap_err(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a${}|. ]{0,20}|\\PC{0,20}") {
            let _ = Template::parse(&text);
        }

        #[test]
        fn text_without_dollars_is_itself(text in "[^$]{0,20}") {
            let template = Template::parse(&text).unwrap();
            prop_assert_eq!(template.as_literal(), Some(text.as_str()));
        }
    }
}
