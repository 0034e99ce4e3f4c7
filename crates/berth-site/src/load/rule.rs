//! `LabelRule`.

use std::collections::BTreeMap;

use berth_documents::{Diagnostic, Span};
use berth_labels::{Flavour, LabelValue, Route, routes};

use super::Object;
use crate::{
    fields::{Fields, Report, label_key, string, string_map},
    lints,
    load::has_errors,
    model::Spanned,
    pattern::{Pattern, PatternBudget, PatternError},
    rule::{AtAdmission, ClliInput, Match, NameScope, Rule, RuleLabel, Table},
    suggest::nearest,
    template::{Filter, NodeFact, Template, Variable},
};

/// How much of a pattern a message repeats.
const SHOWN: usize = 200;

pub(super) fn read(object: &Object<'_>, budget: &mut PatternBudget, report: &mut Report<'_>) -> Option<Rule> {
    let name = &object.name.value;
    let mut fields = Fields::open(object.body, "LabelRule spec", report);
    let priority = fields.int("priority", report).unwrap_or_default();
    let match_span = fields.get("match").map(|node| node.span);
    let errors_before = report.diagnostics.len();
    let matching = read_match(&mut fields, budget, report);
    let readable = matching.is_some();
    let matching = matching.unwrap_or_default();
    if readable && matching.is_empty() {
        let message = format!("rule `{name}` matches no node");
        report.push(
            Diagnostic::new(&lints::EMPTY_MATCH, match_span.unwrap_or(object.name.span), message)
                .with_help("say under `match` for which namePatterns, pools, racks or profiles it holds"),
        );
    }
    let pool = fields.name("pool", report);
    if let Some(pool) = &pool
        && !matching.pools.is_empty()
    {
        let message = format!("rule `{name}` gives pool `{}` and matches by pool", pool.value);
        report.push(
            Diagnostic::new(&lints::RULE_POOL_CYCLE, pool.span, message)
                .with_help("match by namePatterns, racks or profiles instead"),
        );
        return None;
    }
    let tables = read_tables(&mut fields, report);
    let clli = fields.string("clli", report).map(|input| {
        let value = match input.value.as_str() {
            "name" => ClliInput::Name,
            "hostname" => ClliInput::Hostname,
            capture => ClliInput::Capture(capture.to_owned()),
        };
        Spanned::new(value, input.span)
    });
    let labels = read_labels(&mut fields, report);
    let admission = fields
        .choice(
            "admission",
            &[
                ("auto", AtAdmission::Auto),
                ("required", AtAdmission::Required),
                ("never", AtAdmission::Never),
            ],
            report,
        )
        .unwrap_or_default();
    fields.finish(report);
    if labels.is_empty() && pool.is_none() && report.diagnostics.len() == errors_before {
        report.push(Diagnostic::new(
            &lints::EMPTY_RULE,
            object.name.span,
            format!("rule `{name}` gives neither labels nor a pool"),
        ));
    }
    let mut rule = Rule {
        name: object.name.clone(),
        priority,
        matching,
        clli,
        tables,
        labels,
        pool,
        admission,
    };
    if rule.admission == AtAdmission::Required {
        check_admission(&rule, report);
    }
    if !readable {
        return None;
    }
    check_references(&mut rule, report);
    Some(rule)
}

/// A rule that has to hold from the first moment can use only what is known then, the name, and can give only what a
/// kubelet may set itself: the API server looks at the Node again after a policy has changed it.
fn check_admission(rule: &Rule, report: &mut Report<'_>) {
    let name = &rule.name.value;
    for criterion in [&rule.matching.pools, &rule.matching.racks, &rule.matching.profiles] {
        if let Some(first) = criterion.first() {
            let message = format!(
                "rule `{name}` has `admission: required` and matches by `{}`, which is not known of a machine without a Berth",
                first.value
            );
            report.push(
                Diagnostic::new(&lints::NOT_AT_ADMISSION, first.span, message)
                    .with_help("match by namePatterns, or leave `admission` out"),
            );
        }
    }
    for label in &rule.labels {
        if !routes(Flavour::Upstream, &label.key).contains(&Route::Admission) {
            let message = format!(
                "rule `{name}` has `admission: required`, and no kubelet may set label `{}` when it creates its Node",
                label.key
            );
            report.push(
                Diagnostic::new(&lints::NOT_AT_ADMISSION, label.span, message)
                    .with_help("reserve the machines with Berths, or leave `admission` out: the label then follows"),
            );
        }
        let unknown = label
            .template
            .expressions()
            .find(|expression| matches!(expression.variable, Variable::Node(NodeFact::Rack | NodeFact::Profile)));
        if let Some(expression) = unknown {
            let message = format!(
                "rule `{name}` has `admission: required` and uses `{}`, which is not known of a machine without a Berth",
                expression.variable
            );
            report.push(
                Diagnostic::new(&lints::NOT_AT_ADMISSION, label.span, message)
                    .with_help("use the name and its captures, or leave `admission` out"),
            );
        }
    }
}

