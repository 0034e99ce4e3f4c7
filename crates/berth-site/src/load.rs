//! Documents to site: each kind has its reader, and every mistake becomes a finding.
//!
//! Reading never stops at a mistake. What can be understood is kept, so that one bad field does not hide the
//! findings behind it.

mod airship;
mod berth;
mod host;
mod network;
mod node;
mod openshift;
mod placement;
mod policy;
mod pool;
mod rule;

use std::{collections::HashMap, sync::Arc};

use berth_documents::{Diagnostic, Document, Envelope, Node, Severity, Sources, Span};
use berth_pools::TemplateReferences;

pub use self::airship::{to_airship, to_kubernetes};
use crate::{
    airship::{AirshipPlaces, follows_airship, hostname_problem},
    configs::generated_of,
    fields::Report,
    lints,
    model::{Name, Site, Spanned},
    names,
    pattern::PatternBudget,
    rule::Rule,
    suggest::nearest,
};

/// The kinds of documents that make a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    MachineConfigPool,
    MachineConfig,
    KubeletConfig,
    ContainerRuntimeConfig,
    ControllerConfig,
    OsImageStream,
    MachineConfiguration,
    LabelRule,
    Berth,
    Node,
    Region,
    Rack,
    HostProfile,
    HardwareProfile,
    BaremetalNode,
    Network,
    Cluster,
    IngressController,
    EgressIp,
    /// OpenShift's settings of the cluster network, which share their kind's name with drydock's networks.
    ClusterNetwork,
}

/// Every kind with its name, the Kubernetes API version it is written in, and its Airship namespace.
const KINDS: &[(Kind, &str, &str, &str)] = &[
    (
        Kind::MachineConfigPool,
        "MachineConfigPool",
        MACHINE_CONFIG_API,
        "berth",
    ),
    (Kind::MachineConfig, "MachineConfig", MACHINE_CONFIG_API, "berth"),
    (Kind::KubeletConfig, "KubeletConfig", MACHINE_CONFIG_API, "berth"),
    (
        Kind::ContainerRuntimeConfig,
        "ContainerRuntimeConfig",
        MACHINE_CONFIG_API,
        "berth",
    ),
    (Kind::ControllerConfig, "ControllerConfig", MACHINE_CONFIG_API, "berth"),
    (Kind::OsImageStream, "OSImageStream", MACHINE_CONFIG_API, "berth"),
    (
        Kind::MachineConfiguration,
        "MachineConfiguration",
        OPERATOR_API,
        "berth",
    ),
    (Kind::LabelRule, "LabelRule", BERTH_API, "berth"),
    (Kind::Berth, "Berth", BERTH_API, "berth"),
    (Kind::Node, "Node", "v1", "berth"),
    (Kind::Region, "Region", BERTH_API, "drydock"),
    (Kind::Rack, "Rack", BERTH_API, "drydock"),
    (Kind::HostProfile, "HostProfile", BERTH_API, "drydock"),
    (Kind::HardwareProfile, "HardwareProfile", BERTH_API, "drydock"),
    (Kind::BaremetalNode, "BaremetalNode", BERTH_API, "drydock"),
    (Kind::Network, "Network", BERTH_API, "drydock"),
    (Kind::Cluster, "Cluster", BERTH_API, "berth"),
    (Kind::IngressController, "IngressController", OPERATOR_API, "berth"),
    (Kind::EgressIp, "EgressIP", "k8s.ovn.org/v1", "berth"),
    (Kind::ClusterNetwork, "Network", OPERATOR_API, "operator"),
];
/// What `metadata` of an Airship document may hold; annotations are Berth's addition.
const AIRSHIP_METADATA: &[&str] = &[
    "schema",
    "name",
    "labels",
    "annotations",
    "layeringDefinition",
    "replacement",
    "storagePolicy",
    "substitutions",
];
/// What Kubernetes allows in `metadata`.
const KUBERNETES_METADATA: &[&str] = &[
    "name",
    "labels",
    "annotations",
    "namespace",
    "generateName",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "finalizers",
    "managedFields",
    "ownerReferences",
    "selfLink",
];
/// Shipyard's document on how a site is deployed.
const DEPLOYMENT_CONFIGURATION: &str = "shipyard/DeploymentConfiguration/v1";
/// Kinds with names so plain that other API groups have them.
const SHARED_NAMES: &[&str] = &["Cluster", "Network"];
const MACHINE_CONFIG_API: &str = "machineconfiguration.openshift.io/v1";
const OPERATOR_API: &str = "operator.openshift.io/v1";
const BERTH_API: &str = "berth.dev/v1alpha1";

