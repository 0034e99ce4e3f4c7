//! Label rules in CEL: whether a rule matches a machine that nobody reserved, and what it gives.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{Flavour, LabelKey, Operator, Requirement, Route, routes};
use berth_site::{
    AtAdmission, ClliInput, ClliPart, Expression, Filter, Match, NameScope, NodeFact, Piece, Pool, Rule, RuleLabel,
    Site, Variable,
};

use super::{
    LeftOut,
    cel::{accepts_one, all, any, quote},
    pattern::{Cut, Pattern},
};
use berth_decide::names;

/// What a label value may be; checked again by the API server, which refuses the whole Node otherwise.
const LABEL_VALUE: &str = "^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$";

const BUILDING: &str = "^[A-Za-z]{6}([A-Za-z]{2}|[0-9]{2})([A-Za-z0-9]{3})?$";
const NON_BUILDING: &str = "^[A-Za-z]{6}[BEJMPQSUXbejmpqsux][0-9]{4}$";
const CUSTOMER: &str = "^[A-Za-z]{6}[0-9][A-Za-z][0-9]{3}$";

/// The rules of a site, as variables and label additions.
#[derive(Debug, Default)]
pub(super) struct RulesInCel {
    /// Variables, each of which uses only those before it.
    pub(super) variables: Vec<Cut>,
    /// What is added, weakest first: groups of labels under one condition.
    pub(super) additions: Vec<Addition>,
    /// What cannot be said in CEL.
    pub(super) left_out: Vec<LeftOut>,
    /// Pools that are given by rules, or by labels of rules, which cannot be said in CEL, so that nothing is known about who
    /// is in them.
    pub(super) vague_pools: Vec<String>,
    /// Pools whose labels rules give, and when: who has them from rules claims nothing.
    pub(super) given: Vec<(String, String)>,
}

/// Labels that are added under one condition.
#[derive(Debug, Default)]
pub(super) struct Addition {
    /// The condition.
    pub(super) when: String,
    /// Key, further condition and value; both in CEL.
    pub(super) labels: Vec<(LabelKey, Option<String>, String)>,
}

/// Whether a policy may add a key to what a kubelet creates. The kubelet's own labels are its own.
fn may_add(flavour: Flavour, key: &LabelKey) -> bool {
    routes(flavour, key).contains(&Route::Admission) && !names::KUBELET_LABELS.contains(&key.as_str())
}

