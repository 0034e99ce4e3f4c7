//! Building the tree of a document: anchors, aliases, tags, merge keys and the limits on them.

mod values;

use std::collections::HashMap;

use self::values::bad_tag;
use super::Piece;
use crate::{
    allowance::{Allowance, Weight, expansion_limit},
    diagnostic::{Diagnostic, Severity},
    findings::Findings,
    lints::{ALIAS_BOMB, MERGE_KEY, RECURSIVE_ALIAS, YAML_SYNTAX, too_deep, too_many_values},
    mapping::{Interner, MappingBuilder, Spares},
    node::{Key, MAX_DEPTH, Mapping, Node, Style, Value},
    source::Span,
    yaml::scalar::Dialect,
};

type TreeResult = Result<(), Box<Diagnostic>>;

/// What stands before a value: an anchor and a tag.
#[derive(Debug, Default)]
pub(super) struct Properties {
    pub(super) anchor: Option<usize>,
    pub(super) tag: Option<TagName>,
}

#[derive(Debug)]
pub(super) enum TagName {
    /// `!!name`
    Core(String),
    /// `!` alone: not resolved by its spelling.
    NonSpecific,
    /// Anything else, as written.
    Other(String),
}

#[derive(Debug)]
pub(super) struct ScalarText {
    pub(super) text: String,
    pub(super) style: Style,
}

/// A value that is complete, with the figures that the limits need.
#[derive(Clone, Debug)]
struct Built {
    node: Node,
    weight: Weight,
    height: usize,
}

impl Built {
    fn scalar(node: Node) -> Self {
        Self {
            weight: Weight::scalar(node.as_str().map_or(0, str::len)),
            height: 0,
            node,
        }
    }
}

#[derive(Debug)]
enum Anchor {
    /// Its value is not complete yet; an alias to it here would never end.
    Open(Span),
    Done(Built),
}

#[derive(Debug)]
struct Frame {
    anchor: Option<usize>,
    start: usize,
    flow: bool,
    weight: Weight,
    height: usize,
    content: Content,
}

#[derive(Debug)]
enum Content {
    Sequence(Vec<Node>),
    Mapping {
        builder: MappingBuilder,
        pending: Pending,
        merges: Vec<Mapping>,
    },
}

/// What the next value in a mapping is.
#[derive(Debug)]
enum Pending {
    Key,
    ValueOf(Key),
    /// The value of a `<<` key.
    Merge,
    /// The value of a key that cannot be kept.
    Dropped,
}

/// A document that was read to its end.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) root: Option<Node>,
    pub(super) findings: Findings,
    /// Whether it was read in another dialect than its envelope's, and that may matter: it has to be read again.
    pub(super) is_foreign: bool,
}

/// The dialect of a document: its envelope says who else reads it.
fn dialect_of(root: &Node) -> Dialect {
    let has = |key: &str| root.get(key).is_some();
    let is_airship = root.get("schema").is_some_and(|schema| schema.as_str().is_some());
    if is_airship && !(has("apiVersion") && has("kind")) {
        Dialect::PyYaml
    } else {
        Dialect::Kubectl
    }
}

