//! Which Berths there should be: those of the documents, and one for every Node that has none.

use std::collections::{BTreeMap, BTreeSet};

use berth_labels::{Brake, LabelSet};
use berth_site::Resolver;
use kube_core::ObjectMeta;

use crate::{declared::BerthDeclaration, names, view::NodeView};
use berth_resources::{Berth, BerthSpec, Machine, PoolPolicy, Preregister, Taint, TaintEffect};

/// What to do with one Berth.
#[derive(Clone, Debug, PartialEq)]
pub enum Reservation {
    /// Create it.
    Create(Box<Berth>),
    /// Give it this spec.
    Update {
        /// Its name.
        name: String,
        /// The spec.
        spec: Box<BerthSpec>,
    },
    /// No document has it any more.
    Delete {
        /// Its name.
        name: String,
    },
}

/// A Berth of the cluster, as far as it is compared with what documents declare.
#[derive(Clone, Debug, PartialEq)]
pub struct Reserved {
    /// Its name.
    pub name: String,
    /// The Node's name.
    pub node: String,
    /// Who made it; nothing for one that a person wrote.
    pub by: Option<String>,
    /// What it declares.
    pub spec: BerthSpec,
}

impl Reserved {
    fn is_by_documents(&self) -> bool {
        self.by.as_deref() == Some(names::BY_DOCUMENTS)
    }
}

/// Compares the nodes that documents declare with the Berths of the cluster. Of several Berths of one node the first counts.
///
/// Only Berths that were made for documents, or that adopted a Node, are changed; those that people wrote stay theirs.
/// With no declared node nothing is deleted: an empty source proves nothing.
pub fn reserve(resolver: &Resolver<'_>, existing: &[Reserved], allow_mass_removal: bool) -> Vec<Reservation> {
    let mut by_node: BTreeMap<&str, &Reserved> = BTreeMap::new();
    for berth in existing {
        by_node.entry(&berth.node).or_insert(berth);
    }
    let mut declared = BTreeSet::new();
    let mut plan = Vec::new();
    for subject in resolver.subjects().iter().filter(|subject| subject.is_declared()) {
        let node = subject.name.to_string();
        let (name, spec) = declared_berth(resolver, subject);
        declared.insert(node.clone());
        match by_node.get(node.as_str()) {
            None => plan.push(Reservation::Create(Box::new(new_berth(
                &name,
                spec,
                names::BY_DOCUMENTS,
            )))),
            Some(berth) if berth.by.is_some() && (berth.spec != spec || !berth.is_by_documents()) => {
                plan.push(Reservation::Update {
                    name: berth.name.clone(),
                    spec: Box::new(spec),
                });
            }
            Some(_) => {}
        }
    }
    let ours = || existing.iter().filter(|berth| berth.is_by_documents());
    let gone: Vec<&Reserved> = ours().filter(|berth| !declared.contains(&berth.node)).collect();
    // Places are kept as labels are: what goes is held against what there is.
    let brake = Brake {
        removed: gone.len(),
        owned: ours().count(),
    };
    if !declared.is_empty() && (allow_mass_removal || !brake.holds()) {
        plan.extend(gone.into_iter().map(|berth| Reservation::Delete {
            name: berth.name.clone(),
        }));
    }
    plan
}

/// Whether a Node that exists without a Berth is to have one.
pub fn is_adoptable(node: &NodeView) -> bool {
    !node.deleting && !node.annotations.contains_key(names::RELEASED)
}

/// A Berth for a Node that exists without one. It declares no pool, so it follows whatever pool the Node is in.
///
/// Labels that are Berth's own on the Node, from an earlier installation or an action, and that nothing in the cluster
/// declares, are declared by the new Berth: nobody asked to take them away.
pub fn adopt(node: &NodeView, declared: &LabelSet) -> Berth {
    let mut labels = node.owned().unwrap_or_default();
    labels.retain(|key, value| !declared.contains_key(key) && node.labels.get(key) == Some(value));
    let spec = BerthSpec {
        labels,
        ..BerthSpec::default()
    };
    new_berth(&node.name, spec, names::BY_ADOPTION)
}

/// Who made a Berth; nothing for one that a person wrote.
pub fn made_by(berth: &Berth) -> Option<&str> {
    berth
        .metadata
        .labels
        .as_ref()?
        .get(names::RESERVED_BY)
        .map(String::as_str)
}

/// Whether a Berth was made for a node document, and follows it.
pub fn is_by_documents(berth: &Berth) -> bool {
    made_by(berth) == Some(names::BY_DOCUMENTS)
}