/// Writes the rules down.
pub(super) fn rules(site: &Site, flavour: Flavour) -> RulesInCel {
    let mut out = RulesInCel::default();
    out.variable("name", "object.metadata.name".to_owned());
    out.variable("hostname", "object.metadata.name.split('.')[0]".to_owned());
    // Rules that give a pool never match by pool, so all of these come before the pool is known.
    let mut given = Vec::new();
    for (number, rule) in site.rules.iter().enumerate() {
        let Some(pool) = &rule.pool else { continue };
        if !concerns_strangers(rule) {
            continue;
        }
        match out.matching(number, rule) {
            Ok(condition) => given.push((condition, pool.value.to_string())),
            Err(why) => {
                out.vague_pools.push(pool.value.to_string());
                out.leave(rule, None, &why);
            }
        }
    }
    let choice = given.iter().fold("''".to_owned(), |weaker, (condition, pool)| {
        format!("{condition} ? {} : ({weaker})", quote(pool))
    });
    out.variable("pool", choice);
    let mut pools: Vec<&Pool> = Vec::new();
    for pool in &site.pools {
        if given.iter().any(|(_, name)| pool.name.value.as_ref() == name) {
            pools.push(pool);
        }
    }
    for pool in &pools {
        let explicit = pool.explicit.iter().filter_map(|declared| {
            let value = declared.value.as_ref()?;
            Some((declared.key.clone(), None, quote(value.as_str())))
        });
        out.add(in_pool(pool), explicit.collect(), flavour);
    }
    let asked = asked_for(site);
    let mut gifts = Gifts::new();
    for (number, rule) in site.rules.iter().enumerate() {
        if rule.admission == AtAdmission::Never || rule.labels.is_empty() || !concerns_strangers(rule) {
            continue;
        }
        let condition = if rule.pool.is_some() {
            // Written down above, or left out there.
            let name = format!("m{number}");
            let known = out.variables.iter().any(|variable| variable.name == name);
            known.then(|| format!("variables.{name}"))
        } else {
            match out.matching(number, rule) {
                Ok(condition) => Some(condition),
                Err(why) => {
                    out.leave(rule, None, &why);
                    None
                }
            }
        };
        for label in rule.labels.iter().filter(|label| asked.contains(&label.key)) {
            // No stranger gets a label whose value is in a fact that it lacks.
            if !names_a_place(label) {
                let gift = condition.as_ref().and_then(|condition| {
                    let (guard, value) = out.label(number, rule, label).ok()?;
                    let guards: Vec<String> = std::iter::once(condition.clone()).chain(guard).collect();
                    Some((all(&guards), value))
                });
                gifts.entry(label.key.clone()).or_default().push(gift);
            }
        }
        let Some(condition) = condition else { continue };
        let mut labels = Vec::new();
        for label in &rule.labels {
            if !may_add(flavour, &label.key) {
                out.leave(
                    rule,
                    Some(&label.key),
                    "no kubelet may set this key when it creates its Node",
                );
                continue;
            }
            match out.label(number, rule, label) {
                Ok((guard, value)) => labels.push((label.key.clone(), guard, value)),
                Err(why) => out.leave(rule, Some(&label.key), &why),
            }
        }
        out.add(condition, labels, flavour);
    }
    for pool in &pools {
        let implicit = pool.implicit.iter().flat_map(|implicit| implicit.labels.iter());
        let implicit = implicit.map(|(key, value)| (key.clone(), None, quote(value.as_str())));
        out.add(in_pool(pool), implicit.collect(), flavour);
    }
    out.pools_by_labels(site, &gifts);
    out
}

/// What rules give for a key, weakest first: the condition and the value, or nothing where CEL cannot say it.
type Gifts = BTreeMap<LabelKey, Vec<Option<(String, String)>>>;

fn requirements(pool: &Pool) -> Vec<Requirement> {
    let selector = pool.node_selector.as_ref();
    let compiled = selector.and_then(|selector| selector.value.compile().ok());
    compiled.map_or_else(Vec::new, |selector| selector.requirements().to_vec())
}

/// The keys that decide about pools.
fn asked_for(site: &Site) -> BTreeSet<LabelKey> {
    let requirements = site.pools.iter().flat_map(requirements);
    requirements.map(|requirement| requirement.key).collect()
}

fn names_a_place(label: &RuleLabel) -> bool {
    label.template.pieces().any(|piece| {
        matches!(piece, Piece::Expression(expression)
            if matches!(expression.variable, Variable::Node(NodeFact::Rack | NodeFact::Profile)))
    })
}

fn in_pool(pool: &Pool) -> String {
    format!("variables.pool == {}", quote(&pool.name.value))
}

/// A machine that nobody reserved is in no rack and has no profile: rules about these are not about it.
fn concerns_strangers(rule: &Rule) -> bool {
    let Match { racks, profiles, .. } = &rule.matching;
    racks.is_empty() && profiles.is_empty() && !rule.matching.is_empty()
}

impl RulesInCel {
    fn variable(&mut self, name: &str, expression: String) {
        if self.variables.iter().all(|known| known.name != name) {
            self.variables.push(Cut {
                name: name.to_owned(),
                expression,
            });
        }
    }

    fn leave(&mut self, rule: &Rule, key: Option<&LabelKey>, why: &str) {
        self.left_out.push(LeftOut {
            rule: rule.name.value.to_string(),
            key: key.map(|key| key.as_str().to_owned()),
            why: why.to_owned(),
            required: rule.admission == AtAdmission::Required,
        });
    }

    fn add(&mut self, when: String, labels: Vec<(LabelKey, Option<String>, String)>, flavour: Flavour) {
        let labels: Vec<_> = labels.into_iter().filter(|(key, ..)| may_add(flavour, key)).collect();
        if !labels.is_empty() {
            self.additions.push(Addition { when, labels });
        }
    }