/// Reads documents into a site. The findings are in document order.
///
/// Documents with a `LayeringPolicy` among them are layered first.
///
/// ```
/// use berth_documents::DocumentSet;
/// use berth_labels::Flavour;
/// use berth_site::{Resolver, load};
/// use serde_json::json;
///
/// let pool = json!({
///     "apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
///     "metadata": {"name": "infra", "annotations": {"berth.dev/node-labels": "example.com/tier=gold"}},
///     "spec": {"nodeSelector": {"matchLabels": {"node-role.kubernetes.io/infra": ""}}},
/// });
/// let berth = json!({
///     "apiVersion": "berth.dev/v1alpha1", "kind": "Berth",
///     "metadata": {"name": "w1"}, "spec": {"pool": "infra"},
/// });
/// let set = DocumentSet::of_objects([&pool, &berth]);
/// let (site, _) = load(&set.sources, &set.documents);
/// let resolution = &Resolver::new(&site, Flavour::Upstream).resolve_all()[0];
/// assert_eq!(resolution.label_set().to_string(), "example.com/tier=gold,node-role.kubernetes.io/infra=");
/// ```
pub fn load(sources: &Sources, documents: &[Document]) -> (Site, Vec<Diagnostic>) {
    let airship = AirshipPlaces::of(documents);
    let (documents, diagnostics) = berth_documents::layer(documents);
    let mut loader = Loader {
        site: Site {
            airship,
            ..Site::default()
        },
        report: Report {
            sources,
            diagnostics,
            airship: false,
        },
        seen: HashMap::new(),
        rules: Vec::new(),
        references: pool::references(documents.iter()),
    };
    for document in documents.iter() {
        loader.document(document);
    }
    let Loader {
        mut site,
        mut report,
        rules,
        ..
    } = loader;
    site.rules = read_rules(&rules, &mut report);
    site.rules
        .sort_by(|a, b| (a.priority, &a.name.value).cmp(&(b.priority, &b.name.value)));
    site.generated = generated_of(&site);
    (site, report.diagnostics)
}

struct Loader<'a> {
    site: Site,
    report: Report<'a>,
    seen: HashMap<(Kind, Arc<str>), Span>,
    rules: Vec<FoundRule<'a>>,
    /// What the `ControllerConfig` names.
    references: TemplateReferences,
}

/// A rule whose reading waits until all are known.
struct FoundRule<'a> {
    object: Object<'a>,
    /// How many findings there are before those about it.
    findings: usize,
}

impl FoundRule<'_> {
    /// How long its patterns are together.
    fn pattern_bytes(&self) -> usize {
        let patterns = self.object.body.and_then(|body| body.at(&["match", "namePatterns"]));
        let patterns = patterns.and_then(Node::as_seq).unwrap_or_default();
        patterns.iter().filter_map(Node::as_str).map(str::len).sum()
    }
}

