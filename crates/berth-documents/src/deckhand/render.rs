//! Rendering: documents in, concrete documents with layered and substituted data out.
//!
//! ```text
//! documents ─Plan─► order ─for each─► layering ─► substitution ─► rendered data
//! ```
//!
//! A [`Renderer`] keeps the plan and what each document was rendered to, together with what went in. Rendering again
//! renders those documents whose input changed, and stops where the output stayed the same.

use std::{cell::RefCell, collections::BTreeSet, sync::Arc};

use serde_json::Value;

use crate::deckhand::{
    budget::{Budget, size},
    canonical::ContentHash,
    document::{DeckhandDocument, Identity, assemble},
    error::{RenderError, RenderErrors},
    layering::{self, Parent},
    pattern::{Patterns, Steps},
    plan::{Documents, Plan, is_layering_policy},
    secrets::SecretPaths,
    substitution::{Matching, Rendered as RenderedSource, Target, substitute},
};

/// How to render.
#[derive(Clone, Debug)]
pub struct RenderOptions {
    /// Whether a substitution whose source is missing is an error. Otherwise it is left out.
    pub fail_on_missing_source: bool,
    /// How many bytes all rendered documents may take together, whatever went in. A few documents that take each other in
    /// could fill any memory otherwise.
    pub size_limit: usize,
    /// How many bytes more they may take for each byte that the documents take as they are written.
    pub size_factor: usize,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            fail_on_missing_source: true,
            size_limit: 64 << 20,
            size_factor: 16,
        }
    }
}

/// The concrete documents, each after all that it depends on.
#[derive(Clone, Debug)]
pub struct Rendered {
    /// The documents. The order depends on the documents alone, not on the order they came in.
    pub documents: Vec<RenderedDocument>,
    /// How many documents were layered and substituted for this result; the others were known already.
    pub recomputed: usize,
}

/// A document and what its data was rendered to.
#[derive(Clone, Debug)]
pub struct RenderedDocument {
    /// The document as it is written.
    pub document: Arc<DeckhandDocument>,
    /// The rendered data. Shared with the document where nothing changed it.
    pub data: Arc<Value>,
    /// Which parts of it are secret.
    pub secrets: Arc<SecretPaths>,
}

impl RenderedDocument {
    /// Which parts of the data are secret: in an encrypted document all of it, also as it is written.
    pub fn secret_paths(&self) -> SecretPaths {
        if self.document.is_encrypted() {
            return self.secrets.all();
        }
        SecretPaths::clone(&self.secrets)
    }

    /// The document with its rendered data.
    pub fn to_json(&self) -> Value {
        assemble(
            self.document.schema(),
            Value::clone(self.document.metadata()),
            Value::clone(&self.data),
        )
    }
}

impl PartialEq for RenderedDocument {
    fn eq(&self, other: &Self) -> bool {
        self.document == other.document && self.data == other.data && self.secrets == other.secrets
    }
}

/// Renders documents once. Callers that will render again keep a [`Renderer`].
pub fn render(documents: &[Arc<DeckhandDocument>], options: RenderOptions) -> Result<Rendered, RenderErrors> {
    Renderer::new(documents.iter().cloned(), options).render()
}

/// One change to the documents of a [`Renderer`].
#[derive(Clone, Debug)]
pub enum Edit {
    /// A document is new, or takes the place of the one with its identity.
    Put(Arc<DeckhandDocument>),
    /// The document with this identity is gone.
    Remove(Identity),
}

/// Documents and what they were rendered to.
#[derive(Debug)]
pub struct Renderer {
    options: RenderOptions,
    documents: Documents,
    /// Identities that came more than once.
    duplicates: BTreeSet<Arc<Identity>>,
    plan: Plan,
    /// Whether `plan` is that of `documents`. It is not after a change of metadata, and while the documents cannot be
    /// planned; states are kept all the same, so that what did not change need not be rendered when they can.
    planned: bool,
    /// Aligned with the nodes of `plan`.
    states: Vec<Option<State>>,
    /// Nodes whose document changed since the states were made.
    changed: BTreeSet<usize>,
    patterns: Patterns,
    /// What the patterns of this rendering may still cost.
    steps: Steps,
    stamps: u64,
    /// The size of all states together.
    size: usize,
    /// The size of all documents as they are written.
    written: usize,
}