/// Reads `match`. With a criterion that cannot be read the rule would match more than its author wanted, so it then
/// matches nothing.
fn read_match(fields: &mut Fields<'_>, budget: &mut PatternBudget, report: &mut Report<'_>) -> Option<Match> {
    let mut fields = fields.open_field("match", report);
    let findings = report.diagnostics.len();
    let matching = Match {
        patterns: read_patterns(&fields.strings("namePatterns", report), budget, report),
        scope: fields
            .choice(
                "nameScope",
                &[("name", NameScope::Name), ("hostname", NameScope::Hostname)],
                report,
            )
            .unwrap_or_default(),
        pools: fields.names("pools", report),
        racks: fields.names("racks", report),
        profiles: fields.names("profiles", report),
    };
    let broken = has_errors(report.diagnostics.get(findings..).unwrap_or_default());
    fields.finish(report);
    (!broken).then_some(matching)
}

fn read_patterns(
    texts: &[Spanned<String>],
    budget: &mut PatternBudget,
    report: &mut Report<'_>,
) -> Vec<Spanned<Pattern>> {
    let mut patterns = Vec::with_capacity(texts.len());
    for text in texts {
        match Pattern::new(&text.value, budget) {
            Ok(pattern) => patterns.push(Spanned::new(pattern, text.span)),
            Err(error) => {
                let shown = match text.value.char_indices().nth(SHOWN) {
                    Some((end, _)) => format!("{}...", text.value.get(..end).unwrap_or_default()),
                    None => text.value.clone(),
                };
                let message = format!("`{shown}` is not a pattern: {error}");
                report.push(Diagnostic::new(&lints::INVALID_PATTERN, text.span, message));
                // With nothing left one finding for each rule is enough.
                if error == PatternError::Total {
                    break;
                }
            }
        }
    }
    patterns
}

fn read_tables(fields: &mut Fields<'_>, report: &mut Report<'_>) -> BTreeMap<String, Table> {
    let Some(node) = fields.get("tables") else {
        return BTreeMap::new();
    };
    let Some(map) = node.as_map() else {
        report.push(Diagnostic::new(
            &lints::WRONG_TYPE,
            node.span,
            "`tables` must be a mapping of tables",
        ));
        return BTreeMap::new();
    };
    map.iter()
        .map(|(name, node)| {
            let mut entries = string_map(node, "a table entry", report);
            let fallback = entries.remove("*");
            (
                name.as_str().to_owned(),
                Table {
                    span: name.span,
                    entries,
                    fallback,
                },
            )
        })
        .collect()
}

fn read_labels(fields: &mut Fields<'_>, report: &mut Report<'_>) -> Vec<RuleLabel> {
    let Some(node) = fields.get("labels") else {
        return Vec::new();
    };
    let Some(map) = node.as_map() else {
        report.push(Diagnostic::new(
            &lints::WRONG_TYPE,
            node.span,
            "`labels` must be a mapping of labels",
        ));
        return Vec::new();
    };
    let mut labels = Vec::with_capacity(map.len());
    for (key, node) in map {
        let Some(key) = label_key(key.as_str(), key.span, report) else {
            continue;
        };
        if node.as_str().is_none() {
            // The same finding as for any other label, with the quoted form as help.
            crate::fields::label_value(&key, node, report);
            continue;
        }
        let Some(text) = string(node, "a label value", report) else {
            continue;
        };
        let template = match Template::parse(&text.value) {
            Ok(template) => template,
            Err(error) => {
                let message = format!("the value `{}` of label `{key}` cannot be read: {error}", text.value);
                report.push(Diagnostic::new(&lints::INVALID_TEMPLATE, node.span, message));
                continue;
            }
        };
        let literal = match template.as_literal().map(LabelValue::try_from) {
            None => None,
            Some(Ok(value)) => Some(value),
            Some(Err(error)) => {
                let message = format!("`{}` is not a label value: {error}", text.value);
                report.push(Diagnostic::new(&lints::INVALID_LABEL_VALUE, node.span, message));
                continue;
            }
        };
        labels.push(RuleLabel {
            key,
            template,
            literal,
            span: node.span,
        });
    }
    labels
}