/// The document that is being read.
#[derive(Debug)]
pub(super) struct Tree<'a> {
    piece: Piece<'a>,
    interner: &'a mut Interner,
    allowance: &'a mut Allowance,
    dialect: Dialect,
    /// Whether a scalar was read that another dialect could read otherwise.
    dialects_differ: bool,
    /// Whether anchors must be remembered at all: most texts have no alias.
    has_aliases: bool,
    has_tabs: bool,
    spare_nodes: Spares<Node>,
    spare_entries: Spares<(Key, Node)>,
    frames: Vec<Frame>,
    root: Option<Node>,
    findings: Findings,
    anchors: HashMap<usize, Anchor>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(
        piece: Piece<'a>,
        dialect: Dialect,
        interner: &'a mut Interner,
        allowance: &'a mut Allowance,
    ) -> Self {
        Self {
            piece,
            interner,
            allowance,
            dialect,
            dialects_differ: false,
            has_aliases: piece.text.contains('*'),
            has_tabs: piece.text.contains('\t'),
            spare_nodes: Spares::default(),
            spare_entries: Spares::default(),
            frames: Vec::new(),
            root: None,
            findings: Findings::default(),
            anchors: HashMap::new(),
        }
    }

    pub(super) fn begin_document(&mut self) {
        self.frames.clear();
        self.root = None;
        self.findings = Findings::default();
        self.anchors.clear();
        self.dialects_differ = false;
    }

    pub(super) fn end_document(&mut self) -> Finished {
        let root = self.root.take();
        let fitting = root.as_ref().map_or_else(Dialect::default, dialect_of);
        Finished {
            is_foreign: self.dialects_differ && fitting != self.dialect,
            root,
            findings: std::mem::take(&mut self.findings),
        }
    }

    pub(super) fn scalar(
        &mut self,
        scalar: ScalarText,
        properties: Properties,
        start: usize,
        end: usize,
    ) -> TreeResult {
        // The place of a missing value is a point, though the event may cover what follows.
        let missing = scalar.text.is_empty() && scalar.style == Style::Plain;
        if !missing && scalar.style != Style::BlockScalar {
            self.check_tab(start);
        }
        let tag_span = self.tag_span(&properties, start);
        let start = self.after_properties(&properties, start, end);
        let span = self.piece.span(start, if missing { start } else { end });
        if self.expects_key() && properties.tag.is_none() {
            let text = self.key(&scalar, span);
            self.remember(
                properties.anchor,
                &Built::scalar(Node {
                    span,
                    style: scalar.style,
                    value: Value::String(text),
                }),
            );
            return Ok(());
        }
        let style = scalar.style;
        let value = self.scalar_value(scalar, properties.tag, span, tag_span);
        self.complete(properties.anchor, Built::scalar(Node { span, style, value }))
    }

    /// What another tree needs that is built in between.
    pub(super) const fn lend(&mut self) -> (&mut Interner, &mut Allowance) {
        (self.interner, self.allowance)
    }

    /// The allowance of this document, to return to when it turns out that it must be read again.
    pub(super) const fn allowance(&mut self) -> &mut Allowance {
        self.allowance
    }

    pub(super) fn begin_sequence(&mut self, properties: Properties, start: usize, end: usize) -> TreeResult {
        let content = Content::Sequence(self.spare_nodes.take());
        self.begin(properties, "seq", start, end, content)
    }

    pub(super) fn begin_mapping(&mut self, properties: Properties, start: usize, end: usize) -> TreeResult {
        let content = Content::Mapping {
            builder: MappingBuilder::new(&mut self.spare_entries),
            pending: Pending::Key,
            merges: Vec::new(),
        };
        self.begin(properties, "map", start, end, content)
    }

    fn begin(
        &mut self,
        properties: Properties,
        fitting: &str,
        start: usize,
        end: usize,
        content: Content,
    ) -> TreeResult {
        self.check_tab(start);
        let tag_span = self.tag_span(&properties, start);
        let start = self.after_properties(&properties, start, end);
        let span = self.piece.span(start, end.max(start));
        if self.frames.len() >= MAX_DEPTH {
            return Err(too_deep(span).into());
        }
        match properties.tag {
            Some(TagName::Core(name)) if name != fitting => {
                self.findings.push(bad_tag(span, tag_span, &format!("!!{name}")));
            }
            Some(TagName::Other(name)) => self.findings.push(bad_tag(span, tag_span, &name)),
            _ => {}
        }
        if let Some(anchor) = properties.anchor {
            self.anchors.insert(anchor, Anchor::Open(span));
        }
        let flow = self.frames.last().is_some_and(|frame| frame.flow)
            || matches!(self.piece.text.as_bytes().get(start), Some(b'[' | b'{'));
        self.frames.push(Frame {
            anchor: properties.anchor,
            start,
            flow,
            weight: match content {
                Content::Sequence(_) => Weight::sequence(),
                Content::Mapping { .. } => Weight::mapping(),
            },
            height: 1,
            content,
        });
        Ok(())
    }

    pub(super) fn end_collection(&mut self, start: usize, end: usize) -> TreeResult {
        let Some(frame) = self.frames.pop() else {
            return Ok(());
        };
        // A block collection ends with its last element; the event comes only with the next token.
        let closed = end > start;
        let (value, last) = match frame.content {
            Content::Sequence(nodes) => {
                let last = nodes.last().map(|node| node.span.end);
                (Value::Seq(self.spare_nodes.finish(nodes)), last)
            }
            Content::Mapping {
                mut builder, merges, ..
            } => {
                let last = builder.last().map(|node| node.span.end);
                for (key, node) in merges.iter().flat_map(Mapping::to_entries) {
                    builder.insert_missing(key, node);
                }
                (Value::Map(builder.finish(&mut self.spare_entries)), last)
            }
        };
        let mut span = self.piece.span(frame.start, end);
        if !closed {
            // An alias as last element has the span of its anchor, which is somewhere else.
            span.end = last.filter(|&last| last >= span.start).unwrap_or(span.start);
        }
        let node = Node {
            span,
            style: Style::Collection,
            value,
        };
        self.complete(
            frame.anchor,
            Built {
                node,
                weight: frame.weight,
                height: frame.height,
            },
        )
    }

    pub(super) fn alias(&mut self, anchor: usize, start: usize, end: usize) -> TreeResult {
        let span = self.piece.span(start, end);
        let built = match self.anchors.get(&anchor) {
            Some(Anchor::Done(built)) => {
                if !self.allowance.take_expansion(built.weight) {
                    return Err(alias_bomb(span).into());
                }
                if self.frames.len() + built.height > MAX_DEPTH {
                    return Err(too_deep(span).into());
                }
                built.clone()
            }
            Some(&Anchor::Open(defined)) => {
                self.findings.push(
                    Diagnostic::new(
                        &RECURSIVE_ALIAS,
                        span,
                        "this alias is a part of the value that it refers to",
                    )
                    .with_help("refer to another anchor, or write the value out")
                    .with_related(defined, "the value begins here"),
                );
                Built::scalar(Node::new(span, Value::Null))
            }
            None => {
                return Err(Box::new(Diagnostic::new(
                    &YAML_SYNTAX,
                    span,
                    "the alias refers to no anchor before it",
                )));
            }
        };
        self.add(built);
        Ok(())
    }

    /// A value is complete: remembers it for aliases and puts it into its place.
    fn complete(&mut self, anchor: Option<usize>, built: Built) -> TreeResult {
        if !self.allowance.take_value() {
            return Err(too_many_values(built.node.span).into());
        }
        self.remember(anchor, &built);
        self.add(built);
        Ok(())
    }

    fn remember(&mut self, anchor: Option<usize>, built: &Built) {
        if let Some(anchor) = anchor.filter(|_| self.has_aliases) {
            self.anchors.insert(anchor, Anchor::Done(built.clone()));
        }
    }

    fn add(&mut self, built: Built) {
        let key = self.expects_key().then(|| self.key_of_node(&built.node));
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(built.node);
            return;
        };
        frame.weight.add(built.weight);
        frame.height = frame.height.max(built.height.saturating_add(1));
        let node = built.node;
        let (builder, pending, merges) = match &mut frame.content {
            Content::Sequence(nodes) => {
                nodes.push(node);
                return;
            }
            Content::Mapping {
                builder,
                pending,
                merges,
            } => (builder, pending, merges),
        };
        match std::mem::replace(pending, Pending::Key) {
            Pending::Key => *pending = key.unwrap_or(Pending::Dropped),
            Pending::ValueOf(key) => {
                frame.weight.add(Weight::key(key.text.len()));
                if let Some(twice) = builder.insert(key, node) {
                    self.dialects_differ = true;
                    self.findings.push(match self.dialect {
                        Dialect::Kubectl => twice,
                        // Airship's services take the last one and say nothing.
                        Dialect::PyYaml => twice.at_most(Severity::Warning),
                    });
                }
            }
            Pending::Merge => {
                let span = node.span;
                let given = match &node.value {
                    Value::Seq(nodes) => nodes,
                    _ => std::slice::from_ref(&node),
                };
                merges.extend(given.iter().filter_map(Node::as_map).cloned());
                if let Some(wrong) = given.iter().find(|node| node.as_map().is_none()) {
                    self.findings.push(
                        Diagnostic::new(
                            &MERGE_KEY,
                            span,
                            format!("`<<` merges mappings, and this is {}", wrong.type_name()),
                        )
                        .with_help("give an alias of a mapping, or a list of such aliases"),
                    );
                }
            }
            Pending::Dropped => {}
        }
    }
}

fn alias_bomb(span: Span) -> Diagnostic {
    Diagnostic::new(
        &ALIAS_BOMB,
        span,
        "the aliases of this document expand to far more than the file holds",
    )
    .with_help(format!("write the values out; {}", expansion_limit()))
}