/// Reads the rules. Their patterns share one budget, so those with the shortest patterns go first, whatever the order of the
/// documents is: where the budget does not suffice, the same rules are refused. The findings are in document order.
fn read_rules(found: &[FoundRule<'_>], report: &mut Report<'_>) -> Vec<Rule> {
    let mut order: Vec<usize> = (0..found.len()).collect();
    order.sort_by_cached_key(|place| {
        let rule = found.get(*place);
        rule.map(|rule| (rule.pattern_bytes(), Arc::clone(&rule.object.name.value)))
    });
    let mut budget = PatternBudget::default();
    let mut rules = Vec::with_capacity(found.len());
    let mut findings: Vec<Vec<Diagnostic>> = found.iter().map(|_| Vec::new()).collect();
    for place in order {
        let (Some(rule), Some(findings)) = (found.get(place), findings.get_mut(place)) else {
            continue;
        };
        let mut own = Report {
            airship: false,
            sources: report.sources,
            diagnostics: Vec::new(),
        };
        rules.extend(rule::read(&rule.object, &mut budget, &mut own));
        *findings = own.diagnostics;
    }
    let mut others = std::mem::take(&mut report.diagnostics).into_iter();
    let mut before = 0;
    for (rule, own) in found.iter().zip(findings) {
        report.diagnostics.extend(others.by_ref().take(rule.findings - before));
        report.diagnostics.extend(own);
        before = rule.findings;
    }
    report.diagnostics.extend(others);
    rules
}

/// What all readers get: the document's name and the parts that every kind has.
struct Object<'a> {
    name: Name,
    document: &'a Document,
    body: Option<&'a Node>,
}

impl<'a> Loader<'a> {
    fn document(&mut self, document: &'a Document) {
        let documents = &mut self.site.template_documents;
        if pool::read_referenced(document, &self.references, documents, &mut self.report) {
            return;
        }
        let Some(kind) = self.kind(document) else {
            return;
        };
        // A document without a name has been reported when it was parsed.
        let Some((name, span)) = document.name() else {
            return;
        };
        let name: Name = Spanned::new(Arc::from(name), span);
        if let Some(first) = self.seen.get(&(kind, name.value.clone())) {
            let message = format!("{} `{}` is described twice", document.kind(), name.value);
            self.report.push(
                Diagnostic::new(&lints::DUPLICATE_DOCUMENT, span, message)
                    .with_help("the first one is used; delete or rename one of them")
                    .with_related(*first, "first described here"),
            );
            return;
        }
        self.seen.insert((kind, name.value.clone()), span);
        self.report.airship = follows_airship(document);
        if !self.takes_name(kind, &name) {
            return;
        }
        if is_abstract(document) {
            return;
        }
        self.outline(kind, document);
        let object = Object {
            name,
            document,
            body: document.body(),
        };
        let (site, report) = (&mut self.site, &mut self.report);
        if site.openshift.is_none() {
            site.openshift = openshift::evidence(kind, &object);
        }
        match kind {
            Kind::MachineConfigPool => site.pools.push(pool::read(&object, report)),
            Kind::MachineConfig => site.machine_configs.push(pool::read_machine_config(&object, report)),
            Kind::KubeletConfig => site.kubelet_configs.extend(pool::read_kubelet_config(&object, report)),
            Kind::ContainerRuntimeConfig => site.runtime_configs.extend(pool::read_runtime_config(&object, report)),
            Kind::ControllerConfig => {
                site.controller_config = pool::read_controller_config(&object, report);
                site.template_documents.controller =
                    pool::template_controller(site.controller_config.as_ref(), &object, report);
            }
            Kind::OsImageStream => site.os_image_streams = pool::read_os_image_streams(&object, report),
            Kind::MachineConfiguration => site.disruption = policy::read(&object, report),
            Kind::LabelRule => self.rules.push(FoundRule {
                object,
                findings: report.diagnostics.len(),
            }),
            Kind::Berth => site.berths.push(berth::read(&object, report)),
            Kind::Node => site.observed.extend(node::read(&object, report)),
            Kind::Region => {
                site.flavour = site.flavour.take().or_else(|| host::read_flavour(&object, report));
                site.dynamic_labels = site.dynamic_labels.or_else(|| host::read_dynamic(&object, report));
                site.regions.push(object.name);
            }
            Kind::HardwareProfile => site.hardware_profiles.push(object.name),
            Kind::Rack => site.racks.push(host::read_rack(&object, report)),
            Kind::HostProfile => site.profiles.push(host::read_profile(&object, report)),
            Kind::BaremetalNode => site.nodes.push(host::read_node(&object, report)),
            Kind::Network => site.networks.push(network::read(&object, report)),
            Kind::IngressController => site.ingress_controllers.push(placement::read_ingress(&object, report)),
            Kind::EgressIp => site.egress_ips.push(placement::read_egress(&object, report)),
            Kind::ClusterNetwork => site.egress_timeout = placement::read_egress_timeout(&object),
            Kind::Cluster => site.clusters.push(network::read_cluster(&object, report)),
        }
    }