/// What a document was rendered to, and from what.
#[derive(Debug)]
struct State {
    input: Input,
    /// Another one whenever the outcome is another one, so dependents can compare outcomes without looking at them.
    stamp: u64,
    outcome: Outcome,
    size: usize,
    /// Whether it failed for want of room or steps, which depends on all the others: next time it is tried again.
    lacked: bool,
}

/// What a document was rendered to, and how much of it is its own.
struct Computed {
    data: Arc<Value>,
    secrets: Arc<SecretPaths>,
    size: usize,
}

#[derive(Debug, PartialEq, Eq)]
struct Input {
    document: (ContentHash, ContentHash),
    parent: Option<u64>,
    sources: Vec<Option<u64>>,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Data(Arc<Value>, Arc<SecretPaths>),
    Failed(RenderError),
    /// Something that this document needs failed; that error is enough.
    Skipped,
}

impl Renderer {
    /// A renderer that has rendered nothing yet.
    pub fn new(documents: impl IntoIterator<Item = Arc<DeckhandDocument>>, options: RenderOptions) -> Self {
        let mut renderer = Self {
            options,
            documents: Documents::new(),
            duplicates: BTreeSet::new(),
            plan: Plan::default(),
            planned: false,
            states: Vec::new(),
            changed: BTreeSet::new(),
            patterns: Patterns::default(),
            steps: Steps::default(),
            stamps: 0,
            size: 0,
            written: 0,
        };
        for document in documents {
            let identity = document.identity().clone();
            renderer.written = renderer.written.saturating_add(document.size());
            if renderer.documents.insert(identity.clone(), document).is_some() {
                renderer.duplicates.insert(identity);
            }
        }
        renderer
    }

    /// Renders the documents as they are.
    pub fn render(&mut self) -> Result<Rendered, RenderErrors> {
        self.render_again([])
    }

    /// Changes documents and renders what depends on the changes.
    pub fn render_again(&mut self, changes: impl IntoIterator<Item = Edit>) -> Result<Rendered, RenderErrors> {
        for change in changes {
            self.change(change);
        }
        self.steps = Steps::default();
        let duplicates = self.duplicates.iter().map(|identity| RenderError::DuplicateDocument {
            document: Arc::clone(identity),
        });
        if let Some(errors) = RenderErrors::new(duplicates.collect()) {
            return Err(errors);
        }
        let mut pending: BTreeSet<usize> = if self.planned {
            std::mem::take(&mut self.changed)
                .into_iter()
                .filter_map(|node| self.plan.positions.get(node).copied())
                .collect()
        } else {
            self.plan_again()?;
            (0..self.plan.order.len()).collect()
        };
        let mut recomputed = 0;
        while let Some(position) = pending.pop_first() {
            let Some(node) = self.plan.order.get(position).copied() else {
                continue;
            };
            let before = self.stamp(node);
            recomputed += usize::from(self.update(node));
            if before != self.stamp(node) {
                let dependents = self.plan.dependents.get(node).into_iter().flatten();
                pending.extend(dependents.filter_map(|dependent| self.plan.positions.get(*dependent)));
            }
        }
        self.result(recomputed)
    }

    /// The documents on whose data a document is layered, the nearest first. Known once the documents were rendered.
    pub fn ancestors(&self, identity: &Identity) -> Vec<Arc<Identity>> {
        let parent = |node: &usize| self.plan.parents.get(*node).copied().flatten();
        let first = self.plan.numbers.get(identity).and_then(parent);
        std::iter::successors(first, parent)
            .filter_map(|node| Some(Arc::clone(self.plan.nodes.get(node)?.identity())))
            .collect()
    }

    /// For each substitution of a document, where the value comes from. Known once the documents were rendered.
    pub fn sources(&self, identity: &Identity) -> Vec<Option<Arc<Identity>>> {
        let node = self.plan.numbers.get(identity);
        let sources = node.and_then(|node| self.plan.sources.get(*node));
        let identity = |source: &usize| Some(Arc::clone(self.plan.nodes.get(*source)?.identity()));
        sources
            .into_iter()
            .flatten()
            .map(|source| source.as_ref().and_then(identity))
            .collect()
    }

