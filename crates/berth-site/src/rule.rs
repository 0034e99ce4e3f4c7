//! Label rules: which nodes they match, and what they give them.

use std::collections::BTreeMap;

use berth_documents::{Diagnostic, Span};
use berth_labels::{LabelKey, LabelValue};

use crate::{
    clli::{self, Clli},
    lints,
    model::{Name, Spanned},
    pattern::{Captures, Pattern},
    suggest::nearest,
    template::{ClliPart, Expression, Filter, NodeFact, Template, Variable},
};

/// A `LabelRule`.
#[derive(Debug)]
pub struct Rule {
    /// `metadata.name`.
    pub name: Name,
    /// `spec.priority`: a higher one is stronger.
    pub priority: i64,
    /// `spec.match`.
    pub matching: Match,
    /// `spec.clli`: what to decode, `name`, `hostname` or a capture.
    pub clli: Option<Spanned<ClliInput>>,
    /// `spec.tables`: lookup tables by name.
    pub tables: BTreeMap<String, Table>,
    /// `spec.labels`.
    pub labels: Vec<RuleLabel>,
    /// `spec.pool`: the pool that matching nodes get.
    pub pool: Option<Name>,
    /// `spec.admission`: what a machine without a Berth gets when its kubelet creates the Node.
    pub admission: AtAdmission,
}

/// What a rule does for machines that nobody reserved, at the moment when their kubelets create their Nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AtAdmission {
    /// What a kubelet may set itself is there from the first moment; the rest follows when the controllers see the Node.
    #[default]
    Auto,
    /// All of it must be there from the first moment. A rule that cannot promise this is an error.
    Required,
    /// The rule waits for the controllers.
    Never,
}

/// Which nodes a rule is for. Every criterion that is given has to hold; within one, any item.
#[derive(Debug, Default)]
pub struct Match {
    /// Patterns for the whole name, or the whole first DNS label of it.
    pub patterns: Vec<Spanned<Pattern>>,
    /// What the patterns are held against.
    pub scope: NameScope,
    /// Pools.
    pub pools: Vec<Name>,
    /// Racks.
    pub racks: Vec<Name>,
    /// Host profiles; a node matches by any profile of its chain.
    pub profiles: Vec<Name>,
}

impl Match {
    /// Whether the rule says nothing about its nodes.
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty() && self.pools.is_empty() && self.racks.is_empty() && self.profiles.is_empty()
    }
}

/// What a name pattern is held against.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameScope {
    /// The node's name.
    #[default]
    Name,
    /// The first DNS label of the name.
    Hostname,
}

/// What a rule decodes as CLLI code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClliInput {
    /// The node's name.
    Name,
    /// The first DNS label of the name.
    Hostname,
    /// A named capture.
    Capture(String),
}

/// A lookup table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Where it is written.
    pub span: Span,
    /// Code to value.
    pub entries: BTreeMap<String, String>,
    /// The value for every other code, written as entry `*`.
    pub fallback: Option<String>,
}

/// A label that a rule gives.
#[derive(Debug)]
pub struct RuleLabel {
    /// The key.
    pub key: LabelKey,
    /// The value, with places to fill in.
    pub template: Template,
    /// The value of a template with nothing to fill in: checked once and shared by all nodes.
    pub literal: Option<LabelValue>,
    /// Where the value is written.
    pub span: Span,
}

/// The facts about a node that a rule may use.
#[derive(Clone, Copy, Debug)]
pub struct NodeFacts<'a> {
    /// The node's name.
    pub name: &'a str,
    /// Its rack.
    pub rack: Option<&'a str>,
    /// Its host profile.
    pub profile: Option<&'a str>,
}

impl<'a> NodeFacts<'a> {
    /// The first DNS label of the name.
    pub fn hostname(&self) -> &'a str {
        self.name.split('.').next().unwrap_or(self.name)
    }

    fn scoped(&self, scope: NameScope) -> &'a str {
        match scope {
            NameScope::Name => self.name,
            NameScope::Hostname => self.hostname(),
        }
    }
}

impl Rule {
    /// The labels for a node that the rule matches; `pattern` is the first pattern that matched its name.
    ///
    /// A label that cannot be computed is left out and reported.
    pub fn labels_for(
        &self,
        facts: &NodeFacts<'_>,
        pattern: Option<usize>,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<(LabelKey, LabelValue, Span)> {
        let mut labels = Vec::with_capacity(self.labels.len());
        // Most rules are literal; the captures are only wanted by templates.
        let mut values: Option<Values<'_>> = None;
        for label in &self.labels {
            if let Some(value) = &label.literal {
                labels.push((label.key.clone(), value.clone(), label.span));
                continue;
            }
            let values = values.get_or_insert_with(|| Values::new(self, facts, pattern));
            match values.expand(label) {
                Ok(value) => labels.push((label.key.clone(), value, label.span)),
                Err(Some(diagnostic)) if !diagnostics.contains(&diagnostic) => diagnostics.push(diagnostic),
                Err(_) => {}
            }
        }
        labels
    }
}

/// What the expressions of one rule mean for one node.
struct Values<'a> {
    rule: &'a Rule,
    facts: NodeFacts<'a>,
    captures: Option<Captures<'a>>,
    clli: Option<Result<(String, Decoded), clli::ClliError>>,
}

/// A decoded code that owns its parts, because a capture does not live long enough.
struct Decoded {
    form: &'static str,
    place: String,
    state: String,
    site: String,
    entity: Option<String>,
}