    /// Whether the document can be used under its name. What is wrong with the name is reported.
    fn takes_name(&mut self, kind: Kind, name: &Name) -> bool {
        let refused = if !self.report.airship {
            name_problem(&name.value)
        } else if kind == Kind::BaremetalNode {
            hostname_problem(&name.value)
        } else {
            // Only documents refer to it.
            return true;
        };
        if let Some(problem) = refused {
            self.report.push(invalid_name(name, problem));
            return false;
        }
        if let Some(problem) = name_problem(&name.value) {
            self.report.push(invalid_name(name, problem));
        }
        true
    }

    /// The fields around the body: a body under the wrong name would be lost without a word.
    fn outline(&mut self, kind: Kind, document: &Document) {
        // A cluster adds what it likes to a Node, and a document with both envelopes has been reported as such.
        let both = ["kind", "schema"].iter().all(|key| document.root.get(key).is_some());
        let is_clusters = matches!(
            kind,
            Kind::Node | Kind::ClusterNetwork | Kind::ControllerConfig | Kind::OsImageStream
        );
        if is_clusters || both {
            return;
        }
        let (known, metadata, body): (&[&str], &[&str], &str) = match document.envelope {
            Envelope::Airship { .. } => (&["schema", "metadata", "data", "status"], AIRSHIP_METADATA, "data"),
            _ => (
                &["apiVersion", "kind", "metadata", "spec", "status"],
                KUBERNETES_METADATA,
                "spec",
            ),
        };
        let parts = [
            ("document", document.root.as_map(), known),
            ("metadata", document.metadata(), metadata),
        ];
        for (what, map, known) in parts {
            for (key, _) in map
                .into_iter()
                .flatten()
                .filter(|(key, _)| !known.contains(&key.as_str()))
            {
                let message = format!("the {what} of {} has no field `{}`", document.kind(), key.as_str());
                let help = match nearest(key.as_str(), known.iter().copied()) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!(
                        "a document with `{}` keeps its fields in `{body}`",
                        known.first().unwrap_or(&"kind")
                    ),
                };
                self.report
                    .push(Diagnostic::new(&lints::UNKNOWN_FIELD, key.span, message).with_help(help));
            }
        }
        self.own_names(kind, document);
    }

    /// Labels and annotations under `berth.dev/` that Berth does not read on this kind: a typo, or the wrong
    /// document.
    fn own_names(&mut self, kind: Kind, document: &Document) {
        let known: &[&str] = match kind {
            Kind::MachineConfigPool => &[names::NODE_LABELS, names::IMPLICIT_VALUES, names::RESERVED_ONLY],
            Kind::BaremetalNode => &[names::POOL],
            Kind::MachineConfig => &[berth_pools::GENERATED_FROM],
            Kind::Region => &[names::FLAVOUR, names::DYNAMIC_LABELS],
            _ => &[],
        };
        for (key, _) in [document.labels(), document.annotations()]
            .into_iter()
            .flatten()
            .flatten()
        {
            if !key.as_str().starts_with("berth.dev/") || known.contains(&key.as_str()) {
                continue;
            }
            let message = format!("Berth does not read `{}` on a {}", key.as_str(), document.kind());
            let mut diagnostic = Diagnostic::new(&lints::UNKNOWN_FIELD, key.span, message);
            if kind == Kind::Berth && key.as_str() == names::POOL {
                diagnostic = diagnostic.with_help("a Berth pins its pool with `spec.pool`");
            } else if let Some(near) = nearest(key.as_str(), known.iter().copied()) {
                diagnostic = diagnostic.with_help(format!("did you mean `{near}`?"));
            }
            self.report.push(diagnostic);
        }
    }

    fn kind(&mut self, document: &Document) -> Option<Kind> {
        let version =
            |api: &str| matches!(&document.envelope, Envelope::Kubernetes { api_version, .. } if api_version == api);
        let schema = |namespace: &str| matches!(&document.envelope, Envelope::Airship { schema } if schema.split('/').next() == Some(namespace));
        // Of kinds that share a name the one of this API version or namespace is meant.
        let named = KINDS
            .iter()
            .filter(|(_, name, ..)| *name == document.kind())
            .max_by_key(|(_, _, api, namespace)| (version(api) || schema(namespace), *namespace != "operator"));
        let (given, expected) = match &document.envelope {
            Envelope::Kubernetes { api_version, kind } => {
                if kind == "Secret" && api_version == "v1" {
                    network::check_secret(document, &mut self.report);
                }
                if let Some((found, _, api, _)) = named
                    && api == api_version
                {
                    return Some(*found);
                }
                (
                    format!("{api_version} {kind}"),
                    named.map(|(_, name, api, _)| format!("apiVersion {api} and kind {name}")),
                )
            }
            // Nothing is read from it, but actions ask for it where Airship deploys the site.
            Envelope::Airship { schema } if schema == DEPLOYMENT_CONFIGURATION => return None,
            Envelope::Airship { schema } => {
                if let Some((found, name, _, namespace)) = named
                    && (*schema == format!("{namespace}/{name}/v1") || *schema == format!("berth/{name}/v1"))
                {
                    return Some(*found);
                }
                (
                    schema.clone(),
                    named.map(|(_, name, _, namespace)| format!("schema {namespace}/{name}/v1")),
                )
            }
            Envelope::None => return None,
        };
        let near =
            || nearest(document.kind(), KINDS.iter().map(|(_, name, ..)| *name)).map(|name| format!("kind {name}"));
        // Other projects have these names too, and mean something else.
        let expected = expected.filter(|_| {
            let foreign = matches!(&document.envelope, Envelope::Kubernetes { api_version, kind }
                if SHARED_NAMES.contains(&kind.as_str()) && nearest(api_version, [BERTH_API]).is_none());
            !foreign
        });
        let near = || near().filter(|_| !SHARED_NAMES.contains(&document.kind()));
        let diagnostic = match (expected, near()) {
            // The kind is right, so what is wrong is beside it.
            (Some(expected), _) => {
                let beside = ["apiVersion", "schema"].iter().find_map(|key| document.root.get(key));
                let span = beside.map_or_else(|| document.span(), |node| node.span);
                misspelled(&given, span).with_help(format!("did you mean {expected}?"))
            }
            (None, Some(near)) => misspelled(&given, document.span()).with_help(format!("did you mean {near}?")),
            (None, None) => {
                let message =
                    format!("{given} is not a kind that Berth uses; the document is carried along and ignored");
                Diagnostic::new(&lints::UNKNOWN_KIND, document.span(), message)
            }
        };
        self.report.push(diagnostic);
        None
    }
}