fn new_berth(name: &str, spec: BerthSpec, by: &str) -> Berth {
    Berth {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            labels: Some(BTreeMap::from([(names::RESERVED_BY.to_owned(), by.to_owned())])),
            finalizers: Some(vec![names::FINALIZER.to_owned()]),
            ..ObjectMeta::default()
        },
        spec,
        status: None,
    }
}

fn declared_berth(resolver: &Resolver<'_>, subject: &berth_site::Subject) -> (String, BerthSpec) {
    let BerthDeclaration { pool, labels, .. } = BerthDeclaration::from(&resolver.resolve(subject));
    let mut spec = BerthSpec {
        pool,
        labels,
        ..BerthSpec::default()
    };
    let document = resolver
        .site()
        .berths
        .iter()
        .find(|berth| berth.node_name.value == subject.name && !berth.release);
    let Some(document) = document else {
        return (subject.name.to_string(), spec);
    };
    spec.node_name = (document.name.value != document.node_name.value).then(|| document.node_name.value.to_string());
    spec.taints = document.taints.iter().filter_map(taint).collect();
    spec.preregister = match document.preregister {
        berth_site::Preregister::OnRequest => Preregister::OnRequest,
        berth_site::Preregister::Now => Preregister::Now,
    };
    spec.pool_policy = match document.pool_policy {
        berth_site::PoolPolicy::Follow => PoolPolicy::Follow,
        berth_site::PoolPolicy::Enforce => PoolPolicy::Enforce,
    };
    if document.system_uuid.is_some() || !document.mac_addresses.is_empty() {
        spec.machine = Some(Machine {
            system_uuid: document.system_uuid.clone(),
            mac_addresses: document.mac_addresses.iter().map(|mac| mac.value.clone()).collect(),
        });
    }
    (document.name.value.to_string(), spec)
}

fn taint(taint: &berth_site::Taint) -> Option<Taint> {
    let effect = match taint.effect.as_str() {
        "NoSchedule" => TaintEffect::NoSchedule,
        "PreferNoSchedule" => TaintEffect::PreferNoSchedule,
        "NoExecute" => TaintEffect::NoExecute,
        _ => return None,
    };
    Some(Taint {
        key: taint.key.as_str().to_owned(),
        value: Some(taint.value.as_str().to_owned()).filter(|value| !value.is_empty()),
        effect,
    })
}

#[cfg(test)]
mod tests {
    use berth_documents::{Sources, parse};
    use berth_labels::Flavour;

    use super::*;

    const SITE: &str = "\
schema: drydock/BaremetalNode/v1
metadata: {schema: metadata/Document/v1, name: w1, storagePolicy: cleartext, layeringDefinition: {layer: site}}
data:
  host_profile: compute
  metadata: {rack: r1, tags: [big, 'not legal'], owner_data: {berth.dev/profile: mine}}
---
schema: drydock/HostProfile/v1
metadata: {schema: metadata/Document/v1, name: compute, storagePolicy: cleartext, layeringDefinition: {layer: site}}
data: {}
";

    fn reserved(existing: &[Reserved]) -> Vec<Reservation> {
        let mut sources = Sources::new();
        let id = sources.add("site.yaml", SITE);
        let (site, _) = berth_site::load(&sources, &parse(&sources, id).documents);
        reserve(&Resolver::new(&site, Flavour::Upstream), existing, false)
    }

    #[test]
    fn of_several_berths_of_a_node_the_first_follows_the_documents() {
        let adopted = |name: &str| Reserved {
            name: name.to_owned(),
            node: "w1".to_owned(),
            by: Some(names::BY_ADOPTION.to_owned()),
            spec: BerthSpec::default(),
        };
        let plan = reserved(&[adopted("m"), adopted("a"), adopted("z")]);
        assert!(
            matches!(plan.as_slice(), [Reservation::Update { name, .. }] if name == "m"),
            "{plan:?}"
        );
    }

    #[test]
    fn a_berth_says_what_the_documents_know_of_the_machine() {
        let plan = reserved(&[]);
        let [Reservation::Create(berth)] = plan.as_slice() else {
            panic!("{plan:?}");
        };
        let labels = &berth.spec.labels;
        assert_eq!(labels.get("berth.dev/rack").map(String::as_str), Some("r1"));
        assert_eq!(labels.get("berth.dev/tag-big").map(String::as_str), Some(""));
        // What the documents declare is stronger, and what is not a legal label is left out.
        assert_eq!(labels.get("berth.dev/profile").map(String::as_str), Some("mine"));
        assert_eq!(labels.len(), 3, "{labels:?}");
    }
}