impl From<Clli<'_>> for Decoded {
    fn from(clli: Clli<'_>) -> Self {
        Self {
            form: clli.form.as_str(),
            place: clli.place.to_owned(),
            state: clli.state.to_owned(),
            site: clli.site.to_owned(),
            entity: clli.entity.map(str::to_owned),
        }
    }
}

impl<'a> Values<'a> {
    fn new(rule: &'a Rule, facts: &NodeFacts<'a>, pattern: Option<usize>) -> Self {
        let subject = facts.scoped(rule.matching.scope);
        let captures = pattern
            .and_then(|index| rule.matching.patterns.get(index))
            .and_then(|pattern| pattern.value.captures(subject));
        let clli = rule.clli.as_ref().map(|input| {
            let code = match &input.value {
                ClliInput::Name => facts.name,
                ClliInput::Hostname => facts.hostname(),
                ClliInput::Capture(name) => captures
                    .as_ref()
                    .and_then(|captures| captures.get(name))
                    .unwrap_or_default(),
            };
            clli::decode(code).map(|clli| (code.to_owned(), Decoded::from(clli)))
        });
        Self {
            rule,
            facts: *facts,
            captures,
            clli,
        }
    }

    /// The value of a label. `Err(None)` means that loading the rule has reported the mistake already.
    fn expand(&self, label: &RuleLabel) -> Result<LabelValue, Option<Diagnostic>> {
        let text = label.template.expand(|expression| self.value(expression, label))?;
        LabelValue::try_from(text.as_str()).map_err(|error| {
            let message = format!(
                "rule `{}` gives node `{}` the value `{text}` for label `{}`: {error}",
                self.rule.name.value, self.facts.name, label.key
            );
            Some(Diagnostic::new(&lints::INVALID_LABEL_VALUE, label.span, message))
        })
    }

    fn value(&self, expression: &Expression, label: &RuleLabel) -> Result<String, Option<Diagnostic>> {
        let mut text = self.variable(&expression.variable, label)?;
        for filter in &expression.filters {
            text = match filter {
                Filter::Upper => text.to_uppercase(),
                Filter::Lower => text.to_lowercase(),
                Filter::Table(name) => {
                    let table = self.rule.tables.get(name).ok_or(None)?;
                    match table.entries.get(&text).or(table.fallback.as_ref()) {
                        Some(value) => value.clone(),
                        None => return Err(Some(self.unknown_code(name, table, &text))),
                    }
                }
            };
        }
        Ok(text)
    }

    fn variable(&self, variable: &Variable, label: &RuleLabel) -> Result<String, Option<Diagnostic>> {
        let missing = |what: &str| {
            let message = format!(
                "rule `{}` uses `{variable}` for label `{}`, but node `{}` has no {what}",
                self.rule.name.value, label.key, self.facts.name
            );
            Some(Diagnostic::new(&lints::MISSING_FACT, label.span, message))
        };
        match variable {
            // A group that took no part in the match is empty; whether the pattern has it at all is checked on loading.
            Variable::Capture(name) => Ok(self
                .captures
                .as_ref()
                .and_then(|captures| captures.get(name))
                .unwrap_or_default()
                .to_owned()),
            Variable::Node(NodeFact::Name) => Ok(self.facts.name.to_owned()),
            Variable::Node(NodeFact::Hostname) => Ok(self.facts.hostname().to_owned()),
            Variable::Node(NodeFact::Rack) => self.facts.rack.map(str::to_owned).ok_or_else(|| missing("rack")),
            Variable::Node(NodeFact::Profile) => self
                .facts
                .profile
                .map(str::to_owned)
                .ok_or_else(|| missing("host profile")),
            Variable::Clli(part) => {
                let decoded = self.clli.as_ref().ok_or(None)?;
                let (code, decoded) = decoded.as_ref().map_err(|error| {
                    let span = self.rule.clli.as_ref().map_or(label.span, |input| input.span);
                    let message = format!(
                        "rule `{}` decodes the name of node `{}`: {error}",
                        self.rule.name.value, self.facts.name
                    );
                    Some(
                        Diagnostic::new(&lints::INVALID_CLLI, span, message)
                            .with_help("narrow the rule's namePatterns to names that are codes"),
                    )
                })?;
                match part {
                    ClliPart::Place => Ok(decoded.place.clone()),
                    ClliPart::State => Ok(decoded.state.clone()),
                    ClliPart::Site => Ok(decoded.site.clone()),
                    ClliPart::Form => Ok(decoded.form.to_owned()),
                    ClliPart::Entity => decoded
                        .entity
                        .clone()
                        .ok_or_else(|| missing(&format!("entity: `{code}` is a {} code", decoded.form))),
                }
            }
        }
    }

    fn unknown_code(&self, name: &str, table: &Table, code: &str) -> Diagnostic {
        // The node is not named here: the same code on many nodes is one finding.
        let message = format!(
            "table `{name}` of rule `{}` has no entry for `{code}`",
            self.rule.name.value
        );
        let help = match nearest(code, table.entries.keys().map(String::as_str)) {
            Some(near) => {
                format!("add `{code}` to the table, or correct the node's name; the nearest code is `{near}`")
            }
            None => format!("add `{code}` to the table, or an entry \"*\" for all other codes"),
        };
        Diagnostic::new(&lints::UNKNOWN_CODE, table.span, message).with_help(help)
    }
}