fn misspelled(given: &str, span: Span) -> Diagnostic {
    Diagnostic::new(
        &lints::MISSPELLED_KIND,
        span,
        format!("Berth does not know {given}, so the document is ignored"),
    )
}

/// The finding about a name that Kubernetes would refuse.
pub(crate) fn invalid_name(name: &Name, problem: &str) -> Diagnostic {
    let message = format!("`{}` is not a name: {problem}", name.value);
    let diagnostic = Diagnostic::new(&lints::INVALID_NAME, name.span, message);
    let lower = name.value.to_lowercase();
    if name_problem(&lower).is_none() {
        return diagnostic.with_help(format!("write {lower}"));
    }
    diagnostic
}

/// Abstract documents are only there for others to be layered on.
fn is_abstract(document: &Document) -> bool {
    let flag = document.root.at(&["metadata", "layeringDefinition", "abstract"]);
    flag.and_then(Node::as_bool).unwrap_or_default()
}

/// Why a text is not a DNS subdomain, as Kubernetes wants for the names of Nodes and other objects; nothing when it is one.
pub fn name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty() || name.len() > 253 {
        return Some("it must have 1 to 253 characters");
    }
    let legal = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    (!name.split('.').all(legal)).then_some(
        "it must consist of lower-case letters, digits, `-` and `.`, and each part must begin and end with a letter or digit",
    )
}

/// Whether any finding is an error.
pub fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity() == Severity::Error)
}
