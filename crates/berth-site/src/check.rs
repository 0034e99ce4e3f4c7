//! All findings about a site: its references, and the resolution of every node in it.

use std::collections::{BTreeSet, HashMap};

use berth_documents::{Diagnostic, Sources, Span};
use berth_labels::{Route, routes};

use crate::{
    configs::check_pools,
    lints,
    model::Site,
    networks::check_networks,
    placement::check_placement,
    resolve::{Resolution, Resolver},
    rule::AtAdmission,
    suggest::nearest,
};

/// How many nodes a finding names before it only counts.
const NODES_NAMED: usize = 3;

/// Checks a whole site. `resolutions` are those of [`Resolver::resolve_all`], passed in so that they are made once.
///
/// The same finding on many nodes is reported once.
pub fn check(sources: &Sources, resolver: &Resolver<'_>, resolutions: &[Resolution]) -> Vec<Diagnostic> {
    let mut findings = references(resolver);
    findings.extend_from_slice(resolver.duplicates());
    findings.extend(check_pools(sources, resolver.site(), resolver.flavour()));
    findings.extend(check_networks(resolver.site()));
    findings.extend(check_placement(resolver, resolutions));
    findings.extend(idle_rules(resolver, resolutions));
    findings.extend(node_findings(resolver.site(), resolutions));
    findings.sort_by(|a, b| (a.span, a.code(), &a.message).cmp(&(b.span, b.code(), &b.message)));
    findings.dedup();
    findings
}

/// What makes two findings the same: the place, and the words without the node's name.
type Words = (Option<Span>, String);

/// The findings of all nodes. What is said of many nodes at the same place, in the same words but for the node's name, is
/// one finding.
fn node_findings(site: &Site, resolutions: &[Resolution]) -> Vec<Diagnostic> {
    let mut groups: HashMap<Words, (Diagnostic, Vec<&str>)> = HashMap::new();
    for resolution in resolutions {
        let name = format!("`{}`", resolution.node);
        // What is wrong with a value itself was said when it was read.
        let own = resolution.diagnostics.iter();
        for diagnostic in own.filter(|diagnostic| !site.is_for_its_users(diagnostic)) {
            let key = (diagnostic.span, diagnostic.message.replace(&name, ""));
            groups
                .entry(key)
                .or_insert_with(|| (diagnostic.clone(), Vec::new()))
                .1
                .push(&resolution.node);
        }
    }
    let findings = groups.into_values().map(|(mut diagnostic, nodes)| {
        let named = nodes
            .first()
            .is_some_and(|first| diagnostic.message.contains(&format!("`{first}`")));
        // What is said of a reference concerns the reference, whoever uses it.
        let code = diagnostic.lint == &lints::UNKNOWN_CODE;
        match nodes.len().saturating_sub(1) {
            0 if !code => {}
            more if named => diagnostic.message = format!("{} (and {})", diagnostic.message, more_nodes(more)),
            _ if code => diagnostic.message = format!("{} ({})", diagnostic.message, name_nodes(&nodes)),
            _ => {}
        }
        diagnostic
    });
    findings.collect()
}

fn more_nodes(count: usize) -> String {
    if count == 1 {
        "1 more node".to_owned()
    } else {
        format!("{count} more nodes")
    }
}

fn name_nodes(nodes: &[&str]) -> String {
    let named: Vec<String> = nodes.iter().take(NODES_NAMED).map(|node| format!("`{node}`")).collect();
    let word = if nodes.len() == 1 { "node" } else { "nodes" };
    match nodes.len().saturating_sub(NODES_NAMED) {
        0 => format!("{word} {}", named.join(", ")),
        more => format!("{word} {} and {more} more", named.join(", ")),
    }
}

/// Rules that are for none of the site's nodes, where it has any.
fn idle_rules(resolver: &Resolver<'_>, resolutions: &[Resolution]) -> Vec<Diagnostic> {
    if resolutions.is_empty() {
        return Vec::new();
    }
    let used: BTreeSet<u32> = resolutions
        .iter()
        .flat_map(|resolution| resolution.rules.iter().copied())
        .collect();
    let rules = resolver.site().rules.iter().zip(0u32..);
    rules
        .filter(|(_, number)| !used.contains(number))
        .map(|(rule, _)| {
            let message = format!(
                "rule `{}` matches none of the {} nodes",
                rule.name.value,
                resolutions.len()
            );
            Diagnostic::new(&lints::IDLE_RULE, rule.name.span, message)
        })
        .collect()
}

/// Rules that promise a pool from the first moment although no kubelet may claim it.
fn at_admission(resolver: &Resolver<'_>) -> Vec<Diagnostic> {
    let site = resolver.site();
    let required = site.rules.iter().filter(|rule| rule.admission == AtAdmission::Required);
    let promises = required.filter_map(|rule| {
        let name = rule.pool.as_ref()?;
        let pool = site.pools.iter().find(|pool| pool.name.value == name.value)?;
        let labels = &pool.implicit.as_ref()?.labels;
        let (key, _) = labels
            .iter()
            .find(|(key, _)| !routes(resolver.flavour(), key).contains(&Route::Admission))?;
        let message = format!(
            "rule `{}` has `admission: required` and gives pool `{}`, whose label `{key}` no kubelet may set when it creates its Node",
            rule.name.value, name.value
        );
        Some(
            Diagnostic::new(&lints::NOT_AT_ADMISSION, name.span, message)
                .with_help("reserve the machines with Berths, or leave `admission` out: the label then follows"),
        )
    });
    promises.collect()
}

/// Names in documents that no other document has.
fn references(resolver: &Resolver<'_>) -> Vec<Diagnostic> {
    let site = resolver.site();
    let mut findings = Vec::new();
    for rule in &site.rules {
        let pools = rule.matching.pools.iter().chain(&rule.pool);
        findings.extend(
            pools
                .filter(|name| !resolver.has_pool(&name.value))
                .map(|name| resolver.unknown_pool(name)),
        );
        let racks = rule.matching.racks.iter();
        findings.extend(
            racks
                .filter(|name| !resolver.has_rack(&name.value))
                .map(|name| resolver.unknown_rack(name)),
        );
        findings.extend(
            rule.matching
                .profiles
                .iter()
                .filter_map(|name| resolver.chains().get(name).err()),
        );
    }
    findings.extend(at_admission(resolver));
    for profile in &site.profiles {
        if let Ok(chain) = resolver.chains().get(&profile.name) {
            findings.extend(chain.broken.clone());
        }
        findings.extend(
            profile
                .data
                .rack
                .iter()
                .filter(|name| !resolver.has_rack(&name.value))
                .map(|name| resolver.unknown_rack(name)),
        );
    }
    let hardware: BTreeSet<&str> = site.hardware_profiles.iter().map(|name| name.value.as_ref()).collect();
    let wanted = site
        .profiles
        .iter()
        .map(|profile| &profile.data)
        .chain(site.nodes.iter().map(|node| &node.data));
    for name in wanted.filter_map(|data| data.hardware_profile.as_ref()) {
        if !hardware.contains(name.value.as_ref()) {
            let message = format!("there is no hardware profile `{}`", name.value);
            let mut diagnostic = Diagnostic::new(&lints::UNKNOWN_HARDWARE_PROFILE, name.span, message);
            if let Some(near) = nearest(&name.value, hardware.iter().copied()) {
                diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
            }
            findings.push(diagnostic);
        }
    }
    findings
}