    /// Notes the pools that machines are in by the labels which rules give them.
    fn pools_by_labels(&mut self, site: &Site, gifts: &Gifts) {
        for (number, (_, gifts)) in gifts.iter().enumerate() {
            // A list of one value, or of none.
            let choice = gifts.iter().flatten().fold("[]".to_owned(), |weaker, (when, value)| {
                format!("{when} ? [{value}] : ({weaker})")
            });
            self.variable(&format!("g{number}"), choice);
        }
        let nothing = "[]".to_owned();
        for pool in &site.pools {
            let requirements = requirements(pool);
            let wanted = |requirement: &&Requirement| {
                matches!(requirement.operator, Operator::In | Operator::Exists) && gifts.contains_key(&requirement.key)
            };
            if !requirements.iter().any(|requirement| wanted(&requirement)) {
                continue;
            }
            let name = pool.name.value.to_string();
            let unknown =
                |requirement: &Requirement| gifts.get(&requirement.key).is_some_and(|gifts| gifts.contains(&None));
            if requirements.iter().any(unknown) {
                // It may be the rule's doing or the kubelet's; the webhook can tell.
                self.vague_pools.push(name);
                continue;
            }
            let conditions: Vec<String> = requirements
                .iter()
                .map(|requirement| {
                    let number = gifts.keys().position(|key| *key == requirement.key);
                    let value = number.map_or_else(|| nothing.clone(), |number| format!("variables.g{number}"));
                    accepts_one(requirement, &value)
                })
                .collect();
            self.given.push((name, all(&conditions)));
        }
    }

    /// The variable that says whether a rule matches.
    fn matching(&mut self, number: usize, rule: &Rule) -> Result<String, String> {
        let subject = subject(rule.matching.scope);
        let mut conditions = Vec::new();
        let mut patterns = Vec::new();
        for (index, pattern) in rule.matching.patterns.iter().enumerate() {
            let parsed = Pattern::new(pattern.value.as_str()).map_err(|error| error.to_string())?;
            patterns.push((
                format!("m{number}p{index}"),
                format!("{subject}.matches({})", quote(parsed.re2())),
            ));
        }
        let names: Vec<String> = patterns.iter().map(|(name, _)| format!("variables.{name}")).collect();
        for (name, expression) in patterns {
            self.variable(&name, expression);
        }
        if !names.is_empty() {
            conditions.push(any(&names));
        }
        if !rule.matching.pools.is_empty() {
            let pools: Vec<String> = rule.matching.pools.iter().map(|pool| quote(&pool.value)).collect();
            conditions.push(format!("variables.pool in [{}]", pools.join(", ")));
        }
        let name = format!("m{number}");
        self.variable(&name, all(&conditions));
        Ok(format!("variables.{name}"))
    }

    /// The condition under which a label has a value, and the value.
    fn label(&mut self, number: usize, rule: &Rule, label: &RuleLabel) -> Result<(Option<String>, String), String> {
        if let Some(literal) = &label.literal {
            return Ok((None, quote(literal.as_str())));
        }
        let mut guards = Vec::new();
        let mut pieces = Vec::new();
        for piece in label.template.pieces() {
            pieces.push(match piece {
                Piece::Text(text) => quote(text),
                Piece::Expression(expression) => self.expression(number, rule, expression, &mut guards)?,
            });
        }
        let value = pieces.join(" + ");
        guards.push(format!("({value}).matches({})", quote(LABEL_VALUE)));
        Ok((Some(all(&guards)), value))
    }

