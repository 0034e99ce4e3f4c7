//! All findings about a site: its references, and the resolution of every node in it.

use std::collections::{BTreeSet, HashMap};

use berth_documents::{Diagnostic, Span};

use crate::{
    lints,
    resolve::{Resolution, Resolver},
    suggest::nearest,
};

/// How many nodes a finding names before it only counts.
const NODES_NAMED: usize = 3;

/// What makes two unknown codes the same finding.
type Code<'a> = (&'a str, Option<Span>);

/// Checks a whole site. `resolutions` are those of [`Resolver::resolve_all`], passed in so that they are made once.
///
/// The same finding on many nodes is reported once.
pub fn check(resolver: &Resolver<'_>, resolutions: &[Resolution]) -> Vec<Diagnostic> {
    let mut findings = references(resolver);
    findings.extend_from_slice(resolver.duplicates());
    let mut codes: HashMap<Code<'_>, (Diagnostic, Vec<&str>)> = HashMap::new();
    for resolution in resolutions {
        for diagnostic in &resolution.diagnostics {
            if diagnostic.lint == &lints::UNKNOWN_CODE {
                let key = (diagnostic.message.as_str(), diagnostic.span);
                codes
                    .entry(key)
                    .or_insert_with(|| (diagnostic.clone(), Vec::new()))
                    .1
                    .push(&resolution.node);
            } else {
                findings.push(diagnostic.clone());
            }
        }
    }
    for (mut diagnostic, nodes) in codes.into_values() {
        diagnostic.message = format!("{} ({})", diagnostic.message, name_nodes(&nodes));
        findings.push(diagnostic);
    }
    findings.sort_by(|a, b| (a.span, a.code(), &a.message).cmp(&(b.span, b.code(), &b.message)));
    findings.dedup();
    findings
}

fn name_nodes(nodes: &[&str]) -> String {
    let named: Vec<String> = nodes.iter().take(NODES_NAMED).map(|node| format!("`{node}`")).collect();
    let word = if nodes.len() == 1 { "node" } else { "nodes" };
    match nodes.len().saturating_sub(NODES_NAMED) {
        0 => format!("{word} {}", named.join(", ")),
        more => format!("{word} {} and {more} more", named.join(", ")),
    }
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