    fn change(&mut self, change: Edit) {
        match change {
            Edit::Put(document) => {
                self.duplicates.remove(document.identity());
                let identity = document.identity().clone();
                let before = self.documents.insert(identity, Arc::clone(&document));
                let gone = before.as_ref().map_or(0, |before| before.size());
                self.written = self.written.saturating_add(document.size()).saturating_sub(gone);
                let same_metadata = before
                    .as_ref()
                    .is_some_and(|before| before.metadata_hash() == document.metadata_hash());
                if !same_metadata || is_layering_policy(&document) && before.as_ref() != Some(&document) {
                    self.planned = false;
                }
                if self.planned
                    && let Some(node) = self.plan.numbers.get(document.identity()).copied()
                    && let Some(slot) = self.plan.nodes.get_mut(node)
                {
                    *slot = document;
                    self.changed.insert(node);
                }
            }
            Edit::Remove(identity) => {
                self.duplicates.remove(&identity);
                if let Some(before) = self.documents.remove(&identity) {
                    self.written = self.written.saturating_sub(before.size());
                    self.planned = false;
                }
            }
        }
    }

    /// Makes a new plan, and moves what is known of each document to its new place.
    fn plan_again(&mut self) -> Result<(), RenderErrors> {
        let plan = match Plan::new(&self.documents) {
            Ok(plan) => plan,
            Err(errors) => return RenderErrors::new(errors).map_or(Ok(()), Err),
        };
        let mut states: Vec<Option<State>> = Vec::new();
        states.resize_with(plan.nodes.len(), || None);
        for (document, state) in self.plan.nodes.iter().zip(self.states.drain(..)) {
            let slot = plan
                .numbers
                .get(document.identity())
                .and_then(|node| states.get_mut(*node));
            match slot {
                Some(slot) => *slot = state,
                None => self.size = self.size.saturating_sub(state.map_or(0, |state| state.size)),
            }
        }
        self.plan = plan;
        self.states = states;
        self.planned = true;
        self.changed.clear();
        Ok(())
    }

    fn state(&self, node: usize) -> Option<&State> {
        self.states.get(node)?.as_ref()
    }

    fn stamp(&self, node: usize) -> Option<u64> {
        self.state(node).map(|state| state.stamp)
    }

    /// Renders a document if its input is not that of its state, and says whether it did.
    fn update(&mut self, node: usize) -> bool {
        let Some(document) = self.plan.nodes.get(node).map(Arc::clone) else {
            return false;
        };
        let parent = self.plan.parents.get(node).copied().flatten();
        let sources = self.plan.sources.get(node).map(Vec::as_slice).unwrap_or_default();
        let input = Input {
            document: (document.data_hash(), document.metadata_hash()),
            parent: parent.and_then(|parent| self.stamp(parent)),
            sources: sources
                .iter()
                .map(|source| source.and_then(|source| self.stamp(source)))
                .collect(),
        };
        let (before, before_size) = match self.state(node) {
            Some(state) if state.input == input && !state.lacked => return false,
            Some(state) => (Some(state.stamp), state.size),
            None => (None, 0),
        };
        self.size = self.size.saturating_sub(before_size);
        let mut lacked = false;
        let (outcome, size) = match self.compute(node, &document, parent) {
            Ok(Some(Computed { data, secrets, size })) => (Outcome::Data(data, secrets), size),
            Ok(None) => (Outcome::Skipped, 0),
            Err(error) => {
                lacked = matches!(error, RenderError::TooLarge { .. }) || self.steps.are_used_up();
                // Whether there is room depends on all the others: next time everything is looked at again.
                self.planned &= !lacked;
                (Outcome::Failed(error), 0)
            }
        };
        self.size = self.size.saturating_add(size);
        let stamp = match before {
            Some(stamp) if self.state(node).is_some_and(|state| state.outcome == outcome) => stamp,
            _ => {
                self.stamps += 1;
                self.stamps
            }
        };
        if let Some(slot) = self.states.get_mut(node) {
            *slot = Some(State {
                input,
                stamp,
                outcome,
                size,
                lacked,
            });
        }
        true
    }

