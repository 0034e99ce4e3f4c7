//! Who is layered upon whom, who takes values from whom, and in which order to render.
//!
//! The plan depends on metadata and on the layering policy alone, so it stays valid while only data changes.

mod parents;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap, HashMap, btree_map::Entry},
    sync::Arc,
};

use serde_json::Value;

use crate::deckhand::{
    document::{DeckhandDocument, Identity},
    error::RenderError,
    form::{LAYERING_POLICY, without_version},
    plan::parents::Parents,
};

/// Everything about a set of documents that must be known before any data is touched.
///
/// Nodes are numbered by layer, then schema, then name. All orders derive from these numbers, so nothing depends on the
/// order in which documents were handed in.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Arc<DeckhandDocument>>,
    pub(crate) numbers: HashMap<Arc<Identity>, usize>,
    /// The document whose rendered data a document starts from: its parent, or what replaces the parent.
    pub(crate) parents: Vec<Option<usize>>,
    /// For each substitution of a document, the source.
    pub(crate) sources: Vec<Vec<Option<usize>>>,
    pub(crate) dependents: Vec<Vec<usize>>,
    /// Each document after all that it needs.
    pub(crate) order: Vec<usize>,
    /// The place of each document in `order`.
    pub(crate) positions: Vec<usize>,
    /// Whether a document is part of the result.
    pub(crate) returned: Vec<bool>,
}

pub(crate) type Documents = BTreeMap<Arc<Identity>, Arc<DeckhandDocument>>;

pub(crate) fn is_layering_policy(document: &DeckhandDocument) -> bool {
    without_version(document.schema()) == LAYERING_POLICY
}

impl Plan {
    pub(crate) fn new(documents: &Documents) -> Result<Self, Vec<RenderError>> {
        let (nodes, layers) = in_layers(documents)?;
        let mut errors = Vec::new();
        let parents = Parents::new(&nodes, &layers).find(&mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        let replaced_by = replacements(&nodes, &parents, &mut errors);
        if !errors.is_empty() {
            return Err(errors);
        }
        // Children of a replaced document see the replacement; the replacement itself sees what it replaces.
        let parents: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(child, parent)| {
                let parent = (*parent)?;
                let replacement = replaced_by.get(parent).copied().flatten();
                Some(
                    replacement
                        .filter(|replacement| *replacement != child)
                        .unwrap_or(parent),
                )
            })
            .collect();
        let sources = sources(&nodes, &replaced_by);
        let needs: Vec<_> = parents
            .iter()
            .zip(&sources)
            .map(|(parent, sources)| {
                let mut needs: Vec<_> = parent.iter().chain(sources.iter().flatten()).copied().collect();
                needs.sort_unstable();
                needs.dedup();
                needs
            })
            .collect();
        let mut dependents = vec![Vec::new(); nodes.len()];
        for (node, needs) in needs.iter().enumerate() {
            for need in needs {
                if let Some(dependents) = dependents.get_mut(*need) {
                    dependents.push(node);
                }
            }
        }
        let order = topological(&nodes, &needs, &dependents)?;
        let mut positions = vec![0; nodes.len()];
        for (position, node) in order.iter().enumerate() {
            if let Some(slot) = positions.get_mut(*node) {
                *slot = position;
            }
        }
        let returned = nodes
            .iter()
            .zip(&replaced_by)
            .map(|(document, replaced_by)| !document.is_abstract() && replaced_by.is_none())
            .collect();
        let numbers = nodes
            .iter()
            .enumerate()
            .map(|(number, document)| (document.identity().clone(), number))
            .collect();
        Ok(Self {
            nodes,
            numbers,
            parents,
            sources,
            dependents,
            order,
            positions,
            returned,
        })
    }
}

/// The documents sorted by layer, and the layer of each as a number; control documents come first and have none.
type Layered = (Vec<Arc<DeckhandDocument>>, Vec<Option<usize>>);