/// Every capture and table that the rule names has to exist; labels for which one does not are dropped.
fn check_references(rule: &mut Rule, report: &mut Report<'_>) {
    if let Some(Spanned {
        value: ClliInput::Capture(capture),
        span,
    }) = &rule.clli
        && !check_capture(rule, capture, *span, report)
    {
        rule.clli = None;
        // Labels that use the code cannot be computed either; one finding is enough.
        rule.labels.retain(|label| {
            !label
                .template
                .expressions()
                .any(|e| matches!(e.variable, Variable::Clli(_)))
        });
    }
    let keep: Vec<bool> = rule
        .labels
        .iter()
        .map(|label| {
            label.template.expressions().all(|expression| {
                let variable = match &expression.variable {
                    Variable::Capture(capture) => check_capture(rule, capture, label.span, report),
                    Variable::Clli(_) if rule.clli.is_none() => {
                        let message = format!(
                            "rule `{}` uses `{}` but decodes no code",
                            rule.name.value, expression.variable
                        );
                        report.push(
                            Diagnostic::new(&lints::UNKNOWN_CAPTURE, label.span, message)
                                .with_help("add `clli: hostname`, `clli: name` or `clli: CAPTURE` to the rule"),
                        );
                        false
                    }
                    Variable::Clli(_) | Variable::Node(_) => true,
                };
                variable
                    && expression
                        .filters
                        .iter()
                        .all(|filter| check_table(rule, filter, label.span, report))
            })
        })
        .collect();
    let mut keep = keep.into_iter();
    rule.labels.retain(|_| keep.next().unwrap_or(true));
}

fn check_capture(rule: &Rule, capture: &str, span: Span, report: &mut Report<'_>) -> bool {
    let patterns = &rule.matching.patterns;
    let lacking = patterns
        .iter()
        .find(|pattern| !pattern.value.capture_names().any(|name| name == capture));
    if lacking.is_none() && !patterns.is_empty() {
        return true;
    }
    let message = match lacking {
        Some(_) => format!("a pattern of rule `{}` has no capture `{capture}`", rule.name.value),
        None => format!(
            "rule `{}` has no pattern that could capture `{capture}`",
            rule.name.value
        ),
    };
    let known: Vec<&str> = patterns
        .iter()
        .flat_map(|pattern| pattern.value.capture_names())
        .collect();
    let help = match nearest(capture, known.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if known.is_empty() => format!("write `(?<{capture}>...)` in the pattern"),
        None => format!(
            "write `(?<{capture}>...)` in every pattern; captured are: {}",
            known.join(", ")
        ),
    };
    let mut diagnostic = Diagnostic::new(&lints::UNKNOWN_CAPTURE, span, message).with_help(help);
    if let Some(pattern) = lacking {
        diagnostic = diagnostic.with_related(pattern.span, "this pattern");
    }
    report.push(diagnostic);
    false
}

fn check_table(rule: &Rule, filter: &Filter, span: Span, report: &mut Report<'_>) -> bool {
    let Filter::Table(name) = filter else {
        return true;
    };
    if rule.tables.contains_key(name) {
        return true;
    }
    let message = format!("rule `{}` has no table `{name}`", rule.name.value);
    let known = rule.tables.keys().map(String::as_str).chain(["upper", "lower"]);
    let mut diagnostic = Diagnostic::new(&lints::UNKNOWN_TABLE, span, message);
    if let Some(near) = nearest(name, known) {
        diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
    }
    report.push(diagnostic);
    false
}