    /// The rendered data of a document and how much of it is its own, or nothing when something it needs failed.
    fn compute(
        &mut self,
        node: usize,
        document: &DeckhandDocument,
        parent: Option<usize>,
    ) -> Result<Option<Computed>, RenderError> {
        let sources = self.plan.sources.get(node).map(Vec::as_slice).unwrap_or_default();
        let needs: Vec<usize> = parent.iter().chain(sources.iter().flatten()).copied().collect();
        if needs.iter().any(|need| self.rendered(*need).is_none()) {
            return Ok(None);
        }
        let limit = self.limit();
        let mut budget = Budget {
            left: limit.saturating_sub(self.size),
            limit,
        };
        let (mut data, mut secrets) = match parent.and_then(|parent| self.rendered(parent)) {
            Some(parent) => layering::layer(document, parent, &mut budget)?,
            None => (Arc::clone(document.data()), SecretPaths::none()),
        };
        // Data that is the document's own is in memory already.
        let own_size = |data: &Arc<Value>| {
            if Arc::ptr_eq(data, document.data()) {
                0
            } else {
                size(data)
            }
        };
        budget.spend(own_size(&data), document)?;
        if !document.substitutions().is_empty() {
            let patterns = RefCell::new(std::mem::take(&mut self.patterns));
            let matching = Matching {
                patterns: &patterns,
                steps: &self.steps,
            };
            let mut target = Target {
                document,
                data: Arc::make_mut(&mut data),
                secrets: &mut secrets,
            };
            let result = self.substitute_all(&mut target, sources, matching, &mut budget);
            self.patterns = patterns.into_inner();
            result?;
        }
        if document.is_encrypted() {
            secrets = secrets.all();
        }
        Ok(Some(Computed {
            size: own_size(&data),
            data,
            secrets: Arc::new(secrets),
        }))
    }

    fn substitute_all(
        &self,
        target: &mut Target<'_>,
        sources: &[Option<usize>],
        matching: Matching<'_>,
        budget: &mut Budget,
    ) -> Result<(), RenderError> {
        let document = target.document;
        for (substitution, source) in document.substitutions().iter().zip(sources) {
            let Some(source) = source.and_then(|source| self.rendered(source)) else {
                if self.options.fail_on_missing_source {
                    return Err(RenderError::SubstitutionSourceNotFound {
                        schema: substitution.source.schema.clone(),
                        name: substitution.source.name.clone(),
                        document: document.identity().clone(),
                    });
                }
                continue;
            };
            let rendered = RenderedSource {
                document: source.document,
                data: source.data,
                secrets: source.secrets,
            };
            substitute(target, substitution, &rendered, matching, budget)?;
        }
        Ok(())
    }

    /// How much the rendered documents may take.
    fn limit(&self) -> usize {
        let written = self.written.saturating_mul(self.options.size_factor);
        self.options.size_limit.saturating_add(written)
    }

    /// A document and what it was rendered to.
    fn rendered(&self, node: usize) -> Option<Parent<'_>> {
        match &self.state(node)?.outcome {
            Outcome::Data(data, secrets) => Some(Parent {
                document: self.plan.nodes.get(node)?,
                data,
                secrets,
            }),
            Outcome::Failed(_) | Outcome::Skipped => None,
        }
    }

    fn result(&self, recomputed: usize) -> Result<Rendered, RenderErrors> {
        let errors = self
            .states
            .iter()
            .flatten()
            .filter_map(|state| match &state.outcome {
                Outcome::Failed(error) => Some(error.clone()),
                Outcome::Data(..) | Outcome::Skipped => None,
            })
            .collect();
        if let Some(errors) = RenderErrors::new(errors) {
            return Err(errors);
        }
        let documents = self
            .plan
            .order
            .iter()
            .filter(|node| self.plan.returned.get(**node).copied().unwrap_or(false))
            .filter_map(|node| {
                let Outcome::Data(data, secrets) = &self.state(*node)?.outcome else {
                    return None;
                };
                Some(RenderedDocument {
                    document: Arc::clone(self.plan.nodes.get(*node)?),
                    data: Arc::clone(data),
                    secrets: Arc::clone(secrets),
                })
            })
            .collect();
        Ok(Rendered { documents, recomputed })
    }
}