fn in_layers(documents: &Documents) -> Result<Layered, Vec<RenderError>> {
    let policies: Vec<_> = documents
        .values()
        .filter(|document| is_layering_policy(document))
        .collect();
    let policy = match policies.as_slice() {
        [] => return Err(vec![RenderError::LayeringPolicyNotFound]),
        [policy] => policy,
        [existing, conflict @ ..] => {
            return Err(vec![RenderError::SingletonDocumentConflict {
                existing: existing.identity().clone(),
                conflict: conflict.iter().map(|policy| policy.identity().clone()).collect(),
            }]);
        }
    };
    let layer_order: Vec<&str> = policy
        .data()
        .get("layerOrder")
        .and_then(Value::as_array)
        .map(|layers| layers.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let numbers: HashMap<&str, usize> = layer_order
        .iter()
        .enumerate()
        .map(|(number, layer)| (*layer, number))
        .collect();
    let shown_order: Arc<[String]> = layer_order.iter().map(|layer| (*layer).to_owned()).collect();
    let mut errors = Vec::new();
    let mut layered = Vec::with_capacity(documents.len());
    for document in documents.values() {
        let layer = document.layer().filter(|_| !document.is_control());
        match layer.map(|layer| numbers.get(layer)) {
            Some(None) => errors.push(RenderError::InvalidDocumentLayer {
                document: document.identity().clone(),
                layer_order: Arc::clone(&shown_order),
                policy: policy.identity().clone(),
            }),
            Some(Some(number)) => layered.push((Some(*number), document)),
            None => layered.push((None, document)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    // The documents come sorted by identity. The sort is stable, so schema and name decide within a layer.
    layered.sort_by_key(|(layer, _)| *layer);
    Ok(layered
        .into_iter()
        .map(|(layer, document)| (Arc::clone(document), layer))
        .unzip())
}

/// For each document, the one that takes its place.
fn replacements(
    nodes: &[Arc<DeckhandDocument>],
    parents: &[Option<usize>],
    errors: &mut Vec<RenderError>,
) -> Vec<Option<usize>> {
    let mut replaced_by: Vec<Option<usize>> = vec![None; nodes.len()];
    let mut originals: BTreeMap<(&str, &str), &Arc<Identity>> = BTreeMap::new();
    for ((child, document), parent) in nodes.iter().enumerate().zip(parents) {
        if document.is_control() {
            continue;
        }
        let parent = parent.and_then(|number| Some((number, nodes.get(number)?)));
        let same =
            parent.filter(|(_, parent)| parent.schema() == document.schema() && parent.name() == document.name());
        let mut invalid = |others: Vec<&Arc<Identity>>, reason: &str| {
            errors.push(RenderError::InvalidDocumentReplacement {
                document: document.identity().clone(),
                others: others.into_iter().cloned().collect(),
                reason: reason.to_owned(),
            });
        };
        match (document.is_replacement(), parent, same) {
            (true, None, _) => invalid(
                vec![],
                "Document replacement requires that the document with `replacement: true` have a parent.",
            ),
            (true, Some((_, parent)), None) => invalid(
                vec![parent.identity()],
                "Document replacement requires that both documents have the same `schema` and `metadata.name`.",
            ),
            (true, _, Some((_, parent))) if parent.is_replacement() => invalid(
                vec![parent.identity()],
                "A replacement document cannot itself be replaced by another document.",
            ),
            (true, _, Some((number, parent))) => match replaced_by.get_mut(number) {
                Some(slot @ None) => *slot = Some(child),
                Some(Some(other)) => {
                    let other = nodes.get(*other).map(|other| other.identity());
                    invalid(
                        [Some(parent.identity()), other].into_iter().flatten().collect(),
                        "A document can be replaced by one document only.",
                    );
                }
                None => {}
            },
            (false, _, Some((_, parent))) => invalid(
                vec![parent.identity()],
                "Non-replacement documents cannot have the same `schema` and `metadata.name` as their parent. Either \
                 add `replacement: true` to the document or give the document a different name.",
            ),
            (false, _, None) => match originals.entry((document.schema(), document.name())) {
                Entry::Vacant(slot) => {
                    slot.insert(document.identity());
                }
                Entry::Occupied(slot) => invalid(
                    vec![slot.get()],
                    "Documents with the same `schema` and `metadata.name` in different layers need `replacement: true` \
                     on all but one of them.",
                ),
            },
        }
    }
    replaced_by
}

/// For each substitution of each document, the concrete document that it names, or what replaces that.
fn sources(nodes: &[Arc<DeckhandDocument>], replaced_by: &[Option<usize>]) -> Vec<Vec<Option<usize>>> {
    let mut by_name: HashMap<(&str, &str), usize> = HashMap::new();
    for ((number, document), replaced_by) in nodes.iter().enumerate().zip(replaced_by) {
        if !document.is_abstract() {
            let number = replaced_by.unwrap_or(number);
            by_name.insert((document.schema(), document.name()), number);
        }
    }
    nodes
        .iter()
        .map(|document| {
            document
                .substitutions()
                .iter()
                .map(|substitution| {
                    let source = &substitution.source;
                    by_name.get(&(source.schema.as_str(), source.name.as_str())).copied()
                })
                .collect()
        })
        .collect()
}

/// Each document after all that it needs; of those that could come next, the one with the lowest number.
fn topological(
    nodes: &[Arc<DeckhandDocument>],
    needs: &[Vec<usize>],
    dependents: &[Vec<usize>],
) -> Result<Vec<usize>, Vec<RenderError>> {
    let mut missing: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut ready: BinaryHeap<_> = missing
        .iter()
        .enumerate()
        .filter(|(_, missing)| **missing == 0)
        .map(|(number, _)| Reverse(number))
        .collect();
    let mut order = Vec::with_capacity(nodes.len());
    while let Some(Reverse(number)) = ready.pop() {
        order.push(number);
        for dependent in dependents.get(number).into_iter().flatten() {
            if let Some(missing) = missing.get_mut(*dependent) {
                *missing = missing.saturating_sub(1);
                if *missing == 0 {
                    ready.push(Reverse(*dependent));
                }
            }
        }
    }
    if order.len() == nodes.len() {
        return Ok(order);
    }
    let mut done = vec![false; nodes.len()];
    for number in order {
        if let Some(done) = done.get_mut(number) {
            *done = true;
        }
    }
    Err(cycles(nodes, needs, done))
}

/// One error for each circle that is met when going from need to need. What is left over always has a need that is left
/// over too, so every walk ends in a circle or in an earlier walk.
fn cycles(nodes: &[Arc<DeckhandDocument>], needs: &[Vec<usize>], mut seen: Vec<bool>) -> Vec<RenderError> {
    let unordered = seen.clone();
    let mut errors = Vec::new();
    for start in 0..nodes.len() {
        let mut walk: Vec<usize> = Vec::new();
        let mut places: HashMap<usize, usize> = HashMap::new();
        let mut here = start;
        while let Some(false) = seen.get(here).copied() {
            if let Some(slot) = seen.get_mut(here) {
                *slot = true;
            }
            places.insert(here, walk.len());
            walk.push(here);
            let next = needs
                .get(here)
                .into_iter()
                .flatten()
                .find(|need| !unordered.get(**need).copied().unwrap_or(true));
            match next {
                Some(next) => here = *next,
                None => break,
            }
        }
        if let Some(first) = places.get(&here)
            && let Some(cycle) = walk.get(*first..).filter(|cycle| !cycle.is_empty())
        {
            let lowest = cycle
                .iter()
                .enumerate()
                .min_by_key(|(_, number)| **number)
                .map_or(0, |(place, _)| place);
            let (tail, head) = cycle.split_at(lowest);
            errors.push(RenderError::SubstitutionDependencyCycle {
                cycle: head
                    .iter()
                    .chain(tail)
                    .filter_map(|number| Some(nodes.get(*number)?.identity().clone()))
                    .collect(),
            });
        }
    }
    errors
}
