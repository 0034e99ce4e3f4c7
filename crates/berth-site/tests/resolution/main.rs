//! Resolution, from documents to answers: what wins, what is an error, and that order does not matter.

#![expect(clippy::expect_used, reason = "test helpers outside of test functions")]

mod envelopes;
mod filters;
mod order;
mod pools;
mod precedence;
mod rules;

use berth_documents::{Diagnostic, Sources};
use berth_labels::Flavour;
use berth_site::{Resolution, Resolver, Site, Source, check, load};

/// A site read from text, with what was found on the way.
struct Read {
    sources: Sources,
    site: Site,
    findings: Vec<Diagnostic>,
}

fn read(text: &str) -> Read {
    let mut sources = Sources::new();
    let id = sources.add("site.yaml", text);
    let parsed = berth_documents::parse(&sources, id);
    let (site, mut findings) = load(&sources, &parsed.documents);
    findings.splice(0..0, parsed.diagnostics);
    Read {
        sources,
        site,
        findings,
    }
}

impl Read {
    fn resolve(&self, node: &str) -> Resolution {
        self.resolve_as(node, Flavour::Upstream)
    }

    fn resolve_as(&self, node: &str, flavour: Flavour) -> Resolution {
        let resolver = Resolver::new(&self.site, flavour);
        resolver.resolve(resolver.subject(node).expect(node))
    }

    /// `key=value` of every label of a node that a source declares.
    fn labels(&self, node: &str) -> Vec<String> {
        let labels = self.resolve(node).labels.into_iter();
        let declared = labels.filter(|label| !matches!(label.source, Source::Fact(_)));
        declared.map(|label| format!("{}={}", label.key, label.value)).collect()
    }

    /// `key=value` of every label of a node, those that say its rack, profiles and tags among them.
    fn all_labels(&self, node: &str) -> Vec<String> {
        let labels = self.resolve(node).labels.into_iter();
        labels.map(|label| format!("{}={}", label.key, label.value)).collect()
    }

    fn pool(&self, node: &str) -> Option<String> {
        self.resolve(node).pool_name().map(str::to_owned)
    }

    /// `code line` of every finding, loading and checking together.
    fn codes(&self) -> Vec<String> {
        let resolver = Resolver::new(&self.site, Flavour::Upstream);
        let all = self
            .findings
            .iter()
            .cloned()
            .chain(check(&self.sources, &resolver, &resolver.resolve_all()));
        all.map(|finding| match finding.span {
            Some(span) => format!(
                "{} {}",
                finding.code(),
                self.sources.location(span).line().unwrap_or_default()
            ),
            None => finding.code().to_owned(),
        })
        .collect()
    }

    fn message(&self, code: &str) -> String {
        let resolver = Resolver::new(&self.site, Flavour::Upstream);
        let all = self
            .findings
            .iter()
            .cloned()
            .chain(check(&self.sources, &resolver, &resolver.resolve_all()));
        all.filter(|finding| finding.code() == code)
            .map(|finding| finding.message)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn pool(name: &str, selector: &str) -> String {
    format!(
        "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {{name: {name}}}\nspec: {{nodeSelector: {selector}}}\n"
    )
}

fn role_pool(name: &str) -> String {
    pool(
        name,
        &format!("{{matchLabels: {{node-role.kubernetes.io/{name}: ''}}}}"),
    )
}

fn node(name: &str, data: &str) -> String {
    format!("---\nschema: drydock/BaremetalNode/v1\nmetadata: {{name: {name}}}\ndata: {data}\n")
}

fn pinned(name: &str, pool: &str, data: &str) -> String {
    format!(
        "---\nschema: drydock/BaremetalNode/v1\nmetadata: {{name: {name}, labels: {{berth.dev/pool: {pool}}}}}\ndata: {data}\n"
    )
}

fn profile(name: &str, data: &str) -> String {
    format!("---\nschema: drydock/HostProfile/v1\nmetadata: {{name: {name}}}\ndata: {data}\n")
}

fn rack(name: &str, labels: &str) -> String {
    format!("---\nschema: drydock/Rack/v1\nmetadata: {{name: {name}}}\ndata: {{metadata: {{owner_data: {labels}}}}}\n")
}

fn rule(name: &str, spec: &str) -> String {
    format!("---\napiVersion: berth.dev/v1alpha1\nkind: LabelRule\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

fn berth(name: &str, spec: &str) -> String {
    format!("---\napiVersion: berth.dev/v1alpha1\nkind: Berth\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}