    fn expression(
        &mut self,
        number: usize,
        rule: &Rule,
        expression: &Expression,
        guards: &mut Vec<String>,
    ) -> Result<String, String> {
        let mut text = match &expression.variable {
            Variable::Node(NodeFact::Name) => "variables.name".to_owned(),
            Variable::Node(NodeFact::Hostname) => "variables.hostname".to_owned(),
            Variable::Node(NodeFact::Rack | NodeFact::Profile) => {
                return Err(format!(
                    "`{}` is not known of a machine without a Berth",
                    expression.variable
                ));
            }
            Variable::Capture(capture) => self.capture(number, rule, capture)?,
            Variable::Clli(part) => {
                let code = match rule.clli.as_ref().map(|input| &input.value) {
                    Some(ClliInput::Name) => "variables.name".to_owned(),
                    Some(ClliInput::Hostname) => "variables.hostname".to_owned(),
                    Some(ClliInput::Capture(capture)) => self.capture(number, rule, capture)?,
                    None => return Err("the rule decodes no code".to_owned()),
                };
                clli(&code, *part, guards)
            }
        };
        for filter in &expression.filters {
            text = match filter {
                Filter::Upper => format!("({text}).upperAscii()"),
                Filter::Lower => format!("({text}).lowerAscii()"),
                Filter::Table(name) => {
                    let table = rule
                        .tables
                        .get(name)
                        .ok_or_else(|| format!("there is no table `{name}`"))?;
                    let variable = format!("t{number}_{}", table_number(rule, name));
                    self.variable(&variable, map(&table.entries));
                    let variable = format!("variables.{variable}");
                    match &table.fallback {
                        Some(fallback) => {
                            format!("({text} in {variable} ? {variable}[{text}] : {})", quote(fallback))
                        }
                        None => {
                            guards.push(format!("{text} in {variable}"));
                            format!("{variable}[{text}]")
                        }
                    }
                }
            };
        }
        Ok(text)
    }

    /// The variable that holds a capture of whichever pattern matched first.
    fn capture(&mut self, number: usize, rule: &Rule, capture: &str) -> Result<String, String> {
        let subject = subject(rule.matching.scope);
        let variable = format!("c{number}_{capture}");
        let mut choices = Vec::new();
        for (index, pattern) in rule.matching.patterns.iter().enumerate() {
            let parsed = Pattern::new(pattern.value.as_str()).map_err(|error| error.to_string())?;
            let prefix = format!("c{number}p{index}");
            let (cuts, piece) = parsed
                .capture(capture, subject, &prefix)
                .map_err(|error| error.to_string())?;
            for cut in cuts {
                self.variable(&cut.name, cut.expression);
            }
            choices.push((format!("variables.m{number}p{index}"), piece));
        }
        let expression = choices
            .into_iter()
            .rev()
            .fold("''".to_owned(), |later, (condition, piece)| {
                format!("{condition} ? {piece} : ({later})")
            });
        self.variable(&variable, expression);
        Ok(format!("variables.{variable}"))
    }
}

/// Table names are free text, variable names are not.
fn table_number(rule: &Rule, name: &str) -> usize {
    rule.tables.keys().position(|known| known == name).unwrap_or_default()
}

fn subject(scope: NameScope) -> &'static str {
    match scope {
        NameScope::Name => "variables.name",
        NameScope::Hostname => "variables.hostname",
    }
}

fn map(entries: &BTreeMap<String, String>) -> String {
    let entries: Vec<String> = entries
        .iter()
        .map(|(key, value)| format!("{}: {}", quote(key), quote(value)))
        .collect();
    format!("{{{}}}", entries.join(", "))
}

/// A part of a CLLI code. The guard holds where the text is a code that has the part.
fn clli(code: &str, part: ClliPart, guards: &mut Vec<String>) -> String {
    let is = |form: &str| format!("{code}.matches({})", quote(form));
    let building = is(BUILDING);
    if part == ClliPart::Entity {
        guards.push(format!("size({code}) == 11 && {building}"));
    } else {
        guards.push(any(&[building.clone(), is(NON_BUILDING), is(CUSTOMER)]));
    }
    match part {
        ClliPart::Place => format!("{code}.substring(0, 4)"),
        ClliPart::State => format!("{code}.substring(4, 6)"),
        ClliPart::Site => format!("{code}.substring(6, {building} ? 8 : 11)"),
        ClliPart::Entity => format!("{code}.substring(8, 11)"),
        ClliPart::Form => format!(
            "({building} ? 'building' : {} ? 'non-building' : 'customer')",
            is(NON_BUILDING)
        ),
    }
}
